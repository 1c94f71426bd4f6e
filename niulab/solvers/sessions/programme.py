"""The exact law of a session: a forward programme over (memory, bankroll level) with barriers.

Nothing is discretized: bankrolls lie on the lattice of the nets. What is not exact is said:
rounding (``rounding_bound``), and the mass that left the top of a lattice without a target
(``overflow``). Ruin and goal count along the path, in the round that brings them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from niulab.engine.rules.model import RuleSet
from niulab.engine.wagers import Slip
from niulab.errors import ConfigError
from niulab.solvers.joint_law import JointLaw
from niulab.solvers.sessions.lattice import quantile_index, worst_mean
from niulab.solvers.sessions.layout import MOST_BYTES, lay_out
from niulab.solvers.sessions.net_law import NetLaw, lattice_step, net_law
from niulab.solvers.sessions.tables import BettingTables

__all__ = ["SessionLaw", "play_session", "session_lattice"]

_LEVEL_BYTES = 8 * 4  # one memory now and then, what is absorbed, and the whole
_OVERFLOW = 1e-12


@dataclass(frozen=True, eq=False)
class SessionLaw:
    """The law of a session of at most ``n_rounds`` rounds, and its way there.

    final: float64 (W,), law of the last bankroll; ``final[i]`` is that of level ``lowest_level +
    i``. Absorbed mass lies at the level it reached: wins past the target too, so W may pass the
    lattice of the tables. ``lowest_level`` is below 0 only where a loss can pass the cover.
    ruined_by, reached_by, left_by: float64 (n_rounds + 1,), probability by round t that the
    bankroll has fallen below the least slip, that it has reached the target, or that the policy has
    stopped above ruin instead of playing round t + 1. Nobody leaves after the last round.
    overflow: mass that reached the top of a lattice without a target, where it stops playing; it
    bounds the error of every probability. rounding_bound: the most that float64 adds to that.
    mean_cents: (n_rounds + 1,), of the bankroll. bands: int64 (n_rounds + 1, q), the quantiles
    ``band_levels`` of the bankroll after each round, exact up to ``rounding_bound`` in probability.
    staked_cents, moved_cents: expected totals, the handle and the chips moved. mean_rounds: played.
    """

    n_rounds: int
    step_cents: int
    start_cents: int
    target_cents: int | None
    final: NDArray[np.float64]
    lowest_level: int
    ruined_by: NDArray[np.float64]
    reached_by: NDArray[np.float64]
    left_by: NDArray[np.float64]
    overflow: float
    mean_cents: NDArray[np.float64]
    band_levels: tuple[float, ...]
    bands: NDArray[np.int64]
    staked_cents: float
    moved_cents: float
    mean_rounds: float
    rounding_bound: float

    @cached_property
    def bankrolls_cents(self) -> NDArray[np.int64]:
        """The bankroll of every entry of ``final``, int64 (W,)."""
        return (self.lowest_level + np.arange(len(self.final))) * self.step_cents

    @property
    def p_ruin(self) -> float:
        """P(ruined by the last round)."""
        return float(self.ruined_by[-1])

    @property
    def p_target(self) -> float:
        """P(target reached by the last round)."""
        return float(self.reached_by[-1])

    @property
    def p_ahead(self) -> float:
        """P(the last bankroll is above the first)."""
        return float(self.final[self.bankrolls_cents > self.start_cents].sum())

    @property
    def ev_cents(self) -> float:
        """Mean of the last bankroll less the first."""
        return float(self.mean_cents[-1]) - self.start_cents

    @property
    def sd_cents(self) -> float:
        """Standard deviation of the last bankroll."""
        results = self.bankrolls_cents - self.start_cents
        mean = float(self.final @ results)
        return sqrt(float(self.final @ (results - mean) ** 2))

    def quantile(self, p: float) -> int:
        """The least last bankroll in cents that is not passed with probability ``p``."""
        return int(self.bankrolls_cents[quantile_index(self.final, p, self.rounding_bound)])

    def cvar_cents(self, level: float = 0.95) -> float:
        """Mean result (last bankroll less the first) of the worst ``1 - level`` of sessions."""
        return worst_mean(self.bankrolls_cents - self.start_cents, self.final, 1 - level)


def play_session(
    rules: RuleSet,
    tables: BettingTables,
    *,
    start_cents: int,
    n_rounds: int,
    target_cents: int | None = None,
    law: JointLaw | None = None,
    quantiles: Sequence[float] = (0.05, 0.25, 0.5, 0.75, 0.95),
) -> SessionLaw:
    """Play the tables from ``start_cents`` until ruin, the target, STOP or the deadline.

    ``law``: of every round, as a conditional one under information (default: the full shoe).
    Raises ConfigError for choices that cover refuses, a lattice that misses the nets, the start or
    the levels below the target, or one too large for memory.
    """
    for share in quantiles:
        if not 0 < share < 1:
            raise ConfigError(f"a quantile lies between 0 and 1, got {share}: write 0.95")
    layout = lay_out(
        rules,
        tables,
        start_cents=start_cents,
        n_rounds=n_rounds,
        target_cents=target_cents,
        law=law,
    )
    final = np.zeros(layout.width)
    ends, means = np.zeros((n_rounds + 1, 3)), np.zeros(n_rounds + 1)
    order = np.argsort(np.array(quantiles, dtype=np.float64), kind="stable")
    bands = np.zeros((n_rounds + 1, len(order)), dtype=np.int64)
    placed = np.zeros(len(tables.slips))
    from niulab.solvers.sessions.programme_kernels import play_rounds

    play_rounds(
        *layout.arguments,
        layout.rows(),
        np.array(quantiles, dtype=np.float64)[order],
        layout.rounding_bound,
        final,
        ends,
        means,
        bands,
        placed,
    )
    ruined, at_top, left = np.cumsum(ends, axis=0).T
    in_order = np.empty_like(bands)
    in_order[:, order] = (bands + layout.lowest) * tables.step_cents
    return SessionLaw(
        n_rounds=n_rounds,
        step_cents=tables.step_cents,
        start_cents=start_cents,
        target_cents=target_cents,
        final=final,
        lowest_level=layout.lowest,
        ruined_by=ruined,
        reached_by=np.zeros(n_rounds + 1) if target_cents is None else at_top,
        left_by=left,
        overflow=float(at_top[-1]) if target_cents is None else 0.0,
        mean_cents=start_cents + means * tables.step_cents,
        band_levels=tuple(quantiles),
        bands=in_order,
        staked_cents=float(placed @ [slip.total_cents for slip in tables.slips]),
        moved_cents=float(placed @ [float(law.moved_cents) for law in layout.laws]),
        mean_rounds=float(placed.sum()),
        rounding_bound=layout.rounding_bound,
    )


def session_lattice(
    rules: RuleSet,
    slips: Iterable[Slip],
    start_cents: int,
    target_cents: int | None,
    top_cents: int | None = None,
    *,
    n_rounds: int | None = None,
) -> tuple[int, int]:
    """The coarsest ``(step_cents, n_levels)`` on which any play of these slips is exact.

    The levels end at ``top_cents``; else at the largest win from below the target; else where no
    policy of these slips gets in ``n_rounds`` rounds with a probability above 1e-12, whatever it
    does. Raises ConfigError if none of the three is given or the levels do not fit into memory.
    """
    laws = [net_law(rules, slip) for slip in slips]
    step = lattice_step(laws, start_cents)
    most = max((int(law.nets[-1]) for law in laws), default=0)
    if top_cents is not None:
        top = top_cents
    elif target_cents is not None:
        top = (-(-target_cents // step) - 1) * step + most
    elif n_rounds is not None:
        top = start_cents + min(n_rounds * most, _farthest(laws, n_rounds))
    else:
        raise ConfigError(
            "a lattice without a target needs an upper end: give top_cents, or n_rounds for one "
            "that is hardly ever reached"
        )
    n_levels = max(top, start_cents) // step + 1
    if n_levels * _LEVEL_BYTES > MOST_BYTES:
        raise ConfigError(
            f"{n_levels} levels of {step} cents up to {top} cents need at least "
            f"{n_levels * _LEVEL_BYTES} bytes, more than {MOST_BYTES}: give a lower top_cents, "
            "fewer rounds, or stakes whose nets have a larger common divisor"
        )
    return step, n_levels


def _farthest(laws: Sequence[NetLaw], n_rounds: int) -> int:
    """Cents that the largest total of ``n_rounds`` rounds passes with probability <= 1e-12.

    With k(t) the largest log E exp(tX) of the slips, and at least 0, exp(t total - k(t) rounds) is
    a supermartingale of any policy, so P(some total > x) <= exp(k(t) n - t x) (Ville) for all t.
    """
    largest = max(int(np.abs(law.nets).max()) for law in laws)
    rates = np.geomspace(1e-6, 30.0, 400) / largest
    growth = np.zeros(len(rates))
    for law in laws:
        growth = np.maximum(growth, np.log(np.exp(np.outer(rates, law.nets)) @ law.probabilities))
    return int(((growth * n_rounds - np.log(_OVERFLOW)) / rates).min()) + 1
