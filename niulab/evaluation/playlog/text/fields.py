"""Fields into values, a whole column at once: each distinct text is read once.

What a column holds that cannot be read comes back as rows and reasons, never as an exception.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from niulab.engine.cards import N_CARDS, RANKS, parse_card
from niulab.errors import CardError
from niulab.evaluation.playlog.chunk import CardIds
from niulab.evaluation.playlog.plays import NO_CARD, NO_CODE
from niulab.evaluation.playlog.text.kernels import EMPTY
from niulab.evaluation.playlog.text.rows import Plain

__all__ = ["Codes", "Read", "read_codes", "read_hands", "read_numbers", "read_times"]

_MOST_CENTS = 10**15

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MINUS = str.maketrans(
    {"\N{MINUS SIGN}": "-", "\N{NO-BREAK SPACE}": " ", "\N{NARROW NO-BREAK SPACE}": " "}
)
_PLAIN = re.compile(r"[-+]?[0-9]{1,16}(\.0)?", re.ASCII)
_THOUSANDS = re.compile(r"([-+]?[0-9]{1,3})((?:([,.' ’])[0-9]{3})(?:\3[0-9]{3})*)", re.ASCII)
_NUMBER = re.compile(r"[0-9]{1,3}", re.ASCII)


class Read(NamedTuple):
    """Values of a column, and for rows that cannot be read the reason."""

    values: NDArray[Any]
    faults: dict[int, str]


class Codes(NamedTuple):
    """int32 (n,) places in ``texts``, NO_CODE where empty."""

    codes: NDArray[np.int32]
    texts: tuple[str, ...]


def _distinct(column: Any) -> tuple[list[str], NDArray[np.int32]]:
    """Distinct texts without space around them, and the place of each row's."""
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    texts = [text.strip() for text in column.dictionary.to_pylist()]
    return texts, np.asarray(column.indices, dtype=np.int32)


def read_codes(column: Any) -> Codes:
    """Texts into codes, in the order of their first row."""
    texts, places = _distinct(column)
    if (found := _codes_in_order(column, texts, places)) is not None:
        return found
    first = np.full(len(texts), len(places), dtype=np.int64)
    np.minimum.at(first, places, np.arange(len(places)))
    codes: dict[str, int] = {}
    new = np.full(len(texts), NO_CODE, dtype=np.int32)
    for place in np.argsort(first, kind="stable").tolist():
        if texts[place] and first[place] < len(places):
            new[place] = codes.setdefault(texts[place], len(codes))
    return Codes(new[places] if len(texts) else np.zeros(0, np.int32), tuple(codes))


def _codes_in_order(column: Any, texts: list[str], places: NDArray[np.int32]) -> Codes | None:
    """Codes of texts that are known in the order of their first row, without space around them."""
    if not len(places) or not pa.types.is_dictionary(column.type):
        return None
    if places[0] or column.dictionary.to_pylist() != texts:
        return None
    highest = np.maximum.accumulate(places)
    if (np.diff(highest) > 1).any() or highest[-1] != len(texts) - 1:
        return None
    if "" not in texts:
        return Codes(places, tuple(texts))
    empty = texts.index("")
    new = np.arange(len(texts), dtype=np.int32)
    new[empty:] -= 1
    new[empty] = NO_CODE
    return Codes(new[places], (*texts[:empty], *texts[empty + 1 :]))


def _by_text(
    column: Any,
    read: Callable[[str], int | None],
    fault: Callable[[str], str],
) -> Read:
    texts, places = _distinct(column)
    values = np.full(len(texts), EMPTY, dtype=np.int64)
    bad: dict[int, str] = {}
    for place, text in enumerate(texts):
        if text:
            value = read(text)
            if value is None:
                bad[place] = fault(text)
            else:
                values[place] = value
    faults: dict[int, str] = {}
    if bad:
        rows = np.flatnonzero(np.isin(places, list(bad)))
        faults = {
            row: bad[place] for row, place in zip(rows.tolist(), places[rows].tolist(), strict=True)
        }
    return Read(values[places], faults)


def _number_of(text: str) -> int | None:
    """A whole number, with or without thousands separators; None for anything else."""
    if _PLAIN.fullmatch(text):
        value = int(text.removesuffix(".0"))
    else:
        clean = text.translate(_MINUS)
        if match := _PLAIN.fullmatch(clean):
            value = int(clean.removesuffix(".0"))
        elif match := _THOUSANDS.fullmatch(clean):
            value = int(match[1] + match[2].replace(match[3], ""))
        else:
            return None
    return value if abs(value) <= _MOST_CENTS else None


def read_numbers(column: Any, name: str) -> Read:
    """Whole numbers, int64 (n,), EMPTY for an empty field."""
    if isinstance(column, Plain):
        return Read(column.values, {})
    what = "a seat" if name.endswith("seat") else "cents"
    return _by_text(
        column,
        _number_of,
        lambda text: f"{name} '{_shown(text)}' is no whole number ({what})",
    )


