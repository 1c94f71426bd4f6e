"""Flat play between ruin and a goal: published figures, fractions, bounds and dealt sessions."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import inf, sqrt

import numpy as np
import pytest
from strategies import overlay

from niulab.engine.batch import BatchEngine
from niulab.engine.rules import load_rules
from niulab.engine.wagers import Slip, exposure_cents
from niulab.errors import ConfigError
from niulab.solvers.information import law_given_card
from niulab.solvers.sessions.barriers import Diffusion, endless_play, flat_barriers, goal_bounds
from niulab.solvers.sessions.net_law import NetLaw, net_law

RULES = load_rules()
SINGLE = net_law(RULES, Slip.of("single=100"))
BOTH = net_law(RULES, Slip.of("single=100,super=100"))
FREE = overlay(
    "single-double-super",
    '[boxes.single]\ncommission = { rate = "0" }\n[boxes.double]\ncommission = { rate = "0" }\n',
)


@cache
def doubling():
    """Fifty units to a hundred on Single + Super."""
    return flat_barriers(RULES, BOTH, 5000, 10000)


def solved_in_fractions(law, ruin_below, target):
    """P(goal) and expected rounds by Gauss elimination over the rationals; {bankroll: (p, n)}."""
    step = law.step_cents
    states = range(ruin_below, target, step)
    place = {bankroll: i for i, bankroll in enumerate(states)}
    rows = []
    for bankroll in states:
        row = [Fraction(0)] * len(place) + [Fraction(0), Fraction(1)]
        row[place[bankroll]] += 1
        for net, n in zip(law.nets.tolist(), law.counts, strict=True):
            after = bankroll + net
            if after >= target:
                row[-2] += Fraction(n, law.n_deals)
            elif after in place:
                row[place[after]] -= Fraction(n, law.n_deals)
        rows.append(row)
    for i in range(len(rows)):
        pivot = rows[i] = [x / rows[i][i] for x in rows[i]]
        for j, row in enumerate(rows):
            if j != i and row[i]:
                rows[j] = [x - row[i] * y for x, y in zip(row, pivot, strict=True)]
    return {bankroll: (rows[i][-2], rows[i][-1]) for bankroll, i in place.items()}


def test_doubling_twenty_units_on_single():
    """Source: the betting notes, "Checks at hand": flat unit Single .2496239."""
    play = flat_barriers(RULES, SINGLE, 2000, 4000)
    assert round(play.goal_from(2000), 7) == 0.2496239
    assert play.error_bound < 1e-11
    low, high = play.bounds_from(2000)
    assert low <= play.goal_from(2000) <= high
    assert high - low < 0.02
    assert play.diffusion_from(2000) == pytest.approx(play.goal_from(2000), abs=0.005)


@pytest.mark.parametrize("text", ["single=100", "single=100,double=100"])
def test_it_solves_the_equations_of_a_small_lattice_exactly(text):
    law = net_law(FREE, Slip.of(text))
    ruin_below = exposure_cents(FREE, law.slip)
    target = ruin_below + 1000
    exact = solved_in_fractions(law, ruin_below, target)
    play = flat_barriers(FREE, law, ruin_below, target)
    assert play.step_cents == 100
    assert play.bankrolls.tolist() == list(exact)
    for bankroll, (p_goal, rounds) in exact.items():
        assert abs(play.goal_from(bankroll) - p_goal) <= play.error_bound + 1e-16
        assert play.rounds_from(bankroll) == pytest.approx(float(rounds), rel=1e-12)


def test_with_commission_too():
    exact = solved_in_fractions(SINGLE, 100, 300)
    play = flat_barriers(RULES, SINGLE, 200, 300)
    for bankroll, (p_goal, rounds) in exact.items():
        assert abs(play.goal_from(bankroll) - p_goal) <= play.error_bound
        assert play.rounds_from(bankroll) == pytest.approx(float(rounds), rel=1e-12)


def test_a_fair_game_doubles_half_the_time():
    law = net_law(FREE, Slip.of("single=100"))
    play = flat_barriers(FREE, law, 2000, 4000)
    # ruin is a bankroll below 100: 0 cents; a fair walk of unit steps
    assert play.goal_from(2000) == pytest.approx(0.5, abs=1e-12)
    assert play.rounds_from(2000) == pytest.approx(20 * 20, rel=1e-12)
    assert play.bounds_from(2000) == (0.5, 0.5)
    assert Diffusion.of(law).p_goal(2000, 2000) == 0.5
    assert Diffusion.of(law).rounds(2000, 2000) == pytest.approx(400)


def test_rounds_by_how_play_ends_mix_to_the_whole():
    play = doubling()
    mixed = play.p_goal * play.rounds_if_goal + (1 - play.p_goal) * play.rounds_if_ruin
    np.testing.assert_allclose(mixed, play.rounds, rtol=1e-9)
    # Wald: what play loses in the mean is the edge times its rounds, up to jumps past a barrier
    loss = -float(BOTH.ev_cents) * play.rounds_from(5000)
    p_goal = play.goal_from(5000)
    assert 5000 - p_goal * (10000 + 1045) - (1 - p_goal) * 1200 <= loss
    assert loss <= 5000 - p_goal * 10000 - (1 - p_goal) * 100


def test_past_a_barrier_play_is_over():
    play = doubling()
    assert play.ruin_below_cents == 1200  # two stakes and ten of cover
    assert (play.goal_from(1195), play.rounds_from(1195)) == (0, 0)
    assert (play.goal_from(10000), play.rounds_from(10000)) == (1, 0)
    assert goal_bounds(BOTH, 1195, 1200, 10000) == (0, 0)
    assert goal_bounds(BOTH, 10000, 1200, 10000) == (1, 1)


def test_it_has_no_unit():
    """Ten times all cents are the same play (ruin wrong by units: ranaroussi/quantstats)."""
    ten = net_law(RULES, Slip.of("single=1000,super=1000"))
    small, big = doubling(), flat_barriers(RULES, ten, 50000, 100000)
    np.testing.assert_allclose(big.p_goal, small.p_goal, rtol=1e-12)
    np.testing.assert_allclose(big.rounds, small.rounds, rtol=1e-12)
    assert goal_bounds(ten, 50000, 12000, 100000) == pytest.approx(
        goal_bounds(BOTH, 5000, 1200, 10000), rel=1e-12
    )
    small_flow, big_flow = Diffusion.of(BOTH), Diffusion.of(ten)
    assert big_flow.p_goal(38000, 50000) == pytest.approx(small_flow.p_goal(3800, 5000), rel=1e-12)
    assert big_flow.ruin_by(500, 38000) == pytest.approx(small_flow.ruin_by(500, 3800), rel=1e-12)


def test_a_larger_bankroll_gets_there_more_often():
    play = doubling()
    assert (np.diff(play.p_goal) > 0).all()
    low, high = zip(*(play.bounds_from(b) for b in play.bankrolls.tolist()), strict=True)
    assert (np.array(low) <= play.p_goal + 1e-12).all()
    assert (play.p_goal <= np.array(high) + 1e-12).all()


# ---------------------------------------------------------------- without a goal


def test_endless_play_against_an_edge_is_ruined_with_certainty():
    for law, ruin_below in ((SINGLE, 100), (BOTH, 1200)):
        forever = endless_play(law, 100_000, ruin_below)
        assert forever.p_ruin == (1, 1)
        assert forever.is_ruin_certain
    assert endless_play(SINGLE, 99, 100).rounds == (0, 0)


def test_a_goal_out_of_reach_leaves_the_rounds_of_endless_play():
    """Second road: e^(-t 1000 units) of sessions ever see the far goal."""
    play = flat_barriers(RULES, SINGLE, 2000, 102_000)
    low, high = endless_play(SINGLE, 2000, 100).rounds
    assert play.goal_from(2000) < 1e-20
    assert low <= play.rounds_from(2000) <= high
    assert high - low < 45


def test_a_fair_game_ruins_too_but_takes_for_ever():
    fair = net_law(FREE, Slip.of("single=100"))
    assert endless_play(fair, 2000, 100).p_ruin == (1, 1)
    assert endless_play(fair, 2000, 100).rounds == (inf, inf)


def test_an_edge_may_outlive_ruin():
    seen = net_law(RULES, Slip.of("single=100"), law_given_card(RULES, "K"))
    forever = endless_play(seen, 500, 100)
    assert not forever.is_ruin_certain
    # second road: ruin before a goal far away
    play = flat_barriers(RULES, seen, 500, 60_000)
    low, high = forever.p_ruin
    assert 0 < low <= 1 - play.goal_from(500) <= high < 1
    assert forever.rounds == (inf, inf)


# ---------------------------------------------------------------- refusals, simulation


def test_what_cannot_be_asked():
    with pytest.raises(ConfigError, match="not between ruin below 1200"):
        flat_barriers(RULES, BOTH, 1195, 5000)
    with pytest.raises(ConfigError, match="not between"):
        flat_barriers(RULES, BOTH, 5000, 5000)
    with pytest.raises(ConfigError, match="write 2000 or 2005"):
        flat_barriers(RULES, SINGLE, 2000, 4000).goal_from(2003)
    with pytest.raises(ConfigError, match="goal_bounds"):
        flat_barriers(RULES, BOTH, 5000, 10_000_000)
    nothing = NetLaw(SINGLE.slip, np.array([0]), (1,), Fraction(0))
    with pytest.raises(ConfigError, match="never ends"):
        flat_barriers(RULES, nothing, 2000, 4000)


def test_dealt_sessions_double_as_often():
    play = doubling()
    n, longest = 3000, 3000
    engine = BatchEngine(RULES)
    bankrolls, alive = np.full(n, 5000), np.ones(n, dtype=bool)
    for r in range(longest):
        rows = np.flatnonzero(alive)
        if not len(rows):
            break
        nets = engine.play(BOTH.slip, rows.astype(np.uint64), np.full(len(rows), r))[:, 0]
        bankrolls[rows] += nets
        alive[rows] = (bankrolls[rows] >= 1200) & (bankrolls[rows] < 10000)
    p = play.goal_from(5000)
    assert not alive.any()
    assert float((bankrolls >= 10000).mean()) == pytest.approx(p, abs=4 * sqrt(p * (1 - p) / n))
