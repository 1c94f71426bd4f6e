"""Lists of many players: e-BH on e-values of now, and the adjuster that running maxima need first.

A list under ``e_bh`` has a false discovery rate of q at most, however the players depend on each
other (Wang and Ramdas, JRSS B 84, 2022). A running maximum is no e-value: its mean is above 1. The
adjuster turns it into one (Shafer, Shen, Vereshchagin and Vovk, Statistical Science 26, 2011).
"""

from __future__ import annotations

from math import log

import numpy as np
from numpy.typing import NDArray

from niulab.errors import ConfigError

__all__ = ["adjusted_log_e", "e_bh"]

Floats = NDArray[np.float64]

_N_TERMS = 24
_SERIES_UP_TO = 1.0


def e_bh(log_es: Floats, q: float) -> NDArray[np.bool_]:
    """Which of m players are listed, (m,): the k largest, k the largest with E_(k) >= m / (k q).

    log_es: (m,) log e-values of now, not running maxima. Raises ConfigError for a rate that is
    none.
    """
    if not 0 < q < 1:
        raise ConfigError(f"a false discovery rate is above 0 and below 1, got {q}: write 0.05")
    m = len(log_es)
    order = np.argsort(-log_es, kind="stable")
    bars = log(m / q) - np.log(np.arange(1, m + 1)) if m else np.zeros(0)
    reached = np.flatnonzero(log_es[order] >= bars)
    listed = np.zeros(m, dtype=np.bool_)
    if len(reached):
        listed[order[: reached[-1] + 1]] = True
    return listed


def adjusted_log_e(peaks: Floats) -> Floats:
    """Log e-values from running maxima given as logarithms: ln of (e - 1 - ln e) / (ln e)^2.

    The maximum counts from the beginning, where the e-value is 1: peaks below 0 are taken as 0, at
    which the adjuster is 1/2. Near there it is summed as a series, for the closed form loses all
    digits.
    """
    x = np.maximum(np.asarray(peaks, dtype=np.float64), 0.0)
    near = np.minimum(x, _SERIES_UP_TO)
    series = np.zeros_like(x)
    for k in range(_N_TERMS, -1, -1):  # sum of x^k / (k + 2)!, by Horner's rule
        series = (1.0 + near * series) / (k + 2)
    far = np.maximum(x, _SERIES_UP_TO)
    closed = far + np.log1p(-(1.0 + far) * np.exp(-far)) - 2.0 * np.log(far)
    result: Floats = np.where(x <= _SERIES_UP_TO, np.log(series), closed)
    return result
