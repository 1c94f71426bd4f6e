"""A loss rebate: what it is worth to a player who stops at the right moment, and where that is.

The casino refunds a share ``r`` of the loss once the player quits (or is ruined, or has played
``n_rounds``); wins are his. From a buy-in ``S`` he stops with ``B`` for ``B + r max(S - B, 0)``: an
optimal stopping problem on the lattice of bankrolls. With a sound sheet he plays between two quit
points, the win goal above the buy-in and the stop-loss below ("Loss rebates", wizardofodds.com,
2004, by programmes; E. Jacobson's loss rebate theorems, 2013-14, for results near the normal law).

Without a deadline the lattice has no end. It is solved as if he had to stop above some level; the
answer is proven for good where one more step cannot improve on stopping there, as far down as a
round can lead, since beyond that every bet is its loss and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from niulab.engine.rules.model import RuleSet
from niulab.engine.wagers import Slip
from niulab.errors import ConfigError
from niulab.solvers.joint_law import JointLaw
from niulab.solvers.optimal.plays import Plays, make_plays, verify_size
from niulab.solvers.optimal.problem import BettingProblem
from niulab.solvers.optimal.recursion import Game, Solved, solve_deadline, solve_endless
from niulab.solvers.sessions.tables import STOP, BettingTables

__all__ = ["RebateProblem", "RebateSolution", "solve_rebate"]

Floats = NDArray[np.float64]

_MOST_LEVELS = 60_000


@dataclass(frozen=True, kw_only=True, eq=False)
class RebateProblem:
    """What is offered: raises ConfigError with every mistake.

    slips: the menu. start_cents: the buy-in whose loss counts. rebate: the share refunded, above 0
    and below 1. n_rounds: the deadline, None for as long as the player likes.
    """

    rules: RuleSet
    slips: tuple[Slip, ...]
    start_cents: int
    rebate: float
    n_rounds: int | None = None
    law: JointLaw | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "slips", tuple(self.slips))
        if not 0 < self.rebate < 1:
            raise ConfigError(f"rebate is a share above 0 and below 1, got {self.rebate!r}")
        BettingProblem(  # the same money, the same checks
            rules=self.rules,
            slips=self.slips,
            start_cents=self.start_cents,
            n_rounds=self.n_rounds or 1,
            objective="profit",
        )

    def payoff(self, bankrolls_cents: NDArray[np.int64]) -> Floats:
        """Net of stopping with each bankroll, refund included, in base units."""
        loss = np.maximum(self.start_cents - bankrolls_cents, 0)
        net = bankrolls_cents - self.start_cents + self.rebate * loss
        return np.asarray(net / self.rules.base_unit_cents)


@dataclass(frozen=True, eq=False)
class RebateSolution:
    """Row t for t rounds played, one row without a deadline.

    low, high: bounds (M, L) of the net still to be had, in base units, by level; nan where play
    cannot lead. choice: int32 (M, L), a place in ``plays.slips`` or STOP: quit.
    """

    problem: RebateProblem
    low: Floats
    high: Floats
    choice: NDArray[np.int32]
    plays: Plays

    @property
    def start(self) -> int:
        """The level of the buy-in."""
        return self.problem.start_cents // self.plays.step_cents

    @property
    def value(self) -> float:
        """What the offer is worth at the buy-in, in base units: 0 where not to play is best."""
        return float(self.low[0, self.start] + self.high[0, self.start]) / 2

    @property
    def gap(self) -> float:
        """The distance of the proven bounds at the buy-in."""
        return float(self.high[0, self.start] - self.low[0, self.start])

    def quit_points(self, rounds_left: int | None = None) -> tuple[int | None, int | None] | None:
        """(stop-loss, win goal) in cents: the nearest bankrolls below and above the buy-in at which
        to quit; a side None that the rounds so far cannot lead to; None where to quit at once.
        """
        row = self._row(rounds_left)
        quits = np.flatnonzero((self.choice[row] == STOP) & ~np.isnan(self.low[row]))
        if self.start in quits:
            return None
        below, above = quits[quits < self.start], quits[quits > self.start]
        if not len(above) and self.problem.n_rounds is None:
            above = np.array([self.choice.shape[1]])  # where the lattice ends, quitting is best
        step = self.plays.step_cents
        return (
            int(below.max()) * step if len(below) else None,
            int(above.min()) * step if len(above) else None,
        )

    def best_slip(self, bankroll_cents: int, rounds_left: int | None = None) -> Slip | None:
        """What to place, or None: quit. Raises ConfigError for a bankroll off the lattice."""
        level = self.plays.level_of(bankroll_cents)
        if level >= self.choice.shape[1] or rounds_left == 0:
            return None
        play = self.choice[self._row(rounds_left), level]
        return None if play == STOP else self.plays.slips[play]

    def tables(self) -> BettingTables:
        """The policy for programmes and simulations; its memory is the rounds played."""
        return self.plays.tables(self.choice)

    def _row(self, rounds_left: int | None) -> int:
        n_rounds = self.problem.n_rounds
        if n_rounds is None or rounds_left is None:
            return 0
        if not 0 < rounds_left <= n_rounds:
            raise ConfigError(f"rounds_left is from 1 to {n_rounds} here, got {rounds_left}")
        return n_rounds - rounds_left


def solve_rebate(problem: RebateProblem) -> RebateSolution:
    """The value of a rebate with its best play and the proven gap.

    Without a deadline the lattice is widened until its end no longer matters, as far as 60,000
    levels. Raises ConfigError beyond, and for slips that favor the player.
    """
    plays = make_plays(problem.rules, problem.slips, problem.start_cents, law=problem.law)
    start = problem.start_cents // plays.step_cents
    if problem.n_rounds is not None:
        n_levels = start + (problem.n_rounds - 1) * plays.reach + 1
        verify_size(problem.n_rounds, n_levels, plays.step_cents, "give fewer rounds")
        solved = solve_deadline(_game(problem, plays, n_levels), problem.n_rounds)
        return _with_quits(
            problem, plays, solved, _game(problem, plays, n_levels).payoff[:n_levels]
        )
    if any(law.ev_cents >= 0 for law in plays.laws):
        raise ConfigError(
            "a slip does not lose on average: with such a bet there is no best moment to quit; "
            "give n_rounds"
        )
    n_levels = start + plays.reach
    while n_levels <= _MOST_LEVELS:
        game = _game(problem, plays, n_levels)
        solved = solve_endless(game, 0.0)
        if _is_end_out_of_play(game, solved, problem):
            return _with_quits(problem, plays, solved, game.payoff[:n_levels])
        n_levels = start + 2 * (n_levels - start)
    raise ConfigError(
        f"the win goal lies beyond {_MOST_LEVELS:,} levels of {plays.step_cents} cents: give "
        "n_rounds, or take stakes that are a larger part of the buy-in"
    )


def _is_end_out_of_play(game: Game, solved: Solved, problem: RebateProblem) -> bool:
    """Whether stopping is best at all levels above the lattice, given the values on it."""
    from niulab.solvers.optimal.kernels import best_plays

    plays = game.plays
    size = game.n_levels - int(plays.jumps.min()) + 1
    payoff = problem.payoff(np.arange(size + plays.reach) * plays.step_cents)
    after = payoff.copy()
    after[: game.n_levels] = solved.high[0]
    value, choice = np.empty(size), np.empty(size, dtype=np.int32)
    best_plays(after, payoff, 0.0, False, 0.0, *plays.arrays, value, choice)
    return bool((value[game.n_levels :] <= payoff[game.n_levels : size]).all())


def _with_quits(
    problem: RebateProblem, plays: Plays, solved: Solved, payoff: Floats
) -> RebateSolution:
    """The solution that quits, too, where playing adds nothing that the bounds can tell.

    To stop where a value exceeds the payoff by at most ``e`` costs no state more than ``e``.
    """
    slack = 2 * float(np.nanmax(solved.high - solved.low))
    is_idle = solved.high - payoff <= slack
    choice = np.where(is_idle, STOP, solved.choice).astype(np.int32)
    low = np.maximum(solved.low - slack, np.where(is_idle, payoff, -np.inf))
    return RebateSolution(problem, low, solved.high, choice, plays)


def _game(problem: RebateProblem, plays: Plays, n_levels: int) -> Game:
    levels = np.arange(n_levels + plays.reach)
    return Game(
        plays=plays,
        payoff=problem.payoff(levels * plays.step_cents),
        n_levels=n_levels,
        start=problem.start_cents // plays.step_cents,
        can_leave=True,
        is_open=problem.n_rounds is None,
    )
