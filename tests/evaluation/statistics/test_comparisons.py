"""Profiles and probabilities of improvement: by hand, by SciPy, and their symmetries."""

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from niulab.errors import ConfigError
from niulab.evaluation.statistics import (
    aggregate,
    performance_profile,
    probability_of_improvement,
)


def test_a_profile_is_the_share_strictly_above_averaged_over_tasks():
    scores = np.array([[0.0, 1.0], [0.5, np.nan], [0.5, 1.0], [1.0, np.nan]])
    found = performance_profile(scores, [-1.0, 0.0, 0.5, 0.9, 1.0], seed=0)
    assert found.thresholds.tolist() == [-1.0, 0.0, 0.5, 0.9, 1.0]
    assert found.share.tolist() == [1.0, (0.75 + 1) / 2, (0.25 + 1) / 2, (0.25 + 1) / 2, 0.0]


def test_a_profile_falls_within_its_bands_and_its_area_is_the_mean():
    scores = np.random.default_rng(0).random((6, 4))
    found = performance_profile(scores, np.linspace(0, 1, 2001), seed=3)
    assert (np.diff(found.share) <= 0).all()
    assert (found.low <= found.share).all()
    assert (found.share <= found.high).all()
    # E X = the integral of P(X > t) over t
    mean = aggregate(scores, seed=3).mean
    assert found.share.mean() == pytest.approx(mean.value, abs=1e-3)


@pytest.mark.parametrize("thresholds", [[], [[0.1]], [0.1, np.nan]])
def test_thresholds_that_are_none_are_refused(thresholds):
    with pytest.raises(ConfigError, match="row of finite thresholds"):
        performance_profile([[0.1], [0.2]], thresholds, seed=0)


def test_improvement_counts_ties_by_half():
    # 1 < 2, 1 < 3, 3 > 2, 3 = 3
    found = probability_of_improvement([[1.0], [3.0]], [[2.0], [3.0]], seed=0)
    assert found.value == 1.5 / 4


@pytest.mark.parametrize("seed", range(5))
def test_improvement_is_mann_whitneys_u_over_pairs_of_runs(seed):
    rng = np.random.default_rng(seed)
    ours = rng.integers(0, 6, size=(7, 4)).astype(float)  # few values: many ties
    theirs = rng.integers(0, 6, size=(5, 4)).astype(float)
    by_task = [
        mannwhitneyu(x, y, alternative="greater").statistic / (7 * 5)
        for x, y in zip(ours.T, theirs.T, strict=True)
    ]
    found = probability_of_improvement(ours, theirs, seed=0)
    assert found.value == pytest.approx(np.mean(by_task))
    assert found.low < found.value < found.high
    mirrored = probability_of_improvement(theirs, ours, seed=0)
    assert mirrored.value == pytest.approx(1 - found.value)


def test_improvement_over_oneself_is_even_and_over_the_worse_certain():
    scores = np.random.default_rng(1).random((6, 3))
    assert probability_of_improvement(scores, scores, seed=0).value == 0.5
    better = probability_of_improvement(scores + 1, scores, seed=0)
    assert (better.low, better.value, better.high) == (1, 1, 1)


def test_failed_runs_take_no_part_in_comparisons():
    ours = np.array([[0.5, 0.9], [0.7, np.nan], [np.nan, 0.8]])
    theirs = np.array([[0.6, 0.1], [np.nan, 0.2]])
    found = probability_of_improvement(ours, theirs, seed=0)
    assert found.value == (0.5 + 1.0) / 2
    assert np.isnan([found.low, found.high]).all()  # the rival has one run of a task


def test_algorithms_are_compared_on_the_same_tasks():
    with pytest.raises(ConfigError, match="got 2 and 1 columns"):
        probability_of_improvement([[0.1, 0.2]], [[0.1]], seed=0)
    with pytest.raises(ConfigError, match="the rival's scores: no run"):
        probability_of_improvement([[0.1, 0.2]], [[0.1, np.nan]], seed=0)
