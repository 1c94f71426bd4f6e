"""The deals of one row, one asked for after the other and dealt in blocks.

A deal is a pure function of the row's seed and the round, so whoever plays on may find the next
rounds dealt. Dealing many at once costs a tenth of dealing each, and a block costs as much as ten
single deals or more: it pays only once a run of rounds has shown that it goes on.
"""

from __future__ import annotations

import numpy as np

from niulab.engine.rules import RuleSet
from niulab.engine.shoe import deal_round, deal_rounds

__all__ = ["DealsAhead"]

_FEW = 8
"""Rounds in order that are dealt one by one before blocks begin."""

_GROWTH = 4
_MOST = 1_024

_SEED_MASK = (1 << 64) - 1

_Hand = tuple[int, ...]


class DealsAhead:
    """Deals rounds of two hands; what it keeps is a cache and changes no card."""

    def __init__(self, rules: RuleSet, *, as_dealt: bool) -> None:
        self._rules = rules
        self._as_dealt = as_dealt
        self._seed = -1
        self._first = self._end = 0
        self._n_in_order = 0
        # Ten bytes a round: as tuples, the hands of a block would keep the garbage collector busy.
        self._cards = b""

    def deal(self, seed: int, round_index: int) -> tuple[_Hand, _Hand]:
        """The player's and the dealer's hand in ascending order; the player's ``as_dealt`` not."""
        if seed != self._seed or not self._first <= round_index < self._end:
            self._refill(seed, round_index)
        cards, place = self._cards, 10 * (round_index - self._first)
        return tuple(cards[place : place + 5]), tuple(cards[place + 5 : place + 10])

    def _refill(self, seed: int, round_index: int) -> None:
        """Deal from a round on."""
        is_next = seed == self._seed and round_index == self._end
        self._n_in_order = self._n_in_order + self._end - self._first if is_next else 0
        n = 1 if self._n_in_order < _FEW else min(_GROWTH * self._n_in_order, _MOST)
        self._seed, self._first, self._end = seed, round_index, round_index + n
        if n == 1:
            hand, dealer = deal_round(self._rules, seed, round_index, 2)
            shown = hand if self._as_dealt else sorted(hand)
            self._cards = bytes((*shown, *sorted(dealer)))
            return
        seeds = np.full(n, seed & _SEED_MASK, dtype=np.uint64)
        packets = deal_rounds(self._rules, seeds, np.arange(round_index, self._end), 2)
        sorted_ones = packets[:, 1:] if self._as_dealt else packets
        sorted_ones.sort(axis=2)
        self._cards = packets.tobytes()
