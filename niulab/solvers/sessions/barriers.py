"""Flat play of one slip between ruin and a goal: without a deadline, and ruin round by round.

Ruin is a bankroll below what the slip puts in sight (stake and cover), so that it cannot be placed
again; a round may jump past either barrier. States are the bankrolls on the lattice of the nets.

Beside the exact figures stand Lundberg's bounds, which hold, and the diffusion formulas, which
other tools print. With E exp(tX) = 1 the bankroll B makes exp(tB) a martingale, so what it is worth
at the start is its mean where play ends (Asmussen and Albrecher, Ruin Probabilities, 2nd ed.,
chapter IV); how far the last round may jump past a barrier leaves two bounds, not one figure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, expm1, gcd, inf
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from niulab.engine.rules.model import RuleSet
from niulab.engine.wagers import exposure_cents
from niulab.errors import ConfigError
from niulab.solvers.sessions.net_law import NetLaw
from niulab.solvers.sessions.tails import crossing_bound, lundberg_root

__all__ = [
    "Diffusion",
    "Endless",
    "FlatBarriers",
    "RuinCurve",
    "endless_play",
    "flat_barriers",
    "goal_bounds",
    "ruin_curve",
]

_MOST_ELEMENTS = 1 << 27  # of a banded system: about three gigabytes while it is solved
_SOON = 1e-300  # rounds: nothing has happened yet, and nothing is divided by 0
_UNIT_ROUNDOFF = np.finfo(np.float64).eps / 2


@dataclass(frozen=True, eq=False)
class FlatBarriers:
    """Flat play until the bankroll is below ``ruin_below_cents`` or at least ``target_cents``.

    All arrays are float64 (m,), by bankroll: entry k belongs to ``lowest_cents + k * step_cents``.
    p_goal: P(target before ruin). rounds: expected rounds until either. rounds_if_goal,
    rounds_if_ruin: the same given how play ends (nan where it cannot). error_bound: of each entry
    of ``p_goal``, from the residual of the equations.
    """

    law: NetLaw
    ruin_below_cents: int
    target_cents: int
    step_cents: int
    lowest_cents: int
    p_goal: NDArray[np.float64]
    rounds: NDArray[np.float64]
    rounds_if_goal: NDArray[np.float64]
    rounds_if_ruin: NDArray[np.float64]
    error_bound: float

    @cached_property
    def bankrolls(self) -> NDArray[np.int64]:
        """Bankroll of each entry in cents; int64 (m,)."""
        return self.lowest_cents + self.step_cents * np.arange(len(self.p_goal))

    def goal_from(self, bankroll_cents: int) -> float:
        """P(target before ruin) from a bankroll of the lattice, or one that is past a barrier."""
        if bankroll_cents < self.ruin_below_cents:
            return 0.0
        if bankroll_cents >= self.target_cents:
            return 1.0
        return float(self.p_goal[self._place(bankroll_cents)])

    def rounds_from(self, bankroll_cents: int) -> float:
        """Expected rounds from a bankroll."""
        if not self.ruin_below_cents <= bankroll_cents < self.target_cents:
            return 0.0
        return float(self.rounds[self._place(bankroll_cents)])

    def bounds_from(self, bankroll_cents: int) -> tuple[float, float]:
        """What Lundberg's root proves of ``goal_from`` without these equations."""
        return goal_bounds(self.law, bankroll_cents, self.ruin_below_cents, self.target_cents)

    def diffusion_from(self, bankroll_cents: int) -> float:
        """The diffusion's approximation of ``goal_from``."""
        to_ruin = bankroll_cents - self.ruin_below_cents
        return Diffusion.of(self.law).p_goal(to_ruin, self.target_cents - bankroll_cents)

    def _place(self, bankroll_cents: int) -> int:
        place, off = divmod(bankroll_cents - self.lowest_cents, self.step_cents)
        if off:
            near = bankroll_cents - off
            message = (
                f"a bankroll of {bankroll_cents} cents is off the lattice of this play: "
                f"write {near} or {near + self.step_cents}, or solve from that start"
            )
            raise ConfigError(message)
        return place


