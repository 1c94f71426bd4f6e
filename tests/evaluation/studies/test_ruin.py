"""The study of ruin: exact, approximate and simulated figures side by side, in all forms."""

import pytest

from niulab.errors import ConfigError
from niulab.evaluation.studies import read_study
from niulab.evaluation.studies.ruin import RuinConfig, ruin_study

SMALL = {
    "slips": ["single=100", "single=100,super=100"],
    "bankrolls_cents": [1000, 2000],
    "rounds": [20, 60],
    "target_cents": 4000,
    "n_sessions": 2000,
    "n_endless": 500,
}


@pytest.fixture(scope="module")
def study():
    return ruin_study(RuinConfig(**SMALL))


def test_headline_has_ruin_by_rounds_and_before_the_target(study):
    single = study.headline()["single=100"]
    assert single["ruin_below_cents"] == 100
    assert single["ruined"]["2000 cents"][1] == pytest.approx(0.0167788, abs=5e-8)
    assert 1 - single["ruined_before_target"]["2000 cents"] == pytest.approx(0.2496239, abs=5e-8)


def test_columns_put_the_figures_side_by_side(study):
    tables = study.columns()
    assert list(tables) == ["ruin", "target"]
    for columns in tables.values():
        assert len({len(values) for values in columns.values()}) == 1
    ruin, target = tables["ruin"], tables["target"]
    n_single = ruin["slip"].index("single=100,super=100")
    place = next(i for i in range(n_single) if ruin["bankroll_cents"][i] == 2000) + 1
    assert ruin["rounds"][place] == 60
    assert ruin["exact"][place] == pytest.approx(0.0167788, abs=5e-8)
    assert ruin["simulated_low"][place] <= ruin["simulated"][place] <= ruin["simulated_high"][place]
    assert ruin["only_at_the_end"][place] < ruin["exact"][place] < ruin["diffusion"][place]
    place = target["bankroll_cents"].index(2000)
    assert target["exact"][place] == pytest.approx(1 - 0.2496239, abs=5e-8)
    assert target["sessions"][place] == 500
    assert target["sessions"][place - 1] is None


def test_sections_print_what_was_computed(study):
    sections = study.sections()
    assert [section.title for section in sections] == [
        "Ruin of single=100",
        "Ruin of single=100 before the target",
        "Ruin of single=100,super=100",
        "Ruin of single=100,super=100 before the target",
    ]
    ruin, target = sections[:2]
    assert ruin.cells[1][3][:3] == ["20", "60", "0.0167788"]
    assert "4 intervals of 95 % hold the exact chance" in ruin.lines[0]
    assert target.cells[1][1][:2] == ["20", f"{1 - 0.2496239:.7f}"]
    assert "Without a target ruin is certain" in target.lines[0]
    assert sections[3].cells[1][0][1] == "1.0000000"
    names = [picture.name for section in sections for picture in section.pictures]
    assert names == ["ruin-1", "target-1", "ruin-2", "target-2"]


def test_an_edge_for_the_player_is_warned_of_and_ruin_is_not_certain():
    study = ruin_study(
        RuinConfig(
            **SMALL
            | {
                "rules": "even-double-super-bonus-literal-note",
                "slips": ["even=100,super=100"],
                "bankrolls_cents": [2000, 3000],
                "n_sessions": 50,
                "n_endless": 50,
            }
        )
    )
    assert "box 'super'" in study.warnings()[0]
    assert study.columns()["target"]["p_ruin_without_target_low"][0] < 1
    assert "bounds the rounds until ruin" in study.sections()[1].lines[0]


def test_progress_counts_slips():
    seen = []
    ruin_study(
        RuinConfig(**SMALL | {"rounds": [5], "n_sessions": 50, "n_endless": 50}),
        progress=lambda *report: seen.append(report),
    )
    assert {title for title, *_ in seen} == set(SMALL["slips"])
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)
    assert seen[-1][1:] == (2000, 2000)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"target_cents": 2000}, "target_cents=2000 is not above the largest of bankrolls_cents"),
        ({"bankrolls_cents": [2000, 1000]}, "bankrolls_cents lists different numbers"),
        ({"rounds": [0, 5]}, "rounds lists different numbers from 1 upwards"),
        ({"bankrolls_cents": [500, 900]}, "no bankroll covers 'single=100,super=100', .* 1200 c"),
        ({"slips": ["single=110"]}, "chip unit|multiple"),
        ({"n_sessions": 1}, "n_sessions"),
        ({"n_sessions": 10**9, "rounds": [1, 2]}, "need 32,000,000,000 bytes, .* 33554432"),
        ({"n_endless": 10**12}, "n_endless"),
        ({"rounds": [10**9]}, "rounds are at most 100,000, got 1,000,000,000"),
        ({"slips": ["single=100", "single=100"]}, "slips holds a slip twice"),
    ],
)
def test_mistakes_are_told(wrong, message):
    with pytest.raises(ConfigError, match=message):
        RuinConfig(**SMALL | wrong)


def test_a_lattice_too_large_says_what_it_would_need():
    config = RuinConfig(**SMALL | {"target_cents": 10**9, "n_sessions": 2, "n_endless": 2})
    with pytest.raises(ConfigError, match="make a system of"):
        ruin_study(config)


def test_the_shipped_file_is_sound():
    config = read_study("ruin")
    assert [str(slip) for slip in config.played] == ["single=100", "single=100,super=100"]
    assert RuinConfig().played[0].total_cents == 100
