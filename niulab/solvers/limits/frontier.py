"""The stealth frontier: the largest profit a round at each detectability, and who attains it.

A player sees c with chance p(c) and stakes a with chance q(a | c), which is worth v(c, a). What his
stakes tell a log that records c is I = I(a; c). For every price mu of information

    max over q of  E v - mu I  =  max over r of  mu sum_c p(c) ln sum_a r(a) exp(v(c, a) / mu)

with r the law of the stakes, and q(a | c) in proportion to r(a) exp(v(c, a) / mu): a problem of
rate and distortion (Blahut 1972, doi:10.1109/TIT.1972.1054855; Arimoto 1972,
doi:10.1109/TIT.1972.1054753).
Alternating q and r creeps where stakes are rare, near the limit price above all. But the maximum
over r is that of the log-optimal portfolio with returns exp(v / mu) (Cover 1984,
doi:10.1109/TIT.1984.1056869). A logarithmic barrier and Newton steps find it however alike the
stakes are, and steps of the kernel that serves Kelly's stakes polish it on the stakes in use. The
bound is Cover's: no r is better by more than mu ln of the largest mean of exp(v(c, a) / mu) / Z_c,
Z_c = sum_a r(a) exp(v(c, a) / mu).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from niulab.errors import ConfigError
from niulab.solvers.limits.information import mutual_information, verify_policy

__all__ = ["FrontierPoint", "frontier_point", "make_point", "verify_price"]

Floats = NDArray[np.float64]

_FALL = 0.1  # of the barrier's weight from one stage to the next
_MOST_STAGES = 25
_MOST_STEPS = 40  # of one stage; a few are needed


@dataclass(frozen=True, eq=False)
class FrontierPoint:
    """A policy on the frontier.

    mu: price of a nat, in the unit of profit. profit: mean a round. information: nats a round.
    policy: (n_seen, n_stakes). stake_law: (n_stakes,), how often each stake is placed. gap: no
    policy has a larger profit - mu information by more; above the tolerance asked for only where
    rounding allows no better.
    """

    mu: float
    profit: float
    information: float
    policy: Floats
    stake_law: Floats
    gap: float

    @property
    def value(self) -> float:
        """Profit - mu information; no policy's is larger by more than ``gap``."""
        return self.profit - self.mu * self.information


def frontier_point(
    chances: Floats, values: Floats, mu: float, *, tolerance: float = 1e-12
) -> FrontierPoint:
    """The frontier's point of a price ``mu`` for a log that records what was seen.

    chances: (n_seen,). values: (n_seen, n_stakes), mean profit. Raises ConfigError for a price that
    is not above 0 or for chances that are no law.
    """
    verify_price(chances, values, mu)
    returns: Floats = np.exp((values - values.max(axis=1, keepdims=True)) / mu)
    stake_law, gap = _best_stake_law(returns, chances, tolerance / mu)
    policy = returns * stake_law
    policy /= policy.sum(axis=1, keepdims=True)
    return make_point(chances, values, mu, policy, mu * gap)


def _best_stake_law(returns: Floats, chances: Floats, tolerance: float) -> tuple[Floats, float]:
    """The weights of the greatest mean log return, and Cover's bound of what any others add."""
    weights = np.full(returns.shape[1], 1 / returns.shape[1])
    best, gap, barrier = weights, _cover_gap(returns, chances, weights), 0.1
    for _ in range(_MOST_STAGES):
        if gap <= tolerance:
            break
        weights = _centered(returns, chances, weights, barrier)
        normal = weights / weights.sum()
        reached = _cover_gap(returns, chances, normal)
        if reached < gap:
            best, gap = normal, reached
        barrier *= _FALL
    return _polished(returns, chances, best, gap)


def _cover_gap(returns: Floats, chances: Floats, weights: Floats) -> float:
    return max(float(np.log(((chances / (returns @ weights)) @ returns).max())), 0.0)


def _centered(returns: Floats, chances: Floats, weights: Floats, barrier: float) -> Floats:
    """Newton steps to the minimum of sum(w) - E log(returns @ w) - barrier sum(log w)."""
    for _ in range(_MOST_STEPS):
        scaled = returns * weights / (returns @ weights)[:, None]
        slope = weights - chances @ scaled - barrier  # by log w
        curve = (scaled * chances[:, None]).T @ scaled
        curve[np.diag_indices(len(curve))] += barrier + 1e-15
        move = np.linalg.solve(curve, -slope)
        decrement = float(np.sqrt(max(-float(slope @ move), 0.0) / barrier))
        if decrement < 1e-3:
            break
        size = 1.0 if decrement < 0.3 else 1 / (1 + decrement)  # self-concordant: it falls
        weights = weights * (1 + size * move)
    return weights


def _polished(
    returns: Floats, chances: Floats, weights: Floats, gap: float
) -> tuple[Floats, float]:
    """The same without what the barrier left on stakes that are not in use, if that is better."""
    from niulab.solvers.optimal.kernels import log_optimal

    slack: Floats = 1 - (chances / (returns @ weights)) @ returns
    pruned: Floats = np.where(weights > slack, weights, 0.0)
    pruned = pruned / pruned.sum()
    if not bool((returns @ pruned > 0).all()):
        return weights, gap
    try:
        log_optimal(returns, chances, 0.0, pruned)
    except np.linalg.LinAlgError:  # stakes that always pay alike
        return weights, gap
    reached = _cover_gap(returns, chances, pruned)
    return (pruned, reached) if reached <= gap else (weights, gap)


def make_point(
    chances: Floats,
    values: Floats,
    mu: float,
    policy: Floats,
    gap: float,
    logged: Floats | None = None,
) -> FrontierPoint:
    """A policy with its profit and its information."""
    profit = float((chances[:, None] * policy * values).sum())
    information = mutual_information(chances, policy, logged)
    return FrontierPoint(mu, profit, information, policy, chances @ policy, gap)


def verify_price(chances: Floats, values: Floats, mu: float) -> None:
    """Raise ConfigError unless the price is above 0, the values finite and the chances a law."""
    if not 0 < mu < np.inf:
        raise ConfigError(f"the price mu of a nat is above 0 and finite, got {mu}")
    if values.ndim != 2 or not np.isfinite(values).all():
        raise ConfigError(
            f"every stake needs a finite value for every card seen, got shape {values.shape}: give "
            "values (n_seen, n_stakes)"
        )
    verify_policy(chances, np.full(values.shape, 1 / values.shape[1]))
