"""Performance profiles: the share of runs above each score, which hides neither tails nor tasks.

Run-score distributions of Agarwal et al. (NeurIPS 2021, section 4.2) over a matrix (runs, tasks).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from niulab.errors import ConfigError
from niulab.evaluation.statistics.bootstrap import Strata, percentiles, resample, strata_of

__all__ = ["Profile", "performance_profile"]


@dataclass(frozen=True)
class Profile:
    """Shares of runs whose score exceeds each threshold; all arrays are float64 (n_thresholds,).

    low, high: pointwise percentile bands; NaN where a task has one run only.
    """

    thresholds: NDArray[np.float64]
    share: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    level: float


def performance_profile(
    scores: ArrayLike,
    thresholds: ArrayLike,
    *,
    seed: int,
    level: float = 0.95,
    n_resamples: int = 2000,
) -> Profile:
    """Share of runs with a score above each threshold, averaged over tasks, with bands.

    scores: (runs, tasks), NaN where a run failed, which is then not counted. thresholds: (k,).
    """
    taus = np.asarray(thresholds, dtype=np.float64)
    if taus.ndim != 1 or not len(taus) or not np.isfinite(taus).all():
        raise ConfigError(
            f"a profile needs a row of finite thresholds, got shape {taus.shape}: write "
            "numpy.linspace(0, 1, 101)"
        )
    strata = strata_of(scores)
    drawn = resample(strata, seed=seed, n_resamples=n_resamples)
    low, high = percentiles(_shares(drawn, taus), level=level)
    if min(map(len, strata)) < 2:
        low = high = np.full(len(taus), np.nan)
    return Profile(taus, _shares(strata, taus), low, high, level)


def _shares(strata: Strata, taus: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean over tasks of the share of runs above each threshold: (..., k)."""
    total = np.zeros((*strata[0].shape[:-1], len(taus)))
    for stratum in strata:  # one task at a time: resamples x runs x thresholds take room
        total += (stratum[..., None] > taus).mean(-2)
    return total / len(strata)
