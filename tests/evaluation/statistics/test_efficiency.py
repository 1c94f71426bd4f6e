"""Steps to a score: medians with runs that never arrive, against Kaplan and Meier's."""

from math import inf

import numpy as np
import pytest
from scipy.stats import CensoredData, ecdf

from niulab.errors import ConfigError
from niulab.evaluation.curves import Curve
from niulab.evaluation.statistics import median_steps, sample_efficiency, wilson_interval


def curve(*scores):
    steps = tuple(100 * (i + 1) for i in range(len(scores)))
    return Curve("run", steps, tuple({"normalized_score": score} for score in scores))


def kaplan_meier_median(arrived, ended):
    survival = ecdf(CensoredData(uncensored=arrived, right=ended)).sf
    return survival.quantiles[np.flatnonzero(survival.probabilities <= 0.5 + 1e-12)[0]]


@pytest.mark.parametrize(
    ("steps", "median"),
    [
        ([300], 300),
        ([300, 100, 200], 200),
        ([400, 300, 100, 200], 200),
        ([100, 200, inf, inf], 200),
        ([100, inf, inf], inf),
        ([inf], inf),
    ],
)
def test_the_median_counts_runs_that_never_arrive(steps, median):
    assert median_steps(steps) == median


@pytest.mark.parametrize("seed", range(20))
def test_with_equal_budgets_it_is_kaplan_and_meiers_and_else_an_upper_bound(seed):
    rng = np.random.default_rng(seed)
    needed = rng.integers(1, 100, size=rng.integers(3, 12)).astype(float)
    budget = np.full(len(needed), 80.0)
    arrived = needed <= budget
    found = median_steps(np.where(arrived, needed, inf))
    if found < inf:
        assert found == kaplan_meier_median(needed[arrived], budget[~arrived])
    budgets = rng.integers(40, 100, size=len(needed))
    arrived = needed <= budgets
    found = median_steps(np.where(arrived, needed, inf))
    assert found >= median_steps(needed)
    if found < inf:
        assert found >= kaplan_meier_median(needed[arrived], budgets[~arrived])


def test_sample_efficiency_says_how_many_arrived():
    runs = [curve(0.5, 0.9, 1.0), curve(0.95), curve(0.1, 0.2)]
    found = sample_efficiency(runs, 0.9)
    assert (found.median, found.n_reached, found.n_runs) == (200, 2, 3)
    assert (found.share_low, found.share_high) == wilson_interval(2, 3)
    assert sample_efficiency(runs, 0.99).median == inf
    assert sample_efficiency(runs, 0.99).n_reached == 1
    assert sample_efficiency(runs, 1.5).n_reached == 0


def test_no_efficiency_without_runs():
    with pytest.raises(ConfigError, match="at least one evaluation in every run"):
        sample_efficiency([], 0.9)
    with pytest.raises(ConfigError, match="at least one evaluation in every run"):
        sample_efficiency([Curve("none", (), ())], 0.9)
    with pytest.raises(ConfigError, match="at least one run and no NaN"):
        median_steps([])
    with pytest.raises(ConfigError, match="at least one run and no NaN"):
        median_steps([1.0, np.nan])
