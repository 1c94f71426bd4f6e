"""The monitor: new rows of a store into kept states, and the verdicts they make.

States lie in files beside a manifest that names them. New files are written first, the manifest
takes them over in one renaming, and what it does not name is no longer there: whoever is killed has
done either everything or nothing.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar, cast

from niulab.engine.rules import RuleSet
from niulab.errors import ConfigError, NiuLabError, PlayLogError
from niulab.evaluation.detection.monitoring.folding import (
    BucketPiece,
    BucketTask,
    FoldedBucket,
    fold_bucket,
    write_portfolio,
)
from niulab.evaluation.detection.monitoring.people import People
from niulab.evaluation.detection.monitoring.rounds import Looked, known_rounds, look_at_parts
from niulab.evaluation.detection.monitoring.shuffling import (
    ShuffleTask,
    fold_monitors,
    shuffle_tasks,
)
from niulab.evaluation.detection.monitoring.slices import Part, parts_of
from niulab.evaluation.detection.monitoring.sources import (
    Sheets,
    fingerprint_of,
    is_ordered,
    sheets_of_store,
    versions_after,
)
from niulab.evaluation.detection.monitoring.tables import TableStates
from niulab.evaluation.detection.portfolio import Portfolio
from niulab.evaluation.detection.tables.shuffles import ShuffleState
from niulab.evaluation.detection.verdict import verify_levels
from niulab.evaluation.detection.watch import watch_portfolio
from niulab.evaluation.playlog.store.folder import Store, locked
from niulab.evaluation.playlog.store.manifest import write_atomically
from niulab.parallel import Engine, run_tasks, verify_engine

__all__ = ["Monitored", "StateManifest", "monitor"]

T = TypeVar("T")
R = TypeVar("R")

Progress = Callable[[str, int, int], None]

_MANIFEST = "manifest.json"
_LOCK = "monitor.lock"
_FORMAT = 2
_FEW_ROWS = 3_000_000
"""Rows below which whole rounds take less time than the start of workers."""


@dataclass(frozen=True, kw_only=True)
class StateManifest:
    """Which files are the state, and of what.

    version: of the log, all of which up to it is in the state; log: what tells that log from any
    other. portfolio: of components and weights. buckets: by number, the file of its players.
    tables: files of the tables' states.
    """

    version: int = 0
    log: str = ""
    portfolio: str = ""
    alpha: float = 0.0
    ordered: bool = True
    buckets: Mapping[str, str]
    tables: Sequence[str] = ()

    @classmethod
    def read(cls, folder: Path) -> StateManifest | None:
        """The manifest of a folder, None where there is no state yet. Raises PlayLogError for one
        that cannot be read.
        """
        path = folder / _MANIFEST
        if not path.exists():
            return None
        try:
            content = json.loads(path.read_bytes())
            made_as = content.pop("format")
            if made_as != _FORMAT:
                raise PlayLogError(
                    f"{path}: a state of format {made_as}, and this program keeps format {_FORMAT} "
                    "(states of format 1 counted rounds twice that an import had cut in two): "
                    "begin with a new --state, which reads the whole log again"
                )
            return cls(**content)
        except (OSError, ValueError, KeyError, TypeError) as error:
            if isinstance(error, PlayLogError):
                raise
            raise PlayLogError(
                f"{path}: no state of a monitor ({error}); begin with a new --state"
            ) from error

    def write(self, folder: Path) -> None:
        """Replace the folder's manifest at once."""
        content = {"format": _FORMAT, **asdict(self)}
        write_atomically(folder / _MANIFEST, json.dumps(content, indent=1).encode())


@dataclass(frozen=True, eq=False, kw_only=True)
class Monitored:
    """The state after a run. n_new: rows that this run folded."""

    store: Store
    sheets: Sheets
    portfolio: Portfolio
    people: People
    tables: TableStates
    alpha: float
    ordered: bool
    n_new: int


