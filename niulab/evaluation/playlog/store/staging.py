"""The first half of an import: a source's chunks become pieces on disk, each with its entry.

A piece and its entry are there whole or not at all; an import that was killed goes on after the
last entry. Pieces are sorted by month and bucket, so that the second half finds what it needs.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from niulab.errors import PlayLogError
from niulab.evaluation.playlog.checking import read_plays
from niulab.evaluation.playlog.chunk import Chunk, ReadOptions, Start
from niulab.evaluation.playlog.plays import NO_CARD, NO_CODE, Plays
from niulab.evaluation.playlog.quarantine import QuarantineFile
from niulab.evaluation.playlog.reading import first_layout
from niulab.evaluation.playlog.rounds import round_keys
from niulab.evaluation.playlog.store.columns import PLAYS, TEXTS
from niulab.evaluation.playlog.store.manifest import Counts, write_atomically
from niulab.evaluation.playlog.store.pieces.held import held_of, plays_arrays
from niulab.evaluation.playlog.store.pieces.writing import SUFFIX, months_of, write_held
from niulab.evaluation.playlog.text.blocks import Span
from niulab.evaluation.playlog.text.layout import Layout

__all__ = [
    "ROUNDS_SUFFIX",
    "ROUND_PIECES",
    "Entry",
    "Reader",
    "StagingTask",
    "chunks_a_piece",
    "counts_of",
    "entry_path",
    "flat_chunks",
    "journal",
    "open_spans",
    "pieces_of",
    "stage",
    "write_piece",
]

Reader = Callable[[Path, ReadOptions], Iterable[Chunk]]
"""What turns a source into chunks; the same chunks for the same source and options."""

_OF_ROUND = (
    "round_id", "time", "table", "dealer", "rules", "shoe", "shuffle_id", "shuffler", "deal_method",
    "dealer_cards", "dealer_pair", "seat_order", "first_seat", "void", "flags",
)  # fmt: skip

ROUND_PIECES = pa.schema(
    [
        *(PLAYS.field(name) for name in _OF_ROUND),
        ("month", pa.int32()),
        ("is_mixed", pa.bool_()),
        ("place", pa.int32()),
        ("n_rows", pa.int32()),
    ]
)
"""Columns of a piece's rounds, one row for each round of each of its chunks. is_mixed: only some
rows know the dealer's cards; place: its own; n_rows: how many rows the round has."""

ROUNDS_SUFFIX = ".rounds"
_PARTS_OF_WORKER = 4
_CODED_OF_ROUND = [name for name in _OF_ROUND if name in TEXTS and name != "round_id"]


@dataclass(frozen=True)
class Entry:
    """What a piece of a source holds. next_line: where the next begins; is_last: none follows.

    layout_before, layout: of the lines before it and after it. believed: whether hands before it
    were taken to be sorted, None if nothing hung on that; order: whether its own are.
    """

    counts: Counts
    next_line: int
    n_chunks: int
    is_last: bool
    warnings: dict[str, int] = field(default_factory=dict)
    rules: tuple[str, ...] = ()
    layout_before: Layout | None = None
    layout: Layout | None = None
    believed: bool | None = None
    order: bool | None = None

    def follows(self, layout: Layout | None, *, is_sorted: bool) -> bool:
        """Whether the piece is what it would be if this were known where it begins."""
        return self.layout_before == layout and self.believed in {None, is_sorted}


@dataclass(frozen=True, kw_only=True)
class StagingTask:
    """A source to be staged: where to, and how. skip_lines: of an earlier import, left out.

    starts: offsets of all pieces of a file that can be read from any of them on, by our own reader;
    of these the task is to make those from first up to last, where layout and is_sorted are known.
    """

    path: Path
    place: int
    folder: Path
    options: ReadOptions
    read: Reader | None
    buckets: int
    rows: int
    skip_lines: int = 0
    starts: tuple[int, ...] = ()
    first: int = 0
    last: int = 0
    layout: Layout | None = None
    is_sorted: bool = False

    @property
    def chunks_a_piece(self) -> int:
        return chunks_a_piece(self.options, self.rows)


