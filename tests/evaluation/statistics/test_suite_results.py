"""Results of a suite: what is refused, what is read-only, and all figures from one seed."""

import pickle
import random
from dataclasses import fields

import numpy as np
import pytest
from suites import ALGORITHMS, SEEDS, TASKS, small_suite

from niulab.errors import ConfigError
from niulab.evaluation.curves import THRESHOLDS, Curve
from niulab.evaluation.statistics import (
    aggregate,
    aggregate_curves,
    performance_profile,
    probability_of_improvement,
    sample_efficiency,
    summarize,
)


def test_a_matrix_is_read_by_its_names():
    suite = small_suite()
    assert suite.shape == (3, 3, 2)
    assert suite.scores_of("fast").shape == (3, 2)
    assert suite.scores_of("fast")[1, 0] == suite.scores[ALGORITHMS.index("fast"), 1, 0]
    assert suite.failed.sum() == len(suite.reasons) == 4
    assert len(suite.curves_of("slow", "Arrange")) == 3
    assert len(suite.curves_of("slow", "Peek")) == 2  # a failed run has no part in efficiency
    with pytest.raises(ConfigError, match="no algorithm 'fats' in the suite; did you mean 'fast'"):
        suite.scores_of("fats")
    with pytest.raises(ConfigError, match="no task 'Peak' in the suite; did you mean 'Peek'"):
        suite.curves_of("fast", "Peak")


def test_results_cannot_be_changed_afterwards():
    mine, whys = np.zeros((3, 3, 2)), dict(small_suite().reasons)
    suite = small_suite(regrets=mine, reasons=whys)
    mine[0] = 1
    whys.clear()
    assert suite.regrets.sum() == 0
    assert len(suite.reasons) == 4
    for array in (suite.scores, suite.regrets, suite.steps, suite.cpu_seconds):
        with pytest.raises(ValueError, match="read-only"):
            array[0, 0, 0] = 1


def test_results_travel_between_processes():
    suite = small_suite()
    assert pickle.loads(pickle.dumps(suite)).to_records() == suite.to_records()  # noqa: S301, our own


def test_records_name_every_cell_once():
    records = small_suite().to_records()
    cells = [(record["algorithm"], record["seed"], record["task"]) for record in records]
    assert len(cells) == len(set(cells)) == 18
    assert set(cells) == {(a, s, t) for a in ALGORITHMS for s in SEEDS for t in TASKS}
    hole = next(record for record in records if record["reason"] == "NaN in the loss")
    assert hole["scores"] is None
    assert (hole["algorithm"], hole["seed"], hole["task"]) == ("slow", 5, "Peek")
    assert isinstance(hole["steps"], int)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"algorithms": ()}, "algorithms: none"),
        ({"tasks": ("Peek", "Peek")}, "tasks: Peek listed twice"),
        ({"seeds": (3, 5, 3)}, "seeds: 3 listed twice"),
        ({"scores": np.zeros((3, 2, 3))}, r"scores: shape \(3, 2, 3\), expected .* = \(3, 3, 2\)"),
        ({"regrets": np.full((3, 3, 2), np.inf)}, "regrets: infinity; write NaN and a reason"),
        ({"steps": np.full((3, 3, 2), -1)}, "steps: -1 is below 0"),
        ({"steps": np.full((3, 3, 2), 0.5)}, "steps: no array of numbers"),
        ({"wall_seconds": [["a"]]}, "wall_seconds: no array of numbers"),
        ({"cpu_seconds": np.full((3, 3, 2), -0.5)}, "cpu_seconds: -0.5 is below 0"),
        ({"reasons": {}}, r"\('slow', 5, 'Peek'\): no score and no reason; say why"),
        ({"scores": np.zeros((3, 3, 2))}, r"'Peek'\): a reason beside a score; leave it out"),
        ({"curves": {("slow", 4, "Peek"): None}}, r"\('slow', 4, 'Peek'\): no such cell"),
    ],
)
def test_results_that_contradict_themselves_are_refused(changes, message):
    with pytest.raises(ConfigError, match=message):
        small_suite(**changes)


def test_every_mistake_is_listed_at_once():
    changes = {"seeds": (3, 3, 5), "steps": np.full((3, 3, 2), -1), "scores": np.zeros(4)}
    with pytest.raises(ConfigError, match=r"seeds: 3 .*; scores: shape .*; steps: -1"):
        small_suite(**changes)


