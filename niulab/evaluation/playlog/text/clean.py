"""The fast road: plain lines of a block by compiled loops, odd ones among them one by one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from niulab.engine.cards import RANKS, SUITS
from niulab.evaluation.playlog.chunk import ReadOptions
from niulab.evaluation.playlog.flat import COLUMNS, CORE, HANDS, NUMBERS, SCHEMA, TIMES
from niulab.evaluation.playlog.text.blocks import Block, line_text
from niulab.evaluation.playlog.text.careful import Careful, no_columns, unknown_key
from niulab.evaluation.playlog.text.kernels import (
    HAND,
    NUMBER,
    SKIP,
    TEXT,
    TIME,
    gather_texts,
    read_lines,
)
from niulab.evaluation.playlog.text.layout import Layout
from niulab.evaluation.playlog.text.rows import Plain, Rows

__all__ = ["read_clean"]

_BETWEEN = "\x1f"  # fields of an odd line, once they are known
_MOST_ODD = 0.25  # of a block's lines


def _byte_table(texts: Sequence[str]) -> NDArray[np.uint8]:
    table = np.full(256, 255, dtype=np.uint8)
    for value, text in enumerate(texts):
        if len(text) == 1:
            table[ord(text)] = table[ord(text.lower())] = value
    return table


_CARD_RANKS, _CARD_SUITS = _byte_table(RANKS), _byte_table(SUITS)
_CARD_RANKS[ord("T")] = _CARD_RANKS[ord("t")] = RANKS.index("10")


def read_clean(rows: Rows, layout: Layout, skipped: int, options: ReadOptions, origin: str) -> bool:
    """Read a block with plain lines; False, and the rows as they were, if it needs other care.

    skipped: lines at the start that are accounted for.
    """
    block, data = rows.block, rows.block.data
    if block.is_overlong or b"\0" in data or not _is_utf8(data):
        return False
    if b"\r" in data and data.count(b"\r") != data.count(b"\r\n"):
        return False
    found = _form_of(layout, block, skipped)
    if found is None:
        return False
    lines = _Lines(block, found, options)
    odd = np.zeros(block.n_lines, dtype=np.bool_)
    odd[-1] = block.is_cut
    own = np.arange(block.n_lines, dtype=np.int64)
    lines.read(own[skipped:], odd)
    if np.count_nonzero(odd) > max(_MOST_ODD * block.n_lines, 16):
        return False
    # What the odd lines hold is only known after all of them: nothing is counted before.
    trial = replace(rows, quarantined=[], warnings=dict(rows.warnings))
    careful = Careful(trial, layout, origin)
    odd[:skipped] = False
    careful.take(np.flatnonzero(odd).tolist())
    if careful.parts or careful.layout.names != layout.names:
        return False
    if careful.fields and not lines.add(careful, layout):
        return False
    odd[:skipped] = True
    odd[np.array(careful.lines, dtype=np.int64) - block.first_line] = False
    kept = own[~odd]
    columns = lines.columns(kept) if len(kept) else no_columns(layout.names or CORE)
    if layout.separator is not None and lines.may_hold_header(skipped):
        return False
    rows.quarantined += trial.quarantined
    rows.warnings = trial.warnings
    rows.n_blank, rows.n_headers = trial.n_blank, trial.n_headers
    if layout.separator is None:  # objects may leave out what is null
        nothing = np.zeros(len(kept), dtype=np.int32)
        empty = pa.DictionaryArray.from_arrays(pa.array(nothing), pa.array([""], pa.string()))
        columns = {name: columns.get(name, empty) for name in dict.fromkeys((*CORE, *columns))}
    n_plain = len(kept) - len(careful.lines)
    for name in found.unknown if n_plain else ():
        rows.warn(unknown_key(name), n_plain)
    rows.columns, rows.lines = columns, kept + block.first_line
    return True


def _is_utf8(data: bytes) -> bool:
    if data.isascii():
        return True
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


@dataclass(frozen=True)
class _Form:
    """How lines are written: names by place, and the separator or the keys of each object."""

    names: tuple[str | None, ...]
    separator: int
    keys: bytes = b""
    key_ends: tuple[int, ...] = ()
    unknown: tuple[str, ...] = ()


def _form_of(layout: Layout, block: Block, skipped: int) -> _Form | None:
    if layout.separator is not None:
        return _Form(layout.names, ord(layout.separator))
    for line in block.data.split(b"\n", skipped + 10)[skipped : skipped + 10]:
        try:
            pairs = json.loads(line_text(line)[0], object_pairs_hook=_Pairs)
        except (ValueError, RecursionError):
            continue
        if isinstance(pairs, _Pairs) and pairs:
            return _json_form([key for key, _ in pairs])
    return None


class _Pairs(list[tuple[str, Any]]):
    """An object of JSON as its keys and values, in order."""


def _json_form(keys: list[str]) -> _Form | None:
    if len(set(keys)) < len(keys) or any(key != key.strip().casefold() for key in keys):
        return None
    try:
        written = [key.encode() for key in keys]
    except UnicodeEncodeError:
        return None
    ends = np.cumsum([len(key) for key in written]).tolist()
    names = tuple(key if key in SCHEMA else None for key in keys)
    unknown = tuple(key for key in keys if key not in SCHEMA)
    return _Form(names, 0, b"".join(written), tuple(ends), unknown)


class _Lines:
    """The columns of a block, as its lines are read into them."""

    def __init__(self, block: Block, form: _Form, options: ReadOptions) -> None:
        self.form = form
        self.data = np.frombuffer(block.data, dtype=np.uint8)
        stops = np.flatnonzero(self.data == ord("\n"))
        if len(stops) < block.n_lines:  # the last line is cut
            stops = np.append(stops, len(self.data))
        self.stops: NDArray[np.int64] = stops.astype(np.int64)
        self.starts = np.concatenate([np.zeros(1, np.int64), self.stops[:-1] + 1])
        self.extra: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]] | None = None
        self.zone_is_utc = options.zone == "UTC"
        self.has_quotes = form.separator != 0 and b'"' in block.data
        kinds = [_kind_of(name) for name in form.names]
        self.read_lines = np.zeros(0, np.int64)
        self.values = _Values(kinds, form.names, block.n_lines)

    def read(self, places: NDArray[np.int64], odd: NDArray[np.bool_]) -> None:
        """Read the lines of these places; marks those that are odd."""
        self.read_lines = places
        some = odd[places]
        self._read(self.values, self.starts[places], self.stops[places], places, some)
        odd[places] = some
        self.read_lines = places[~some]

    def _read(
        self,
        values: _Values,
        starts: NDArray[np.int64],
        stops: NDArray[np.int64],
        places: NDArray[np.int64],
        odd: NDArray[np.bool_],
        *,
        separator: int | None = None,
    ) -> None:
        form = self.form
        own = form.separator if separator is None else separator
        read_lines(
            self.data, starts, stops, places, own, np.frombuffer(form.keys or b"\0", np.uint8),
            np.array(form.key_ends, dtype=np.int64), self.has_quotes and separator is None,
            values.kinds, values.slots, values.counts_of, _CARD_RANKS, _CARD_SUITS,
            self.zone_is_utc, values.numbers, values.times, values.hands, values.codes,
            values.tables, values.text_starts, values.text_stops, values.n_texts, values.odd, odd,
        )  # fmt: skip

    def add(self, careful: Careful, layout: Layout) -> bool:
        """Take in the fields of odd lines; False if they cannot be written in a plain form."""
        names = COLUMNS if layout.separator is None else layout.names
        place_of = {name: place for place, name in enumerate(names)}
        n_before = len(self.data)
        written: list[bytes] = []
        left_out = [place_of[name] for name in names if name not in self.form.names]
        for fields in careful.fields:
            if any(fields[place] for place in left_out):
                return False
            if layout.separator is None:
                text = _BETWEEN.join(fields[place_of[n]] if n else "" for n in self.form.names)
            else:
                text = _BETWEEN.join(fields)
            if text.count(_BETWEEN) != len(self.form.names) - 1 or "\n" in text or "\r" in text:
                return False
            written.append(text.encode("utf-8", "replace") + b"\n")
        stops = n_before + np.cumsum([len(line) for line in written]) - 1
        starts = np.concatenate([[n_before], stops[:-1] + 1])
        self.data = np.concatenate([self.data, np.frombuffer(b"".join(written), np.uint8)])
        places = np.array(careful.lines, dtype=np.int64) - careful.rows.block.first_line
        self.extra = starts.astype(np.int64), stops.astype(np.int64), places
        odd = np.zeros(len(places), dtype=np.bool_)
        self._read(self.values, *self.extra, odd, separator=ord(_BETWEEN))
        return not odd.any()

    def may_hold_header(self, skipped: int) -> bool:
        """Whether a header may stand among the lines that were read: each of its names stands in a
        column of texts, or in one that the header made odd.
        """
        kinds, odd = self.values.kinds, self.values.odd
        if np.count_nonzero((kinds == TEXT) | (kinds == SKIP) | odd) < len(CORE):
            return False
        start = int(self.starts[skipped]) if skipped < len(self.starts) else len(self.data)
        return CORE[0].encode() in self.data[start:].tobytes().lower()

    def columns(self, kept: NDArray[np.int64]) -> dict[str, Any]:
        """Columns of the rows that were kept."""
        values = self.values
        texts = values
        if values.odd.any():  # read once more, as texts
            again = [TEXT if odd else SKIP for odd in values.odd.tolist()]
            texts = _Values(again, self.form.names, len(self.starts))
            places = self.read_lines
            odd = np.zeros(len(places), dtype=np.bool_)
            self._read(texts, self.starts[places], self.stops[places], places, odd)
            if self.extra is not None:
                odd = np.zeros(len(self.extra[2]), dtype=np.bool_)
                self._read(texts, *self.extra, odd, separator=ord(_BETWEEN))
        rows = slice(kept[0], kept[-1] + 1) if len(kept) == kept[-1] + 1 - kept[0] else kept
        return {
            name: (texts if values.odd[place] else values).column(place, rows, self.data)
            for place, name in enumerate(self.form.names)
            if name
        }


def _kind_of(name: str | None) -> int:
    if name is None:
        return SKIP
    if name in NUMBERS:
        return NUMBER
    return TIME if name in TIMES else HAND if name in HANDS else TEXT


class _Values:
    """Arrays that the kernel fills; see there."""

    def __init__(self, kinds: list[int], names: Sequence[str | None], n: int) -> None:
        self.kinds = np.array(kinds, dtype=np.int64)
        self.slots = np.zeros(len(kinds), dtype=np.int64)
        for kind in (NUMBER, TIME, HAND, TEXT):
            places = np.flatnonzero(self.kinds == kind)
            self.slots[places] = np.arange(len(places))
        self.counts_of = np.array(
            [1 | sum(1 << n for n in HANDS[name][1]) if name in HANDS else 0 for name in names],
            dtype=np.int64,
        )
        self.numbers = np.empty((kinds.count(NUMBER), n), dtype=np.int64)
        self.times = np.empty((kinds.count(TIME), n), dtype=np.int64)
        self.hands = np.empty((kinds.count(HAND), n, 5), dtype=np.uint8)
        n_texts = kinds.count(TEXT)
        self.codes = np.empty((n_texts, n), dtype=np.int32)
        self.tables = np.zeros((n_texts, 1 << (2 * n + 2).bit_length()), dtype=np.int32)
        self.text_starts = np.empty((n_texts, n), dtype=np.int64)
        self.text_stops = np.empty((n_texts, n), dtype=np.int64)
        self.n_texts = np.zeros(n_texts, dtype=np.int64)
        self.odd = np.zeros(len(kinds), dtype=np.bool_)

    def column(self, place: int, rows: Any, data: NDArray[np.uint8]) -> Any:
        """One column: read, or as a dictionary of texts."""
        kind, slot = int(self.kinds[place]), int(self.slots[place])
        if kind == NUMBER:
            return Plain(self.numbers[slot][rows])
        if kind == TIME:
            return Plain(self.times[slot][rows])
        if kind == HAND:
            return Plain(self.hands[slot][rows])
        n = int(self.n_texts[slot])
        starts, stops = self.text_starts[slot, :n], self.text_stops[slot, :n]
        offsets = np.zeros(n + 1, dtype=np.int32)
        texts = np.empty(int((stops - starts).sum()), dtype=np.uint8)
        gather_texts(data, starts, stops, offsets, texts)
        known = pa.StringArray.from_buffers(n, pa.py_buffer(offsets), pa.py_buffer(texts))
        return pa.DictionaryArray.from_arrays(pa.array(self.codes[slot][rows]), known)
