"""Whole rounds out of files that are sorted by player: their rows, slice of time by slice of time.

A part is a month of a version of the store. Where it holds more rows than one slice, every file is
read once and its rows are spread over slices, in an Arrow file with one batch a slice; then a slice
is read out of all of them. Slices follow from the rows alone, not from who works on them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from niulab.evaluation.playlog.plays import NO_CODE, Plays
from niulab.evaluation.playlog.store.columns import HANDS, TEXTS, plays_of, utc_times
from niulab.evaluation.playlog.store.folder import Store

__all__ = ["Part", "SpreadTask", "cuts_of", "part_table", "parts_of", "slice_plays", "spread"]

_SLICE_ROWS = 250_000
_SAMPLE = 1 << 16
_TEXTS = ("table", "dealer", "shuffler", "rules", "player")
_COLUMNS = (
    *_TEXTS, "round_id", "time", "seat", "packet", "first_seat", "flags", "single", "cards",
    "dealer_cards", "cards_shown",
)  # fmt: skip

_KNOWN = [{**TEXTS, **HANDS, "single": "stakes"}.get(name, name) for name in _COLUMNS]
"""Columns of ``Plays`` behind them; all others are not recorded in any row."""

Cuts = tuple[int, ...] | tuple[str, ...]
"""Where slices after the first begin: times in microseconds, or round ids where there are none."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """A month of a version. plays: its files by bucket, ascending; rounds: those of its rounds."""

    version: int
    month: str
    n_rows: int
    plays: tuple[tuple[int, tuple[Path, ...]], ...]
    rounds: tuple[Path, ...]

    @property
    def is_timed(self) -> bool:
        """Whether its rows have a time: either all of a month or none."""
        return self.month != "unknown"


@dataclass(frozen=True, kw_only=True)
class SpreadTask:
    """Files of one bucket in a part, and the Arrow file to spread their rows into."""

    paths: tuple[Path, ...]
    cuts: Cuts
    after: Path


def parts_of(store: Store, versions: Sequence[int]) -> list[Part]:
    """Months of versions in the order in which they are folded; rows without a time come first."""
    places = {"plays": 0, "rounds": 1}
    found: dict[tuple[int, str], tuple[dict[int, list[Path]], list[Path], list[int]]] = {}
    for file in store.manifest.files:
        if file.version not in versions or file.table not in places:
            continue
        plays, rounds, sizes = found.setdefault((file.version, file.month), ({}, [], []))
        path = (store.path / file.path).absolute()
        if file.table == "plays":
            plays.setdefault(file.bucket, []).append(path)
            sizes.append(file.n_rows)
        else:
            rounds.append(path)
    return [
        Part(
            version=version,
            month=month,
            n_rows=sum(sizes),
            plays=tuple((bucket, tuple(sorted(paths))) for bucket, paths in sorted(plays.items())),
            rounds=tuple(sorted(rounds)),
        )
        for (version, month), (plays, rounds, sizes) in sorted(
            found.items(), key=lambda one: (one[0][0], one[0][1] != "unknown", one[0][1])
        )
        if plays
    ]


def cuts_of(part: Part, *, rows: int = _SLICE_ROWS) -> Cuts:
    """Cuts of a part into slices of about so many rows, by its rounds."""
    n_slices = -(-part.n_rows // rows)
    if n_slices <= 1:
        return ()
    name = "time" if part.is_timed else "round_id"
    paths = part.rounds or max((paths for _, paths in part.plays), key=len)  # no round is new
    n = sum(pq.read_metadata(path).num_rows for path in paths)
    step, at, kept = -(-n // _SAMPLE), 0, []
    for path in paths:
        for batch in pq.ParquetFile(path).iter_batches(columns=[name]):
            column = batch[name].cast(pa.int64() if part.is_timed else pa.string())
            kept += column.take(pa.array(np.arange(-at % step, len(batch), step))).to_pylist()
            at = (at + len(batch)) % step
    known = sorted(each for each in kept if each is not None)
    if not known:
        return ()
    chosen = {known[len(known) * place // n_slices] for place in range(1, n_slices)}
    return tuple(sorted(chosen - {known[0]}))


def part_table(paths: Sequence[Path], only: tuple[str, Sequence[str]] | None = None) -> pa.Table:
    """Rows of some files of one bucket with what whole rounds are asked for, and their ``row``.

    only: a column and the texts of which rows must have one there; ``row`` counts them alone.
    """
    tables = [
        utc_times(
            pq.read_table(
                path, columns=list(_COLUMNS), read_dictionary=list(_TEXTS), partitioning=None,
                filters=None if only is None else [(only[0], "in", list(only[1]))],
            )
        )
        for path in paths
    ]  # fmt: skip
    table = pa.concat_tables(tables) if len(tables) > 1 else tables[0]
    return table.append_column("row", pa.array(np.arange(len(table), dtype=np.int32)))


def spread(task: SpreadTask) -> None:
    """Write one batch a slice, each with its rows in the order of the files."""
    table = part_table(task.paths).unify_dictionaries().combine_chunks()
    places = _slice_of(table, task.cuts)
    table = table.take(pa.array(np.argsort(places, kind="stable"))).combine_chunks()
    ends = np.cumsum(np.bincount(places, minlength=len(task.cuts) + 1)).tolist()
    [batch] = table.to_batches() or [pa.RecordBatch.from_pylist([], schema=table.schema)]
    with pa.OSFile(str(task.after), "wb") as file, pa.ipc.new_file(file, batch.schema) as writer:
        for low, high in zip([0, *ends[:-1]], ends, strict=True):
            writer.write_batch(batch.slice(low, high - low))


def _slice_of(table: pa.Table, cuts: Cuts) -> NDArray[np.int64]:
    """The slice of each row."""
    if isinstance(cuts[0], str):
        ids = table["round_id"].combine_chunks().dictionary_encode()
        known = np.array([*ids.dictionary.to_pylist(), ""], dtype=object)
        codes = pc.fill_null(ids.indices, NO_CODE).to_numpy(zero_copy_only=False)
        keys, edges = known[codes], np.array(cuts, dtype=object)
    else:
        keys, edges = table["time"].cast(pa.int64()).to_numpy(), np.array(cuts)
    places: NDArray[np.int64] = np.searchsorted(edges, keys, side="right").astype(np.int64)
    return places


def slice_plays(
    paths: Sequence[Sequence[Path]],
    place: int | None,
    rules: Sequence[str],
    *,
    only: tuple[str, Sequence[str]] | None = None,
) -> tuple[Plays, NDArray[np.int32], NDArray[np.int64]]:
    """Rows of a slice by table, round and seat; the place of each in the files of its bucket, and
    its bucket's place in ``paths``.

    paths: by bucket, its files, or where ``place`` is not None the one that they were spread into.
    only: as of ``part_table``. Codes of rules are their places in ``rules``; those of rounds and
    tables ascend as the texts do.
    """
    parts = []
    for files in paths:
        if place is None:
            parts.append(part_table(files, only))
        else:
            with pa.memory_map(str(files[0])) as file:
                batch = pa.ipc.open_file(file).get_batch(place)
                parts.append(pa.Table.from_batches([batch]))
    sources = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    table = pa.concat_tables(parts).unify_dictionaries()
    for name in ("table", "round_id"):
        table = table.set_column(table.schema.get_field_index(name), name, _sorted(table[name]))
    plays = plays_of(table, rules)
    order = _by_round(plays)
    taken: dict[str, Any] = {name: getattr(plays, name)[order] for name in _KNOWN}
    return replace(plays, **taken), table["row"].to_numpy()[order], sources[order]


def _sorted(column: pa.ChunkedArray) -> pa.DictionaryArray:
    """A text column whose codes ascend as its texts do."""
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    whole = column.combine_chunks()
    if isinstance(whole, pa.ChunkedArray):
        whole = whole.chunk(0)
    order = pc.sort_indices(whole.dictionary)
    new = np.empty(len(order), dtype=np.int32)
    new[order.to_numpy()] = np.arange(len(order), dtype=np.int32)
    codes = pc.fill_null(whole.indices, 0).to_numpy(zero_copy_only=False)
    is_null = whole.indices.is_null().to_numpy(zero_copy_only=False) if whole.null_count else None
    taken = new[codes] if len(new) else codes
    return pa.DictionaryArray.from_arrays(
        pa.array(taken, mask=is_null), whole.dictionary.take(order)
    )


def _by_round(plays: Plays) -> NDArray[np.int64]:
    """The order of rows by table, round and seat: one number a row."""
    n_rounds = len(plays.texts.rounds) + 1
    keys = (plays.table.astype(np.int64) + 1) * n_rounds + plays.round + 1
    # a seat is an int8
    return np.argsort(keys * 256 + plays.seat.astype(np.int64) + 128, kind="stable")
