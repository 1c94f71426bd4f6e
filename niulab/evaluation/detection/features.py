"""What was dealt, as levels with an exact law, and which levels favor a box.

    card0 .. card9     the card at a place of the deal: 0-4 the seat's own, 5-9 the dealer's
    own low, dealer low  how many of the five cards have a rank up to r (where the order dealt is
                       not recorded); one slot for each r
    result             the cell of the round, both hands set best
    own rank           the rank of the own hand, set best
    award              what the own hand meets of the sheet's awards, as a bit mask

Cards at a place are uniform over the deck. A level of -1 is not recorded: its factor is one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from niulab.engine.cards import HAND_SIZE, N_CARDS, RANKS
from niulab.engine.ranking import ranker
from niulab.engine.rules import RuleSet
from niulab.engine.settlement import Outcome
from niulab.errors import ConfigError
from niulab.evaluation.playlog.plays import NO_CARD, Flag, Plays, boxes_of
from niulab.solvers.information import Position, value_given_card
from niulab.solvers.joint_law import Cell, JointLaw, joint_law, tie_outcomes

__all__ = [
    "AWARD",
    "CARD_SLOTS",
    "LOW_SLOTS",
    "N_PLACES",
    "OWN_RANK",
    "RESULT",
    "SLOTS",
    "ResultLaw",
    "award_law",
    "best_own_ranks",
    "card_law",
    "card_values",
    "judged",
    "low_law",
    "rank_law",
    "rank_values",
    "result_cells",
    "result_law",
    "slot_levels",
    "top_box",
    "verify_one_deck",
]

N_PLACES = 2 * HAND_SIZE
"""Places of the deal between one seat and the dealer."""

CARD_SLOTS = tuple(f"card{place}" for place in range(N_PLACES))
LOW_SLOTS = tuple(f"{whose} low {r}" for whose in ("own", "dealer") for r in range(12))
RESULT, OWN_RANK, AWARD = "result", "own rank", "award"
SLOTS = (*CARD_SLOTS, *LOW_SLOTS, RESULT, OWN_RANK, AWARD)
"""Columns of ``slot_levels``."""

_POSITIONS: tuple[Position, ...] = ("own", "dealer")

_LEFT_OUT = Flag.CARD_TWICE | Flag.VOID | Flag.UNKNOWN_RULES

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ResultLaw:
    """Cells of a best-set round and their probabilities."""

    cells: tuple[Cell, ...]
    law: Floats


def verify_one_deck(rules: RuleSet) -> None:
    """Raise ConfigError unless every round is dealt from one full deck, as the tests assume."""
    deck = rules.deck
    if deck.decks != 1 or deck.reshuffle == "penetration" or sum(deck.composition) != N_CARDS:
        raise ConfigError(
            f"'{rules.name}' is not dealt from one full deck every round, on which the law of the "
            "cards rests: name a sheet of one deck, or leave its rounds out"
        )


def top_box(rules: RuleSet) -> int:
    """The column of BOXES with the highest odds that a hand's rank is paid at; kept."""
    if rules.rules_hash not in _TOP_BOXES:
        _TOP_BOXES[rules.rules_hash] = _find_top_box(rules)
    return _TOP_BOXES[rules.rules_hash]


_TOP_BOXES: dict[str, int] = {}


def _find_top_box(rules: RuleSet) -> int:
    columns = boxes_of(rules)
    best, place = -1.0, 0
    for column, box in enumerate(columns[:3]):
        if box is not None:
            odds = max(float(terms) for terms in _win_odds(rules, box))
            if odds > best:
                best, place = odds, column
    return place


def _win_odds(rules: RuleSet, box: str) -> list[float]:
    law = joint_law(rules)
    return [float(cell.unit(rules, box).moved) for cell in law.cells if cell.outcome == Outcome.WIN]


def card_law() -> Floats:
    """Probability of each card at any one place: uniform, (52,)."""
    return np.full(N_CARDS, 1 / N_CARDS)


_VALUES: dict[tuple[str, str], Floats] = {}
_RESULTS: dict[str, ResultLaw] = {}


