"""The first half of an import: a source's chunks become pieces on disk, each with its entry.

A piece and its entry are there whole or not at all; an import that was killed goes on after the
last entry. Pieces are sorted by month and bucket, so that the second half finds what it needs.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from niulab.errors import PlayLogError
from niulab.evaluation.playlog.chunk import Chunk, ReadOptions
from niulab.evaluation.playlog.plays import NO_CARD, NO_TIME, Plays
from niulab.evaluation.playlog.quarantine import QuarantineFile
from niulab.evaluation.playlog.rounds import round_keys
from niulab.evaluation.playlog.store.columns import PLAYS, TEXTS, arrow_of
from niulab.evaluation.playlog.store.manifest import Counts, write_atomically

__all__ = [
    "PIECES",
    "ROUNDS_SUFFIX",
    "ROUND_PIECES",
    "UNKNOWN_MONTH",
    "Entry",
    "Fingerprint",
    "Reader",
    "StagingTask",
    "bucket_of",
    "counts_of",
    "fingerprint",
    "journal",
    "month_text",
    "piece_table",
    "pieces_of",
    "round_table",
    "stage",
    "write_piece",
]

Reader = Callable[[Path, ReadOptions], Iterable[Chunk]]
"""What turns a source into chunks; the same chunks for the same source and options."""

_OF_ROUND = (
    "round_id", "time", "table", "dealer", "rules", "shoe", "shuffle_id", "shuffler", "deal_method",
    "dealer_cards", "dealer_pair", "seat_order", "first_seat", "void", "flags",
)  # fmt: skip

PIECES = pa.schema(
    [
        *PLAYS,
        ("month", pa.int32()),
        ("bucket", pa.uint8()),
        ("source", pa.int32()),
        ("chunk", pa.int32()),
        ("line", pa.int64()),
    ]
)
"""Columns of a piece: month in months since 1970 (-1: no time), the source's place, chunk, line."""

ROUND_PIECES = pa.schema(
    [
        *(PLAYS.field(name) for name in _OF_ROUND),
        ("month", pa.int32()),
        ("is_mixed", pa.bool_()),
    ]
)
"""Columns of a piece's rounds, one row for each round of each of its chunks. is_mixed: only some
rows know the dealer's cards."""

UNKNOWN_MONTH = -1
ROUNDS_SUFFIX = ".rounds"
_ROWS_OF_GROUP = 20_000  # small, so that one month and bucket is found among them
_BLOCK = 1 << 22


@dataclass(frozen=True)
class Fingerprint:
    """A file's bytes and the hash of its content, and of its first bytes if asked for."""

    size: int
    content: str
    prefix: str = ""


@dataclass(frozen=True)
class Entry:
    """What a piece of a source holds. next_line: where the next begins; is_last: none follows."""

    counts: Counts
    next_line: int
    n_chunks: int
    is_last: bool
    warnings: dict[str, int] = field(default_factory=dict)
    rules: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class StagingTask:
    """A source to be staged: where to, and how. skip_lines: of an earlier import, left out."""

    path: Path
    place: int
    folder: Path
    options: ReadOptions
    read: Reader
    buckets: int
    rows: int
    skip_lines: int = 0


def counts_of(chunk: Chunk) -> Counts:
    """What became of a chunk's lines."""
    return Counts(
        chunk.n_read, len(chunk.plays), chunk.n_duplicates, len(chunk.quarantined), chunk.n_blank,
        chunk.n_headers,
    )  # fmt: skip


def fingerprint(path: Path, prefix: int = 0) -> Fingerprint:
    """Size and hash of a file, and the hash of its first ``prefix`` bytes."""
    hasher, at_prefix, size = blake2b(digest_size=20), "", 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK if size >= prefix else min(_BLOCK, prefix - size)):
            hasher.update(block)
            size += len(block)
            if size == prefix:
                at_prefix = hasher.copy().hexdigest()
    return Fingerprint(size, hasher.hexdigest(), at_prefix)


def stage(task: StagingTask) -> list[Entry]:
    """Bring a source's rows into pieces, from where an earlier try stopped; returns all entries."""
    task.folder.mkdir(parents=True, exist_ok=True)
    entries = journal(task.folder)
    if entries and entries[-1].is_last:
        return entries
    chunks = iter(task.read(task.path, task.options))
    done = sum(entry.n_chunks for entry in entries)
    _skip(chunks, done, task.path)
    with ThreadPoolExecutor(1) as pool:  # a piece is written while the next is read
        pending: Future[Entry] | None = None
        place = len(entries)
        for gathered, is_last in _gathered(chunks, task.rows):
            if pending is not None:
                entries.append(pending.result())
            pending = pool.submit(_write, task, gathered, place, done, is_last=is_last)
            place, done = place + 1, done + len(gathered)
        if pending is not None:
            entries.append(pending.result())
    return entries


def journal(folder: Path) -> list[Entry]:
    """Entries of a source's pieces that are whole."""
    entries: list[Entry] = []
    while (path := folder / f"{len(entries):06}.json").exists():
        content: dict[str, Any] = json.loads(path.read_bytes())
        content["counts"] = Counts(**content["counts"])
        content["rules"] = tuple(content["rules"])
        entries.append(Entry(**content))
    return entries


def pieces_of(folder: Path) -> list[Path]:
    """Pieces of a source that are whole and hold rows."""
    paths = [folder / f"{place:06}.parquet" for place in range(len(journal(folder)))]
    return [path for path in paths if path.exists()]


