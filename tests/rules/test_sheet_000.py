"""Sheet 000 (Portuguese), clause by clause: Even, Double, Super Niu Niu, Bonus.

Where the sheet contradicts itself, the test names the default reading; the others are in
``test_readings.py``.
"""

from fractions import Fraction
from itertools import pairwise

import pytest

from niulab.engine.cards import parse_card, parse_hand
from niulab.engine.hands import SPLITS, arrange, arrangements, best_arrangement, card_key
from niulab.engine.round import Round
from niulab.engine.rules import load_rules, parse_rules
from niulab.engine.settlement import Outcome, unit_result
from niulab.engine.wagers import Slip, can_place, exposure_cents, least_slip, verify_slip
from niulab.errors import RoundStateError, WagerError

RULES = load_rules("even-double-super-bonus")
EVEN = Slip.of({"even": 100})
MAIN = Slip.of({"even": 100, "double": 100, "super": 100})
ALL_BOXES = Slip.of({"even": 100, "double": 100, "super": 100, "bonus": 100})

NIU_8 = "JS QH JD AC 7S"
NIU_7 = "10S JH QD 3C 4S"
NIU_6 = "KS 10H QC 2C 4D"
NIU_3 = "9S 7D 4H 8H 5S"
HIGH_CARD = "KH 9H 8D 5C 4S"
LOWER_HIGH_CARD = "QD 9C 8S 5H 4D"
NIU_NIU = "10H QS KD 4C 6D"
HIGHER_NIU_NIU = "KC JC QC 3H 7H"

FIVE_FACES = "JS QH KD JC QC"
ALL_SPADES = "2S 3S 6S 8S KS"
TENS_AND_FACES = "10S 10H JD QC KH"
ALL_BLACK = "3C 4C 6S 10C QC"

# The pay table, rank by rank: even, double, super; and the fee of each ("Taxa 5%" or none). The
# second "Niu Niu 1" stands for Niu 2, paid as the text says; the 50 % stands at Niu 6, as twice in
# the text.
TABLE = {
    "niu_niu": ((1, 3, 10), (0, 5, 5)),
    "niu_9": ((1, 2, 9), (0, 5, 5)),
    "niu_8": ((1, 2, 8), (0, 5, 5)),
    "niu_7": ((1, 2, 7), (0, 5, 5)),
    "niu_6": ((1, 1, 6), (50, 0, 5)),
    "niu_5": ((1, 1, 5), (0, 0, 5)),
    "niu_4": ((1, 1, 4), (0, 0, 5)),
    "niu_3": ((1, 1, 3), (0, 0, 5)),
    "niu_2": ((1, 1, 2), (0, 0, 5)),
    "niu_1": ((1, 1, 1), (0, 0, 0)),
    "high_card": ((1, 1, 1), (0, 0, 0)),
}
BOXES = ("even", "double", "super")
AT_LEAST_NIU_7 = ("niu_7", "niu_8", "niu_9", "niu_niu")


def best(text):
    return best_arrangement(parse_hand(text), RULES)


def beats(a, b):
    return best(a).strength > best(b).strength


def dealt(*hands, slips=None):
    """A round of one seat per hand but the last, which is the dealer's; packets go to seats."""
    slips = slips or [EVEN] * (len(hands) - 1)
    table = Round.open(RULES, n_seats=len(slips))
    for seat, slip in enumerate(slips, start=1):
        table = table.place(seat, slip)
    by_seat = dict(enumerate(hands[:-1], start=1))
    packets = [parse_hand(by_seat[seat]) for seat in table.dealing_order]
    return table.deal([*packets, parse_hand(hands[-1])])


def result(player, dealer, slip=ALL_BOXES):
    return dealt(player, dealer, slips=[slip]).settle().settlements[0]


def net(box, rank, outcome):
    index = RULES.ranks.index(rank)
    return unit_result(RULES, box, outcome=outcome, player_rank=index, dealer_rank=index).net


def percent(share):
    return Fraction(share, 100)


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


# ---------------------------------------------------------------- Pagamentos e resultados


