"""What is done elsewhere, as a companion: a z-test of a player's results, looked at every round.

The mean and the variance of a round's result given its stakes are exact, so that each look by
itself is fair; it is the looking that is not.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from niulab.engine.rules import RuleSet
from niulab.evaluation.detection.features import result_law
from niulab.evaluation.playlog.plays import BOXES, Plays, boxes_of

__all__ = ["RunningZ", "box_moments"]

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


class RunningZ:
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
        """Rows by time, one a player and round; they go on where the last ended."""
        from niulab.evaluation.detection.calibration.kernels import add_results

        means, covariances = self._moments
        add_results(
            plays.player, plays.stakes, plays.nets, means, covariances, self._first, self._sums,
            self._variances, self._counts, self.largest,
        )  # fmt: skip
