"""The study of readings: game.md's figures for every reading, and which boxes turn."""

from fractions import Fraction

import pytest

from niulab.engine.rules import load_rules
from niulab.evaluation.studies.readings import ReadingsConfig, readings_of, readings_study

BASE = "even-double-super-bonus"
PUBLISHED = {  # game.md, sections 2 and 4
    ("half-on-7", "even"): Fraction(-6262911266, 249165381465),
    ("literal-note", "super"): Fraction(4590028421549, 9966615258600),
    ("literal-double-scale", "super"): 1.9430650216,
    ("bonus-all", "bonus"): -0.6310824,
    ("bonus-any-niu-niu", "bonus"): 0.8512620,
}


@pytest.fixture(scope="module")
def study():
    seen = []
    result = readings_study(
        ReadingsConfig(), progress=lambda title, done, total: seen.append((title, done, total))
    )
    assert [title for title, *_ in seen] == [rules.name for rules in result.config.sheets]
    assert seen[-1][1:] == (11, 12)
    return result


def test_every_reading_of_game_md_is_there():
    names = {rules.name.removeprefix(f"{BASE}-") for rules in readings_of(load_rules(BASE))}
    assert names == {
        *("half-on-7", "niu2-even-money", "niu2-short", "literal-note", "literal-double-scale"),
        *("four-of-a-kind-pays", "four-of-a-kind-ranks", "suit-first", "ace-high"),
        *("bonus-all", "bonus-any-niu-niu"),
    }


def test_values_are_the_published_ones(study):
    found = dict(zip((r.name for r in study.config.sheets), study.values, strict=True))
    assert found[BASE]["even"].ev == Fraction(-8991591383, 398664610344)
    for (reading, box), value in PUBLISHED.items():
        ev = found[f"{BASE}-{reading}"][box].ev
        if isinstance(value, Fraction):
            assert ev == value
        else:
            assert float(ev) == pytest.approx(value, abs=5e-8)


def test_three_boxes_turn_to_the_player(study):
    turned = {(rules.name.removeprefix(f"{BASE}-"), box) for rules, box, _ in study.player_boxes()}
    assert turned == {
        ("literal-note", "super"),
        ("literal-double-scale", "super"),
        ("bonus-any-niu-niu", "bonus"),
    }
    assert len(study.warnings()) == 3
    headline = study.headline()["favors_player"]
    assert {each["box"]: each["ev_float"] for each in headline}["bonus"] == pytest.approx(0.8512620)


def test_columns_hold_every_box_and_the_change_to_the_sheet(study):
    tables = study.columns()
    readings = tables["readings"]
    assert len(readings["box"]) == 12 * 4
    place = readings["rules"].index(f"{BASE}-half-on-7")
    assert readings["box"][place] == "even"
    assert readings["ev_change_exact"][place] == (
        Fraction(-6262911266, 249165381465) - Fraction(-8991591383, 398664610344)
    )
    assert sum(readings["favors_player"]) == 3
    assert all(change == 0 for change in readings["ev_change"][:4])
    assert "boxes.super.win_odds.niu_2: 2 -> 1" in tables["changes"]["change"]


def test_sections_show_edges_the_players_boxes_and_the_changes(study):
    edges, players, changes = study.sections()
    assert edges.cells[0] == ["reading", "even", "double", "super", "bonus"]
    rows = {row[0]: row[1:] for row in edges.cells[1]}
    assert rows["literal-note"][2] == "-46.054034 %"
    assert rows["bonus-any-niu-niu"][3] == "-85.126204 %"
    assert next(row[:3] for row in players.cells[1]) == [
        "bonus-any-niu-niu",
        "bonus",
        "+0.8512620433",
    ]
    assert ["half-on-7", "boxes.even.half_pay: niu_6 -> niu_7"] in changes.cells[1]
    assert edges.pictures[0].png.startswith(b"\x89PNG")


def test_a_reading_may_lack_a_box_and_have_others():
    study = readings_study(
        ReadingsConfig(rules="single-double-super", readings=["equal-double-cambodia"])
    )
    assert study.boxes == ("single", "double", "super", "equal")
    edges, players, _ = study.sections()
    assert edges.cells[1][0][-1] == ""
    assert edges.cells[1][1][1] == ""
    assert players.cells is None
    assert players.lines == ("None: under every reading each box is the house's.",)
    readings = study.columns()["readings"]
    assert readings["ev_change"][readings["box"].index("equal")] is None
