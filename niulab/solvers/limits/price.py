"""What sparse staking earns before an ideal alarm, however slowly it goes.

A player who stakes ever more rarely earns less a round and tells less. Profit per nat tends to the
price mu* at which E exp(v / mu*) = 1, v the value of the stake given what is seen; so about
mu* ln(1 / alpha) is all that stakes of this size take before an ideal alarm at ``alpha``.
"""

from __future__ import annotations

from math import log

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import logsumexp

from niulab.errors import ConfigError

__all__ = ["limit_exposure", "limit_price"]

Floats = NDArray[np.float64]


def limit_price(chances: Floats, values: Floats) -> float:
    """mu* with E exp(v / mu*) = 1; 0 where no value seen favors the stake.

    chances, values: (n_seen,), the law of what is seen and the mean profit of staking then. Raises
    ConfigError where the stake is favorable on average, for then no price is high enough.
    """
    mean = float(chances @ values)
    if mean >= 0:
        raise ConfigError(
            f"the stake wins {mean:+.6g} a round without any look: there is nothing to hide and no "
            "limit price"
        )
    best = float(values[chances > 0].max())
    if best <= 0:
        return 0.0

    def excess(mu: float) -> float:
        return float(logsumexp(values / mu, b=chances))

    low = high = best
    while excess(high) > 0:
        high *= 2
    while excess(low) <= 0:
        low /= 2
    return float(brentq(excess, low, high, xtol=1e-15, rtol=8.9e-16))


def limit_exposure(price: float, alpha: float) -> float:
    """mu* ln(1 / alpha), in the unit of ``price``."""
    if not 0 < alpha < 1:
        raise ConfigError(f"alpha is above 0 and below 1, got {alpha:g}: write 0.01, say")
    return price * log(1 / alpha)
