"""What the players of many rows see of their shoes, kept up to date round by round."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from niulab.envs.encoding import NO_CARD, Encoding
from niulab.envs.seat.shoe_sight import ShoeSight

__all__ = ["ShoeRows"]

_Rows: TypeAlias = NDArray[np.intp] | slice


class ShoeRows:
    """``seen`` is ``Sight.shoe`` of n rows; no part of the state, from which it follows."""

    def __init__(self, encoding: Encoding, n: int) -> None:
        self._sight = ShoeSight(encoding)
        self._shows_cards = encoding.settings.shoe == "cards"
        full = np.array(encoding.settings.rules.deck.composition, dtype=np.int64)
        self._full = encoding.count_left(full[None])[0]
        self._column_of = encoding.column_of_card
        if self._shows_cards:
            self.seen: NDArray[Any] = np.full((n, 10), NO_CARD, dtype=np.uint8)
        else:
            self.seen = np.repeat(self._full[None], n, axis=0)

    def open(self, rows: _Rows) -> None:
        """A new shoe in some rows."""
        self.seen[rows] = NO_CARD if self._shows_cards else self._full

    def take(self, rows: _Rows, hands: NDArray[np.uint8], dealers: NDArray[np.uint8]) -> None:
        """The ascending hands (k, 5) of a round leave the shoes of some rows."""
        cards = np.concatenate([hands, dealers], axis=1)
        if self._shows_cards:
            self.seen[rows] = cards
            return
        numbers = np.arange(len(self.seen))[rows]
        np.subtract.at(self.seen, (numbers[:, None], self._column_of[cards]), 1)

    def restore(
        self, seeds: NDArray[np.uint64], rounds: NDArray[np.int64], are_dealt: NDArray[np.bool_]
    ) -> None:
        """What follows from a state: (n,) seeds, rounds, and which of these have been dealt."""
        states = zip(seeds.tolist(), rounds.tolist(), are_dealt.tolist(), strict=True)
        for row, (seed, index, is_dealt) in enumerate(states):
            self.seen[row] = self._sight.look(seed, index, is_dealt=is_dealt)[0]
