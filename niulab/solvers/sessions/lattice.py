"""Readings of a law on a lattice: quantiles, the mean of the worst share, spans and sums."""

from __future__ import annotations

from math import gcd

import numpy as np
from numpy.typing import NDArray

from niulab.errors import ConfigError

__all__ = ["quantile_index", "span_cents", "worst_mean"]


def quantile_index(probabilities: NDArray[np.float64], p: float, tolerance: float = 0.0) -> int:
    """Place of the least value whose cumulated probability reaches ``p``, within ``tolerance``.

    ``p`` is a share of the mass there is. Raises ConfigError outside (0, 1].
    """
    _verify_share("p", p)
    cumulated = np.cumsum(probabilities)
    place = np.searchsorted(cumulated, p * cumulated[-1] - tolerance)
    return min(int(place), len(probabilities) - 1)


def worst_mean(
    values: NDArray[np.int64], probabilities: NDArray[np.float64], share: float
) -> float:
    """Mean of the lowest ``share`` of a law (CVaR), the value at its edge counted in part.

    values ascending, both (m,). A share of 1 gives the mean. Raises ConfigError outside (0, 1].
    """
    _verify_share("share", share)
    cumulated = np.cumsum(probabilities)
    wanted = share * cumulated[-1]
    taken = np.diff(np.minimum(cumulated, wanted), prepend=0.0)
    return float((values * taken).sum() / wanted)


def span_cents(values: NDArray[np.int64]) -> int:
    """Greatest step that divides all differences of ``values``; 1 where there are none."""
    return gcd(*(values - values[0]).tolist()) or 1


def _verify_share(name: str, share: float) -> None:
    if not 0 < share <= 1:
        raise ConfigError(f"{name} = {share} is no share: write a number above 0 and at most 1")
