"""Sheets 001 (Vietnamese) and 003 (English), clause by clause: Single, Double, Super Niu."""

from fractions import Fraction

import pytest

from niulab.engine.cards import parse_card, parse_hand
from niulab.engine.hands import SPLITS, arrange, arrangements, best_arrangement, card_key
from niulab.engine.round import Round
from niulab.engine.rules import load_rules
from niulab.engine.settlement import Outcome, unit_result
from niulab.engine.shoe import deal_round
from niulab.engine.wagers import Slip, can_place, exposure_cents, least_slip, verify_slip
from niulab.errors import CardError, RoundStateError, WagerError

RULES = load_rules("single-double-super")
SINGLE = Slip.of({"single": 100})
ALL_BOXES = Slip.of({"single": 100, "double": 100, "super": 100})

NIU_8 = "JS QH JD AC 7S"
NIU_3 = "10S QD KC 6C 7H"
HIGH_CARD = "KS 9H 8D 5C 4S"
LOWER_HIGH_CARD = "QD 9C 8S 5H 4D"
NIU_NIU = "10H QS KD 4C 6D"

# The table of both sheets, rank by rank: single, double, super.
ODDS = {
    "niu_niu": (1, 3, 10),
    "niu_9": (1, 2, 9),
    "niu_8": (1, 2, 8),
    "niu_7": (1, 2, 7),
    "niu_6": (1, 1, 6),
    "niu_5": (1, 1, 5),
    "niu_4": (1, 1, 4),
    "niu_3": (1, 1, 3),
    "niu_2": (1, 1, 2),
    "niu_1": (1, 1, 1),
    "high_card": (1, 1, 1),
}
BOXES = ("single", "double", "super")


def best(text):
    return best_arrangement(parse_hand(text), RULES)


def beats(a, b):
    return best(a).strength > best(b).strength


def best_split(text):
    shown = sorted(parse_hand(text))
    return max(SPLITS, key=lambda split: arrange(shown, split, RULES).rank_index)


def dealt(*hands, slip=SINGLE):
    """A round of one seat per hand but the last, which is the dealer's; all stake ``slip``."""
    seats = range(1, len(hands))
    table = Round.open(RULES, n_seats=len(seats))
    for seat in seats:
        table = table.place(seat, slip)
    return table.deal([parse_hand(hand) for hand in hands])


def played(*hands, slip=SINGLE):
    table = dealt(*hands, slip=slip)
    for seat, hand in enumerate(hands[:-1], start=1):
        table = table.set(seat, best_split(hand))
    return table.settle()


def result(player, dealer, slip=ALL_BOXES):
    return played(player, dealer, slip=slip).settlements[0]


def net(box, rank, outcome):
    index = RULES.ranks.index(rank)
    return unit_result(RULES, box, outcome=outcome, player_rank=index, dealer_rank=index).net


# ---------------------------------------------------------------- Introduction


def test_introduction_the_higher_ranked_hand_wins():
    assert result(NIU_8, NIU_3).net_by_box["single"] > 0
    assert result(NIU_3, NIU_8).net_by_box["single"] < 0


def test_introduction_one_standard_deck_without_jokers():
    assert RULES.deck.decks == 1
    assert RULES.deck.composition == (1,) * 52
    with pytest.raises(CardError):
        parse_card("joker")
    with pytest.raises(CardError):
        dealt("KS QH JD AC 7S", "KS 9C 8H 5D 4C")  # the king of spades twice


def test_introduction_equal_ranks_go_by_the_highest_card_of_each_hand():
    assert best("KD 10S QC 3C 5H").rank == best(NIU_8).rank == "niu_8"
    assert beats("KD 10S QC 3C 5H", NIU_8)
    assert beats(HIGH_CARD, LOWER_HIGH_CARD)


