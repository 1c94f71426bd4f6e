"""A slice of whole rounds: factors that need every seat, what is dealt, and cards that differ."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np

from niulab.evaluation.detection.monitoring.audits import Audits
from niulab.evaluation.detection.monitoring.folding import read_portfolio
from niulab.evaluation.detection.monitoring.slices import (
    Part,
    SpreadTask,
    cuts_of,
    slice_plays,
    spread,
)
from niulab.evaluation.detection.monitoring.sources import (
    Sheets,
    are_among,
    new_round_keys,
    round_hashes,
    without_order,
)
from niulab.evaluation.detection.tables.shuffles import SHUFFLE_TEXTS, Key, deals_of
from niulab.evaluation.detection.watch import given_factors
from niulab.evaluation.playlog.store.folder import Store

__all__ = ["Looked", "RoundsTask", "Run", "known_rounds", "look_at_parts", "look_at_rounds"]

T = TypeVar("T")
R = TypeVar("R")


class Run(Protocol):
    """Does tasks somewhere; their values stand in the order of the tasks."""

    def __call__(
        self, function: Callable[[T], R], tasks: Iterable[T], *, what: str, n_rows: int
    ) -> list[R]: ...


@dataclass(frozen=True, eq=False, kw_only=True)
class RoundsTask:
    """A slice of a part. paths, place: as of ``slice_plays``.

    known: file of the keys of rounds that the version brought, sorted; None: it brought all of its
    rounds. after: how the names of files begin that are written. portfolio: its file. ordered:
    whether cards are in the order dealt where their rows do not deny it.
    """

    paths: tuple[tuple[Path, ...], ...]
    place: int | None
    known: Path | None
    after: Path
    sheets: Sheets
    rules: tuple[str, ...]
    portfolio: Path
    ordered: bool


@dataclass(frozen=True, eq=False, kw_only=True)
class Looked:
    """What a slice left.

    rows, factors: files of places in the files of a bucket, ascending, as int32, and of factors as
    float64; ends: by bucket, where its rows end in them. deals: file of ``Deals``; names: by key,
    texts of its codes. audits: what only whole rounds tell.
    """

    rows: Path
    factors: Path
    ends: tuple[int, ...]
    deals: Path
    names: Mapping[Key, tuple[str, ...]]
    audits: Audits


def look_at_rounds(task: RoundsTask) -> Looked:
    """Write the factors and the deals of a slice."""
    found, rows, sources = slice_plays(task.paths, task.place, task.rules)
    found = found if task.ordered else without_order(found)
    plays = task.sheets.recode(found)
    among = None if task.known is None else are_among(round_hashes(plays), task.known)
    audits = Audits()
    audits.add_rounds(plays, *task.sheets.why_unmonitored(found), among=among)
    given = given_factors(read_portfolio(task.portfolio), plays)
    is_other = np.zeros(len(rows), dtype=np.bool_)
    for column in given.T:
        is_other |= column != 1
    order = np.argsort(sources << 32 | rows, kind="stable")
    order = order[is_other[order]]
    looked = Looked(
        rows=task.after.with_suffix(".rows"),
        factors=task.after.with_suffix(".factors"),
        ends=tuple(
            np.searchsorted(sources[order], np.arange(len(task.paths)), side="right").tolist()
        ),
        deals=task.after.with_suffix(".deals.npz"),
        names={key: getattr(plays.texts, texts) for key, texts in SHUFFLE_TEXTS.items()},
        audits=audits,
    )
    rows[order].astype(np.int32).tofile(looked.rows)
    given[order].tofile(looked.factors)
    np.savez(looked.deals, **deals_of(plays, among=among)._asdict())
    return looked


def look_at_parts(
    parts: Sequence[Part],
    store: Store,
    sheets: Sheets,
    portfolio: Path,
    folder: Path,
    run: Run,
    *,
    ordered: bool,
) -> dict[Part, list[Looked]]:
    """Spread the rows of parts over slices and look at every one; files go into a folder.

    All slices of all parts are tasks beside each other, and so are the files to spread.
    """
    cuts = {part: cuts_of(part) for part in parts}
    spreads, sources = list[SpreadTask](), dict[Part, tuple[tuple[Path, ...], ...]]()
    spill = folder / "spread"
    spill.mkdir()
    for number, part in enumerate(parts):
        sources[part] = tuple(paths for _, paths in part.plays)
        if cuts[part]:
            tasks = [
                SpreadTask(
                    paths=paths, cuts=cuts[part], after=spill / f"{number:04}-{bucket:03}.arrow"
                )
                for bucket, paths in part.plays
            ]
            spreads += tasks
            sources[part] = tuple((task.after,) for task in tasks)
    n_rows = sum(part.n_rows for part in parts)
    run(spread, spreads, what="rows by time", n_rows=n_rows)
    rounds, of_part = list[RoundsTask](), list[Part]()
    known = {
        version: known_rounds(store, version, folder) for version in {p.version for p in parts}
    }
    for number, part in enumerate(parts):
        for place in range(len(cuts[part]) + 1):
            rounds.append(
                RoundsTask(
                    paths=sources[part],
                    place=place if cuts[part] else None,
                    known=known[part.version],
                    after=folder / f"{number:04}-{place:05}",
                    sheets=sheets,
                    rules=tuple(store.manifest.rules),
                    portfolio=portfolio,
                    ordered=ordered,
                )
            )
            of_part.append(part)
    found: dict[Part, list[Looked]] = {part: [] for part in parts}
    values = run(look_at_rounds, rounds, what="whole rounds", n_rows=n_rows)
    for part, looked in zip(of_part, values, strict=True):
        found[part].append(looked)
    shutil.rmtree(spill)
    return found


def known_rounds(store: Store, version: int, folder: Path) -> Path | None:
    """A file of the keys of the rounds that a version brought, sorted; None if it could bring no
    others. Written once into a folder.
    """
    files = store.manifest.of("rounds")
    if all(file.version >= version for file in files):
        return None
    path = folder / f"known-{version:06}.npy"
    if not path.exists():
        mine = [store.path / file.path for file in files if file.version == version]
        np.save(path, new_round_keys(mine))
    return path
