"""Errors too frequent to be honest: an e-value against a bound on their rate."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from niulab.errors import ConfigError

__all__ = ["rate_factors", "rate_log_e"]

_STAKES = np.array([0.02, 0.1, 0.3, 0.6, 0.9])
"""Shares of the wealth bet on an error at odds of 1/bound, every time there may be one: the larger,
the more frequent the errors that are looked for."""

Floats = NDArray[np.float64]


def rate_factors(bound: float) -> Floats:
    """Factors without and with an error, (2, k): 1 + l (x / bound - 1).

    Their mean is 1 if errors come at the bound, and less if they come more rarely, whatever else
    they depend on. Raises ConfigError for a bound that is no rate.
    """
    if not 0 < bound < 1:
        raise ConfigError(f"a bound on a rate is above 0 and below 1, got {bound}")
    events = np.array([0.0, 1.0])
    factors: Floats = 1 + _STAKES * (events[:, None] / bound - 1)
    return factors


def rate_log_e(is_error: NDArray[np.bool_], bound: float) -> float:
    """The largest log e-value along chances (n,) of an error, in time, against the bound.

    An even mixture over the shares bet; it reaches ln(1/alpha) with probability alpha at most.
    """
    logs = np.log(rate_factors(bound))[is_error.astype(np.int64)]
    paths = np.cumsum(logs, axis=0)
    if not len(paths):
        return 0.0
    tops = paths.max(axis=1)
    mixed = tops + np.log(np.exp(paths - tops[:, None]).mean(axis=1))
    return max(float(mixed.max()), 0.0)
