"""The exact law of a round from any cards left in the shoe, for many compositions at once.

**Bonus boxes** pay on the player's own hand: a sum over hands drawn from what is left. A hand is a
multiset m of card classes, and n_c cards of class c deal prod C(n_c, m_c) of them.

**Main boxes.** Player and dealer are exchangeable whatever the shoe holds, so with W(r) the chance
that the player wins with rank r, the dealer wins with rank r as often. Two disjoint hands are
counted by inclusion and exclusion over the cards J they might share::

    N(r, s) = sum over J of (-1)^|J| T(J, r) T(J, s) / w(J)

with w(J) the ways to draw J and T(J, r) the pairs of a drawn J and a hand of rank r around it. Of
two hands of one rank either is the higher as often as the other, so W(r) = sum over s < r of
N(r, s), plus half of N(r, r) less the exact ties, over all pairs. Counts are whole numbers; those
of bonus boxes stay so until the last division.
"""

from __future__ import annotations

from itertools import product
from math import comb

import numpy as np
from numpy.typing import NDArray

from niulab.engine.cards import HAND_SIZE
from niulab.engine.ranking import ranker
from niulab.engine.rules.model import RuleSet
from niulab.errors import RulesError
from niulab.solvers.shoes.classes import CardClasses, event_classes, rank_classes

__all__ = ["WinLaw", "event_counts", "hands_left", "win_law"]

_BINOMIALS = np.array([[comb(n, k) for k in range(HAND_SIZE + 1)] for n in range(417)])
"""C(n, k) for shoes of up to eight decks; int64."""


def hands_left(left: NDArray[np.integer]) -> NDArray[np.int64]:
    """Hands of five that the cards left (n, 52) deal, int64 (n,)."""
    hands: NDArray[np.int64] = _BINOMIALS[left.sum(axis=1), HAND_SIZE]
    return hands


def event_counts(rules: RuleSet, left: NDArray[np.integer]) -> NDArray[np.int64]:
    """Hands by event mask, int64 (n, masks), that the cards left (n, 52) deal; exact."""
    classes = event_classes(rules)
    counts = np.zeros((len(left), 1 << len(rules.events)), dtype=np.int64)
    by_class = classes.count(left)
    for mask, multisets in _eventful(rules).items():
        counts[:, mask] = _ways(by_class, multisets).sum(axis=1)
    counts[:, 0] = hands_left(left) - counts[:, 1:].sum(axis=1)
    return counts


_EVENTFUL: dict[str, dict[int, NDArray[np.int64]]] = {}


def _eventful(rules: RuleSet) -> dict[int, NDArray[np.int64]]:
    """The multisets of classes by event mask, but for those without an event."""
    key = rules.rules_hash
    if key not in _EVENTFUL:
        classes = event_classes(rules)
        events = ranker(rules).events(classes.hands)
        masks = [mask for mask in np.unique(events).tolist() if mask]
        _EVENTFUL[key] = {mask: classes.multisets[events == mask] for mask in masks}
    return _EVENTFUL[key]


