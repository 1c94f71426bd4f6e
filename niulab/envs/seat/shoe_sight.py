"""What a player sees of the shoe before a bet: the cards of the last round, or all that are left.

It is no part of a state but follows from it: which cards are out depends on the row's seed and the
round alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from niulab.engine.rules import RuleSet
from niulab.engine.shoe import deal_rounds, rounds_per_shoe
from niulab.envs.encoding import NO_CARD, Encoding

__all__ = ["ShoeSight", "first_of_shoe"]

_SEED_MASK = (1 << 64) - 1


def first_of_shoe(rules: RuleSet, round_index: int) -> int:
    """The first round from ``round_index`` on that opens a shoe."""
    n = rounds_per_shoe(rules, 2)
    return -(-round_index // n) * n


class ShoeSight:
    """Looks at one shoe at a time; what it keeps is a cache and changes no card."""

    def __init__(self, encoding: Encoding) -> None:
        self._rules = encoding.settings.rules
        self._encoding = encoding
        self._n_rounds = rounds_per_shoe(self._rules, 2)
        self._full = np.array(self._rules.deck.composition, dtype=np.int64)
        self._at = (-1, -1)
        self._packets = np.empty((0, 10), dtype=np.uint8)

    def look(self, seed: int, round_index: int, *, is_dealt: bool) -> NDArray[Any]:
        """What ``Sight.shoe`` holds of one player, (1, width), before or after a round."""
        shoe, place = divmod(round_index, self._n_rounds)
        if (seed, shoe) != self._at:
            self._open(seed, shoe)
        n_out = place + is_dealt
        if self._encoding.settings.shoe == "cards":
            if not n_out:
                return np.full((1, 10), NO_CARD, dtype=np.uint8)
            return self._packets[None, n_out - 1]
        out = np.bincount(self._packets[:n_out].ravel(), minlength=len(self._full))
        return self._encoding.count_left((self._full - out)[None])

    def _open(self, seed: int, shoe: int) -> None:
        n = self._n_rounds
        seeds = np.full(n, seed & _SEED_MASK, dtype=np.uint64)
        packets = deal_rounds(self._rules, seeds, np.arange(shoe * n, (shoe + 1) * n), 2)
        self._packets = np.sort(packets, axis=2).reshape(n, 10)
        self._at = (seed, shoe)
