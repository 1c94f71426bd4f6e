"""Classes of cards that a sheet does not tell apart: for its ranks, or for its events.

Two card ranks are of one class if, whatever the other four cards are, either makes the same of the
hand; suits likewise. A composition then counts only by class, and a few thousand multisets of
classes stand for all hands of the shoe.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from niulab.engine.cards import HAND_SIZE, RANKS, SUITS
from niulab.engine.ranking import ranker
from niulab.engine.rules.model import RuleSet
from niulab.engine.specials import PREDICATES, Condition
from niulab.errors import RulesError

__all__ = ["CardClasses", "event_classes", "rank_classes"]

_MOST_CLASSES = 24
"""C(28, 5) = 98,280 multisets of five cards."""


@dataclass(frozen=True, eq=False)
class CardClasses:
    """A partition of the 52 card ids.

    class_of: int64 (52,). names: one per class, as ("A 2 3 of D C", ...). multisets: int64 (m, k),
    how many cards of each of the k classes a hand has. hands: uint8 (m, 5), an ascending hand of
    card ids for each multiset; one card stands for its class, so it may be there five times.
    """

    class_of: NDArray[np.int64]
    names: tuple[str, ...]
    multisets: NDArray[np.int64]
    hands: NDArray[np.uint8]

    @property
    def n(self) -> int:
        """Number of classes."""
        return len(self.names)

    def count(self, left: NDArray[np.integer]) -> NDArray[np.int64]:
        """Cards by class, (n, k), of cards by id, (n, 52)."""
        is_in = self.class_of[:, None] == np.arange(self.n)
        counts: NDArray[np.int64] = left.astype(np.int64) @ is_in.astype(np.int64)
        return counts


_KEPT: dict[tuple[str, str], CardClasses] = {}


def event_classes(rules: RuleSet) -> CardClasses:
    """The classes that the events of a sheet, and so its bonus boxes, tell apart."""
    key = ("events", rules.rules_hash)
    if key not in _KEPT:
        _KEPT[key] = _event_classes(rules)
    return _KEPT[key]


def rank_classes(rules: RuleSet) -> CardClasses:
    """The classes that the ranks of a sheet tell apart; raises RulesError if these see suits."""
    key = ("ranks", rules.ranking_hash)
    if key not in _KEPT:
        _KEPT[key] = _rank_classes(rules)
    return _KEPT[key]


def _event_classes(rules: RuleSet) -> CardClasses:
    predicates = [PREDICATES[name] for name in rules.events]
    by_ranks = [p.by_ranks for p in predicates if p.by_ranks is not None]
    by_suits = [p.by_suits for p in predicates if p.by_suits is not None]
    return _product(_partition(13, by_ranks), _partition(4, by_suits), rules)


def _rank_classes(rules: RuleSet) -> CardClasses:
    table = ranker(rules)
    if table.sees_suits:
        raise RulesError(
            f"ranks of '{rules.name}' depend on suits: the law of a depleted shoe has no short form"
        )
    best = table.split_table.max(axis=1)
    rank_of = dict(zip(map(tuple, table.multisets.tolist()), best.tolist(), strict=True))
    conditions: list[Condition] = [
        lambda ranks, rank=rank: rank_of[tuple(ranks)] >= rank  # type: ignore[misc]
        for rank in range(1, table.n_ranks)
    ]
    return _product(_partition(13, conditions), [0] * 4, rules)


def _partition(n: int, conditions: Sequence[Condition]) -> list[int]:
    """The class of each of n values, numbered from 0: those that no condition tells apart."""
    others = list(combinations_with_replacement(range(n), HAND_SIZE - 1))
    seen: dict[tuple[int, ...], int] = {}
    classes = []
    for value in range(n):
        made = tuple(
            int(condition(sorted((*four, value)))) for condition in conditions for four in others
        )
        classes.append(seen.setdefault(made, len(seen)))
    return classes


def _product(by_rank: Sequence[int], by_suit: Sequence[int], rules: RuleSet) -> CardClasses:
    """Classes of cards from classes of ranks and of suits."""
    n_suits = max(by_suit) + 1
    class_of = np.array([by_rank[c // 4] * n_suits + by_suit[c % 4] for c in range(52)])
    k = int(class_of.max()) + 1
    if k > _MOST_CLASSES:
        raise RulesError(
            f"'{rules.name}' tells {k} classes of cards apart, and laws of depleted shoes are "
            f"counted by at most {_MOST_CLASSES}: simulate it"
        )
    names, cards = [], []
    for number in range(k):
        ids = np.flatnonzero(class_of == number)
        cards.append(int(ids[0]))
        ranks = " ".join(RANKS[rank] for rank in np.unique(ids // 4))
        suits = " ".join(SUITS[suit] for suit in np.unique(ids % 4))
        names.append(ranks if n_suits == 1 else f"{ranks} of {suits}")
    picks = np.array(list(combinations_with_replacement(range(k), HAND_SIZE)))
    multisets = (picks[:, :, None] == np.arange(k)).sum(axis=1)
    hands = np.sort(np.array(cards)[picks], axis=1).astype(np.uint8)
    return CardClasses(class_of, tuple(names), multisets, hands)