def piece_table(
    plays: Plays, buckets: int, *, source: Any, chunk: Any, lines: NDArray[np.int64]
) -> pa.Table:
    """Rows with the columns of ``PIECES``."""
    n = len(plays)
    known = plays.texts.players
    by_code = np.array([bucket_of(text, buckets) for text in known] or [0], dtype=np.uint8)
    extra = (
        _months(plays.time),
        by_code[plays.player],
        np.broadcast_to(np.int32(source), n).astype(np.int32),
        np.broadcast_to(np.int32(chunk), n).astype(np.int32),
        lines,
    )
    arrays = [*arrow_of(plays).columns, *(pa.array(column) for column in extra)]
    return pa.Table.from_arrays(arrays, schema=PIECES)


def round_table(plays: Plays, rows: pa.Table) -> pa.Table:
    """The first row of each round of a chunk, with the columns of ``ROUND_PIECES``."""
    keys = round_keys(plays)
    _, firsts = np.unique(keys, return_index=True)
    mixed = np.zeros(len(firsts), dtype=np.bool_)
    for cards in (plays.dealer_cards, plays.dealer_pair):
        known = np.bincount(keys, (cards < NO_CARD).any(axis=1), minlength=len(firsts))
        mixed |= (known > 0) & (known < np.bincount(keys, minlength=len(firsts)))
    taken = rows.select([*_OF_ROUND, "month"]).take(pa.array(firsts))
    return taken.append_column("is_mixed", pa.array(mixed)).cast(ROUND_PIECES)


def write_piece(tables: list[pa.Table], rounds: list[pa.Table], path: Path) -> None:
    """Write rows sorted by month and bucket, and their rounds beside them, both whole or not."""
    _write_whole(pa.concat_tables(rounds), path.with_suffix(ROUNDS_SUFFIX))
    table = pa.concat_tables(tables).unify_dictionaries().combine_chunks()
    keys = [table[name].to_numpy() for name in ("bucket", "month")]
    table = table.take(pa.array(np.lexsort(keys)))
    _write_whole(table, path)


def _write_whole(table: pa.Table, path: Path) -> None:
    draft = path.with_suffix(f"{path.suffix}.draft")
    coded = [*TEXTS, "month", "bucket", "source", "chunk"]
    pq.write_table(
        table, draft, compression="lz4", row_group_size=_ROWS_OF_GROUP,
        use_dictionary=[name for name in coded if name in table.schema.names],
        write_statistics=["month", "bucket"] if "bucket" in table.schema.names else False,
    )  # fmt: skip
    draft.replace(path)


def month_text(month: int) -> str:
    """``2026-11`` for months since 1970, ``unknown`` for rows without a time."""
    return "unknown" if month == UNKNOWN_MONTH else f"{1970 + month // 12:04}-{month % 12 + 1:02}"


def _skip(chunks: Iterator[Chunk], n: int, path: Path) -> None:
    for _ in range(n):
        if next(chunks, None) is None:
            raise PlayLogError(
                f"{path}: shorter than when its import began: run the import again from a new "
                "folder, or restore the file"
            )


def _gathered(chunks: Iterator[Chunk], rows: int) -> Iterator[tuple[list[Chunk], bool]]:
    """Chunks of about so many rows together, and whether they are the last."""
    gathered: list[Chunk] = []
    for chunk in chunks:
        if gathered and sum(len(one.plays) for one in gathered) + len(chunk.plays) > rows:
            yield gathered, False
            gathered = []
        gathered.append(chunk)
    yield gathered, True


def _write(
    task: StagingTask, chunks: list[Chunk], place: int, first: int, *, is_last: bool
) -> Entry:
    name = task.folder / f"{place:06}"
    tables, rounds = [], []
    counts = Counts()
    warnings: Counter[str] = Counter()
    rules: dict[str, None] = {}
    quarantine = name.with_suffix(".csv")
    quarantine.unlink(missing_ok=True)  # of a try that was killed
    with QuarantineFile(quarantine) as file:
        for number, chunk in enumerate(chunks, first):
            if chunk.next_line < task.skip_lines:  # strictly: a last line may have been cut short
                continue
            table = piece_table(
                chunk.plays, task.buckets, source=task.place, chunk=number, lines=chunk.lines
            )
            tables.append(table)
            rounds.append(round_table(chunk.plays, table))
            counts += counts_of(chunk)
            warnings.update(chunk.warnings)
            used = np.unique(chunk.plays.rules)
            rules |= dict.fromkeys(chunk.plays.texts.rules[code] for code in used if code >= 0)
            file.write(task.path.name, chunk.quarantined)
    if sum(map(len, tables)):
        write_piece(tables, rounds, name.with_suffix(".parquet"))
    next_line = chunks[-1].next_line if chunks else 0
    entry = Entry(counts, next_line, len(chunks), is_last, dict(warnings), tuple(rules))
    write_atomically(name.with_suffix(".json"), json.dumps(asdict(entry)).encode())
    return entry


def bucket_of(player: str, buckets: int) -> int:
    """The bucket of a player, the same for ever."""
    digest = blake2b(player.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little") % buckets


def _months(times: NDArray[np.int64]) -> NDArray[np.int32]:
    months = times.astype("datetime64[us]").astype("datetime64[M]").astype(np.int64)
    return np.where(times == NO_TIME, UNKNOWN_MONTH, months).astype(np.int32)