def test_introduction_equal_highest_cards_go_by_suit():
    assert beats("KS 10S JC 3C 5H", "KH 10H QC 3D 5S")
    assert beats("KH 10H QC 3D 5S", "KC 10D QS 3H 5D")
    assert beats("KC 10D QS 3H 5D", "KD 10C QH 3S 5C")


def test_introduction_with_one_deck_no_tie_remains():
    assert RULES.order.tie_break == "high_card_then_suit"
    assert len({card_key(card, RULES.order) for card in range(52)}) == 52


def test_card_values_court_cards_count_10_and_an_ace_1():
    printed = {str(n): n for n in range(2, 11)}
    assert RULES.values == {"A": 1, **printed, "J": 10, "Q": 10, "K": 10}


def test_card_ranking_king_highest_ace_lowest():
    by_height = sorted(RULES.values, key=lambda rank: card_key(parse_card(f"{rank}S"), RULES.order))
    assert (by_height[0], by_height[-1]) == ("A", "K")
    assert by_height[-4:] == ["10", "J", "Q", "K"]


def test_suit_ranking_spades_hearts_clubs_diamonds():
    by_height = sorted("SHCD", key=lambda suit: -card_key(parse_card(f"9{suit}"), RULES.order))
    assert by_height == ["S", "H", "C", "D"]


# ---------------------------------------------------------------- Betting options


@pytest.mark.parametrize("rank", ODDS)
def test_single_pays_1_to_1_less_5_percent(rank):
    assert net("single", rank, Outcome.WIN) == Fraction(95, 100)
    assert net("single", rank, Outcome.LOSE) == -1


@pytest.mark.parametrize("rank", ODDS)
def test_double_pays_up_to_3_to_1_with_tax_from_2_to_1(rank):
    odds = ODDS[rank][1]
    tax = Fraction(5, 100) if odds >= 2 else 0
    assert net("double", rank, Outcome.WIN) == odds * (1 - tax)
    assert max(RULES.win_odds("double")) == 3


@pytest.mark.parametrize("rank", ODDS)
def test_super_pays_up_to_10_to_1_with_tax_from_2_to_1(rank):
    odds = ODDS[rank][2]
    tax = Fraction(5, 100) if odds >= 2 else 0
    assert net("super", rank, Outcome.WIN) == odds * (1 - tax)
    assert max(RULES.win_odds("super")) == 10


# ---------------------------------------------------------------- Insurance


def test_insurance_double_and_super_can_lose_multiples_of_the_bet():
    assert net("double", "niu_niu", Outcome.LOSE) == -3
    assert net("super", "niu_niu", Outcome.LOSE) == -10


def test_insurance_double_needs_3_times_the_bet_in_addition_to_it():
    slip = Slip.of({"single": 100, "double": 200})
    assert exposure_cents(RULES, slip) == 100 + 200 + 3 * 200
    assert can_place(RULES, slip, 900)
    assert not can_place(RULES, slip, 899)


def test_insurance_super_needs_10_times_the_bet_in_addition_to_it():
    slip = Slip.of({"single": 100, "super": 200})
    assert exposure_cents(RULES, slip) == 100 + 200 + 10 * 200
    assert can_place(RULES, slip, 2300)
    assert not can_place(RULES, slip, 2299)


def test_insurance_covers_of_several_boxes_add_up():
    assert exposure_cents(RULES, ALL_BOXES) == 100 + (1 + 3) * 100 + (1 + 10) * 100


def test_insurance_is_not_asked_for_single():
    assert exposure_cents(RULES, SINGLE) == 100


def test_insurance_a_short_slip_is_told_the_largest_stake():
    slip = Slip.of({"single": 100, "super": 200})
    with pytest.raises(WagerError, match="the largest stake accepted is 180 cents"):
        verify_slip(RULES, slip, 100 + 11 * 180 + 219)


# ---------------------------------------------------------------- How to play


