"""The best slip at every bankroll for a betting problem, and what a given policy is worth in it.

Every figure comes with bounds: ``low`` is met by the policy shown, no policy exceeds ``high``.
Methods, and what is proven how: ``recursion``. Levels of the bankroll are exact: the lattice of
the nets is not a grid laid over them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from niulab.engine.wagers import Slip
from niulab.errors import ConfigError
from niulab.solvers.optimal.plays import Plays, make_plays, verify_size
from niulab.solvers.optimal.problem import BettingProblem
from niulab.solvers.optimal.recursion import (
    Game,
    Solved,
    policy_values,
    solve_deadline,
    solve_endless,
)
from niulab.solvers.sessions.tables import STOP, BettingTables

__all__ = ["OptimalBetting", "make_game", "solve_betting", "value_of_tables"]

Floats = NDArray[np.float64]

_SHORTER = "shorten the session, lower the target, or take stakes on a coarser chip unit"


@dataclass(frozen=True, eq=False)
class OptimalBetting:
    """A solved problem: row t for t rounds played, one row without a deadline.

    low, high: proven bounds (M, L) of what is still to come, in the objective's unit, by level
    (``profit`` and its kin count from the start's bankroll); nan where play cannot lead. choice:
    int32 (M, L), a place in ``slips`` or STOP (ruined, or better gone). Of slips whose values agree
    but for rounding (2**-48 of the largest value) the first of the problem is chosen, and leaving
    only where it is better than all. threshold_cents: of ``cvar``, the net at which the worst share
    begins; its values hold for the player who keeps to that threshold.
    """

    problem: BettingProblem
    low: Floats
    high: Floats
    choice: NDArray[np.int32]
    plays: Plays
    threshold_cents: int | None = None

    @property
    def slips(self) -> tuple[Slip, ...]:
        """What is placed, as it lies: with chips declared in sight under short cover."""
        return self.plays.slips

    @property
    def step_cents(self) -> int:
        """Chips of one level."""
        return self.plays.step_cents

    @property
    def start(self) -> int:
        """The first level."""
        return self.problem.start_cents // self.step_cents

    @property
    def value(self) -> float:
        """The middle of the bounds at the start."""
        return float(self.low[0, self.start] + self.high[0, self.start]) / 2

    @property
    def gap(self) -> float:
        """The distance of the bounds at the start."""
        return float(self.high[0, self.start] - self.low[0, self.start])

    @property
    def max_gap(self) -> float:
        """The largest distance of the bounds anywhere."""
        return float(np.nanmax(self.high - self.low))

    @property
    def certainty_equivalent(self) -> float:
        """The sure net worth as much as the session, in base units (log_wealth, exponential)."""
        problem, unit = self.problem, self.problem.rules.base_unit_cents
        if problem.objective == "log_wealth":
            return float(np.expm1(self.value)) * (problem.start_cents + unit) / unit
        if problem.objective == "exponential" and problem.risk_aversion is not None:
            return float(-np.log1p(-problem.risk_aversion * self.value)) / problem.risk_aversion
        raise ConfigError(
            f"objective='{problem.objective}' is no utility: certainty_equivalent belongs to "
            "'log_wealth' and 'exponential'"
        )

    def best_slip(self, bankroll_cents: int, rounds_left: int | None = None) -> Slip | None:
        """What to place, or None: ruined, at the target, or better gone.

        Raises ConfigError for a bankroll off the lattice or out of the session's reach.
        """
        play = self._choice_at(bankroll_cents, rounds_left)
        return None if play == STOP else self.slips[play]

    def best_index(self, bankroll_cents: int, rounds_left: int | None = None) -> int | None:
        """``best_slip`` as an index into the problem's slips."""
        play = self._choice_at(bankroll_cents, rounds_left)
        return None if play == STOP else int(self.plays.menu[play])

    def tables(self) -> BettingTables:
        """The policy for programmes and simulations; its memory is the rounds played."""
        return self.plays.tables(self.choice)

    def _choice_at(self, bankroll_cents: int, rounds_left: int | None) -> int:
        n_rounds, target = self.problem.n_rounds, self.problem.target_cents
        if n_rounds is not None and (rounds_left is None or not 0 <= rounds_left <= n_rounds):
            raise ConfigError(f"rounds_left is from 0 to {n_rounds} here, got {rounds_left!r}")
        level = self.plays.level_of(bankroll_cents)
        if rounds_left == 0 or (target is not None and bankroll_cents >= target):
            return STOP
        row = 0 if n_rounds is None or rounds_left is None else n_rounds - rounds_left
        if level >= self.choice.shape[1] or np.isnan(self.low[row, level]):
            raise ConfigError(
                f"{bankroll_cents} cents with {rounds_left} rounds left are out of reach from "
                f"{self.problem.start_cents}: solve the problem from there"
            )
        return int(self.choice[row, level])


def solve_betting(problem: BettingProblem, *, tolerance: float = 1e-9) -> OptimalBetting:
    """The optimum of a problem with its proven gap.

    With a deadline the gap is a bound of rounding. Without one policies are improved until the
    bounds at the start are ``tolerance`` apart or no policy is better; about .03 s for 800 levels
    and 10 slips, and some 10 s for 8,000. ``cvar`` repeats the solution over thresholds. Raises
    ConfigError for a problem whose tables would not fit into memory.
    """
    plays = make_plays(problem.rules, problem.slips, *_amounts(problem), law=problem.law)
    if problem.objective == "cvar":
        from niulab.solvers.optimal.cvar import solve_cvar

        game = make_game(problem, plays)
        solved, threshold = solve_cvar(game, problem, tolerance)
        return _betting(problem, plays, solved, threshold * plays.step_cents)
    return _betting(problem, plays, _solve(make_game(problem, plays), problem.n_rounds, tolerance))


def value_of_tables(problem: BettingProblem, tables: BettingTables) -> float:
    """What a policy is worth from the start, by the objective of ``problem``.

    STOP ends the session as leaving does. Its slips need not be those of the problem. With a
    deadline the value is exact but for rounding; without one as good as a linear solver. Raises
    ConfigError for tables whose lattice does not hold the problem, and for ``cvar``, which belongs
    to a whole law: see ``sessions.programme``.
    """
    from niulab.solvers.optimal.kernels import table_step

    if problem.objective == "cvar":
        raise ConfigError("cvar is read off the law of a session: use play_session(...).cvar_cents")
    plays = make_plays(
        problem.rules,
        tables.slips,
        *_amounts(problem),
        law=problem.law,
        step_cents=tables.step_cents,
    )
    # every slip may lie as it is: a short one would be another slip, which tables list apart
    place_of = {int(menu): place for place, menu in enumerate(plays.menu)}
    choice = np.array([*(place_of[slip] for slip in range(len(tables.slips))), STOP])[tables.choice]
    game = make_game(problem, plays)
    if game.n_levels > tables.n_levels:
        raise ConfigError(
            f"the session can come to {game.n_levels} levels of {tables.step_cents} cents, the "
            f"tables end at {tables.n_levels}: make them with n_levels={game.n_levels}"
        )
    choice = np.ascontiguousarray(choice[:, : game.n_levels], dtype=np.int32)
    if problem.n_rounds is None:
        if tables.redraws:
            raise ConfigError("tables that redraw their memory need n_rounds")
        return float(policy_values(game, choice, tables.next)[tables.initial, game.start])
    n_memories = tables.n_memories
    after = np.repeat(game.payoff[None], n_memories, axis=0)
    value = np.empty((n_memories, game.n_levels))
    for played in reversed(range(problem.n_rounds)):
        size = game.ahead(played)
        table_step(
            after, game.payoff, game.bonus, choice[:, :size], tables.next, tables.redraws,
            *plays.moves, value[:, :size],
        )  # fmt: skip
        after[:, :size] = value[:, :size]
    first = after[:, game.start]
    return float(first.mean() if tables.redraws else first[tables.initial])


def make_game(problem: BettingProblem, plays: Plays) -> Game:
    """The game of a problem; of ``cvar`` with the threshold at the start's bankroll."""
    step, n_rounds = plays.step_cents, problem.n_rounds
    start = problem.start_cents // step
    if problem.target_cents is not None:
        n_levels = problem.target_cents // step
    else:
        n_levels = start + ((n_rounds or 1) - 1) * plays.reach + 1
    verify_size(n_rounds or 1, n_levels + plays.reach, step, _SHORTER)
    levels = np.arange(n_levels + plays.reach)
    return Game(
        plays=plays,
        payoff=problem.payoff(levels * step),
        n_levels=n_levels,
        start=start,
        bonus=float(problem.objective == "time_at_table"),
        can_leave=problem.can_leave,
    )


def _solve(game: Game, n_rounds: int | None, tolerance: float) -> Solved:
    return solve_endless(game, tolerance) if n_rounds is None else solve_deadline(game, n_rounds)


def _betting(
    problem: BettingProblem, plays: Plays, solved: Solved, threshold_cents: int | None = None
) -> OptimalBetting:
    return OptimalBetting(
        problem=problem,
        low=solved.low,
        high=solved.high,
        choice=solved.choice,
        plays=plays,
        threshold_cents=threshold_cents,
    )


def _amounts(problem: BettingProblem) -> list[int]:
    return [cents for cents in (problem.start_cents, problem.target_cents) if cents is not None]
