"""Plays out of a store: by player for the fold, by round for tables, and only what is new."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from niulab.errors import PlayLogError
from niulab.evaluation.playlog.plays import Plays
from niulab.evaluation.playlog.store.columns import PLAYS, TEXTS, plays_of, utc_times
from niulab.evaluation.playlog.store.database import (
    DEFAULT_MEMORY,
    column_list,
    database,
    parquet,
)
from niulab.evaluation.playlog.store.folder import Store
from niulab.evaluation.playlog.store.manifest import StoredFile
from niulab.evaluation.playlog.store.pieces.writing import bucket_of

__all__ = ["BucketPlays", "bucket_plays", "player_plays", "scan_buckets", "scan_rounds"]


@dataclass(frozen=True, eq=False)
class BucketPlays:
    """Rows of one bucket of players, sorted by player, time and order of import.

    month: "" if they are of all months.
    """

    bucket: int
    month: str
    plays: Plays


def scan_buckets(
    store: Store,
    *,
    after: int = 0,
    months: Sequence[str] | None = None,
    buckets: Sequence[int] | None = None,
    by_month: bool = False,
) -> Iterator[BucketPlays]:
    """Rows bucket by bucket; all rows of a player are in one bucket.

    One bucket is in memory at a time: of all months, or of one month after the other (``by_month``;
    rows without a time are the last). Codes of rules are places in ``store.manifest.rules``, the
    same in every bucket; all other codes are of the bucket alone.

    Args:
        store: Where from; its ``manifest`` says what belongs to it.
        after: Only rows committed after this version; raises PlayLogError if rows that were there
            before have been rewritten since (a retention), for then what was read is not what is.
        months: Only these, as ``2026-11``.
        buckets: Only these, so that processes can share the work.
        by_month: One month of a bucket at a time.
    """
    _verify_after(store, after)
    chosen: dict[tuple[int, str], list[StoredFile]] = {}
    for file in store.manifest.of("plays", after=after):
        if months is not None and file.month not in months:
            continue
        if buckets is not None and file.bucket not in buckets:
            continue
        chosen.setdefault((file.bucket, file.month if by_month else ""), []).append(file)
    for (bucket, month), files in sorted(chosen.items(), key=lambda item: item[0]):
        files.sort(key=lambda f: (f.month == "unknown", f.month, f.version))
        plays = bucket_plays(store, [store.path / f.path for f in files])
        yield BucketPlays(bucket, month, plays)


def bucket_plays(store: Store, paths: Sequence[Path]) -> Plays:
    """Rows of some files of one bucket, sorted by player, time and order of import."""
    tables = [
        utc_times(pq.read_table(path, read_dictionary=[*TEXTS], partitioning=None))
        for path in paths
    ]
    table = pa.concat_tables(tables).select(PLAYS.names)
    plays = plays_of(table, tuple(store.manifest.rules))
    plays = _with_sorted_players(plays)
    player, time = plays.player, plays.time
    is_sorted = (player[1:] > player[:-1]) | ((player[1:] == player[:-1]) & (time[1:] >= time[:-1]))
    if is_sorted.all():
        return plays
    return plays.take(np.lexsort((time, player)))  # stable: ties stay as imported


def player_plays(store: Store, player: str) -> Plays:
    """All rows of one player, by time; none for one who is not in the store."""
    bucket = bucket_of(player, store.manifest.buckets)
    tables = [
        utc_times(
            pq.read_table(
                store.path / file.path,
                read_dictionary=[*TEXTS],
                partitioning=None,
                filters=[("player", "=", player)],
            )
        )
        for file in store.manifest.of("plays")
        if file.bucket == bucket
    ]
    if not tables:
        return plays_of(pa.Table.from_pylist([], schema=PLAYS), tuple(store.manifest.rules))
    plays = plays_of(pa.concat_tables(tables).select(PLAYS.names), tuple(store.manifest.rules))
    return plays.take(np.argsort(plays.time, kind="stable"))


def scan_rounds(
    store: Store,
    *,
    after: int = 0,
    months: Sequence[str] | None = None,
    rows: int = 500_000,
    memory: str = DEFAULT_MEMORY,
) -> Iterator[Plays]:
    """Rows table by table in the order of time, about ``rows`` at a time, never a round in two.

    Codes of rules as in ``scan_buckets``, all others are of the piece alone. One sort for each
    month, beyond the memory limit on disk.
    """
    _verify_after(store, after)
    files = store.manifest.of("plays", after=after)
    for month in sorted({f.month for f in files}):
        if months is not None and month not in months:
            continue
        paths = [store.path / f.path for f in files if f.month == month]
        with (
            TemporaryDirectory(prefix="niulab-") as spill,
            database(Path(spill), memory=memory) as db,
        ):
            found = db.sql(
                f"SELECT {column_list(PLAYS.names)} FROM {parquet(paths, PLAYS)} "
                'ORDER BY "table", time, round_id, seat'
            ).to_arrow_reader(min(rows, 100_000))
            for table in _whole_rounds(found, rows):
                yield plays_of(table, tuple(store.manifest.rules))


def _verify_after(store: Store, after: int) -> None:
    manifest = store.manifest
    if after > manifest.version:
        raise PlayLogError(
            f"the store in '{store.path}' is at version {manifest.version}, and {after} was read "
            "before: it is another store, or an older copy"
        )
    if 0 < after < manifest.rewritten:
        raise PlayLogError(
            f"rows of the store in '{store.path}' were rewritten at version {manifest.rewritten}, "
            f"after version {after} was read: begin again with all of it"
        )


def _with_sorted_players(plays: Plays) -> Plays:
    """Codes of players in the order of their names, whatever files they came from."""
    names = plays.texts.players
    order = sorted(range(len(names)), key=names.__getitem__)
    if order == list(range(len(names))):
        return plays
    new = np.empty(len(names), dtype=np.int32)
    new[order] = np.arange(len(names), dtype=np.int32)
    texts = replace(plays.texts, players=tuple(names[place] for place in order))
    return replace(plays, texts=texts, player=new[plays.player])


def _whole_rounds(found: Any, rows: int) -> Iterator[pa.Table]:
    held: list[pa.RecordBatch] = []
    n = 0
    for batch in found:
        held.append(batch)
        n += len(batch)
        if n < rows:
            continue
        table = pa.Table.from_batches(held)
        cut = _start_of_last_round(table)
        if cut == 0:
            continue
        yield table.slice(0, cut)
        rest = table.slice(cut)
        held, n = rest.to_batches(), len(rest)
    if n:
        yield pa.Table.from_batches(held)


def _start_of_last_round(table: pa.Table) -> int:
    """The place of the first row of the round of the last row."""
    tail = table.slice(max(0, len(table) - 10_000))
    rows = list(zip(tail["table"].to_pylist(), tail["round_id"].to_pylist(), strict=True))
    start = len(rows)
    while start and rows[start - 1] == rows[-1]:
        start -= 1
    return len(table) - len(rows) + start
