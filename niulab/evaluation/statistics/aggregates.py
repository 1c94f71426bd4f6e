"""One figure for an algorithm over runs and tasks: IQM, mean, median, optimality gap.

Definitions of Agarwal et al. (NeurIPS 2021, sections 4.1 and 4.3), on a matrix of normalized scores
of shape (runs, tasks), NaN where a run failed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from niulab.evaluation.statistics.bootstrap import Strata, resample, strata_interval, strata_of
from niulab.evaluation.statistics.intervals import Interval

__all__ = ["Aggregate", "aggregate", "iqm", "strata_iqm"]


@dataclass(frozen=True)
class Aggregate:
    """An algorithm's normalized scores over a matrix (runs, tasks), with bootstrap intervals.

    iqm: mean of the middle half of all runs of all tasks. mean, median: over tasks, of each task's
    mean over runs. optimality_gap: mean shortfall below ``target``, surpluses counting nothing.
    n_failed: cells without a score, which enter none of the figures.
    """

    iqm: Interval
    mean: Interval
    median: Interval
    optimality_gap: Interval
    target: float
    n_runs: int
    n_tasks: int
    n_failed: int


def aggregate(
    scores: ArrayLike,
    *,
    seed: int,
    level: float = 0.95,
    n_resamples: int = 2000,
    target: float = 1.0,
) -> Aggregate:
    """All four figures of a matrix (runs, tasks), from the same resamples of runs within tasks.

    The intervals are about other runs on *these* tasks. They are NaN where a task has one run only.
    """
    strata = strata_of(scores)
    drawn = resample(strata, seed=seed, n_resamples=n_resamples)
    n_runs, n_tasks = np.shape(scores)
    return Aggregate(
        iqm=strata_interval(strata_iqm, strata, drawn, level=level),
        mean=strata_interval(_mean, strata, drawn, level=level),
        median=strata_interval(_median, strata, drawn, level=level),
        optimality_gap=strata_interval(partial(_gap, target=target), strata, drawn, level=level),
        target=target,
        n_runs=n_runs,
        n_tasks=n_tasks,
        n_failed=n_runs * n_tasks - sum(map(len, strata)),
    )


def iqm(values: NDArray[np.float64]) -> float:
    """Interquartile mean: the mean of the middle half, which one lucky run cannot move.

    values: any shape, (runs, tasks) included; all of them are one sample. A quarter of them,
    rounded down, is cut on each side.
    """
    return float(_middle_mean(np.ravel(values)))


def strata_iqm(strata: Strata) -> NDArray[np.float64]:
    """IQM of all runs of all tasks, arrays (..., n_runs of the task); shape (...)."""
    return _middle_mean(np.concatenate(strata, axis=-1))


def _middle_mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
    ordered = np.sort(values, axis=-1)
    n = ordered.shape[-1]
    middle: NDArray[np.float64] = ordered[..., n // 4 : n - n // 4].mean(-1)
    return middle


def _task_means(strata: Strata) -> NDArray[np.float64]:
    return np.stack([stratum.mean(-1) for stratum in strata])


def _mean(strata: Strata) -> NDArray[np.float64]:
    means: NDArray[np.float64] = _task_means(strata).mean(0)
    return means


def _median(strata: Strata) -> NDArray[np.float64]:
    medians: NDArray[np.float64] = np.median(_task_means(strata), axis=0)
    return medians


def _gap(strata: Strata, *, target: float) -> NDArray[np.float64]:
    return _mean([np.maximum(target - stratum, 0.0) for stratum in strata])
