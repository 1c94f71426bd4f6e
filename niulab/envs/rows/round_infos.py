"""Infos of a step in which every row's episode of one round ends and the next begins.

They are those of ``infos``, cut from two blocks of memory instead of forty arrays; a column that is
kept keeps its block.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from niulab.envs.rows.croupier import COLUMNS, NET
from niulab.envs.rows.infos import column_of_ends
from niulab.envs.rows.recycling import Recycler
from niulab.envs.rows.table import N_ROUNDS

__all__ = ["Blocks", "RoundInfos"]


class Blocks(NamedTuple):
    """The memory of one step's infos.

    numbers: int64 (k, n); ``results``, its first rows, are the columns that ``Table.settle_all``
    fills. flags: bool (m, n), all True: the masks of the entries, and of the actions.
    """

    numbers: NDArray[np.int64]
    results: NDArray[np.int64]
    flags: NDArray[np.bool_]


class RoundInfos:
    """Makes the infos of one task's whole rounds."""

    def __init__(self, n: int, n_actions: int, boxes: tuple[str, ...]) -> None:
        self._shape = 2, n, n_actions
        self._n_boxes = len(boxes)
        self._n_results = len(COLUMNS) + len(boxes)
        self._nets = _with_masks(boxes)
        n_marks = (len(_INFOS) + len(_FINAL_INFO) + len(_SETTLEMENT)) // 2 + len(boxes)
        self._numbers = Recycler((self._n_results + 7, n), np.int64)
        self._flags = Recycler((2 * n_actions + n_marks, n), np.bool_)

    def take(self) -> Blocks:
        """Memory that nobody else holds, for one step."""
        numbers = self._numbers.take()
        return Blocks(numbers, numbers[: self._n_results], self._flags.take())

    def infos(self, blocks: Blocks, dealers: NDArray[np.uint8], final_obs: Any) -> dict[str, Any]:
        """The infos of settled rounds, once their results are there."""
        numbers, results, flags = blocks
        first, n_boxes, (_, n, n_actions) = len(results), self._n_boxes, self._shape
        numbers[first : first + 2] = numbers[NET]
        numbers[first + 2 : first + 6] = 0
        numbers[first + 6] = 1
        flags.fill(True)
        final_masks, masks = flags[: 2 * n_actions].view(np.int8).reshape(self._shape)
        outcome, rank, dealer_rank, net, moved, *rest = numbers
        final_bankroll, final_net, slip, final_left, bankroll, last_net, left = rest[n_boxes:]
        marks = iter(flags[2 * n_actions :])
        nets = _entries(self._nets, rest[:n_boxes], marks)
        settled = (slip, outcome, rank, dealer_rank, dealers, net, moved, nets)
        settlement = _entries(_SETTLEMENT, settled, marks)
        end = column_of_ends(N_ROUNDS, n)
        last = (final_masks, final_bankroll, final_net, final_left, settlement, end)
        final_info = _entries(_FINAL_INFO, last, marks)
        now = (masks, bankroll, last_net, left, final_obs, final_info)
        return _entries(_INFOS, now, marks)


def _with_masks(keys: Iterable[str]) -> tuple[str, ...]:
    return tuple(name for key in keys for name in (key, f"_{key}"))


_STANDING = ("action_mask", "bankroll_cents", "last_net_cents", "rounds_left")
_INFOS = _with_masks((*_STANDING, "final_obs", "final_info"))
_FINAL_INFO = _with_masks((*_STANDING, "settlement", "end"))
_SETTLEMENT = _with_masks(
    (
        "slip",
        "outcome",
        "player_rank",
        "dealer_rank",
        "dealer_cards",
        "net_cents",
        "moved_cents",
        "net_by_box",
    )
)


def _entries(
    names: tuple[str, ...], values: Iterable[Any], marks: Iterator[NDArray[np.bool_]]
) -> dict[str, Any]:
    """Values by key, each followed by its mask."""
    paired = chain.from_iterable(zip(values, marks, strict=False))  # marks are for all dicts
    return dict(zip(names, paired, strict=True))
