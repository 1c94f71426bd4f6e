"""The study of mixes: game.md's figures, the grid against single slips, and all three forms."""

from fractions import Fraction
from math import inf

import numpy as np
import pytest

from niulab.engine.rules import load_rules
from niulab.engine.wagers import Slip
from niulab.evaluation.studies.mix import MixConfig, mix_study
from niulab.solvers.values import slip_values


@pytest.fixture(scope="module")
def study():
    return mix_study(MixConfig(stakes_cents=(0, 40, 100)))


@pytest.fixture(scope="module")
def bonus():
    return mix_study(
        MixConfig(rules="even-double-super-bonus", stakes_cents=(0, 100), slip="even=100,bonus=20")
    )


def test_boxes_have_the_published_values(study, bonus):
    assert study.boxes["single"].house_edge == Fraction(1, 40)
    assert study.boxes["double"].ev == Fraction(-8134827643, 302018644200)
    assert study.boxes["super"].ev == Fraction(-466382605027, 3322205086200)
    assert bonus.boxes["even"].ev == Fraction(-8991591383, 398664610344)
    assert float(bonus.boxes["bonus"].ev) == pytest.approx(-0.6423446302, abs=1e-10)


def test_the_grid_holds_every_mix_with_its_exact_values(study):
    assert len(study.mixes) == 9
    rules = load_rules("single-double-super")
    assert study.by_slip[Slip.parse("single=100,super=40")] == slip_values(
        rules, Slip.parse("single=100,super=40")
    )
    edge = study.by_slip[Slip.parse("single=100,double=100,super=100")].house_edge
    assert edge == sum(values.house_edge for values in study.boxes.values()) / 3


def test_headline_says_what_is_cheapest(study):
    headline = study.headline()
    assert headline["mixes"] == 9
    assert headline["n0"]["single"] == 1521
    assert headline["extremes"]["least house edge"] == {
        "slip": "single=100",
        "house_edge": Fraction(1, 40),
    }
    assert headline["extremes"]["greatest house edge"]["slip"] == "single=100,super=100"
    assert headline["frontier"][0] == "single=100"
    assert headline["frontier"][-1] == "single=100,double=100,super=100"


def test_columns_are_of_one_length_and_full_precision(study, bonus):
    for each in (study, bonus):
        tables = each.columns()
        assert list(tables) == ["boxes", "correlations", "mixes", "payoff"]
        for columns in tables.values():
            assert len({len(values) for values in columns.values()}) == 1
    mixes = study.columns()["mixes"]
    place = mixes["slip"].index("single=100,super=40")
    assert mixes["super_cents"][place] == 40
    assert mixes["ev_cents"][place] == float(mixes["ev_cents_exact"][place])
    assert mixes["sd_cents"][place] == pytest.approx(344.9989, abs=1e-4)
    assert np.flatnonzero(mixes["is_least_sd"]).tolist() == [mixes["slip"].index("single=100")]
    payoff = bonus.columns()["payoff"]
    assert sum(payoff["deals"]) == 3_986_646_103_440
    assert payoff["net_base_units"].max() == 21  # Even and 100 to 1 on a fifth of a unit


def test_sections_print_what_was_computed(study, bonus):
    sections = {section.title: section for section in study.sections()}
    assert sections["Boxes"].cells[1][0][:4] == ["single", "-0.0250000000", "-1/40", "2.5000 %"]
    assert sections["How the boxes move together"].cells[1][0] == [
        "single",
        "1.0000",
        "0.9158",
        "0.8805",
    ]
    assert [picture.name for s in sections.values() for picture in s.pictures] == [
        "edges",
        "frontier",
        "payoff",
    ]
    drawn = sections["Payoffs of single=100,double=100,super=100"]
    assert drawn.pictures[0].png.startswith(b"\x89PNG")
    assert "Payoffs of even=100,bonus=20" in {section.title for section in bonus.sections()}


def test_the_edges_of_a_heat_map_lie_as_its_axes_say(bonus):
    edges = bonus._edges("double", "bonus")
    assert edges.shape == (2, 2)
    just_bonus = bonus.by_slip[Slip.parse("even=100,bonus=100")]
    assert edges[1, 0] == float(just_bonus.house_edge)
    assert edges[0, 1] == float(bonus.by_slip[Slip.parse("even=100,double=100")].house_edge)


def test_a_sheet_with_one_box_has_one_mix_and_no_heat_map():
    study = mix_study(MixConfig(rules="ngau-ngau-hong-kong"))
    assert [str(values.slip) for values in study.mixes] == ["single=100"]
    assert study.boxes["single"].ev == 0
    assert study.headline()["n0"] == {"single": inf}
    names = [picture.name for section in study.sections() for picture in section.pictures]
    assert names == ["frontier", "payoff"]


def test_a_defective_sheet_is_warned_of_and_costs_less_than_nothing():
    rules = "even-double-super-bonus-literal-note"
    study = mix_study(MixConfig(rules=rules, stakes_cents=(0, 100)))
    (warning,) = study.warnings()
    assert "box 'super'" in warning
    assert "PLAYER +0.4605403442" in warning
    extremes = study.headline()["extremes"]
    assert extremes["least cost of a round"]["slip"] == "even=100,super=100"
    assert len(study.least_sd) > 1
