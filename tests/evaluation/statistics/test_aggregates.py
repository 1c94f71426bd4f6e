"""Aggregates over runs and tasks: by hand, by SciPy, and with holes."""

import numpy as np
import pytest
from scipy.stats import trim_mean

from niulab.evaluation.statistics import aggregate, iqm, performance_profile

# task means 0.45 and 0.5; shortfalls below 1: 1, 0.8, 0.6, 0 and 0, 0.2, 0.4, 1.4
BY_HAND = np.array([[0.0, 1.0], [0.2, 0.8], [0.4, 0.6], [1.2, -0.4]])


def test_the_interquartile_mean_ignores_a_lucky_run():
    assert iqm(np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 1000.0])) == 3.5


def test_all_four_figures_of_a_small_matrix():
    found = aggregate(BY_HAND, seed=0)
    assert found.iqm.value == iqm(BY_HAND) == pytest.approx((0.2 + 0.4 + 0.6 + 0.8) / 4)
    assert found.mean.value == pytest.approx(0.475)
    assert found.median.value == pytest.approx(0.475)
    assert found.optimality_gap.value == pytest.approx((0.6 + 0.5) / 2)
    assert (found.n_runs, found.n_tasks, found.n_failed) == (4, 2, 0)
    assert aggregate(BY_HAND, seed=0, target=0.0).optimality_gap.value == pytest.approx(0.05)


def test_the_median_is_over_tasks_and_the_iqm_over_all_runs():
    scores = np.array([[0.0, 0.5, 1.0], [0.2, 0.7, 1.0]])
    found = aggregate(scores, seed=0)
    assert found.median.value == pytest.approx(0.6)
    assert found.iqm.value == pytest.approx((0.2 + 0.5 + 0.7 + 1.0) / 4)


@pytest.mark.parametrize("shape", [(2, 1), (3, 2), (10, 8), (7, 3)])
def test_the_iqm_is_scipys_trimmed_mean(shape):
    scores = np.random.default_rng(sum(shape)).normal(size=shape)
    assert aggregate(scores, seed=1).iqm.value == pytest.approx(trim_mean(scores, 0.25, axis=None))


def test_failed_runs_are_counted_and_enter_nothing_else():
    holed = np.vstack([BY_HAND, [np.nan, np.nan]])
    whole, found = aggregate(BY_HAND, seed=0), aggregate(holed, seed=0)
    assert found.n_failed == 2
    assert found.iqm == whole.iqm
    assert found.optimality_gap == whole.optimality_gap
    one_hole = BY_HAND.copy()
    one_hole[3, 0] = np.nan
    found = aggregate(one_hole, seed=0)
    assert found.mean.value == pytest.approx((0.2 + 0.5) / 2)  # tasks weigh the same
    assert found.iqm.value == pytest.approx(trim_mean([0, 0.2, 0.4, 1, 0.8, 0.6, -0.4], 0.25))


def test_one_run_of_a_task_has_a_value_and_no_interval():
    scores = np.array([[0.5, 0.7], [0.6, np.nan]])
    found = aggregate(scores, seed=0)
    assert found.mean.value == pytest.approx((0.55 + 0.7) / 2)
    assert np.isnan([found.mean.low, found.mean.high, found.iqm.low]).all()
    profile = performance_profile(scores, [0.52], seed=0)
    assert profile.share == pytest.approx([0.75])
    assert np.isnan([profile.low, profile.high]).all()


def test_runs_that_agree_have_an_interval_of_no_width():
    found = aggregate(np.full((5, 3), 0.8), seed=0).iqm
    assert (found.low, found.value, found.high) == pytest.approx((0.8, 0.8, 0.8))
