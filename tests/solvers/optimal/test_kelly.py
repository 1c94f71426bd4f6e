"""Kelly stakes: nothing without information, the grid's best with it, a bound beside each."""

from functools import cache
from itertools import product

import numpy as np
import pytest
from strategies import PLAYABLE, overlay

from niulab.engine.rules.catalog import load_rules
from niulab.engine.wagers import Slip, least_slip
from niulab.errors import ConfigError
from niulab.solvers.information import law_given_card
from niulab.solvers.joint_law import joint_law
from niulab.solvers.optimal.kelly import kelly_plan, kelly_slip
from niulab.solvers.values import box_values, slip_values

RULES = PLAYABLE["single-double-super"]
NEEDS = np.array([1, 4, 11])


@cache
def given(card, position="own"):
    return law_given_card(RULES, card, position)


SHEETS = [
    "single-double-super",
    "even-double-super-bonus",
    "even-double-super-bonus-literal-note",
    "even-double-super-bonus-literal-double-scale",
    "even-double-super-bonus-bonus-any-niu-niu",
]
SLOW = sorted({*PLAYABLE} - {*SHEETS, "six-deck-shoe-bonus"})


def mean_log(law, stakes):
    """E log(1 + sum f_i X_i) of many stakes (k, boxes), cell by cell."""
    total = 0.0
    for cell, n in law.cells.items():
        nets = np.array([float(cell.unit(law.rules, box).net) for box in law.rules.boxes])
        total = total + n / law.n_deals * np.log1p(stakes @ nets)
    return total


@pytest.mark.parametrize(
    "name", [*SHEETS, *(pytest.param(name, marks=pytest.mark.long) for name in SLOW)]
)
def test_without_information_only_defective_sheets_are_worth_a_stake(name):
    law = joint_law(load_rules(name))
    plan = kelly_plan(law)
    favorable = {box for box, values in box_values(law.rules).items() if values.ev > 0}
    staked = {box for box, fraction in plan.fractions.items() if fraction > 0}
    assert plan.gap < 1e-12
    assert bool(staked) == bool(favorable)
    assert favorable <= staked
    if not favorable:
        assert plan.growth == 0
        assert plan.in_sight == 0


def test_the_literal_note_is_worth_a_large_stake_on_super():
    plan = kelly_plan(joint_law(load_rules("even-double-super-bonus-literal-note")))
    assert plan.fractions["super"] > 0
    assert plan.growth > 0


@pytest.mark.parametrize("position", ["own", "dealer"])
@pytest.mark.parametrize("card", ["A", "5", "10", "K"])
def test_a_fine_grid_of_fractions_finds_nothing_better(card, position):
    law = given(card, position)
    plan = kelly_plan(law)
    assert plan.gap < 1e-12
    assert plan.growth == pytest.approx(
        mean_log(law, np.array([*plan.fractions.values()])), abs=1e-14
    )
    shares = np.array([*product(np.linspace(0, 0.95, 20), repeat=3)])
    shares = shares[shares.sum(axis=1) <= 0.96]
    best = mean_log(law, shares / NEEDS).max()
    assert best <= plan.growth + 1e-14
    assert best >= 0.9 * plan.growth - 1e-4


def test_small_moves_from_the_plan_lose():
    plan = kelly_plan(given("K"))
    moves = np.array([*product([-1e-3, 0, 1e-3], repeat=3)])
    moved = np.maximum(np.array([*plan.fractions.values()])[None] + moves, 0)
    moved = moved[moved @ NEEDS <= 1]
    assert len(moved) > 8
    assert mean_log(given("K"), moved).max() <= plan.growth + 1e-15


def test_the_curve_peaks_at_one_and_is_zero_at_nothing():
    plan = kelly_plan(given("K"))
    multiples = np.linspace(0, 1, 21)
    curve = plan.growth_at(multiples)
    assert curve[0] == 0
    assert curve[-1] == pytest.approx(plan.growth)
    assert (np.diff(curve) > 0).all()
    assert np.isnan(plan.growth_at([1.001 / plan.in_sight])[0])
    half = float(plan.growth_at([0.5])[0])
    assert half == pytest.approx(0.75 * plan.growth, rel=0.03)  # half Kelly: three quarters


@pytest.mark.parametrize("card", ["K", "9"])
def test_on_the_chip_grid_every_slip_was_looked_at(card):
    """All slips that a bankroll of 12 units takes, on chips of 40 cents."""
    bankroll = 1200
    table = RULES.table.model_copy(update={"chip_unit_cents": 40})
    law = law_given_card(RULES.model_copy(update={"table": table}), card)
    axes = range(120, 1201, 40), range(0, 301, 40), range(0, 110, 40)
    stakes = np.array([*product(*axes)])
    stakes = stakes[(stakes @ NEEDS <= bankroll) & (stakes[:, 0] < bankroll)]
    growths = mean_log(law, stakes / bankroll)
    most = growths.max()
    best = Slip(tuple(zip(law.rules.boxes, stakes[growths.argmax()].tolist(), strict=True)))
    found = kelly_slip(law, bankroll, must_play=True)
    assert found.slip == best
    assert found.growth == pytest.approx(most, abs=1e-14)
    assert found.growth <= found.bound
    assert (kelly_slip(law, bankroll).slip is None) == (most <= 0)


def test_with_a_large_bankroll_chips_cost_next_to_nothing():
    found = kelly_slip(given("K"), 1_000_000)
    assert found.bound - found.growth < 1e-9
    assert found.loss_cents == pytest.approx(
        -float(slip_values(RULES, found.slip, given("K")).ev_cents)
    )
    half = kelly_slip(given("K"), 1_000_000, fraction=0.5)
    plan = kelly_plan(given("K"))
    for box, fraction in plan.fractions.items():
        assert half.slip.stake(box) == pytest.approx(500_000 * fraction, abs=20)


def test_who_must_play_without_an_edge_shrinks_least():
    law = joint_law(RULES)
    assert kelly_slip(law, 2000).slip is None
    found = kelly_slip(law, 2000, must_play=True)
    assert found.slip == least_slip(RULES)
    assert found.growth < 0
    assert found.loss_cents == pytest.approx(2.5)


def test_a_minimum_that_is_too_large_for_the_bankroll_forbids_a_good_bet():
    """An edge of a few percent on the dealer's card does not carry a stake of all one has."""
    law = given("5")
    assert kelly_slip(law, 100).slip is None
    with pytest.raises(ConfigError, match="do not put"):
        kelly_slip(law, 99)


@pytest.mark.parametrize("fraction", [0, 1.5])
def test_fractions_are_fractions(fraction):
    with pytest.raises(ConfigError, match="fraction"):
        kelly_slip(given("K"), 2000, fraction=fraction)


@pytest.mark.parametrize(
    "lines",
    [
        "[boxes.double]\nmax_loss_cents = 100",
        "[boxes.super.cover]\nmax_cents = 400",
        '[boxes.super.cover]\nshortfall = "cap_loss"',
        '[boxes.single.commission]\nrounding = "half_up"',
    ],
)
def test_no_bound_is_claimed_where_some_stakes_are_favored(lines):
    rules = overlay("single-double-super", lines)
    found = kelly_slip(joint_law(rules), 20_000)
    assert found.bound == np.inf
    if "max_loss" in lines:  # losses end at one unit and wins do not
        assert found.growth > 0.15 > kelly_plan(joint_law(rules)).growth == 0
