"""The slip a system multiplies: its default, its multiples, their limits and its law."""

import numpy as np
import pytest
from strategies import PLAYABLE, overlay

from niulab.agents.systems.sitting import Sitting, default_base_slip
from niulab.engine.wagers import Slip, can_place, least_slip
from niulab.errors import ConfigError, WagerError
from niulab.solvers.joint_law import joint_law
from niulab.solvers.optimal.kelly import kelly_plan

RULES = PLAYABLE["single-double-super"]


@pytest.mark.parametrize("name", PLAYABLE)
def test_the_base_slip_is_one_unit_on_the_required_box(name):
    slip = default_base_slip(PLAYABLE[name])
    assert can_place(PLAYABLE[name], slip)
    assert slip.boxes == least_slip(PLAYABLE[name]).boxes
    assert slip.total_cents == 100


COARSE = """
[table]
chip_unit_cents = 40
[boxes]
single = { minimum_cents = 120 }
double = { minimum_cents = 40 }
super = { minimum_cents = 40 }
"""


@pytest.mark.parametrize(
    ("text", "cents"),
    [
        ("[boxes.single]\nminimum_cents = 240\n", 300),
        (COARSE, 200),
        ("[boxes.single]\nminimum_cents = 120\nmaximum_cents = 180\n", 120),
    ],
)
def test_the_base_slip_where_the_table_asks_for_more(text, cents):
    assert default_base_slip(overlay("single-double-super", text)).total_cents == cents


def test_multiples():
    sitting = Sitting.at(RULES, "single=100,super=40")
    assert sitting.multiple(3) == Slip.of("single=300,super=120")
    assert sitting.units_of(Slip.of("single=300,super=120")) == 3
    assert sitting.units_of(Slip.of("single=300,super=140")) is None
    assert sitting.units_of(Slip.of("single=100")) is None
    assert sitting.needs_cents(0) == 100
    assert [sitting.needs_cents(k) for k in (1, 2)] == [100 + 11 * 40, 200 + 11 * 80]
    assert sitting.most_units == 100_000
    with pytest.raises(ConfigError, match="multiplied by 1 or more, got 0"):
        sitting.multiple(0)


def test_short_cover_asks_for_the_stakes_only():
    rules = overlay("single-double-super", '[boxes.super.cover]\nshortfall = "cap_loss"\n')
    assert Sitting.at(rules, "single=100,super=40").needs_cents(2) == 280


def test_declared_cover_is_multiplied_too():
    rules = overlay("single-double-super", '[boxes.super.cover]\nshortfall = "cap_loss"\n')
    sitting = Sitting.at(rules, "single=100,super=40/100")
    assert sitting.multiple(2) == Slip.of("single=200,super=80/200")
    assert sitting.needs_cents(2) == 400


def test_an_illegal_base_slip():
    with pytest.raises(WagerError, match="lacks the required box"):
        Sitting.at(RULES, "super=40")


def test_the_least_win():
    assert Sitting.at(RULES).least_win_cents == 95
    mixed = Sitting.at(RULES, "single=100,double=100")
    # Single's 95 with Double's even money, which pays no commission
    assert mixed.least_win_cents == 195


def test_no_kelly_stake_without_an_edge():
    assert Sitting.at(RULES).kelly_rate == 0
    assert Sitting.at(RULES, "single=100,super=20").kelly_rate == 0


def test_kelly_of_a_two_point_bet_is_edge_over_odds():
    rules = overlay(
        "single-double-super", "[boxes.single]\nwin_odds = {default = 2}\nlose_odds = {default = 1}"
    )
    sitting = Sitting.at(rules)
    lost, won = sitting.law.nets
    q, p = sitting.law.probabilities
    assert (lost, won) == (-100, 190)
    assert sitting.kelly_rate == pytest.approx((p * 1.9 - q) / 1.9 / 100, rel=1e-12)
    # the plan over all boxes puts everything there: the others lose
    assert kelly_plan(joint_law(rules)).fractions["single"] == pytest.approx(
        100 * sitting.kelly_rate, rel=1e-6
    )


def test_kelly_of_many_points_grows_fastest():
    rules = overlay("single-double-super", "[boxes.super]\nlose_odds = { default = 3 }\n")
    sitting = Sitting.at(rules, "single=100,super=40")
    rates = np.linspace(0, 1 / sitting.needs_cents(1), 1000, endpoint=False)
    growth = np.log1p(rates[:, None] * sitting.law.nets) @ sitting.law.probabilities
    best = rates[growth.argmax()]
    assert 0 < best < rates[-1]
    assert abs(sitting.kelly_rate - best) <= rates[1]


def test_kelly_never_exceeds_the_cover():
    rules = overlay(
        "single-double-super",
        "[boxes.single]\nwin_odds = {default = 9}\nlose_odds = {default = 1}\n"
        "[boxes.single.cover]\nmultiple = 3\n",
    )
    sitting = Sitting.at(rules)
    assert sitting.needs_cents(1) == 400
    assert sitting.kelly_rate == pytest.approx(1 / 400, rel=1e-12)
