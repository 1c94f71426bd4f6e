"""The exact law of one seat's round: who wins, with which ranks, out of all ordered deals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from niulab.engine.rules.model import RuleSet
from niulab.engine.settlement import (
    Outcome,
    Settlement,
    UnitResult,
    settle,
    tie_outcome,
    unit_result,
)
from niulab.engine.wagers import Slip
from niulab.solvers.matchups import Matchups, exact_dot, matchups

__all__ = ["Cell", "JointLaw", "counted_law", "joint_law", "tie_outcomes"]


@dataclass(frozen=True, order=True)
class Cell:
    """What settlement needs to know of a deal; ``events`` is the player's event mask."""

    player_rank: int
    dealer_rank: int
    outcome: Outcome
    events: int = 0

    def settle(self, rules: RuleSet, slip: Slip) -> Settlement:
        """The slip settled in this cell, in cents."""
        return settle(
            rules,
            slip,
            outcome=self.outcome,
            player_rank=self.player_rank,
            dealer_rank=self.dealer_rank,
            events=self.events,
        )

    def unit(self, rules: RuleSet, box: str) -> UnitResult:
        """One unit staked on a box, settled exactly in this cell; kept."""
        kept = _UNITS.setdefault((rules.rules_hash, box), {})
        if self not in kept:
            kept[self] = unit_result(
                rules,
                box,
                outcome=self.outcome,
                player_rank=self.player_rank,
                dealer_rank=self.dealer_rank,
                events=self.events,
            )
        return kept[self]


_UNITS: dict[tuple[str, str], dict[Cell, UnitResult]] = {}


@dataclass(frozen=True, eq=False)
class JointLaw:
    """Counts of deals by cell, both hands best set; they add up to ``n_deals``."""

    rules: RuleSet
    cells: dict[Cell, int]
    rank_hands: tuple[int, ...]
    n_hands: int

    @cached_property
    def n_deals(self) -> int:
        """All ordered deals of two hands: 3,986,646,103,440 for one deck."""
        return sum(self.cells.values())

    def probability(self, outcome: Outcome) -> Fraction:
        """P(outcome) from the player's view."""
        return Fraction(sum(n for c, n in self.cells.items() if c.outcome == outcome), self.n_deals)

    def win_with(self, rank: int) -> Fraction:
        """P(the player wins and holds the rank)."""
        n = sum(
            n for c, n in self.cells.items() if c.outcome == Outcome.WIN and c.player_rank == rank
        )
        return Fraction(n, self.n_deals)

    def lose_to(self, rank: int) -> Fraction:
        """P(the dealer wins and holds the rank)."""
        n = sum(
            n for c, n in self.cells.items() if c.outcome == Outcome.LOSE and c.dealer_rank == rank
        )
        return Fraction(n, self.n_deals)


_PIECE_BITS = 26
_CACHE: dict[tuple[str, tuple[Outcome, ...], tuple[int, ...] | None], JointLaw] = {}


def tie_outcomes(rules: RuleSet) -> tuple[Outcome, ...]:
    """What two hands of equal strength are, by rank index: a push, or the dealer's."""
    return tuple(tie_outcome(rules.order, rank) for rank in range(len(rules.ranks)))


def joint_law(rules: RuleSet, composition: Sequence[int] | None = None) -> JointLaw:
    """The exact law of a round from the full shoe or a ``composition`` (copies of each card id).

    Kept per ranking and composition.
    """
    copies = None if composition is None else tuple(composition)
    key = (rules.ranking_hash, tie_outcomes(rules), copies)
    if key not in _CACHE:
        _CACHE[key] = counted_law(rules, matchups(rules, composition), key[1])
    law = _CACHE[key]
    return JointLaw(rules, law.cells, law.rank_hands, law.n_hands)


