"""The road for any line: one after the other, each a row, blank, a header, or quarantined."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from niulab.errors import PlayLogError
from niulab.evaluation.playlog.chunk import Quarantined
from niulab.evaluation.playlog.flat import COLUMNS, CORE, HANDS, SCHEMA
from niulab.evaluation.playlog.text.blocks import MOST_LINE_BYTES, line_text
from niulab.evaluation.playlog.text.layout import Layout, json_row, layout_of, split_line
from niulab.evaluation.playlog.text.rows import Rows, shown

__all__ = ["Careful", "is_blank", "no_columns", "unknown_key"]

_HEADER = "\0header"
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]+")


class Careful:
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
        self.take(range(skipped, self.rows.block.n_lines))
        self._close_part()
        names = self.layout.names or CORE
        self.rows.columns = self._columns() if self.lines else no_columns(names)
        self.rows.lines = np.array(self.lines, dtype=np.int64)
        return self.layout

    def take(self, places: Sequence[int]) -> None:
        """Take some lines of the block in, in order: into ``fields``, counts and the quarantine."""
        if not places:
            return
        block = self.rows.block
        raw = block.data.split(b"\n")[: block.n_lines]
        for place in places:
            is_cut = block.is_cut and place == block.n_lines - 1
            reason = self._row(raw[place], block.first_line + place, is_cut=is_cut)
            if reason:
                self.rows.quarantined.append(
                    Quarantined(block.first_line + place, reason, shown(raw[place]))
                )

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
        if is_blank(line):
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
        for name in row.keys() - SCHEMA:
            self.rows.warn(unknown_key(name))
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


def unknown_key(name: str) -> str:
    """What is said of a key that the schema does not have."""
    text = shown(name.encode("utf-8", "replace"))[:80]
    return f"key '{text}' is not of the schema: left out"


def is_blank(line: bytes) -> bool:
    return not line.strip(b" \t\r\f\v\0")


def no_columns(names: Sequence[str | None]) -> dict[str, Any]:
    """No rows at all."""
    return {name: pa.array([], pa.string()) for name in names if name}
