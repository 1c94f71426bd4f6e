"""Importing flat logs into a store: read, stage, merge, commit; every row is accounted for."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path

from niulab.errors import PlayLogError
from niulab.evaluation.playlog.checking import sheets_of
from niulab.evaluation.playlog.chunk import ReadOptions
from niulab.evaluation.playlog.plays import Flag
from niulab.evaluation.playlog.quarantine import QuarantineFile, read_quarantine
from niulab.evaluation.playlog.store.database import DEFAULT_MEMORY, database, memory_bytes
from niulab.evaluation.playlog.store.folder import Store
from niulab.evaluation.playlog.store.manifest import Counts, Source, StoredFile
from niulab.evaluation.playlog.store.merging import merge
from niulab.evaluation.playlog.store.pieces.fingerprints import fingerprint
from niulab.evaluation.playlog.store.pieces.settling import stored_file
from niulab.evaluation.playlog.store.staging import (
    Entry,
    Reader,
    StagingTask,
    chunks_a_piece,
    counts_of,
    flat_chunks,
    journal,
    open_spans,
    pieces_of,
    stage,
)
from niulab.parallel import Outcome, available_cores, run_tasks

__all__ = ["Checked", "Imported", "check_log", "import_log"]

Progress = Callable[[str, int, int], None]
_BYTES_A_ROW = 4_000  # of memory, for a row in hand: text, Arrow, a sorted copy
_MOST_ROWS = 500_000
_PIECES = 2  # their form: those of an older program are made anew
_FEWEST_ROWS = 5_000
_ROWS_OF_THREAD = 100_000


@dataclass(frozen=True)
class Imported:
    """What an import did. version: of its commit, None if there was nothing new.

    known: sources that were imported before, with the same content. quarantine: the file of the
    rows that were not kept, None if all were.
    """

    counts: Counts
    version: int | None
    known: tuple[str, ...] = ()
    warnings: dict[str, int] = field(default_factory=dict)
    quarantine: Path | None = None


def import_log(
    paths: Sequence[Path | str],
    store: Store,
    *,
    options: ReadOptions | None = None,
    memory: str = DEFAULT_MEMORY,
    workers: int = 1,
    read: Reader | None = None,
    progress: Progress | None = None,
) -> Imported:
    """Bring flat logs into a store, all of them or none.

    The same call after a kill goes on where it stopped, with the same result. A source whose
    content was imported before is passed over; of one that only grew, the new lines are read. A row
    of a round, seat and player that are known is a duplicate, or quarantined if it differs.

    Args:
        paths: Flat logs; earlier ones come first where rows repeat.
        store: Where to; nobody else may write to it meanwhile.
        options: How to read the logs.
        memory: What DuckDB may use, as ``2GB``; the rows in hand are chosen to match.
        workers: Processes that read at the same time: sources, and spans of large ones.
        read: The reader, for logs of another form.
        progress: Called with a word, how many steps are done and how many there are.

    Raises PlayLogError for a source that is no play log, a sheet that is not the one of that name
    in the store, and a store in use.
    """
    options = options or ReadOptions()
    rows = max(_FEWEST_ROWS, min(_MOST_ROWS, memory_bytes(memory) // _BYTES_A_ROW))
    options = replace(options, rows=min(options.rows, rows))
    with store.writing():
        if store.manifest.pseudonymous:
            raise PlayLogError(
                f"the store in '{store.path}' holds pseudonyms: import into the original, and make "
                "its pseudonyms anew"
            )
        return _import(store, [Path(path) for path in paths], options, memory, rows, workers,
                       read, progress or _silent)  # fmt: skip


@dataclass(frozen=True)
class Checked:
    """What an import of these logs would find, each chunk by itself.

    reasons: of rows that would be quarantined, with how often; rows_by_flag: of rows kept.
    """

    counts: Counts
    reasons: dict[str, int]
    rows_by_flag: dict[str, int]
    warnings: dict[str, int]


def check_log(
    paths: Sequence[Path | str],
    *,
    options: ReadOptions | None = None,
    quarantine: Path | None = None,
    read: Reader | None = None,
    progress: Progress | None = None,
) -> Checked:
    """Read flat logs and keep nothing but counts and, if asked for, the quarantine file.

    Rows that come again in later chunks or files count as kept here: only an import compares them.
    """
    counts, reasons, flags, warnings = Counts(), Counter[str](), Counter[str](), Counter[str]()
    file = QuarantineFile(quarantine, size=0) if quarantine else None
    try:
        for place, path in enumerate(map(Path, paths)):
            (progress or _silent)(f"reading {path.name}", place, len(paths))
            for chunk in (read or flat_chunks)(path, options or ReadOptions()):
                counts += counts_of(chunk)
                reasons.update(row.reason for row in chunk.quarantined)
                flags.update(
                    {f.name or "": int(((chunk.plays.flags & int(f)) != 0).sum()) for f in Flag}
                )
                warnings.update(chunk.warnings)
                if file is not None:
                    file.write(path.name, chunk.quarantined)
    finally:
        if file is not None:
            file.close()
    return Checked(counts, dict(reasons), dict(flags), dict(warnings))


def _silent(_what: str, _done: int, _total: int) -> None:
    pass


def _import(
    store: Store,
    paths: Sequence[Path],
    options: ReadOptions,
    memory: str,
    rows: int,
    workers: int,
    read: Reader | None,
    progress: Progress,
) -> Imported:
    tasks, sources, known = _tasks(store, paths, options, rows, read)
    if not tasks:
        _drop(store.staging)
        return Imported(Counts(), None, known)
    staged = _stage_all(tasks, workers, progress)
    names = {name: None for entries in staged for entry in entries for name in entry.rules}
    rules = _verified_rules(store, list(names), options)
    version = store.manifest.version + 1
    relative = f"quarantine/v{version:06}.csv"
    quarantine = store.path / relative
    progress("merging", 0, 1)
    spill = store.staging / "spill"
    _drop(spill)
    with database(spill, memory=memory) as db, QuarantineFile(quarantine) as file:
        for task in tasks:
            for path in sorted(task.folder.glob("*.csv")):
                for name, row in read_quarantine(path):
                    file.write(name, [row])
        merged = merge(
            db, store, [path for task in tasks for path in pieces_of(task.folder)],
            sources=[str(task.path) for task in tasks], options=options, quarantine=file,
            rows=rows, rules=rules, threads=max(1, min(available_cores(), rows // _ROWS_OF_THREAD)),
        )  # fmt: skip
    counts, warnings = Counts(), Counter[str]()
    for entry in (entry for entries in staged for entry in entries):
        counts += entry.counts
        warnings.update(entry.warnings)
    counts = merged.counts(counts)
    files = [*merged.files, *_quarantine_file(store, relative, version, counts)]
    kept = [f for f in store.manifest.files if f.table != "players"]
    total = Counter(store.manifest.warnings)
    total.update(warnings)
    store.commit(
        replace(
            store.manifest,
            version=version,
            files=(*kept, *files),
            sources=(
                *store.manifest.sources,
                *(
                    replace(source, lines=entries[-1].next_line, version=version)
                    for source, entries in zip(sources, staged, strict=True)
                ),
            ),
            counts=store.manifest.counts + counts,
            rules=store.manifest.rules | rules,
            warnings=dict(total),
        )
    )
    _drop(store.staging)
    store.clean()
    progress("merging", 1, 1)
    return Imported(
        counts, version, known, dict(warnings), quarantine if counts.quarantined else None
    )


def _tasks(
    store: Store, paths: Sequence[Path], options: ReadOptions, rows: int, read: Reader | None
) -> tuple[list[StagingTask], list[Source], tuple[str, ...]]:
    """What is to be read, and what was before; folders of other imports are deleted."""
    if not paths:
        raise PlayLogError("no file to import: give at least one")
    digest = _digest(options, rows)
    contents = {source.content for source in store.manifest.sources}
    tasks: list[StagingTask] = []
    sources: list[Source] = []
    known: list[str] = []
    for path in paths:
        before = [s for s in store.manifest.sources if s.path == str(path)]
        grown_from = max(before, key=lambda s: s.size, default=None)
        try:
            found = fingerprint(
                path,
                grown_from.size if grown_from else 0,
                options=options,
                chunks=0 if read else chunks_a_piece(options, rows),
            )
        except OSError as error:
            raise PlayLogError(
                f"{path}: {error.strerror}; give the path of a play log that can be read"
            ) from error
        if found.content in contents:
            known.append(str(path))
            continue
        contents.add(found.content)
        has_grown = grown_from is not None and grown_from.content == found.prefix
        skip = grown_from.lines if grown_from is not None and has_grown else 0
        place = len(tasks)
        name = f"{place:05}-{found.content[:16]}-{digest}-{skip}"
        tasks.append(
            StagingTask(
                path=path, place=place, folder=store.staging / name, options=options, read=read,
                buckets=store.manifest.buckets, rows=rows, skip_lines=skip,
                starts=found.starts, last=len(found.starts),
            )
        )  # fmt: skip
        sources.append(Source(str(path), found.size, found.content, 0, 0))
    wanted = {task.folder for task in tasks}
    if store.staging.exists():
        for folder in store.staging.iterdir():
            if folder not in wanted:
                _drop(folder)
    return tasks, sources, tuple(known)


def _stage_all(tasks: Sequence[StagingTask], workers: int, progress: Progress) -> list[list[Entry]]:
    """Stage all sources, several spans of them at the same time."""
    total = sum(max(len(task.starts), 1) for task in tasks)
    while spans := [span for task in tasks for span in open_spans(task, workers)]:
        done = total - sum(max(span.last - span.first, 1) for span in spans)
        _stage_spans(spans, workers, done, total, progress)
    return [journal(task.folder) for task in tasks]


def _stage_spans(
    spans: Sequence[StagingTask], workers: int, done: int, total: int, progress: Progress
) -> None:
    sizes = [max(span.last - span.first, 1) for span in spans]
    if workers <= 1 or len(spans) == 1:
        for span, size in zip(spans, sizes, strict=True):
            progress(f"reading {span.path.name}", done, total)
            stage(span)
            done += size
        return

    def report(outcome: Outcome[None]) -> None:
        nonlocal done
        done += sizes[outcome.index]
        progress("reading", done, total)

    for span, outcome in zip(
        spans, run_tasks(stage, spans, workers=workers, on_result=report), strict=True
    ):
        if outcome.error is not None:
            raise PlayLogError(
                outcome.error.removeprefix("PlayLogError: ") or f"{span.path} failed"
            )


def _verified_rules(store: Store, names: Sequence[str], options: ReadOptions) -> dict[str, str]:
    """Hashes of the sheets of an import; raises PlayLogError where the store knows others."""
    rules = {}
    for name, sheet in zip(names, sheets_of(names, options), strict=True):
        rules[name] = sheet.rules_hash if sheet else ""
        before = store.manifest.rules.get(name)
        if before not in {None, rules[name]}:
            raise PlayLogError(
                f"the sheet '{name}' of this import is not the one of that name in the store "
                f"(hash {rules[name] or 'unknown'}, there {before or 'unknown'}): declare the same "
                "sheet, or import into another store"
            )
    return rules


def _quarantine_file(store: Store, relative: str, version: int, counts: Counts) -> list[StoredFile]:
    if not (store.path / relative).exists():
        return []
    file = stored_file(store, relative, "quarantine", version)
    return [replace(file, n_rows=counts.quarantined)]


def _digest(options: ReadOptions, rows: int) -> str:
    """What the pieces of a source depend on beside its content."""
    sheets = {name: sheet.rules_hash for name, sheet in sorted(options.rules.items())}
    default = options.default_rules.rules_hash if options.default_rules else None
    plain = replace(options, rules={}, default_rules=None)
    text = repr((_PIECES, plain, sheets, default, rows))
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=6).hexdigest()


def _drop(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