def test_how_to_play_players_do_not_cut_the_cards():
    """Who sits, stakes or sets never moves a card: seed and round alone do."""
    for slip in (SINGLE, ALL_BOXES):
        table = Round.open(RULES, n_seats=2).place(1, slip).place(2, SINGLE)
        table = table.deal(seed=7, round_index=3)
        assert (*table.packets, table.dealer_packet) == deal_round(RULES, 7, 3, 3)


def test_how_to_play_the_deck_is_shuffled_fresh_every_round():
    assert RULES.deck.reshuffle == "every_round"
    rounds = [deal_round(RULES, 7, index, 10) for index in range(8)]
    assert len(set(rounds)) == 8
    for hands in rounds:
        assert len({card for hand in hands for card in hand}) == 50


def test_how_to_play_single_is_compulsory():
    assert RULES.required_box == "single"
    assert least_slip(RULES).boxes == ("single",)
    with pytest.raises(WagerError, match="required box 'single'"):
        Round.open(RULES).place(1, Slip.of({"double": 100}))


@pytest.mark.parametrize(
    "slip", [{"single": 100}, {"single": 100, "double": 20}, {"single": 100, "super": 20}]
)
def test_how_to_play_double_and_super_are_not_compulsory(slip):
    assert can_place(RULES, Slip.of(slip))


def test_how_to_play_no_more_bets_once_the_cards_are_dealt():
    table = dealt(NIU_8, NIU_3)
    assert not table.can_place(1, ALL_BOXES)
    with pytest.raises(RoundStateError):
        table.place(1, ALL_BOXES)


def test_how_to_play_every_player_and_the_dealer_get_5_cards_face_down():
    table = dealt(NIU_8, HIGH_CARD, NIU_3)
    assert [len(hand) for hand in (*table.packets, table.dealer_packet)] == [5, 5, 5]
    assert len(table.visible_cards(1)) == 5
    assert table.dealer_arrangement is None


def test_how_to_play_cards_are_picked_up_on_the_dealer_s_instruction():
    table = Round.open(RULES).place(1, SINGLE)
    with pytest.raises(RoundStateError):
        table.set(1, (3, 4))


def test_how_to_play_players_do_not_discuss_or_exchange_cards():
    table = dealt(NIU_8, HIGH_CARD, NIU_3)
    assert sorted(table.visible_cards(1)) == sorted(parse_hand(NIU_8))
    assert sorted(table.visible_cards(2)) == sorted(parse_hand(HIGH_CARD))


# ---------------------------------------------------------------- Arranging


@pytest.mark.parametrize("base", ["AS 3H 6D", "4S 7H 9D", "KS QH 10D", "5S 5H JD"])
def test_arranging_the_3_card_hand_adds_up_to_a_multiple_of_10(base):
    cards = (*parse_hand(f"{base} 2C 2H")[:3], parse_card("2C"), parse_card("2H"))
    assert arrange(cards, (3, 4), RULES).has_base
    assert arrange(cards, (3, 4), RULES).rank == "niu_4"


def test_arranging_without_a_qualifying_combination_it_is_the_lowest_hand():
    assert best(HIGH_CARD).rank == RULES.ranks[0] == "high_card"
    assert beats("2S 8H 10D 10C AS", HIGH_CARD)  # Niu 1 of low cards


def test_arranging_a_hand_counts_as_its_player_set_it():
    """Our reading of "players will arrange their cards": a missed niu is a high card."""
    shown = sorted(parse_hand(NIU_8))
    missed = next(s for s in SPLITS if not arrange(shown, s, RULES).has_base)
    table = dealt(NIU_8, NIU_3).set(1, missed).settle()
    assert table.settlements[0].net_cents == -100
    assert result(NIU_8, NIU_3, SINGLE).net_cents == 95


def test_points_are_the_units_digit_6_and_7_make_niu_3():
    assert best(NIU_3).rank == "niu_3"


def test_points_two_cards_that_add_up_to_10_make_the_strongest_hand():
    assert best(NIU_NIU).rank == RULES.ranks[-1] == "niu_niu"


