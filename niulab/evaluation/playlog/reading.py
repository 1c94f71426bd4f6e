"""Bytes into rows of text: every line is a row, blank, a repeated header, or quarantined.

A row never runs over its line, so line numbers are exact and one stray quote costs one line. Clean
blocks are split by Arrow; a block with anything odd in it is read line by line, with the same rows.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
from numpy.typing import NDArray

from niulab.errors import PlayLogError
from niulab.evaluation.playlog.chunk import Quarantined, ReadOptions
from niulab.evaluation.playlog.flat import COLUMNS, CORE, HANDS
from niulab.evaluation.playlog.text.blocks import MOST_LINE_BYTES, Block, Source, line_text
from niulab.evaluation.playlog.text.layout import (
    Layout,
    json_row,
    layout_of,
    split_line,
    verify_core,
)

__all__ = ["Rows", "read_rows"]

_SHOWN = 4096  # bytes of a line that are kept in the quarantine
_HEADER = "\0header"
_SCHEMA = frozenset(COLUMNS)
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]+")


@dataclass(eq=False)
class Rows:
    """Rows of consecutive lines as text.

    columns: Arrow arrays of strings or dictionaries of strings by name, all of one length; lines:
    int64 (n,). Counts and warnings as in ``Chunk``.
    """

    columns: dict[str, Any]
    lines: NDArray[np.int64]
    block: Block
    n_read: int
    n_blank: int = 0
    n_headers: int = 0
    quarantined: list[Quarantined] = field(default_factory=list)
    warnings: dict[str, int] = field(default_factory=dict)

    def texts_of(self, lines: NDArray[np.int64]) -> list[str]:
        """Some lines as they stand in the source, without their ends, cut if they are long."""
        if not len(lines):
            return []
        raw = self.block.data.split(b"\n")
        return [_shown(raw[line - self.block.first_line]) for line in lines.tolist()]

    def warn(self, sentence: str, times: int = 1) -> None:
        self.warnings[sentence] = self.warnings.get(sentence, 0) + times


def read_rows(path: Path, options: ReadOptions, *, careful: bool = False) -> Iterator[Rows]:
    """Rows of a flat log, at most ``options.rows`` at a time; ``careful`` reads all line by line.

    Raises PlayLogError for a file that cannot be opened or whose header misses core columns.
    """
    source = Source(path, options.encoding)
    layout: Layout | None = None
    for block in source.blocks(options.rows):
        rows = Rows({}, np.zeros(0, np.int64), block, block.n_lines)
        skipped = 0
        if layout is None:
            layout, skipped = _first_layout(rows, options, path.name)
            for name in layout.unknown if layout else ():
                rows.warn(f"column '{_shown(name.encode())[:80]}' is not of the schema: left out")
        if layout is None:
            rows.columns = _no_columns(CORE)
            yield _settled(rows, source)
            continue
        if careful or layout.separator is None or not _read_clean(rows, layout, skipped):
            layout = _Careful(rows, layout, path.name).read(skipped)
        yield _settled(rows, source)
    if layout is None:
        verify_core((), (), path.name)


def _settled(rows: Rows, source: Source) -> Rows:
    for sentence, times in source.warnings.items():
        rows.warn(sentence, times)
    source.warnings.clear()
    return rows


def _first_layout(rows: Rows, options: ReadOptions, origin: str) -> tuple[Layout | None, int]:
    """The layout, and how many lines of the block were blank or its header; counts them."""
    if rows.block.is_overlong:
        verify_core((), (), origin)
    raw = rows.block.data.split(b"\n")
    for place, line in enumerate(raw[: rows.block.n_lines]):
        if not _is_blank(line):
            text, _ = line_text(line.rstrip(b"\r"))
            layout = layout_of(text, options.separator, origin)
            if layout.separator is None:
                _verify_keys(raw[place : place + 100], origin)
                return layout, place
            rows.n_read -= 1
            return layout, place + 1
        rows.n_blank += 1
    return None, rows.block.n_lines


def _verify_keys(raw: list[bytes], origin: str) -> None:
    """JSON Lines may leave out what is null: the first lines together name all core columns."""
    found: dict[str, None] = {}
    for line in raw:
        try:
            found.update(dict.fromkeys(json_row(line_text(line)[0])))
        except ValueError:
            continue
    verify_core(found, found, origin)


def _read_clean(rows: Rows, layout: Layout, skipped: int) -> bool:
    """Read a block by Arrow; False if anything in it needs care."""
    block, data = rows.block, rows.block.data
    if block.is_overlong or block.is_cut or skipped > 1 or b'"' in data or b"\0" in data:
        return False
    if data.count(b"\r") != data.count(b"\r\n") or not _is_utf8(data) or _has_long_line(data):
        return False
    start = data.index(b"\n") + 1 if skipped else 0
    n = block.n_lines - skipped
    if n == 0:
        rows.columns = _no_columns(layout.names or CORE)
        return True
    places = [name or f"#{place}" for place, name in enumerate(layout.names)]
    wanted = [name for name in layout.names if name]
    dictionary = pa.dictionary(pa.int32(), pa.string())
    try:
        table = pa_csv.read_csv(
            pa.BufferReader(pa.py_buffer(memoryview(data)[start:])),
            read_options=pa_csv.ReadOptions(
                use_threads=False, block_size=len(data) + 1, column_names=places
            ),
            parse_options=pa_csv.ParseOptions(delimiter=layout.separator, quote_char=False),
            convert_options=pa_csv.ConvertOptions(
                include_columns=wanted,
                column_types={
                    name: pa.string() if name in HANDS else dictionary for name in wanted
                },
                strings_can_be_null=False,
            ),
        )
    except (pa.ArrowException, UnicodeError):
        return False
    if table.num_rows != n:
        return False
    columns = {name: _whole(table[name]) for name in wanted}
    seats = columns["seat"].dictionary.to_pylist()
    if any(text.strip().casefold() in CORE for text in seats):  # a header once more
        return False
    rows.columns = columns
    rows.lines = np.arange(n, dtype=np.int64) + block.first_line + skipped
    return True


def _is_utf8(data: bytes) -> bool:
    if data.isascii():
        return True
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _has_long_line(data: bytes) -> bool:
    if len(data) <= MOST_LINE_BYTES:
        return False
    ends = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == ord("\n"))
    return int(np.diff(ends, prepend=-1).max(initial=0)) > MOST_LINE_BYTES


def _whole(column: Any) -> Any:
    if column.num_chunks == 1:
        return column.chunk(0)
    return column.unify_dictionaries().combine_chunks()


def _no_columns(names: Sequence[str | None]) -> dict[str, Any]:
    return {name: pa.array([], pa.string()) for name in names if name}


class _Careful:
    """Reads a block line by line."""

    def __init__(self, rows: Rows, layout: Layout, origin: str) -> None:
        self.rows = rows
        self.layout = layout
        self.origin = origin
        self.fields: list[Sequence[str]] = []
        self.parts: list[tuple[Sequence[str | None], list[Sequence[str]]]] = []
        self.lines: list[int] = []

    def read(self, skipped: int) -> Layout:
        """Fill the rows; returns the layout after them, which a header in the middle changes."""
        block = self.rows.block
        raw = block.data.split(b"\n")[: block.n_lines]
        for place in range(skipped, block.n_lines):
            line = raw[place]
            is_last = place == block.n_lines - 1
            reason = self._row(line, block.first_line + place, is_cut=is_last and block.is_cut)
            if reason:
                self.rows.quarantined.append(
                    Quarantined(block.first_line + place, reason, _shown(line))
                )
        self._close_part()
        names = self.layout.names or CORE
        self.rows.columns = self._columns() if self.lines else _no_columns(names)
        self.rows.lines = np.array(self.lines, dtype=np.int64)
        return self.layout

    def _close_part(self) -> None:
        """Rows up to here have the columns of the layout; those after it may have others."""
        names = COLUMNS if self.layout.separator is None else self.layout.names
        if self.fields:
            self.parts.append((names, self.fields))
        self.fields = []

    def _columns(self) -> dict[str, Any]:
        columns: dict[str, list[Any]] = {}
        n_before = 0
        for names, fields in self.parts:
            for name, texts in zip(names, zip(*fields, strict=True), strict=True):
                if name:
                    column = columns.setdefault(name, [])
                    column.extend([""] * (n_before - len(column)))
                    column.extend(texts)
            n_before += len(fields)
        return {
            name: pa.array(column + [""] * (n_before - len(column)), pa.string())
            for name, column in columns.items()
        }

    def _row(self, line: bytes, number: int, *, is_cut: bool) -> str:
        """Take one line in; the reason if it is no row."""
        if self.rows.block.is_overlong or len(line) > MOST_LINE_BYTES:
            return f"longer than {MOST_LINE_BYTES} bytes"
        if is_cut and self.rows.block.is_damaged:
            return "cut off: the compressed file is damaged"
        if _is_blank(line):
            self.rows.n_blank += 1
            return ""
        text, is_utf8 = line_text(line.removesuffix(b"\r"))
        if not is_utf8:
            self.rows.warn("lines that are not UTF-8 were read as Windows-1252")
        reason = self._json(text) if self.layout.separator is None else self._fields(text)
        if reason and is_cut:
            reason = f"cut off: {reason}"
        if reason == _HEADER:
            self.rows.n_headers += 1
            return ""
        if not reason:
            self.lines.append(number)
        return reason

    def _fields(self, text: str) -> str:
        try:
            fields = split_line(text, self.layout.separator or ",")
        except csv.Error as error:
            return f"unreadable: {error}"
        names = self.layout.names
        if len(fields) > len(names) and not any(fields[len(names) :]):
            fields = fields[: len(names)]
        if "\0" in text:
            fields = [part.strip("\0") for part in fields]
            if any("\0" in part for part in fields):
                return "a NUL byte inside a field"
            self.rows.warn("NUL bytes around fields were left out")
        if CORE[0] in text.casefold() and _is_header(fields):
            try:
                layout = layout_of(text, self.layout.separator, self.origin)
            except PlayLogError as error:
                return f"a second header, unusable: {error}"
            self._close_part()
            self.layout = layout
            return _HEADER
        if len(fields) != len(names):
            return f"{len(fields)} field(s), the header has {len(names)}"
        self.fields.append(fields)
        return ""

    def _json(self, text: str) -> str:
        try:
            row = json_row(text)
            fields = [_json_text(name, row.get(name)) for name in COLUMNS]
        except (ValueError, OverflowError) as error:
            return f"unreadable JSON: {str(error)[:100]}"
        for name in row.keys() - _SCHEMA:
            shown = _shown(name.encode("utf-8", "replace"))[:80]
            self.rows.warn(f"key '{shown}' is not of the schema: left out")
        self.fields.append(fields)
        return ""


def _is_header(fields: list[str]) -> bool:
    return {part.strip().casefold() for part in fields}.issuperset(CORE)


def _json_text(name: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    if type(value) is int:
        return str(value)
    if isinstance(value, str):
        text = value
    elif isinstance(value, list) and name in {*HANDS, "seat_order"}:
        text = " ".join(_json_text(name, part) for part in value)
    elif isinstance(value, dict | list):
        raise ValueError(f"'{name}' holds an object or a list")
    else:
        text = str(value).lower()
    if not text.isprintable():
        text = _CONTROLS.sub(" ", text)
        text = text.encode("utf-8", "replace").decode("utf-8")
    return text


def _is_blank(line: bytes) -> bool:
    return not line.strip(b" \t\r\f\v\0")


def _shown(line: bytes) -> str:
    return line_text(line[:_SHOWN].removesuffix(b"\r"))[0]
