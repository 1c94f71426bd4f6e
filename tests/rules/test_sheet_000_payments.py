"""Sheet 000 (Portuguese), clause by clause: what its four boxes pay and lose.

Where the sheet contradicts itself, the test names the default reading; the others are in
``test_readings.py``.
"""

import pytest
from sheet_000 import (
    ALL_BLACK,
    ALL_SPADES,
    AT_LEAST_NIU_7,
    BOXES,
    EVEN,
    FIVE_FACES,
    HIGH_CARD,
    MAIN,
    NIU_3,
    NIU_6,
    NIU_7,
    NIU_8,
    NIU_NIU,
    RULES,
    TABLE,
    TENS_AND_FACES,
    best,
    net,
    percent,
    result,
)

from niulab.engine.rules import parse_rules
from niulab.engine.settlement import Outcome
from niulab.engine.wagers import Slip, can_place, exposure_cents, verify_slip
from niulab.errors import WagerError

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
