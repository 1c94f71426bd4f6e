"""Values of many slips at once: the quadratic form against the sum over every cell."""

from fractions import Fraction
from itertools import pairwise, product
from math import sqrt

import pytest

from niulab.engine.rules import load_rules, parse_rules
from niulab.engine.wagers import Slip
from niulab.errors import WagerError
from niulab.solvers.joint_law import joint_law
from niulab.solvers.mixes import (
    box_correlations,
    box_covariances,
    efficient,
    mix_values,
    upper_hull,
)
from niulab.solvers.values import box_values, slip_values

SHEETS = ("single-double-super", "even-double-super-bonus", "ngau-ngau-hong-kong")
CAPPED = """
name = "capped"
title = "t"
source = "s"
extends = "single-double-super"
[boxes.super]
max_win_cents = 250
max_loss_cents = 310
[boxes.super.commission]
rounding = "floor"
[boxes.double]
cover = { multiple = 3, shortfall = "cap_loss" }
"""


def grid(rules, stakes=(0, 20, 100, 240)):
    others = [box for box in rules.boxes if box != rules.required_box]
    return [
        Slip.of({rules.required_box: 100} | dict(zip(others, each, strict=True)))
        for each in product(stakes, repeat=len(others))
    ]


@pytest.mark.parametrize("name", SHEETS)
def test_every_mix_has_the_value_of_its_slip(name):
    rules = load_rules(name)
    slips = grid(rules)
    assert mix_values(rules, slips) == [slip_values(rules, slip) for slip in slips]


def test_caps_rounding_and_short_cover_count_by_stake():
    rules = parse_rules(CAPPED)
    slips = [*grid(rules), Slip.parse("single=100,double=100/250,super=40")]
    values = mix_values(rules, slips)
    assert values == [slip_values(rules, slip) for slip in slips]
    per_unit = box_values(rules)["super"].ev
    assert values[1].ev_cents == -Fraction(5, 2) + 20 * per_unit
    assert values[3].ev_cents != -Fraction(5, 2) + 240 * per_unit  # caps are no part of a unit


def test_a_slip_the_table_refuses_is_refused():
    rules = load_rules("single-double-super")
    with pytest.raises(WagerError, match="lacks the required box"):
        mix_values(rules, [Slip.parse("single=100"), Slip.parse("super=100")])


def test_correlations_are_the_published_ones():
    found = box_correlations(load_rules("single-double-super"))
    assert found["single", "double"] == pytest.approx(0.916, abs=5e-4)
    assert found["single", "super"] == pytest.approx(0.881, abs=5e-4)
    assert found["double", "super"] == pytest.approx(0.970, abs=5e-4)
    assert found["double", "double"] == 1
    assert found["super", "single"] == found["single", "super"]


@pytest.mark.parametrize("name", SHEETS)
def test_covariances_are_what_two_boxes_add_to_the_variance_of_their_slip(name):
    rules = load_rules(name)
    covariances, values = box_covariances(rules), box_values(rules)
    for box, other in covariances:
        assert covariances[box, box] == values[box].variance
        if rules.required_box == box != other:
            both = slip_values(rules, Slip.of({box: 100, other: 100})).variance
            apart = values[box].variance + values[other].variance
            assert covariances[box, other] == (both / 100**2 - apart) / 2


def test_the_independent_bonus_hardly_correlates():
    found = box_correlations(load_rules("even-double-super-bonus"))
    assert 0 < found["even", "bonus"] < 0.03


def test_efficient_mixes_are_those_no_other_dominates():
    rules = load_rules("even-double-super-bonus-literal-note")
    mixes = mix_values(rules, grid(rules))
    for by, sign in (("most", 1), ("least", -1)):
        found = efficient(mixes, by=by)
        for place, mix in enumerate(mixes):
            beaten = any(
                other.ev_cents >= mix.ev_cents
                and sign * other.variance >= sign * mix.variance
                and (other.ev_cents, other.variance) != (mix.ev_cents, mix.variance)
                for other in mixes
            )
            assert (place in found) != beaten


def test_on_a_sound_sheet_the_least_slip_alone_is_calm_for_its_cost():
    rules = load_rules("single-double-super")
    mixes = mix_values(rules, grid(rules))
    assert [str(mixes[place].slip) for place in efficient(mixes, by="least")] == ["single=100"]


def test_the_hull_lies_above_every_mix_and_bends_down():
    rules = load_rules("even-double-super-bonus")
    mixes = mix_values(rules, grid(rules))
    hull = upper_hull(mixes, efficient(mixes, by="most"))
    points = [(-float(mixes[i].ev_cents), sqrt(mixes[i].variance)) for i in hull]
    slopes = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in pairwise(points)]
    assert slopes == sorted(slopes, reverse=True)
    for mix in mixes:
        cost, sd = -float(mix.ev_cents), mix.sd_cents
        for (left, low), slope in zip(points, slopes, strict=False):
            assert sd <= low + slope * (cost - left) + 1e-9
    # Double sells SD at the best price, the Bonus at the worst
    assert [str(mixes[i].slip) for i in hull] == [
        "even=100",
        "even=100,double=240",
        "even=100,double=240,super=240",
        "even=100,double=240,super=240,bonus=240",
    ]


def test_n0_is_the_published_one():
    values = box_values(load_rules("single-double-super"))
    assert [round(v.n0) for v in values.values()] == [1521, 4117, 2079]


def test_of_a_stake_only_what_can_differ_is_settled(monkeypatch):
    """A win depends on the own hand and a loss on one rank, so most cells need no settlement."""
    from niulab.engine import settlement

    rules = load_rules("even-double-super-bonus")
    law, slip, n_settled = joint_law(rules), Slip.of({"even": 100, "super": 100, "bonus": 100}), 0
    real = settlement.settle_box

    def counted(*args, **kwargs):
        nonlocal n_settled
        n_settled += 1
        return real(*args, **kwargs)

    monkeypatch.setattr(settlement, "settle_box", counted)
    (values,) = mix_values(rules, [slip], law)
    assert 0 < n_settled < 3 * len(law.cells) / 10
    assert values == slip_values(rules, slip, law)  # cell by cell
