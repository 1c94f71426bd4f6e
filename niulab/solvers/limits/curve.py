"""The frontier as a curve: over prices, and at a given profit or a given information.

The largest profit is an increasing, concave function of the nats given away, and mu is its slope:
a price finds a point by one solution, a profit or an amount of information by a search over prices.
Where the curve has a straight piece one price has many points; the two ends found are mixed, which
is no worse, as information is convex in the policy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import exp, log

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from niulab.errors import ConfigError
from niulab.solvers.limits.frontier import FrontierPoint, frontier_point, make_point
from niulab.solvers.limits.logged import logged_frontier_point

__all__ = ["frontier_curve", "point_at", "point_of_information", "point_of_profit"]

Floats = NDArray[np.float64]

_CHEAPEST, _DEAREST = 1e-5, 1e5  # prices as multiples of what the stakes differ by
_EXACT = 1e-9  # of the price, in logarithms, where a point takes a millisecond
_NEAR = 1e-5  # and where it takes a hundred; what is mixed is off by the square


def point_at(
    chances: Floats, values: Floats, mu: float, logged: Floats | None = None
) -> FrontierPoint:
    """The point of a price for a log of what was seen, or of what ``logged`` says."""
    if logged is None:
        return frontier_point(chances, values, mu)
    return logged_frontier_point(chances, values, mu, logged)


def frontier_curve(
    chances: Floats, values: Floats, prices: Sequence[float] | Floats, logged: Floats | None = None
) -> tuple[FrontierPoint, ...]:
    """The points of several prices, in their order (see ``frontier_point``)."""
    return tuple(point_at(chances, values, float(mu), logged) for mu in prices)


def point_of_profit(
    chances: Floats, values: Floats, profit: float, logged: Floats | None = None
) -> FrontierPoint:
    """The least information that earns ``profit`` a round, and how.

    What the best stake earns without a look gives nothing away. Raises ConfigError for a profit
    that no policy earns.
    """
    most = float(chances @ values.max(axis=1))
    if profit > most:
        raise ConfigError(
            f"no policy earns {profit:.6g} a round: at most {most:.6g}, by the best stake for "
            "every value seen"
        )
    return _search(chances, values, logged, lambda point: point.profit - profit)


def point_of_information(
    chances: Floats, values: Floats, information: float, logged: Floats | None = None
) -> FrontierPoint:
    """The largest profit of at most ``information`` nats a round, and how.

    Raises ConfigError for information below 0.
    """
    if not information >= 0:
        raise ConfigError(f"information is 0 nats a round or more, got {information}")
    return _search(chances, values, logged, lambda point: point.information - information)


def _search(
    chances: Floats,
    values: Floats,
    logged: Floats | None,
    excess: Callable[[FrontierPoint], float],
) -> FrontierPoint:
    """The point whose excess, which falls as the price rises, is 0; an end of the curve if none."""
    spread = float(np.ptp(values, axis=1).max(initial=0.0)) or 1.0
    ends = [point_at(chances, values, spread * end, logged) for end in (_CHEAPEST, _DEAREST)]
    for point, is_reached in zip(ends, (excess(ends[0]) <= 0, excess(ends[1]) >= 0), strict=True):
        if is_reached:
            return point

    def at(log_mu: float) -> float:
        return excess(point_at(chances, values, exp(log_mu), logged))

    bounds = log(spread * _CHEAPEST), log(spread * _DEAREST)
    apart = _EXACT if logged is None else _NEAR
    found = float(brentq(at, *bounds, xtol=apart, rtol=8.9e-16))
    # the two sides, moved apart until they enclose what is asked for
    low, high = ends
    while apart < bounds[1] - bounds[0]:
        sides = [exp(min(max(found + s * apart, bounds[0]), bounds[1])) for s in (-1, 1)]
        cheap, dear = (point_at(chances, values, mu, logged) for mu in sides)
        if excess(cheap) >= 0 >= excess(dear):
            low, high = cheap, dear
            break
        apart *= 8
    mu, middle = exp(found), point_at(chances, values, exp(found), logged)
    bound = middle.value + middle.gap

    def mixed(share: float) -> FrontierPoint:
        policy = share * low.policy + (1 - share) * high.policy
        point = make_point(chances, values, mu, policy, 0.0, logged)
        return replace(point, gap=max(bound - point.value, 0.0))

    share = float(brentq(lambda one: excess(mixed(one)), 0.0, 1.0, xtol=1e-15, rtol=8.9e-16))
    return mixed(share)
