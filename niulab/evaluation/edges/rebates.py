"""Loss rebates: the worth of an offer at its best play, beside play without a plan to quit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from niulab.engine.rules.model import RuleSet
from niulab.engine.wagers import Slip
from niulab.solvers.optimal.rebate import RebateProblem, RebateSolution, solve_rebate
from niulab.solvers.sessions.net_law import net_law
from niulab.solvers.sessions.programme import play_session, session_lattice
from niulab.solvers.sessions.tables import flat_tables

__all__ = ["Offer", "PlainPlay", "break_even_rebate", "make_offer", "play_once", "play_plainly"]

_HALVINGS = 24  # of the bracket around the break-even rate


@dataclass(frozen=True)
class Offer:
    """An offer's worth at the buy-in, in base units, within proven bounds, with its best play.

    slip: the first, None where not to play is best. quit_points: see ``RebateSolution``, in cents.
    """

    rebate: float
    slips: tuple[Slip, ...]
    low: float
    high: float
    slip: Slip | None
    quit_points: tuple[int | None, int | None] | None

    @property
    def value(self) -> float:
        """The middle of the bounds; 0 where not to play is best."""
        return (self.low + self.high) / 2 if self.slip else 0.0

    @property
    def gap(self) -> float:
        """The distance of the bounds."""
        return self.high - self.low


@dataclass(frozen=True)
class PlainPlay:
    """One slip for ``n_rounds`` rounds, or as long as it is covered, whatever happens.

    net, loss: means of the net and of its losing part, in base units; Fractions where they are
    exact. At a rebate ``r`` it is worth ``net + r loss``.
    """

    slip: Slip
    n_rounds: int
    net: float | Fraction
    loss: float | Fraction

    def value(self, rebate: float) -> float:
        """What it is worth with a refund, in base units."""
        return float(self.net) + rebate * float(self.loss)

    @property
    def break_even(self) -> float | Fraction:
        """The rebate at which it is fair."""
        return -self.net / self.loss


def make_offer(solution: RebateSolution, rounds_left: int | None = None) -> Offer:
    """An offer's summary, with the quit points when so many rounds are left."""
    problem, start = solution.problem, solution.start
    return Offer(
        rebate=problem.rebate,
        slips=problem.slips,
        low=float(solution.low[0, start]),
        high=float(solution.high[0, start]),
        slip=solution.best_slip(problem.start_cents, problem.n_rounds),
        quit_points=solution.quit_points(rounds_left),
    )


def play_plainly(rules: RuleSet, slip: Slip, start_cents: int, n_rounds: int) -> PlainPlay:
    """A slip for many rounds, by the session's exact programme (see ``sessions.programme``)."""
    step, n_levels = session_lattice(rules, [slip], start_cents, None, n_rounds=n_rounds)
    tables = flat_tables(rules, slip, step_cents=step, n_levels=n_levels)
    law = play_session(rules, tables, start_cents=start_cents, n_rounds=n_rounds)
    loss = float(law.final @ np.maximum(start_cents - law.bankrolls_cents, 0))
    unit = rules.base_unit_cents
    return PlainPlay(slip, n_rounds, law.ev_cents / unit, loss / unit)


def play_once(rules: RuleSet, slip: Slip) -> PlainPlay:
    """A slip for one round, in Fractions."""
    law, unit = net_law(rules, slip), rules.base_unit_cents
    lost = sum(n * max(-net, 0) for net, n in zip(law.nets.tolist(), law.counts, strict=True))
    return PlainPlay(slip, 1, law.ev_cents / unit, Fraction(lost, law.n_deals * unit))


def break_even_rebate(
    problem: Callable[[float], RebateProblem], most: float
) -> tuple[float, float] | None:
    """A bracket of the least rebate worth playing for: provably something is gained at its upper
    end, and not provably at its lower one. None if nothing is gained at any rate.

    most: a rate from which playing is worth it, as one round's. The value rises with the rate.
    """

    def is_worth_it(rate: float) -> bool:
        solution = solve_rebate(problem(rate))
        return bool(solution.low[0, solution.start] > 0)

    if most <= 0:
        return 0.0, 0.0
    low, high = 0.0, min(most * (1 + 1e-6) + 1e-6, 1 - 1e-9)
    if not is_worth_it(high):
        return None
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if is_worth_it(middle) else (middle, high)
    return low, high
