"""The stealth frontier against a log that records less than what was seen.

    max over q of  E v - mu I(a; l),    l recorded with chance W(l | c)

is concave in q, but no longer a law of the stakes alone. A logarithmic barrier keeps every chance
above 0 while Newton steps follow it down; the curvature is one block for each stake, and the steps
are taken inside "every row adds up to one". The bound is that of the linear programme at the point
reached (Frank and Wolfe): no policy is better by more than sum_c p(c) (max_a g - sum_a q g), g the
slope by stake. It is the stopping rule, and it is reported where rounding allows no better.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from niulab.errors import ConfigError
from niulab.solvers.limits.frontier import FrontierPoint, make_point, verify_price
from niulab.solvers.limits.information import verify_policy

__all__ = ["logged_frontier_point"]

Floats = NDArray[np.float64]

_FALL = 0.15  # of the barrier's weight from one stage to the next
_MOST_STAGES = 40
_MOST_STEPS = 30  # of one stage; a few are needed
_MOST_VARIABLES = 3_000
_RIDGE = 1e-15


def logged_frontier_point(
    chances: Floats,
    values: Floats,
    mu: float,
    logged: Floats,
    *,
    tolerance: float = 1e-9,
) -> FrontierPoint:
    """The point of a price ``mu`` where the log records logged (n_seen, n_logged), by row a law.

    chances: (n_seen,). values: (n_seen, n_stakes), mean profit. Raises ConfigError for what is no
    law, and for more than 3,000 chances to choose.
    """
    verify_price(chances, values, mu)
    verify_policy(chances, logged)
    if values.size > _MOST_VARIABLES:
        raise ConfigError(
            f"{values.shape[0]} values seen by {values.shape[1]} stakes are {values.size} chances, "
            f"and at most {_MOST_VARIABLES} are solved: give fewer stakes"
        )
    seen = chances > 0
    policy = np.full(values.shape, 1 / values.shape[1])
    inner = _Problem(chances[seen], values[seen], mu, logged[seen])
    policy[seen], gap = inner.solve(tolerance)
    return make_point(chances, values, mu, policy, gap, logged)


class _Problem:
    """In units of mu, so that its numbers are near one."""

    def __init__(self, chances: Floats, values: Floats, mu: float, logged: Floats) -> None:
        self.mu, self.chances = mu, chances
        self.values = (values - values.max(axis=1, keepdims=True)) / mu
        self.joint = (chances[:, None] * logged).T  # (n_logged, n_seen)
        self.joint = self.joint[self.joint.sum(axis=1) > 0]
        self.own = self.joint.sum(axis=1)

    def solve(self, tolerance: float) -> tuple[Floats, float]:
        """A policy and its gap in the unit of profit."""
        n_stakes = self.values.shape[1]
        policy = np.full(self.values.shape, 1 / n_stakes)
        best, gap, weight = policy, self.gap(policy), 1.0
        for _ in range(_MOST_STAGES):
            if self.mu * gap <= tolerance:
                break
            policy = self.centered(policy, weight)
            reached = self.gap(policy)
            if reached < gap:
                best, gap = policy, reached
            weight *= _FALL
        return best, self.mu * gap

    def gap(self, policy: Floats) -> float:
        slope = self.slope(policy)
        found = self.chances @ (slope.max(axis=1) - (policy * slope).sum(axis=1))
        return max(float(found), 0.0)

    def slope(self, policy: Floats) -> Floats:
        """Of the objective by q(a | c), per unit of p(c)."""
        of_logged = self.joint @ policy
        stakes = self.chances @ policy
        logs = np.log(of_logged / (self.own[:, None] * stakes))
        result: Floats = self.values - (self.joint.T @ logs) / self.chances[:, None]
        return result

    def worth(self, policy: Floats, weight: float) -> float:
        """The objective and the barrier."""
        of_logged = self.joint @ policy
        stakes = self.chances @ policy
        information = xlogy(of_logged, of_logged / (self.own[:, None] * stakes)).sum()
        profit = (self.chances[:, None] * policy * self.values).sum()
        return float(profit - information + weight * (self.chances @ np.log(policy).sum(axis=1)))

    def centered(self, policy: Floats, weight: float) -> Floats:
        """The maximum with the barrier's weight, or as near as rounding allows."""
        stakes = range(policy.shape[1])
        for _ in range(_MOST_STEPS):
            slope = self.chances[:, None] * (self.slope(policy) + weight / policy)
            try:
                inverses = self._inverses(policy, weight)
            except np.linalg.LinAlgError:  # flat but for rounding; the gap says how far it is
                break
            # rows of the step add up to zero: the multipliers first, then every stake's block
            pushed = np.stack([inverses[a] @ slope[:, a] for a in stakes], axis=1)
            multipliers = np.linalg.lstsq(inverses.sum(axis=0), pushed.sum(axis=1))[0]
            step = pushed - np.stack([inverses[a] @ multipliers for a in stakes], axis=1)
            step -= policy * step.sum(axis=1, keepdims=True)
            rise = float((slope * step).sum())
            if not rise > 1e-8 * weight:
                break
            moved = self._moved(policy, step, rise, weight)
            if moved is None:
                break
            policy = moved
        return policy

    def _inverses(self, policy: Floats, weight: float) -> Floats:
        """Of minus the second derivatives, a block (n_seen, n_seen) for each stake.

        Blocks are inverted per unit of the chances they move, where they are well scaled but for
        the direction in which a stake is placed more often whatever is seen.
        """
        of_logged = self.joint @ policy
        stakes = self.chances @ policy
        blocks = []
        for a in range(policy.shape[1]):
            block = (self.joint / of_logged[:, a, None]).T @ self.joint
            block -= np.outer(self.chances, self.chances) / stakes[a]
            block *= np.outer(policy[:, a], policy[:, a])
            size = float(np.trace(block)) + weight
            block[np.diag_indices(len(block))] += self.chances * weight + _RIDGE * size
            blocks.append(np.linalg.inv(block) * np.outer(policy[:, a], policy[:, a]))
        return np.stack(blocks)

    def _moved(self, policy: Floats, step: Floats, rise: float, weight: float) -> Floats | None:
        """A step inside, shortened until it rises enough; None if none does."""
        falls = step < 0
        size = min(1.0, 0.95 / float((-step[falls] / policy[falls]).max(initial=1e-300)))
        before = self.worth(policy, weight)
        while size > 1e-10:
            tried = policy + size * step
            tried /= tried.sum(axis=1, keepdims=True)
            if (tried > 0).all() and self.worth(tried, weight) >= before + 1e-4 * size * rise:
                return tried
            size /= 2
        return None
