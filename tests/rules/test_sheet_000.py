"""Sheet 000 (Portuguese), clause by clause: the course of a round, and what beats what.

Where the sheet contradicts itself, the test names the default reading; the others are in
``test_readings.py``. What boxes pay and lose is in ``test_sheet_000_payments.py``.
"""

from itertools import pairwise

import pytest
from sheet_000 import (
    EVEN,
    HIGH_CARD,
    HIGHER_NIU_NIU,
    LOWER_HIGH_CARD,
    MAIN,
    NIU_3,
    NIU_6,
    NIU_7,
    NIU_8,
    NIU_NIU,
    RULES,
    TABLE,
    beats,
    best,
    dealt,
    result,
)

from niulab.engine.cards import parse_card, parse_hand
from niulab.engine.hands import SPLITS, arrange, arrangements, card_key
from niulab.engine.round import Round
from niulab.engine.wagers import Slip, can_place, exposure_cents, least_slip
from niulab.errors import RoundStateError, WagerError

# ---------------------------------------------------------------- Objectivo do jogo


def test_objective_a_niu_hand_above_the_dealer_s_wins():
    assert result(NIU_8, NIU_3).net_by_box["even"] > 0
    assert result(NIU_3, NIU_8).net_by_box["even"] < 0


@pytest.mark.parametrize("base", ["AS 3H 6D", "4S 7H 9D", "KS QH 10D"])
def test_objective_the_3_card_hand_totals_a_multiple_of_10(base):
    cards = parse_hand(f"{base} 2C 2H")
    assert arrange(cards, (3, 4), RULES).rank == "niu_4"


def test_objective_the_2_card_hand_counts_as_high_as_it_totals():
    assert RULES.ranks[1:10] == tuple(f"niu_{digit}" for digit in range(1, 10))
    assert beats(NIU_8, NIU_7)


# ---------------------------------------------------------------- 1. Apostas iniciais


def test_1_initial_bets_even_is_required_to_take_part():
    assert RULES.required_box == "even"
    assert least_slip(RULES).boxes == ("even",)
    with pytest.raises(WagerError, match="required box 'even'"):
        Round.open(RULES).place(1, Slip.of({"double": 100}))


@pytest.mark.parametrize("extra", ["double", "super", "bonus"])
def test_1_initial_bets_the_other_boxes_are_optional_and_independent(extra):
    assert can_place(RULES, EVEN)
    assert can_place(RULES, Slip.of({"even": 100, extra: 100}))


def test_1_initial_bets_double_and_super_need_chips_in_sight():
    assert exposure_cents(RULES, EVEN) == 100
    for box in ("double", "super"):
        assert exposure_cents(RULES, Slip.of({"even": 100, box: 100})) > 200


# ---------------------------------------------------------------- 2. Distribuição de cartas


def test_2_dealing_the_largest_even_stake_gets_the_first_packet():
    slips = [Slip.of({"even": stake}) for stake in (100, 300, 200)]
    table = dealt(NIU_8, NIU_7, NIU_6, NIU_3, slips=slips)
    assert table.dealing_order == (2, 3, 1)


def test_2_dealing_equal_largest_stakes_start_from_the_marked_position():
    """Our choice: the sheet says nothing of equal stakes."""
    slips = [Slip.of({"even": stake}) for stake in (100, 300, 300)]
    assert dealt(NIU_8, NIU_7, NIU_6, NIU_3, slips=slips).dealing_order == (2, 3, 1)


def test_2_dealing_only_even_stakes_decide_who_is_first():
    slips = [EVEN, Slip.of({"even": 100, "double": 900, "super": 900, "bonus": 900})]
    assert dealt(NIU_8, NIU_7, NIU_3, slips=slips).dealing_order == (1, 2)


def test_2_dealing_goes_clockwise_from_the_marked_position():
    assert dealt(NIU_8, NIU_7, NIU_6, NIU_3).dealing_order == (1, 2, 3)


def test_2_dealing_5_cards_to_every_player_and_the_dealer():
    table = dealt(NIU_8, NIU_7, NIU_3)
    assert [len(hand) for hand in (*table.packets, table.dealer_packet)] == [5, 5, 5]


def test_2_dealing_the_dealer_shows_his_best_hand_before_players_touch_theirs():
    assert RULES.dealer_opens == "before_players"
    table = dealt(NIU_8, NIU_7, NIU_3)
    assert table.phase == "setting"
    assert table.dealer_arrangement.rank == "niu_3"
    assert len(table.dealer_arrangement.shown_base) == 3
    assert len(table.dealer_arrangement.shown_pair) == 2
    assert set(parse_hand(NIU_3)) <= set(table.visible_cards(1))
    assert not set(parse_hand(NIU_7)) & set(table.visible_cards(1))


# ---------------------------------------------------------------- 3. Jogadas dos jogadores


def test_3_players_pick_up_their_cards_on_the_dealer_s_instruction():
    table = Round.open(RULES).place(1, EVEN)
    with pytest.raises(RoundStateError):
        table.set(1, (3, 4))


def test_3_players_arrange_their_cards_to_the_best_hand():
    table = dealt(NIU_8, NIU_3)
    shown = table.hand(1)
    split = max(SPLITS, key=lambda s: arrange(shown, s, RULES).rank_index)
    assert table.set(1, split).arrangements[0].rank == "niu_8"


# ---------------------------------------------------------------- 4. Pagamento das apostas


