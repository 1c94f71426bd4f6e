"""The sweep against slow enumeration of every deal of small decks, and against single hands."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from niulab.engine.hands import arrangements, best_arrangement
from niulab.engine.round import event_mask
from niulab.engine.rules import RuleSet, load_rules, parse_rules
from niulab.engine.settlement import Outcome, tie_outcome
from niulab.engine.wagers import Slip, least_slip
from niulab.solvers.hand_values import hand_values
from niulab.solvers.joint_law import Cell, joint_law
from niulab.solvers.matchups import exact_dot, matchups
from niulab.solvers.one_hand import hand_report, settle_hands

FOUR_RANKS = ["2", "4", "5", "6", "7", "8", "9", "10", "J"]  # leaves A, 3, Q, K
TWO_RANKS = [*FOUR_RANKS, "3", "Q"]  # leaves A, K


def small(parent: str, removed: list[str], decks: int = 1, extra: str = "") -> RuleSet:
    """A shipped sheet on a deck of sixteen cards."""
    return parse_rules(
        f"""
name = "small"
title = "small"
source = "test"
extends = "{parent}"
deck = {{ decks = {decks}, removed_ranks = {removed} }}
table = {{ max_seats = 2 }}
{extra}
"""
    )


CASES = {
    "plain": small("single-double-super", FOUR_RANKS),
    "bonus": small("even-double-super-bonus", FOUR_RANKS),
    "suit-first": small(
        "single-double-super", FOUR_RANKS, extra='order = { tie_break = "suit_first" }'
    ),
    "ace-high": small("single-double-super", FOUR_RANKS, extra='order = { ace = "high" }'),
    "push": small("single-double-super", FOUR_RANKS, extra='order = { tie_break = "push" }'),
    "dealer": small("single-double-super", FOUR_RANKS, extra='order = { tie_break = "dealer" }'),
    "hong-kong": small("ngau-ngau-hong-kong", FOUR_RANKS),
    "flush-special": small(
        "single-double-super",
        FOUR_RANKS,
        extra=(
            'specials = [{ name = "black", predicate = "all_black" }]\n'
            "[boxes.super.win_odds]\nblack = 12"
        ),
    ),
    "two-decks": small("single-double-super", TWO_RANKS, decks=2),
    "two-decks-cards": small("six-deck-shoe-bonus", TWO_RANKS, decks=2),
    "two-decks-hong-kong": small("ngau-ngau-hong-kong", TWO_RANKS, decks=2),
}


def brute_force(rules: RuleSet) -> Counter[Cell]:
    """Every ordered deal of two hands from the physical cards, by the readable evaluator."""
    cards = [card for card, n in enumerate(rules.deck.composition) for _ in range(n)]
    picks = list(combinations(range(len(cards)), 5))
    hands = [best_arrangement([cards[i] for i in pick], rules) for pick in picks]
    events = [event_mask([cards[i] for i in pick], rules) for pick in picks]
    masks = np.array([sum(1 << i for i in pick) for pick in picks])
    ranks = np.array([hand.rank_index for hand in hands])
    strengths = np.array([hand.strength for hand in hands])
    ties = np.array([tie_outcome(rules.order, rank) for rank in range(len(rules.ranks))])
    found: Counter[Cell] = Counter()
    for player, mask in enumerate(masks):
        dealers = (masks & mask) == 0
        beaten = np.sign(strengths[player] - strengths[dealers])
        outcomes = np.choose(beaten + 1, [Outcome.LOSE, ties[ranks[player]], Outcome.WIN])
        codes, counts = np.unique(ranks[dealers] * 3 + outcomes, return_counts=True)
        for code, n in zip(codes.tolist(), counts.tolist(), strict=True):
            cell = Cell(int(ranks[player]), code // 3, Outcome(code % 3), events[player])
            found[cell] += n
    return found


@pytest.mark.parametrize("name", CASES)
def test_joint_law_equals_enumeration_of_every_deal(name: str) -> None:
    assert joint_law(CASES[name]).cells == dict(brute_force(CASES[name]))


@pytest.mark.parametrize("name", ["single-double-super", "ngau-ngau-hong-kong"])
def test_hand_values_equal_enumeration_of_opponents(name: str) -> None:
    rules = load_rules(name)
    values = hand_values(rules)
    for row in np.random.default_rng(7).integers(0, len(values.table.hands), 6):
        report = hand_report(rules, values.table.hands[row].tolist())
        assert report.n_opponents == values.denominator
        assert [int(s.ev_cents * values.denominator) for s in report.settings] == [
            int(values.of(np.full(len(values.best), k))[row]) for k in range(10)
        ]


def test_hand_report_equals_the_settled_mean_over_dealt_hands() -> None:
    """A third road: deal every opponent from a small deck and settle hand by hand."""
    rules = small("ngau-ngau-hong-kong", FOUR_RANKS)
    slip = least_slip(rules)
    hand = (0, 8, 9, 45, 50)
    others = [c for c, n in enumerate(rules.deck.composition) if n and c not in hand]
    dealers = [best_arrangement(pick, rules) for pick in combinations(others, 5)]
    report = hand_report(rules, hand, slip)
    for setting, player in zip(report.settings, arrangements(hand, rules), strict=True):
        nets = [settle_hands(rules, slip, player, dealer).net_cents for dealer in dealers]
        assert setting.ev_cents == Fraction(sum(nets), len(dealers))


def test_rows_count_every_opponent_and_options_cover_every_setting() -> None:
    rules = load_rules("ngau-ngau-hong-kong")
    table = matchups(rules)
    assert (table.counts.sum(axis=1) == table.n_opponents).all()
    sample = np.random.default_rng(3).integers(0, len(table.hands), 500)
    for row in sample:
        ranks = [a.rank_index for a in arrangements(table.hands[row].tolist(), rules)]
        assert table.options[row][table.option_of[row]].tolist() == ranks


def test_exact_dot_is_exact_beyond_64_bits() -> None:
    weights = np.array([7775, 3, 1])
    values = np.array([2**62, -(2**61) - 1, 12345])
    assert exact_dot(weights, values) == 7775 * 2**62 - 3 * (2**61 + 1) + 12345


def test_six_deck_law_is_symmetric_and_complete() -> None:
    from math import comb

    law = joint_law(load_rules("six-deck-shoe"))
    assert law.n_deals == comb(312, 5) * comb(307, 5)
    for rank in range(len(law.rules.ranks)):
        assert law.win_with(rank) == law.lose_to(rank)


def test_depleted_composition_changes_the_law_of_mirrored_boxes_by_nothing() -> None:
    """Counting is worthless on mirrored boxes: EV stays minus the expected commission."""
    from niulab.solvers.values import box_values

    rules = small("single-double-super", FOUR_RANKS)
    copies = list(rules.deck.composition)
    for card in (0, 1, 48, 49):
        copies[card] = 0
    law = joint_law(rules, copies)
    assert law.n_deals == 792 * 21
    assert box_values(rules, law)["single"].ev == Fraction(-1, 40)


def test_slip_values_equal_the_sum_of_boxes() -> None:
    from niulab.solvers.values import box_values, slip_values

    rules = load_rules()
    values = slip_values(rules, Slip.parse("single=100,double=60,super=40"))
    boxes = box_values(rules)
    assert (
        values.ev_cents
        == 100 * boxes["single"].ev + 60 * boxes["double"].ev + 40 * boxes["super"].ev
    )
    assert values.house_edge == -values.ev_cents / 200
