"""The law of a round given one known card: classes, positions, and its two roads."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest
from strategies import overlay

from niulab.engine.cards import Card
from niulab.engine.rules import load_rules
from niulab.engine.settlement import Outcome
from niulab.errors import CardError, RulesError
from niulab.solvers.information import card_class, law_given_card, value_given_card
from niulab.solvers.joint_law import Cell, joint_law
from niulab.solvers.values import bonus_ev, box_values

RULES = load_rules()
DEALER_WINS_TIES = overlay("single-double-super", '[order]\ntie_break = "dealer"\n')
PUSHES_TIES = overlay("single-double-super", '[order]\ntie_break = "push"\n')
BONUS = load_rules("even-double-super-bonus")


def ranks_only(cells):
    """Cells without the player's events."""
    plain = Counter()
    for c, n in cells.items():
        plain[Cell(c.player_rank, c.dealer_rank, c.outcome)] += n
    return plain


def test_a_class_is_a_card_a_rank_a_color_a_suit_or_several():
    assert card_class("KS") == card_class(51) == card_class(Card.of("KS")) == (51,)
    assert card_class("K") == (48, 49, 50, 51)
    assert card_class("red") == tuple(i for i in range(52) if i % 4 in {0, 2})
    assert card_class("Spades") == card_class("s") == tuple(range(3, 52, 4))
    assert card_class("J Q, K") == card_class(["J", "Q", "K"]) == tuple(range(40, 52))
    assert card_class(["AD", 1, "AD"]) == (0, 1)


@pytest.mark.parametrize("nothing", ["", [], "purple", "11"])
def test_what_names_no_card_is_refused(nothing):
    with pytest.raises(CardError):
        card_class(nothing)


def test_a_box_or_a_card_the_table_lacks_is_refused():
    with pytest.raises(RulesError, match="no box 'bonus'"):
        value_given_card(RULES, "bonus", "K")
    no_tens = overlay(
        "single-double-super", '[deck]\nremoved_ranks = ["10"]\n[table]\nmax_seats = 8\n'
    )
    with pytest.raises(CardError, match="holds no 10"):
        law_given_card(no_tens, "10")


@pytest.mark.parametrize(
    ("rules", "position"),
    [(RULES, "own"), (RULES, "dealer"), (DEALER_WINS_TIES, "dealer"), (PUSHES_TIES, "dealer")],
    ids=["own", "dealer", "dealer, who wins ties", "dealer, ties push"],
)
def test_one_of_five_cards_is_red_or_black(rules, position):
    """So the laws of both colors add up to five times the law of a round, cell by cell."""
    total = Counter()
    for color in ("red", "black"):
        total.update(law_given_card(rules, color, position).cells)
    assert total == {cell: 5 * n for cell, n in joint_law(rules).cells.items()}


@pytest.mark.parametrize("position", ["own", "dealer"])
def test_a_rank_is_the_mean_over_its_suits(position):
    whole = law_given_card(RULES, "7", position)
    parts = Counter()
    for suit in "DCHS":
        parts.update(law_given_card(RULES, f"7{suit}", position).cells)
    assert parts == whole.cells
    assert whole.n_deals == 4 * 249900 * 1533939  # C(51,4) hands hold each card


def test_hands_that_hold_the_card_are_counted_by_rank():
    """C(51,4) hands hold the king of spades, each in one of its five places."""
    law = law_given_card(RULES, "KS")
    assert law.n_hands == sum(law.rank_hands) == 249900
    assert law.n_deals == 249900 * 1533939


def test_a_seen_king_is_worth_as_much_to_either_side():
    """Exchanging the hands exchanges who wins and with which rank."""
    own, dealers = law_given_card(RULES, "K", "own"), law_given_card(RULES, "K", "dealer")
    assert own.probability(Outcome.WIN) == dealers.probability(Outcome.LOSE)
    assert [own.win_with(rank) for rank in range(11)] == [
        dealers.lose_to(rank) for rank in range(11)
    ]


def test_a_sheet_with_events_knows_them_beside_the_dealers_card():
    """Second road: without events the law is that of exchanged hands."""
    law = law_given_card(BONUS, "KS", "dealer")
    assert min(law.cells.values()) > 0
    exchanged = Counter()
    opposite = {Outcome.WIN: Outcome.LOSE, Outcome.LOSE: Outcome.WIN}
    for c, n in law_given_card(BONUS, "KS", "own").cells.items():
        exchanged[Cell(c.dealer_rank, c.player_rank, opposite[c.outcome])] += n
    assert ranks_only(law.cells) == exchanged
    without = list(BONUS.deck.composition)
    without[51] = 0
    values = box_values(BONUS, law)
    assert values["bonus"].ev == bonus_ev(BONUS, "bonus", without)
    assert values["bonus"].ev == value_given_card(BONUS, "bonus", "KS", "dealer")
    assert values["even"].ev == value_given_card(BONUS, "even", "KS", "dealer")


@pytest.mark.long
def test_a_dealers_card_and_a_box_that_pays_on_the_players_five_cards():
    """Four of a kind pays the player on Double: a king in the dealer's hand forbids four kings."""
    rules = load_rules("even-double-super-bonus-four-of-a-kind-pays")
    plain = value_given_card(BONUS, "double", "KS", "dealer")
    special = value_given_card(rules, "double", "KS", "dealer")
    # deals whose player holds four of one of the twelve other ranks, the dealer KS among his five
    assert 0 < special - plain < Fraction(1, 1000)
