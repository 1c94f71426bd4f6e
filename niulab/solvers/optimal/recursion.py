"""Solving a game against the bankroll: by rounds up to a deadline, or for good without one.

**With a deadline** the recursion over rounds is exact but for rounding. A sum of ``m`` products of
numbers up to ``S`` errs by at most ``(m + 5) u S`` (``u = 2**-53``; the inputs are rounded, too),
and a round adds its error to those after it; a choice may fall short of the best by the tie
tolerance. Both are added up into ``low`` and ``high``.

**Without one** values are found by policy iteration (Howard 1960) and *proven* by one optimality
step ``T``, whatever the linear solver did. Let ``w >= 0`` lose at least 1 a round, on average,
under every play: ``w(l) >= 1 + E w(l + jump)``. If ``T V <= V + d`` then ``V + d w`` lies above
what a step makes of it, so every policy is worth at most ``V + d w``; if the step of one policy
gives ``T_c V >= V - e``, that policy is worth at least ``V - e w`` (weighted error bounds, as in
Bertsekas, Dynamic Programming and Optimal Control 2, chapter 1). This is value iteration from below
and from above, started at the answer. ``w`` is ``C (exp(t x) - exp(t l))`` with the ``t`` of a grid
that bounds best: under every play ``E exp(t jump) >= m > 1``, which Jensen's inequality grants for
any ``t`` on the side of the drift.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from niulab.errors import ConfigError
from niulab.solvers.optimal.plays import Plays

__all__ = ["Game", "Solved", "policy_values", "solve_deadline", "solve_endless", "stopping_weights"]

Floats = NDArray[np.float64]

_ULP = 2.0**-53
_TIE = 32 * _ULP  # of the largest value: above the noise of equal sums, below any real difference
_WARM_STEPS = 40
_MOST_POLICIES = 60
_MOST_ELEMENTS = (1 << 31) - 1  # SuperLU counts them in 32 bits


@dataclass(frozen=True, eq=False)
class Game:
    """Plays, what ends are worth, and what a round is.

    payoff: by level, (L + reach,): of ending there. n_levels: L, the levels at which rounds can be
    played; all above are ends. bonus: worth of a round played, whatever it brings. start: level.
    is_open: play could go on above, and only ``w`` that fall there, too, may be used in proofs.
    """

    plays: Plays
    payoff: Floats
    n_levels: int
    start: int
    bonus: float = 0.0
    can_leave: bool = False
    is_open: bool = False

    def tie(self, values: Floats) -> float:
        """The difference up to which plays count as equal."""
        return _TIE * (float(np.abs(values).max()) + self.bonus)

    def rounding(self, scale: float) -> float:
        """Bound of the error of one computed step of values up to ``scale``."""
        return (self.plays.most_results + 5) * _ULP * (scale + self.bonus)

    def ahead(self, n_rounds: int) -> int:
        """Levels below this one are all there is after some rounds."""
        return min(self.n_levels, self.start + n_rounds * self.plays.reach + 1)


@dataclass(frozen=True, eq=False)
class Solved:
    """low, high: proven bounds (M, L), row t for t rounds played (one row without a deadline);
    ``low`` is met by choice: int32 (M, L), a play or -1. Levels out of reach hold nan and -1.
    """

    low: Floats
    high: Floats
    choice: NDArray[np.int32]


def solve_deadline(game: Game, n_rounds: int) -> Solved:
    """The best play at every level and round."""
    from niulab.solvers.optimal.kernels import best_plays

    scale = float(np.abs(game.payoff).max()) + n_rounds * game.bonus
    tie = _TIE * scale
    shape = n_rounds, game.n_levels
    values, choice = np.full(shape, np.nan), np.full(shape, -1, dtype=np.int32)
    after = game.payoff.copy()
    for played in reversed(range(n_rounds)):
        size = game.ahead(played)
        best_plays(
            after, game.payoff, game.bonus, game.can_leave, tie, *game.plays.arrays,
            values[played, :size], choice[played, :size],
        )  # fmt: skip
        after[:size] = values[played, :size]
    left = np.arange(n_rounds, 0, -1)[:, None]
    error = left * game.rounding(scale)
    return Solved(values - error, values + (error + left * tie), choice)


def solve_endless(game: Game, tolerance: float) -> Solved:
    """The best play at every level; stops as soon as the bounds of the start are ``tolerance``
    apart, or when no policy is better.

    Raises ConfigError where a policy's equations may have more elements than the solver can count.
    """
    _verify_band(game)
    weights = stopping_weights(game)
    after = game.payoff.copy()
    inner = after[: game.n_levels]
    inner[:] = _first_guess(game)
    for _ in range(_WARM_STEPS):
        inner[:], choice = _best(game, after)
    result = None
    for _ in range(_MOST_POLICIES):
        inner[:] = policy_values(game, choice[None])[0]
        value, better = _best(game, after)
        rounding = game.rounding(float(np.abs(after).max()))
        # T V <= V + above everywhere, and the better policy's own step is at least V - below
        above = max(float((value - inner).max()), 0.0) + game.tie(after) + rounding
        below = max(float((inner - value).max()), 0.0) + rounding
        found = Solved(
            (inner - below * weights)[None], (inner + above * weights)[None], better[None]
        )
        if result is None or _gap(found, game) <= _gap(result, game):
            result = found
        if _gap(found, game) <= tolerance or np.array_equal(better, choice):
            break
        choice = better
    return result or found


def _verify_band(game: Game) -> None:
    """Elimination fills the band: at each level as far as the widest slip there can jump."""
    plays, n = game.plays, game.n_levels
    up = np.maximum.reduceat(plays.jumps, plays.first[:-1])
    down = np.minimum.reduceat(plays.jumps, plays.first[:-1])
    widths = np.zeros(n, dtype=np.int64)
    is_placed = plays.begin < n
    spans = np.maximum(up, 0) - np.minimum(down, 0)
    np.maximum.at(widths, plays.begin[is_placed], spans[is_placed])
    n_elements = int(np.minimum(np.maximum.accumulate(widths), n).sum())
    if n_elements > _MOST_ELEMENTS:
        raise ConfigError(
            f"{n:,} bankrolls of {plays.step_cents} cents make equations of up to {n_elements:,} "
            f"elements, more than {_MOST_ELEMENTS:,}: give n_rounds, lower the target, or take "
            "stakes on a coarser chip unit"
        )


def _best(game: Game, after: Floats) -> tuple[Floats, NDArray[np.int32]]:
    """One optimality step from values ``after``: value and choice, both (L,)."""
    from niulab.solvers.optimal.kernels import best_plays

    value, choice = np.empty(game.n_levels), np.empty(game.n_levels, dtype=np.int32)
    best_plays(
        after, game.payoff, game.bonus, game.can_leave, game.tie(after), *game.plays.arrays,
        value, choice,
    )  # fmt: skip
    return value, choice


def _gap(found: Solved, game: Game) -> float:
    return float(found.high[0, game.start] - found.low[0, game.start])


def _first_guess(game: Game) -> Floats:
    """A straight line between the ends: near the answer where the edge is small."""
    ends = [game.plays.ruin_level - 1, game.n_levels]
    line = np.interp(np.arange(game.n_levels), ends, game.payoff[np.maximum(ends, 0)])
    return np.maximum(line, game.payoff[: game.n_levels]) if game.can_leave else line


def policy_values(
    game: Game, choice: NDArray[np.int32], following: NDArray[np.int32] | None = None
) -> Floats:
    """Values (M, L) of a given policy (M, L) without a deadline, as good as a linear solver is.

    following: (M, 3), see ``BettingTables.next``.
    """
    from scipy.sparse import csr_array, eye_array
    from scipy.sparse.linalg import splu

    from niulab.solvers.optimal.kernels import chain_rows

    if following is None:
        following = np.zeros((1, 3), dtype=np.int32)
    rows, places, chances, constant = chain_rows(
        game.payoff, game.bonus, choice, following, *game.plays.moves
    )
    n = choice.size
    moves = csr_array((chances, places, rows), shape=(n, n))
    # rows add up to at most 1 and levels are in order: no pivoting, and the band does not fill
    factors = splu(
        (eye_array(n) - moves).tocsc(),
        permc_spec="NATURAL",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
    values: Floats = factors.solve(constant).reshape(choice.shape[::-1]).T
    return values


def stopping_weights(game: Game) -> Floats:
    """``w`` of the module's docstring at levels 0 to L - 1: a bound of the rounds left to play.

    Raises ConfigError where a slip can go on for ever.
    """
    plays, top = game.plays, len(game.payoff) - 1
    levels = np.arange(game.n_levels)
    playing = np.array([plays.ruin_level, game.n_levels - 1])
    best = None
    for size in np.geomspace(1e-2, 300.0, 60) / top:
        for rate in (-size,) if game.is_open else (size, -size):
            exponents = rate * plays.jumps
            if np.abs(exponents).max() > 50:
                continue
            means = np.add.reduceat(plays.chances * np.expm1(exponents), plays.first[:-1])
            gain = float(means.min())  # least E exp(rate * jump) - 1
            if gain < 1e-9:
                continue  # the drift is on the other side, or too little for sure arithmetic
            end = top if rate > 0 else 0
            least = float((rate * playing).min())
            weights = (np.exp(rate * end - least) - np.exp(rate * levels - least)) / gain
            if best is None or weights[game.start] < best[game.start]:
                best = weights
    if best is None:
        raise ConfigError(
            "a slip that moves the bankroll by nothing, or by too little to tell, never ends a "
            "session: leave it out, or give n_rounds"
        )
    covered: Floats = best * (1 + 1e-6)  # more than the rounding of the exponentials
    return covered
