"""The classical limit of best-arm identification: samples that no learner can do without.

Whoever names the best of K arms, and errs with probability at most delta whatever the laws, needs

    E[samples] >= T* kl(delta, 1 - delta),    1 / T* = sup_w min_b inf_x w_a K-(a, x) + w_b K+(b, x)

with a the best arm, b any other, w shares of samples and x between their means (Garivier and
Kaufmann, COLT 2016, theorem 1; kl(delta, 1 - delta) >= log(1 / (2.4 delta))). K+(b, x) is the least
KL divergence from b's law to one of mean x or more, K-(a, x) to one of mean x or less. Here laws
are known to live on finitely many payments, and alternatives put other probabilities on the same
ones. Then (Honda and Takemura, COLT 2010)

    K+(b, x) = max over 0 <= l <= 1 / (max - x) of E[log(1 - l (X - x))],

whose slope in x is the maximizer l; K- is the same of -X. Where an arm within a tolerance of the
best is good enough, alternatives must lift b that far above the arm that is named, and the limit
is that of the arm that is easiest to name, as delta goes to 0 (Degenne and Koolen, NeurIPS 2019).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf, log

import numpy as np
from numpy.typing import ArrayLike, NDArray

from niulab.errors import ConfigError

__all__ = ["Arm", "BestArm", "best_arm", "confidence_cost", "kl_inf"]

_EDGE = 1e-12
"""Relative distance kept from the ends of intervals on which divergences become infinite or 0."""


class Arm:
    """The law of one arm's reward: ``values`` (m,) ascending, all of positive probability (m,).

    Raises ConfigError for what is no law; a reward that never varies needs no sample, and none here
    is one.
    """

    def __init__(self, values: ArrayLike, probabilities: ArrayLike) -> None:
        self.values: NDArray[np.float64] = np.asarray(values, dtype=np.float64)
        self.probabilities: NDArray[np.float64] = np.asarray(probabilities, dtype=np.float64)
        fits = self.values.ndim == 1 and self.values.shape == self.probabilities.shape
        if not fits or len(self.values) < 2 or not (np.diff(self.values) > 0).all():
            raise ConfigError(
                "an arm's law needs two ascending values or more and a probability for each, got "
                f"{np.shape(values)} and {np.shape(probabilities)}: leave out arms whose reward "
                "never varies"
            )
        if not (self.probabilities > 0).all() or abs(self.probabilities.sum() - 1) > 1e-9:
            raise ConfigError(
                "an arm's probabilities are above 0 and add up to 1, got "
                f"{self.probabilities.tolist()}: leave out values that never occur"
            )

    @property
    def mean(self) -> float:
        return float(self.values @ self.probabilities)

    @property
    def mirrored(self) -> Arm:
        """The arm that pays the opposite."""
        return Arm(-self.values[::-1], self.probabilities[::-1])


@dataclass(frozen=True)
class BestArm:
    """The arm that is easiest to name and what it takes to tell: ``time`` is T*, in samples.

    shares: (n_arms,), the shares of samples at which the limit could be reached; NaN where there is
    none. Two arms that are best alike cannot be told apart: then ``time`` is infinite.
    """

    index: int
    time: float
    shares: NDArray[np.float64]


def confidence_cost(delta: float) -> float:
    """kl(delta, 1 - delta) of two coins, in nats: 2.65 for .05."""
    if not 0 < delta < 0.5:
        raise ConfigError(f"delta is a probability of error below one half, got {delta}: write .05")
    return (1 - 2 * delta) * log((1 - delta) / delta)


def kl_inf(arm: Arm, mean: float) -> tuple[float, float]:
    """K+ of an arm, in nats, and its slope in ``mean``: 0 below the arm's own, infinite from its
    greatest value on. K- of an arm at x is ``kl_inf(arm.mirrored, -x)``.
    """
    from scipy.optimize import brentq

    if mean <= arm.mean:
        return 0.0, 0.0
    room = arm.values[-1] - mean
    if room <= 0:
        return inf, inf
    excess, chances = arm.values - mean, arm.probabilities
    # with l = u / room the slope of the concave E[log(1 - u excess / room)] has one root in u; it
    # lies below 1 / (1 + P(max)), as the terms below the mean are at least -1 / u in all
    u = brentq(
        lambda u: float(chances @ (excess / (room - u * excess))),
        0.0,
        1 / (1 + chances[-1]),
        xtol=1e-16,
        rtol=1e-14,
    )
    return float(chances @ np.log1p(-u * excess / room)), u / room


def best_arm(arms: Sequence[Arm], *, tolerance: float = 0.0) -> BestArm:
    """T* and the shares of samples that reach it; ``tolerance`` is in the unit of the rewards.

    With the share of the arm a that is named as unit, an arm b of share r is as hard to tell as
    y = K-(a, x) + r K+(b, x), least over x; at the optimum all are equally hard and the sum over b
    of K-(a, x) / K+(b, x) is 1 (Garivier and Kaufmann, theorem 5).
    """
    if len(arms) < 2 or not tolerance >= 0:
        raise ConfigError(
            f"the best of {len(arms)} arms within {tolerance} is no question: give at least two "
            "arms, and a tolerance of 0 or more"
        )
    means = [arm.mean for arm in arms]
    places = sorted(range(len(arms)), key=lambda place: -means[place])  # equals keep their order
    found = _named(arms, places[0], tolerance)
    for place in places[1:]:
        if means[place] < means[places[0]] - tolerance:
            break
        found = min(found, _named(arms, place, tolerance, most=found.time), key=lambda f: f.time)
    return found


def _named(arms: Sequence[Arm], index: int, tolerance: float, most: float = inf) -> BestArm:
    """What it takes to name an arm that is good enough; infinity if surely ``most`` or more."""
    from scipy.optimize import brentq

    duels = [
        _Duel(arms[index], Arm(arm.values - tolerance, arm.probabilities))
        for place, arm in enumerate(arms)
        if place != index
    ]
    nowhere = np.full(len(arms), np.nan)
    if any(duel.is_tied for duel in duels):
        return BestArm(index, inf, nowhere)
    possible = [duel for duel in duels if duel.low < duel.high]
    if not possible:  # under no other law on these payments would another arm be the one to name
        return BestArm(index, 0.0, nowhere)
    hardest = min(duel.hardest for duel in possible)
    if 1 / hardest >= most:
        return BestArm(index, inf, nowhere)
    least = min(duel.easiest for duel in possible)

    def surplus(y: float) -> float:
        return sum(duel.ratio(duel.place(y)) for duel in possible) - 1

    y = brentq(surplus, least + _EDGE * (hardest - least), hardest * (1 - 1e-9), rtol=1e-13)
    shares = [duel.share(duel.place(y)) if duel in possible else 0.0 for duel in duels]
    total = 1 + sum(shares)
    shares.insert(index, 1.0)
    return BestArm(index, float(total / y), np.array(shares) / total)


class _Duel:
    """The arm that is named beside another, along the mean x at which they would meet."""

    def __init__(self, named: Arm, other: Arm) -> None:
        self._mirrored, self._other = named.mirrored, other
        self.is_tied = named.mean <= other.mean + _EDGE * (named.values[-1] - named.values[0])
        low = max(other.mean, float(named.values[0]))
        high = min(named.mean, float(other.values[-1]))
        margin = _EDGE * (high - low)
        self.low, self.high = low + margin, high - margin

    @cached_property
    def easiest(self) -> float:
        """The y of a share of 0."""
        return self.hardness(self.high)

    @cached_property
    def hardest(self) -> float:
        """The y of a share without end."""
        return self._named(self.low)[0]

    @cached_property
    def _least(self) -> float:
        return self.hardness(self.low)

    def _named(self, x: float) -> tuple[float, float]:
        return kl_inf(self._mirrored, -x)

    def share(self, x: float) -> float:
        """The r at which x is where both are moved to most cheaply."""
        slope = kl_inf(self._other, x)[1]
        return self._named(x)[1] / slope if slope else inf

    def ratio(self, x: float) -> float:
        other = kl_inf(self._other, x)[0]
        return self._named(x)[0] / other if other else inf

    def hardness(self, x: float) -> float:
        """The y of an x, which falls as x grows."""
        mine, slope = self._named(x)
        other, other_slope = kl_inf(self._other, x)
        return mine + slope / other_slope * other if other_slope else mine

    def place(self, y: float) -> float:
        """The x of a y."""
        from scipy.optimize import brentq

        if y <= self.easiest:
            return self.high
        if y >= self._least:
            return self.low
        x: float = brentq(lambda x: self.hardness(x) - y, self.low, self.high, rtol=1e-13)
        return x
