"""Rows of a store as a flat log: CSV or JSON Lines, whole or not at all."""

from __future__ import annotations

import gzip
import os
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from niulab.errors import PlayLogError, nearest
from niulab.evaluation.playlog.flat import FlatFormat, flat_lines
from niulab.evaluation.playlog.store.database import DEFAULT_MEMORY
from niulab.evaluation.playlog.store.folder import Store
from niulab.evaluation.playlog.store.loading import scan_rounds

__all__ = ["export_log"]

_FORMATS: dict[str, FlatFormat] = {".csv": "csv", ".jsonl": "jsonl"}


def export_log(
    store: Store,
    path: Path | str,
    *,
    months: Sequence[str] | None = None,
    memory: str = DEFAULT_MEMORY,
) -> int:
    """Write all rows to a file ``.csv`` or ``.jsonl``, also ``.gz``, by month, table and time.

    Returns the number of rows. Raises PlayLogError for another ending, and for a month
    without rounds.
    """
    target = Path(path)
    stem = target.name.removesuffix(".gz")
    form = _FORMATS.get(Path(stem).suffix)
    if form is None:
        raise PlayLogError(f"a flat log ends in .csv, .jsonl, .csv.gz or .jsonl.gz, got '{target}'")
    if not store.manifest.n_plays:
        raise PlayLogError(f"the store in '{store.path}' is empty: nothing to export")
    known = {file.month for file in store.manifest.of("plays")}
    for month in months or ():
        if month not in known:
            raise PlayLogError(
                f"no rounds of month '{month}' in '{store.path}'{nearest(month, known)}"
            )
    draft = target.with_name(f".{target.name}.draft")
    n = 0
    try:
        with _opened(draft, is_packed=target.suffix == ".gz") as file:
            for plays in scan_rounds(store, months=months, rows=100_000, memory=memory):
                file.writelines(flat_lines(plays, form, header=n == 0))
                n += len(plays)
            file.flush()
        with draft.open("rb+") as written:
            os.fsync(written.fileno())
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
    return n


def _opened(path: Path, *, is_packed: bool) -> IO[str]:
    if is_packed:
        return gzip.open(path, "wt", encoding="utf-8", newline="", compresslevel=6)
    return path.open("w", encoding="utf-8", newline="")
