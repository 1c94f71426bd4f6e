"""The study of target-or-ruin: published goldens, proven gaps, maps that agree with each other."""

import numpy as np
import pytest

from niulab.errors import ConfigError
from niulab.evaluation.studies import read_study
from niulab.evaluation.studies.target import TargetConfig, target_study
from niulab.solvers.optimal.values import value_of_tables


@pytest.fixture(scope="module")
def study():
    return target_study(TargetConfig(n_rounds=12))


@pytest.fixture(scope="module")
def session():
    """The environments' default task."""
    return target_study(TargetConfig(menu="default", n_rounds=6))


def test_doubling_on_whole_unit_single_stakes(study):
    """Source: the betting notes, "Checks at hand"."""
    headline = study.headline()
    assert headline["optimum"] == pytest.approx(0.4752046, abs=1e-7)
    assert headline["bold"] == pytest.approx(0.4751743, abs=5e-8)
    assert headline["timid"] == pytest.approx(0.2496239, abs=5e-8)
    assert headline["gap"] < 1e-9
    assert headline["max_gap"] < 1e-9


def test_the_default_session_task(session):
    deadline = session.headline()["deadline"]
    assert deadline["optimum"] == pytest.approx(0.364445464, abs=1e-9)
    assert deadline["replayed"] == pytest.approx(deadline["optimum"], abs=1e-12)
    assert deadline["gap"] < 1e-12


def test_nobody_beats_the_optimum_anywhere(study, session):
    for each in (study, session):
        for name in ("bold", "timid"):
            assert (each.values[name] <= each.endless.high[0] + 1e-12).all()
            low, high = each.optimum_by_rounds
            assert (each.reached[name] <= high + 1e-12).all()
            assert (np.diff(low) >= -1e-12).all()
            assert high[-1] < each.endless.high[0, each.start]


def test_values_of_bold_and_timid_play_by_another_road(study):
    problem = study.config.problem()
    for name in ("bold", "timid"):
        value = value_of_tables(problem, study.tables[name])
        assert study.values[name][study.start] == pytest.approx(value, abs=1e-12)


def test_the_map_with_a_deadline_begins_at_every_bankroll(study):
    low = study.timed.low
    assert low.shape == (12, len(study.bankrolls_cents))
    assert not np.isnan(low).any()
    last = low[-1]  # one round left: a win of .95 a unit
    assert last[2095 // 5] == pytest.approx(0, abs=1e-12)
    assert last[2100 // 5] == pytest.approx(0.5, abs=1e-12)
    assert (np.diff(low, axis=0) <= 1e-12).all()


def test_columns_are_of_one_length(study):
    tables = study.columns()
    assert list(tables) == ["bankrolls", "rounds", "deadline"]
    for columns in tables.values():
        assert len({len(values) for values in columns.values()}) == 1
    bankrolls = tables["bankrolls"]
    assert bankrolls["best_slip"][0] == ""
    assert bankrolls["best_slip"][study.start] == "single=2000"
    assert bankrolls["bold_slip"][2500 // 5] == "single=1600"
    deadline = tables["deadline"]
    place = (12 - 3) * len(study.bankrolls_cents) + study.start
    assert deadline["rounds_left"][place] == 3
    assert deadline["bankroll_cents"][place] == 2000
    assert deadline["optimum_low"][place] == tables["rounds"]["optimum_low"][3]


def test_sections_print_what_was_computed(study, session):
    chance, slips, deadline = study.sections()
    assert chance.cells[1][0][:2] == ["optimum", "0.4752046"]
    assert chance.cells[1][1][:3] == ["bold", "0.4751743", "0.0000303"]
    assert "apart at the bankroll" in chance.lines[1]
    row = next(row for row in slips.cells[1] if row[0] == "20")
    assert row == ["20", "single=2000", "0.4752046", "single=2000", "0.4751743", "0.2496239"]
    assert deadline.cells[1][-1][0] == "12"
    names = [picture.name for section in session.sections() for picture in section.pictures]
    assert names == ["chances", "stakes", "deadline"]


def test_without_a_deadline_there_is_no_map():
    study = target_study(TargetConfig(slips=["single=100", "single=100,double=200"]))
    assert study.headline()["deadline"] is None
    assert list(study.columns()) == ["bankrolls"]
    sections = study.sections()
    assert [section.title for section in sections] == ["Chance of the target", "Best slips"]
    assert sections[0].cells[0] == ["play", "P(target)", "short of the optimum"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"target_cents": 2000}, "target_cents=2000 is not above bankroll_cents=2000"),
        ({"bankroll_cents": 50}, "no affordable slip"),
        ({"slips": ["single=130"]}, "chip unit|multiple"),
        ({"slips": ["double=100"]}, "required box"),
        ({"slips": ["single=100,super=100"]}, "menu has no multiple of the base slip"),
        ({"target_cents": 1}, "target_cents=1 is not above bankroll_cents=2000"),
        ({"menu": "all"}, "menu"),
        ({"n_rounds": 0}, "n_rounds"),
    ],
)
def test_mistakes_are_told(wrong, message):
    with pytest.raises(ConfigError, match=message):
        TargetConfig(**wrong)


def test_a_lattice_too_large_says_what_it_would_need():
    config = TargetConfig(bankroll_cents=10**9, target_cents=2 * 10**9, slips=["single=100"])
    with pytest.raises(ConfigError, match="bankrolls of 5 cents need"):
        target_study(config)


def test_the_shipped_file_is_the_published_case():
    config = read_study("target")
    assert (config.bankroll_cents, config.target_cents) == (2000, 4000)
    assert [str(slip) for slip in config.offered[:2]] == ["single=100", "single=200"]
    assert len(config.offered) == 39


def test_a_band_too_wide_for_the_equations_is_refused_before_anything_is_solved():
    config = TargetConfig(bankroll_cents=500_000, target_cents=1_000_000)
    with pytest.raises(ConfigError, match="200,000 bankrolls of 5 cents make equations of up to"):
        target_study(config)
