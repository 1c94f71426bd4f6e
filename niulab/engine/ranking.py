"""Ranks of many hands at once, for any rule set.

A rank depends on the five card ranks, the setting and, for a few specials, the suits; so one
table over the 6,188 multisets of five ranks and one over the 1,024 suit tuples serve every hand.
Hands are rows of five card ids in ascending order; split ``k`` puts the cards at
``hands.SPLITS[k]`` in front.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, reduce
from itertools import combinations_with_replacement, product
from math import comb

import numpy as np
from numpy.typing import NDArray

from niulab.engine.cards import HAND_SIZE, N_CARDS
from niulab.engine.hands import SPLITS, card_key
from niulab.engine.rules.model import RuleSet
from niulab.engine.specials import FRONT_PREDICATES, PREDICATES, Condition, Predicate

__all__ = [
    "COLEX",
    "NO_OPTION",
    "Ranker",
    "all_hands",
    "all_multisets",
    "hand_index",
    "hand_weights",
    "n_hands",
    "ranker",
]

NO_OPTION = 255
"""Fills rows of ``Ranker.options`` beyond a hand's last option."""
COLEX = np.array([[comb(n, k) for k in range(6)] for n in range(58)], dtype=np.int64)
"""Binomials C(n, k) by which sets and multisets of up to five cards are numbered; int64 (58, 6)."""
_RANK_COLEX = np.array(  # [place in the hand, card id]; 6,188 rows fit 16 bits
    [[comb(card // 4 + k, k + 1) for card in range(N_CARDS)] for k in range(HAND_SIZE)],
    dtype=np.int16,
)
_SUIT_DIGITS = np.array(
    [[card % 4 * 4 ** (4 - k) for card in range(N_CARDS)] for k in range(HAND_SIZE)],
    dtype=np.int16,
)


def n_hands(*, multi: bool = False) -> int:
    """Number of five-card hands by card ids: 2,598,960, or 3,819,816 multisets of several decks."""
    return comb(56, 5) if multi else comb(52, 5)


@lru_cache(maxsize=2)
def all_hands(*, multi: bool = False) -> NDArray[np.uint8]:
    """Every hand in colexicographic order: uint8 (n, 5), ascending ids in each row, read-only."""
    hands = all_multisets(HAND_SIZE, multi=multi)
    hands.setflags(write=False)
    return hands


def all_multisets(size: int, *, multi: bool = False) -> NDArray[np.uint8]:
    """Every set (``multi``: multiset) of ``size`` card ids in colex order; uint8 (n, size)."""
    sets = np.zeros((1, 0), dtype=np.uint8)
    for width in range(1, size + 1):
        sets = _extend(sets, width, shift=int(multi))
    return sets


def _extend(smaller: NDArray[np.uint8], size: int, *, shift: int) -> NDArray[np.uint8]:
    """Append a top card to all smaller hands: those below it (or up to it) form a prefix."""
    parts = []
    for top in range(N_CARDS):
        # smaller hands use ids < top (one deck) or <= top (several): a prefix in colex order
        ids = top + shift
        count = comb(ids + shift * (size - 2), size - 1) if size > 1 else 1
        block = np.empty((count, size), dtype=np.uint8)
        block[:, :-1] = smaller[:count]
        block[:, -1] = top
        parts.append(block)
    return np.concatenate(parts)


def hand_index(hands: NDArray[np.integer], *, multi: bool = False) -> NDArray[np.int64]:
    """Row of each ascending hand in ``all_hands(multi=multi)``; hands (n, 5), result int64 (n,)."""
    index = np.zeros(len(hands), dtype=np.int64)
    for k in range(5):
        index += COLEX[hands[:, k].astype(np.int64) + (k if multi else 0), k + 1]
    return index


def hand_weights(hands: NDArray[np.uint8], composition: Sequence[int]) -> NDArray[np.int64]:
    """How many physical hands of a shoe each row stands for: prod C(n_c, m_c); int64 (n,).

    ``composition`` gives the copies n_c of each card id 0..51; rows are ascending, any width.
    """
    copies = np.asarray(composition, dtype=np.int64)
    ways = copies[hands[:, 0]]
    run = np.zeros(len(hands), dtype=np.int64)
    for k in range(1, hands.shape[1]):
        is_repeated = hands[:, k] == hands[:, k - 1]
        if is_repeated.any():
            run = np.where(is_repeated, run + 1, 0)
            ways = ways * np.maximum(copies[hands[:, k]] - run, 0) // (run + 1)
        else:
            run[:] = 0
            ways *= copies[hands[:, k]]
    return ways


def _suit_index(hands: NDArray[np.uint8]) -> NDArray[np.int16]:
    """Row of each hand's suits (n, 5) in ``product(range(4), repeat=5)``; (n,)."""
    index: NDArray[np.int16] = _SUIT_DIGITS[0][hands[:, 0]]
    for k in range(1, HAND_SIZE):
        index += _SUIT_DIGITS[k][hands[:, k]]
    return index


def _multiset_index(hands: NDArray[np.uint8]) -> NDArray[np.int16]:
    """Row of each ascending hand's ranks among the multisets of ranks in colex order; (n,)."""
    index: NDArray[np.int16] = _RANK_COLEX[0][hands[:, 0]]
    for k in range(1, HAND_SIZE):
        index += _RANK_COLEX[k][hands[:, k]]
    return index


class Ranker:
    """Tables of one ranking; ask ``ranker(rules)`` for the cached one.

    multisets: uint8 (6188, 5), ascending card ranks in colex order. split_table: uint8 (6188, 10),
    rank of every setting of such cards, without specials that see suits. card_keys: uint8 (52,).
    """

    def __init__(self, rules: RuleSet) -> None:
        self.rules = rules
        self.n_ranks = len(rules.ranks)
        multisets = np.array(
            sorted(combinations_with_replacement(range(13), 5), key=lambda m: m[::-1]),
            dtype=np.uint8,
        )
        self.multisets = multisets
        self.split_table = _split_table(multisets, rules)
        self._suited = [
            (index, _Tabulated([PREDICATES[special.predicate]], multisets))
            for index, special in enumerate(rules.specials, start=11)
            if not special.is_front and PREDICATES[special.predicate].by_suits is not None
        ]
        self._events = (
            _Tabulated([PREDICATES[name] for name in rules.events], multisets)
            if rules.events
            else None
        )
        self.card_keys = np.array(
            [card_key(card, rules.order) for card in range(52)], dtype=np.uint8
        )

    @property
    def sees_suits(self) -> bool:
        """Whether some rank depends on suits, so that a multiset of card ranks does not fix it."""
        return bool(self._suited)

    def multisets_of(self, hands: NDArray[np.uint8]) -> NDArray[np.int16]:
        """Row in ``multisets`` of each ascending hand; int16 (n,)."""
        return _multiset_index(hands)

    def split_ranks(self, hands: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Rank index of every setting; hands (n, 5) ascending, result uint8 (n, 10)."""
        multiset = _multiset_index(hands)
        result = self.split_table[multiset]
        for index, condition in self._suited:
            holds = condition(hands, multiset) > 0
            result[holds] = np.maximum(result[holds], index)
        return result

    def options(self, hands: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Distinct ranks a hand can be set to and which of them each setting is.

        Ranks (n, k), best first, 255 for none; one of the k for each of ten settings (n, 10).
        """
        multiset = _multiset_index(hands)
        options, option_of = _distinct(self.split_table)
        if not self._suited:
            return options[multiset], option_of[multiset]
        return _distinct(self.split_ranks(hands))

    def best_ranks(self, hands: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Rank index of the best setting; hands (n, 5) ascending, result uint8 (n,)."""
        multiset = _multiset_index(hands)
        result: NDArray[np.uint8] = self.split_table.max(axis=1)[multiset]
        for index, condition in self._suited:
            holds = condition(hands, multiset) > 0
            result[holds] = np.maximum(result[holds], index)
        return result

    def events(self, hands: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Event mask of each hand (bit i: ``rules.events[i]`` holds); uint8 (n,)."""
        if self._events is None:
            return np.zeros(len(hands), dtype=np.uint8)
        return self._events(hands, _multiset_index(hands))

    def tie_keys(self, hands: NDArray[np.uint8], ranks: NDArray[np.uint8]) -> NDArray[np.int64]:
        """Tie-break key of each hand at its rank (``hands.tie_key``); int64 (n,)."""
        order = self.rules.order
        keys = self._keys_of_mode(hands, order.tie_break)
        if order.high_card_tie_break is not None:
            high = ranks == 0
            keys[high] = self._keys_of_mode(hands[high], order.high_card_tie_break)
        return keys

    def _keys_of_mode(self, hands: NDArray[np.uint8], mode: str) -> NDArray[np.int64]:
        if mode in {"push", "dealer"}:
            return np.zeros(len(hands), dtype=np.int64)
        if mode in {"high_card_then_suit", "suit_first"}:
            columns = (self.card_keys[hands[:, k]] for k in range(HAND_SIZE))
            top = reduce(np.maximum, columns).astype(np.int64)
            return top if mode == "high_card_then_suit" else 13 * (top % 4) + top // 4
        keys = np.sort(self.card_keys[hands], axis=1)[:, ::-1].astype(np.int64)
        if mode == "card_by_card":
            return _digits(keys, 52)
        heights = keys // 4
        return _pair_digits(heights) * 13**5 + _digits(heights, 13)


def _digits(values: NDArray[np.int64], base: int) -> NDArray[np.int64]:
    total = np.zeros(len(values), dtype=np.int64)
    for column in values.T:
        total = total * base + column
    return total


def _pair_digits(heights: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number of paired heights of descending rows, then these plus one, highest first; base 14."""
    total = np.zeros(len(heights), dtype=np.int64)
    n_found = np.zeros(len(heights), dtype=np.int64)
    for k in range(4):
        starts = heights[:, k] == heights[:, k + 1]
        if k:
            starts &= heights[:, k - 1] != heights[:, k]
        total = np.where(starts, total * 14 + heights[:, k] + 1, total)
        n_found += starts
    return n_found * 14**2 + np.where(n_found == 1, total * 14, total)


def _distinct(splits: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Distinct values of each row, highest first, padded with 255, and where each entry went."""
    descending = -np.sort(-splits.astype(np.int16), axis=1)
    is_new = np.ones_like(descending, dtype=np.bool_)
    is_new[:, 1:] = descending[:, 1:] != descending[:, :-1]
    place = is_new.cumsum(axis=1) - 1
    options = np.full((len(splits), int(place.max(initial=0)) + 1), NO_OPTION, dtype=np.uint8)
    rows = np.arange(len(splits))[:, None]
    options[rows, place] = descending
    option_of = (splits[:, :, None] == options[:, None, :]).argmax(axis=2).astype(np.uint8)
    return options, option_of


class _Tabulated:
    """Up to eight five-card predicates as two lookup tables of bit masks."""

    def __init__(self, predicates: Sequence[Predicate], multisets: NDArray[np.uint8]) -> None:
        suits = list(product(range(4), repeat=HAND_SIZE))
        self._by_ranks = _masks([p.by_ranks for p in predicates], multisets.tolist())
        self._by_suits = _masks([p.by_suits for p in predicates], suits)

    def __call__(self, hands: NDArray[np.uint8], multiset: NDArray[np.int16]) -> NDArray[np.uint8]:
        """Bit i of each mask: whether the i-th predicate holds; uint8 (n,)."""
        return self._by_ranks[multiset] & self._by_suits[_suit_index(hands)]


def _masks(
    conditions: Sequence[Condition | None], rows: Sequence[Sequence[int]]
) -> NDArray[np.uint8]:
    """Bit i of each row's mask: whether it meets the i-th condition, or there is none."""
    masks = np.zeros(len(rows), dtype=np.uint8)
    for bit, condition in enumerate(conditions):
        holds = [condition is None or condition(row) for row in rows]
        masks |= np.array(holds, dtype=np.uint8) << bit
    return masks


def _split_table(multisets: NDArray[np.uint8], rules: RuleSet) -> NDArray[np.uint8]:
    """Ranks of the ten settings of ascending card ranks (n, 5); uint8 (n, 10).

    Specials that see suits are left out.
    """
    points = np.array(list(rules.values.values()))[multisets]
    result = np.zeros((len(multisets), len(SPLITS)), dtype=np.uint8)
    for k, split in enumerate(SPLITS):
        behind = [i for i in range(HAND_SIZE) if i not in split]
        is_niu = points[:, behind].sum(axis=1) % rules.base.multiple_of == 0
        if rules.base.three_of_a_kind:  # of ascending ranks
            is_niu |= multisets[:, behind[0]] == multisets[:, behind[-1]]
        front = points[:, split].sum(axis=1) % 10
        result[is_niu, k] = np.where(front == 0, 10, front)[is_niu]
        for index, special in enumerate(rules.specials, start=11):
            if special.is_front:
                condition = FRONT_PREDICATES[special.predicate][1]
                pairs = np.array([[condition((a, b)) for b in range(13)] for a in range(13)])
                result[is_niu & pairs[multisets[:, split[0]], multisets[:, split[1]]], k] = index
    for index, special in enumerate(rules.specials, start=11):
        predicate = PREDICATES.get(special.predicate)
        if predicate is not None and predicate.by_ranks and predicate.by_suits is None:
            holds = np.array([predicate.by_ranks(row) for row in multisets.tolist()])
            result[holds] = np.maximum(result[holds], index)
    return result


_RANKERS: dict[str, Ranker] = {}


def ranker(rules: RuleSet) -> Ranker:
    """The tables of a rule set's ranking, made once per ``ranking_hash``."""
    if rules.ranking_hash not in _RANKERS:
        _RANKERS[rules.ranking_hash] = Ranker(rules)
    return _RANKERS[rules.ranking_hash]
