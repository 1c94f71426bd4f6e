"""Plays as Arrow tables and back: the columns of the store's table ``plays``.

Texts are dictionary columns, cards are binary columns with one byte (the card's id) a card, in the
order dealt; a hand without any card, a time or a text that was not recorded is null.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from niulab.evaluation.playlog import flat
from niulab.evaluation.playlog.plays import BOXES, NO_CARD, NO_CODE, NO_TIME, Plays, Vocabularies

__all__ = [
    "HANDS",
    "MONEY",
    "NUMBERS",
    "PLAYS",
    "TEXTS",
    "binary_hands",
    "plays_of",
    "times_of",
    "utc_times",
]

TEXTS = flat.CODES
"""Text columns of the store and the column of ``Plays`` behind each."""

NUMBERS = ("seat", "packet", "first_seat", "promo", "flags")
"""Columns of numbers, here and in ``Plays``."""

HANDS = {name: column for name, (column, _) in flat.HANDS.items()}
"""Columns of cards and the column of ``Plays`` behind each."""

MONEY = {
    **{box: ("stakes", place) for place, box in enumerate(BOXES)},
    **{f"late_{box}": ("late", place) for place, box in enumerate(BOXES)},
    **{f"net_{box}": ("nets", place) for place, box in enumerate(BOXES)},
    **{f"residual_{box}": ("residuals", place) for place, box in enumerate(BOXES)},
    **{f"cover_{box}": ("cover", place) for place, box in enumerate(BOXES[1:3])},
}
"""Columns of cents, and the column of ``Plays`` and the place there behind each."""

_WIDTHS = {"stakes": 4, "late": 4, "nets": 4, "residuals": 4, "cover": 2}
_NO_MONEY = {"stakes": 0, "late": 0, "nets": 0, "residuals": 0, "cover": -1}
_CARDS_IN = {"cards": 5, "dealer_cards": 5, "pair": 2, "dealer_pair": 2, "shown": 5}
_TIME = pa.timestamp("us", tz="UTC")
_TEXT = pa.dictionary(pa.int32(), pa.string())

PLAYS = pa.schema(
    [
        *((name, _TEXT) for name in TEXTS),
        *((name, _TIME) for name in flat.TIMES),
        ("seat", pa.int8()),
        ("packet", pa.int8()),
        ("first_seat", pa.int8()),
        ("promo", pa.int64()),
        ("flags", pa.uint16()),
        *((name, pa.int64()) for name in MONEY),
        *((name, pa.binary()) for name in HANDS),
    ]
)
"""Columns of the table ``plays``, one row a round and seat, each with the columns of its round."""


def plays_of(table: pa.Table, rules: Sequence[str] = ()) -> Plays:
    """Plays of a table of columns of ``PLAYS``, text plain or in dictionaries.

    Columns that are not there are not recorded. rules: names whose codes are their places here;
    names met beyond them follow.
    """
    has = set(table.column_names)
    columns: dict[str, Any] = {}
    texts: dict[str, tuple[str, ...]] = {"rules": tuple(rules)}
    for name, column in TEXTS.items():
        if name in has:
            first = tuple(rules) if name == "rules" else ()
            columns[column], texts[Plays.CODES[column]] = _codes(table[name], first)
    for name in has.intersection(flat.TIMES):
        numbers = table[name].cast(_TIME).cast(pa.int64())
        columns[name] = _numpy(pc.fill_null(numbers, NO_TIME), np.int64)
    for name in has.intersection(NUMBERS):
        columns[name] = _numpy(table[name], PLAYS.field(name).type.to_pandas_dtype())
    for name, (column, place) in MONEY.items():
        if name in has:
            if column not in columns:
                columns[column] = np.full((len(table), _WIDTHS[column]), _NO_MONEY[column])
            columns[column][:, place] = _numpy(table[name], np.int64)
    for name, column in HANDS.items():
        if name in has:
            columns[column] = _hands(table[name], _CARDS_IN[column])
    return Plays.of(len(table), Vocabularies(**texts), **columns)


def times_of(micros: NDArray[np.int64]) -> pa.Array:
    """Times of the store, null where none was recorded."""
    is_missing = micros == NO_TIME
    mask = is_missing if is_missing.any() else None
    return pa.array(np.ascontiguousarray(micros), mask=mask).view(_TIME)


def utc_times(table: pa.Table) -> pa.Table:
    """The table with times whose zone is named UTC: stores of other programs name it otherwise, and
    only tables of one type go together.
    """
    for place, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type) and field.type != _TIME:
            table = table.set_column(place, field.name, table[field.name].cast(_TIME))
    return table


def binary_hands(hands: NDArray[np.uint8]) -> pa.Array:
    """One value of as many bytes as there are columns for each row, null where no card is known."""
    n, width = hands.shape
    known = (hands != NO_CARD).any(axis=1)
    lengths = np.where(known, width, 0)
    offsets = np.zeros(n + 1, dtype=np.int32)
    np.cumsum(lengths, out=offsets[1:])
    data = np.ascontiguousarray(hands if known.all() else hands[known])
    validity = None if known.all() else pa.py_buffer(np.packbits(known, bitorder="little"))
    buffers = [validity, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.binary(), n, buffers)


def _hands(column: pa.ChunkedArray, width: int) -> NDArray[np.uint8]:
    hands = np.full((len(column), width), NO_CARD, dtype=np.uint8)
    low = 0
    for part in column.chunks:
        array = part.cast(pa.binary())
        if n_known := len(array) - array.null_count:
            offsets = np.frombuffer(array.buffers()[1], np.int32)
            offsets = offsets[array.offset : array.offset + len(array) + 1]
            data = np.frombuffer(array.buffers()[2], np.uint8)[offsets[0] : offsets[-1]]
            known = _numpy(array.is_valid(), np.bool_)
            hands[low : low + len(array)][known] = data.reshape(n_known, width)
        low += len(array)
    return hands


def _numpy(column: Any, dtype: Any) -> NDArray[Any]:
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return np.asarray(whole.to_numpy(zero_copy_only=False), dtype=dtype)


def _codes(
    column: pa.ChunkedArray, first: tuple[str, ...]
) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    """Codes of a text column, and the text of each code."""
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    whole = column.unify_dictionaries().combine_chunks()
    if isinstance(whole, pa.ChunkedArray):  # no chunk at all, or too much text for one
        whole = whole.chunk(0) if whole.num_chunks else pa.array([], _TEXT)
    known: list[str] = whole.dictionary.to_pylist()
    codes = _numpy(pc.fill_null(whole.indices, NO_CODE), np.int32)
    if not first:
        return codes, tuple(known)
    places = {text: place for place, text in enumerate(first)}
    new = [places.setdefault(text, len(places)) for text in known]
    table = np.array([*new, NO_CODE], dtype=np.int32)
    return table[codes], tuple(places)
