"""The study of systems: its league in all forms, resumed, and refused where it cannot be."""

from fractions import Fraction

import numpy as np
import pytest

from niulab.agents.systems.catalog import SYSTEMS
from niulab.errors import ConfigError
from niulab.evaluation.studies import parse_study, read_study
from niulab.evaluation.studies.systems import SystemsConfig, systems_study

SMALL = {
    "bankroll_cents": 2000,
    "target_cents": 3000,
    "n_rounds": 40,
    "n_sessions": 4000,
    "n_checks": 2000,
    "n_paths": 100,
    "fan": "paroli",
}


@pytest.fixture(scope="module")
def study():
    return systems_study(SystemsConfig(**SMALL))


@pytest.fixture(scope="module")
def sections(study):
    return {section.title: section for section in study.sections()}


def test_all_systems_play_and_some_with_a_stop_line(study):
    lines = {"stop-loss:10:flat", "win-goal:5:martingale", "win-goal:10:stop-loss:10:dalembert"}
    assert set(study.by_name) == set(SYSTEMS) | lines


def test_the_league_is_in_order_and_no_system_changes_the_price(study):
    evs = [score.figures.ev_cents for score in study.scores]
    assert evs == sorted(evs, reverse=True)
    assert study.house_edge == Fraction(1, 40)
    for score in study.scores:
        assert score.is_exact
        assert score.figures.ev_cents == pytest.approx(-score.figures.staked_cents / 40, abs=1e-7)


def test_without_a_target_nobody_heads_for_it():
    config = SystemsConfig(bankroll_cents=2000, n_rounds=5)
    assert set(SYSTEMS) - set(config.played) == {"bold", "timid"}
    study = systems_study(SystemsConfig(**SMALL | {"target_cents": None, "systems": ["paroli"]}))
    header, rows = study.sections()[0].cells
    assert "P(target)" not in header
    assert {len(row) for row in rows} == {len(header)}


def test_flat_play_is_always_among_them_and_beyond_the_budget_it_says_so():
    study = systems_study(
        SystemsConfig(**SMALL | {"systems": ["labouchere"], "budget": 1_000_000, "fan": "flat"})
    )
    assert [score.name for score in study.scores] == ["flat", "labouchere"]
    section = study.sections()[0]
    assert [row[1] for row in section.cells[1]] == ["exact", "4,000 sessions"]
    assert "1 of 2 systems take more than the budget" in section.lines[0]
    assert study.headline()["exact"] == 1
    differences = study.columns()["differences"]
    assert differences["is_exact"] == [True, False]
    assert differences["ev_cents"][1] == differences["paired_final_cents_mean"][1]


def test_headline_is_in_base_units(study):
    headline = study.headline()
    flat = study.by_name["flat"].figures
    assert headline["house_edge"] == Fraction(1, 40)
    assert headline["exact"] == len(study.scores)
    assert headline["systems"]["flat"]["ev"] == flat.ev_cents / 100
    assert headline["systems"]["bold"]["p_target"] > headline["systems"]["flat"]["p_target"]


def test_columns_are_of_one_length_and_full_precision(study):
    tables = study.columns()
    assert list(tables) == ["systems", "simulation", "differences", "fan"]
    for columns in tables.values():
        assert len({len(values) for values in columns.values()}) == 1
    systems, differences = tables["systems"], tables["differences"]
    place, flat = systems["system"].index("martingale"), systems["system"].index("flat")
    figures = study.by_name["martingale"].figures
    assert systems["p_ruin"][place] == figures.p_ruin
    assert systems["result_50_cents"][place] == figures.quantiles_cents[1]
    assert differences["ev_cents"][place] == figures.ev_cents - systems["ev_cents"][flat]
    assert differences["paired_final_cents_half_width"][flat] == 0
    assert np.array_equal(tables["fan"]["quantile_50_cents"], study.fan.bands[:, 2])


def test_sections_print_what_was_computed(study, sections):
    header, rows = sections["League"].cells
    row = dict(zip(header, next(row for row in rows if row[0] == "bold"), strict=True))
    bold = study.by_name["bold"].figures
    assert row["EV"] == f"{bold.ev_cents / 100:+.3f}"
    assert row["EV / handle"] == "-2.5000 %"
    assert row["P(target)"] == f"{bold.p_target:.4f}"
    assert "loses 2.5 % on average" in sections["League"].lines[2]
    held = sum(5 - len(score.missed(2000)) for score in study.scores)
    check = sections["What is exact, and its check"]
    assert f"{held} of {5 * len(study.scores)} simulated intervals of 95 %" in check.lines[0]
    rules = {row[0]: row[1:] for row in sections["Systems"].cells[1]}
    assert rules["flat"] == ["stakes 1 every round", ""]
    pictures = [picture for section in sections.values() for picture in section.pictures]
    assert [picture.name for picture in pictures] == ["league", "fan"]
    assert all(picture.png.startswith(b"\x89PNG") for picture in pictures)


def test_a_kept_study_is_the_same(tmp_path):
    config = SystemsConfig(**SMALL | {"systems": ["paroli", "martingale"]})
    study = systems_study(config, keep=tmp_path)
    assert study.scores == systems_study(config).scores
    made = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert systems_study(config, keep=tmp_path).scores == study.scores
    assert {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == made


def test_a_box_of_its_own_pays_its_own_price():
    study = systems_study(
        SystemsConfig(
            **SMALL
            | {
                "bankroll_cents": 5000,
                "target_cents": 9000,
                "base_slip": "single=100,double=100",
                "systems": ["paroli", "dalembert"],
            }
        )
    )
    for score in study.scores:  # ruined boxes fall back on Single alone, which is cheaper
        price = score.figures.ev_cents / score.figures.staked_cents
        assert -float(study.house_edge) < price < -1 / 40


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"bankroll_cents": 90}, "a bankroll of 90 cents cannot cover 'single=100'"),
        ({"target_cents": 2000}, "a target of 2000 cents is not above the bankroll of 2000"),
        ({"base_slip": "single=150"}, "chip unit|minimum|multiple"),
        ({"base_slip": "single=100,super=500"}, "cannot cover 'single=100,super=500'"),
        ({"systems": ["martingal"]}, "did you mean 'martingale'"),
        ({"systems": ["flat", "flat"]}, "systems lists one twice"),
        ({"fan": "paroly"}, "fan: no betting system 'paroly'; did you mean 'paroli'"),
        ({"n_paths": 10**12}, "n_paths is at most 10000000"),
        ({"n_sessions": 10**12}, "n_sessions"),
        ({"systems": ["stop-loss:1e400:flat"]}, "the line of stop-loss takes a number"),
        ({"target_cents": None, "systems": ["bold"]}, "no target_cents"),
        ({"level": 1.0}, "level"),
        ({"budget": -1}, "budget"),
    ],
)
def test_mistakes_are_told_in_one_message(wrong, message):
    with pytest.raises(ConfigError, match=message):
        SystemsConfig(**SMALL | wrong)


def test_a_session_too_large_says_what_it_would_need():
    config = SystemsConfig(**SMALL | {"target_cents": 10**12, "systems": ["flat"], "fan": "flat"})
    with pytest.raises(ConfigError, match=r"levels of 5 cents .* bytes"):
        systems_study(config)


def test_the_shipped_file_has_all_systems():
    config = read_study("systems")
    assert (config.bankroll_cents, config.target_cents, config.n_rounds) == (10_000, 20_000, 1000)
    assert set(SYSTEMS) < set(config.played)
    assert parse_study({"kind": "systems"}).played
