"""Rounds whose rows lay apart in a log: what only all rows of a round together can tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from niulab.evaluation.playlog.checking import sheets_of
from niulab.evaluation.playlog.chunk import Quarantined, ReadOptions
from niulab.evaluation.playlog.flat import COLUMNS, flat_lines
from niulab.evaluation.playlog.plays import NO_CARD, Plays
from niulab.evaluation.playlog.replay import replayed
from niulab.evaluation.playlog.rounds import find_repeats, flag_rounds, round_keys

__all__ = ["Mended", "filled", "mend"]


class Mended(NamedTuple):
    """plays: all rows that stay, flagged anew. rows: int64, their places among the rows given.
    n_duplicates: rows equal to an earlier one. quarantined: place of a row and what to write of it.
    """

    plays: Plays
    rows: NDArray[np.int64]
    n_duplicates: int
    quarantined: list[tuple[int, Quarantined]]


def mend(
    plays: Plays,
    lines: NDArray[np.int64],
    sources: NDArray[np.int32],
    names: Sequence[str],
    options: ReadOptions,
) -> Mended:
    """Whole rounds, each row with its line and the place of its source in ``names``; -1 for rows
    that lie in the store already. The first row of a round, seat and player stays.
    """
    plays = filled(plays)
    repeats = find_repeats(plays)
    differing = repeats.differing
    texts = flat_lines(plays.take(differing), columns=COLUMNS, header=False)
    quarantined = []
    for row, text in zip(differing.tolist(), texts, strict=True):
        first = int(repeats.first_of[row])
        where = f"line {lines[first]}"
        if sources[first] < 0:
            where = "a row imported earlier"
        elif sources[first] != sources[row]:
            where += f" of {names[sources[first]]}"
        reason = f"differs from {where}: the same round, seat and player"
        quarantined.append((row, Quarantined(int(lines[row]), reason, text.rstrip("\n"))))
    kept = plays.take(repeats.keep)
    sheets = sheets_of(kept.texts.rules, options)
    flagged = replayed(flag_rounds(kept, sheets), sheets)
    rows = np.flatnonzero(repeats.keep).astype(np.int64)
    return Mended(flagged, rows, len(repeats.identical), quarantined)


def filled(plays: Plays) -> Plays:
    """Dealer's cards and pair given in some rows of a round, written to its other rows.

    Rows that know any card stay as they are, and so do all rows of rounds that disagree.
    """
    if not len(plays):
        return plays
    rounds = round_keys(plays)
    changed = {}
    for name in ("dealer_cards", "dealer_pair"):
        cards = getattr(plays, name)
        known = (cards < NO_CARD).any(axis=1)
        low = np.full((int(rounds.max()) + 1, cards.shape[1]), NO_CARD, dtype=np.uint8)
        high = np.zeros_like(low)
        np.minimum.at(low, rounds[known], cards[known])
        np.maximum.at(high, rounds[known], cards[known])
        agree = (low == high).all(axis=1)
        takes = ~known & agree[rounds]
        new = cards.copy()
        new[takes] = low[rounds[takes]]
        changed[name] = new
    return replace(plays, **changed)
