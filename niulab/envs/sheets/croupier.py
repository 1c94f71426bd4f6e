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

        self._staked = {
            box: np.array([[slip.stake(box) > 0 for slip in menu] for menu in sheets.menus])
            for box in self.boxes
        }

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
        order = np.argsort(sheets, kind="stable")  # so that the rows of a sheet are one slice
        hands, dealers, slips = hands[order], dealers[order], slips[order]
        ends = np.cumsum(np.bincount(sheets, minlength=len(self._croupiers))).tolist()
        block = np.zeros((len(COLUMNS) + len(self.boxes), len(hands)), dtype=np.int64)
        pieces = zip(self._croupiers, self._columns, [0, *ends[:-1]], ends, strict=True)
        for croupier, columns, first, end in pieces:
            if first < end:
                rows = slice(first, end)
                block[columns, rows] = croupier.settle(
                    hands[rows], dealers[rows], None, slips[rows]
                )
        settled = np.empty_like(block)
        settled[:, order] = block
        return settled

    def staked(
        self, slips: NDArray[np.int64], sheets: NDArray[np.int64]
    ) -> dict[str, NDArray[np.bool_]]:
        """Which slips (n,) have a stake on each box of the row's sheet."""
        return {box: has_stake[sheets, slips] for box, has_stake in self._staked.items()}
