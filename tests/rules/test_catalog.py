"""Rule sets by name and path: what is shipped, what an overlay inherits, what loading costs."""

import subprocess
import sys
from pathlib import Path

import pytest

from niulab.engine.rules import (
    DEFAULT_RULES,
    RuleSet,
    catalog,
    changes_of,
    difference,
    load_rules,
    parse_rules,
    read_rules,
    shipped_names,
)
from niulab.errors import RulesError

READINGS = (
    "half-on-7",
    "niu2-even-money",
    "niu2-short",
    "literal-note",
    "literal-double-scale",
    "four-of-a-kind-pays",
    "four-of-a-kind-ranks",
    "suit-first",
    "ace-high",
    "bonus-all",
    "bonus-any-niu-niu",
)
BOXES = {
    "single-double-super": ("single", "double", "super"),
    "even-double-super-bonus": ("even", "double", "super", "bonus"),
    **{
        f"even-double-super-bonus-{reading}": ("even", "double", "super", "bonus")
        for reading in READINGS
    },
    "bull-bull-live": ("equal", "double", "super"),
    "equal-double-cambodia": ("equal", "double"),
    "ngau-ngau-hong-kong": ("single",),
    "six-deck-shoe": (),
    "six-deck-shoe-bonus": ("even", "double", "super", "bonus"),
    "six-deck-shoe-flush": ("even", "double", "super", "bonus"),
    "bomb-room": (),
}
SMALL = """
name = "small"
title = "A small rule set"
source = "test"
boxes.single.required = true
boxes.single.win_odds = { default = 1, niu_niu = 2 }
"""


def refused(text, **kwargs):
    with pytest.raises(RulesError) as caught:
        parse_rules(text, origin="mine.toml", **kwargs)
    message = str(caught.value)
    assert "mine.toml" in message
    return message


# ---------------------------------------------------------------- shipped


def test_exactly_the_rule_sets_of_the_game_page_are_shipped():
    assert set(shipped_names()) == set(BOXES)
    assert shipped_names()[0] == DEFAULT_RULES == load_rules().name == "single-double-super"
    assert list(shipped_names()[1:]) == sorted(shipped_names()[1:])


@pytest.mark.parametrize("name", BOXES)
def test_a_shipped_set_loads_under_its_own_name(name):
    rules = load_rules(name)
    assert rules.name == name
    assert tuple(rules.boxes) == BOXES[name]
    assert rules.is_ranking_only == (not BOXES[name])
    assert rules.base_unit_cents == 100
    assert load_rules(name) is rules
    assert load_rules(rules) is rules


@pytest.mark.parametrize("name", BOXES)
def test_a_shipped_set_says_what_it_is_and_what_is_ours(name):
    rules = load_rules(name)
    assert rules.title
    assert rules.source
    assert len(rules.note) > 40
    assert "\n" not in rules.note


def test_titles_and_games_are_distinct():
    shipped = [load_rules(name) for name in shipped_names()]
    assert len({rules.title for rules in shipped}) == len(shipped)
    assert len({rules.rules_hash for rules in shipped}) == len(shipped)


def test_readings_are_overlays_of_a_few_lines():
    for name in BOXES:
        rules = load_rules(name)
        if rules.extends:
            text = (catalog._VARIANTS / f"{name}.toml").read_text("utf-8")
            game = text.split('"""')[-1].strip().splitlines()
            assert len(game) <= 18, name
            assert rules.extends in {"even-double-super-bonus", "six-deck-shoe-bonus"}


def test_what_a_shipped_set_changes_is_told_for_overlays_only():
    for name in BOXES:
        assert bool(changes_of(name)) == (load_rules(name).extends is not None), name


def test_every_main_box_pays_and_loses_on_every_rank():
    for name in BOXES:
        rules = load_rules(name)
        for box, terms in rules.boxes.items():
            if not terms.is_bonus:
                odds = (rules.win_odds(box), rules.lose_odds(box))
                assert all(len(table) == len(rules.ranks) and min(table) > 0 for table in odds)


