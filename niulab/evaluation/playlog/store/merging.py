"""The second half of an import: pieces become files of the store, by month and bucket, in order.

Rows of rounds that lie apart (in several chunks, in the store already, or with the dealer's cards
in some rows only) are gathered and mended first; the others go through as they are.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from niulab.evaluation.playlog.chunk import ReadOptions
from niulab.evaluation.playlog.plays import Flag
from niulab.evaluation.playlog.quarantine import QuarantineFile
from niulab.evaluation.playlog.store.columns import PLAYS, plays_of
from niulab.evaluation.playlog.store.database import ROWS_OF_GROUP, column_list, parquet, rows_of
from niulab.evaluation.playlog.store.folder import Store
from niulab.evaluation.playlog.store.manifest import Counts, StoredFile, sync_folder
from niulab.evaluation.playlog.store.mending import mend
from niulab.evaluation.playlog.store.staging import (
    PIECES,
    ROUND_PIECES,
    ROUNDS_SUFFIX,
    month_text,
    piece_table,
    round_table,
    write_piece,
)

__all__ = ["PLAYERS", "ROUNDS", "Merged", "merge", "stored_file", "write_plays"]

ROUNDS = pa.schema(
    [
        ("round_id", pa.string()),
        ("time", pa.timestamp("us", tz="UTC")),
        ("table", pa.string()),
        ("dealer", pa.string()),
        ("rules", pa.string()),
        ("rules_hash", pa.string()),
        ("shoe", pa.string()),
        ("shuffle_id", pa.string()),
        ("shuffler", pa.string()),
        ("deal_method", pa.string()),
        ("dealer_cards", pa.binary()),
        ("dealer_pair", pa.binary()),
        ("seat_order", pa.string()),
        ("first_seat", pa.int8()),
        ("void", pa.string()),
        ("flags", pa.uint16()),
    ]
)
"""Columns of the table ``rounds``; flags are those that all rows of a round share."""

PLAYERS = pa.schema(
    [("player", pa.string()), ("last_time", pa.timestamp("us", tz="UTC")), ("n_rows", pa.int64())]
)
"""Columns of the table ``players``: the time of the latest row, and how many rows there are."""

_KEY = 'hash("table", "round_id")'
_SHARED = int(Flag.CARD_TWICE | Flag.VOID | Flag.NO_ORDER | Flag.UNKNOWN_RULES)
_ROWS_OF_SORT = 40  # times the rows in hand
_MOST_IN_MEMORY = 8  # times the usual rows, of one round: ids that say nothing are cut


@dataclass
class Merged:
    """What a merge wrote: files, and rows that pieces had but the store did not take."""

    files: list[StoredFile] = field(default_factory=list)
    duplicates: int = 0
    quarantined: int = 0
    late: int = 0

    def counts(self, staged: Counts) -> Counts:
        """All rows of the pieces accounted for."""
        gone = self.duplicates + self.quarantined
        return staged + Counts(0, -gone, self.duplicates, self.quarantined, 0, 0, self.late)


def merge(
    db: duckdb.DuckDBPyConnection,
    store: Store,
    pieces: Sequence[Path],
    *,
    sources: Sequence[str],
    options: ReadOptions,
    quarantine: QuarantineFile,
    rows: int,
    rules: dict[str, str],
) -> Merged:
    """Write the files of the next version; nothing counts before they are committed.

    rows: how many are in memory at a time. rules: hashes of sheets by the names the log gives.
    """
    version = store.manifest.version + 1
    merged = Merged()
    db.execute(f"CREATE VIEW staged AS SELECT * FROM {parquet(pieces, PIECES)}")
    rounds = [path.with_suffix(ROUNDS_SUFFIX) for path in pieces]
    db.execute(f"CREATE VIEW staged_rounds AS SELECT * FROM {parquet(rounds, ROUND_PIECES)}")
    _find_apart(db, store)
    mended = store.staging / "mended"
    mended.mkdir(exist_ok=True)
    paths = _mend(db, store, mended, merged, sources, options, quarantine, rows)
    names = column_list(PIECES.names)
    db.execute(
        f"CREATE VIEW settled AS SELECT {names} FROM staged ANTI JOIN apart ON {_KEY} = k"
        f" UNION ALL SELECT {names} FROM {parquet(paths, PIECES)}"
    )
    db.execute(
        "CREATE TABLE latest AS SELECT player AS who, last_time FROM "
        f"{parquet(store.files('players'), PLAYERS)}"
    )
    flags = f"(flags | CASE WHEN time < last_time THEN {int(Flag.LATE_ROW)} ELSE 0 END)::USMALLINT"
    columns = column_list([name for name in PLAYS.names if name != "flags"])
    query = f"SELECT {columns}, {flags} AS flags, month, bucket FROM settled "
    query += "LEFT JOIN latest ON player = who"
    batch = max(rows // 8, 1)
    for month, low, high in _batches(db, rows):
        where = f"WHERE month = {month} AND bucket BETWEEN {low} AND {high}"
        order = 'ORDER BY bucket, player, time NULLS FIRST, "table", round_id, seat'
        found = db.sql(f"{query} {where} {order}").to_arrow_reader(batch)
        folder = f"plays/month={month_text(month)}"
        written = write_plays(found, store, folder, version, month=month_text(month))
        merged.files += written.files
        merged.late += written.late
    mended_rounds = [path.with_suffix(ROUNDS_SUFFIX) for path in paths]
    _write_rounds(db, store, merged, version, rules, mended_rounds)
    _write_players(db, store, merged, version)
    return merged


def _find_apart(db: duckdb.DuckDBPyConnection, store: Store) -> None:
    """Tables of round keys: ``known``, those of rounds stored before, among those ``apart``."""
    db.execute(f"CREATE VIEW old_rounds AS SELECT * FROM {parquet(store.files('rounds'), ROUNDS)}")
    db.execute(
        f"CREATE TABLE known AS SELECT DISTINCT {_KEY} AS k FROM old_rounds "
        f"WHERE k IN (SELECT {_KEY} FROM staged_rounds)"
    )
    db.execute(
        f"CREATE TABLE apart AS SELECT {_KEY} AS k FROM staged_rounds GROUP BY k "
        "HAVING count(*) > 1 OR bool_or(is_mixed) UNION SELECT k FROM known"
    )


def _mend(
    db: duckdb.DuckDBPyConnection,
    store: Store,
    folder: Path,
    merged: Merged,
    sources: Sequence[str],
    options: ReadOptions,
    quarantine: QuarantineFile,
    rows: int,
) -> list[Path]:
    """Gather the rows of rounds apart, mend them, and write the new ones as pieces."""
    names = column_list([*PLAYS.names, "source", "line"])
    old = f"SELECT {column_list(PLAYS.names)}, -1 AS source, -1 AS line"
    [(n_known,)] = db.execute("SELECT count(*) FROM known").fetchall()
    before = parquet(store.files("plays") if n_known else [], PLAYS)
    [(n_apart,)] = db.execute(f"SELECT count(*) FROM staged JOIN apart ON {_KEY} = k").fetchall()
    n_parts = 1 + n_apart // (rows * _ROWS_OF_SORT)  # sorts far beyond the memory limit fail
    paths = []
    tables = chain.from_iterable(
        _whole_rounds(
            db.sql(
                f"SELECT {names}, apart.k FROM staged JOIN apart ON {_KEY} = k "
                f"WHERE k % {n_parts} = {part} UNION ALL "
                f"SELECT *, {_KEY} AS k FROM ({old} FROM {before}) "
                f"WHERE k IN (SELECT k FROM known) AND k % {n_parts} = {part} "
                "ORDER BY k, source, line"
            ).to_arrow_reader(max(rows // 8, 1)),
            rows,
        )
        for part in range(n_parts)
    )
    for place, table in enumerate(tables):
        lines = table["line"].to_numpy().astype(np.int64)
        origins = table["source"].to_numpy().astype(np.int32)
        result = mend(plays_of(table), lines, origins, sources, options)
        merged.duplicates += result.n_duplicates
        merged.quarantined += len(result.quarantined)
        for row, what in result.quarantined:
            quarantine.write(Path(sources[origins[row]]).name, [what])
        is_new = origins[result.rows] >= 0
        kept = result.rows[is_new]
        if len(kept):
            plays = result.plays.take(is_new)
            new = piece_table(
                plays, store.manifest.buckets, source=origins[kept], chunk=0, lines=lines[kept]
            )
            paths.append(folder / f"{place:06}.parquet")
            write_piece([new], [round_table(plays, new)], paths[-1])
    return paths


def _whole_rounds(found: Any, rows: int) -> Iterator[pa.Table]:
    """Tables of about so many rows, cut between rounds; sorted by the key ``k``."""
    held: list[pa.RecordBatch] = []
    n = 0
    for batch in found:
        held.append(batch)
        n += len(batch)
        if n < rows:
            continue
        table = pa.Table.from_batches(held)
        keys = table["k"].to_numpy()
        cut = int(np.searchsorted(keys, keys[-1]))  # the last round may go on
        if cut == 0 and n < rows * _MOST_IN_MEMORY:
            continue
        cut = cut or n
        yield table.slice(0, cut)
        rest = table.slice(cut)
        held, n = rest.to_batches(), len(rest)
    if n:
        yield pa.Table.from_batches(held)


def _batches(db: duckdb.DuckDBPyConnection, rows: int) -> Iterator[tuple[int, int, int]]:
    """Months and ranges of buckets of about so many rows."""
    sizes = db.execute(
        "SELECT month, bucket, count(*) FROM staged GROUP BY month, bucket ORDER BY month, bucket"
    ).fetchall()
    begun: tuple[int, int, int, int] | None = None
    for month, bucket, n in sizes:
        if begun and begun[0] == month and begun[3] + n <= rows:
            begun = (month, begun[1], bucket, begun[3] + n)
            continue
        if begun:
            yield begun[:3]
        begun = (month, bucket, bucket, n)
    if begun:
        yield begun[:3]


def write_plays(
    found: Any, store: Store, folder: str, version: int, *, month: str, name: str = ""
) -> Merged:
    """Write rows sorted by bucket, one file a bucket; the files, and how many rows are late."""
    written = Merged()
    writer: pq.ParquetWriter | None = None
    bucket, held, path = -1, list[pa.Table](), Path()

    def flush(*, is_end: bool) -> None:
        nonlocal writer, held
        if held and (is_end or sum(map(len, held)) >= ROWS_OF_GROUP):
            table = pa.concat_tables(held).select(PLAYS.names)
            if writer is None:
                path.parent.mkdir(parents=True, exist_ok=True)
                writer = pq.ParquetWriter(
                    path,
                    table.schema,
                    compression="zstd",
                    use_dictionary=_CODED,
                    write_statistics=["player", "time"],
                )
            writer.write_table(table, row_group_size=ROWS_OF_GROUP)
            held = []
        if is_end and writer is not None:
            writer.close()
            writer = None
            relative = path.relative_to(store.path).as_posix()
            written.files.append(
                stored_file(store, relative, "plays", version, month=month, bucket=bucket)
            )

    for batch in found:
        table = pa.Table.from_batches([batch])
        buckets = table["bucket"].to_numpy()
        late = table["flags"].to_numpy() & int(Flag.LATE_ROW)
        written.late += int((late != 0).sum())
        edges = [0, *(np.flatnonzero(np.diff(buckets.astype(np.int64))) + 1).tolist(), len(table)]
        for low, high in pairwise(edges):
            if high == low:
                continue
            if buckets[low] != bucket:
                flush(is_end=True)
                bucket = int(buckets[low])
                path = store.path / folder / f"bucket={bucket:03}" / f"v{version:06}{name}.parquet"
            held.append(table.slice(low, high - low))
            flush(is_end=False)
    flush(is_end=True)
    return written


_CODED = [name for name in PLAYS.names if name not in {"cards", "dealer_cards", "cards_shown"}]


def stored_file(
    store: Store, relative: str, table: Any, version: int, *, month: str = "", bucket: int = -1
) -> StoredFile:
    """Bring a file that was just written to the disk; its line in the manifest."""
    path = store.path / relative
    with path.open("rb+") as file:
        os.fsync(file.fileno())
    sync_folder(path.parent)
    n = rows_of(path) if path.suffix == ".parquet" else 0
    return StoredFile(relative, table, version, n, path.stat().st_size, month, bucket)


def _write_rounds(
    db: duckdb.DuckDBPyConnection,
    store: Store,
    merged: Merged,
    version: int,
    rules: dict[str, str],
    mended: Sequence[Path],
) -> None:
    db.execute("CREATE TABLE sheets (name VARCHAR, rules_hash VARCHAR)")
    if rules:
        db.executemany("INSERT INTO sheets VALUES (?, ?)", list(rules.items()))
    names = column_list([name for name in ROUNDS.names if name not in {"rules_hash", "flags"}])
    flags = f"(flags & {_SHARED})::USMALLINT AS flags"
    db.execute(
        f"CREATE VIEW new_rounds AS SELECT {names}, {flags}, month FROM staged_rounds "
        f"ANTI JOIN apart ON {_KEY} = k UNION ALL SELECT {names}, {flags}, month FROM "
        f"{parquet(mended, ROUND_PIECES)} ANTI JOIN known ON {_KEY} = k"
    )
    months = db.execute("SELECT DISTINCT month FROM new_rounds ORDER BY month").fetchall()
    for (month,) in months:
        relative = f"rounds/month={month_text(month)}/v{version:06}.parquet"
        path = store.path / relative
        path.parent.mkdir(parents=True, exist_ok=True)
        db.execute(
            f"COPY (SELECT {column_list(ROUNDS.names)} FROM new_rounds LEFT JOIN sheets "
            f'ON rules = name WHERE month = {month} ORDER BY "table", time, round_id) '
            f"TO '{_sql(path)}' "
            f"(FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {ROWS_OF_GROUP})"
        )
        merged.files.append(
            stored_file(store, relative, "rounds", version, month=month_text(month))
        )


def _write_players(
    db: duckdb.DuckDBPyConnection, store: Store, merged: Merged, version: int
) -> None:
    relative = f"players/v{version:06}.parquet"
    (store.path / "players").mkdir(exist_ok=True)
    old = parquet(store.files("players"), PLAYERS)
    new = [store.path / file.path for file in merged.files if file.table == "plays"]
    db.execute(
        "COPY (SELECT player, max(last_time) AS last_time, sum(n_rows)::BIGINT AS n_rows FROM ("
        "SELECT player, max(time) AS last_time, count(*) AS n_rows FROM "
        f"{parquet(new, PLAYS)} GROUP BY player "
        f"UNION ALL SELECT player, last_time, n_rows FROM {old}) GROUP BY player ORDER BY player) "
        f"TO '{_sql(store.path / relative)}' (FORMAT parquet, COMPRESSION zstd)"
    )
    merged.files.append(stored_file(store, relative, "players", version))


def _sql(path: Path) -> str:
    return str(path).replace("'", "''")
