"""Nets of many stakes on a box, by the cell their rounds ended in; cells of changed hands."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from niulab.engine.ranking import ranker
from niulab.engine.rules import RuleSet
from niulab.engine.settlement import Outcome, net_table, tie_outcome
from niulab.engine.wagers import Slip, stake_step_cents

__all__ = ["BoxNets", "cells_of_hands"]

Cents = NDArray[np.int64]


class BoxNets:
    """Nets of stakes on one box; where they are linear in the stake, from one table.

    Cells are those of ``BatchEngine.cells``.
    """

    def __init__(self, rules: RuleSet, box: str) -> None:
        self._rules, self._box = rules, box
        terms = rules.boxes[box]
        self._is_linear = (
            terms.max_win_cents is None
            and terms.max_loss_cents is None
            and terms.commission.rounding == "exact"
        )
        self._caps = terms.cover.shortfall == "cap_loss"
        self._step = stake_step_cents(rules, box)
        self._tables: dict[tuple[int, int], Cents] = {}

    def nets(self, stakes: Cents, cells: Cents, sights: Cents | None = None) -> Cents:
        """Net cents (n,) of stakes (n,) in cells (n,); sights (n,): 0 for full cover."""
        if self._is_linear and (not self._caps or sights is None or not sights.any()):
            table = self._table(self._step, 0)
            linear: Cents = table[cells] * (stakes // self._step)
            return linear
        seen = np.zeros_like(stakes) if sights is None else sights
        pairs, place = np.unique(np.stack([stakes, seen]), axis=1, return_inverse=True)
        place, found = place.reshape(-1), np.zeros(len(stakes), dtype=np.int64)
        for number, (stake, sight) in enumerate(pairs.T.tolist()):
            if stake:
                rows = place == number
                found[rows] = self._table(stake, sight)[cells[rows]]
        return found

    def _table(self, stake: int, sight: int) -> Cents:
        key = stake, sight
        if key not in self._tables:
            rules, box = self._rules, self._box
            slip = Slip(((box, stake),), ((box, sight),) if sight else None)
            table = net_table(rules, slip)
            for rank in range(len(rules.ranks)):
                tie = tie_outcome(rules.order, rank)
                table[Outcome.PUSH, rank, rank] = table[tie, rank, rank]
            self._tables[key] = table.ravel()
        return self._tables[key]


def cells_of_hands(
    rules: RuleSet, hands: NDArray[np.uint8], dealers: NDArray[np.uint8]
) -> NDArray[np.int64]:
    """The cell each round (n,) ends in, of hands (n, 5) against the dealer's (n, 5), best set.

    The same numbers as ``BatchEngine.cells``, for hands that are not as they were dealt.
    """
    tables = ranker(rules)
    own, other = np.sort(hands, axis=1), np.sort(dealers, axis=1)
    ranks, dealer_ranks = tables.best_ranks(own), tables.best_ranks(other)
    keys, dealer_keys = tables.tie_keys(own, ranks), tables.tie_keys(other, dealer_ranks)
    first = np.sign(ranks.astype(np.int64) - dealer_ranks)
    verdicts = 1 + np.where(first == 0, np.sign(keys - dealer_keys), first)
    n_ranks, n_masks = len(rules.ranks), 1 << len(rules.events)
    cells: NDArray[np.int64] = (
        (verdicts * n_ranks + ranks) * n_ranks + dealer_ranks
    ) * n_masks + tables.events(own)
    return cells
