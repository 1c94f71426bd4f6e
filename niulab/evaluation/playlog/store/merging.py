"""The second half of an import: pieces become files of the store, by month and bucket, in order.

Rows of rounds that lie apart (in several chunks, in the store already, or with the dealer's cards
in some rows only) are gathered and mended first; the others go through as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from niulab.evaluation.playlog.chunk import ReadOptions
from niulab.evaluation.playlog.plays import NO_TIME, Flag
from niulab.evaluation.playlog.quarantine import QuarantineFile
from niulab.evaluation.playlog.store.columns import PLAYS, plays_of
from niulab.evaluation.playlog.store.database import ROWS_OF_GROUP, column_list, parquet, rows_of
from niulab.evaluation.playlog.store.folder import Store
from niulab.evaluation.playlog.store.manifest import Counts, StoredFile
from niulab.evaluation.playlog.store.mending import mend
from niulab.evaluation.playlog.store.pieces.held import plays_arrays
from niulab.evaluation.playlog.store.pieces.settling import (
    LastTimes,
    month_text,
    settle,
    stored_file,
)
from niulab.evaluation.playlog.store.pieces.writing import SUFFIX, Piece, open_piece
from niulab.evaluation.playlog.store.staging import ROUND_PIECES, ROUNDS_SUFFIX, write_piece

__all__ = ["PLAYERS", "ROUNDS", "Merged", "merge"]

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

_APART = pa.schema([*PLAYS, ("source", pa.int32()), ("line", pa.int64())])
_ROWS_OF_QUERY = 100_000
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
    threads: int = 1,
) -> Merged:
    """Write the files of the next version; nothing counts before they are committed.

    rows: how many are in memory at a time. rules: hashes of sheets by the names the log gives.
    """
    version = store.manifest.version + 1
    merged = Merged()
    rounds = [path.with_suffix(ROUNDS_SUFFIX) for path in pieces]
    db.execute(
        f"CREATE VIEW staged_rounds AS SELECT * FROM {parquet(rounds, ROUND_PIECES, names=True)}"
    )
    _find_apart(db, store)
    opened = [open_piece(path) for path in pieces]
    without = _rounds_apart(db, opened)
    mended = store.staging / "mended"
    mended.mkdir(exist_ok=True)
    gathered = _Gathered(opened, without)
    paths = _mend(db, store, mended, merged, sources, options, quarantine, rows, gathered)
    db.register("players_of_part", PLAYERS.empty_table())
    db.execute("CREATE TABLE new_players AS SELECT * FROM players_of_part")
    for part in settle(
        store, version, [*opened, *map(open_piece, paths)], without=without,
        latest=_last_times(store), rows=rows, threads=threads,
    ):  # fmt: skip
        merged.files += part.files
        merged.late += part.late
        for players in part.players:
            db.register("players_of_part", players.cast(PLAYERS))
            db.execute("INSERT INTO new_players SELECT * FROM players_of_part")
    mended_rounds = [path.with_suffix(ROUNDS_SUFFIX) for path in paths]
    _write_rounds(db, store, merged, version, rules, mended_rounds)
    _write_players(db, store, merged, version)
    return merged


def _last_times(store: Store) -> LastTimes:
    tables = [pq.read_table(path, partitioning=None) for path in store.files("players")]
    table = pa.concat_tables(tables) if tables else PLAYERS.empty_table()
    table = table.select(PLAYERS.names).cast(PLAYERS).combine_chunks()
    times = pc.fill_null(table["last_time"].cast(pa.int64()), NO_TIME)
    players = pa.concat_arrays(table["player"].chunks or [pa.array([], pa.string())])
    return LastTimes(players, np.asarray(times), store.manifest.buckets)


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


def _rounds_apart(
    db: duckdb.DuckDBPyConnection, pieces: Sequence[Piece]
) -> dict[Path, NDArray[np.bool_]]:
    """By piece, which of its rounds lie apart: bool by their places."""
    found: dict[Path, NDArray[np.bool_]] = {}
    by_name = {str(piece.path.with_suffix(ROUNDS_SUFFIX)): piece.path for piece in pieces}
    query = f"SELECT filename, place FROM staged_rounds SEMI JOIN apart ON {_KEY} = k"
    for batch in db.sql(query).to_arrow_reader(_ROWS_OF_QUERY):
        names = batch["filename"].dictionary_encode()
        places, files = batch["place"].to_numpy(), names.indices.to_numpy()
        for code, name in enumerate(names.dictionary.to_pylist()):
            path = by_name[name]
            if path not in found:
                found[path] = np.zeros(rows_of(Path(name)), dtype=np.bool_)
            found[path][places[files == code]] = True
    return found


@dataclass(frozen=True, eq=False)
class _Gathered:
    """Rows of rounds apart, as DuckDB reads them: one piece after the other."""

    pieces: Sequence[Piece]
    apart: dict[Path, NDArray[np.bool_]]

    def reader(self) -> pa.RecordBatchReader:
        return pa.RecordBatchReader.from_batches(_APART, self._batches())

    def _batches(self) -> Iterator[pa.RecordBatch]:
        for piece in self.pieces:
            wanted = self.apart.get(piece.path)
            if wanted is None:
                continue
            hit = [
                place
                for place, held in piece.batches(range(len(piece.groups)), ["round"])
                if wanted[held.columns["round"]].any()
            ]
            for _, held in piece.batches(hit):
                rows = held.take(np.flatnonzero(wanted[held.columns["round"]]))
                table = plays_arrays(rows)
                for name in ("source", "line"):
                    table = table.append_column(name, pa.array(rows.columns[name]))
                yield from table.cast(_APART).to_batches()


def _mend(
    db: duckdb.DuckDBPyConnection,
    store: Store,
    folder: Path,
    merged: Merged,
    sources: Sequence[str],
    options: ReadOptions,
    quarantine: QuarantineFile,
    rows: int,
    gathered: _Gathered,
) -> list[Path]:
    """Gather the rows of rounds apart, mend them, and write the new ones as pieces."""
    names = column_list([*PLAYS.names, "source", "line"])
    old = f"SELECT {column_list(PLAYS.names)}, -1 AS source, -1 AS line"
    [(n_known,)] = db.execute("SELECT count(*) FROM known").fetchall()
    before = parquet(store.files("plays") if n_known else [], PLAYS)
    [(n_apart,)] = db.execute(
        f"SELECT coalesce(sum(n_rows), 0) FROM staged_rounds SEMI JOIN apart ON {_KEY} = k"
    ).fetchall()
    if not n_apart:
        return []
    n_parts = 1 + int(n_apart) // (rows * _ROWS_OF_SORT)  # sorts far beyond the limit fail
    paths = []
    tables = chain.from_iterable(
        _whole_rounds(
            db.register("gathered", gathered.reader())
            .sql(
                f"SELECT * FROM (SELECT {names}, {_KEY} AS k FROM gathered) "
                f"WHERE k % {n_parts} = {part} UNION ALL "
                f"SELECT *, {_KEY} AS k FROM ({old} FROM {before}) "
                f"WHERE k IN (SELECT k FROM known) AND k % {n_parts} = {part} "
                "ORDER BY k, source, line"
            )
            .to_arrow_reader(max(rows // 8, 1)),
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
            paths.append(folder / f"{place:06}{SUFFIX}")
            plays = result.plays.take(is_new)
            write_piece([(plays, lines[kept], origins[kept])], paths[-1], store.manifest.buckets)
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
    db.execute(
        "COPY (SELECT player, max(last_time) AS last_time, sum(n_rows)::BIGINT AS n_rows FROM ("
        "SELECT player, last_time, n_rows FROM new_players "
        f"UNION ALL SELECT player, last_time, n_rows FROM {old}) GROUP BY player ORDER BY player) "
        f"TO '{_sql(store.path / relative)}' (FORMAT parquet, COMPRESSION zstd)"
    )
    merged.files.append(stored_file(store, relative, "players", version))


def _sql(path: Path) -> str:
    return str(path).replace("'", "''")
