"""Alarms that wait for a shuffle: monitors of suspect shuffles again, without the player judged.

Only where a monitor with all hands has reached an e-value of 20 are rounds looked at again, and
only where a player who is judged was there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log

import numpy as np
import pyarrow.parquet as pq

from niulab.evaluation.detection.monitoring.slices import Part, parts_of, slice_plays
from niulab.evaluation.detection.monitoring.sources import Sheets, without_order
from niulab.evaluation.detection.monitoring.tables import TableStates
from niulab.evaluation.detection.tables.shuffles import (
    SHUFFLE_TEXTS,
    Key,
    ShuffleState,
    deals_of,
    fold_deals,
    worst_of,
)
from niulab.evaluation.playlog.plays import Plays
from niulab.evaluation.playlog.store.folder import Store
from niulab.evaluation.playlog.store.pieces.writing import bucket_of

__all__ = ["held_back"]

_SUSPECT = float(np.log(20.0))


def held_back(
    states: TableStates,
    store: Store,
    sheets: Sheets,
    players: Sequence[str],
    *,
    alpha: float,
    ordered: bool,
) -> Mapping[str, str]:
    """Players whose alarms wait for a shuffle, and why.

    Monitors of tables are asked first, then those of dealers and of shufflers, by import and month,
    and of who is held back no further. ordered: whether cards are in the order dealt where their
    rows do not deny it.
    """
    held: dict[str, str] = {}
    for key in SHUFFLE_TEXTS:
        waiting = [player for player in players if player not in held]
        monitors = states.monitors[key].items()
        suspects = sorted(name for name, state in monitors if state.peak >= _SUSPECT)
        if not waiting or not suspects:
            continue
        at = _visits(store, waiting, key, suspects)
        peaks: dict[str, dict[tuple[Key, str], float]] = {}
        for (name, player), state in _without(
            store, sheets, key, at, bar=-log(alpha), ordered=ordered
        ).items():
            peaks.setdefault(player, {})[key, name] = state.peak
        for player, found in peaks.items():
            held |= {one.player: one.reason for one in worst_of(player, found, alpha=alpha)}
    return held


def _visits(
    store: Store, players: Sequence[str], key: Key, suspects: Sequence[str]
) -> dict[str, list[str]]:
    """By suspect, the players with rows there, if there are any."""
    found: dict[str, set[str]] = {}
    buckets = {bucket_of(player, store.manifest.buckets) for player in players}
    for file in store.manifest.of("plays"):
        if file.bucket in buckets:
            rows = pq.read_table(
                store.path / file.path, columns=["player", key], partitioning=None,
                filters=[("player", "in", list(players)), (key, "in", list(suspects))],
            )  # fmt: skip
            for one in rows.group_by(["player", key]).aggregate([]).to_pylist():
                found.setdefault(one[key], set()).add(one["player"])
    return {name: sorted(there) for name, there in sorted(found.items())}


def _without(
    store: Store,
    sheets: Sheets,
    key: Key,
    at: Mapping[str, Sequence[str]],
    *,
    bar: float,
    ordered: bool,
) -> dict[tuple[str, str], ShuffleState]:
    """Monitors without the hands of a player, by name and player.

    They end with the import and month in which one of his reached ``bar``.
    """
    states = {(name, one): ShuffleState.fresh() for name, there in at.items() for one in there}
    codes: dict[str, int] = {}
    for part in parts_of(store, sorted({file.version for file in store.manifest.of("plays")})):
        done = {player for (_, player), state in states.items() if state.peak >= bar}
        left = {name: set(there) - done for name, there in at.items() if not done.issuperset(there)}
        if not left:
            break
        plays = sheets.recode(_rows_of(part, key, list(left), store))
        plays = plays if ordered else without_order(plays)
        for table in plays.texts.tables:
            codes.setdefault(table, len(codes))
        places = np.array([codes[table] for table in plays.texts.tables] + [-1], dtype=np.int32)
        names = getattr(plays.texts, SHUFFLE_TEXTS[key])
        for name in sorted(set(left).intersection(names)):
            mine = plays.take(getattr(plays, key) == names.index(name))
            for player in sorted(left[name]):
                deals = deals_of(mine, leave_out=player)
                before = states[name, player]
                states[name, player] = fold_deals(before, deals.cards, places[deals.table])
    return states


def _rows_of(part: Part, key: Key, names: Sequence[str], store: Store) -> Plays:
    """An import's rows of a month of some tables, dealers or shufflers."""
    paths = [paths for _, paths in part.plays]
    plays, _, _ = slice_plays(paths, None, tuple(store.manifest.rules), only=(key, names))
    return plays