def read_times(column: Any, name: str, zone: tzinfo) -> Read:
    """ISO-8601 times into microseconds since 1970 (UTC), int64 (n,), EMPTY for an empty field; in
    ``zone`` if in none.
    """
    if isinstance(column, Plain):
        return Read(column.values, {})
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    fast = _plain_times(column.dictionary)
    if fast is not None:
        return Read(fast[np.asarray(column.indices)], {})
    return _by_text(
        column,
        lambda text: _time_of(text, zone),
        lambda text: f"{name} '{_shown(text)}' is no ISO-8601 time",
    )


_UTC_TIME = r"^[12][0-9]{3}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?Z$"


def _plain_times(texts: Any) -> NDArray[np.int64] | None:
    """Distinct texts that are all plain UTC times, else None."""
    if not len(texts) or not pc.all(pc.match_substring_regex(texts, _UTC_TIME)).as_py():
        return None
    try:
        return np.asarray(texts.cast(pa.timestamp("us", tz="UTC")).cast(pa.int64()))
    except pa.ArrowInvalid:
        return None


def _time_of(text: str, zone: tzinfo) -> int | None:
    try:
        time = datetime.fromisoformat(text)
        if time.tzinfo is None:
            time = time.replace(tzinfo=zone)
        return (time - _EPOCH) // timedelta(microseconds=1)
    except (ValueError, OverflowError):
        return None


def _card_of(text: str, ids: CardIds | None) -> int | str:
    """The id of a card, or why there is none."""
    if _NUMBER.fullmatch(text):
        if ids is None:
            return f"'{text}' is a number for a card: declare what the numbers mean (card_ids)"
        number = int(text) - ids.first
        if not 0 <= number < N_CARDS:
            return f"no such card: number {text} of {ids.first} .. {ids.first + N_CARDS - 1}"
        n = len(RANKS) if ids.by == "suit" else 4
        high, low = divmod(number, n)
        rank, suit = (low, high) if ids.by == "suit" else (high, low)
        return parse_card(f"{RANKS[rank]}{ids.suits[suit]}")
    try:
        return parse_card(text)
    except CardError:
        return f"no such card: '{_shown(text)}'"


def read_hands(column: Any, name: str, counts: tuple[int, ...], ids: CardIds | None = None) -> Read:
    """Cards of each row, uint8 (n, max(counts)), NO_CARD where none: in the order written."""
    width = max(counts)
    if isinstance(column, Plain):
        return Read(column.values[:, :width], {})
    if pa.types.is_dictionary(column.type):
        column = column.cast(pa.string())
    trimmed = pc.utf8_trim_whitespace(column)
    sizes, starts, tokens, known = _tokens(trimmed, ids)
    if any(isinstance(card, str) for card in known):
        spaced = pc.replace_substring_regex(trimmed, r"[\s,;/]+", " ")
        sizes, starts, tokens, known = _tokens(pc.utf8_trim_whitespace(spaced), ids)
    ids_of = np.array([NO_CARD if isinstance(card, str) else card for card in known], np.uint8)
    cards = np.full((len(column), width), NO_CARD, dtype=np.uint8)
    for count in counts:
        rows = np.flatnonzero(sizes == count)
        if count and len(rows):
            cards[rows, :count] = ids_of[tokens[starts[rows, None] + np.arange(count)]]
    faults = {
        row: f"{name}: {sizes[row]} card(s), wanted {' or '.join(map(str, counts))}"
        for row in np.flatnonzero(~np.isin(sizes, (0, *counts))).tolist()
    }
    bad = np.array([isinstance(card, str) for card in known], dtype=np.bool_)
    if bad.any():
        owners = np.repeat(np.arange(len(sizes)), sizes)
        for place in np.flatnonzero(bad[tokens])[::-1].tolist():
            faults[int(owners[place])] = f"{name}: {known[tokens[place]]}"
    return Read(cards, faults)


def _tokens(
    texts: Any, ids: CardIds | None
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32], list[int | str]]:
    """Cards by row, where each row starts, the kind of each card, and what each kind is."""
    lists = pc.split_pattern(texts, " ")
    sizes = np.diff(np.asarray(lists.offsets)).astype(np.int64)
    flat = lists.flatten().dictionary_encode()
    is_empty = np.asarray(pc.equal(texts, "").fill_null(True).to_numpy(zero_copy_only=False))
    tokens = np.asarray(flat.indices, dtype=np.int32)
    keep = np.ones(len(tokens), dtype=np.bool_)
    ends = np.cumsum(sizes)
    keep[(ends - sizes)[is_empty]] = False  # an empty text splits into one empty card
    sizes[is_empty] = 0
    known = [_card_of(text, ids) if text else "" for text in flat.dictionary.to_pylist()]
    if is_empty.any():
        tokens = tokens[keep]
        used = np.zeros(len(known), dtype=np.bool_)
        used[tokens] = True
        known = [card if use else NO_CARD for card, use in zip(known, used.tolist(), strict=True)]
    return sizes, np.cumsum(sizes) - sizes, tokens, known


def _shown(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:37]}..."