@pytest.mark.parametrize("rank", TABLE)
@pytest.mark.parametrize("box", BOXES)
def test_pay_table(box, rank):
    odds, fees = TABLE[rank]
    place = BOXES.index(box)
    assert net(box, rank, Outcome.WIN) == odds[place] * (1 - percent(fees[place]))


def test_even_pays_1_to_1():
    assert {net("even", rank, Outcome.WIN) for rank in TABLE if rank != "niu_6"} == {1}


def test_even_pays_half_on_a_winning_niu_6():
    assert result(NIU_6, NIU_3, EVEN).net_cents == 50
    assert result(NIU_7, NIU_3, EVEN).net_cents == 100  # the table's 50 % is a reading


def test_even_loses_its_stake_to_the_dealer_s_niu_6():
    assert net("even", "niu_6", Outcome.LOSE) == -1


def test_double_pays_niu_niu_3_to_1_less_5_percent():
    assert result(NIU_NIU, NIU_3, MAIN).net_by_box["double"] == 285


@pytest.mark.parametrize("rank", ["niu_9", "niu_8", "niu_7"])
def test_double_pays_9_8_7_2_to_1_less_5_percent(rank):
    assert net("double", rank, Outcome.WIN) == 2 * percent(95)


@pytest.mark.parametrize("rank", [rank for rank in TABLE if rank not in AT_LEAST_NIU_7])
def test_double_pays_1_to_1_without_commission_from_niu_6_down(rank):
    assert net("double", rank, Outcome.WIN) == 1


def test_double_does_not_know_four_of_a_kind():
    """Named in Double's list only: by default such a hand is paid by its plain rank."""
    four_nines = "9S 9H 9C 9D 2H"  # 9 + 9 + 2 leaves 18
    assert best(four_nines).rank == "niu_8"
    assert result(four_nines, NIU_7, MAIN).net_by_box["double"] == 190


@pytest.mark.parametrize("n", range(2, 10))
def test_super_pays_n_to_1_less_5_percent(n):
    assert net("super", f"niu_{n}", Outcome.WIN) == n * percent(95)


def test_super_pays_niu_niu_10_to_1_less_5_percent():
    assert result(NIU_NIU, NIU_3, MAIN).net_by_box["super"] == 950


@pytest.mark.parametrize("rank", ["niu_1", "high_card"])
def test_super_pays_niu_1_and_high_card_1_to_1_without_commission(rank):
    assert net("super", rank, Outcome.WIN) == 1


def test_super_niu_niu_of_five_faces_is_a_bonus_award_and_no_rank():
    assert best(FIVE_FACES).rank == "niu_niu"
    assert result(FIVE_FACES, NIU_3, MAIN).net_by_box["super"] == 950


# ---------------------------------------------------------------- Apostas perdedoras, Nota


def test_losing_bets_lose_what_was_staked_on_even():
    assert {net("even", rank, Outcome.LOSE) for rank in TABLE} == {-1}


def test_losing_to_niu_niu_costs_3_to_1_on_double():
    assert net("double", "niu_niu", Outcome.LOSE) == -3


@pytest.mark.parametrize("rank", ["niu_9", "niu_8", "niu_7"])
def test_losing_to_9_8_7_costs_2_to_1_on_double(rank):
    assert net("double", rank, Outcome.LOSE) == -2


@pytest.mark.parametrize("rank", TABLE)
def test_losing_super_costs_by_the_pay_table(rank):
    assert net("super", rank, Outcome.LOSE) == -TABLE[rank][0][2]


@pytest.mark.parametrize("rank", [rank for rank in TABLE if rank not in AT_LEAST_NIU_7])
def test_note_losing_below_niu_7_costs_1_to_1_on_even_and_double(rank):
    """On Super the default mirrors the wins; the literal note is a reading."""
    assert net("even", rank, Outcome.LOSE) == net("double", rank, Outcome.LOSE) == -1


def test_losses_pay_no_commission():
    assert all(r.commission_cents == 0 for r in result(HIGH_CARD, NIU_NIU, MAIN).results)


# ---------------------------------------------------------------- Montante à vista obrigatório


def test_in_sight_double_100_needs_300_in_all():
    slip = Slip.of({"even": 100, "double": 10_000})
    assert exposure_cents(RULES, slip) == 100 + 30_000
    assert can_place(RULES, slip, 30_100)
    with pytest.raises(WagerError, match="needs 30000 cents in sight in all"):
        verify_slip(RULES, slip, 30_099)


