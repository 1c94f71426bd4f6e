"""The bootstrap: small matrices by enumeration of all resamples; its seed decides, nothing else."""

from collections import Counter
from itertools import product

import numpy as np
import pytest

from niulab.errors import ConfigError
from niulab.evaluation.statistics import (
    aggregate,
    bootstrap_interval,
    iqm,
    mean_interval,
    performance_profile,
    probability_of_improvement,
    stratified_bootstrap,
    wilson_interval,
)
from niulab.evaluation.statistics.bootstrap import resample, strata_of

TWO_BY_TWO = np.array([[0.1, 0.5], [0.4, 0.9]])  # (runs, tasks)


def all_resamples(matrix):
    """Every equally likely resample of runs within tasks, as matrices (runs, tasks)."""
    columns = [list(product(column, repeat=len(column))) for column in matrix.T]
    return [np.array(drawn).T for drawn in product(*columns)]


def exact_ends(values, level):
    """Ends of the middle of equally likely values, where they lie inside an atom."""
    ordered, tail = sorted(values), (1 - level) / 2
    return ordered[int(tail * len(ordered))], ordered[-1 - int(tail * len(ordered))]


def test_the_bootstrap_depends_on_its_seed_and_nothing_else():
    values = np.random.default_rng(1).normal(size=200)
    first = bootstrap_interval(values, seed=3)
    np.random.seed(0)  # noqa: NPY002  # the global state that must not matter
    np.random.random(7)  # noqa: NPY002  # global on purpose
    assert bootstrap_interval(values, seed=3) == first
    assert bootstrap_interval(values, seed=4) != first
    assert first[0] < values.mean() < first[1]


def test_bootstrap_of_the_mean_is_about_the_normal_interval():
    values = np.random.default_rng(2).normal(size=500)
    low, high = bootstrap_interval(values, seed=0)
    normal = mean_interval(values)
    assert low == pytest.approx(normal.low, abs=0.02)
    assert high == pytest.approx(normal.high, abs=0.02)


def test_strata_are_resampled_apart():
    # between the strata lies all the spread, within them none: the interval is a point
    low, high = stratified_bootstrap([[0.0] * 10, [1.0] * 10], seed=0)
    assert low == high == 0.5
    low, high = bootstrap_interval([0.0] * 10 + [1.0] * 10, seed=0)
    assert low < 0.5 < high


@pytest.mark.parametrize("bad", [[1.0, float("nan")], [1.0, float("inf")]])
def test_no_bootstrap_of_what_is_no_number(bad):
    with pytest.raises(ConfigError, match="NaN or infinity"):
        bootstrap_interval(bad, seed=0)


def test_all_sixteen_resamples_of_a_2x2_matrix_come_equally_often():
    n = 40_000
    drawn = resample(strata_of(TWO_BY_TWO), seed=2, n_resamples=n)
    assert [values.shape for values in drawn] == [(n, 2), (n, 2)]
    found = Counter(map(tuple, np.concatenate(drawn, axis=1)))
    assert set(found) == {tuple(matrix.T.ravel()) for matrix in all_resamples(TWO_BY_TWO)}
    for count in found.values():
        low, high = wilson_interval(count, n, level=0.9999)
        assert low < 1 / 16 < high


STATISTICS = {
    "iqm": lambda matrix: np.sort(matrix, axis=None)[1:3].mean(),
    "mean": np.mean,
    "median": lambda matrix: np.median(matrix.mean(axis=0)),
    "optimality_gap": lambda matrix: 1 - np.minimum(matrix, 1).mean(),
}


@pytest.mark.parametrize("level", [0.6, 0.8, 0.9])
@pytest.mark.parametrize("name", STATISTICS)
def test_intervals_are_those_of_all_resamples(name, level):
    exact = [STATISTICS[name](matrix) for matrix in all_resamples(TWO_BY_TWO)]
    found = getattr(aggregate(TWO_BY_TWO, seed=0, level=level, n_resamples=40_000), name)
    assert found.value == pytest.approx(STATISTICS[name](TWO_BY_TWO))
    assert (found.low, found.high) == pytest.approx(exact_ends(exact, level))
    assert found.level == level


def test_bands_of_profiles_are_those_of_all_resamples():
    taus = [0.0, 0.1, 0.3, 0.45, 0.7, 0.9]
    found = performance_profile(TWO_BY_TWO, taus, seed=0, level=0.8, n_resamples=40_000)
    for tau, low, high in zip(taus, found.low, found.high, strict=True):
        exact = [(matrix > tau).mean() for matrix in all_resamples(TWO_BY_TWO)]
        assert (low, high) == pytest.approx(exact_ends(exact, 0.8))


def test_intervals_of_improvement_are_those_of_all_resamples_of_both():
    rival = np.array([[0.2, 0.5], [0.3, 0.6]])
    exact = [
        ((ours[:, None] > theirs).mean() + (ours[:, None] >= theirs).mean()) / 2
        for ours in all_resamples(TWO_BY_TWO)
        for theirs in all_resamples(rival)
    ]
    found = probability_of_improvement(TWO_BY_TWO, rival, seed=0, level=0.8, n_resamples=40_000)
    assert found.value == pytest.approx((0.5 + 0.625) / 2)
    assert np.mean(exact) == pytest.approx(found.value)
    assert (found.low, found.high) == pytest.approx(exact_ends(exact, 0.8))


def test_the_statistic_of_a_list_of_strata_is_that_of_the_matrix():
    strata = list(np.random.default_rng(4).random((5, 3)).T)
    found = aggregate(np.array(strata).T, seed=9)
    assert stratified_bootstrap(strata, seed=9, statistic=iqm) == (found.iqm.low, found.iqm.high)
    assert stratified_bootstrap(strata, seed=9) == pytest.approx((found.mean.low, found.mean.high))


def test_long_samples_are_drawn_piece_by_piece():
    values = np.random.default_rng(5).normal(size=300_000)
    low, high = bootstrap_interval(values, seed=0, n_resamples=100, level=0.8)
    normal = mean_interval(values, level=0.8)
    assert (low, high) == pytest.approx((normal.low, normal.high), abs=0.2 * normal.half_width)


@pytest.mark.parametrize(("n_runs", "share"), [(3, 0.87), (5, 0.92), (10, 0.935)])
def test_intervals_hold_as_often_as_the_docs_say(n_runs, share):
    rng = np.random.default_rng(n_runs)
    suites = rng.beta(6, 1 + np.arange(8) / 4, size=(500, n_runs, 8))
    intervals = [aggregate(scores, seed=0, n_resamples=400).iqm for scores in suites]
    expectation = np.mean([found.value for found in intervals])
    n_holding = sum(found.low < expectation < found.high for found in intervals)
    low, high = wilson_interval(n_holding, len(suites), level=0.99)
    assert low < share < high


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([0.5, 0.6], r"matrix \(runs, tasks\).*got shape \(2,\)"),
        (np.empty((0, 3)), "at least one run"),
        ([[0.5, np.inf]], "infinity: write NaN"),
        ([[0.5, np.nan, np.nan]], "no run has a score in column 1, 2: leave"),
    ],
)
def test_a_matrix_that_is_none_is_refused(scores, message):
    with pytest.raises(ConfigError, match=message):
        aggregate(scores, seed=0)


def test_a_bootstrap_needs_values_and_resamples():
    with pytest.raises(ConfigError, match="at least one value in every stratum"):
        stratified_bootstrap([[1.0], []], seed=0)
    with pytest.raises(ConfigError, match="at least 1 resample, got 0"):
        bootstrap_interval([1.0, 2.0], seed=0, n_resamples=0)
