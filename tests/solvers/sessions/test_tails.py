"""Saddlepoint tails against exact big-integer convolution and against the transform."""

from __future__ import annotations

from decimal import Decimal, localcontext
from math import comb, exp, inf, log

import numpy as np
import pytest

from niulab.engine.rules import load_rules
from niulab.engine.wagers import Slip
from niulab.errors import ConfigError
from niulab.solvers.information import law_given_card
from niulab.solvers.sessions.flat import flat_law
from niulab.solvers.sessions.net_law import NetLaw, box_law, net_law
from niulab.solvers.sessions.tails import (
    crossing_bound,
    log_p_at_least,
    log_p_at_most,
    lundberg_root,
    p_at_least,
    p_at_most,
)

RULES = load_rules()
SINGLE = net_law(RULES, Slip.of("single=100"))
RARE = box_law(load_rules("even-double-super-bonus"), "bonus")  # wins 10 to 100 in 1 of 37 rounds
BOTH = net_law(RULES, Slip.of("single=100,super=100"))


def log_wins(n_rounds, least_wins):
    """log P(at least so many wins of Single), by exact binomial counts: half the rounds are won."""
    ways = sum(comb(n_rounds, k) for k in range(least_wins, n_rounds + 1))
    return log(ways) - n_rounds * log(2)


NEAR_THE_END = 4e-4  # one loss from the greatest net; 2e-5 a few losses further in


@pytest.mark.parametrize("least_wins", [200, 203, 210, 250, 300, 380, 399, 400])
def test_far_tails_of_single_are_binomial(least_wins):
    net = 95 * least_wins - 100 * (400 - least_wins)
    assert log_p_at_least(SINGLE, 400, net) == pytest.approx(
        log_wins(400, least_wins), abs=NEAR_THE_END
    )
    assert log_p_at_most(SINGLE, 400, net - 195) == pytest.approx(
        log(-np.expm1(log_wins(400, least_wins))), abs=2e-5
    )


def test_the_lower_tail_is_binomial_too():
    for most_wins in (0, 1, 20, 100, 190):
        net = 95 * most_wins - 100 * (400 - most_wins)
        exact = log_wins(400, 400 - most_wins)  # as many losses at least
        accuracy = NEAR_THE_END if most_wins < 5 else 2e-5
        assert log_p_at_most(SINGLE, 400, net) == pytest.approx(exact, abs=accuracy)


def test_between_two_results_nothing_changes():
    assert p_at_least(SINGLE, 400, 171) == p_at_least(SINGLE, 400, 365)  # 207 wins
    assert p_at_least(SINGLE, 400, 170) > p_at_least(SINGLE, 400, 171)
    assert p_at_least(SINGLE, 3, 285) == pytest.approx(1 / 8, rel=1e-15)
    assert p_at_least(SINGLE, 3, 286) == 0
    assert log_p_at_least(SINGLE, 3, 286) == -inf
    assert p_at_least(SINGLE, 3, -300) == 1
    assert p_at_most(SINGLE, 3, -301) == 0


