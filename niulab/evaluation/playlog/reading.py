"""Bytes into rows of text: every line is a row, blank, a repeated header, or quarantined.

A row never runs over its line, so line numbers are exact and one stray quote costs one line. Plain
lines are read by compiled loops; odd ones one by one, with the same rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from niulab.evaluation.playlog.chunk import ReadOptions, Start
from niulab.evaluation.playlog.flat import CORE
from niulab.evaluation.playlog.text.blocks import Source, line_text
from niulab.evaluation.playlog.text.careful import Careful, is_blank, no_columns
from niulab.evaluation.playlog.text.clean import read_clean
from niulab.evaluation.playlog.text.layout import Layout, json_row, layout_of, verify_core
from niulab.evaluation.playlog.text.rows import Rows, shown

__all__ = ["Rows", "first_layout", "read_rows"]


def read_rows(
    path: Path, options: ReadOptions, *, careful: bool = False, start: Start | None = None
) -> Iterator[Rows]:
    """Rows of a flat log, at most ``options.rows`` at a time; ``careful`` reads all line by line.

    start: where to begin, if not with the file.

    Raises PlayLogError for a file that cannot be opened or whose header misses core columns.
    """
    source = Source(path, options.encoding, start.span if start else None)
    layout = start.layout if start else None
    for block in source.blocks(options.rows):
        rows = Rows({}, np.zeros(0, np.int64), block, block.n_lines)
        skipped = 0
        if layout is None:
            layout, skipped = _first_layout(rows, options, path.name)
            for name in layout.unknown if layout else ():
                rows.warn(f"column '{shown(name.encode())[:80]}' is not of the schema: left out")
        if layout is None:
            rows.columns = no_columns(CORE)
            yield _settled(rows, source)
            continue
        if careful or not read_clean(rows, layout, skipped, options, path.name):
            layout = Careful(rows, layout, path.name).read(skipped)
        rows.layout = layout
        yield _settled(rows, source)
    if layout is None:
        verify_core((), (), path.name)


def first_layout(path: Path, options: ReadOptions) -> Layout | None:
    """The layout a file begins with; None for a file of blank lines. Raises as ``read_rows``."""
    for block in Source(path, options.encoding).blocks(options.rows):
        rows = Rows({}, np.zeros(0, np.int64), block, block.n_lines)
        layout, _ = _first_layout(rows, options, path.name)
        if layout is not None:
            return layout
    return None


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
        if not is_blank(line):
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
