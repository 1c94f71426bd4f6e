"""Many set hands settled at once: ranks, outcomes and cents as arrays, for batched environments."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from niulab.engine.hands import SPLITS
from niulab.engine.ranking import ranker
from niulab.engine.rules import RuleSet
from niulab.engine.settlement import Outcome, moved_table, net_table, tie_outcome
from niulab.engine.wagers import Slip

__all__ = ["Settled", "Settler", "positions_in_order"]

_FRONT = np.array(SPLITS)
_SPLIT_OF = np.zeros((5, 5), dtype=np.int64)
for _index, (_i, _j) in enumerate(SPLITS):
    _SPLIT_OF[_i, _j] = _SPLIT_OF[_j, _i] = _index


@dataclass(frozen=True, eq=False)
class Settled:
    """n settled rounds: outcomes, rank indices and cents, int64 (n,)."""

    outcomes: NDArray[np.int64]
    player_ranks: NDArray[np.int64]
    dealer_ranks: NDArray[np.int64]
    net_by_box: dict[str, NDArray[np.int64]]
    net_cents: NDArray[np.int64]
    moved_cents: NDArray[np.int64]


def positions_in_order(
    settings: NDArray[np.int64], places: NDArray[np.integer]
) -> NDArray[np.int64]:
    """Settings of ascending hands from settings of the shown positions.

    places: (n, 5), the place in ascending order of each shown card.
    """
    front = np.take_along_axis(places, _FRONT[settings], axis=1)
    in_order: NDArray[np.int64] = _SPLIT_OF[front[:, 0], front[:, 1]]
    return in_order


class Settler:
    """Settles one slip under one rule set; the dealer sets best."""

    def __init__(self, rules: RuleSet, slip: Slip) -> None:
        self._rules = rules
        self._ranker = ranker(rules)
        self._nets = {
            box: net_table(rules, _only(slip, box)) for box in rules.boxes if slip.stake(box)
        }
        self._moved = moved_table(rules, slip)
        self._ties = np.array([tie_outcome(rules.order, rank) for rank in range(len(rules.ranks))])

    def settle(
        self,
        hands: NDArray[np.uint8],
        dealers: NDArray[np.uint8],
        settings: NDArray[np.int64],
    ) -> Settled:
        """Settle ascending hands (n, 5) set by their settings (n,) against the dealers' (n, 5)."""
        table = self._ranker
        if self._rules.arrangement == "as_set":
            ranks = table.split_ranks(hands)[np.arange(len(hands)), settings]
        else:
            ranks = table.best_ranks(hands)
        others = table.best_ranks(dealers)
        outcomes = np.where(ranks > others, int(Outcome.WIN), int(Outcome.LOSE))
        level = np.flatnonzero(ranks == others)
        keys = table.tie_keys(hands[level], ranks[level])
        other_keys = table.tie_keys(dealers[level], others[level])
        outcomes[level] = np.select(
            [keys > other_keys, keys == other_keys],
            [int(Outcome.WIN), self._ties[ranks[level]]],
            int(Outcome.LOSE),
        )
        cells = (outcomes, ranks, others, table.events(hands))
        nets = {box: table[cells] for box, table in self._nets.items()}
        return Settled(
            outcomes,
            ranks.astype(np.int64),
            others.astype(np.int64),
            nets,
            np.sum(list(nets.values()), axis=0),
            self._moved[cells],
        )


def _only(slip: Slip, box: str) -> Slip:
    in_sight = slip.sight(box)
    return Slip(((box, slip.stake(box)),), None if in_sight is None else ((box, in_sight),))