def monitor(
    store: Store,
    folder: Path,
    *,
    rules: Sequence[RuleSet] = (),
    alpha: float = 1e-3,
    engine: Engine = "processes",
    workers: int = 1,
    address: str | None = None,
    progress: Progress | None = None,
) -> Monitored:
    """Fold what is new in a store since the state in ``folder`` was written; an empty one begins.

    Versions of the store are folded one after the other, so the state has the same bytes whether
    they came in one run or in many, with any engine and any number of workers.

    Args:
        store: The log; its manifest says what belongs to it.
        folder: Where the state lies.
        rules: Sheets that the log names and that are not shipped.
        alpha: The level of alarms; kept with the state.
        engine: Where buckets are folded.
        workers: How many at a time.
        address: Of a Ray to join.
        progress: Called with a word, how many steps are done and how many there are.

    Raises ConfigError for settings that cannot be, and PlayLogError for a state of another log,
    level or set of tests, or that another run works on.
    """
    verify_levels(alpha, 0.5)
    verify_engine(engine, workers, address)
    with _alone(folder):
        return _monitor(
            store, folder, rules, alpha, _Runner(engine, workers, address, progress or _silent)
        )


def _monitor(
    store: Store, folder: Path, rules: Sequence[RuleSet], alpha: float, run: _Runner
) -> Monitored:
    before = StateManifest.read(folder)
    _clean(folder, before or StateManifest(buckets={}))  # of a run that was killed
    versions = versions_after(store, before.version if before else 0)
    sheets = sheets_of_store(store, rules)
    ordered = before.ordered if before else is_ordered(store)
    portfolio = watch_portfolio(sheets.rules, ordered=ordered)
    if before is not None:
        _verify_same(before, store, portfolio, alpha)
    manifest = before or StateManifest(
        portfolio=_digest(portfolio), alpha=alpha, ordered=ordered, buckets={}
    )
    tables = (
        TableStates.read(*(folder / name for name in manifest.tables))
        if manifest.tables
        else TableStates()
    )
    n_new = 0
    if versions:
        with TemporaryDirectory(prefix="given-", dir=folder) as name:
            spill = Path(name).absolute()
            path = spill / "portfolio.pickle"
            write_portfolio(portfolio, path)
            parts = parts_of(store, versions)
            found = look_at_parts(parts, store, sheets, path, spill, run, ordered=ordered)
            tasks = _tasks(store, folder, manifest, found, sheets, path, alpha)
            n_new = _fold(tasks, found, tables, run)
        manifest = _commit(store, folder, manifest, tasks, tables)
    people = People.join(
        [
            People.fresh((), portfolio),
            *(People.read(folder / name) for _, name in sorted(manifest.buckets.items())),
        ]
    )
    return Monitored(
        store=store, sheets=sheets, portfolio=portfolio, people=people, tables=tables, alpha=alpha,
        ordered=ordered, n_new=n_new,
    )  # fmt: skip


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Be the only run on a state; what was made for one that is refused goes again."""
    made = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    lock = folder / _LOCK
    try:
        with locked(lock, doing=f"judges a log with the state in '{folder}'"):
            yield
    except NiuLabError:
        if made:
            lock.unlink(missing_ok=True)
        for each in made:
            with suppress(OSError):
                each.rmdir()
        raise


def _silent(_what: str, _done: int, _total: int) -> None:
    pass


def _digest(portfolio: Portfolio) -> str:
    text = "\n".join(f"{c.name} {c.weight!r}" for c in portfolio.components)
    return blake2b(text.encode(), digest_size=16).hexdigest()


def _verify_same(before: StateManifest, store: Store, portfolio: Portfolio, alpha: float) -> None:
    if before.log != fingerprint_of(store, before.version):
        raise PlayLogError(
            f"the state is not of the log in '{store.path}': begin with a new --state"
        )
    if before.alpha != alpha:
        raise ConfigError(
            f"the state was made with alpha {before.alpha:g}, and this run asks for {alpha:g}: "
            f"write --alpha {before.alpha:g}, or begin with a new --state"
        )
    if before.portfolio != _digest(portfolio):
        raise PlayLogError(
            "the state was made with other tests than this log and this version of the program "
            "have: begin with a new --state"
        )


def _tasks(
    store: Store,
    folder: Path,
    manifest: StateManifest,
    found: Mapping[Part, Sequence[Looked]],
    sheets: Sheets,
    portfolio: Path,
    alpha: float,
) -> list[BucketTask]:
    by_bucket: dict[int, list[BucketPiece]] = {}
    for part, slices in found.items():
        known = known_rounds(store, part.version, portfolio.parent)
        for place, (bucket, paths) in enumerate(part.plays):
            given = tuple(
                (one.rows, one.factors, (0, *one.ends)[place], one.ends[place]) for one in slices
            )
            piece = BucketPiece(version=part.version, paths=paths, given=given, known=known)
            by_bucket.setdefault(bucket, []).append(piece)
    version, tasks = store.manifest.version, []
    for bucket, pieces in sorted(by_bucket.items()):
        kept = manifest.buckets.get(f"{bucket:03}")
        tasks.append(
            BucketTask(
                bucket=bucket,
                pieces=tuple(pieces),
                before=(folder / kept).absolute() if kept else None,
                after=(folder / f"people-{bucket:03}-v{version:06}.npz").absolute(),
                sheets=sheets,
                rules=tuple(store.manifest.rules),
                portfolio=portfolio,
                alpha=alpha,
            )
        )
    return tasks


def _fold(
    tasks: Sequence[BucketTask],
    found: Mapping[Part, Sequence[Looked]],
    tables: TableStates,
    run: _Runner,
) -> int:
    """Fold players and shuffles beside each other, and what they found into the tables' states.

    Returns how many rows there were.
    """
    slices = [one for looked in found.values() for one in looked]
    named = (name for one in slices for name in one.names["table"])
    tables.tables = tuple(dict.fromkeys((*tables.tables, *named)))
    monitors = shuffle_tasks(tables.monitors, slices, tables.tables, workers=run.workers)
    n_rows = sum(part.n_rows for part in found)
    work: list[BucketTask | ShuffleTask] = [*tasks, *monitors]
    values = run(_work, work, what="players", n_rows=n_rows)
    by_version: dict[int, list[FoldedBucket]] = {}
    for task, value in zip(work, values, strict=True):
        if isinstance(value, FoldedBucket):
            for version in value.audits:
                by_version.setdefault(version, []).append(value)
        elif isinstance(task, ShuffleTask):
            tables.monitors[task.by] |= value
    for version in dict.fromkeys(part.version for part in found):
        for bucket in by_version[version]:
            tables.audits.join(bucket.audits[version])
        for part, looked in found.items():
            for one in looked if part.version == version else ():
                tables.audits.join(one.audits)
    return n_rows


def _work(task: BucketTask | ShuffleTask) -> FoldedBucket | dict[str, ShuffleState]:
    return fold_bucket(task) if isinstance(task, BucketTask) else fold_monitors(task)


class _Runner:
    """Does tasks with an engine; tells what is done."""

    def __init__(self, engine: Engine, workers: int, address: str | None, say: Progress) -> None:
        self.engine, self.workers, self.address, self.say = engine, workers, address, say

    def __call__(
        self, function: Callable[[T], R], tasks: Iterable[T], *, what: str, n_rows: int
    ) -> list[R]:
        tasks = list(tasks)
        done = [0]

        def report(_outcome: object) -> None:
            done[0] += 1
            self.say(what, done[0], len(tasks))

        is_alone = self.engine == "processes" and self.workers == 1
        is_alone |= n_rows < _FEW_ROWS and what != "players"
        outcomes = run_tasks(
            function, tasks, engine="serial" if is_alone else self.engine, workers=self.workers,
            address=None if is_alone else self.address, on_result=report,
        )  # fmt: skip
        for outcome in outcomes:
            if outcome.error is not None:
                raise PlayLogError(
                    f"{what}: part {outcome.index} of {len(tasks)} failed: {outcome.error}; "
                    "nothing was changed, the same command begins again"
                )
        return [cast("R", outcome.value) for outcome in outcomes]  # none failed


def _commit(
    store: Store,
    folder: Path,
    manifest: StateManifest,
    tasks: Sequence[BucketTask],
    tables: TableStates,
) -> StateManifest:
    version = store.manifest.version
    names = (f"tables-v{version:06}.npz", f"tables-v{version:06}.json")
    for name, content in zip(names, tables.as_bytes(), strict=True):
        write_atomically(folder / name, content)
    new = {f"{task.bucket:03}": task.after.name for task in tasks}
    after = replace(
        manifest,
        version=version,
        log=fingerprint_of(store, version),
        buckets=dict(sorted({**manifest.buckets, **new}.items())),
        tables=names,
    )
    after.write(folder)
    _clean(folder, after)
    return after


def _clean(folder: Path, manifest: StateManifest) -> None:
    """Delete what a run that was killed left behind, and states that were replaced."""
    named = {*manifest.buckets.values(), *manifest.tables}
    for pattern in ("people-*", "tables-*", ".people-*", ".tables-*"):
        for path in folder.glob(pattern):
            if path.name not in named:
                path.unlink(missing_ok=True)
    for path in folder.glob("given-*"):
        shutil.rmtree(path, ignore_errors=True)
