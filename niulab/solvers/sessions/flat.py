"""The law of many flat rounds of one slip: the FFT power of one round's law on its lattice.

The lattice is exact; what the transform rounds off is bounded by ``rounding_bound``. That bound is
absolute, so probabilities below it say nothing: far tails are ``tails``' business.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import log2, sqrt

import numpy as np
from numpy.typing import NDArray

from niulab.errors import ConfigError
from niulab.solvers.sessions.lattice import quantile_index, span_cents, worst_mean
from niulab.solvers.sessions.net_law import NetLaw

__all__ = ["FlatLaw", "flat_law"]

_MOST_POINTS = 1 << 25
"""Of a transform: half a gigabyte of work."""


@dataclass(frozen=True, eq=False)
class FlatLaw:
    """The law of the net of ``n_rounds`` independent rounds of ``law.slip``.

    probabilities: float64 (m,); entry k belongs to ``lowest_cents + k * step_cents``. The step is
    the span of the lattice (it divides all differences of nets, and may exceed ``law.step_cents``).
    rounding_bound: of the error of each probability; sums of j of them err by j times as much.
    """

    law: NetLaw
    n_rounds: int
    step_cents: int
    lowest_cents: int
    probabilities: NDArray[np.float64]
    rounding_bound: float

    @cached_property
    def nets(self) -> NDArray[np.int64]:
        """Net of each entry in cents; int64 (m,)."""
        return self.lowest_cents + self.step_cents * np.arange(len(self.probabilities))

    @property
    def ev_cents(self) -> float:
        """Exact mean, rounded once."""
        return float(self.n_rounds * self.law.ev_cents)

    @property
    def sd_cents(self) -> float:
        """Exact standard deviation, rounded."""
        return sqrt(self.n_rounds * self.law.variance)

    @property
    def p_ahead(self) -> float:
        """P(net > 0)."""
        return float(self.probabilities[np.searchsorted(self.nets, 0, side="right") :].sum())

    @property
    def p_even(self) -> float:
        """P(net == 0)."""
        return self.at(0)

    def at(self, net_cents: int) -> float:
        """P(net == net_cents)."""
        level, off = divmod(net_cents - self.lowest_cents, self.step_cents)
        is_on = off == 0 and 0 <= level < len(self.probabilities)
        return float(self.probabilities[level]) if is_on else 0.0

    def quantile(self, p: float) -> int:
        """Least net in cents with P(net <= it) >= p, up to rounding."""
        return int(self.nets[quantile_index(self.probabilities, p, self.rounding_bound)])

    def band(self, low: float = 0.05, high: float = 0.95) -> tuple[int, int]:
        """Two quantiles in cents."""
        return self.quantile(low), self.quantile(high)

    def cvar_cents(self, level: float = 0.95) -> float:
        """Mean net of the worst ``1 - level`` of sessions."""
        return worst_mean(self.nets, self.probabilities, 1 - level)


def flat_law(net_law: NetLaw, n_rounds: int) -> FlatLaw:
    """The law of ``n_rounds`` flat rounds, by one transform, its power and the way back.

    Nothing is absorbed: it is the law of a player whose bankroll outlasts the rounds. Raises
    ConfigError for fewer than no rounds, or more than memory holds.
    """
    if n_rounds < 0:
        raise ConfigError(f"a session has 0 rounds or more, got {n_rounds}")
    span = span_cents(net_law.nets)
    lowest = int(net_law.nets[0])
    levels = (net_law.nets - lowest) // span
    n_points = n_rounds * int(levels[-1]) + 1
    if n_points > _MOST_POINTS:
        raise ConfigError(
            f"{n_rounds} rounds of '{net_law.slip}' have {n_points} results, more than "
            f"{_MOST_POINTS} fit a transform: ask solvers.sessions.tails for single probabilities"
        )
    one = np.zeros(int(levels[-1]) + 1)
    one[levels] = net_law.probabilities
    probabilities, bound = _power(one, n_rounds, n_points)
    return FlatLaw(net_law, n_rounds, span, n_rounds * lowest, probabilities, bound)


def _power(
    one: NDArray[np.float64], n_rounds: int, n_points: int
) -> tuple[NDArray[np.float64], float]:
    """The n-th convolution power, and a bound of the error of each entry.

    With u the unit roundoff, a transform of N points errs by at most 7 u log2 N times the norm of
    its result (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., theorem 24.2). As
    |z| <= 1, the n-th power makes n |z|^(n - 1) of an error of z; its products add 2.3 u each.
    """
    from scipy import fft

    size = fft.next_fast_len(n_points, real=True)
    transform = fft.rfft(one, size)
    powered, square, left = np.ones_like(transform), transform, n_rounds
    while left:
        if left & 1:
            powered = powered * square
        left >>= 1
        if left:
            square = square * square
    back = fft.irfft(powered, size)[:n_points]
    unit = np.finfo(np.float64).eps / 2
    of_transform = 7 * unit * log2(max(size, 2))
    heights = np.abs(transform)
    before = _root_mean_square(heights ** max(n_rounds - 1, 0), size)
    bound = n_rounds * before * (of_transform * float(np.linalg.norm(one)) + 3.3 * unit)
    bound += of_transform * _root_mean_square(heights**n_rounds, size)
    return np.maximum(back, 0.0), bound


def _root_mean_square(half_spectrum: NDArray[np.float64], size: int) -> float:
    """Over all ``size`` points, from above: the half spectrum has its ends once."""
    return sqrt(2 * float((half_spectrum * half_spectrum).sum()) / size)
