"""The greatest mean of the worst share of sessions: a search over thresholds around the programme.

CVaR of the net ``D`` at share ``s`` is ``max over t of t + E min(D - t, 0) / s`` (Rockafellar and
Uryasev, Optimization of conditional value-at-risk, 2000), so its maximum over policies is that of
``t + V(t) / s``, with ``V(t)`` an ordinary programme. For one policy the best ``t`` is a net that
can occur: the lattice's levels suffice. ``V`` never rises in ``t`` and falls by at most the
distance, which bounds it between two thresholds; branch and bound on these leaves none out.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace

import numpy as np

from niulab.solvers.optimal.problem import BettingProblem
from niulab.solvers.optimal.recursion import Game, Solved, solve_deadline, solve_endless

__all__ = ["solve_cvar"]


@dataclass(frozen=True, eq=False)
class _At:
    """A threshold (a level above or below the start) and the programme there, in levels."""

    threshold: int
    solved: Solved
    low: float
    high: float

    def worth(self, share: float) -> float:
        return self.threshold + self.low / share


def solve_cvar(game: Game, problem: BettingProblem, tolerance: float) -> tuple[Solved, int]:
    """The solution at the best threshold, in base units of net, and that threshold in levels.

    Its ``high`` at the start bounds all thresholds.
    """
    share = 1 - (problem.level or 0.0)
    unit = problem.rules.base_unit_cents / game.plays.step_cents
    gains = np.arange(len(game.payoff)) - game.start

    def at(threshold: int) -> _At:
        # in levels, not base units: every payoff is an integer
        here = replace(game, payoff=np.minimum(gains - threshold, 0).astype(np.float64))
        if problem.n_rounds is None:
            solved = solve_endless(here, tolerance * share * unit / 4)
        else:
            solved = solve_deadline(here, problem.n_rounds)
        low, high = solved.low[0, game.start], solved.high[0, game.start]
        return _At(threshold, solved, float(low), float(high))

    left, right = at(int(gains[0])), at(int(gains[-1]))
    best = max(left, right, key=lambda one: one.worth(share))
    top = max(one.threshold + one.high / share for one in (left, right))
    heap = [(-_bound(left, right, share), 0, left, right)]
    n_pushed = 0
    while heap:
        bound, _, left, right = heapq.heappop(heap)
        if -bound <= best.worth(share) + tolerance * unit / 2:
            top = max(top, -bound)
            break
        middle = at((left.threshold + right.threshold) // 2)
        top = max(top, middle.threshold + middle.high / share)
        best = max(best, middle, key=lambda one: one.worth(share))
        for pair in ((left, middle), (middle, right)):
            if pair[1].threshold - pair[0].threshold > 1:
                n_pushed += 1
                heapq.heappush(heap, (-_bound(*pair, share), n_pushed, *pair))
    return _in_units(best, top, share, unit, game.start), best.threshold


def _bound(left: _At, right: _At, share: float) -> float:
    """No threshold between the two is worth more."""
    crossing = right.threshold - (left.high - right.high)
    return min(max(crossing, left.threshold), right.threshold) + left.high / share


def _in_units(best: _At, top: float, share: float, unit: float, start: int) -> Solved:
    low = (best.threshold + best.solved.low / share) / unit
    high = (best.threshold + best.solved.high / share) / unit
    high[0, start] = max(high[0, start], top / unit)
    return Solved(low, high, best.solved.choice)
