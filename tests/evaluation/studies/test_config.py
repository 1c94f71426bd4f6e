"""Study files: every mistake at once, with the nearest known word; what is shipped is sound."""

import re
from pathlib import Path

import pytest

from niulab.errors import ConfigError
from niulab.evaluation.studies import KINDS, parse_study, read_study
from niulab.evaluation.studies.mix import MixConfig
from niulab.evaluation.studies.readings import ReadingsConfig

CONFIGS = Path(__file__).resolve().parents[3] / "configs" / "study"
SHIPPED = sorted(path.stem for path in CONFIGS.glob("*.toml"))


@pytest.mark.parametrize("name", SHIPPED)
def test_what_is_shipped_is_read_and_named_after_its_kind(name):
    config = read_study(name)
    assert config.kind == name
    assert name in KINDS
    assert config == read_study(CONFIGS / f"{name}.toml")


def test_a_tree_makes_the_config_that_python_makes():
    tree = {"kind": "mix", "rules": "bull-bull-live", "stakes_cents": [0, 100], "seed": 3}
    config = MixConfig(rules="bull-bull-live", stakes_cents=(0, 100), seed=3)
    assert parse_study(tree) == config
    assert config.rules.name == "bull-bull-live"
    assert config.model_dump(mode="json") == {
        "kind": "mix",
        "title": "Mixes of boxes",
        "rules": "bull-bull-live",
        "seed": 3,
        "required_cents": None,
        "stakes_cents": [0, 100],
        "slip": None,
    }


def test_words_are_laid_over_the_file():
    config = read_study("mix", overrides=["seed=4", "rules=bull-bull-live", "slip=equal=100"])
    assert (config.seed, config.rules.name) == (4, "bull-bull-live")
    assert str(config.slip) == "equal=100"


REFUSED = {
    "no kind": ({}, ["this is no study", "kind is missing", "known: systems, target"]),
    "unknown kind": ({"kind": "mixes"}, ["no study 'mixes'; did you mean 'mix'?"]),
    "every mistake at once": (
        {"kind": "mix", "rules": "singel", "seed": -1, "stake_cents": [0], "title": 3},
        [
            "this is no mix study:",
            "  - rules: no rule set 'singel'",
            "  - seed: input should be greater than or equal to 0, got -1",
            "  - unknown key 'stake_cents'; did you mean 'stakes_cents'?",
            "  - title: input should be a valid string, got 3",
        ],
    ),
    "a sheet without bets": (
        {"kind": "mix", "rules": "bomb-room"},
        ["rules: 'bomb-room' ranks hands and offers no bets: choose a rule set with boxes"],
    ),
    "a slip of another sheet": (
        {"kind": "mix", "slip": "even=100"},
        ["slip: 'single-double-super' has no box 'even'"],
    ),
    "no slip": ({"kind": "mix", "slip": 5}, ["slip: 5 is no slip: write whole cents as"]),
    "illegal stakes, box by box": (
        {"kind": "mix", "stakes_cents": [0, 30, 10]},
        [
            "stakes_cents lists different stakes in rising order, got (0, 30, 10)",
            "DOUBLE 30 would leave a fraction of a cent at 5 % commission",
            "SUPER 10 is below the box's minimum of 20 cents; write 20",
        ],
    ),
    "illegal required stake": (
        {"kind": "mix", "required_cents": 50, "stakes_cents": [0]},
        ["SINGLE 50 is below the box's minimum of 100 cents"],
    ),
    "too many mixes": (
        {
            "kind": "mix",
            "rules": "even-double-super-bonus",
            "stakes_cents": list(range(0, 2000, 20)),
        },
        ["100 stakes on 3 boxes are 1,000,000 mixes: at most 100,000"],
    ),
    "no readings": (
        {"kind": "readings", "rules": "single-double-super"},
        ["no shipped sheet is a reading of 'single-double-super'", "in readings"],
    ),
    "an unknown reading": (
        {"kind": "readings", "readings": ["literal-note"]},
        ["readings: no rule set 'literal-note'"],
    ),
    "a reading twice": (
        {"kind": "readings", "readings": ["bull-bull-live", "bull-bull-live"]},
        ["readings holds 'bull-bull-live' twice"],
    ),
    "a list that is none": (
        {"kind": "mix", "stakes_cents": "x"},
        ["stakes_cents: write a list, got 'x'"],
    ),
    "a list without entries": (
        {"kind": "mix", "stakes_cents": []},
        ["stakes_cents lists at least 1, got []"],
    ),
    "readings that are no list": (
        {"kind": "readings", "readings": "bull-bull-live"},
        ["readings: write a list of rule sets, got 'bull-bull-live'"],
    ),
}


@pytest.mark.parametrize(("tree", "parts"), REFUSED.values(), ids=REFUSED)
def test_every_mistake_is_told_with_its_remedy(tree, parts):
    with pytest.raises(ConfigError) as error:
        parse_study(tree)
    assert all(part in str(error.value) for part in parts), str(error.value)


def test_a_file_is_named_in_its_message(tmp_path):
    (tmp_path / "x.toml").write_text('kind = "mix"\nseed = "a"\n')
    with pytest.raises(ConfigError, match=re.escape(f"{tmp_path / 'x.toml'} is no mix study:")):
        read_study(tmp_path / "x.toml")
    with pytest.raises(ConfigError, match="no study config 'mx'; did you mean 'mix'"):
        read_study("mx")


def test_a_config_made_in_python_tells_its_mistakes_in_the_same_way():
    with pytest.raises(ConfigError, match="this is no readings study:\n  - unknown key 'seat'"):
        ReadingsConfig(seat=3)


def test_a_rules_file_may_be_given_by_path(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(
        'name = "mine"\ntitle = "t"\nsource = "s"\nextends = "single-double-super"\n'
        "[boxes.single.win_odds]\ndefault = 2\n"
    )
    config = ReadingsConfig(rules="single-double-super", readings=[str(path)])
    assert [rules.name for rules in config.sheets] == ["single-double-super", "mine"]
    with pytest.raises(ConfigError, match="rules: cannot read the rules file"):
        MixConfig(rules=str(tmp_path / "none.toml"))


def test_a_list_of_wrong_entries_is_not_too_short_besides():
    with pytest.raises(ConfigError) as error:
        parse_study({"kind": "mix", "stakes_cents": [True]})
    lines = str(error.value).splitlines()
    assert lines[1:] == ["  - stakes_cents.0: input should be a valid integer, got True"]


def test_none_leaves_a_key_of_the_file_out():
    assert read_study("systems").target_cents == 20_000
    assert read_study("systems", overrides=["target_cents=none"]).target_cents is None
    assert read_study("target", overrides=["n_rounds=none"]).n_rounds is None