def card_values(rules: RuleSet, box: str) -> Floats:
    """EV per unit of a box given the rank of one own card, and of one dealer's card, (2, 52).

    By card id, the mean over suits (see ``solvers.information``); kept.
    """
    key = rules.rules_hash, box
    if key not in _VALUES:
        rows = [
            [float(value_given_card(rules, box, rank, position)) for rank in RANKS]
            for position in _POSITIONS
        ]
        _VALUES[key] = np.repeat(rows, N_CARDS // len(RANKS), axis=1)
    return _VALUES[key]


def low_law(r: int) -> Floats:
    """Law of the number of cards of rank index up to ``r`` among five, (6,): hypergeometric."""
    low = 4 * (r + 1)
    ways = [comb(low, k) * comb(N_CARDS - low, HAND_SIZE - k) for k in range(HAND_SIZE + 1)]
    return np.array([way / comb(N_CARDS, HAND_SIZE) for way in ways])


def result_law(rules: RuleSet) -> ResultLaw:
    """The cells of ``joint_law`` without events, and their probabilities; kept."""
    if rules.rules_hash not in _RESULTS:
        _RESULTS[rules.rules_hash] = _plain_cells(joint_law(rules))
    return _RESULTS[rules.rules_hash]


def _plain_cells(law: JointLaw) -> ResultLaw:
    counts: dict[Cell, int] = {}
    for cell, n in law.cells.items():
        plain = Cell(cell.player_rank, cell.dealer_rank, cell.outcome)
        counts[plain] = counts.get(plain, 0) + n
    cells = tuple(sorted(counts))
    return ResultLaw(cells, np.array([counts[cell] / law.n_deals for cell in cells]))


def rank_law(rules: RuleSet) -> Floats:
    """Probability of each rank of one hand set best, (n_ranks,)."""
    law = joint_law(rules)
    return np.array([n / law.n_hands for n in law.rank_hands])


def rank_values(rules: RuleSet, box: str) -> Floats:
    """EV per unit of a box given the rank of the own hand, both hands set best, (n_ranks,)."""
    law = joint_law(rules)
    nets, counts = np.zeros(len(rules.ranks)), np.zeros(len(rules.ranks))
    for cell, n in law.cells.items():
        nets[cell.player_rank] += n * float(cell.unit(rules, box).net)
        counts[cell.player_rank] += n
    return nets / np.maximum(counts, 1)


def award_law(rules: RuleSet) -> Floats:
    """Probability of each event mask of one hand, (2**n_events,)."""
    law = joint_law(rules)
    counts = np.zeros(1 << len(rules.events))
    for cell, n in law.cells.items():
        counts[cell.events] += n
    return counts / law.n_deals


def best_own_ranks(
    plays: Plays, sheets: Sequence[RuleSet], hands: NDArray[np.uint8]
) -> NDArray[np.int16]:
    """Rank of each row's hand (n, 5) set best, -1 where a card or the sheet is missing; (n,)."""
    ranks = np.full(len(plays), -1, dtype=np.int16)
    known = judged(plays) & (hands < NO_CARD).all(axis=1)
    for code, rules in enumerate(sheets):
        rows = known & (plays.rules == code)
        if rows.any():
            ranks[rows] = ranker(rules).best_ranks(np.sort(hands[rows], axis=1))
    return ranks


def judged(plays: Plays) -> NDArray[np.bool_]:
    """Rows that count: not void, no card twice, a sheet that is known; (n,)."""
    counts: NDArray[np.bool_] = (plays.flags & int(_LEFT_OUT)) == 0
    return counts


def result_cells(
    rules: RuleSet, cards: NDArray[np.uint8], dealer_cards: NDArray[np.uint8]
) -> NDArray[np.int16]:
    """The place in ``result_law(rules).cells`` of rounds given by their hands (n, 5); int16 (n,).

    Both hands are set best, whatever the players did.
    """
    tables, known = ranker(rules), result_law(rules).cells
    own, other = np.sort(cards, axis=1), np.sort(dealer_cards, axis=1)
    ranks, dealer_ranks = tables.best_ranks(own), tables.best_ranks(other)
    keys, dealer_keys = tables.tie_keys(own, ranks), tables.tie_keys(other, dealer_ranks)
    ties = np.array([int(tie) for tie in tie_outcomes(rules)])[ranks]
    won, lost = int(Outcome.WIN), int(Outcome.LOSE)
    by_key = np.where(keys > dealer_keys, won, np.where(keys < dealer_keys, lost, ties))
    outcomes = np.where(ranks > dealer_ranks, won, np.where(ranks < dealer_ranks, lost, by_key))
    n = len(rules.ranks)
    places = np.full(n * n * len(Outcome), -1, dtype=np.int16)
    for place, cell in enumerate(known):
        places[(cell.player_rank * n + cell.dealer_rank) * len(Outcome) + cell.outcome] = place
    found: NDArray[np.int16] = places[
        (ranks.astype(np.int64) * n + dealer_ranks) * len(Outcome) + outcomes
    ]
    return found


def slot_levels(
    plays: Plays, sheets: Sequence[RuleSet], slots: Collection[str] = SLOTS
) -> NDArray[np.int16]:
    """Levels (n, len(SLOTS)) of every row; ``sheets`` by the code of a row's rules.

    slots: those that are asked for; others may stay -1. Rows that are void, hold a card twice or
    lie under an unknown sheet have no levels.
    """
    n = len(plays)
    levels = np.full((n, len(SLOTS)), -1, dtype=np.int16)
    counts = judged(plays)
    own, dealer = counts & _are_known(plays.cards), counts & _are_known(plays.dealer_cards)
    is_ordered = (plays.flags & int(Flag.NO_ORDER)) == 0
    for whose, hands, rows in ((0, plays.cards, own), (1, plays.dealer_cards, dealer)):
        dealt = rows & is_ordered
        first = whose * HAND_SIZE
        levels[dealt, first : first + HAND_SIZE] = hands[dealt]
        if not any(slot in slots for slot in LOW_SLOTS):
            continue
        ranks = hands[rows] // 4
        for r in range(12):
            levels[rows, N_PLACES + 12 * whose + r] = (ranks <= r).sum(axis=1)
    result, award = SLOTS.index(RESULT), SLOTS.index(AWARD)
    if OWN_RANK in slots:
        levels[:, SLOTS.index(OWN_RANK)] = best_own_ranks(plays, sheets, plays.cards)
    for code, rules in enumerate(sheets):
        rows = own & (plays.rules == code)
        if AWARD in slots and rules.events and rows.any():
            hands = np.sort(plays.cards[rows], axis=1)
            levels[rows, award] = ranker(rules).events(hands)
        rows &= dealer
        if RESULT in slots and rows.any():
            levels[rows, result] = result_cells(rules, plays.cards[rows], plays.dealer_cards[rows])
    return levels


def _are_known(hands: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Whether all five cards of each hand are recorded, (n,); by columns, which are long."""
    known: NDArray[np.bool_] = np.logical_and.reduce([column < NO_CARD for column in hands.T])
    return known
