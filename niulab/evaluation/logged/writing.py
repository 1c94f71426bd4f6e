"""Labelled logs on disk: ``plays.csv`` or ``plays.parquet``, and ``labels.csv`` beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from niulab.errors import ConfigError
from niulab.evaluation.logged.columns import simulate_blocks
from niulab.evaluation.logged.config import FloorConfig
from niulab.evaluation.logged.seating import Label, labels_csv, seat_players
from niulab.evaluation.playlog.flat import CORE, NUMBERS, flat_columns, flat_lines
from niulab.evaluation.playlog.plays import BOXES, Plays

__all__ = ["LogFormat", "LoggedFloor", "write_floor"]

LogFormat = Literal["csv", "parquet"]

_COLUMNS = (*CORE, "cover_double", "cover_super", *(f"late_{box}" for box in BOXES),
            "dealer_pair", "first_seat")  # fmt: skip


@dataclass(frozen=True)
class LoggedFloor:
    """What was written: files, rows, and the players' labels."""

    plays_path: Path
    labels_path: Path
    n_rows: int
    labels: tuple[Label, ...]


def write_floor(
    floor: FloorConfig,
    folder: Path,
    *,
    log_format: LogFormat = "csv",
    progress: Callable[[int, int], None] | None = None,
) -> LoggedFloor:
    """Play a floor and write its log; the same floor gives the same bytes.

    Rows stand in blocks of rounds, in a block by table, time and seat. Files appear whole or not at
    all. Raises ConfigError where the folder holds a log already or cannot be written.
    """
    plays_path, labels_path = folder / f"plays.{log_format}", folder / "labels.csv"
    for path in (plays_path, labels_path):
        if path.exists():
            raise ConfigError(f"'{path}' is there already: name another folder, or remove it")
    write = _write_csv if log_format == "csv" else _write_parquet
    draft = plays_path.with_suffix(".part")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            n_rows = write(draft, _reported(floor, progress))
            labels = seat_players(floor).labels
            labels_path.write_text(labels_csv(labels), encoding="utf-8", newline="")
            draft.replace(plays_path)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as error:
        raise ConfigError(f"cannot write to '{folder}': {error.strerror or error}") from None
    return LoggedFloor(plays_path, labels_path, n_rows, labels)


def _reported(floor: FloorConfig, progress: Callable[[int, int], None] | None) -> Iterator[Plays]:
    done = 0
    for plays in simulate_blocks(floor):
        yield plays.by_round()
        done += len(np.unique(plays.round)) // max(len(np.unique(plays.table)), 1)
        if progress is not None:
            progress(min(done, floor.rounds), floor.rounds)


def _write_csv(path: Path, blocks: Iterable[Plays]) -> int:
    n_rows = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        for plays in blocks:
            file.writelines(flat_lines(plays, columns=_COLUMNS, header=not n_rows))
            n_rows += len(plays)
    return n_rows


def _write_parquet(path: Path, blocks: Iterable[Plays]) -> int:
    """The same columns as the flat text, numbers as such, for DuckDB and its like."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = [(name, pa.int64() if name in NUMBERS else pa.string()) for name in _COLUMNS]
    schema, n_rows = pa.schema(kinds), 0
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for plays in blocks:
            texts = flat_columns(plays)
            columns: dict[str, Sequence[Any]] = {
                name: [int(text) if text else None for text in texts[name]]
                if name in NUMBERS
                else texts[name]
                for name in _COLUMNS
            }
            writer.write_table(pa.table(columns, schema=schema))
            n_rows += len(plays)
    return n_rows
