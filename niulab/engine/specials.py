"""Named predicates on hands: the vocabulary from which rules files build specials and awards.

A five-card predicate is a condition on the five ranks and a condition on the five suits, so it can
be read card by card (``holds``) and tabulated apart, by rank multiset and by suit tuple. A front
predicate looks at the two cards of an arrangement instead, so how a hand is set matters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

__all__ = [
    "FRONT_PREDICATES",
    "PREDICATES",
    "Condition",
    "Predicate",
    "has_front_pair",
    "points_of_rank",
]

Condition = Callable[[Sequence[int]], bool]
_TEN, _JACK = 9, 10  # ranks, as in cards.py
_CLUBS, _SPADES = 1, 3


@dataclass(frozen=True)
class Predicate:
    """A five-card condition; ``by_ranks`` and ``by_suits`` take the five ranks / suits."""

    text: str
    by_ranks: Condition | None = None
    by_suits: Condition | None = None

    def holds(self, card_ids: Sequence[int]) -> bool:
        """Say whether five card ids satisfy the predicate."""
        ranks = [card // 4 for card in card_ids]
        suits = [card % 4 for card in card_ids]
        return (self.by_ranks is None or self.by_ranks(ranks)) and (
            self.by_suits is None or self.by_suits(suits)
        )


def points_of_rank(rank: int) -> int:
    """Printed points of a rank 0..12: ace 1, 2-9 as printed, 10, J, Q, K ten."""
    return min(rank + 1, 10)


def _shape(ranks: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(Counter(ranks).values(), reverse=True))


def _total(ranks: Sequence[int]) -> int:
    return sum(points_of_rank(rank) for rank in ranks)


def _n_faces(ranks: Sequence[int]) -> int:
    return sum(rank >= _JACK for rank in ranks)


def _is_straight(ranks: Sequence[int]) -> bool:
    return _shape(ranks) == (1, 1, 1, 1, 1) and max(ranks) - min(ranks) == len(ranks) - 1


def _is_niu_niu(ranks: Sequence[int]) -> bool:
    total = _total(ranks)
    return total % 10 == 0 and any(
        (points_of_rank(a) + points_of_rank(b)) % 10 == 0 for a, b in combinations(ranks, 2)
    )


def _is_one_suit(suits: Sequence[int]) -> bool:
    return len(set(suits)) == 1


def has_front_pair(front_ranks: Sequence[int]) -> bool:
    """Say whether the two front cards are of one rank."""
    return front_ranks[0] == front_ranks[1]


PREDICATES: dict[str, Predicate] = {
    "five_faces": Predicate("all five cards are J, Q or K", lambda r: min(r) >= _JACK),
    "four_faces": Predicate("exactly four cards are J, Q or K", lambda r: _n_faces(r) == 4),
    "four_faces_and_ten": Predicate(
        "four of J, Q, K and one 10", lambda r: _n_faces(r) == 4 and min(r) == _TEN
    ),
    "five_tens": Predicate("all five cards are 10, J, Q or K", lambda r: min(r) >= _TEN),
    "five_small": Predicate(
        "all cards at most 5 and their total at most 10",
        lambda r: max(r) <= 4 and _total(r) <= 10,
    ),
    "five_small_below_five": Predicate(
        "all cards below 5 and their total at most 10",
        lambda r: max(r) <= 3 and _total(r) <= 10,
    ),
    "all_ace_to_four": Predicate("all five cards are A, 2, 3 or 4", lambda r: max(r) <= 3),
    "four_of_a_kind": Predicate("four cards of one rank", lambda r: max(_shape(r)) >= 4),
    "full_house": Predicate("three of one rank, two of another", lambda r: _shape(r) == (3, 2)),
    "straight": Predicate("five ranks in a row, ace low", _is_straight),
    "flush": Predicate("five cards of one suit", by_suits=_is_one_suit),
    "straight_flush": Predicate("a straight of one suit", _is_straight, _is_one_suit),
    "all_spades": Predicate("five spades", by_suits=lambda s: set(s) == {_SPADES}),
    "all_black": Predicate(
        "five cards of clubs or spades", by_suits=lambda s: set(s) <= {_CLUBS, _SPADES}
    ),
    "any_niu_niu": Predicate("a plain Niu Niu can be set from the five cards", _is_niu_niu),
}
"""Five-card predicates by the name a rules file uses."""

FRONT_PREDICATES: dict[str, tuple[str, Condition]] = {
    "pair_in_front": ("a qualifying base behind a pair of one rank", has_front_pair),
}
"""Predicates of a set hand with a qualifying base; they take the ranks of the two front cards."""