def test_points_do_not_depend_on_which_base_is_found():
    hand = parse_hand("10S 10H 10D KC 5S")
    assert {setting.rank for setting in arrangements(hand, RULES)} == {"high_card", "niu_5"}


def test_setting_the_2_card_hand_lies_in_front_and_the_3_card_hand_behind():
    hand = best(NIU_8)
    assert sorted(hand.shown_pair) == sorted(parse_hand(NIU_8)[3:])
    assert sorted(hand.shown_base) == sorted(parse_hand(NIU_8)[:3])


def test_setting_the_dealer_opens_once_all_players_have_set():
    assert RULES.dealer_opens == "after_players"
    table = dealt(NIU_8, HIGH_CARD, NIU_3)
    assert not set(parse_hand(NIU_3)) & set(table.visible_cards(1))
    table = table.set(1, best_split(NIU_8))
    assert not table.can_settle()  # seat 2 has not set
    assert table.dealer_arrangement is None
    table = table.set(2, best_split(HIGH_CARD)).settle()
    assert table.dealer_arrangement.rank == "niu_3"


def test_setting_an_unqualified_hand_shows_its_highest_card_in_front():
    hand = best(HIGH_CARD)
    assert hand.shown_pair == (parse_card("KS"),)


# ---------------------------------------------------------------- Settlement


def test_settlement_box_by_box_from_the_dealer_s_right_to_the_left():
    """Cards go clockwise from the dealer's left, so the last seat is the first settled."""
    assert RULES.table.settlement_order == "dealer_right_to_left"
    table = played(NIU_8, HIGH_CARD, "9S AH 10C 4D 3C", NIU_3)
    assert table.settlement_order == (3, 2, 1)


def test_settlement_within_a_seat_goes_single_double_super():
    assert [r.box for r in result(NIU_8, NIU_3).results] == list(BOXES)


@pytest.mark.parametrize(("rank", "odds"), ODDS.items())
def test_settlement_winning_bets_follow_the_odds_of_the_player_s_rank(rank, odds):
    index = RULES.ranks.index(rank)
    assert tuple(RULES.win_odds(box)[index] for box in BOXES) == odds


@pytest.mark.parametrize(("rank", "odds"), ODDS.items())
def test_settlement_losing_bets_follow_the_odds_of_the_dealer_s_rank(rank, odds):
    index = RULES.ranks.index(rank)
    lost = [
        -unit_result(RULES, box, outcome=Outcome.LOSE, player_rank=0, dealer_rank=index).net
        for box in BOXES
    ]
    assert tuple(lost) == odds


def test_settlement_of_a_win_with_niu_8():
    assert result(NIU_8, NIU_3).net_by_box == {"single": 95, "double": 190, "super": 760}


def test_settlement_of_a_win_with_a_high_card():
    won = result(HIGH_CARD, LOWER_HIGH_CARD)
    assert won.net_by_box == {"single": 95, "double": 100, "super": 100}


def test_settlement_multiplied_losses_come_from_the_insurance():
    lost = result(NIU_8, NIU_NIU)
    assert lost.net_by_box == {"single": -100, "double": -300, "super": -1000}
    assert -lost.net_cents <= exposure_cents(RULES, ALL_BOXES)


def test_settlement_takes_no_tax_of_losses():
    assert all(r.commission_cents == 0 for r in result(NIU_8, NIU_NIU).results)


# ---------------------------------------------------------------- The table of 001


def test_table_5_percent_of_all_single_wins_and_of_odds_of_2_to_1_or_more():
    least = {box: RULES.boxes[box].commission.least_odds for box in BOXES}
    assert least == {"single": 1, "double": 2, "super": 2}
    assert {RULES.boxes[box].commission.rate for box in BOXES} == {Fraction(1, 20)}


def test_table_ranks_from_niu_niu_down_to_high_card():
    assert tuple(ODDS) == RULES.ranks[::-1]
