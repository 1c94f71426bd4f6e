"""Players alone at a table, as rows that hold what the fold and the z-test read, and no more.

Most of the study is honest players, and most of a log's columns say nothing of one seat's stakes:
they are laid out once and shared by all blocks. The rounds are those of ``simulate_blocks``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from niulab.evaluation.logged.config import FloorConfig
from niulab.evaluation.logged.world import Played, World
from niulab.evaluation.playlog.plays import BOXES, Plays, Vocabularies, boxes_of

__all__ = ["alone_blocks"]


def alone_blocks(floor: FloorConfig, block_rounds: int | None = None) -> Iterator[Plays]:
    """Blocks of consecutive rounds of a floor with one seat a table, each by player and time.

    Not for players who change stakes after the close or cards: neither is written. Rows have no
    times, tables or names of rounds; the code of a round is its number.
    """
    world = World(floor, block_rounds=block_rounds)
    names = tuple(label.player for label in world.seating.labels)
    blank = Plays.of(0, Vocabularies(players=names, rules=(floor.rules.name,)), rules=0)
    for played in world.blocks():
        n_most = played.is_present.size
        if len(blank) < n_most:
            blank = Plays.of(n_most, blank.texts, rules=0)
        yield _rows(world, blank, played)


def _rows(world: World, blank: Plays, played: Played) -> Plays:
    """A block's rows, the columns that nobody reads taken from ``blank``."""
    tables, is_here = world.seating.seats.tables, played.is_present.T
    size, n = played.is_present.shape
    player = np.repeat(np.arange(n, dtype=np.int32), size)
    rounds = np.tile(played.block.rounds.astype(np.int32), n)
    packets = played.block.packets[tables]
    columns: dict[str, Any] = {
        "player": player,
        "round": rounds,
        "stakes": _by_column(world, played.stakes),
        "nets": _by_column(world, played.nets),
        "cards": packets[:, :, 0].reshape(-1, packets.shape[-1]),
        "dealer_cards": packets[:, :, -1].reshape(-1, packets.shape[-1]),
    }
    if not is_here.all():
        rows = np.flatnonzero(is_here.ravel())
        columns = {name: column[rows] for name, column in columns.items()}
    return replace(blank.take(slice(len(columns["player"]))), **columns)


def _by_column(world: World, cents: NDArray[np.int64]) -> NDArray[np.int64]:
    """Cents (k, n, B) by the sheet's boxes as rows by player in the columns of BOXES, (n k, 4)."""
    size, n, _ = cents.shape
    found = np.zeros((n, size, len(BOXES)), dtype=np.int64)
    for column, box in enumerate(boxes_of(world.rules)):
        if box is not None:
            found[:, :, column] = cents[:, :, world.boxes.index(box)].T
    return found.reshape(-1, len(BOXES))
