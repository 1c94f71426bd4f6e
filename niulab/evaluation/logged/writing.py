"""Labelled logs on disk: ``plays.csv`` or ``plays.parquet``, and ``labels.csv`` beside it."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from niulab.engine.cards import N_CARDS, card_text
from niulab.errors import ConfigError
from niulab.evaluation.logged.columns import simulate_blocks
from niulab.evaluation.logged.config import FloorConfig
from niulab.evaluation.logged.seating import Label, labels_csv, seat_players
from niulab.evaluation.playlog.plays import BOXES, NO_TIME, Plays

__all__ = ["LogFormat", "LoggedFloor", "flat_rows", "write_floor"]

LogFormat = Literal["csv", "parquet"]

_CARD_TEXTS = np.array([*(card_text(card) for card in range(N_CARDS)), ""], dtype=object)
_CODES = {"round_id": "round", "table": "table", "dealer": "dealer", "rules": "rules",
          "player": "player"}  # fmt: skip
_VOCABULARIES = {"round": "rounds", "table": "tables", "dealer": "dealers", "rules": "rules",
                 "player": "players"}  # fmt: skip
_COLUMNS = (
    *("round_id", "time", "table", "dealer", "rules", "seat", "player", *BOXES),
    *("cards", "dealer_cards", "pair", *(f"net_{box}" for box in BOXES)),
    *("bet_time", "close_time", "cover_double", "cover_super"),
    *(*(f"late_{box}" for box in BOXES), "dealer_pair"),
)


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


def flat_rows(plays: Plays) -> dict[str, list[str]]:
    """The columns of the flat schema as text; empty for no such box or not recorded."""
    texts: dict[str, list[str]] = {}
    for name, column in _CODES.items():
        known = np.array([*getattr(plays.texts, _VOCABULARIES[column]), ""], dtype=object)
        texts[name] = known[getattr(plays, column)].tolist()
    for name in ("time", "bet_time", "close_time"):
        texts[name] = _times(getattr(plays, name))
    for name in ("cards", "dealer_cards", "pair", "dealer_pair"):
        hands = _CARD_TEXTS[getattr(plays, name)]
        texts[name] = [" ".join(hand).rstrip() for hand in hands.tolist()]
    for place, box in enumerate(BOXES):
        texts[box] = _numbers(plays.stakes[:, place])
        texts[f"net_{box}"] = _numbers(plays.nets[:, place])
        texts[f"late_{box}"] = _numbers(plays.late[:, place], plays.late[:, place] == 0)
    for place, box in enumerate(BOXES[1:3]):
        texts[f"cover_{box}"] = _numbers(plays.cover[:, place], plays.cover[:, place] < 0)
    texts["seat"] = _numbers(plays.seat, plays.seat == 0)
    return texts


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
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_COLUMNS)
        for plays in blocks:
            texts = flat_rows(plays)
            writer.writerows(zip(*(texts[name] for name in _COLUMNS), strict=True))
            n_rows += len(plays)
    return n_rows


def _write_parquet(path: Path, blocks: Iterable[Plays]) -> int:
    """The same columns as the flat text, numbers as such, for DuckDB and its like."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    texts = {"round_id", "table", "dealer", "rules", "player", "cards", "dealer_cards", "pair",
             "dealer_pair", "time", "bet_time", "close_time"}  # fmt: skip
    schema = pa.schema([(n, pa.string() if n in texts else pa.int64()) for n in _COLUMNS])
    n_rows = 0
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for plays in blocks:
            columns: dict[str, Sequence[Any]] = dict(flat_rows(plays))
            for name in set(_COLUMNS) - texts:
                columns[name] = [int(text) if text else None for text in columns[name]]
            writer.write_table(pa.table({n: columns[n] for n in _COLUMNS}, schema=schema))
            n_rows += len(plays)
    return n_rows


def _numbers(values: NDArray[np.integer], is_empty: NDArray[np.bool_] | None = None) -> list[str]:
    texts = [str(value) for value in values.tolist()]
    for row in [] if is_empty is None else np.flatnonzero(is_empty).tolist():
        texts[row] = ""
    return texts


def _times(micros: NDArray[np.int64]) -> list[str]:
    known, place = np.unique(micros, return_inverse=True)
    texts = np.datetime_as_string(known.astype("datetime64[us]"), timezone="naive").tolist()
    short = [
        "" if micro == NO_TIME else text.removesuffix(".000000") + "Z"
        for text, micro in zip(texts, known.tolist(), strict=True)
    ]
    return np.array(short, dtype=object)[place.reshape(-1)].tolist() if short else []
