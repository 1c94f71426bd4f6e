"""Boxes that pay the player are found, and sound sheets are not solved to say so."""

from __future__ import annotations

import pytest

from niulab.engine.rules import load_rules, shipped_names
from niulab.solvers import joint_law as law_room
from niulab.solvers.joint_law import joint_law
from niulab.solvers.values import player_edges

BROKEN = {
    "even-double-super-bonus-literal-note": "super",
    "even-double-super-bonus-literal-double-scale": "super",
    "even-double-super-bonus-bonus-any-niu-niu": "bonus",
}
SUSPECT = {*BROKEN, "even-double-super-bonus-four-of-a-kind-pays"}


def test_sound_sheets_are_not_solved(monkeypatch):
    monkeypatch.setattr(law_room, "matchups", None)  # a sweep would fail
    for name in shipped_names():
        if name not in SUSPECT:
            assert player_edges(load_rules(name)) == []


def test_a_broken_sheet_is_named_with_its_box_and_figure():
    (line,) = player_edges(load_rules("even-double-super-bonus-literal-note"))
    assert line.startswith("WARNING: box 'super' of even-double-super-bonus-literal-note")
    assert "+0.4605403442" in line
    assert "4590028421549/9966615258600" in line


@pytest.mark.long
@pytest.mark.parametrize("name", [n for n in shipped_names() if not n.startswith("six-deck")])
def test_the_proof_agrees_with_the_law(name):
    rules = load_rules(name)
    solved = player_edges(rules, joint_law(rules))
    assert player_edges(rules) == solved
    assert [line.split("'")[1] for line in solved] == ([BROKEN[name]] if name in BROKEN else [])
