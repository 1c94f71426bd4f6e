"""Compiled: results of players into the sums of their z-scores."""

# Inside numba's functions the types are numba's.
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"

from __future__ import annotations

from math import sqrt

from numba import njit

__all__ = ["add_results"]


@njit(cache=True, nogil=True)
def add_results(
    players, stakes, nets, means, covariances, first, sums, variances, counts, largest
):  # fmt: skip
    """Add rows to what is kept of their players, in place.

    players: codes (n,), rows by time. stakes, nets: int64 (n, 4) cents. means (4,), covariances
    (4, 4): of the results of a unit. sums, variances, largest: float64, counts: int64, (n_players,)
    each; largest is the largest z since the player's round ``first``.
    """
    n_boxes = len(means)
    for row in range(len(players)):
        player = players[row]
        step, spread = 0.0, 0.0
        for b in range(n_boxes):
            step += nets[row, b] - stakes[row, b] * means[b]
            if stakes[row, b]:
                for c in range(n_boxes):
                    spread += stakes[row, b] * covariances[b, c] * stakes[row, c]
        sums[player] += step
        variances[player] += spread
        counts[player] += 1
        if counts[player] >= first:
            z = sums[player] / sqrt(max(variances[player], 1.0))
            largest[player] = max(largest[player], z)
