"""Learning curves of many runs as one: on a common grid of steps, with pointwise intervals.

Runs are evaluated at steps of their own and end where they end. Between evaluations values are
linear; beyond a run's first and last evaluation it has none. Every grid point holds a matrix
(runs, tasks), ragged where runs have ended.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from niulab.errors import ConfigError
from niulab.evaluation.curves import Curve, Until, common_grid
from niulab.evaluation.statistics.aggregates import strata_iqm
from niulab.evaluation.statistics.bootstrap import resample, strata_interval

__all__ = ["CurveBand", "aggregate_curves"]

_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class CurveBand:
    """IQM over runs and tasks along training; all arrays are (n_points,).

    steps: environment steps. value: NaN where a task has no run. low, high: pointwise percentile
    intervals, NaN where a task has fewer than two. n_runs: runs that are there, over all tasks.
    """

    steps: _Floats
    value: _Floats
    low: _Floats
    high: _Floats
    n_runs: NDArray[np.int64]
    level: float


def aggregate_curves(
    tasks: Sequence[Sequence[Curve]],
    key: str = "normalized_score",
    *,
    seed: int,
    level: float = 0.95,
    n_resamples: int = 2000,
    n_points: int = 101,
    until: Until = "shortest",
) -> CurveBand:
    """The runs of each task, ``tasks[task][run]``, as one curve of the figure ``key``.

    A figure in a task's own unit (``value``, ``regret``) belongs to one task: ``[curves]``. With
    ``until="longest"`` the grid goes on to the end of the longest run; where runs end on the way
    the rest is another sample, and the curve may jump there: ``n_runs`` says where.
    """
    if not tasks or not all(tasks):
        raise ConfigError("a curve over tasks needs at least one run of every task")
    grid = common_grid(
        [curve for runs in tasks for curve in runs], key, n_points=n_points, until=until
    )
    cuts = np.cumsum([len(runs) for runs in tasks])[:-1]
    by_task: list[_Floats] = np.split(grid["values"], cuts)
    figures = np.full((3, n_points), np.nan)
    for point in range(n_points):
        column = [values[:, point] for values in by_task]
        strata = [values[~np.isnan(values)] for values in column]
        if min(map(len, strata)) > 0:
            drawn = resample(strata, seed=seed, n_resamples=n_resamples)
            found = strata_interval(strata_iqm, strata, drawn, level=level)
            figures[:, point] = found.value, found.low, found.high
    n_runs = (~np.isnan(grid["values"])).sum(axis=0, dtype=np.int64)
    value, low, high = figures
    return CurveBand(grid["steps"], value, low, high, n_runs, level)
