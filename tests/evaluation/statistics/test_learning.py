"""Curves of many runs as one: unequal logs on a common grid, and nothing beyond a run's end."""

import numpy as np
import pytest

from niulab.errors import ConfigError
from niulab.evaluation.curves import Curve
from niulab.evaluation.statistics import aggregate, aggregate_curves


def curve(steps, values, key="normalized_score"):
    return Curve("run", tuple(steps), tuple({key: value} for value in values))


RUNS = [
    curve([0, 100], [0.0, 1.0]),
    curve([0, 50, 400], [0.0, 0.2, 0.9]),
    curve([0, 200], [0.4, 0.8]),
]


def test_unequal_logs_meet_on_the_shortest_runs_steps():
    found = aggregate_curves([RUNS], seed=0, n_points=3)
    assert found.steps.tolist() == [0, 50, 100]
    # of three runs nothing is cut: the plain mean
    assert found.value == pytest.approx([0.4 / 3, (0.5 + 0.2 + 0.5) / 3, (1.0 + 0.3 + 0.6) / 3])
    assert found.n_runs.tolist() == [3, 3, 3]


def test_beyond_its_end_a_run_has_no_value():
    found = aggregate_curves([RUNS], seed=0, n_points=5, until="longest")
    assert found.steps.tolist() == [0, 100, 200, 300, 400]
    assert found.n_runs.tolist() == [3, 3, 2, 1, 1]
    assert found.value[2:] == pytest.approx([(0.5 + 0.8) / 2, 0.7, 0.9])
    assert np.isnan(found.low).tolist() == [False, False, False, True, True]


def test_a_point_needs_a_run_of_every_task():
    found = aggregate_curves([RUNS[:1], RUNS[1:]], seed=0, n_points=5, until="longest")
    assert np.isnan(found.value).tolist() == [False, False, True, True, True]
    assert found.n_runs.tolist() == [3, 3, 2, 1, 1]


def test_every_point_is_the_aggregate_of_its_matrix():
    rng = np.random.default_rng(0)
    tasks = [
        [curve([10, 20 + task, 40], rng.random(3)) for _ in range(4 + task)] for task in range(3)
    ]
    found = aggregate_curves(tasks, seed=7, n_points=4, level=0.9, n_resamples=500)
    for point, step in enumerate(found.steps):
        matrix = np.full((6, 3), np.nan)
        for task, runs in enumerate(tasks):
            for run, one in enumerate(runs):
                matrix[run, task] = np.interp(step, one.steps, one.series("normalized_score"))
        iqm = aggregate(matrix, seed=7, level=0.9, n_resamples=500).iqm
        assert (found.value[point], found.low[point], found.high[point]) == pytest.approx(
            (iqm.value, iqm.low, iqm.high)
        )


def test_cumulative_regret_is_a_curve_like_any_other():
    runs = [curve([10, 30], [1.0, 0.5], key="regret"), curve([20, 30], [1.0, 1.0], key="regret")]
    assert runs[0].series("cumulative_regret").tolist() == [10, 20]
    assert runs[0].cumulative_regret() == 20
    found = aggregate_curves([runs], "cumulative_regret", seed=0, n_points=3)
    assert found.steps.tolist() == [20, 25, 30]
    assert found.value == pytest.approx([(15 + 20) / 2, (17.5 + 25) / 2, (20 + 30) / 2])


def test_runs_that_share_no_step_have_no_common_curve():
    apart = [curve([0, 10], [0, 1]), curve([20, 30], [0, 1])]
    with pytest.raises(ConfigError, match=r'begins at 20, one ends at 10; write until="longest"'):
        aggregate_curves([apart], seed=0)
    found = aggregate_curves([apart], seed=0, until="longest", n_points=7)
    assert found.n_runs.tolist() == [1, 1, 1, 0, 1, 1, 1]  # a run has no value before it begins
    assert found.value == pytest.approx([0, 0.5, 1, np.nan, 0, 0.5, 1], nan_ok=True)
    with pytest.raises(ConfigError, match="at least one run of every task"):
        aggregate_curves([RUNS, []], seed=0)