@pytest.mark.parametrize(
    ("text", "n_rounds", "accuracy"),
    [
        ("single=100,super=100", 60, 1e-4),
        ("single=100,super=100", 1000, 2e-7),
        ("single=100,double=100", 200, 2e-3),
    ],
)
def test_it_agrees_with_the_transform_where_both_speak(text, n_rounds, accuracy):
    one = net_law(RULES, Slip.of(text))
    law = flat_law(one, n_rounds)
    at_least = np.cumsum(law.probabilities[::-1])[::-1]
    places = np.flatnonzero((at_least > 1e-6) & (at_least < 1 - 1e-6))
    for place in places[:: max(len(places) // 60, 1)].tolist():
        net = int(law.nets[place])
        assert p_at_least(one, n_rounds, net) == pytest.approx(at_least[place], rel=accuracy)
        below = 1 - at_least[place]
        assert p_at_most(one, n_rounds, net - 1) == pytest.approx(below, rel=accuracy, abs=1e-12)


def test_at_least_and_at_most_make_one():
    for net in (-30_000, -995, -990, 0, 5, 40_000):
        both = p_at_least(BOTH, 60, net) + p_at_most(BOTH, 60, net - 5)
        assert both == pytest.approx(1, abs=1e-13)


def test_tails_fall_through_the_mean_without_a_step():
    """The formula's poles cancel at the mean, where it is interpolated."""
    nets = range(-200_000, -130_000, 500)  # the mean of 10,000 rounds is -165,383
    chances = [p_at_least(BOTH, 10_000, net) for net in nets]
    steps = np.diff(chances)
    assert (steps < 0).all()
    assert np.abs(np.diff(steps) / steps[1:]).max() < 0.02


def test_a_session_far_beyond_the_transform():
    """A million rounds: the normal law is right about the middle, and says so."""
    mean, sd = float(1e6 * BOTH.ev_cents), (1e6 * float(BOTH.variance)) ** 0.5
    assert p_at_least(BOTH, 10**6, round(mean + 2 * sd)) == pytest.approx(0.02275, rel=2e-3)
    assert log_p_at_least(BOTH, 10**6, 0) < -200


def test_a_rare_prize_is_followed_far_out():
    """Prizes of 10 and more come in 1 of 37 rounds: results cluster until many were won."""
    law = flat_law(RARE, 1000)
    at_least = np.cumsum(law.probabilities[::-1])[::-1]
    for place in np.flatnonzero(at_least > 1e-8)[::20].tolist():
        found = p_at_least(RARE, 1000, int(law.nets[place]))
        assert found == pytest.approx(at_least[place], rel=0.02)


def test_no_number_of_rounds_or_result_breaks_it():
    for law in (SINGLE, BOTH, RARE):
        for n_rounds in (1, 2, 5):
            for net in range(n_rounds * int(law.nets[0]), n_rounds * int(law.nets[-1]) + 1, 35):
                assert 0 <= p_at_least(law, n_rounds, net) <= 1
    with pytest.raises(ConfigError, match="1 round or more"):
        p_at_least(SINGLE, 0, 0)


# ---------------------------------------------------------------- Lundberg's root, Doob's bound


@pytest.mark.parametrize(
    ("box", "root"), [("single", 0.052620), ("double", 0.018044), ("super", 0.006857)]
)
def test_root_of_each_box(box, root):
    """Source: the betting notes, "Checks at hand": per unit."""
    law = box_law(RULES, box)
    found = lundberg_root(law)
    assert round(found, 6) == root
    # second road: fifty digits of E exp(tX) - 1 change sign around it
    with localcontext() as context:
        context.prec = 50

        def excess(t):
            terms = zip(law.counts, law.nets.tolist(), strict=True)
            return sum(n * ((t * net / 100).exp() - 1) for n, net in terms)

        assert excess(Decimal(found) * (1 - Decimal("1e-12"))) < 0
        assert excess(Decimal(found) * (1 + Decimal("1e-12"))) > 0


def test_the_root_has_the_sign_of_the_house_edge_and_the_unit_it_is_asked_in():
    assert lundberg_root(SINGLE, 1) == pytest.approx(lundberg_root(SINGLE, 100) / 100, rel=1e-12)
    ten = net_law(RULES, Slip.of("single=1000"))
    assert lundberg_root(ten, 1000) == pytest.approx(lundberg_root(SINGLE), rel=1e-12)
    seen = net_law(RULES, Slip.of("single=100"), law_given_card(RULES, "K"))
    assert lundberg_root(seen) < 0
    fair = NetLaw(SINGLE.slip, np.array([-100, 100]), (1, 1), SINGLE.moved_cents)
    assert lundberg_root(fair) == 0
    sure = NetLaw(SINGLE.slip, np.array([0, 100]), (1, 1), SINGLE.moved_cents)
    with pytest.raises(ConfigError, match="no Lundberg root"):
        lundberg_root(sure)


def test_a_maximum_is_bounded_and_the_bound_is_not_idle():
    """P(S ever reaches d) is at most exp(-t d), and reaching it at the end is a part of that."""
    for n_rounds in (20, 500):
        for distance in (0, 95, 5_000, 20_000, 52_000):
            bound = crossing_bound(BOTH, n_rounds, distance)
            assert p_at_least(BOTH, n_rounds, distance) <= bound <= 1
            assert bound <= exp(-lundberg_root(BOTH, 1) * distance) * (1 + 1e-9)
    assert crossing_bound(BOTH, 20, 20 * 1045) == pytest.approx(
        BOTH.probabilities[-1] ** 20, rel=0.1
    )
    assert crossing_bound(BOTH, 20, 20 * 1045 + 1) == 0