def counted_law(rules: RuleSet, table: Matchups, ties: Sequence[Outcome]) -> JointLaw:
    """The law that a table of counts adds up to, with exact ties as given by rank index.

    Other ``weights`` of the table's hands condition the law on them.
    """
    n_ranks, n_masks = len(rules.ranks), 1 << len(rules.events)
    rows = slice(None) if table.weights.all() else np.flatnonzero(table.weights)
    weights, ranks = table.weights[rows], table.ranks[rows]
    classes = ranks.astype(np.int16) * n_masks + table.events[rows]
    cells: dict[Cell, int] = {}

    def add(cell: Cell, n: int) -> None:
        if n:
            cells[cell] = cells.get(cell, 0) + n

    def by_class(counts: NDArray[np.signedinteger]) -> dict[tuple[int, int], int]:
        totals = _weighted_counts(classes, weights, counts[rows], n_ranks * n_masks)
        return {divmod(index, n_masks): n for index, n in enumerate(totals)}

    less, equal = by_class(table.less[:, 0]), by_class(table.equal[:, 0])
    met = _grouped_counts(table, n_masks) if table.is_grouped else None
    for dealer in range(n_ranks):
        counts = by_class(table.counts[:, dealer]) if met is None else met[dealer]
        for (player, events), n in counts.items():
            if player > dealer:
                add(Cell(player, dealer, Outcome.WIN, events), n)
            elif player < dealer:
                add(Cell(player, dealer, Outcome.LOSE, events), n)
            else:
                lower, same = less[player, events], equal[player, events]
                add(Cell(player, dealer, Outcome.WIN, events), lower)
                add(Cell(player, dealer, ties[player], events), same)
                add(Cell(player, dealer, Outcome.LOSE, events), n - lower - same)
    return JointLaw(
        rules=rules,
        cells=dict(sorted(cells.items())),
        rank_hands=tuple(exact_dot(weights, ranks == rank) for rank in range(n_ranks)),
        n_hands=int(weights.sum()),
    )


def _grouped_counts(table: Matchups, n_masks: int) -> list[dict[tuple[int, int], int]]:
    """Deals by dealer's rank, and by the player's rank and event mask.

    Hands of a class meet the same opponents, so their weights are added up first: a few thousand
    classes in place of all hands.
    """
    keys = table.class_of.astype(np.int64) * n_masks + table.events
    weights = np.array(
        _weighted_counts(keys, table.weights, np.ones(1, dtype=np.int64), int(keys.max()) + 1),
        dtype=np.int64,
    )
    held = np.flatnonzero(weights)
    rank_of = np.zeros(len(table.class_counts), dtype=np.int64)
    rank_of[table.class_of] = table.ranks
    classes, masks = np.divmod(held, n_masks)
    places = rank_of[classes] * n_masks + masks
    found = [dict[tuple[int, int], int]() for _ in range(table.class_counts.shape[1])]
    for place in np.unique(places).tolist():
        mine = np.flatnonzero(places == place)
        # Python's integers: a product may need more than 64 bits
        totals = weights[held[mine]].astype(object) @ table.class_counts[classes[mine]]
        for of_dealer, n in zip(found, totals.tolist(), strict=True):
            of_dealer[divmod(place, n_masks)] = int(n)
    return found


def _weighted_counts(
    classes: NDArray[np.integer],
    weights: NDArray[np.int64],
    counts: NDArray[np.signedinteger],
    n_classes: int,
) -> list[int]:
    """Exact sums of ``weights * counts`` by class, in 26-bit pieces that doubles hold exactly."""
    product = weights * counts
    totals, shift = [0] * n_classes, 0
    while True:
        is_last = int(product.max(initial=0)) < 1 << _PIECE_BITS
        piece = product if is_last else product & ((1 << _PIECE_BITS) - 1)
        sums = np.bincount(classes, weights=piece, minlength=n_classes)
        totals = [total + (int(n) << shift) for total, n in zip(totals, sums, strict=True)]
        if is_last:
            return totals
        product = product >> _PIECE_BITS
        shift += _PIECE_BITS
