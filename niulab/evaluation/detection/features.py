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

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from niulab.engine.cards import HAND_SIZE, N_CARDS, RANKS
from niulab.engine.keysums import packed_keys, rank_tables
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
    "are_known",
    "award_law",
    "best_own_ranks",
    "card_law",
    "card_values",
    "judged",
    "least_stakes",
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

_MET_SLOTS = (RESULT, OWN_RANK, AWARD)
_N_MET = len(_MET_SLOTS)

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


def least_stakes(rules: RuleSet) -> Floats:
    """Cents on each of the main boxes of who stakes no more than the sheet requires, (3,)."""
    required = rules.required_box
    least = rules.boxes[required].minimum_cents if required is not None else 0
    return np.array([float(least), 0.0, 0.0])


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
    """EV per unit of a box given the rank of the own hand, both set best, (n_ranks,); kept."""
    key = rules.rules_hash, box
    if key not in _RANK_VALUES:
        law = joint_law(rules)
        nets, counts = np.zeros(len(rules.ranks)), np.zeros(len(rules.ranks))
        for cell, n in law.cells.items():
            nets[cell.player_rank] += n * float(cell.unit(rules, box).net)
            counts[cell.player_rank] += n
        _RANK_VALUES[key] = nets / np.maximum(counts, 1)
    return _RANK_VALUES[key]


_RANK_VALUES: dict[tuple[str, str], Floats] = {}


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
    levels = np.full((len(plays), _N_MET), -1, dtype=np.int16)
    known = judged(plays) & are_known(hands)
    for rules, rows in _rows_by_sheet(plays, sheets, known):
        _meet(rules, rows, hands, None, levels)
    return levels[:, 1]


def judged(plays: Plays) -> NDArray[np.bool_]:
    """Rows that count: not void, no card twice, a sheet that is known; (n,)."""
    counts: NDArray[np.bool_] = (plays.flags & int(_LEFT_OUT)) == 0
    return counts


def are_known(hands: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Whether all five cards of each hand (n, 5) are recorded, (n,); by columns, which are long."""
    known: NDArray[np.bool_] = np.logical_and.reduce([column < NO_CARD for column in hands.T])
    return known


def result_cells(
    rules: RuleSet, cards: NDArray[np.uint8], dealer_cards: NDArray[np.uint8]
) -> NDArray[np.int16]:
    """The place in ``result_law(rules).cells`` of rounds given by their hands (n, 5); int16 (n,).

    Both hands are set best, whatever the players did.
    """
    levels = np.empty((len(cards), _N_MET), dtype=np.int16)
    _meet(rules, np.arange(len(cards)), cards, dealer_cards, levels)
    return levels[:, 0]


def slot_levels(
    plays: Plays, sheets: Sequence[RuleSet], slots: Collection[str] = SLOTS
) -> NDArray[np.int16]:
    """Levels (n, len(SLOTS)) of every row; ``sheets`` by the code of a row's rules.

    slots: those that are asked for; others may stay -1. Rows that are void, hold a card twice or
    lie under an unknown sheet have no levels.
    """
    from niulab.evaluation.detection.kernels import card_levels

    levels = np.empty((len(plays), len(SLOTS)), dtype=np.int16)
    is_known = np.empty(len(plays), dtype=np.bool_)
    has_low = not set(slots).isdisjoint(LOW_SLOTS)
    card_levels(
        plays.cards, plays.dealer_cards, plays.flags, int(_LEFT_OUT), int(Flag.NO_ORDER), has_low,
        levels, is_known,
    )  # fmt: skip
    if not set(slots).isdisjoint(_MET_SLOTS):
        for rules, rows in _rows_by_sheet(plays, sheets, is_known):
            _meet(rules, rows, plays.cards, plays.dealer_cards, levels[:, -_N_MET:])
    return levels


def _rows_by_sheet(
    plays: Plays, sheets: Sequence[RuleSet], is_known: NDArray[np.bool_]
) -> Iterator[tuple[RuleSet, NDArray[np.int64]]]:
    """Each sheet that is played and its rows among those that are known."""
    for code, rules in enumerate(sheets):
        rows = np.flatnonzero(is_known & (plays.rules == code))
        if len(rows):
            yield rules, rows


def _meet(
    rules: RuleSet,
    rows: NDArray[np.int64],
    hands: NDArray[np.uint8],
    others: NDArray[np.uint8] | None,
    levels: NDArray[np.int16],
) -> None:
    """Write the levels (n, 3) of ``_MET_SLOTS`` at ``rows``; no results without ``others``."""
    from niulab.engine.showdown import meet_rows

    tables, n = rank_tables(rules), len(rules.ranks)
    if others is None:
        others, places = hands, np.full(3 * n * n, -1, dtype=np.int16)
    else:
        places = _places_of(rules)
    meet_rows(
        rows, hands, others, np.arange(N_CARDS, dtype=np.uint8), tables, packed_keys(tables),
        (n * n, n, 1), places, bool(rules.events), levels,
    )  # fmt: skip


_PLACES: dict[str, NDArray[np.int16]] = {}


def _places_of(rules: RuleSet) -> NDArray[np.int16]:
    """Place in ``result_law`` by verdict (lose, an exact tie, win), rank and dealer's rank; kept.

    (3 * n_ranks**2,), -1 where there is no such cell.
    """
    if rules.rules_hash not in _PLACES:
        n, ties = len(rules.ranks), tie_outcomes(rules)
        places = np.full((3, n, n), -1, dtype=np.int16)
        found = {cell: place for place, cell in enumerate(result_law(rules).cells)}
        for verdict, rank, dealer_rank in np.ndindex(places.shape):
            outcome = ties[rank] if verdict == Outcome.PUSH else Outcome(verdict)
            cell = Cell(rank, dealer_rank, outcome)
            places[verdict, rank, dealer_rank] = found.get(cell, -1)
        _PLACES[rules.rules_hash] = places.ravel()
    return _PLACES[rules.rules_hash]