def test_a_suite_full_of_holes_is_refused_in_a_few_words():
    holes = np.full((3, 3, 2), np.nan)
    with pytest.raises(ConfigError, match=r"no score and no reason.*; and 13 more cells$"):
        small_suite(scores=holes, reasons={})


def test_a_summary_is_made_of_the_figures_of_its_matrices():
    suite = small_suite()
    found = summarize(suite, seed=4, level=0.9, n_resamples=200, thresholds=[0.5, 0.9])
    slow, fast = suite.scores_of("slow"), suite.scores_of("fast")
    options = {"seed": 4, "level": 0.9, "n_resamples": 200}
    assert found.aggregates == {
        "slow": aggregate(slow, **options),
        "fast": aggregate(fast, **options),
    }
    assert found.left_out == {"lost": ("Peek",)}
    assert found.ranking == ("fast", "slow", "lost")
    profile = performance_profile(fast, [0.5, 0.9], **options)
    assert found.profiles["fast"].high.tolist() == profile.high.tolist()
    assert found.improvement["slow", "fast"] == probability_of_improvement(slow, fast, **options)
    assert found.efficiency["slow", "Peek"] == tuple(
        sample_efficiency(suite.curves_of("slow", "Peek"), threshold, level=0.9)
        for threshold in THRESHOLDS
    )
    assert ("lost", "Arrange") in found.efficiency
    assert ("lost", "Peek") not in found.efficiency
    band = aggregate_curves([suite.curves_of("slow", task) for task in TASKS], **options)
    assert found.curves["slow"].low.tolist() == band.low.tolist()
    assert list(found.curves) == ["slow", "fast"]


def test_of_two_algorithms_one_is_better_as_surely_as_the_other_is_worse():
    scores = np.random.default_rng(0).random((3, 3, 2))
    summary = summarize(small_suite(scores=scores, reasons={}), seed=0, n_resamples=200)
    found, mirrored = summary.improvement["slow", "fast"], summary.improvement["fast", "slow"]
    assert 0 < found.low < found.value < found.high < 1
    assert mirrored.value == 1 - found.value
    assert (mirrored.low, mirrored.high) == (1 - found.high, 1 - found.low)
    assert len(summary.improvement) == 6


@pytest.mark.parametrize("steps", [(), (9_000,)])
def test_a_run_that_meets_no_other_leaves_its_algorithm_without_a_curve(steps):
    suite = small_suite()
    odd = Curve("run", steps, ({"normalized_score": 1.0},) * len(steps))
    curves = dict(suite.curves) | {("fast", 3, "Peek"): odd}
    found = summarize(small_suite(curves=curves), seed=0, n_resamples=20)
    assert list(found.curves) == ["slow"]
    assert found.efficiency["fast", "Peek"][0].n_runs == 2 + len(steps)


def test_a_run_without_a_curve_leaves_its_algorithm_without_one():
    suite = small_suite()
    some = {cell: curve for cell, curve in suite.curves.items() if cell != ("fast", 3, "Peek")}
    found = summarize(small_suite(curves=some), seed=0, n_resamples=20)
    assert list(found.curves) == ["slow"]
    assert summarize(small_suite(curves={}), seed=0, n_resamples=20).efficiency == {}


def plain(value):
    """Everything inside, arrays as bytes, for comparison."""
    if isinstance(value, np.ndarray):
        return value.tobytes()
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if hasattr(value, "__dataclass_fields__"):
        return [plain(getattr(value, field.name)) for field in fields(value)]
    return value


def figures_of(summary):
    rooms = ("aggregates", "profiles", "improvement", "efficiency", "curves")
    return [plain(getattr(summary, room)) for room in rooms]


def test_figures_depend_on_the_seed_and_nothing_else():
    suite = small_suite()
    first = figures_of(summarize(suite, seed=3, n_resamples=50))
    state = np.random.get_state()  # noqa: NPY002  # the global state that must not matter
    np.random.seed(0)  # noqa: NPY002  # global on purpose
    random.seed(0)
    try:
        np.random.random(7)  # noqa: NPY002  # global on purpose
        touched = np.random.get_state()[1].tolist()  # noqa: NPY002  # global on purpose
        assert figures_of(summarize(suite, seed=3, n_resamples=50)) == first
        assert np.random.get_state()[1].tolist() == touched  # noqa: NPY002  # nor is it moved
    finally:
        np.random.set_state(state)  # noqa: NPY002  # global on purpose
    assert figures_of(summarize(suite, seed=4, n_resamples=50)) != first
