"""All figures of a suite at once, ready for its tables and pictures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from niulab.evaluation.curves import THRESHOLDS
from niulab.evaluation.statistics.aggregates import Aggregate, aggregate
from niulab.evaluation.statistics.efficiency import SampleEfficiency, sample_efficiency
from niulab.evaluation.statistics.improvement import probability_of_improvement
from niulab.evaluation.statistics.intervals import Interval
from niulab.evaluation.statistics.learning import CurveBand, aggregate_curves
from niulab.evaluation.statistics.profiles import Profile, performance_profile
from niulab.evaluation.statistics.suite_results import SuiteResults

__all__ = ["SuiteSummary", "summarize"]


@dataclass(frozen=True, eq=False)
class SuiteSummary:
    """Figures of a suite by algorithm.

    left_out: algorithms with a task that no run finished, and those tasks: they have no aggregate,
    profile or comparison, because means over fewer tasks are another benchmark's. improvement: by
    (algorithm, rival). efficiency: by (algorithm, task), one for each normalized score of
    ``THRESHOLDS``, where there are curves. curves: of algorithms whose runs all have one, with
    steps in common.
    """

    results: SuiteResults
    aggregates: Mapping[str, Aggregate]
    profiles: Mapping[str, Profile]
    improvement: Mapping[tuple[str, str], Interval]
    efficiency: Mapping[tuple[str, str], tuple[SampleEfficiency, ...]]
    curves: Mapping[str, CurveBand]
    left_out: Mapping[str, tuple[str, ...]]
    seed: int
    level: float
    n_resamples: int

    @property
    def ranking(self) -> tuple[str, ...]:
        """Algorithms, the highest IQM first, those left out last; equals keep their order."""
        return (
            *sorted(self.aggregates, key=lambda name: -self.aggregates[name].iqm.value),
            *self.left_out,
        )


def summarize(
    results: SuiteResults,
    *,
    seed: int,
    level: float = 0.95,
    n_resamples: int = 2000,
    thresholds: ArrayLike | None = None,
) -> SuiteSummary:
    """Everything that the results of a suite allow; the same seed gives the same figures.

    thresholds: of the profiles (default: even from 0, or the least score, to 1, and denser towards
    1, down to a distance of 1e-5).
    """
    left_out = {
        algorithm: tuple(
            task for task, failed in zip(results.tasks, failures.all(axis=0), strict=True) if failed
        )
        for algorithm, failures in zip(results.algorithms, results.failed, strict=True)
        if failures.all(axis=0).any()
    }
    matrices = {a: results.scores_of(a) for a in results.algorithms if a not in left_out}
    if thresholds is None:
        least = min((float(np.nanmin(scores)) for scores in matrices.values()), default=0.0)
        even, close = np.linspace(min(0.0, least), 1.0, 101), 1 - np.logspace(-5, 0, 51)
        thresholds = np.union1d(even, close)
    improvement: dict[tuple[str, str], Interval] = {}
    for one, other in combinations(matrices, 2):
        found = probability_of_improvement(
            matrices[one], matrices[other], seed=seed, level=level, n_resamples=n_resamples
        )
        improvement[one, other] = found
        improvement[other, one] = Interval(1 - found.value, 1 - found.high, 1 - found.low, level)
    return SuiteSummary(
        results=results,
        aggregates={
            a: aggregate(scores, seed=seed, level=level, n_resamples=n_resamples)
            for a, scores in matrices.items()
        },
        profiles={
            a: performance_profile(
                scores, thresholds, seed=seed, level=level, n_resamples=n_resamples
            )
            for a, scores in matrices.items()
        },
        improvement=improvement,
        efficiency={
            (algorithm, task): tuple(
                sample_efficiency(curves, threshold, level=level) for threshold in THRESHOLDS
            )
            for algorithm in results.algorithms
            for task in results.tasks
            if (curves := results.curves_of(algorithm, task))
        },
        curves={
            a: aggregate_curves(
                [results.curves_of(a, task) for task in results.tasks],
                seed=seed,
                level=level,
                n_resamples=n_resamples,
            )
            for a in matrices
            if results.has_common_steps(a)
        },
        left_out=left_out,
        seed=seed,
        level=level,
        n_resamples=n_resamples,
    )
