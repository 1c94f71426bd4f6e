"""Seats of one round beside each other: they share the dealer and the deck."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from niulab.evaluation.detection.features import are_known
from niulab.evaluation.playlog.plays import Plays

__all__ = ["TableRounds", "hands_on_table", "table_rounds"]


class TableRounds(NamedTuple):
    """Rows grouped by round: int64.

    rows: (n,), places in the plays, by table, round and seat. starts: (n_rounds + 1,), where each
    round begins in ``rows``.
    """

    rows: NDArray[np.int64]
    starts: NDArray[np.int64]

    @property
    def rounds(self) -> NDArray[np.int64]:
        """The number of its round for every place of ``rows``, (n,)."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))


def table_rounds(plays: Plays) -> TableRounds:
    """Group rows by table and round, in seat order, whatever order they are in."""
    columns = plays.seat, plays.round, plays.table
    rows = np.arange(len(plays)) if _are_sorted(columns) else np.lexsort(columns)
    if not len(rows):
        return TableRounds(rows, np.zeros(1, dtype=np.int64))
    table, number = plays.table[rows], plays.round[rows]
    is_first = np.r_[True, (table[1:] != table[:-1]) | (number[1:] != number[:-1])]
    return TableRounds(rows, np.append(np.flatnonzero(is_first), len(rows)))


def _are_sorted(columns: Sequence[NDArray[np.integer]]) -> bool:
    """Whether rows already ascend by the last column, then the one before and so on."""
    ascends: NDArray[np.bool_] | bool = True
    for column in columns:
        ascends = (column[1:] > column[:-1]) | ((column[1:] == column[:-1]) & ascends)
    return bool(np.all(ascends))


def hands_on_table(plays: Plays) -> NDArray[np.uint8]:
    """The cards each seat showed, or those dealt where the log does not tell them apart; (n, 5)."""
    is_shown = are_known(plays.shown)
    return np.where(is_shown[:, None], plays.shown, plays.cards) if is_shown.any() else plays.cards
