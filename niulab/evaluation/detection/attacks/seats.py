"""Seats of one round beside each other: they share the dealer and the deck."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from niulab.engine.cards import HAND_SIZE
from niulab.evaluation.detection.features import are_known, judged
from niulab.evaluation.playlog.plays import Plays

__all__ = ["TableRounds", "first_of_hand", "hands_on_table", "table_rounds"]


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


def first_of_hand(plays: Plays, rounds: TableRounds, hands: NDArray[np.uint8]) -> NDArray[np.int64]:
    """The first row of its round that tells of the same hand, -1 where a row's is not known; (n,).

    Several players may stake on one seat: their rows tell of one hand. Where no seat is recorded,
    rows with the same cards do. hands: uint8 (n, 5).
    """
    firsts = np.full(len(plays), -1, dtype=np.int64)
    at = np.flatnonzero((judged(plays) & are_known(hands))[rounds.rows])
    rows, number = rounds.rows[at], rounds.rounds[at]
    firsts[rows] = rows
    seats = plays.seat[rows]
    if ((number[1:] == number[:-1]) & (seats[1:] == seats[:-1])).any():
        sets = np.sort(hands[rows], axis=1).astype(np.int64) @ (64 ** np.arange(HAND_SIZE))
        keys = number << 31 | np.where(seats > 0, seats, 128 + sets)
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        firsts[rows] = rows[first[inverse]]
    return firsts