def test_in_sight_super_100_needs_1000_in_all():
    slip = Slip.of({"even": 100, "super": 10_000})
    assert exposure_cents(RULES, slip) == 100 + 100_000
    assert can_place(RULES, slip, 100_100)
    assert not can_place(RULES, slip, 100_099)


def test_in_sight_never_more_than_the_table_s_maximum_payout():
    rules = parse_rules("""
        extends = "even-double-super-bonus"
        name = "capped"
        title = "A table that pays at most 500 on Super"
        source = "test"
        [boxes.super]
        max_win_cents = 50_000
        max_loss_cents = 50_000
        cover.max_cents = 50_000
        """)
    slip = Slip.of({"even": 100, "super": 10_000})
    assert exposure_cents(rules, slip) == 100 + 50_000
    assert can_place(rules, slip, 50_100)


def test_in_sight_covers_of_double_and_super_add_up():
    assert exposure_cents(RULES, MAIN) == 100 + 300 + 1000


# ---------------------------------------------------------------- Aposta bónus


def test_bonus_is_an_additional_bet():
    assert can_place(RULES, Slip.of({"even": 100, "bonus": 100}))
    assert not can_place(RULES, Slip.of({"bonus": 100}))


def test_bonus_needs_no_cover():
    assert exposure_cents(RULES, Slip.of({"even": 100, "bonus": 100})) == 200


def test_bonus_is_independent_of_the_other_boxes():
    slip = Slip.of({"even": 100, "bonus": 100})
    lost = result(ALL_BLACK, NIU_8, slip)  # loses to the dealer, and is paid its award
    assert lost.net_by_box == {"bonus": 1000, "even": -100}
    won = result(NIU_8, NIU_3, slip)
    assert won.net_by_box == {"bonus": -100, "even": 100}


@pytest.mark.parametrize(
    ("hand", "odds"),
    [(FIVE_FACES, 100), (ALL_SPADES, 50), (TENS_AND_FACES, 20), (ALL_BLACK, 10)],
)
def test_bonus_table(hand, odds):
    slip = Slip.of({"even": 100, "bonus": 100})
    assert result(hand, NIU_3, slip).net_by_box["bonus"] == odds * 100


def test_bonus_without_an_award_loses_the_stake():
    slip = Slip.of({"even": 100, "bonus": 100})
    assert result(NIU_NIU, NIU_3, slip).net_by_box["bonus"] == -100


@pytest.mark.parametrize(
    ("hand", "odds"),
    [
        ("JS QS KS JC QC", 100),  # five faces, all black
        ("2S 3S 6S 8S KS", 50),  # all spades are all black
        ("10S JS QS KS 10C", 20),  # tens and faces, all black
    ],
)
def test_bonus_pays_the_highest_award_only(hand, odds):
    slip = Slip.of({"even": 100, "bonus": 100})
    assert result(hand, NIU_3, slip).net_by_box["bonus"] == odds * 100


def test_bonus_named_niu_niu_is_five_of_10_j_q_k_as_its_text_says():
    assert best(NIU_NIU).rank == "niu_niu"
    slip = Slip.of({"even": 100, "bonus": 100})
    assert result(NIU_NIU, NIU_3, slip).net_by_box["bonus"] == -100


def test_bonus_takes_no_commission():
    slip = Slip.of({"even": 100, "bonus": 100})
    assert result(FIVE_FACES, NIU_3, slip).results[0].commission_cents == 0


def test_bonus_is_paid_or_taken_before_the_other_bets():
    assert [r.box for r in result(NIU_8, NIU_3).results] == ["bonus", *BOXES]


# ---------------------------------------------------------------- Equidade no jogo


def test_equity_the_player_with_the_largest_even_stake_gets_the_first_hand():
    slips = [Slip.of({"even": stake}) for stake in (100, 120, 140)]
    table = Round.open(RULES, n_seats=3)
    for seat, slip in enumerate(slips, start=1):
        table = table.place(seat, slip)
    table = table.deal(seed=1)
    assert sorted(table.packets[0]) == list(table.hand(3))
