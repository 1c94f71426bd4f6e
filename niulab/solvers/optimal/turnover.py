"""The least cost of a turnover requirement: stake ``W`` in all before the bankroll is yours.

Where ruin is no threat the cost is the least house edge per chip staked among the slips, times
``W``: ``least_cost_per_handle``, exactly. From a bankroll it is a programme on (handle still to be
staked, bankroll) that ends when nothing is left to stake; a bankroll that covers no slip before is
forfeited. A ``price`` on meeting the requirement traces out the least cost at every risk of ruin
(Lagrange).

The lattice ends at some level; above it a bankroll is taken to be worth at least what the last
level is (it can be played alike), and at most itself and all that the slips could gain on average:
nothing on a sound sheet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from niulab.engine.rules.model import RuleSet
from niulab.engine.wagers import Slip
from niulab.errors import ConfigError
from niulab.solvers.joint_law import JointLaw
from niulab.solvers.optimal.plays import Plays, make_plays, verify_size
from niulab.solvers.optimal.problem import BettingProblem
from niulab.solvers.sessions.tables import STOP
from niulab.solvers.values import slip_values

__all__ = [
    "TurnoverProblem",
    "TurnoverSolution",
    "least_cost_per_handle",
    "solve_turnover",
]

Floats = NDArray[np.float64]

_ULP = 2.0**-53


@dataclass(frozen=True, kw_only=True, eq=False)
class TurnoverProblem:
    """slips: the menu. start_cents: the bankroll, bonus included. turnover_cents: ``W``.

    objective: "value", the mean bankroll taken out (0 if forfeited) plus ``price`` base units for
    meeting the requirement; or "probability" of meeting it. Raises ConfigError.
    """

    rules: RuleSet
    slips: tuple[Slip, ...]
    start_cents: int
    turnover_cents: int
    objective: Literal["value", "probability"] = "value"
    price: float = 0.0
    law: JointLaw | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "slips", tuple(self.slips))
        BettingProblem(  # the same money, the same checks
            rules=self.rules,
            slips=self.slips,
            start_cents=self.start_cents,
            n_rounds=1,
            objective="profit",
        )
        if type(self.turnover_cents) is not int or self.turnover_cents < 1:
            raise ConfigError(
                f"turnover_cents is a whole number of at least 1, got {self.turnover_cents!r}"
            )
        if self.objective not in {"value", "probability"}:
            raise ConfigError(f"objective is 'value' or 'probability', got {self.objective!r}")
        if self.price < 0 or (self.price and self.objective != "value"):
            raise ConfigError(f"price is 0 or more and belongs to 'value', got {self.price!r}")


@dataclass(frozen=True, eq=False)
class TurnoverSolution:
    """The best play; ``choice``: int32 (rows, L), a place in ``plays.slips`` or STOP, with row i
    for ``i * handle_step_cents`` still to stake.

    low, high: proven bounds of the objective at the start. p_met, mean_out: of the play shown, the
    probability to meet the requirement and the mean taken out (base units), both from below.
    """

    problem: TurnoverProblem
    low: float
    high: float
    p_met: float
    mean_out: float
    choice: NDArray[np.int32]
    plays: Plays
    handle_step_cents: int

    @property
    def value(self) -> float:
        """The middle of the bounds."""
        return (self.low + self.high) / 2

    @property
    def gap(self) -> float:
        """The distance of the bounds."""
        return self.high - self.low

    @property
    def cost(self) -> float:
        """What meeting the requirement costs on average, forfeits included, in base units."""
        return self.problem.start_cents / self.problem.rules.base_unit_cents - self.mean_out

    def best_slip(self, bankroll_cents: int, left_cents: int) -> Slip | None:
        """What to place with so much still to stake, or None: met, or forfeited.

        Raises ConfigError for a bankroll off the lattice or more to stake than was asked.
        """
        level = self.plays.level_of(bankroll_cents)
        row = max(-(-left_cents // self.handle_step_cents), 0)
        if row >= len(self.choice):
            raise ConfigError(
                f"left_cents is at most {self.problem.turnover_cents}, got {left_cents}"
            )
        play = self.choice[row, min(level, self.choice.shape[1] - 1)]
        return None if play == STOP else self.plays.slips[play]


def least_cost_per_handle(
    rules: RuleSet, slips: Sequence[Slip], law: JointLaw | None = None
) -> tuple[Slip, Fraction]:
    """The slip that loses least per chip staked, and that house edge (negative: it gains)."""
    edges = [slip_values(rules, slip, law).house_edge for slip in slips]
    least = min(range(len(slips)), key=edges.__getitem__)
    return slips[least], edges[least]


def solve_turnover(problem: TurnoverProblem, *, tolerance: float = 1e-9) -> TurnoverSolution:
    """The best way through a turnover requirement, with proven bounds ``tolerance`` apart.

    The lattice is widened until they are; raises ConfigError where memory does not allow that.
    """
    plays = make_plays(problem.rules, problem.slips, problem.start_cents, law=problem.law)
    stakes = [slip.total_cents for slip in plays.slips]
    handle_step = gcd(problem.turnover_cents, *stakes)
    rows = problem.turnover_cents // handle_step
    start = problem.start_cents // plays.step_cents
    n_levels = start + plays.reach
    _verify_size(rows, n_levels, plays)  # before anything is done row by row
    spends = np.array(stakes, dtype=np.int64) // handle_step
    gains = _most_gains(problem, plays, spends, rows)
    while True:
        _verify_size(rows, n_levels, plays)
        high, _ = _sweep(problem, plays, spends, gains, n_levels, is_low=False)
        low, choice = _sweep(problem, plays, spends, gains, n_levels, is_low=True)
        scale = max(float(np.abs(high).max()), 1.0)
        error = rows * ((plays.most_results + 5) * _ULP * scale)
        bounds = float(low[rows, start]) - error, float(high[rows, start]) + error
        if bounds[1] - bounds[0] <= max(tolerance, 4 * error):
            break
        n_levels = start + 2 * (n_levels - start)
    return TurnoverSolution(
        problem=problem,
        low=bounds[0],
        high=bounds[1],
        p_met=float(_played(problem, plays, spends, choice, by_money=False)[start]),
        mean_out=float(_played(problem, plays, spends, choice, by_money=True)[start]),
        choice=choice,
        plays=plays,
        handle_step_cents=handle_step,
    )


def _verify_size(rows: int, n_levels: int, plays: Plays) -> None:
    remedy = "ask for a smaller turnover, or one that is a multiple of the stakes"
    verify_size(rows + 1, n_levels + plays.reach, plays.step_cents, remedy)


def _met(problem: TurnoverProblem, plays: Plays, n_levels: int) -> Floats:
    """What a met requirement is worth by level."""
    if problem.objective == "probability":
        return np.ones(n_levels)
    bankrolls = np.arange(n_levels) * plays.step_cents
    return np.asarray(bankrolls / problem.rules.base_unit_cents + problem.price)


def _most_gains(
    problem: TurnoverProblem, plays: Plays, spends: NDArray[np.int64], rows: int
) -> Floats:
    """The most a bankroll can gain on average with i steps still to stake: (rows + 1,), never
    below 0, since ruin spares what is still to be lost. Nothing for a probability: it is below 1.
    """
    gains = np.zeros(rows + 1)
    if problem.objective == "value":
        evs = np.array([float(law.ev_cents) for law in plays.laws])
        for row in range(1, rows + 1):
            gains[row] = max((evs + gains[np.maximum(row - spends, 0)]).max(), 0.0)
    return gains / problem.rules.base_unit_cents


def _sweep(
    problem: TurnoverProblem,
    plays: Plays,
    spends: NDArray[np.int64],
    gains: Floats,
    n_levels: int,
    *,
    is_low: bool,
) -> tuple[Floats, NDArray[np.int32]]:
    """Values (rows + 1, L + reach) from below or above, and the choices (rows + 1, L)."""
    from niulab.solvers.optimal.kernels import turnover_step

    met = _met(problem, plays, n_levels + plays.reach)
    values = np.empty((len(gains), len(met)))
    values[0] = met
    choice = np.full((len(gains), n_levels), STOP, dtype=np.int32)
    tie = 32 * _ULP * float(met.max()) if is_low else 0.0
    for row in range(1, len(gains)):
        turnover_step(values, row, spends, tie, *plays.arrays, choice)
        above = values[row, n_levels - 1] if is_low else met[n_levels:] + gains[row]
        values[row, n_levels:] = above
    return values, choice


def _played(
    problem: TurnoverProblem,
    plays: Plays,
    spends: NDArray[np.int64],
    choice: NDArray[np.int32],
    *,
    by_money: bool,
) -> Floats:
    """What given choices bring by level of the last row, in money or in P(met), from below."""
    from niulab.solvers.optimal.kernels import turnover_play

    rows, n_levels = choice.shape
    size = n_levels + plays.reach
    values = np.empty((rows, size))
    bankrolls = np.arange(size) * plays.step_cents
    values[0] = bankrolls / problem.rules.base_unit_cents if by_money else 1.0
    for row in range(1, rows):
        turnover_play(values, row, spends, *plays.moves, choice)
        values[row, n_levels:] = values[row, n_levels - 1]
    return np.asarray(values[-1])
