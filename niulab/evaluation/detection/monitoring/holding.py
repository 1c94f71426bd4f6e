"""Alarms that wait for a shuffle: monitors of suspect shuffles again, without the player judged.

Only where a monitor with all hands has reached an e-value of 20 are rounds looked at again, and
only where a player who is judged was there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow.parquet as pq

from niulab.evaluation.detection.monitoring.slices import parts_of, slice_plays
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

    ordered: whether cards are in the order dealt where their rows do not deny it.
    """
    reasons = dict[str, str]()
    peaks: dict[str, dict[tuple[Key, str], float]] = {player: {} for player in players}
    for key in SHUFFLE_TEXTS:
        monitors = states.monitors[key].items()
        suspects = sorted(name for name, state in monitors if state.peak >= _SUSPECT)
        if not players or not suspects:
            continue
        at = _visits(store, players, key, suspects)
        for (name, player), state in _without(store, sheets, key, at, ordered=ordered).items():
            peaks[player][key, name] = state.peak
    for player, found in peaks.items():
        reasons |= {one.player: one.reason for one in worst_of(player, found, alpha=alpha)}
    return reasons


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
    store: Store, sheets: Sheets, key: Key, at: Mapping[str, Sequence[str]], *, ordered: bool
) -> dict[tuple[str, str], ShuffleState]:
    """Monitors without the hands of a player, by name and player."""
    states = {(name, one): ShuffleState.fresh() for name, there in at.items() for one in there}
    codes: dict[str, int] = {}
    for found in _pieces(store, sheets, key, list(at)) if at else ():
        plays = found if ordered else without_order(found)
        for table in plays.texts.tables:
            codes.setdefault(table, len(codes))
        places = np.array([codes[table] for table in plays.texts.tables] + [-1], dtype=np.int32)
        names = getattr(plays.texts, SHUFFLE_TEXTS[key])
        for name in sorted(set(at).intersection(names)):
            mine = plays.take(getattr(plays, key) == names.index(name))
            for player in at[name]:
                deals = deals_of(mine, leave_out=player)
                before = states[name, player]
                states[name, player] = fold_deals(before, deals.cards, places[deals.table])
    return states


def _pieces(store: Store, sheets: Sheets, key: Key, names: Sequence[str]) -> Iterator[Plays]:
    """Rows of some tables, dealers or shufflers, month by month."""
    versions = sorted({file.version for file in store.manifest.of("plays")})
    for part in parts_of(store, versions):
        plays, _, _ = slice_plays(
            [paths for _, paths in part.plays], None, tuple(store.manifest.rules),
            only=(key, names),
        )  # fmt: skip
        if len(plays):
            yield sheets.recode(plays)
