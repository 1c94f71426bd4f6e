"""Levels of rows against the readable ranking, hand by hand."""

import numpy as np
import pytest

from niulab.engine.batch import BatchEngine
from niulab.engine.hands import best_arrangement
from niulab.engine.ranking import ranker
from niulab.engine.rules import load_rules
from niulab.engine.settlement import Outcome, tie_outcome
from niulab.evaluation.detection.features import (
    AWARD,
    OWN_RANK,
    RESULT,
    SLOTS,
    best_own_ranks,
    result_cells,
    result_law,
    slot_levels,
)
from niulab.evaluation.playlog.plays import NO_CARD, Flag, Plays, Vocabularies

SHEETS = (
    "single-double-super",  # the highest card, then its suit
    "even-double-super-bonus-suit-first",
    "ngau-ngau-hong-kong",  # pairs, then card by card
)


def dealt(names, n, seed=0):
    """Rows under the sheets in turn, some without a card, some void, some without the order."""
    sheets = [load_rules(name) for name in names]
    seeds = np.arange(n, dtype=np.uint64) + np.uint64(seed << 32)
    packets = BatchEngine(sheets[0]).deal(seeds, np.zeros(n, dtype=np.int64))
    cards, dealer_cards = packets[:, 0].copy(), packets[:, 1].copy()
    cards[::11, 3], dealer_cards[::7, 1] = NO_CARD, NO_CARD
    flags = np.zeros(n, dtype=np.uint16)
    flags[::13], flags[::5] = int(Flag.VOID), int(Flag.NO_ORDER)
    texts = Vocabularies(players=("p",), rules=tuple(sheet.name for sheet in sheets))
    codes = np.arange(n) % len(sheets)
    return sheets, Plays.of(
        n, texts, player=0, round=np.arange(n), rules=codes, cards=cards,
        dealer_cards=dealer_cards, flags=flags,
    )  # fmt: skip


def outcome_of(rules, cards, dealer_cards):
    """Ranks of two hands set best and how they end, from the readable ranking."""
    own, dealer = (best_arrangement(tuple(hand), rules) for hand in (cards, dealer_cards))
    outcome = Outcome.WIN if own.strength > dealer.strength else Outcome.LOSE
    if own.strength == dealer.strength:
        outcome = tie_outcome(rules.order, own.rank_index)
    return own.rank_index, dealer.rank_index, outcome


def test_levels_are_those_of_the_readable_ranking():
    sheets, plays = dealt(SHEETS, 600)
    levels = slot_levels(plays, sheets)
    for row in range(len(plays)):
        rules, level = sheets[plays.rules[row]], dict(zip(SLOTS, levels[row], strict=True))
        hands = {"own": plays.cards[row].tolist(), "dealer": plays.dealer_cards[row].tolist()}
        is_void = bool(plays.flags[row] & Flag.VOID)
        known = {w: not is_void and max(hand) < NO_CARD for w, hand in hands.items()}
        for whose, first in (("own", 0), ("dealer", 5)):
            has_order = known[whose] and not plays.flags[row] & Flag.NO_ORDER
            for j, card in enumerate(hands[whose]):
                assert level[f"card{first + j}"] == (card if has_order else -1)
            for r in range(12):
                low = sum(card // 4 <= r for card in hands[whose])
                assert level[f"{whose} low {r}"] == (low if known[whose] else -1)
        if not known["own"]:
            assert level[RESULT] == level[OWN_RANK] == level[AWARD] == -1
            continue
        ordered = np.sort(plays.cards[row : row + 1], axis=1)
        assert level[OWN_RANK] == best_arrangement(tuple(hands["own"]), rules).rank_index
        assert level[AWARD] == (ranker(rules).events(ordered)[0] if rules.events else -1)
        if known["dealer"]:
            cell = result_law(rules).cells[level[RESULT]]
            found = cell.player_rank, cell.dealer_rank, cell.outcome
            assert found == outcome_of(rules, hands["own"], hands["dealer"])
        else:
            assert level[RESULT] == -1


@pytest.mark.parametrize("name", SHEETS)
def test_results_and_ranks_by_themselves_are_the_same_levels(name):
    sheets, plays = dealt((name,), 300, seed=1)
    levels = slot_levels(plays, sheets)
    ranks = best_own_ranks(plays, sheets, plays.cards)
    assert (ranks == levels[:, SLOTS.index(OWN_RANK)]).all()
    rows = levels[:, SLOTS.index(RESULT)] >= 0
    cells = result_cells(sheets[0], plays.cards[rows], plays.dealer_cards[rows])
    assert (cells == levels[rows, SLOTS.index(RESULT)]).all()
    assert rows.sum() > 200


def test_slots_that_are_not_asked_for_stay_empty():
    sheets, plays = dealt(SHEETS, 60)
    whole, some = slot_levels(plays, sheets), slot_levels(plays, sheets, {"card0", RESULT})
    low = [SLOTS.index(f"own low {r}") for r in range(12)]
    assert (some[:, low] == -1).all()
    for slot in ("card0", RESULT):
        assert (some[:, SLOTS.index(slot)] == whole[:, SLOTS.index(slot)]).all()
