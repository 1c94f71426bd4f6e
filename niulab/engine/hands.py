"""The readable reference evaluator: what a set hand is worth, card by card, as the sheets say.

It favors clarity over speed; ``ranking`` computes the same for millions of hands at once, and the
tests hold the two against each other on every hand.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from niulab.engine.cards import RANKS
from niulab.engine.rules.model import PLAIN_RANKS, Order, RuleSet
from niulab.engine.specials import FRONT_PREDICATES, PREDICATES

__all__ = [
    "KEY_SPAN",
    "SPLITS",
    "Arrangement",
    "arrange",
    "arrangements",
    "best_arrangement",
    "card_key",
    "is_base",
    "strength",
    "tie_key",
]

SPLITS: tuple[tuple[int, int], ...] = tuple(combinations(range(5), 2))
"""The ten settings of a hand: positions of the two front cards, in lexicographic order."""

_BEHIND = {front: tuple(i for i in range(5) if i not in front) for front in SPLITS}

KEY_SPAN = 52**5
"""Tie keys lie below it: ``strength = rank_index * KEY_SPAN + tie_key``."""

_PAIR_SPAN = 14


@dataclass(frozen=True)
class Arrangement:
    """Five cards as set: three behind (base), two in front (pair), and the rank that results."""

    base: tuple[int, int, int]
    pair: tuple[int, int]
    rank_index: int
    rules: RuleSet

    @cached_property
    def strength(self) -> int:
        """One integer that totally orders set hands; equal strengths are an exact tie."""
        return strength((*self.base, *self.pair), self.rank_index, self.rules.order)

    @property
    def rank(self) -> str:
        """Name of the rank."""
        return self.rules.ranks[self.rank_index]

    @cached_property
    def has_base(self) -> bool:
        """Whether the three cards behind qualify."""
        return is_base(self.base, self.rules)

    @property
    def shown_base(self) -> tuple[int, ...]:
        """Cards shown behind: the base, or nothing for a hand shown as high card."""
        return self.base if self.has_base else ()

    @property
    def shown_pair(self) -> tuple[int, ...]:
        """Cards shown in front: the pair, or the highest card of a hand without a base."""
        if self.has_base:
            return self.pair
        order = self.rules.order
        return (max((*self.base, *self.pair), key=lambda card: (card_key(card, order), card)),)


def is_base(cards: Sequence[int], rules: RuleSet) -> bool:
    """Say whether three cards qualify as a base."""
    total = sum(rules.values[RANKS[card // 4]] for card in cards)
    if total % rules.base.multiple_of == 0:
        return True
    return rules.base.three_of_a_kind and len({card // 4 for card in cards}) == 1


def arrange(cards: Sequence[int], pair_positions: tuple[int, int], rules: RuleSet) -> Arrangement:
    """Set five cards with the cards at ``pair_positions`` in front."""
    return _set(cards, pair_positions, rules, _five_card_rank(cards, rules))


def arrangements(cards: Sequence[int], rules: RuleSet) -> tuple[Arrangement, ...]:
    """All ten settings of a hand, in the order of ``SPLITS``."""
    least = _five_card_rank(cards, rules)
    return tuple(_set(cards, split, rules, least) for split in SPLITS)


def best_arrangement(cards: Sequence[int], rules: RuleSet) -> Arrangement:
    """The strongest setting (the first of equals), which is how the dealer sets."""
    least = _five_card_rank(cards, rules)

    # settings of one rank have the same cards, so the same strength
    def rank(split: tuple[int, int]) -> int:
        return max(least, _rank_as_set(*_split(cards, split), rules))

    return _set(cards, max(SPLITS, key=rank), rules, least)


def _split(
    cards: Sequence[int], front: tuple[int, int]
) -> tuple[tuple[int, int, int], tuple[int, int]]:
    """The three cards behind and the two in front."""
    first, second = front
    a, b, c = _BEHIND[front]
    return (cards[a], cards[b], cards[c]), (cards[first], cards[second])


def _set(
    cards: Sequence[int], pair_positions: tuple[int, int], rules: RuleSet, least_rank: int
) -> Arrangement:
    base, pair = _split(cards, pair_positions)
    return Arrangement(base, pair, max(least_rank, _rank_as_set(base, pair, rules)), rules)


def _five_card_rank(cards: Sequence[int], rules: RuleSet) -> int:
    """The highest special that the five cards are however they are set, or 0."""
    for index, special in reversed(list(enumerate(rules.specials, start=len(PLAIN_RANKS)))):
        if not special.is_front and PREDICATES[special.predicate].holds(cards):
            return index
    return 0


def _rank_as_set(base: Sequence[int], front: Sequence[int], rules: RuleSet) -> int:
    """The rank of a setting but for specials of all five cards."""
    if not is_base(base, rules):
        return 0
    for index, special in reversed(list(enumerate(rules.specials, start=len(PLAIN_RANKS)))):
        if special.is_front:
            _, condition = FRONT_PREDICATES[special.predicate]
            if condition([card // 4 for card in front]):
                return index
    return sum(rules.values[RANKS[card // 4]] for card in front) % 10 or 10


def card_key(card: int, order: Order) -> int:
    """A card's height 0..51: rank first, then suit; suits count 0 where they never decide."""
    rank, suit = divmod(card, 4)
    height = 13 if order.ace == "high" and rank == 0 else rank
    height = height - 1 if order.ace == "high" else height
    return 4 * height + (3 - order.suits.index("DCHS"[suit]) if order.suits else 0)


def tie_key(cards: Sequence[int], rank_index: int, order: Order) -> int:
    """What decides between hands of one rank, as an integer below ``52**5``; equal keys tie."""
    mode = order.mode_of(rank_index)
    keys = sorted((card_key(card, order) for card in cards), reverse=True)
    if mode == "high_card_then_suit":
        return keys[0]
    if mode == "suit_first":
        height, suit = divmod(keys[0], 4)
        return 13 * suit + height
    if mode == "card_by_card":
        return _digits(keys, 52)
    if mode == "pairs_then_cards":
        heights = [key // 4 for key in keys]
        paired = sorted((h for h, n in Counter(heights).items() if n >= 2), reverse=True)
        first, second = ([h + 1 for h in paired] + [0, 0])[:2]
        pairs = _digits([len(paired), first, second], _PAIR_SPAN)
        return pairs * 13**5 + _digits(heights, 13)
    return 0


def strength(cards: Sequence[int], rank_index: int, order: Order) -> int:
    """One integer that totally orders set hands; equal strengths are an exact tie."""
    return rank_index * KEY_SPAN + tie_key(cards, rank_index, order)


def _digits(values: Sequence[int], base: int) -> int:
    total = 0
    for value in values:
        total = total * base + value
    return total
