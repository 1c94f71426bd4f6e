"""Rebates: values by recursion in Fractions, by enumeration, and the exact rate of one round."""

from fractions import Fraction
from functools import cache
from itertools import product

import pytest
from strategies import PLAYABLE

from niulab.engine.wagers import Slip
from niulab.evaluation.edges.rebates import (
    break_even_rebate,
    make_offer,
    play_once,
    play_plainly,
)
from niulab.solvers.optimal.rebate import RebateProblem, solve_rebate
from niulab.solvers.sessions.net_law import net_law

RULES = PLAYABLE["single-double-super"]
SINGLE = Slip.parse("single=100")


def problem(rebate, slips=(SINGLE,), **terms):
    return RebateProblem(rules=RULES, slips=slips, rebate=rebate, **{"start_cents": 300} | terms)


def best_by_recursion(start, n_rounds, rebate, stakes):
    """Single alone: +95 % or -100 %, each with probability 1/2; base units of 100 cents."""

    @cache
    def worth(bankroll, left):
        stop = bankroll - start + rebate * max(start - bankroll, 0)
        values = [stop]
        if left:
            values += [
                (worth(bankroll + Fraction(95, 100) * s, left - 1) + worth(bankroll - s, left - 1))
                / 2
                for s in stakes
                if s <= bankroll
            ]
        return max(values)

    return worth(Fraction(start), n_rounds)


@pytest.mark.parametrize("rebate", [Fraction(1, 25), Fraction(1, 10), Fraction(1, 4)])
@pytest.mark.parametrize("n_rounds", [1, 4])
def test_an_offer_is_worth_what_the_recursion_says(rebate, n_rounds):
    slips = (SINGLE, Slip.parse("single=200"))
    offer = make_offer(solve_rebate(problem(float(rebate), slips, n_rounds=n_rounds)), n_rounds)
    wanted = best_by_recursion(3, n_rounds, rebate, (1, 2))
    assert offer.low <= wanted <= offer.high
    assert offer.gap < 1e-9
    assert offer.value == pytest.approx(float(wanted), abs=1e-9)
    assert (offer.slip is None) == (offer.quit_points is None) == (wanted == 0)


def test_where_nothing_is_gained_the_value_is_nothing():
    offer = make_offer(solve_rebate(problem(0.03)))
    assert offer.slip is None
    assert offer.quit_points is None
    assert offer.value == 0
    assert offer.low <= 0 <= offer.high


def test_plain_play_is_what_all_paths_add_up_to():
    plain = play_plainly(RULES, SINGLE, 200, 4)
    net = loss = Fraction(0)
    for path in product([95, -100], repeat=4):
        bankroll = 200
        for result in path:
            if bankroll >= 100:
                bankroll += result
        net += Fraction(bankroll - 200, 1600)
        loss += Fraction(max(200 - bankroll, 0), 1600)
    assert plain.net == pytest.approx(float(net), abs=1e-12)
    assert plain.loss == pytest.approx(float(loss), abs=1e-12)
    assert plain.value(0.3) == pytest.approx(float(net + Fraction(3, 10) * loss), abs=1e-12)


def test_one_round_of_single_is_fair_at_a_twentieth():
    once = play_once(RULES, SINGLE)
    assert once.net == Fraction(-1, 40)
    assert once.loss == Fraction(1, 2)
    assert once.break_even == Fraction(1, 20)
    assert once.value(0.05) == pytest.approx(0, abs=1e-17)


def test_one_round_of_a_mix_loses_by_its_law():
    slip = Slip.parse("single=100,double=40")
    law, once = net_law(RULES, slip), play_once(RULES, slip)
    assert once.net == law.ev_cents / 100
    gains = sum(n * net for net, n in zip(law.nets.tolist(), law.counts, strict=True) if net > 0)
    assert once.net + once.loss == Fraction(gains, 100 * law.n_deals)


@pytest.mark.parametrize("n_rounds", [None, 10])
def test_the_bracket_of_single_holds_a_twentieth(n_rounds):
    low, high = break_even_rebate(lambda rate: problem(rate, n_rounds=n_rounds), 0.05)
    assert low <= 0.05 <= high
    assert high - low < 1e-7


def test_a_rate_at_which_nothing_is_gained_is_no_upper_end():
    assert break_even_rebate(lambda rate: problem(rate, n_rounds=3), 0.02) is None
    assert break_even_rebate(problem, 0.0) == (0.0, 0.0)