def test_4_payment_goes_from_the_dealer_s_right_to_the_left():
    """Seats are counted clockwise from the dealer's left: the last one sits at his right."""
    table = dealt(NIU_8, NIU_7, NIU_6, NIU_3).settle()
    assert table.settlement_order == (3, 2, 1)


def test_4_payment_the_higher_hand_wins_else_the_player_loses():
    assert result(NIU_7, NIU_6, EVEN).net_cents == 100
    assert result(NIU_6, NIU_7, EVEN).net_cents == -100


def test_4_payment_follows_the_odds_of_each_bet():
    won = result(NIU_8, NIU_3, MAIN)
    assert won.net_by_box == {"even": 100, "double": 190, "super": 760}


# ---------------------------------------------------------------- 5. Apostas perdedoras


def test_5_losing_double_and_super_are_paid_from_the_chips_in_sight():
    lost = result(HIGH_CARD, NIU_NIU, MAIN)
    assert lost.net_by_box == {"even": -100, "double": -300, "super": -1000}
    assert -lost.net_cents <= exposure_cents(RULES, MAIN)


# ---------------------------------------------------------------- Pagamentos, Nota importante


def test_payments_the_dealer_arranges_the_players_hands_so_a_mis_set_costs_nothing():
    assert RULES.arrangement == "dealer_corrects"
    table = dealt(NIU_8, NIU_3)
    wrong = next(s for s in SPLITS if not arrange(table.hand(1), s, RULES).has_base)
    settled = table.set(1, wrong).settle()
    assert settled.arrangements[0].rank == "niu_8"
    assert settled.settlements[0].net_cents == 100


def test_important_note_court_cards_count_nothing_the_others_their_face():
    """Zero or ten is the same modulo ten."""
    assert {RULES.values[rank] % 10 for rank in ("10", "J", "Q", "K")} == {0}
    assert [RULES.values[str(n)] for n in range(2, 10)] == list(range(2, 10))
    assert RULES.values["A"] == 1


def test_important_note_no_game_without_a_base_of_10_20_or_30():
    hand = parse_hand("8S 2H 9D AC 5S")  # 8 + 2 and 9 + A make ten, but no three cards do
    assert {setting.rank for setting in arrangements(hand, RULES)} == {"high_card"}


# ---------------------------------------------------------------- Regras de vitória


def test_victory_a_base_and_a_front_that_both_total_0_are_niu_niu():
    assert best(NIU_NIU).rank == "niu_niu" == RULES.ranks[-1]


def test_niu_a_base_and_a_front_that_totals_more_are_niu_and_that_total():
    assert best(NIU_6).rank == "niu_6"
    assert best(NIU_3).rank == "niu_3"  # 8 + 5 = 13


def test_niu_example_j_q_j_a_7_is_niu_8():
    hand = best("JS QH JD AC 7S")
    assert hand.rank == "niu_8"
    assert sorted(hand.shown_base) == sorted(parse_hand("JS QH JD AC 7S")[:3])


def test_high_card_without_a_base_the_highest_of_the_5_cards_decides():
    assert best(HIGH_CARD).rank == "high_card"
    assert best(HIGH_CARD).shown_pair == (parse_card("KH"),)
    assert beats(HIGH_CARD, LOWER_HIGH_CARD)


def test_tie_equal_highest_cards_go_by_their_suit():
    hands = ["KS 9H 8D 5C 4S", "KH 9S 8C 5D 4H", "KC 9D 8H 5S 4C", "KD 9C 8S 5H 4D"]
    for higher, lower in pairwise(hands):
        assert best(higher).rank == best(lower).rank == "high_card"
        assert beats(higher, lower)


def test_tie_of_equal_totals_goes_by_the_highest_of_all_5_cards_then_its_suit():
    """The default reading of "same total - by suit"."""
    assert beats(HIGHER_NIU_NIU, NIU_NIU)  # king of clubs over king of diamonds
    assert beats("KD 2C 8H 9S 9H", "QS JS 10S 2S 6S")  # Niu 8 each; a king over the queen


# ---------------------------------------------------------------- Classificação das mãos


def test_ranking_of_hands_is_the_order_of_the_table():
    assert tuple(TABLE) == RULES.ranks[::-1]
    assert RULES.specials == ()


def test_ranking_of_cards_king_down_to_2_and_the_ace_lowest():
    """The sheet leaves the ace out; the default puts it below the 2, as sheets 001 and 003."""
    by_height = sorted(
        RULES.values, key=lambda rank: -card_key(parse_card(f"{rank}S"), RULES.order)
    )
    assert by_height == ["K", "Q", "J", "10", "9", "8", "7", "6", "5", "4", "3", "2", "A"]


def test_ranking_of_suits_spades_hearts_clubs_diamonds():
    by_height = sorted("SHCD", key=lambda suit: -card_key(parse_card(f"9{suit}"), RULES.order))
    assert by_height == ["S", "H", "C", "D"]


# ---------------------------------------------------------------- Equidade no jogo


def test_equity_the_player_with_the_largest_even_stake_gets_the_first_hand():
    slips = [Slip.of({"even": stake}) for stake in (100, 120, 140)]
    table = Round.open(RULES, n_seats=3)
    for seat, slip in enumerate(slips, start=1):
        table = table.place(seat, slip)
    table = table.deal(seed=1)
    assert sorted(table.packets[0]) == list(table.hand(3))
