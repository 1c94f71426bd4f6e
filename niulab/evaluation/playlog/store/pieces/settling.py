"""Pieces into files of the store: each month and bucket sorted by player, in bounded memory."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from niulab.evaluation.playlog.flat import TIMES
from niulab.evaluation.playlog.kernels import order_by_code
from niulab.evaluation.playlog.plays import NO_CODE, NO_TIME, Flag
from niulab.evaluation.playlog.store.columns import PLAYS, times_of
from niulab.evaluation.playlog.store.database import ROWS_OF_GROUP, rows_of
from niulab.evaluation.playlog.store.folder import Store
from niulab.evaluation.playlog.store.manifest import StoredFile, sync_folder
from niulab.evaluation.playlog.store.pieces.held import Held, joined, plays_arrays
from niulab.evaluation.playlog.store.pieces.writing import UNKNOWN_MONTH, Piece, bucket_of

__all__ = ["LastTimes", "Settled", "month_text", "settle", "stored_file"]

_PLAIN = {"cards", "dealer_cards", "cards_shown", *TIMES}
_CODED = [name for name in PLAYS.names if name not in _PLAIN]
_ENCODINGS = dict.fromkeys(TIMES, "DELTA_BINARY_PACKED")


@dataclass(eq=False)
class Settled:
    """Files that were written, how many of their rows are late, and tables of their players."""

    files: list[StoredFile] = field(default_factory=list)
    late: int = 0
    players: list[pa.Table] = field(default_factory=list)


class LastTimes:
    """The time of the last row of each player, before an import.

    players: Arrow strings; times: int64, NO_TIME where no row has one.
    """

    def __init__(self, players: pa.Array, times: NDArray[np.int64], buckets: int) -> None:
        bucket = np.array([bucket_of(name, buckets) for name in players.to_pylist()], np.int64)
        order = np.argsort(bucket, kind="stable")
        self._players, self._times = players.take(pa.array(order)), times[order]
        self._starts = np.searchsorted(bucket[order], np.arange(buckets + 1))

    def of(self, names: pa.Array, low: int, high: int) -> NDArray[np.int64]:
        """By name of players in the buckets low to high, NO_TIME for those who are new."""
        start, stop = int(self._starts[low]), int(self._starts[high + 1])
        known = self._players.slice(start, stop - start)
        if not len(known):
            return np.full(len(names), NO_TIME)
        place = pc.fill_null(pc.index_in(names, value_set=known), len(known))
        times = np.append(self._times[start:stop], NO_TIME)
        found: NDArray[np.int64] = times[np.asarray(place)]
        return found


@dataclass(frozen=True)
class _Unit:
    """Rows of some buckets of a month that are in hand together, or one bucket of more rows."""

    month: int
    low: int
    high: int
    n_rows: int


def settle(
    store: Store,
    version: int,
    pieces: Sequence[Piece],
    *,
    without: Mapping[Path, NDArray[np.bool_]],
    latest: LastTimes,
    rows: int,
    threads: int,
) -> Iterator[Settled]:
    """Write all rows of the pieces as files of a version; what was written, part by part.

    without: by piece, the rounds (places in its table of rounds) whose rows stay out. rows: in hand
    at a time, of all threads together.
    """
    most = max(rows // threads, 1)
    writer = _Writer(store, version, pieces, without, latest, most)
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(writer.write, _units(pieces, most))


def _units(pieces: Sequence[Piece], rows: int) -> Iterator[_Unit]:
    sizes: Counter[tuple[int, int]] = Counter()
    for group in (group for piece in pieces for group in piece.groups):
        for bucket, n in zip(group.buckets, group.counts, strict=True):
            sizes[group.month, bucket] += n
    begun: _Unit | None = None
    for (month, bucket), n in sorted(sizes.items()):
        if begun and begun.month == month and begun.n_rows + n <= rows:
            begun = _Unit(month, begun.low, bucket, begun.n_rows + n)
            continue
        if begun:
            yield begun
        begun = _Unit(month, bucket, bucket, n)
    if begun:
        yield begun


@dataclass(frozen=True, eq=False)
class _Writer:
    store: Store
    version: int
    pieces: Sequence[Piece]
    without: Mapping[Path, NDArray[np.bool_]]
    latest: LastTimes
    rows: int

    def write(self, unit: _Unit) -> Settled:
        """Write the files of a unit."""
        done = Settled()
        files: dict[int, _File] = {}
        for low, high in self._ranges(unit):
            held = self._load(unit, low, high)
            if held is None:
                continue
            names, bucket_of, held = _sorted(held)
            held = self._with_late_flags(held, names, unit, done)
            done.players.append(_players(held, names))
            buckets = bucket_of[held.columns["player"]]
            for bucket in np.unique(buckets).tolist():
                start, stop = np.searchsorted(buckets, [bucket, bucket + 1]).tolist()
                if bucket not in files:
                    files[bucket] = _File(self._path(unit.month, bucket))
                files[bucket].add(plays_arrays(held, start, stop))
        for bucket, file in files.items():
            file.close()
            relative = file.path.relative_to(self.store.path).as_posix()
            month = month_text(unit.month)
            done.files.append(
                stored_file(self.store, relative, "plays", self.version, month=month, bucket=bucket)
            )
        return done

    def _path(self, month: int, bucket: int) -> Path:
        folder = self.store.path / f"plays/month={month_text(month)}/bucket={bucket:03}"
        return folder / f"v{self.version:06}.parquet"

    def _ranges(self, unit: _Unit) -> list[tuple[str | None, str | None]]:
        """Ranges of players, ascending, of about as many rows as may be in hand: (after, up to)."""
        if unit.n_rows <= self.rows:
            return [(None, None)]
        counts: Counter[str] = Counter()
        for held in self._batches(unit, ["player", "round"]):
            n_rows = np.bincount(held.columns["player"], minlength=len(held.texts["player"]))
            for code in np.flatnonzero(n_rows).tolist():
                counts[held.texts["player"][code].as_py()] += int(n_rows[code])
        ranges: list[tuple[str | None, str | None]] = []
        after, n = None, 0
        names = sorted(counts, key=str.encode)  # as Arrow sorts them
        for place, name in enumerate(names):
            if n and n + counts[name] > self.rows:
                ranges.append((after, names[place - 1]))
                after, n = names[place - 1], 0
            n += counts[name]
        return [*ranges, (after, None)]

    def _batches(self, unit: _Unit, columns: Sequence[str] | None = None) -> Iterator[Held]:
        for piece in self.pieces:
            out = self.without.get(piece.path)
            for held in piece.read(unit.month, unit.low, unit.high, columns):
                if out is None:
                    yield held
                    continue
                is_out = out[held.columns["round"]]
                yield held.take(np.flatnonzero(~is_out)) if is_out.any() else held

    def _load(self, unit: _Unit, after: str | None, up_to: str | None) -> Held | None:
        parts = []
        for held in self._batches(unit):
            part = held
            if after is not None or up_to is not None:
                names = held.texts["player"]
                wanted = np.ones(len(names), dtype=np.bool_)
                if after is not None:
                    wanted &= np.asarray(pc.greater(names, after))
                if up_to is not None:
                    wanted &= np.asarray(pc.less_equal(names, up_to))
                part = held.take(np.flatnonzero(wanted[held.columns["player"]]))
            if part.n:
                parts.append(part)
        return joined(parts) if parts else None

    def _with_late_flags(self, held: Held, names: pa.Array, unit: _Unit, done: Settled) -> Held:
        last = self.latest.of(names, unit.low, unit.high)[held.columns["player"]]
        time = held.column("time")
        is_late = (time != NO_TIME) & (time < last)
        if is_late.any():
            done.late += int(is_late.sum())
            held.columns["flags"] = held.column("flags") | (
                is_late.astype(np.uint16) * np.uint16(Flag.LATE_ROW)
            )
        return held


def _sorted(held: Held) -> tuple[pa.Array, NDArray[np.int64], Held]:
    """Names by bucket and in order, the bucket of each, and rows by bucket, player (codes are
    places among the names), time, table, round and seat.
    """
    names, codes = held.texts["player"], held.columns["player"]
    by_name = np.asarray(pc.array_sort_indices(names))
    buckets = np.zeros(len(names), dtype=np.int64)
    buckets[codes] = held.columns["bucket"]
    order = by_name[np.argsort(buckets[by_name], kind="stable")]
    rank = np.empty(len(names), dtype=np.int32)
    rank[order] = np.arange(len(names), dtype=np.int32)
    for name, texts in held.texts.items():  # in an order that pieces have no part in
        ranks = np.append(_ranks(texts), NO_CODE).astype(np.int32)
        held.columns[name] = ranks[held.columns[name]]
        held.texts[name] = texts.take(pc.array_sort_indices(texts))
    held.columns["player"] = rank[codes]
    held.texts["player"] = names.take(pa.array(order))
    rows = _order(held)
    return held.texts["player"], buckets[order], held.take(rows)


def _order(held: Held) -> NDArray[np.int64]:
    player, time = held.columns["player"], held.column("time")
    order: NDArray[np.int64] = order_by_code(player, len(held.texts["player"]))
    players, times = player[order], time[order]
    is_same = players[1:] == players[:-1]
    if (is_same & (times[1:] < times[:-1])).any():
        order = np.lexsort((time, player)).astype(np.int64)
        times = time[order]
    is_tied = is_same & (times[1:] == times[:-1])
    if is_tied.any():
        order = _with_ties_sorted(held, order, is_tied)
    return order


def _with_ties_sorted(
    held: Held, order: NDArray[np.int64], is_tied: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Rows of one player at one time by table, round and seat. is_tied: with the row before."""
    touches = np.zeros(held.n, dtype=np.bool_)
    touches[1:] |= is_tied
    touches[:-1] |= is_tied
    places = np.flatnonzero(touches)
    runs = np.cumsum(np.concatenate([[True], ~is_tied]))[places]
    rows = order[places]
    table = held.column("table")[rows]
    columns = {
        "run": runs,
        "table": np.where(table == NO_CODE, np.iinfo(np.int32).max, table),  # no table: the last
        "round": held.round_ids.take(pa.array(rows)),
        "seat": held.column("seat")[rows],
    }
    sort = pc.sort_indices(pa.table(columns), [(name, "ascending") for name in columns])
    result = order.copy()
    result[places] = rows[np.asarray(sort)]
    return result