def _ways(by_class: NDArray[np.int64], multisets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Hands of each multiset, int64 (n, m), from the cards left by class (n, k)."""
    ways = np.ones((len(by_class), len(multisets)), dtype=np.int64)
    for column, taken in zip(by_class.T, multisets.T, strict=True):
        if taken.any():
            ways *= _BINOMIALS[column[:, None], taken]
    return ways


def win_law(rules: RuleSet) -> WinLaw:
    """The law of a sheet, made once per ``ranking_hash``; raises RulesError as ``WinLaw`` does."""
    if rules.ranking_hash not in _LAWS:
        _LAWS[rules.ranking_hash] = WinLaw(rules)
    return _LAWS[rules.ranking_hash]


class WinLaw:
    """P(the player wins with rank r), for any cards left, both hands set at their strongest.

    Raises RulesError for sheets whose ranks see suits, and for ties of several decks that are not
    compared card by card.
    """

    def __init__(self, rules: RuleSet) -> None:
        order = rules.order
        is_by_card = order.tie_break == "card_by_card" and order.high_card_tie_break in {
            None,
            "card_by_card",
        }
        if not (order.suits and is_by_card):
            raise RulesError(
                f"'{rules.name}' does not compare equal ranks card by card and suit by suit: the "
                "exact ties of a depleted shoe have no short form"
            )
        self._classes = rank_classes(rules)
        self._ranks = ranker(rules).best_ranks(self._classes.hands).astype(np.int64)
        self.n_ranks = len(rules.ranks)
        self._sums = _SharedCards(self._classes, self._ranks, self.n_ranks)

    def wins(self, left: NDArray[np.integer]) -> NDArray[np.float64]:
        """Chances (n, ranks) from the cards left (n, 52), each of at least ten cards."""
        by_class = self._classes.count(left)
        ways = _ways(by_class, self._classes.multisets)
        ties = self._ties(left)
        wins = np.empty((len(left), self.n_ranks))
        for row in range(len(left)):
            pairs = self._sums.pairs(ways[row], by_class[row])
            lower = np.tril(pairs, -1).sum(axis=1)
            wins[row] = (lower + (np.diag(pairs) - ties[row]) / 2) / pairs.sum()
        return wins

    def _ties(self, left: NDArray[np.integer]) -> NDArray[np.float64]:
        """Ordered pairs of equal hands by rank, (n, ranks): both take m of the copies of a card."""
        m = np.arange(HAND_SIZE + 1)
        of_card = (
            _BINOMIALS[left[:, :, None], m]
            * _BINOMIALS[np.maximum(left[:, :, None] - m, 0), m]
            * (left[:, :, None] >= 2 * m)
        ).astype(np.float64)
        n = len(left)
        by_class = np.zeros((n, self._classes.n, HAND_SIZE + 1))
        by_class[:, :, 0] = 1
        for card, number in enumerate(self._classes.class_of):
            before, by_class[:, number] = by_class[:, number].copy(), 0
            for a, b in product(m, m):
                if a + b <= HAND_SIZE:
                    by_class[:, number, a + b] += before[:, a] * of_card[:, card, b]
        pairs = np.ones((n, len(self._ranks)))
        for number, taken in enumerate(self._classes.multisets.T):
            pairs *= by_class[:, number, taken]
        ties: NDArray[np.float64] = pairs @ (self._ranks[:, None] == np.arange(self.n_ranks))
        return ties


_LAWS: dict[str, WinLaw] = {}


class _SharedCards:
    """The terms of inclusion and exclusion: every multiset J of up to five cards, by class."""

    def __init__(self, classes: CardClasses, ranks: NDArray[np.int64], n_ranks: int) -> None:
        self._n_ranks = n_ranks
        number: dict[tuple[int, ...], int] = {}
        places, hands, factors = [], [], []
        for hand, row in enumerate(classes.multisets.tolist()):
            for shared in product(*(range(taken + 1) for taken in row)):
                places.append(number.setdefault(shared, len(number)) * n_ranks + int(ranks[hand]))
                hands.append(hand)
                factor = 1
                for taken, common in zip(row, shared, strict=True):
                    factor *= comb(taken, common)
                factors.append(factor)
        self._places, self._hands = np.array(places), np.array(hands)
        self._factors = np.array(factors, dtype=np.float64)
        self._shared = np.array(list(number))
        self._signs = (-1.0) ** self._shared.sum(axis=1)

    def pairs(self, ways: NDArray[np.int64], by_class: NDArray[np.int64]) -> NDArray[np.float64]:
        """Ordered pairs of disjoint hands by their ranks, (ranks, ranks)."""
        around = np.bincount(
            self._places,
            weights=self._factors * ways[self._hands],
            minlength=len(self._shared) * self._n_ranks,
        ).reshape(-1, self._n_ranks)
        drawn = _ways(by_class[None], self._shared)[0]
        signs = np.divide(self._signs, drawn, out=np.zeros(len(drawn)), where=drawn > 0)
        pairs: NDArray[np.float64] = around.T @ (signs[:, None] * around)
        return pairs
