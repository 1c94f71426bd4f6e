"""A piece on disk: rows sorted by month and bucket, so that some of them can be read alone.

It is an Arrow file, a few thousand rows a batch, with an index of its batches; columns in which
nothing is recorded are left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from niulab.evaluation.playlog.plays import NO_CODE, NO_TIME
from niulab.evaluation.playlog.store.columns import HANDS
from niulab.evaluation.playlog.store.pieces.held import ROUND, Held

__all__ = [
    "SUFFIX",
    "UNKNOWN_MONTH",
    "Group",
    "Piece",
    "bucket_of",
    "months_of",
    "open_piece",
    "write_held",
]

SUFFIX = ".arrow"
UNKNOWN_MONTH = -1
_ROWS_OF_BATCH = 8_000
_OPTIONS = pa.ipc.IpcWriteOptions(compression="lz4", use_threads=False)


@lru_cache(maxsize=1 << 16)
def bucket_of(player: str, buckets: int) -> int:
    """The bucket of a player, the same for ever."""
    digest = blake2b(player.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") % buckets


def months_of(times: NDArray[np.int64]) -> NDArray[np.int32]:
    """Months since 1970, UNKNOWN_MONTH for rows without a time."""
    months = times.astype("datetime64[us]").astype("datetime64[M]").astype(np.int32)
    return np.where(times == NO_TIME, np.int32(UNKNOWN_MONTH), months)


def write_held(held: Held, path: Path, buckets: int) -> None:
    """Write rows as a piece; it is there whole or not at all."""
    by_code = [bucket_of(name, buckets) for name in held.texts["player"].to_pylist()]
    bucket = np.array(by_code, dtype=np.uint8)[held.columns["player"]]
    month = months_of(held.column("time"))
    first = int(month.min())
    keys = (month.astype(np.int64) - first) * buckets + bucket
    # two bytes are sorted by radix, in linear time
    order = np.argsort(keys.astype(np.uint16) if keys.max() < 1 << 16 else keys, kind="stable")
    held.columns["bucket"] = bucket
    held = held.take(order)
    keys = keys[order]
    cuts = [0, *_cuts(keys, buckets), held.n]
    groups = []
    for low, high in pairwise(cuts):
        found, counts = np.unique(keys[low:high] % buckets, return_counts=True)
        groups.append([first + int(keys[low]) // buckets, found.tolist(), counts.tolist()])
    table = _table(held).replace_schema_metadata({"groups": json.dumps(groups)})
    draft = path.with_suffix(f"{path.suffix}.draft")
    with pa.ipc.new_file(str(draft), table.schema, options=_OPTIONS) as file:
        for low, high in pairwise(cuts):
            file.write_table(table.slice(low, high - low))
    draft.replace(path)


def _cuts(keys: NDArray[np.int64], buckets: int) -> list[int]:
    """Where batches begin: whole buckets of one month, of some thousand rows together."""
    starts = np.flatnonzero(np.diff(keys)) + 1
    cuts, before = [], 0
    for place, start in enumerate(starts.tolist()):
        end = starts[place + 1] if place + 1 < len(starts) else len(keys)
        is_new = keys[start] // buckets != keys[start - 1] // buckets
        if is_new or end - before > _ROWS_OF_BATCH:
            cuts.append(start)
            before = start
    return cuts


def _table(held: Held) -> pa.Table:
    arrays: dict[str, pa.Array] = {ROUND: held.round_ids}
    for name, values in held.columns.items():
        if name in held.texts:
            is_missing = values == NO_CODE
            codes = pa.array(values, mask=is_missing if is_missing.any() else None)
            arrays[name] = pa.DictionaryArray.from_arrays(codes, held.texts[name])
        elif name in HANDS:
            data = pa.py_buffer(np.ascontiguousarray(values))
            kind = pa.binary(values.shape[1])
            arrays[name] = pa.Array.from_buffers(kind, len(values), [None, data])
        else:
            arrays[name] = pa.array(values)
    return pa.table(arrays)


@dataclass(frozen=True)
class Group:
    """A batch of a piece: rows of some buckets of one month, with how many each has."""

    month: int
    buckets: tuple[int, ...]
    counts: tuple[int, ...]


@dataclass(frozen=True)
class Piece:
    """A piece that was written; ``groups`` are its batches."""

    path: Path
    groups: tuple[Group, ...]

    def read(
        self, month: int, low: int, high: int, columns: Sequence[str] | None = None
    ) -> Iterator[Held]:
        """Rows of the buckets low to high of a month, batch by batch; some columns or all."""
        places = [
            place
            for place, group in enumerate(self.groups)
            if group.month == month and group.buckets[-1] >= low and group.buckets[0] <= high
        ]
        for place, held in self.batches(places, columns):
            buckets = self.groups[place].buckets
            if buckets[0] >= low and buckets[-1] <= high:
                yield held
            else:
                bucket = held.columns["bucket"]
                yield held.take(np.flatnonzero((bucket >= low) & (bucket <= high)))

    def batches(
        self, places: Sequence[int], columns: Sequence[str] | None = None
    ) -> Iterator[tuple[int, Held]]:
        """Some batches, by their places."""
        if not places:
            return
        with pa.memory_map(str(self.path)) as source:
            schema = pa.ipc.open_file(source).schema
            wanted = [
                place
                for place, name in enumerate(schema.names)
                if columns is None or name in {*columns, "bucket"}
            ]
            options = pa.ipc.IpcReadOptions(use_threads=False, included_fields=wanted)
            reader = pa.ipc.open_file(source, options=options)
            for place in places:
                yield place, _held(reader.get_batch(place))


def open_piece(path: Path) -> Piece:
    with pa.memory_map(str(path)) as source:
        metadata = pa.ipc.open_file(source).schema.metadata
    groups = [
        Group(month, tuple(buckets), tuple(counts))
        for month, buckets, counts in json.loads(metadata[b"groups"])
    ]
    return Piece(path, tuple(groups))


def _held(batch: pa.RecordBatch) -> Held:
    columns: dict[str, NDArray[Any]] = {}
    texts: dict[str, pa.Array] = {}
    round_ids = pa.nulls(len(batch), pa.string())
    for name, array in zip(batch.schema.names, batch.columns, strict=True):
        if name == ROUND:
            round_ids = array
        elif pa.types.is_dictionary(array.type):
            codes = array.indices.fill_null(NO_CODE) if array.null_count else array.indices
            columns[name], texts[name] = codes.to_numpy(), array.dictionary
        elif pa.types.is_fixed_size_binary(array.type):
            width = array.type.byte_width
            data = np.frombuffer(array.buffers()[1], np.uint8, len(array) * width)
            columns[name] = data.reshape(-1, width)
        else:
            columns[name] = array.to_numpy()
    return Held(len(batch), columns, texts, round_ids)
