"""Ruin of flat play: each exact figure by a second road, and the simulations around it."""

import numpy as np
import pytest

from niulab.engine.rules import load_rules
from niulab.engine.wagers import Slip
from niulab.evaluation.sessions.ruins import flat_walks, slip_ruin
from niulab.evaluation.sessions.simulate import sample_paths
from niulab.solvers.optimal.problem import BettingProblem
from niulab.solvers.optimal.values import solve_betting
from niulab.solvers.sessions.programme import play_session
from niulab.solvers.sessions.tables import flat_tables

RULES = load_rules("single-double-super")
SINGLE, SUPER = Slip.of("single=100"), Slip.of("single=100,super=100")
BANKROLLS, ROUNDS = (500, 1000, 2000), (10, 60)
FALSE_ALARM = 1 - 1e-6


def ruin_of(slip, **given):
    return slip_ruin(
        RULES,
        slip,
        bankrolls_cents=BANKROLLS,
        rounds=ROUNDS,
        target_cents=4000,
        n_sessions=4000,
        n_endless=2000,
        seed=1,
        level=FALSE_ALARM,
        **given,
    )


@pytest.fixture(scope="module")
def single():
    return ruin_of(SINGLE)


@pytest.fixture(scope="module")
def double():
    return ruin_of(SUPER, threads=2)


def test_ruin_is_the_forward_programmes(single, double):
    for each in (single, double):
        tables = flat_tables(RULES, each.slip, step_cents=5, n_levels=16_000)
        for start in BANKROLLS:
            law = play_session(RULES, tables, start_cents=start, n_rounds=60)
            over = law.ruined_by + law.left_by  # it leaves where the least slip could still lie
            found = each.curve.ruined[each.place(start)]
            assert found[0] == pytest.approx(over[10], abs=1e-9)
            if start >= each.curve.ruin_below_cents:
                # whoever falls short in the last round leaves before the next
                later = play_session(RULES, tables, start_cents=start, n_rounds=61)
                over = later.ruined_by[60] + later.left_by[60]
            else:
                over = 1.0
            assert found[1] == pytest.approx(over, abs=1e-9)


def test_ruin_at_the_end_is_what_paths_that_play_on_show(single):
    """Source of the fault: AttackingOrDefending/Blackjack-Strategy-Simulator #14."""
    assert (single.at_end <= single.curve.ruined + 1e-12).all()
    walks = flat_walks(RULES, SINGLE, ROUNDS, n_sessions=4000, seed=1)
    for start in BANKROLLS:
        place = single.place(start)
        share = (walks.nets < 100 - start).mean(axis=0)
        assert share == pytest.approx(single.at_end[place], abs=0.04)
    assert single.curve.ruined[0, 1] > single.at_end[0, 1] + 0.25


def test_a_round_by_hand(single):
    """From 5 units of Single, five losses in a row are ruin: four leave one unit, which plays."""
    short = slip_ruin(
        RULES,
        SINGLE,
        bankrolls_cents=(500,),
        rounds=(4, 5),
        target_cents=600,
        n_sessions=10,
        n_endless=10,
    )
    lost = single.law.probabilities[0]
    assert short.curve.ruined[0] == pytest.approx([0.0, lost**5], abs=1e-15)
    assert short.at_end[0] == pytest.approx([0.0, lost**5], abs=1e-12)


def test_walks_are_the_simulations_sessions():
    walks = flat_walks(RULES, SINGLE, (5, 20), n_sessions=50, seed=9)
    tables = flat_tables(RULES, SINGLE, step_cents=5, n_levels=3000)
    paths = sample_paths(RULES, tables, start_cents=5000, n_rounds=20, n_sessions=50, seed=9)
    assert np.array_equal(walks.nets, paths[:, [5, 20]] - 5000)
    assert np.array_equal(walks.lowest[:, 1], paths.min(axis=1) - 5000)
    assert [share.count for share in walks.ruined(300, level=0.95)] == [
        int((paths[:, : n + 1].min(axis=1) < 4700).sum()) for n in (5, 20)
    ]


def test_simulations_hold_the_exact_figures(single, double):
    """18 figures at a false alarm of 1e-6 each; the seed is fixed."""
    for each in (single, double):
        for start in BANKROLLS:
            place = each.place(start)
            for share, exact in zip(each.simulated[place], each.curve.ruined[place], strict=True):
                assert share.covers(exact)
            assert each.goal.holds(start)
            assert each.goal.simulated[start][1] == 0


def test_ruin_before_the_target_is_the_solvers(single):
    """Goldens: flat unit Single from 20 to 40 units, .2496239."""
    goal = single.goal
    assert 1 - goal.p_ruin[-1] == pytest.approx(0.2496239, abs=5e-8)
    for start in BANKROLLS:
        solved = solve_betting(
            BettingProblem(rules=RULES, slips=(SINGLE,), start_cents=start, target_cents=4000)
        )
        assert goal.p_ruin[single.place(start)] == pytest.approx(1 - solved.value, abs=1e-9)


def test_lundbergs_bounds_hold_and_the_diffusion_is_near(single, double):
    for each in (single, double):
        goal = each.goal
        assert (goal.lundberg[:, 0] <= goal.p_ruin + 1e-12).all()
        assert (goal.p_ruin <= goal.lundberg[:, 1] + 1e-12).all()
    assert np.abs(single.goal.diffusion - single.goal.p_ruin).max() < 0.02
    assert all(endless.is_ruin_certain for endless in single.goal.endless)


def test_below_what_the_slip_puts_in_sight_ruin_is_now(double):
    assert double.curve.ruin_below_cents == 1200
    assert (double.curve.ruined[double.place(1000)] == 1).all()
    assert (double.at_end[double.place(1000)] == 1).all()
    assert double.goal.p_ruin[double.place(1000)] == 1
    assert double.goal.diffusion[double.place(1000)] == 1
    assert double.goal.rounds[double.place(1000)] == 0


def test_progress_goes_to_the_end():
    seen = []
    slip_ruin(
        RULES,
        SINGLE,
        bankrolls_cents=(500,),
        rounds=(5,),
        target_cents=600,
        n_sessions=10,
        n_endless=10,
        progress=seen.append,
    )
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