def test_loading_every_shipped_set_needs_no_numba():
    script = (
        "import sys; from niulab.engine.rules import changes_of, load_rules, shipped_names;"
        "[(load_rules(name).rules_hash, changes_of(name)) for name in shipped_names()];"
        "print(*({'numba', 'scipy', 'torch', 'niulab.solvers'} & set(sys.modules)))"
    )
    process = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert process.stdout.split() == []


# ---------------------------------------------------------------- files of one's own


def test_a_file_of_one_s_own_loads_by_path(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(SMALL, "utf-8")
    assert load_rules(file) == load_rules(str(file)) == read_rules(file)
    assert load_rules(file).win_odds("single") == (*(1,) * 10, 2)


def test_an_overlay_changes_its_keys_only():
    rules = parse_rules("""
        extends = "single-double-super"
        name = "mine"
        title = "No commission on Single"
        source = "test"
        boxes.single.commission.rate = "0"
        """)
    base = load_rules("single-double-super")
    assert difference(base, rules) == ["boxes.single.commission.rate: 1/20 -> 0"]
    assert rules.boxes["single"].minimum_cents == base.boxes["single"].minimum_cents
    assert rules.note == ""  # the note below speaks of the set below
    assert changes_of(rules) == difference(base, rules)


def test_an_overlay_of_an_overlay_lies_on_both():
    rules = parse_rules("""
        extends = "even-double-super-bonus-half-on-7"
        name = "mine"
        title = "Two readings"
        source = "test"
        order.ace = "high"
        """)
    assert rules.boxes["even"].half_pay == ("niu_7",)
    assert rules.order.ace == "high"
    assert changes_of(rules) == ["order.ace: low -> high"]


def test_an_overlay_needs_a_name_of_its_own():
    message = refused('extends = "single-double-super"\ntitle = "x"\nsource = "y"')
    assert "name: is missing" in message


# ---------------------------------------------------------------- extends


@pytest.mark.parametrize("parent", ["'single-double-supr'", "3", "['single-double-super']", "''"])
def test_extending_an_unknown_set_is_refused(parent):
    assert "which is no shipped rule set" in refused(f"extends = {parent}\n{SMALL}")


def test_extending_an_unknown_set_is_told_the_nearest():
    message = refused(f"extends = 'single-double-supr'\n{SMALL}")
    assert "did you mean 'single-double-super'?" in message


@pytest.fixture
def shipped(tmp_path, monkeypatch):
    """A folder that stands for the shipped variants."""
    monkeypatch.setattr(catalog, "_VARIANTS", tmp_path)
    for cached in (catalog.shipped_names, catalog._load_shipped):
        cached.cache_clear()
    yield tmp_path
    monkeypatch.undo()
    for cached in (catalog.shipped_names, catalog._load_shipped):
        cached.cache_clear()


def overlay(name, parent):
    return f'name = "{name}"\nextends = "{parent}"\ntitle = "t"\nsource = "s"\n'


def test_a_cycle_is_refused_with_its_path(shipped):
    for name, parent in [("a", "b"), ("b", "c"), ("c", "a"), ("d", "d")]:
        (shipped / f"{name}.toml").write_text(overlay(name, parent), "utf-8")
    with pytest.raises(RulesError, match="extends itself: b -> c -> a -> b"):
        load_rules("a")
    with pytest.raises(RulesError, match="extends itself: d -> d"):
        load_rules("d")


def test_a_parent_that_is_no_toml_is_named(shipped):
    (shipped / "a.toml").write_text(overlay("a", "b"), "utf-8")
    (shipped / "b.toml").write_text("name =", "utf-8")
    with pytest.raises(RulesError, match=r"b\.toml is no TOML"):
        load_rules("a")


# ---------------------------------------------------------------- data


def test_a_rule_set_is_data_and_survives_a_round_trip():
    for name in shipped_names():
        rules = load_rules(name)
        again = RuleSet.model_validate(rules.model_dump(mode="json"))
        assert again == rules
        assert again.rules_hash == rules.rules_hash


def test_a_rule_set_cannot_be_changed_in_place():
    rules = load_rules()
    with pytest.raises(ValueError, match="frozen"):
        rules.arrangement = "automatic"


def test_the_shipped_files_lie_in_the_package():
    folder = Path(str(catalog._VARIANTS))
    assert {file.stem for file in folder.glob("*.toml")} == set(BOXES)
