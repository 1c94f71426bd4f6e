"""The stealth frontier: the largest profit a round at each detectability, and who attains it.

A player sees c with chance p(c) and stakes a with chance q(a | c), which is worth v(c, a). What his
stakes tell a log that records c is I = I(a; c). For every price mu of information

    max over q of  E v - mu I  =  max over r of  mu sum_c p(c) ln sum_a r(a) exp(v(c, a) / mu)

with r the law of the stakes: a rate-distortion problem, solved by alternating q and r (Blahut 1972,
doi:10.1109/TIT.1972.1054855; Arimoto 1972, doi:10.1109/TIT.1972.1054753). Every step has an upper
bound beside it: the excess of max over a of sum_c p(c) exp(v / mu) / Z_c over one. Where the log
records only something that depends on c, the same is maximized less mu I(a; logged), which is
concave as well; its bound is the linear programme's (Frank and Wolfe's) gap.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, xlogy

from niulab.errors import ConfigError
from niulab.solvers.limits.information import mutual_information, verify_policy

__all__ = ["FrontierPoint", "frontier_point", "logged_frontier_point"]

Floats = NDArray[np.float64]

_MOST_STEPS = 200_000


@dataclass(frozen=True, eq=False)
class FrontierPoint:
    """A policy on the frontier.

    mu: price of a nat, in the unit of profit. profit: mean a round. information: nats a round.
    policy: (n_seen, n_stakes). gap: no policy has a larger profit - mu information by more.
    """

    mu: float
    profit: float
    information: float
    policy: Floats
    gap: float

    @property
    def stake_law(self) -> Floats:
        """How often each stake is placed by who has seen each value equally often as he does."""
        law: Floats = self.policy.mean(axis=0)
        return law


def frontier_point(
    chances: Floats, values: Floats, mu: float, *, tolerance: float = 1e-12
) -> FrontierPoint:
    """The frontier's point of a price ``mu`` for a log that records what was seen.

    chances: (n_seen,). values: (n_seen, n_stakes), mean profit. Raises ConfigError for a price that
    is not above 0 or for chances that are no law.
    """
    _verify(chances, values, mu)
    exponents = values / mu
    log_r = np.full(values.shape[1], -log(values.shape[1]))
    gap, log_q = np.inf, exponents
    for _ in range(_MOST_STEPS):
        log_q = exponents + log_r
        log_z = logsumexp(log_q, axis=1, keepdims=True)
        log_q = log_q - log_z
        growth = chances @ np.exp(exponents - log_z)
        gap = mu * log(max(float(growth.max()), 1.0))
        if gap <= tolerance:
            break
        log_r = _renewed(log_r, growth)
    policy = np.exp(log_q)
    return _point(chances, values, mu, policy, gap, None)


def logged_frontier_point(
    chances: Floats,
    values: Floats,
    mu: float,
    logged: Floats,
    *,
    tolerance: float = 1e-9,
) -> FrontierPoint:
    """The same where the log records something else: logged (n_seen, n_logged), its law by row.

    Blahut's step for I(a; logged): q(a | c) grows by exp((v(c, a) - mu sum_l W(l | c)
    ln(q(a | l) / r(a))) / mu) times itself, damped until the objective rises.
    """
    _verify(chances, values, mu)
    verify_policy(chances, logged)
    policy = frontier_point(chances, values, mu).policy
    policy = 0.99 * policy + 0.01 / values.shape[1]
    gap, step = np.inf, 1.0
    worth, gradient = _logged_objective(chances, values, mu, policy, logged)
    for _ in range(_MOST_STEPS):
        best = gradient.max(axis=1, keepdims=True)
        gap = float(chances @ (best[:, 0] - (policy * gradient).sum(axis=1)))
        if gap <= tolerance:
            break
        while step > 1e-12:
            log_q = np.log(np.maximum(policy, 1e-300)) + step / mu * (gradient - best)
            tried = np.exp(log_q - logsumexp(log_q, axis=1, keepdims=True))
            reached, at_tried = _logged_objective(chances, values, mu, tried, logged)
            if reached >= worth:
                break
            step /= 2
        else:
            break
        policy, worth, gradient = tried, reached, at_tried
        step *= 1.5
    return _point(chances, values, mu, policy, gap, logged)


def _renewed(log_r: Floats, growth: Floats) -> Floats:
    log_r = log_r + np.log(np.maximum(growth, 1e-300))
    result: Floats = log_r - logsumexp(log_r)
    return result


def _logged_objective(
    chances: Floats, values: Floats, mu: float, policy: Floats, logged: Floats
) -> tuple[float, Floats]:
    """The objective, and its gradient by q(a | c) per unit of p(c), (n_seen, n_stakes)."""
    joint = logged.T @ (chances[:, None] * policy)
    of_logged = joint.sum(axis=1, keepdims=True)
    of_stakes = joint.sum(axis=0, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(joint > 0, joint / (of_logged * of_stakes), 1.0)
    logs = np.log(ratios)
    information = float(xlogy(joint, ratios).sum())
    profit = float((chances[:, None] * policy * values).sum())
    return profit - mu * information, values - mu * (logged @ logs)


def _point(
    chances: Floats,
    values: Floats,
    mu: float,
    policy: Floats,
    gap: float,
    logged: Floats | None,
) -> FrontierPoint:
    profit = float((chances[:, None] * policy * values).sum())
    return FrontierPoint(mu, profit, mutual_information(chances, policy, logged), policy, gap)


def _verify(chances: Floats, values: Floats, mu: float) -> None:
    if not mu > 0:
        raise ConfigError(f"the price mu of a nat is above 0, got {mu}")
    if not np.isfinite(values).all():
        raise ConfigError("every stake needs a finite value for every card seen")
    verify_policy(chances, np.full(values.shape, 1 / values.shape[1]))