def _ranks(texts: pa.Array) -> NDArray[np.int64]:
    ranks = np.empty(len(texts), dtype=np.int64)
    ranks[np.asarray(pc.array_sort_indices(texts))] = np.arange(len(texts))
    return ranks


def _players(held: Held, names: pa.Array) -> pa.Table:
    """Players of sorted rows, the last time of each, and how many rows he has."""
    n_rows = np.bincount(held.columns["player"], minlength=len(names))
    last = held.column("time")[np.cumsum(n_rows) - 1]
    return pa.table({"player": names, "last_time": times_of(last), "n_rows": pa.array(n_rows)})


class _File:
    """A file of one month and bucket that grows, in row groups of one size."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._held: list[pa.Table] = []
        self._writer: pq.ParquetWriter | None = None

    def add(self, table: pa.Table) -> None:
        self._held.append(table)
        while sum(map(len, self._held)) >= ROWS_OF_GROUP:
            whole = pa.concat_tables(self._held)
            self._write(whole.slice(0, ROWS_OF_GROUP))
            self._held = [whole.slice(ROWS_OF_GROUP)]

    def close(self) -> None:
        if any(map(len, self._held)) or self._writer is None:
            self._write(pa.concat_tables(self._held))
        if self._writer is not None:
            self._writer.close()

    def _write(self, table: pa.Table) -> None:
        table = table.unify_dictionaries()
        if self._writer is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._writer = pq.ParquetWriter(
                self.path,
                table.schema,
                compression="zstd",
                use_dictionary=_CODED,
                column_encoding=_ENCODINGS,
                write_statistics=["player", "time"],
                store_schema=False,
            )
        self._writer.write_table(table, row_group_size=ROWS_OF_GROUP)


def month_text(month: int) -> str:
    """``2026-11`` for months since 1970, ``unknown`` for rows without a time."""
    return "unknown" if month == UNKNOWN_MONTH else f"{1970 + month // 12:04}-{month % 12 + 1:02}"


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
