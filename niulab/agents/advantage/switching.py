"""Those who change cards after the deal: switchers with a partner, and holders-out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from niulab.agents.advantage.config import CardSwitcher, HoldOut
from niulab.agents.advantage.crowd import Attackers, Block, Cards, Cents, Seats
from niulab.engine.cards import HAND_SIZE, N_CARDS
from niulab.engine.hands import KEY_SPAN
from niulab.engine.ranking import ranker
from niulab.engine.rules import RuleSet
from niulab.seeding import WORD_BITS, round_words

__all__ = ["HoldersOut", "Switchers", "best_swaps", "strengths"]

_TRIES = 0
_SLEEVE = 1


class Switchers(Attackers):
    """Pairs of a switcher, who stakes high, and the partner beside him, who stakes low."""

    switches = True

    def __init__(self, rules: RuleSet, seats: Seats, config: CardSwitcher) -> None:
        super().__init__(rules, seats, config)
        self._rate = config.rate

    def look(self, block: Block) -> None:
        super().look(block)
        self._tries = self.chances(_TRIES)[::2] < self._rate

    def bets(self) -> Cents:
        slips = super().bets()
        slips[1::2] = self.low
        return slips

    def switched(self, hands: Cards, dealt: Cards) -> Cards:
        tries = self._tries[:, self.now] & self.is_present[::2] & self.is_present[1::2]
        if not self.has_started or not tries.any():
            return hands
        shown, pairs = hands.copy(), np.flatnonzero(tries)
        own, other = best_swaps(self.rules, hands[2 * pairs], hands[2 * pairs + 1])
        shown[2 * pairs], shown[2 * pairs + 1] = own, other
        return shown


class HoldersOut(Attackers):
    """Each has a card up his sleeve, at first any one, and plays it where it raises his hand."""

    switches = True

    def __init__(self, rules: RuleSet, seats: Seats, config: HoldOut) -> None:
        super().__init__(rules, seats, config)
        self._rate = config.rate
        words = round_words(seats.seeds, np.zeros(len(seats), dtype=np.int64), _SLEEVE)
        self.sleeves = (words * 2.0**-WORD_BITS * N_CARDS).astype(np.uint8)

    def look(self, block: Block) -> None:
        super().look(block)
        self._tries = self.chances(_TRIES) < self._rate

    def switched(self, hands: Cards, dealt: Cards) -> Cards:
        if not self.has_started:
            return hands
        n, rows = len(hands), np.arange(len(hands))
        tried = np.repeat(hands[:, None], HAND_SIZE + 1, axis=1)
        for place in range(HAND_SIZE):
            tried[:, 1 + place, place] = self.sleeves
        worths = strengths(self.rules, tried.reshape(-1, HAND_SIZE)).reshape(n, -1)
        best = worths.argmax(axis=1)
        # a card that lies in his own hand already would show twice before his eyes
        can = self._tries[:, self.now] & self.is_present & (hands != self.sleeves[:, None]).all(1)
        plays = rows[can & (best > 0)]
        shown = hands.copy()
        shown[plays] = tried[plays, best[plays]]
        self.sleeves[plays] = hands[plays, best[plays] - 1]
        return shown


def strengths(rules: RuleSet, hands: Cards) -> NDArray[np.int64]:
    """One number that orders best-set hands (n, 5) in any order of cards; int64 (n,)."""
    tables, ascending = ranker(rules), np.sort(hands, axis=1)
    ranks = tables.best_ranks(ascending)
    keys: NDArray[np.int64] = ranks.astype(np.int64) * KEY_SPAN + tables.tie_keys(ascending, ranks)
    return keys


def best_swaps(rules: RuleSet, own: Cards, other: Cards) -> tuple[Cards, Cards]:
    """Hands (n, 5) after the swap of one card that makes ``own`` highest, or none at all.

    The first of equal swaps is taken: no swap, then by place of the own and the other card.
    """
    n, rows = len(own), np.arange(len(own))
    tried = np.repeat(own[:, None], HAND_SIZE**2 + 1, axis=1)
    for swap in range(HAND_SIZE**2):
        tried[:, 1 + swap, swap // HAND_SIZE] = other[:, swap % HAND_SIZE]
    best = strengths(rules, tried.reshape(-1, HAND_SIZE)).reshape(n, -1).argmax(axis=1)
    left = other.copy()
    swapped = rows[best > 0]
    mine, theirs = np.divmod(best[swapped] - 1, HAND_SIZE)
    left[swapped, theirs] = own[swapped, mine]
    return tried[rows, best], left
