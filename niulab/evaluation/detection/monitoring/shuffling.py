"""Shuffle monitors of a table, a dealer, a shuffler over the slices of a run, name by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from niulab.evaluation.detection.monitoring.rounds import Looked
from niulab.evaluation.detection.tables.shuffles import (
    SHUFFLE_TEXTS,
    Deals,
    Key,
    ShuffleState,
    fold_deals,
)
from niulab.evaluation.playlog.plays import NO_CODE

__all__ = ["ShuffleTask", "fold_monitors", "shuffle_tasks"]


@dataclass(frozen=True, eq=False, kw_only=True)
class ShuffleTask:
    """Monitors to fold on. before: their states so far.

    slices: in time, the file of deals, the names by code of the key, and what the codes of its
    tables are in the monitors.
    """

    by: Key
    names: frozenset[str]
    before: Mapping[str, ShuffleState]
    slices: tuple[tuple[Path, tuple[str, ...], NDArray[np.int32]], ...]


def fold_monitors(task: ShuffleTask) -> dict[str, ShuffleState]:
    """The monitors after all slices."""
    states = dict(task.before)
    for path, names, tables in task.slices:
        with np.load(path, allow_pickle=False) as file:
            deals = Deals(**file)
        codes = np.append(tables, np.int32(NO_CODE))[deals.table]  # the last is NO_CODE
        for code, rows in deals.by(task.by):
            name = names[code]
            if name in task.names:
                before = states.get(name) or ShuffleState.fresh()
                states[name] = fold_deals(before, deals.cards[rows], codes[rows])
    return states


def shuffle_tasks(
    monitors: Mapping[str, Mapping[str, ShuffleState]],
    slices: Sequence[Looked],
    tables: Sequence[str],
    *,
    workers: int,
) -> list[ShuffleTask]:
    """Tasks that share the names of every key among workers. tables: names by a monitor's codes."""
    place = {name: code for code, name in enumerate(tables)}
    codes = [
        np.array([place[name] for name in one.names["table"]], dtype=np.int32) for one in slices
    ]
    tasks = []
    for key in SHUFFLE_TEXTS:
        names = sorted({name for one in slices for name in one.names[key]})
        for share in range(min(workers, len(names))):
            mine = frozenset(names[share::workers])
            before = {n: state for n, state in monitors[key].items() if n in mine}
            of_slices = tuple(
                (one.deals, one.names[key], code) for one, code in zip(slices, codes, strict=True)
            )
            tasks.append(ShuffleTask(by=key, names=mine, before=before, slices=of_slices))
    return tasks
