"""Rounds of many rows at once, each settled under its own sheet."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from niulab.envs.encoding import BETTING
from niulab.envs.rows.croupier import COLUMNS, Croupier
from niulab.envs.sheets.drawing import Sheets

__all__ = ["SheetCroupier"]


class SheetCroupier:
    """One ``Croupier`` for each sheet; ``boxes``: those that some slip stakes under some sheet."""

    def __init__(self, sheets: Sheets) -> None:
        self._takes = sheets.takes
        self._croupiers = [
            Croupier(rules, menu) for rules, menu in zip(sheets.rules, sheets.menus, strict=True)
        ]
        self.boxes = tuple(dict.fromkeys(box for each in self._croupiers for box in each.boxes))
        self._columns = [
            [*range(len(COLUMNS)), *(len(COLUMNS) + self.boxes.index(box) for box in each.boxes)]
            for each in self._croupiers
        ]

    @property
    def is_free(self) -> bool:
        """Whether every sheet takes every slip."""
        return bool(self._takes.all())

    def write_masks(
        self, phases: NDArray[np.int8], sheets: NDArray[np.int64], masks: NDArray[np.bool_]
    ) -> None:
        """Write the slips that the rows' sheets take to ``masks``, bool (n, slips)."""
        np.logical_or(self._takes[sheets], (phases != BETTING)[:, None], out=masks)

    def settle(
        self,
        hands: NDArray[np.uint8],
        dealers: NDArray[np.uint8],
        slips: NDArray[np.int64],
        sheets: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """``Croupier.settle`` of hands at their strongest, row i under sheet ``sheets[i]`` (n,)."""
        settled = np.zeros((len(COLUMNS) + len(self.boxes), len(hands)), dtype=np.int64)
        for number, croupier in enumerate(self._croupiers):
            rows = np.flatnonzero(sheets == number)
            if len(rows):
                found = croupier.settle(hands[rows], dealers[rows], None, slips[rows])
                settled[np.ix_(self._columns[number], rows)] = found
        return settled

    def staked(
        self, slips: NDArray[np.int64], sheets: NDArray[np.int64]
    ) -> dict[str, NDArray[np.bool_]]:
        """Which slips (n,) have a stake on each box of the row's sheet."""
        flags = {box: np.zeros(len(slips), dtype=np.bool_) for box in self.boxes}
        for number, croupier in enumerate(self._croupiers):
            rows = np.flatnonzero(sheets == number)
            for box, has_stake in croupier.staked(slips[rows]).items():
                flags[box][rows] = has_stake
        return flags
