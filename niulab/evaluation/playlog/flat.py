"""The flat play log, one row a round and seat: names of its columns, and plays as its text.

Core columns stand in every file, empty where nothing was recorded; optional columns may be left
out. Times are ISO-8601, money is integer cents, cards stand in the order dealt.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from niulab.engine.cards import N_CARDS, card_text
from niulab.evaluation.playlog.plays import BOXES, NO_CARD, NO_TIME, Flag, Plays

__all__ = [
    "COLUMNS",
    "CORE",
    "HANDS",
    "NUMBERS",
    "OPTIONAL",
    "SCHEMA",
    "TIMES",
    "FlatFormat",
    "flat_columns",
    "flat_lines",
]

FlatFormat = Literal["csv", "jsonl"]

_CORE = """
    round_id time table dealer rules seat player single double super bonus cards dealer_cards pair
    net_single net_double net_super net_bonus bet_time close_time
"""
_OPTIONAL = """
    cover_double cover_super late_single late_double late_super late_bonus dealer_pair cards_shown
    seat_order first_seat deal_method shoe shuffle_id shuffler void promo
"""
CORE, OPTIONAL = tuple(_CORE.split()), tuple(_OPTIONAL.split())
COLUMNS = (*CORE, *OPTIONAL)
SCHEMA = frozenset(COLUMNS)

NUMBERS = (
    "seat",
    *BOXES,
    *(f"net_{box}" for box in BOXES),
    *(f"cover_{box}" for box in BOXES[1:3]),
    *(f"late_{box}" for box in BOXES),
    "first_seat",
    "promo",
)
"""Columns of whole numbers; the rest is text, times and cards."""

TIMES = ("time", "bet_time", "close_time")
"""Columns of times, here and in ``Plays``."""

CODES = {
    "round_id": "round",
    "table": "table",
    "dealer": "dealer",
    "rules": "rules",
    "player": "player",
    "seat_order": "seat_order",
    "deal_method": "deal_method",
    "shoe": "shoe",
    "shuffle_id": "shuffle",
    "shuffler": "shuffler",
    "void": "void",
}
"""Columns of text: the column of ``Plays`` that holds their codes."""

HANDS = {
    "cards": ("cards", (5,)),
    "dealer_cards": ("dealer_cards", (5,)),
    "pair": ("pair", (1, 2)),
    "dealer_pair": ("dealer_pair", (1, 2)),
    "cards_shown": ("shown", (5,)),
}
"""Columns of cards: the column of ``Plays`` and how many cards a row may hold beside none."""

_CARD_TEXTS = np.array([*(card_text(card) for card in range(N_CARDS)), ""], dtype=object)


def flat_columns(plays: Plays) -> dict[str, list[str]]:
    """Every column of the schema as text, row by row; "" for what is not recorded.

    On a row without all its payments (``Flag.NO_NET``) payments of zero are left empty.
    """
    texts: dict[str, list[str]] = {}
    for name, column in CODES.items():
        known = np.array([*getattr(plays.texts, plays.CODES[column]), ""], dtype=object)
        texts[name] = known[getattr(plays, column)].tolist()  # the last is NO_CODE, which is -1
    is_void = (plays.flags & int(Flag.VOID)) != 0
    texts["void"] = [
        text or ("void" if void else "")
        for text, void in zip(texts["void"], is_void.tolist(), strict=True)
    ]
    for name in TIMES:
        texts[name] = _times(getattr(plays, name))
    for name, (column, _) in HANDS.items():
        texts[name] = _hands(getattr(plays, column))
    lacks = (plays.flags & int(Flag.NO_NET)) != 0
    for place, box in enumerate(BOXES):
        nets = plays.nets[:, place]
        texts[box] = _numbers(plays.stakes[:, place])
        texts[f"net_{box}"] = _numbers(nets, lacks & (nets == 0))
        texts[f"late_{box}"] = _numbers(plays.late[:, place], plays.late[:, place] == 0)
    for place, box in enumerate(BOXES[1:3]):
        texts[f"cover_{box}"] = _numbers(plays.cover[:, place], plays.cover[:, place] < 0)
    texts["seat"] = _numbers(plays.seat, plays.seat == 0)
    texts["first_seat"] = _numbers(plays.first_seat, plays.first_seat == 0)
    texts["promo"] = _numbers(plays.promo, plays.promo == 0)
    return texts


def flat_lines(
    plays: Plays,
    format_: FlatFormat = "csv",
    *,
    columns: Sequence[str] = COLUMNS,
    header: bool = True,
) -> Iterator[str]:
    """Lines, each with its line feed, of plays as CSV (with its header) or JSON Lines."""
    texts = flat_columns(plays)
    rows = zip(*(texts[name] for name in columns), strict=True)
    if format_ == "csv":
        if header:
            yield f"{','.join(columns)}\n"
        yield from _csv_lines(rows)
        return
    is_number = [name in NUMBERS for name in columns]
    for row in rows:
        values = (
            None if text == "" else int(text) if number else text
            for text, number in zip(row, is_number, strict=True)
        )
        yield json.dumps(dict(zip(columns, values, strict=True)), ensure_ascii=False) + "\n"


def _csv_lines(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    held = io.StringIO()
    writer = csv.writer(held, lineterminator="\n")
    for row in rows:
        writer.writerow(row)
        yield held.getvalue()
        held.seek(0)
        held.truncate()


def _numbers(values: NDArray[np.integer], empty: NDArray[np.bool_] | None = None) -> list[str]:
    texts = [str(value) for value in values.tolist()]
    if empty is not None:
        for row in np.flatnonzero(empty).tolist():
            texts[row] = ""
    return texts


def _times(micros: NDArray[np.int64]) -> list[str]:
    known, place = np.unique(micros, return_inverse=True)
    texts = np.datetime_as_string(known.astype("datetime64[us]"), timezone="naive").tolist()
    short = [
        "" if micro == NO_TIME else text.removesuffix(".000000") + "Z"
        for text, micro in zip(texts, known.tolist(), strict=True)
    ]
    return np.array(short, dtype=object)[place].tolist() if short else []


def _hands(cards: NDArray[np.uint8]) -> list[str]:
    if (cards == NO_CARD).all():
        return [""] * len(cards)
    columns = [_CARD_TEXTS[cards[:, k]].tolist() for k in range(cards.shape[1])]
    return [" ".join(filter(None, row)) for row in zip(*columns, strict=True)]
