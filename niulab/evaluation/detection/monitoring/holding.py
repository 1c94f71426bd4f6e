"""Alarms that wait for a shuffle: monitors of suspect shuffles again, without the player judged.

Only where a monitor with all hands has reached an e-value of 20 are rounds looked at again, and
only where a player who is judged was there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from niulab.evaluation.detection.monitoring.slices import parts_of, slice_plays
from niulab.evaluation.detection.monitoring.sources import Sheets
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
from niulab.evaluation.playlog.store.staging import bucket_of

__all__ = ["held_back"]

_SUSPECT = float(np.log(20.0))


def held_back(
    states: TableStates, store: Store, sheets: Sheets, players: Sequence[str], *, alpha: float
) -> Mapping[str, str]:
    """Players whose alarms wait for a shuffle, and why."""
    reasons = dict[str, str]()
    peaks: dict[str, dict[tuple[Key, str], float]] = {player: {} for player in players}
    for key in SHUFFLE_TEXTS:
        monitors = states.monitors[key].items()
        suspects = sorted(name for name, state in monitors if state.peak >= _SUSPECT)
        if not players or not suspects:
            continue
        at = _visits(store, players, key, suspects)
        for name, there in at.items():
            for player, peak in _peaks_without(store, sheets, key, name, there):
                peaks[player][key, name] = peak
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
            rows = _rows(
                store.path / file.path,
                ["player", key],
                [("player", "in", list(players)), (key, "in", list(suspects))],
            )
            for one in rows.group_by(["player", key]).aggregate([]).to_pylist():
                found.setdefault(one[key], set()).add(one["player"])
    return {name: sorted(there) for name, there in sorted(found.items())}


def _rows(path: Path, columns: list[str], filters: list[tuple[str, str, list[str]]]) -> pa.Table:
    return pq.read_table(path, columns=columns, filters=filters, partitioning=None)


def _peaks_without(
    store: Store, sheets: Sheets, key: Key, name: str, players: Sequence[str]
) -> Iterator[tuple[str, float]]:
    """The largest log e-value of a shuffle's monitor without the hands of each player."""
    states = dict.fromkeys(players, ShuffleState.fresh())
    codes: dict[str, int] = {}
    for plays in _pieces(store, sheets, key, name):
        for table in plays.texts.tables:
            codes.setdefault(table, len(codes))
        places = np.array([codes[table] for table in plays.texts.tables] + [-1], dtype=np.int32)
        for player in players:
            deals = deals_of(plays, leave_out=player)
            states[player] = fold_deals(states[player], deals.cards, places[deals.table])
    for player, state in states.items():
        yield player, state.peak


def _pieces(store: Store, sheets: Sheets, key: Key, name: str) -> Iterator[Plays]:
    """Rows of one table, dealer or shuffler, month by month."""
    versions = sorted({file.version for file in store.manifest.of("plays")})
    for part in parts_of(store, versions):
        plays, _, _ = slice_plays(
            [paths for _, paths in part.plays], None, tuple(store.manifest.rules),
            only=(key, name),
        )  # fmt: skip
        if len(plays):
            yield sheets.recode(plays)