def flat_barriers(
    rules: RuleSet, net_law: NetLaw, start_cents: int, target_cents: int
) -> FlatBarriers:
    """Solve flat play from every bankroll that ``start_cents`` shares a lattice with.

    One banded system (I - P) x = b: cost is states x nets' range squared. Without a target there is
    no system to solve: see ``endless_play``. Raises ConfigError unless the start is between the
    barriers and something can be won or lost.
    """
    ruin_below = exposure_cents(rules, net_law.slip)
    if not ruin_below <= start_cents < target_cents:
        message = (
            f"a start of {start_cents} cents is not between ruin below {ruin_below} cents (what "
            f"'{net_law.slip}' puts in sight) and the target of {target_cents}: move one of them"
        )
        raise ConfigError(message)
    if not net_law.nets.any():
        raise ConfigError(f"'{net_law.slip}' neither wins nor loses: its play never ends")
    step = net_law.step_cents
    lowest = ruin_below + (start_cents - ruin_below) % step
    n_states = -(-(target_cents - lowest) // step)
    n_elements = n_states * (int(net_law.nets[-1] - net_law.nets[0]) // step + 1)
    if n_elements > _MOST_ELEMENTS:
        message = (
            f"{n_states} bankrolls between the barriers make a system of {n_elements} elements, "
            f"more than {_MOST_ELEMENTS}: ask goal_bounds, or write coarser stakes"
        )
        raise ConfigError(message)
    system = _System(net_law.nets // step, net_law.probabilities, n_states)
    first = system.solve(np.stack([system.to_goal, np.ones(n_states)], axis=1))
    p_goal, rounds = np.clip(first[:, 0], 0.0, 1.0), first[:, 1]
    # E[rounds; goal] solves y = P(goal) + P y, since each round played adds P(goal)
    with_goal = system.solve(p_goal[:, None])[:, 0]
    p_ruin = 1 - p_goal
    with np.errstate(divide="ignore", invalid="ignore"):
        if_goal = np.where(p_goal > 0, with_goal / p_goal, np.nan)
        if_ruin = np.where(p_ruin > 0, (rounds - with_goal) / p_ruin, np.nan)
    # (I - P)^-1 has no negative entry and its rows add up to the expected rounds
    bound = float(rounds.max()) * system.residual(first[:, 0])
    return FlatBarriers(
        net_law, ruin_below, target_cents, step, lowest, p_goal, rounds, if_goal, if_ruin, bound
    )


class _System:
    """The equations x = b + P x over ``n`` states, P moving by ``shifts`` with ``chances``."""

    def __init__(self, shifts: NDArray[np.int64], chances: NDArray[np.float64], n: int) -> None:
        self._moves = list(zip(shifts.tolist(), chances.tolist(), strict=True))
        self._n = n
        self.to_goal = np.zeros(n)
        for shift, chance in self._moves:
            if shift > 0:
                self.to_goal[max(n - shift, 0) :] += chance

    def solve(self, right: NDArray[np.float64]) -> NDArray[np.float64]:
        """Solutions by column; right (n, k)."""
        from scipy.linalg import solve_banded

        moves = [(s, p) for s, p in self._moves if abs(s) < self._n]
        upper = max((s for s, _ in moves), default=0)
        lower = max((-s for s, _ in moves), default=0)
        upper, lower = max(upper, 0), max(lower, 0)
        bands = np.zeros((upper + lower + 1, self._n))
        bands[upper] = 1.0
        for shift, chance in moves:
            # element (i, i + shift) lies in row upper - shift of the bands, at its column
            bands[upper - shift, max(shift, 0) : self._n + min(shift, 0)] -= chance
        return np.asarray(solve_banded((lower, upper), bands, right, overwrite_ab=True))

    def residual(self, x: NDArray[np.float64]) -> float:
        """Greatest error of ``x`` in the equations of ``to_goal``, with what its sum may round."""
        image = self.to_goal - x
        for shift, chance in self._moves:
            if abs(shift) < self._n:
                here = slice(max(-shift, 0), self._n - max(shift, 0))
                there = slice(max(shift, 0), self._n + min(shift, 0))
                image[here] += chance * x[there]
        return float(np.abs(image).max()) + (len(self._moves) + 2) * _UNIT_ROUNDOFF


@dataclass(frozen=True, eq=False)
class RuinCurve:
    """P(ruined within n rounds of flat play), along the path and not only at its end.

    ruined, diffusion: float64 (b, r), by starting bankroll ``starts_cents`` (b,) and ``rounds``
    (r,). overflow (b,): what ``ruined`` may be short of, the mass that left at the top and could
    come back; 0 with a target, which ends play there. rounding_bound: of each entry besides.
    """

    law: NetLaw
    ruin_below_cents: int
    target_cents: int | None
    starts_cents: NDArray[np.int64]
    rounds: NDArray[np.int64]
    ruined: NDArray[np.float64]
    overflow: NDArray[np.float64]
    rounding_bound: float

    @cached_property
    def diffusion(self) -> NDArray[np.float64]:
        """The diffusion's approximation, which knows no target."""
        distances = np.maximum(self.starts_cents - self.ruin_below_cents, 0)
        return Diffusion.of(self.law).ruin_by(self.rounds, distances[:, None])


def ruin_curve(
    rules: RuleSet,
    net_law: NetLaw,
    starts_cents: Sequence[int] | NDArray[np.integer],
    rounds: Sequence[int] | NDArray[np.integer],
    *,
    target_cents: int | None = None,
    tolerance: float = 1e-9,
) -> RuinCurve:
    """The chance of ruin from every start at once, by one programme backwards in time.

    rounds: ascending. Without a target the lattice ends where no more than ``tolerance`` of the
    mass can get to from any start. Raises ConfigError for rounds that are not.
    """
    from niulab.solvers.sessions.kernels import NETS_AT_ONCE, ruin_sweep

    starts, when = np.asarray(starts_cents, dtype=np.int64), np.asarray(rounds, dtype=np.int64)
    if not (len(starts) and len(when)) or when[0] < 0 or (np.diff(when) < 0).any():
        message = f"give starts, and rounds from 0 upwards as [10, 20], got {when.tolist()}"
        raise ConfigError(message)
    ruin_below, n_rounds = exposure_cents(rules, net_law.slip), int(when[-1])
    step = gcd(net_law.step_cents, *(starts - starts[0]).tolist())
    highest = int(starts.max())
    if target_cents is None:
        top = highest + _room(net_law, n_rounds, tolerance)
        overflow = np.array([crossing_bound(net_law, n_rounds, top - s) for s in starts.tolist()])
    else:
        top, overflow = target_cents, np.zeros(len(starts))
    lowest = ruin_below + (int(starts[0]) - ruin_below) % step
    n_levels = max(-(-(top - lowest) // step), 0)
    shifts, chances = net_law.nets // step, net_law.probabilities
    padding = np.zeros(-len(shifts) % NETS_AT_ONCE, dtype=np.int64)
    plays = (starts >= ruin_below) & (starts < top)
    ruined = np.zeros((len(starts), len(when)))
    ruined[starts < ruin_below] = 1.0
    found = np.zeros((int(plays.sum()), len(when)))
    ruin_sweep(
        np.concatenate([shifts, padding]),
        np.concatenate([chances, padding.astype(np.float64)]),
        max(-int(shifts[0]), 0),
        n_levels,
        max(int(shifts[-1]), 0),
        (starts[plays] - lowest) // step,
        when,
        found,
    )
    ruined[plays] = found
    overflow[~plays] = 0.0
    # a round's sum of m products of chances that add to 1 errs by at most m + 2 roundings
    bound = n_rounds * (len(shifts) + 2) * float(_UNIT_ROUNDOFF)
    return RuinCurve(net_law, ruin_below, target_cents, starts, when, ruined, overflow, bound)


def _room(net_law: NetLaw, n_rounds: int, tolerance: float) -> int:
    """Cents above the highest start that the bankroll exceeds with a chance below ``tolerance``."""
    low, high = 0, n_rounds * max(int(net_law.nets[-1]), 0) + 1
    while high - low > net_law.step_cents:
        middle = (low + high) // 2
        is_enough = crossing_bound(net_law, n_rounds, middle) <= tolerance
        low, high = (low, middle) if is_enough else (middle, high)
    return high


@dataclass(frozen=True)
class Endless:
    """Flat play of one slip for ever, without a goal.

    p_ruin, rounds: the least and the greatest that the chance of ruin and the expected number of
    rounds before it can be. A mean net of 0 or less makes ruin certain: both bounds are exactly 1.
    """

    start_cents: int
    p_ruin: tuple[float, float]
    rounds: tuple[float, float]

    @property
    def is_ruin_certain(self) -> bool:
        """Whether ruin comes with certainty."""
        return self.p_ruin == (1.0, 1.0)


class _Ends(NamedTuple):
    """Least and greatest bankroll in cents that play can end with, at either barrier."""

    ruin: tuple[int, int]
    goal: tuple[int, int]


def _ends_of_play(
    net_law: NetLaw, start_cents: int, ruin_below_cents: int, target_cents: int
) -> _Ends:
    """What the bankroll can be once it fell below the one barrier or reached the other."""
    step = net_law.step_cents
    # play lies on start + a multiple of the step
    last_above = ruin_below_cents + (start_cents - ruin_below_cents) % step
    first_goal = target_cents + (start_cents - target_cents) % step
    lost, won = int(net_law.nets[0]), int(net_law.nets[-1])
    return _Ends(
        (last_above + min(lost, -step), last_above - step),
        (first_goal, first_goal + max(won, step) - step),
    )


def goal_bounds(
    net_law: NetLaw, start_cents: int, ruin_below_cents: int, target_cents: int
) -> tuple[float, float]:
    """Least and greatest P(target before ruin) of flat play without a deadline."""
    if start_cents < ruin_below_cents:
        return 0.0, 0.0
    if start_cents >= target_cents:
        return 1.0, 1.0
    ends = _ends_of_play(net_law, start_cents, ruin_below_cents, target_cents)
    root = lundberg_root(net_law, 1)

    def chance(ruin: int, goal: int) -> float:
        return _share(root, start_cents - ruin, goal - ruin)

    return chance(ends.ruin[1], ends.goal[1]), chance(ends.ruin[0], ends.goal[0])


def endless_play(net_law: NetLaw, start_cents: int, ruin_below_cents: int) -> Endless:
    """Flat play for ever: certain ruin unless the mean net is positive.

    Expected rounds follow from Wald's identity: what is lost on the way to ruin over the mean loss.
    """
    if start_cents < ruin_below_cents:
        return Endless(start_cents, (1.0, 1.0), (0.0, 0.0))
    root = lundberg_root(net_law, 1)
    lowest, highest = _ends_of_play(net_law, start_cents, ruin_below_cents, start_cents).ruin
    if root < 0:
        p_ruin = exp(root * (start_cents - lowest)), exp(root * (start_cents - highest))
        return Endless(start_cents, p_ruin, (inf, inf))
    if root == 0:
        return Endless(start_cents, (1.0, 1.0), (inf, inf))
    loss = -net_law.ev_cents
    rounds = float((start_cents - highest) / loss), float((start_cents - lowest) / loss)
    return Endless(start_cents, (1.0, 1.0), rounds)


@dataclass(frozen=True)
class Diffusion:
    """Brownian motion with the mean and the variance of a round, in cents; distances too.

    Ruin is touching the barrier, so jumps past it and the lattice are ignored: approximations.
    """

    drift: float
    variance: float

    @classmethod
    def of(cls, net_law: NetLaw) -> Self:
        """The diffusion of a slip's flat play."""
        return cls(float(net_law.ev_cents), float(net_law.variance))

    def ruin_by(self, n_rounds: ArrayLike, distance: ArrayLike) -> NDArray[np.float64]:
        """P(the barrier ``distance`` below is touched within ``n_rounds``), by broadcasting."""
        from scipy.special import log_ndtr, ndtr

        n, d = np.maximum(np.asarray(n_rounds, float), _SOON), np.asarray(distance, float)
        spread = np.sqrt(self.variance * n)
        there = ndtr(-(d + self.drift * n) / spread)
        # reflected paths; the factor alone overflows where the tail underflows
        weight = -2 * self.drift * d / self.variance
        reflected = np.exp(weight + log_ndtr((self.drift * n - d) / spread))
        return np.asarray(np.where(d > 0, there + reflected, 1.0))

    def p_goal(self, to_ruin: float, to_goal: float) -> float:
        """P(the barrier ``to_goal`` above is touched before the one ``to_ruin`` below)."""
        return _share(-2 * self.drift / self.variance, to_ruin, to_ruin + to_goal)

    def rounds(self, to_ruin: float, to_goal: float) -> float:
        """Expected rounds until either barrier is touched."""
        if not self.drift:
            return to_ruin * to_goal / self.variance
        return ((to_ruin + to_goal) * self.p_goal(to_ruin, to_goal) - to_ruin) / self.drift


def _share(root: float, part: float, whole: float) -> float:
    """(exp(root part) - 1) / (exp(root whole) - 1), without overflow; part / whole at root 0."""
    if not root:
        return part / whole
    if root < 0:
        return expm1(root * part) / expm1(root * whole)
    return exp(root * (part - whole)) * expm1(-root * part) / expm1(-root * whole)
