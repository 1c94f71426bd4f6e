"""What a round is worth once one card is known before the stake goes in: exact, by position.

A known own card weighs every deal by the places of the player's hand that show it. The dealer's
card follows from it: where only ranks count, by exchanging the two hands, otherwise as the deals in
which neither the rest of the shoe nor the player has it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from niulab.engine.cards import N_CARDS, RANKS, SUITS, Card
from niulab.engine.rules.model import RuleSet
from niulab.engine.settlement import Outcome
from niulab.errors import CardError, RulesError, nearest
from niulab.solvers.joint_law import Cell, JointLaw, counted_law, joint_law, tie_outcomes
from niulab.solvers.matchups import Matchups, exact_dot, matchups
from niulab.solvers.values import bonus_ev

__all__ = ["CardClass", "Position", "card_class", "law_given_card", "value_given_card"]

CardClass: TypeAlias = str | int | Iterable[str | int]
Position: TypeAlias = Literal["own", "dealer"]

_OPPOSITE = {Outcome.WIN: Outcome.LOSE, Outcome.PUSH: Outcome.PUSH, Outcome.LOSE: Outcome.WIN}
_COLORS = {"RED": "DH", "BLACK": "CS"}
_SUIT_NAMES = {"DIAMONDS": "D", "CLUBS": "C", "HEARTS": "H", "SPADES": "S"}


def card_class(card: CardClass) -> tuple[int, ...]:
    """The ids of a card (``"KS"``, an id), a rank (``"K"``), a color (``"red"``), a suit
    (``"spades"``, ``"S"``) or of several of these (``"J Q K"``, a list), ascending.
    """
    if isinstance(card, str):
        ids = {i for word in card.replace(",", " ").split() for i in _ids_of(word)}
    elif isinstance(card, Iterable) and not isinstance(card, Card):
        ids = {i for one in card for i in card_class(one)}
    else:
        ids = {Card.of(card).id}
    if not ids:
        message = f"{card!r} names no card: write a card ('KS'), a rank ('K') or a color ('red')"
        raise CardError(message)
    return tuple(sorted(ids))


def law_given_card(rules: RuleSet, card: CardClass, position: Position = "own") -> JointLaw:
    """The law of a round given that one card of the player's / the dealer's hand is of a class.

    The card is that of one place of the hand, whatever the place; ``card`` is read as
    ``card_class`` does, and of a class no more is known than that the card is in it. Both hands are
    set best. Counts are deals times places; a law given a dealer's card counts ``rank_hands`` in
    deals too. Given a dealer's card, a sheet with bonus boxes or ``hand_pays`` sweeps the hands
    once per card of the class (about a second each, kept). Raises CardError for cards the shoe does
    not hold.
    """
    return _law_given(rules, _held(rules, card), position, by_events=bool(rules.events))


def value_given_card(
    rules: RuleSet, box: str, card: CardClass, position: Position = "own"
) -> Fraction:
    """EV per unit of ``box`` given that one card of the player's / the dealer's hand is known.

    Conventions as in ``law_given_card``: a rank is the mean over its suits. Raises RulesError for
    an unknown box and CardError for cards the shoe does not hold.
    """
    if box not in rules.boxes:
        message = f"no box '{box}' in {rules.name}{nearest(box, rules.boxes)}"
        raise RulesError(message)
    terms, ids = rules.boxes[box], _held(rules, card)
    if position == "dealer" and terms.is_bonus:  # the same without a sweep
        copies = rules.deck.composition
        total = sum(
            (copies[i] * bonus_ev(rules, box, _without(rules, i)) for i in ids), Fraction(0)
        )
        return total / sum(copies[i] for i in ids)
    law = _law_given(rules, ids, position, by_events=terms.is_bonus or bool(terms.hand_pays))
    total = sum((n * cell.unit(rules, box).net for cell, n in law.cells.items()), Fraction(0))
    return total / law.n_deals


def _ids_of(word: str) -> list[int]:
    name = word.upper()
    if name in RANKS:
        return [4 * RANKS.index(name) + suit for suit in range(4)]
    suits = _COLORS.get(name) or _SUIT_NAMES.get(name) or (name if name in set(SUITS) else "")
    if suits:
        return [4 * rank + SUITS.index(suit) for rank in range(len(RANKS)) for suit in suits]
    return [Card.of(word).id]


def _held(rules: RuleSet, card: CardClass) -> tuple[int, ...]:
    """The cards of a class that the shoe holds."""
    ids = card_class(card)
    held = tuple(card_id for card_id in ids if rules.deck.composition[card_id])
    if not held:
        removed = ", ".join(rules.deck.removed_ranks)
        message = (
            f"{card!r} is not in the shoe of {rules.name}, which holds no {removed}: "
            "name another card"
        )
        raise CardError(message)
    return held


def _law_given(
    rules: RuleSet, ids: tuple[int, ...], position: Position, *, by_events: bool
) -> JointLaw:
    """The law given a card; without ``by_events`` masks may be 0."""
    if position == "own":
        return _given_own(rules, ids, tie_outcomes(rules), by_events=by_events)
    if by_events:
        return _laid_out(rules, _given_dealers_with_events(rules, ids))
    ties = [_OPPOSITE[tie] for tie in tie_outcomes(rules)]
    seen = _given_own(rules, ids, ties, by_events=False)
    cells: Counter[Cell] = Counter()
    for cell, n in seen.cells.items():  # as the dealer sees it, so the hands change places
        cells[Cell(cell.dealer_rank, cell.player_rank, _OPPOSITE[cell.outcome])] += n
    return _laid_out(rules, cells)


def _given_own(
    rules: RuleSet, ids: tuple[int, ...], ties: Sequence[Outcome], *, by_events: bool
) -> JointLaw:
    table, is_seen = matchups(rules), np.zeros(N_CARDS, dtype=np.int64)
    is_seen[list(ids)] = 1
    if table.is_grouped and not by_events and _is_of_ranks(is_seen):
        return _given_own_ranks(rules, is_seen, ties)
    # a hand holds a card m times in m of its five (exchangeable) places
    places = sum(is_seen[column] for column in table.hands.T)
    return counted_law(rules, replace(table, weights=table.weights * places), ties)


def _is_of_ranks(is_seen: NDArray[np.int64]) -> bool:
    """Whether a class of cards holds whole ranks only."""
    by_rank = is_seen.reshape(len(RANKS), len(SUITS))
    return bool((by_rank == by_rank[:, :1]).all())


def _given_own_ranks(
    rules: RuleSet, is_seen: NDArray[np.int64], ties: Sequence[Outcome]
) -> JointLaw:
    """The same law, summed over multisets of ranks: a few thousand rows in place of all hands."""
    table, sizes = _summed_by_class(rules)
    places = sum(is_seen[column] for column in table.hands.T)
    law = counted_law(rules, replace(table, weights=np.asarray(places, dtype=np.int64)), ties)
    ranks = tuple(
        exact_dot(sizes * places, table.ranks == rank) for rank in range(len(rules.ranks))
    )
    return replace(law, rank_hands=ranks, n_hands=sum(ranks))


_BY_CLASS: dict[str, tuple[Matchups, NDArray[np.int64]]] = {}


def _summed_by_class(rules: RuleSet) -> tuple[Matchups, NDArray[np.int64]]:
    """Counts summed over the hands of each class, best setting only, and how many hands it has."""
    if rules.ranking_hash not in _BY_CLASS:
        table = matchups(rules)
        n = len(table.class_counts)
        first = np.zeros(n, dtype=np.int64)
        first[table.class_of[::-1]] = np.arange(len(table.class_of))[::-1]
        sums = [
            np.rint(np.bincount(table.class_of, weights=table.weights * column, minlength=n))
            for column in (np.ones(len(table.class_of)), table.less[:, 0], table.equal[:, 0])
        ]  # all far below 2**53, so the doubles are exact
        sizes, less, equal = (total.astype(np.int64) for total in sums)
        summed = Matchups(
            hands=table.hands[first],
            weights=np.ones(n, dtype=np.int64),
            ranks=table.ranks[first],
            events=np.zeros(n, dtype=np.uint8),
            options=table.options[first],
            option_of=table.option_of[first],
            class_counts=np.vstack(
                [
                    table.class_counts.astype(np.int64) * sizes[:, None],
                    np.zeros((1, len(rules.ranks)), dtype=np.int64),
                ]
            ),
            class_of=np.arange(n, dtype=np.int32),
            less=less[:, None],
            equal=equal[:, None],
            n_opponents=table.n_opponents,
        )
        _BY_CLASS[rules.ranking_hash] = summed, sizes
    return _BY_CLASS[rules.ranking_hash]


def _given_dealers_with_events(rules: RuleSet, ids: tuple[int, ...]) -> Counter[Cell]:
    """All deals, less those in which the card is in no hand and those in which the player has it,
    for each copy of each card.
    """
    cells: Counter[Cell] = Counter()
    for card_id in ids:
        copies = rules.deck.composition[card_id]
        without = joint_law(rules, _without(rules, card_id))
        for law, times in ((joint_law(rules), copies), (without, -copies)):
            for cell, n in law.cells.items():
                cells[cell] += times * n
    cells.subtract(_given_own(rules, ids, tie_outcomes(rules), by_events=True).cells)
    return cells


def _laid_out(rules: RuleSet, cells: Counter[Cell]) -> JointLaw:
    held = {cell: n for cell, n in sorted(cells.items()) if n}
    by_rank = Counter[int]()
    for cell, n in held.items():
        by_rank[cell.player_rank] += n
    ranks = tuple(by_rank[rank] for rank in range(len(rules.ranks)))
    return JointLaw(rules, held, ranks, sum(ranks))


def _without(rules: RuleSet, card_id: int) -> list[int]:
    """The shoe less one copy of a card."""
    copies = list(rules.deck.composition)
    copies[card_id] -= 1
    return copies
