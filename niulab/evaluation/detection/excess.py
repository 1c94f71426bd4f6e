"""What a player's stakes won beyond their exact expectation: a confidence sequence.

The excess of a round is the result of its stakes on the main boxes, both hands set best, less what
those stakes are worth on average; Bonus boxes are left out. For who plays without knowledge its
mean is 0 in every round, whatever he stakes. With S the sum of the excess and M the sum of its
conditional means, each rate l of a grid gives a process

    exp(l (S - M) - sum d(l)),  d(l) = (-log(1 - l r) - l r) (x / r)^2

that is a nonnegative supermartingale where a round's excess x is above -r, r known at the close
(Fan, Grama and Liu, Electronic Journal of Probability 20, 2015); rounds with l r near 1 take
Hoeffding's d or the range itself. A mixture over l bounds S - M at all times, and its mirror image
M - S: an empirical-Bernstein confidence sequence of the mean over the rounds played, whether or not
the edge is the same in every round (Waudby-Smith and Ramdas, JRSS B 86, 2024; Howard, Ramdas,
McAuliffe and Sekhon, Annals of Statistics 49, 2021).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from niulab.engine.rules import RuleSet
from niulab.errors import ConfigError
from niulab.evaluation.detection.features import result_law
from niulab.evaluation.detection.scores import RoundStarts
from niulab.evaluation.playlog.plays import Plays, boxes_of

__all__ = ["ExcessStates", "Gains", "excess_interval", "fold_excess", "round_gains"]

Floats = NDArray[np.float64]

_RATES = 0.6 * 2.4 ** -np.arange(14.0)
"""Rates l by base unit: each is the best for some number of rounds."""

_STEPS = 8  # of the grid of bounds, by factor of two
_LOWEST, _HIGHEST = -64, 128
_MOST_LR = 0.9
_N_NEWTON = 60


@dataclass(frozen=True, eq=False, kw_only=True)
class ExcessStates:
    """P players: rounds with a stake and a known result, int64 (P,); sums of the excess in base
    units (P,); sums of d by rate for S above M and for S below it, (P, K).
    """

    n: NDArray[np.int64]
    sums: Floats
    above: Floats
    below: Floats

    @classmethod
    def fresh(cls, n_players: int) -> ExcessStates:
        """Players of whom nothing is known."""
        shape = n_players, len(_RATES)
        n = np.zeros(n_players, dtype=np.int64)
        return cls(n=n, sums=np.zeros(n_players), above=np.zeros(shape), below=np.zeros(shape))

    def __len__(self) -> int:
        return len(self.n)

    def take(self, players: NDArray[np.integer]) -> ExcessStates:
        """Some of the players, copied."""
        return ExcessStates(**{f.name: getattr(self, f.name)[players] for f in fields(self)})

    @staticmethod
    def join(parts: Sequence[ExcessStates]) -> ExcessStates:
        """Players of several pieces, one after the other; no player may be in two."""
        names = [f.name for f in fields(ExcessStates)]
        return ExcessStates(
            **{name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
        )


class Gains(NamedTuple):
    """Rounds in base units, (n_rounds,): excess, the least and the most it could have been.

    is_known: whether there was a stake and a result to judge.
    """

    excess: Floats
    least: Floats
    most: Floats
    is_known: NDArray[np.bool_]


def round_gains(
    plays: Plays, starts: RoundStarts, results: NDArray[np.int16], sheets: Sequence[RuleSet]
) -> Gains:
    """The excess of rounds of rows sorted by player, all seats of a player together.

    results: (n,), the place of each row's cell in ``result_law``, -1 where it is not known.
    """
    from niulab.evaluation.detection.kernels import sum_gains

    n_rounds = len(starts.rounds) - 1
    sums, known = np.zeros((n_rounds, 3)), np.zeros(n_rounds, dtype=np.bool_)
    units = [_unit_excess(rules) for rules in sheets]
    if units:
        first_cell = np.cumsum([0, *map(len, units[:-1])])
        bounds = np.array([(cells.min(axis=0), cells.max(axis=0)) for cells in units])
        base_units = np.array([float(rules.base_unit_cents) for rules in sheets])
        sum_gains(
            starts.rounds, plays.rules, plays.stakes, results, base_units, first_cell,
            np.concatenate(units), bounds, sums, known,
        )  # fmt: skip
    return Gains(sums[:, 0], sums[:, 1], sums[:, 2], known)


def fold_excess(states: ExcessStates, starts: RoundStarts, gains: Gains) -> ExcessStates:
    """Fold rounds into the states of their players; pieces give the same bytes as all at once."""
    from niulab.evaluation.detection.kernels import fold_gains

    after = ExcessStates(**{f.name: getattr(states, f.name).copy() for f in fields(ExcessStates)})
    lower, upper = _bins(-gains.least), _bins(gains.most)
    fold_gains(
        starts.players, starts.codes, *gains, lower, upper, _bernstein(), _RATES,
        after.n, after.sums, after.above, after.below,
    )  # fmt: skip
    return after


def excess_interval(states: ExcessStates, *, level: float = 0.95) -> Floats:
    """Low and high ends in base units per 100 rounds, (P, 2); infinite for who has not played.

    They hold at all times at once: the chance that the mean excess over the rounds played so far
    ever lies outside is 1 - level at most. Raises ConfigError for a level that is none.
    """
    if not 0 < level < 1:
        raise ConfigError(f"a level is above 0 and below 1, got {level}: write 0.95")
    bar = log(2 / (1 - level))
    low = states.sums - _reach(states.above, bar)
    high = states.sums + _reach(states.below, bar)
    n = np.maximum(states.n, 1)[:, None]
    ends = 100 * np.stack([low, high], axis=1) / n
    nowhere = np.array([-np.inf, np.inf])
    result: Floats = np.where(states.n[:, None] > 0, ends, nowhere)
    return result


def _reach(debts: Floats, bar: float) -> Floats:
    """The y at which the mixture of exp(l y - d) reaches the bar, (P,).

    Newton's steps come down on it from the right, where the function is convex: wherever they stop,
    y is not too small.
    """
    n_rates = len(_RATES)
    y = ((bar + log(n_rates) + debts) / _RATES).min(axis=1)
    for _ in range(_N_NEWTON):
        powers = _RATES * y[:, None] - debts - log(n_rates)
        top = powers.max(axis=1)
        weights = np.exp(powers - top[:, None])
        total = weights.sum(axis=1)
        step = (top + np.log(total) - bar) * total / (weights @ _RATES)
        y -= np.maximum(step, 0.0)
        if not (step > 1e-9 * np.maximum(y, 1.0)).any():
            break
    result: Floats = y
    return result


_UNITS: dict[str, Floats] = {}


def _unit_excess(rules: RuleSet) -> Floats:
    """Result per unit less its mean, by cell of ``result_law`` and column, (n_cells, 3)."""
    if rules.rules_hash not in _UNITS:
        known = result_law(rules)
        units = np.zeros((len(known.cells), 3))
        for column, box in enumerate(boxes_of(rules)[:3]):
            if box is not None:
                units[:, column] = [float(cell.unit(rules, box).net) for cell in known.cells]
        _UNITS[rules.rules_hash] = units - known.law @ units
    return _UNITS[rules.rules_hash]


def _bins(bounds: Floats) -> NDArray[np.int64]:
    """Places of bounds in the grid, rounded up; beyond it the last place."""
    with np.errstate(divide="ignore"):
        steps = np.ceil(_STEPS * np.log2(np.maximum(bounds, 0.0)))
    places: NDArray[np.int64] = np.clip(steps - _LOWEST, 0, _HIGHEST - _LOWEST).astype(np.int64)
    return places


def _bernstein() -> Floats:
    """(-log(1 - l r) - l r) / r^2 by bound r and rate l; -1 where l r is too near 1."""
    bounds = 2.0 ** (np.arange(_LOWEST, _HIGHEST + 1) / _STEPS)
    lr = bounds[:, None] * _RATES
    is_small = lr <= _MOST_LR
    lr = np.minimum(lr, _MOST_LR)
    values = (-np.log1p(-lr) - lr) / bounds[:, None] ** 2
    is_small[-1] = False  # the last place holds everything beyond the grid
    return np.where(is_small, values, -1.0)
