"""From vectors to slips: each coordinate picks a stake from what the bankroll still covers.

Boxes are filled one after the other, the required one first, then in the sheet's order. A
coordinate ``a`` in [-1, 1] is the share ``t = (a + 1) / 2`` of the box's affordable range, which
ends at the largest stake whose cover the chips left by the boxes before it put in sight:

    required box    least + t (largest - least), rounded to the nearest stake
    optional box    t * largest; below half the least stake nothing, else the nearest stake

Halves go up. Every vector gives a slip the bankroll covers, and every such slip is given by one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.error import InvalidAction
from numpy.typing import NDArray

from niulab.envs.settings import EnvSettings
from niulab.envs.stakes.grid import StakeAxis, stake_grid

__all__ = ["StakeMap", "read_vectors"]

_Longs = NDArray[np.int64]
_Floats = NDArray[np.float64]


class StakeMap:
    """The mapping of one task with continuous stakes; slips are indices into its menu.

    Bankrolls are those of rows about to bet: cents (n,). Vectors have a column for each box of the
    sheet, in its order.
    """

    def __init__(self, settings: EnvSettings) -> None:
        grid = stake_grid(
            settings.rules,
            chip_cents=settings.chip_cents,
            maximum_cents=settings.maximum_cents,
            target_cents=settings.target_cents,
        )
        self._axes, self._places = grid.axes, grid.places
        self._keys = self._keys_of(self._places)
        self._shares: list[_Floats] = [_shares_by_top(axis) for axis in self._axes]

    @property
    def n_boxes(self) -> int:
        """Columns of a vector."""
        return len(self._axes)

    def slips(self, vectors: NDArray[np.floating], bankrolls: _Longs) -> _Longs:
        """The slips (n,) of vectors (n, n_boxes); coordinates beyond 1 count as 1."""
        shares = (np.clip(vectors.astype(np.float64), -1, 1) + 1) / 2
        left = bankrolls.astype(np.int64)
        places = np.empty((len(left), self.n_boxes), dtype=np.int64)
        for i, axis in enumerate(self._axes):
            places[:, i] = _nearest(axis, shares[:, axis.column], axis.tops(left))
            left -= np.append(axis.needs, 0)[places[:, i]]
        found: _Longs = np.searchsorted(self._keys, self._keys_of(places))
        return found

    def vectors(self, slips: _Longs, bankrolls: _Longs) -> NDArray[np.float32]:
        """Vectors (n, n_boxes) that ``slips`` maps to some slips (n,) which the bankrolls cover.

        Of a slip that a bankroll does not cover, each box gets what it can.
        """
        vectors = np.empty((len(slips), self.n_boxes), dtype=np.float32)
        left = bankrolls.astype(np.int64)
        for i, axis in enumerate(self._axes):
            tops = axis.tops(left)
            places = np.minimum(self._places[slips, i], tops)
            stakes, largest = (np.append(axis.stakes, 0)[at] for at in (places, tops))
            least = axis.stakes[0] if axis.is_required else 0
            shares = (stakes - least) / np.maximum(largest - least, 1)
            vectors[:, axis.column] = 2 * np.clip(shares, 0, 1) - 1
            left -= np.append(axis.needs, 0)[places]
        return vectors

    def shares(self, bankrolls: _Longs) -> _Floats:
        """P(slip) under vectors drawn uniformly from the box [-1, 1]: (n, n_slips), exact."""
        left = np.repeat(bankrolls.astype(np.int64)[:, None], len(self._places), axis=1)
        shares = np.ones(left.shape)
        for i, axis in enumerate(self._axes):
            places = self._places[:, i]
            shares *= self._shares[i][axis.tops(left) + 1, places + 1]
            left -= np.append(axis.needs, 0)[places]
        return shares

    def _keys_of(self, places: _Longs) -> _Longs:
        """One number per row of places, in the grid's order."""
        keys = np.zeros(len(places), dtype=np.int64)
        for i, axis in enumerate(self._axes):
            keys = keys * (len(axis.stakes) + 1) + places[:, i] + 1
        return keys


def read_vectors(actions: Any, shape: tuple[int, ...]) -> _Floats:
    """Vectors float64 of a shape whose last axis is the boxes; raises InvalidAction for another
    shape, for nan and for what is no array of numbers.
    """
    try:
        vectors = np.asarray(actions, dtype=np.float64)
    except (TypeError, ValueError):
        vectors = np.empty(0)
    if vectors.shape != shape or np.isnan(vectors).any():
        raise InvalidAction(
            f"stakes are numbers from -1 to 1 of shape {shape}, one for each box, got {actions!r}"
        )
    return vectors


def _nearest(axis: StakeAxis, shares: _Floats, tops: _Longs) -> _Longs:
    """Places of the stakes nearest to shares of the affordable range; the least where none is."""
    if not len(axis.stakes):
        return np.full(len(tops), -1, dtype=np.int64)
    least, step = int(axis.stakes[0]), _step(axis)
    largest = np.append(axis.stakes, 0)[tops]
    cents = shares * largest
    if axis.is_required:
        cents = least + shares * (largest - least)
    places: _Longs = np.floor((cents - least) / step + 0.5).astype(np.int64).clip(0)
    if axis.is_required:
        held: _Longs = np.minimum(places, np.maximum(tops, 0))
        return held
    is_none: NDArray[np.bool_] = (cents < least / 2) | (tops < 0)
    return np.where(is_none, -1, np.minimum(places, tops)).astype(np.int64)


def _shares_by_top(axis: StakeAxis) -> _Floats:
    """P(place) by the largest place affordable, when the share is uniform: (m + 1, m + 1).

    Rows are ``top + 1``, columns ``place + 1``; 0 above the top.
    """
    m = len(axis.stakes)
    table = np.zeros((m + 1, m + 1))
    table[0, 0] = 1
    for top in range(m):
        cents = axis.stakes[: top + 1].astype(np.float64)
        if axis.is_required:
            if top == 0:
                table[1, 1] = 1
                continue
            edges = np.concatenate([cents[:1], cents[:-1] + _step(axis) / 2, cents[-1:]])
            table[top + 1, 1 : top + 2] = np.diff(edges) / (cents[-1] - cents[0])
        else:
            edges = np.concatenate([[0, cents[0] / 2], cents[:-1] + _step(axis) / 2, cents[-1:]])
            table[top + 1, : top + 2] = np.diff(edges) / cents[-1]
    return table


def _step(axis: StakeAxis) -> int:
    return int(axis.stakes[1] - axis.stakes[0]) if len(axis.stakes) > 1 else 1
