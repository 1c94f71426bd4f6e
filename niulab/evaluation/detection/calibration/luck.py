"""What is done elsewhere, as a companion: a z-test of a player's results, looked at every round.

The mean and the variance of a round's result given its stakes are exact, so that each look by
itself is fair; it is the looking that is not.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from niulab.engine.rules import RuleSet
from niulab.evaluation.detection.features import result_law
from niulab.evaluation.detection.scores import round_starts
from niulab.evaluation.playlog.plays import BOXES, Plays, boxes_of

__all__ = ["Luck", "box_moments"]

Floats = NDArray[np.float64]


def box_moments(rules: RuleSet) -> tuple[Floats, Floats]:
    """Mean (4,) and covariance (4, 4) of the results of a unit on each of BOXES; bonuses: zeros."""
    known = result_law(rules)
    nets = np.zeros((len(known.cells), len(BOXES)))
    for column, box in enumerate(boxes_of(rules)[:3]):
        if box is not None:
            nets[:, column] = [float(cell.unit(rules, box).net) for cell in known.cells]
    means = known.law @ nets
    centered = nets - means
    return means, centered.T @ (known.law[:, None] * centered)


class Luck:
    """Running z-scores of n players' results: now, and the largest since round ``first``."""

    def __init__(self, rules: RuleSet, n: int, *, first: int) -> None:
        self._moments = box_moments(rules)
        self._first = first
        self._sums, self._variances = np.zeros(n), np.zeros(n)
        self._counts = np.zeros(n, dtype=np.int64)
        self.largest = np.full(n, -np.inf)

    @property
    def now(self) -> Floats:
        """Z of everything so far, (n,); 0 for who has not played."""
        z: Floats = self._sums / np.sqrt(np.where(self._variances > 0, self._variances, 1.0))
        return z

    def see(self, plays: Plays) -> None:
        """Rows sorted by player, one a player and round; they go on where the last ended."""
        if not len(plays):
            return
        means, covariances = self._moments
        starts = round_starts(plays)
        first, codes = starts.rounds[starts.players[:-1]], starts.codes
        last = np.append(first[1:], len(plays)) - 1
        stakes = plays.stakes.astype(np.float64)
        steps = plays.nets.sum(axis=1) - stakes @ means
        spread = np.einsum("nb,bc,nc->n", stakes, covariances, stakes)
        lengths = last - first + 1

        def running(values: Floats, before: Floats) -> Floats:
            sums: Floats = np.cumsum(values)
            sums += np.repeat(before - (sums[first] - values[first]), lengths)
            return sums

        sums = running(steps, self._sums[codes])
        variances = running(spread, self._variances[codes])
        place = np.arange(len(plays)) - np.repeat(first, lengths)
        rounds = 1 + place + np.repeat(self._counts[codes], lengths)
        z = np.where(rounds >= self._first, sums / np.sqrt(np.maximum(variances, 1.0)), -np.inf)
        self.largest[codes] = np.maximum(self.largest[codes], np.maximum.reduceat(z, first))
        self._sums[codes], self._variances[codes] = sums[last], variances[last]
        self._counts[codes] += lengths
