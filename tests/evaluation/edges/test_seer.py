"""The seer: closed forms of one box, the law of total probability, and the chip grid."""

from fractions import Fraction
from math import inf, log

import numpy as np
import pytest
from strategies import PLAYABLE, overlay

from niulab.errors import CardError
from niulab.evaluation.edges.seer import look_blind, make_seer, split_shoe
from niulab.solvers.optimal.kelly import KellySlip
from niulab.solvers.values import box_values

RULES = PLAYABLE["single-double-super"]
SHORT = overlay("ngau-ngau-hong-kong", '[deck]\nremoved_ranks = ["2"]\n[table]\nmax_seats = 5\n')
BANKROLLS = (1_000, 20_000)
SOUND = ["single-double-super", "even-double-super-bonus", "ngau-ngau-hong-kong"]
DEFECTIVE = {
    "even-double-super-bonus-literal-note": "super",
    "even-double-super-bonus-bonus-any-niu-niu": "bonus",
}


@pytest.fixture(scope="module")
def seers():
    classes = split_shoe(RULES, ("K", "J Q"))
    return {
        position: make_seer(RULES, position, classes, BANKROLLS) for position in ("own", "dealer")
    }


def test_every_rank_is_a_class_and_what_is_left_out_is_one_more():
    ranks = split_shoe(RULES, ())
    assert list(ranks) == ["A", *map(str, range(2, 11)), "J", "Q", "K"]
    assert ranks["K"] == (48, 49, 50, 51)
    some = split_shoe(RULES, ("red", "S"))
    assert {card: len(ids) for card, ids in some.items()} == {"red": 26, "S": 13, "any other": 13}
    assert "2" not in split_shoe(SHORT, ())


@pytest.mark.parametrize(
    ("cards", "part"), [(("red", "H"), "'H' shares cards"), (("Z",), "Z"), (("K", "KS"), "KS")]
)
def test_classes_are_cards_and_do_not_overlap(cards, part):
    with pytest.raises(CardError, match=part):
        split_shoe(RULES, cards)


def test_a_class_the_shoe_does_not_hold_is_refused():
    with pytest.raises(CardError, match="holds no '2'"):
        split_shoe(SHORT, ("2",))


def test_a_king_is_staked_by_the_formula_of_one_even_bet(seers):
    king = seers["own"].seen[0]
    assert king.card == "K"
    assert king.chance == Fraction(1, 13)
    edge = float(king.evs["single"])
    p_win = (edge + 1) / 1.95
    wanted = edge / 0.95  # Kelly: edge over odds
    assert king.plan.fractions["single"] == pytest.approx(wanted, abs=1e-7)
    assert king.plan.fractions["double"] == king.plan.fractions["super"] == 0
    growth = p_win * log(1 + 0.95 * wanted) + (1 - p_win) * log(1 - wanted)
    assert king.plan.growth == pytest.approx(growth, abs=1e-12)


def test_over_all_classes_the_edge_is_that_of_the_sheet(seers):
    values = box_values(RULES)
    for seer in seers.values():
        assert sum(one.chance for one in seer.seen) == 1
        for box in RULES.boxes:
            assert sum(one.chance * one.evs[box] for one in seer.seen) == values[box].ev


def test_the_curve_is_the_mean_of_the_cards_curves(seers):
    seer = seers["own"]
    curve = seer.curve([0.0, 0.5, 1.0])
    assert curve[0] == 0
    assert curve[2] == pytest.approx(seer.growth, abs=1e-15)
    assert curve[1] == pytest.approx(0.75 * seer.growth, rel=0.01)
    by_hand = sum(float(one.chance) * one.plan.growth_at([0.5])[0] for one in seer.seen)
    assert curve[1] == pytest.approx(by_hand, abs=1e-15)
    most = 1 / max(one.plan.in_sight for one in seer.seen)
    assert np.isnan(seer.curve([1.01 * most])[0])


def test_chips_cost_growth_and_a_duty_to_play_costs_more(seers):
    for seer in seers.values():
        for cents in BANKROLLS:
            free = seer.grid_growth(cents)
            assert seer.grid_growth(cents, must_play=True) <= free <= seer.growth
        assert seer.grid_growth(BANKROLLS[0]) <= seer.grid_growth(BANKROLLS[1])


def test_growth_is_a_straight_line_between_blindness_and_sight(seers):
    seer, cents = seers["own"], BANKROLLS[1]
    blind = seer.grid_growth(cents, see_rate=0.0, must_play=True)
    p, gain, loss = 0.5, 0.95 * 100 / cents, 100 / cents
    assert blind == pytest.approx(p * log(1 + gain) + p * log(1 - loss), abs=1e-15)
    assert seer.grid_growth(cents, see_rate=0.0) == 0
    some = seer.grid_growth(cents, see_rate=0.3, must_play=True)
    seen = seer.grid_growth(cents, must_play=True)
    assert some == pytest.approx(0.3 * seen + 0.7 * blind, abs=1e-15)
    even = seer.break_even_rate(cents)
    assert 0 < even < 1
    assert seer.grid_growth(cents, see_rate=even, must_play=True) == pytest.approx(0, abs=1e-15)


def test_without_enough_chips_no_see_rate_is_enough(seers):
    assert seers["own"].break_even_rate(BANKROLLS[0]) is None
    poor = make_seer(RULES, "own", {"K": (48, 49, 50, 51)}, [100])
    assert poor.unseen[0].forced.growth == -inf  # half the time all is lost
    assert poor.unseen[0].free == KellySlip(None, 0.0, poor.unseen[0].free.bound, 0.0)
    assert poor.break_even_rate(100) is None
    assert poor.grid_growth(100) == 0


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_sheet_is_worth_no_stake_without_information(name):
    sheet = look_blind(PLAYABLE[name])
    assert max(sheet.evs.values()) <= 0
    assert not sheet.favors_player
    assert set(sheet.plan.fractions.values()) == {0}
    assert sheet.plan.growth == 0


@pytest.mark.parametrize(("name", "box"), DEFECTIVE.items())
def test_a_defective_sheet_is_worth_one(name, box):
    sheet = look_blind(PLAYABLE[name])
    assert sheet.favors_player
    assert sheet.evs[box] == max(sheet.evs.values()) > 0
    assert sheet.plan.fractions[box] > 0
    assert sheet.plan.growth > sheet.plan.gap


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(PLAYABLE))
def test_on_every_sheet_the_sign_of_the_best_ev_decides(name):
    sheet = look_blind(PLAYABLE[name])
    assert (sheet.plan.in_sight > 0) == sheet.favors_player