def chunks_a_piece(options: ReadOptions, rows: int) -> int:
    """How many chunks make a piece of a file whose pieces can be read apart."""
    return max(1, rows // options.rows)


def counts_of(chunk: Chunk) -> Counts:
    """What became of a chunk's lines."""
    return Counts(
        chunk.n_read, len(chunk.plays), chunk.n_duplicates, len(chunk.quarantined), chunk.n_blank,
        chunk.n_headers,
    )  # fmt: skip


def open_spans(task: StagingTask, workers: int) -> list[StagingTask]:
    """What is left to do of a source, in parts for several workers; deletes what cannot stand.

    Where a part begins it is only known what a file like its first lines would have there. A piece
    that turns out to follow something else is made once more, with all pieces after it.
    """
    n = len(task.starts)
    if not n:
        entries = journal(task.folder)
        return [] if entries and entries[-1].is_last else [task]
    known: _Known | None = _Known(None, is_sorted=False)
    spans: list[StagingTask] = []
    for place in range(n):
        path = entry_path(task.folder, place)
        entry = _entry(path) if path.exists() else None
        if entry is None:
            if spans and spans[-1].last == place:
                spans[-1] = replace(spans[-1], last=place + 1)
            else:
                before = known or _Known(first_layout(task.path, task.options), is_sorted=False)
                spans.append(
                    replace(
                        task,
                        first=place,
                        last=place + 1,
                        layout=before.layout,
                        is_sorted=before.is_sorted,
                    )
                )
            known = None
        elif known is not None and not entry.follows(known.layout, is_sorted=known.is_sorted):
            for other in range(place, n):
                entry_path(task.folder, other).unlink(missing_ok=True)
            again = replace(
                task, first=place, last=n, layout=known.layout, is_sorted=known.is_sorted
            )
            return [*spans, again]
        elif known is not None:
            order = known.is_sorted if entry.order is None else entry.order
            known = _Known(entry.layout, order)
    return [part for span in spans for part in _parts(span, workers)]


def _parts(span: StagingTask, workers: int) -> list[StagingTask]:
    n = span.last - span.first
    if workers <= 1 or n == 1:
        return [span]
    size = -(-n // (workers * _PARTS_OF_WORKER))
    layout = first_layout(span.path, span.options)
    parts = [replace(span, last=min(span.first + size, span.last))]
    for first in range(span.first + size, span.last, size):
        last = min(first + size, span.last)
        parts.append(replace(span, first=first, last=last, layout=layout, is_sorted=False))
    return parts


def stage(task: StagingTask) -> None:
    """Bring a source's rows into pieces: a span's, or all from where an earlier try stopped."""
    task.folder.mkdir(parents=True, exist_ok=True)
    if task.starts:
        _stage_span(task)
        return
    entries = journal(task.folder)
    chunks = iter((task.read or flat_chunks)(task.path, task.options))
    _skip(chunks, sum(entry.n_chunks for entry in entries), task.path)
    _write_all(task, _gathered(chunks, task.rows), len(entries))


def flat_chunks(path: Path, options: ReadOptions) -> Iterable[Chunk]:
    """The reader of flat logs."""
    return read_plays(path, options=options)


def _stage_span(task: StagingTask) -> None:
    """Write the pieces from ``first`` up to ``last`` of a source that can be read from any on."""
    n = len(task.starts)
    chunks_a_piece = task.chunks_a_piece
    span = Span(
        task.starts[task.first],
        task.starts[task.last] if task.last < n else None,
        1 + task.first * chunks_a_piece * task.options.rows,
    )
    layout = task.layout if task.first else None
    start = Start(span, layout, is_sorted=task.is_sorted)
    chunks = read_plays(task.path, options=task.options, start=start)
    pieces = iter(lambda: list(islice(chunks, chunks_a_piece)), [])
    held = ((piece, place == n - 1) for place, piece in enumerate(pieces, start=task.first))
    _write_all(task, held, task.first)


def _write_all(task: StagingTask, pieces: Iterable[tuple[list[Chunk], bool]], place: int) -> None:
    with ThreadPoolExecutor(1) as pool:  # a piece is written while the next is read
        pending: Future[None] | None = None
        known = _Known(task.layout if task.first else None, is_sorted=task.is_sorted)
        for chunks, is_last in pieces:
            if pending is not None:
                pending.result()
            before, known = known, known.after(chunks)
            pending = pool.submit(_write, task, chunks, place, before, is_last=is_last)
            place += 1
        if pending is not None:
            pending.result()


@dataclass(frozen=True)
class _Known:
    """What is known where a piece begins."""

    layout: Layout | None
    is_sorted: bool

    def after(self, chunks: Sequence[Chunk]) -> _Known:
        orders = [chunk.order for chunk in chunks if chunk.order is not None]
        layout = chunks[-1].layout if chunks else self.layout
        return _Known(layout, orders[-1] if orders else self.is_sorted)


def journal(folder: Path) -> list[Entry]:
    """Entries of a source's pieces that are whole, up to the first that is not there."""
    entries: list[Entry] = []
    while (path := entry_path(folder, len(entries))).exists():
        entries.append(_entry(path))
    return entries


def entry_path(folder: Path, place: int) -> Path:
    """The file of a piece's entry."""
    return folder / f"{place:06}.json"


def _entry(path: Path) -> Entry:
    content: dict[str, Any] = json.loads(path.read_bytes())
    content["counts"] = Counts(**content["counts"])
    content["rules"] = tuple(content["rules"])
    for name in ("layout_before", "layout"):
        if content[name] is not None:
            names, separator, unknown = content[name].values()
            content[name] = Layout(tuple(names), separator, tuple(unknown))
    return Entry(**content)


def pieces_of(folder: Path) -> list[Path]:
    """Pieces of a source that are whole and hold rows."""
    paths = [folder / f"{place:06}{SUFFIX}" for place in range(len(journal(folder)))]
    return [path for path in paths if path.exists()]


def write_piece(
    parts: Sequence[tuple[Plays, NDArray[np.int64], NDArray[np.int32]]], path: Path, buckets: int
) -> None:
    """Write plays, their lines and their sources as a piece, and its rounds beside it."""
    tables, places = [], []
    n_rounds = 0
    for plays, _, _ in parts:
        keys, table = _rounds_of(plays, n_rounds)
        places.append((keys + n_rounds).astype(np.int32))
        tables.append(table)
        n_rounds += len(table)
    rounds = pa.concat_tables(tables)
    draft = path.with_suffix(f"{ROUNDS_SUFFIX}.draft")
    pq.write_table(
        rounds, draft, compression="lz4", use_dictionary=[*_CODED_OF_ROUND, "month"],
        write_statistics=["month"],
    )  # fmt: skip
    draft.replace(path.with_suffix(ROUNDS_SUFFIX))
    held = held_of([plays for plays, _, _ in parts])
    held.columns["round"] = np.concatenate(places)
    held.columns["line"] = np.concatenate([lines for _, lines, _ in parts])
    held.columns["source"] = np.concatenate([sources for _, _, sources in parts])
    write_held(held, path, buckets)


def _rounds_of(plays: Plays, first: int) -> tuple[NDArray[np.int64], pa.Table]:
    """Each row's round, and the first row of each with the columns of ``ROUND_PIECES``."""
    keys = round_keys(plays)
    n = int(keys.max(initial=-1)) + 1
    firsts = np.empty(n, dtype=np.int64)
    firsts[keys[::-1]] = np.arange(len(keys) - 1, -1, -1)  # the last to be written stays
    n_rows = np.bincount(keys, minlength=n)
    mixed = np.zeros(n, dtype=np.bool_)
    for cards in (plays.dealer_cards, plays.dealer_pair):
        known = np.bincount(keys[(cards < NO_CARD).any(axis=1)], minlength=n)
        mixed |= (known > 0) & (known < n_rows)
    heads = plays.take(firsts)
    table = plays_arrays(held_of([heads])).select(_OF_ROUND)
    extra = {
        "month": months_of(heads.time),
        "is_mixed": mixed,
        "place": np.arange(first, first + n, dtype=np.int32),
        "n_rows": n_rows.astype(np.int32),
    }
    for name, values in extra.items():
        table = table.append_column(name, pa.array(values))
    return keys, table.cast(ROUND_PIECES)


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
    task: StagingTask, chunks: list[Chunk], place: int, before: _Known, *, is_last: bool
) -> None:
    name = task.folder / f"{place:06}"
    parts = []
    counts = Counts()
    warnings: Counter[str] = Counter()
    rules: dict[str, None] = {}
    quarantine = name.with_suffix(".csv")
    for suffix in (".csv", SUFFIX, ROUNDS_SUFFIX):  # of a try that was killed, or began wrongly
        name.with_suffix(suffix).unlink(missing_ok=True)
    with QuarantineFile(quarantine) as file:
        for chunk in chunks:
            if chunk.next_line < task.skip_lines:  # strictly: a last line may have been cut short
                continue
            plays = chunk.plays
            if len(plays):
                source = np.full(len(plays), task.place, dtype=np.int32)
                parts.append((plays, chunk.lines, source))
            counts += counts_of(chunk)
            warnings.update(chunk.warnings)
            used = np.flatnonzero(np.bincount(plays.rules - NO_CODE)[1:])
            rules |= dict.fromkeys(plays.texts.rules[code] for code in used.tolist())
            file.write(task.path.name, chunk.quarantined)
    if parts:
        write_piece(parts, name.with_suffix(SUFFIX), task.buckets)
    next_line = chunks[-1].next_line if chunks else 0
    after = before.after(chunks)
    orders = [chunk.order for chunk in chunks]
    entry = Entry(
        counts,
        next_line,
        len(chunks),
        is_last,
        dict(warnings),
        tuple(rules),
        layout_before=before.layout,
        layout=after.layout,
        believed=before.is_sorted if orders and orders[0] is None else None,
        order=after.is_sorted if any(order is not None for order in orders) else None,
    )
    write_atomically(entry_path(task.folder, place), json.dumps(asdict(entry)).encode())
