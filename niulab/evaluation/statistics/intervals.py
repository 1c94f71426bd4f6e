"""Intervals by formula: of a mean and of a share, and what a confidence level is.

Seats of one round share the dealer's hand, so their results correlate (1/3 on Single): callers hand
over one number per *round* (or per run), never one per seat, or intervals come out too narrow.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from niulab.errors import ConfigError

_BELOW_1 = float(np.nextafter(1.0, 0.0))  # (1 + level) / 2 may round up to 1

__all__ = [
    "Estimate",
    "Interval",
    "finite_sample",
    "mean_interval",
    "normal_quantile",
    "wilson_interval",
]


@dataclass(frozen=True)
class Estimate:
    """A simulated mean; its interval, ``mean ± half_width``, holds the truth at ``level``."""

    mean: float
    half_width: float
    level: float
    n_rounds: int

    @property
    def low(self) -> float:
        return self.mean - self.half_width

    @property
    def high(self) -> float:
        return self.mean + self.half_width

    def covers(self, value: float) -> bool:
        """Whether the interval holds ``value``."""
        return self.low <= value <= self.high


@dataclass(frozen=True)
class Interval:
    """A statistic with an interval that need not lie evenly about it; NaN ends: none is known."""

    value: float
    low: float
    high: float
    level: float


def normal_quantile(level: float) -> float:
    """Half-width in standard errors of a two-sided interval: 1.96 for ``level`` 0.95."""
    if not 0 < level < 1:
        raise ConfigError(f"a confidence level lies between 0 and 1, got {level}: write 0.95")
    return NormalDist().inv_cdf(min((1 + level) / 2, _BELOW_1))


def mean_interval(values: ArrayLike, *, level: float = 0.95) -> Estimate:
    """Normal interval of the mean of independent values, one per round; shape (n,), n >= 2."""
    sample = finite_sample(values)
    if len(sample) < 2:
        raise ConfigError(f"an interval needs at least 2 rounds, got {len(sample)}")
    error = float(sample.std(ddof=1)) / sqrt(len(sample))
    return Estimate(
        mean=float(sample.mean()),
        half_width=normal_quantile(level) * error,
        level=level,
        n_rounds=len(sample),
    )


def wilson_interval(successes: int, n: int, *, level: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval of a share (J. Amer. Statist. Assoc. 22, 1927); low and high."""
    if n < 1 or not 0 <= successes <= n:
        raise ConfigError(f"a share needs 0 <= successes <= n and n >= 1, got {successes} of {n}")
    z = normal_quantile(level)
    share = successes / n
    center = (share + z * z / (2 * n)) / (1 + z * z / n)
    spread = z / (1 + z * z / n) * sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    # at a share of 0 or 1 the interval ends there; rounding would leave it an ulp short
    low = 0.0 if successes == 0 else max(0.0, center - spread)
    high = 1.0 if successes == n else min(1.0, center + spread)
    return low, high


def finite_sample(values: ArrayLike) -> NDArray[np.float64]:
    """The values end to end, float64 (n,); raises ConfigError at NaN and infinity."""
    sample = np.asarray(values, dtype=np.float64).ravel()
    if not np.isfinite(sample).all():
        raise ConfigError(
            "values to average hold NaN or infinity: look for the round they come from"
        )
    return sample
