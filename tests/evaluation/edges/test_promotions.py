"""Coupons by hand and by the moments of their boxes; a turnover by all its paths."""

from fractions import Fraction
from itertools import product
from math import isnan

import pytest
from strategies import PLAYABLE

from niulab.engine.settlement import Outcome
from niulab.engine.wagers import Slip
from niulab.evaluation.edges.promotions import TERMS, coupons, make_way
from niulab.solvers.joint_law import joint_law
from niulab.solvers.optimal.turnover import TurnoverProblem
from niulab.solvers.values import box_values, slip_values

RULES = PLAYABLE["single-double-super"]
SINGLE = Slip.parse("single=100")
BY_HAND = {  # Single wins .95 with probability 1/2
    "free bet": Fraction(19, 40),
    "free bet, stake returned": Fraction(39, 40),
    "match play": Fraction(9, 20),
    "chip until lost": Fraction(19, 20),
}


@pytest.fixture(scope="module")
def found():
    return {(c.terms, c.value.box, c.multiples): c for c in coupons(RULES, 1_000)}


def test_all_terms_meet_all_boxes(found):
    assert set(found) == set(product(TERMS, RULES.boxes, ("owed", "waived")))


@pytest.mark.parametrize(("terms", "value"), BY_HAND.items())
def test_coupons_on_single_are_worth_what_one_computes_by_hand(found, terms, value):
    for multiples in ("owed", "waived"):
        coupon = found[terms, "single", multiples]
        assert coupon.value.value == value
        assert coupon.net_cents == 1_000 * value


@pytest.mark.parametrize("box", ["single", "double", "super"])
def test_owed_multiples_give_back_one_unit_of_every_loss(found, box):
    """So a free bet is worth the box's EV and the chance to lose; and so on."""
    law = joint_law(RULES)
    ev, p_lose = box_values(RULES)[box].ev, law.probability(Outcome.LOSE)
    free_bet = ev + p_lose
    assert found["free bet", box, "owed"].value.value == free_bet
    assert found["free bet, stake returned", box, "owed"].value.value == (
        free_bet + law.probability(Outcome.WIN)
    )
    assert found["match play", box, "owed"].value.value == 2 * ev + p_lose
    assert found["chip until lost", box, "owed"].value.value == free_bet / p_lose


def test_waived_multiples_cost_nothing_beyond_the_face(found):
    law = joint_law(RULES)
    gains = sum(
        n * cell.unit(RULES, "super").net for cell, n in law.cells.items() if cell.outcome == 2
    )
    wins = Fraction(gains, law.n_deals)
    assert found["free bet", "super", "waived"].value.value == wins
    assert found["free bet", "super", "waived"].value.value > 2


def test_beside_a_coupon_on_an_optional_box_the_least_slip_loses(found):
    coupon = found["chip until lost", "double", "owed"]
    assert coupon.value.rounds == 2
    beside = -slip_values(RULES, SINGLE).ev_cents * 2
    assert coupon.net_cents == 1_000 * coupon.value.value - beside


def paths(start, turnover):
    """(chance to meet it, mean taken out in units) of Single at one unit all along."""
    n = turnover // 100
    met = out = Fraction(0)
    for path in product([95, -100], repeat=n):
        bankroll, played = start, 0
        for result in path:
            if bankroll < 100:
                break
            bankroll, played = bankroll + result, played + 1
        if played == n:
            met += Fraction(1, 2**n)
            out += Fraction(bankroll, 100 * 2**n)
    return met, out


@pytest.mark.parametrize("turnover", [300, 700])
def test_a_turnover_with_one_slip_is_what_all_paths_add_up_to(turnover):
    problem = TurnoverProblem(
        rules=RULES, slips=(SINGLE,), start_cents=200, turnover_cents=turnover
    )
    way, (met, out) = make_way(problem), paths(200, turnover)
    assert way.low <= out + Fraction(1, 10**12)
    assert way.high >= out - Fraction(1, 10**12)
    assert way.risk == pytest.approx(float(1 - met), abs=1e-12)
    assert way.cost == pytest.approx(float(2 - out), abs=1e-9)
    assert way.slip == SINGLE
    assert way.gap < 1e-8
    if turnover == 300:
        assert met == Fraction(3, 4)  # only two losses at once ruin 2 units


def test_the_probability_alone_has_no_cost():
    problem = TurnoverProblem(
        rules=RULES,
        slips=(SINGLE, Slip.parse("single=200")),
        start_cents=300,
        turnover_cents=600,
        objective="probability",
    )
    way = make_way(problem)
    assert way.price is None
    assert isnan(way.cost)
    assert way.low <= way.p_met + 1e-12 <= way.high + 2e-12
    assert way.p_met >= float(paths(300, 600)[0]) - 1e-12
