"""Probability of improvement: how likely a run of one algorithm beats a run of another.

Agarwal et al. (NeurIPS 2021, section 4.3): Mann and Whitney's U (Ann. Math. Statist. 18, 1947) over
the pairs of runs of each task, averaged over tasks, on two matrices (runs, tasks).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from niulab.errors import ConfigError
from niulab.evaluation.statistics.bootstrap import Strata, percentiles, resample, strata_of
from niulab.evaluation.statistics.intervals import Interval

__all__ = ["probability_of_improvement"]


def probability_of_improvement(
    scores: ArrayLike,
    rival_scores: ArrayLike,
    *,
    seed: int,
    level: float = 0.95,
    n_resamples: int = 2000,
) -> Interval:
    """P(a run scores higher than the rival's) + half of P(both score the same), mean over tasks.

    scores, rival_scores: (runs, tasks) and (other runs, the same tasks), NaN where a run failed.
    Runs of one seed are no pair: both algorithms' runs are drawn independently. The interval is NaN
    where a task has one run only.
    """
    own = strata_of(scores)
    rivals = strata_of(rival_scores, what="the rival's scores")
    if len(own) != len(rivals):
        raise ConfigError(
            f"algorithms are compared on the same tasks, got {len(own)} and {len(rivals)} columns"
        )
    drawn = resample(own, seed=seed, n_resamples=n_resamples)
    drawn_rivals = resample(
        rivals, seed=seed, n_resamples=n_resamples, purpose="evaluation/bootstrap of the rival"
    )
    low, high = percentiles(_probability(drawn, drawn_rivals), level=level)
    if min(map(len, (*own, *rivals))) < 2:
        low = high = np.nan
    return Interval(float(_probability(own, rivals)), float(low), float(high), level)


def _probability(own: Strata, rivals: Strata) -> NDArray[np.float64]:
    by_task = [
        np.sign(ours[..., :, None] - theirs[..., None, :]).mean((-1, -2))
        for ours, theirs in zip(own, rivals, strict=True)
    ]
    probability: NDArray[np.float64] = (1 + np.mean(by_task, axis=0)) / 2
    return probability
