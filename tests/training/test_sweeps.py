"""Shipped sweeps: a task for each value of a knob, the knob turned, bounds that follow a law."""

import re
from itertools import pairwise
from pathlib import Path

import pytest

from niulab.evaluation.benchmark import known_bounds
from niulab.evaluation.config import find_config
from niulab.training import read_train
from niulab.training.leagues.suite_config import read_any

ROOT = Path(__file__).parents[2]
SWEEPS = sorted(file.stem for file in find_config("suite", "benchmark").parent.glob("sweep_*.toml"))
KNOBS = {
    "sweep_see_rate": ("see_rate", lambda settings: settings.channel.see_rate),
    "sweep_horizon": ("rounds", lambda settings: settings.n_rounds),
}
PAGE = (ROOT / "docs" / "sweeps.md").read_text("utf-8")


def value_of(name):
    return float(re.search(r"[\d.]+", name)[0])


@pytest.mark.parametrize("name", SWEEPS)
def test_each_task_of_a_sweep_has_its_value_of_the_knob(name):
    word, read = KNOBS[name]
    sweep = read_any(name)
    assert sweep.name == name
    values = [value_of(task.name) for task in sweep.tasks]
    assert len(set(values)) == len(values) >= 5
    for task in sweep.tasks:
        assert word in task.name
        assert read(task.settings) == value_of(task.name)
    entered = {(entry.label, entry.task) for entry in sweep.entries}
    assert entered == {(label, task.name) for label in sweep.labels for task in sweep.tasks}
    for entry in sweep.entries:  # what is trained is what is played
        assert read(entry.config.settings) == value_of(entry.task)
    assert {row.agent for row in sweep.references} >= {"optimal", "random"}


def test_the_optimum_of_a_see_rate_mixes_looks_with_the_best_blind_slip():
    tasks = read_any("sweep_see_rate").tasks
    optima = {value_of(task.name): float(known_bounds(task.settings).optimum) for task in tasks}
    blind = -0.025  # the edge of the Single box, whose least stake is best unseen
    for rate, optimum in optima.items():
        assert optimum == pytest.approx(rate * optima[1.0] + (1 - rate) * blind, abs=1e-12)
        assert f"{optimum:.6f}" in PAGE


def test_a_longer_horizon_is_worth_more_and_less_with_each_round():
    tasks = read_any("sweep_horizon").tasks
    bounds = [known_bounds(task.settings) for task in tasks]
    horizons = [value_of(task.name) for task in tasks]
    optima = [bound.optimum for bound in bounds]
    slopes = [(b - a) / (n - m) for (m, a), (n, b) in pairwise(zip(horizons, optima, strict=True))]
    assert all(slope > 0 for slope in slopes)
    assert slopes == sorted(slopes, reverse=True)
    for bound in bounds:
        assert f"{bound.optimum:.6f}" in PAGE
        assert f"{bound.random:.6f}" in PAGE


COMMANDS = re.findall(r"`niulab train (\S+) --set '?env\.([\w.]+)=([^'`|\n]+?)'?`", PAGE)


def test_the_page_names_overrides():
    assert len(COMMANDS) >= 7


@pytest.mark.parametrize(("config", "key", "value"), COMMANDS)
def test_an_override_of_the_page_takes_effect(config, key, value):
    before = read_train(config).settings
    after = read_train(config, overrides=[f"env.{key}={value}"]).settings
    field, _, inner = key.partition(".")
    found, was = getattr(after, field), getattr(before, field)
    if inner:
        found, was = getattr(found, inner), getattr(was, inner)
    if field == "menu":
        found = [str(slip) for slip in found]
        assert str(found).replace("'", '"').replace(" ", "") == value.replace(" ", "")
    else:
        assert str(found) == value.replace("_", "")
    assert found != was
