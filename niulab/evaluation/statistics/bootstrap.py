"""The stratified bootstrap: runs are drawn again within each task, tasks stay what they are.

Efron, Ann. Statist. 7 (1979), percentile intervals; stratified by task as in Agarwal et al.,
"Deep reinforcement learning at the edge of the statistical precipice", NeurIPS 2021. What is drawn
depends on ``seed`` and on the sizes of the strata, on nothing else: statistics of one matrix under
one seed see the same resamples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from niulab.errors import ConfigError
from niulab.evaluation.statistics.intervals import Interval, finite_sample, normal_quantile
from niulab.seeding import generator

__all__ = [
    "Statistic",
    "Strata",
    "bootstrap_interval",
    "percentiles",
    "resample",
    "strata_interval",
    "strata_of",
    "stratified_bootstrap",
]

Statistic = Callable[[NDArray[np.float64]], float]
"""A figure of values end to end, shape (n,)."""

Strata = Sequence[NDArray[np.float64]]
"""Runs by task, arrays (..., n_runs of the task): the leading axes, where there are any, are those
of the resamples."""

_PURPOSE = "evaluation/bootstrap"
_MOST_DRAWN = 1 << 23  # values at a time: samples of rounds are long


def bootstrap_interval(
    values: ArrayLike,
    *,
    seed: int,
    statistic: Statistic | None = None,
    level: float = 0.95,
    n_resamples: int = 2000,
) -> tuple[float, float]:
    """Percentile interval of a statistic (default: the mean) of independent values, shape (n,)."""
    return stratified_bootstrap(
        [values], seed=seed, statistic=statistic, level=level, n_resamples=n_resamples
    )


def stratified_bootstrap(
    strata: list[ArrayLike],
    *,
    seed: int,
    statistic: Statistic | None = None,
    level: float = 0.95,
    n_resamples: int = 2000,
) -> tuple[float, float]:
    """Percentile interval of a statistic of all values; each stratum (a task) is resampled alone.

    strata: one array of runs per task. The statistic sees the resampled strata end to end.
    """
    samples = [finite_sample(values) for values in strata]
    if not samples or min(len(sample) for sample in samples) == 0:
        raise ConfigError("a bootstrap needs at least one value in every stratum")
    rng = _generator(seed, n_resamples)
    rows = max(1, _MOST_DRAWN // sum(map(len, samples)))
    results: list[float] = []
    while len(results) < n_resamples:
        drawn = np.concatenate(_draw(samples, rng, min(rows, n_resamples - len(results))), axis=-1)
        results += drawn.mean(-1).tolist() if statistic is None else map(statistic, drawn)
    low, high = percentiles(np.array(results), level=level)
    return float(low), float(high)


def strata_of(scores: ArrayLike, *, what: str = "scores") -> list[NDArray[np.float64]]:
    """The runs of each task that have a score, from a matrix (runs, tasks) with NaN for the others.

    Raises ConfigError where a task has no score: means over other tasks are another benchmark's.
    """
    matrix = np.asarray(scores, dtype=np.float64)
    if matrix.ndim != 2 or 0 in matrix.shape:
        raise ConfigError(
            f"{what} form a matrix (runs, tasks) of at least one run and one task, got shape "
            f"{matrix.shape}: put each task into a column"
        )
    if np.isinf(matrix).any():
        raise ConfigError(f"{what} hold infinity: write NaN for a run that has no score")
    strata = [column[~np.isnan(column)] for column in matrix.T]
    empty = [place for place, stratum in enumerate(strata) if not len(stratum)]
    if empty:
        raise ConfigError(
            f"{what}: no run has a score in column {', '.join(map(str, empty))}: leave that task "
            "out for every algorithm, or write the score a failed run stands for"
        )
    return strata


def resample(
    strata: Strata, *, seed: int, n_resamples: int = 2000, purpose: str = _PURPOSE
) -> list[NDArray[np.float64]]:
    """Every stratum drawn ``n_resamples`` times with replacement: (n_runs, ...) each becomes
    (n_resamples, n_runs, ...). Strata of another ``purpose`` are drawn independently.
    """
    return _draw(strata, _generator(seed, n_resamples, purpose), n_resamples)


def percentiles(results: NDArray[np.float64], *, level: float) -> NDArray[np.float64]:
    """Low and high end of the middle ``level`` of results (n_resamples, ...): shape (2, ...)."""
    normal_quantile(level)  # refuses a level that is none
    ends: NDArray[np.float64] = np.quantile(results, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return ends


def strata_interval(
    statistic: Callable[[Strata], NDArray[np.float64]],
    strata: Strata,
    drawn: Strata,
    *,
    level: float,
) -> Interval:
    """A statistic of strata with its percentile interval from their resamples.

    A stratum of a single run never varies: its resamples say nothing, and both ends are NaN.
    """
    low, high = percentiles(statistic(drawn), level=level)
    if min(len(stratum) for stratum in strata) < 2:
        low = high = np.nan
    return Interval(float(statistic(strata)), float(low), float(high), level)


def _generator(seed: int, n_resamples: int, purpose: str = _PURPOSE) -> np.random.Generator:
    if n_resamples < 1:
        raise ConfigError(f"a bootstrap needs at least 1 resample, got {n_resamples}: write 2000")
    return generator(seed, purpose)


def _draw(strata: Strata, rng: np.random.Generator, n: int) -> list[NDArray[np.float64]]:
    return [stratum[rng.integers(len(stratum), size=(n, len(stratum)))] for stratum in strata]
