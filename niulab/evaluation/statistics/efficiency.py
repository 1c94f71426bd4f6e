"""Sample efficiency: steps to a normalized score, with the runs that never got there counted.

A run that ends below the score is censored at its end: how many steps it would have needed is
unknown, only that they are more. In medians it stands beyond every step. With equal budgets that is
the median of Kaplan and Meier (J. Amer. Statist. Assoc. 53, 1958); where some runs end early it is
an upper bound, and unlike theirs it never hangs on the one run that is left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

import numpy as np
from numpy.typing import ArrayLike

from niulab.errors import ConfigError
from niulab.evaluation.curves import Curve
from niulab.evaluation.statistics.intervals import wilson_interval

__all__ = ["SampleEfficiency", "median_steps", "sample_efficiency"]


@dataclass(frozen=True)
class SampleEfficiency:
    """Steps to ``normalized_score`` over runs of one task.

    median: environment steps, infinity where less than half the runs got there. share_low,
    share_high: Wilson interval of the share of runs that get there within their budgets.
    """

    normalized_score: float
    median: float
    n_reached: int
    n_runs: int
    share_low: float
    share_high: float
    level: float


def sample_efficiency(
    curves: Sequence[Curve], normalized_score: float, *, level: float = 0.95
) -> SampleEfficiency:
    """Of the runs of one task: each counts from the first evaluation that shows the score."""
    if not curves or not all(curve.steps for curve in curves):
        raise ConfigError("sample efficiency needs at least one evaluation in every run")
    found = [curve.steps_to(normalized_score) for curve in curves]
    steps = [inf if step is None else step for step in found]
    n_reached = len(steps) - steps.count(inf)
    low, high = wilson_interval(n_reached, len(curves), level=level)
    return SampleEfficiency(
        normalized_score=normalized_score,
        median=median_steps(steps),
        n_reached=n_reached,
        n_runs=len(curves),
        share_low=low,
        share_high=high,
        level=level,
    )


def median_steps(steps: ArrayLike) -> float:
    """The least number of steps by which half the runs have arrived, infinity if they never do.

    steps: (n,), infinity for a run that did not arrive. Of an even number of runs it is the lower
    of the middle two.
    """
    ordered = np.sort(np.asarray(steps, dtype=np.float64), axis=None)
    if not len(ordered) or np.isnan(ordered).any():
        raise ConfigError(
            f"a median needs the steps of at least one run and no NaN, got {ordered.tolist()}: "
            "write infinity for a run that did not arrive"
        )
    return float(ordered[(len(ordered) - 1) // 2])
