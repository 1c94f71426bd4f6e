"""Estimates and their intervals: means, shares and resampled statistics, reproducible by seed.

Rounds: ``mean_interval``, ``wilson_interval``. Runs of a benchmark: matrices of normalized scores
of shape (runs, tasks), NaN where a run failed; intervals by the stratified bootstrap. Numbers only:
their tables are ``evaluation.tables.suite``, their pictures ``evaluation.plots.suite``.
"""

from __future__ import annotations

from niulab.evaluation.statistics.aggregates import Aggregate, aggregate, iqm
from niulab.evaluation.statistics.bootstrap import bootstrap_interval, stratified_bootstrap
from niulab.evaluation.statistics.efficiency import (
    SampleEfficiency,
    median_steps,
    sample_efficiency,
)
from niulab.evaluation.statistics.improvement import probability_of_improvement
from niulab.evaluation.statistics.intervals import (
    Estimate,
    Interval,
    mean_interval,
    normal_quantile,
    wilson_interval,
)
from niulab.evaluation.statistics.learning import CurveBand, aggregate_curves
from niulab.evaluation.statistics.profiles import Profile, performance_profile
from niulab.evaluation.statistics.suite_results import SuiteResults
from niulab.evaluation.statistics.summary import SuiteSummary, summarize

__all__ = [
    "Aggregate",
    "CurveBand",
    "Estimate",
    "Interval",
    "Profile",
    "SampleEfficiency",
    "SuiteResults",
    "SuiteSummary",
    "aggregate",
    "aggregate_curves",
    "bootstrap_interval",
    "iqm",
    "mean_interval",
    "median_steps",
    "normal_quantile",
    "performance_profile",
    "probability_of_improvement",
    "sample_efficiency",
    "stratified_bootstrap",
    "summarize",
    "wilson_interval",
]
