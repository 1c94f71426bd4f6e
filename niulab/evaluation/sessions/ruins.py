"""Ruin of flat play from many bankrolls: exact, by formulas that others print, and simulated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from niulab.engine.rules import RuleSet
from niulab.engine.wagers import Slip, exposure_cents
from niulab.evaluation.sessions.play import Policies, Sessions
from niulab.evaluation.sessions.results import Share
from niulab.evaluation.sessions.simulate import simulate_sessions
from niulab.solvers.sessions.barriers import (
    Diffusion,
    Endless,
    RuinCurve,
    endless_play,
    flat_barriers,
    goal_bounds,
    ruin_curve,
)
from niulab.solvers.sessions.flat import flat_law
from niulab.solvers.sessions.net_law import NetLaw, net_law
from niulab.solvers.sessions.tables import flat_tables

__all__ = [
    "MOST_ROUNDS",
    "FlatWalks",
    "GoalOrRuin",
    "SlipRuin",
    "flat_walks",
    "slip_ruin",
    "walk_bytes",
]

MOST_ROUNDS = 50_000
"""Of a simulated session without a deadline."""

_FINE = 120  # bankrolls of a drawn curve
_CHUNK = 4096
_Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class FlatWalks:
    """Walks of flat play by their net so far, int64 cents (n, r) at each of ``rounds`` (r,).

    lowest: the least net on the way, the start among it; nets: the last one.
    """

    rounds: NDArray[np.int64]
    lowest: NDArray[np.int64]
    nets: NDArray[np.int64]

    def ruined(self, distance_cents: int, *, level: float) -> tuple[Share, ...]:
        """Who has lost more than ``distance_cents`` on the way, by each of the rounds."""
        counts = (self.lowest < -distance_cents).sum(axis=0)
        return tuple(Share(int(count), len(self.lowest), level) for count in counts)


def walk_bytes(n_sessions: int, n_looks: int) -> int:
    """Memory that so many walks take, looked at so many times."""
    return 2 * 8 * n_sessions * n_looks


def flat_walks(
    rules: RuleSet,
    slip: Slip,
    rounds: Sequence[int],
    *,
    n_sessions: int,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
) -> FlatWalks:
    """The first sessions of the simulation with this seed, with a bankroll that outlasts them."""
    law, when = net_law(rules, slip), np.asarray(rounds, dtype=np.int64)
    step = law.step_cents
    deepest, highest = -min(int(law.nets[0]), 0), max(int(law.nets[-1]), 0)
    n_rounds = int(when[-1])
    start = step * -(-(exposure_cents(rules, slip) + n_rounds * deepest) // step)
    n_levels = (start + n_rounds * highest) // step + 2
    tables = flat_tables(rules, slip, step_cents=step, n_levels=n_levels)
    policies = Policies.of(rules, [tables], start, None)
    lowest = np.zeros((n_sessions, len(when)), dtype=np.int64)
    nets = np.zeros_like(lowest)
    for first in range(0, n_sessions, _CHUNK):
        n = min(_CHUNK, n_sessions - first)
        sessions = Sessions(policies, first, n, seed=seed)
        least = now = np.zeros(n, dtype=np.int64)
        for place, until in enumerate(when.tolist()):
            while sessions.done < until:
                sessions.advance(1)
                now = sessions.bankrolls_cents[:, 0] - start
                least = np.minimum(least, now)
            lowest[first : first + n, place] = least
            nets[first : first + n, place] = now
        if progress is not None:
            progress((first + n) / n_sessions)
    return FlatWalks(when, lowest, nets)


@dataclass(frozen=True, eq=False)
class GoalOrRuin:
    """Flat play to the target without a deadline, by ``starts_cents`` (b,).

    p_ruin: (b,), exact but for ``error_bound``. lundberg: (b, 2), what the root of E exp(tX) = 1
    proves of it. diffusion: (b,). rounds: (b,), expected until either end. endless: the same play
    without the target. simulated: by start, ruined sessions and how many had met no end when the
    simulation stopped.
    """

    starts_cents: NDArray[np.int64]
    p_ruin: _Floats
    error_bound: float
    lundberg: _Floats
    diffusion: _Floats
    rounds: _Floats
    endless: tuple[Endless, ...]
    simulated: dict[int, tuple[Share, int]]

    def holds(self, start_cents: int) -> bool:
        """Whether the simulated interval holds the exact chance, whatever came of those without an
        end.
        """
        share, unended = self.simulated[start_cents]
        chance = float(self.p_ruin[np.searchsorted(self.starts_cents, start_cents)])
        return share.low <= chance <= share.high + unended / share.n


@dataclass(frozen=True, eq=False)
class SlipRuin:
    """One slip. curve: exact ruin along the path and the diffusion's, by ``curve.starts_cents``
    (b,), the config's bankrolls and more between them, and rounds (r,). at_end: float64 (b, r),
    exact chances that a bankroll which never stops is too low after the last round: ruin counted
    only there. simulated: by bankroll and rounds.
    """

    slip: Slip
    law: NetLaw
    curve: RuinCurve
    at_end: _Floats
    simulated: tuple[tuple[Share, ...], ...]
    goal: GoalOrRuin

    def place(self, bankroll_cents: int) -> int:
        """Of a bankroll in the arrays."""
        return int(np.searchsorted(self.curve.starts_cents, bankroll_cents))


def slip_ruin(
    rules: RuleSet,
    slip: Slip,
    *,
    bankrolls_cents: Sequence[int],
    rounds: Sequence[int],
    target_cents: int,
    n_sessions: int,
    n_endless: int,
    seed: int = 0,
    level: float = 0.95,
    threads: int = 1,
    progress: Callable[[float], None] | None = None,
) -> SlipRuin:
    """Ruin of one slip from ascending bankrolls, by ascending rounds and before a target above.

    n_sessions: simulated to the last round; n_endless: to the target, from each bankroll. Raises
    ConfigError.
    """
    report = progress or (lambda _: None)
    law = net_law(rules, slip)
    report(0.0)
    curve = ruin_curve(rules, law, _starts(law, bankrolls_cents), rounds)
    distances = curve.starts_cents - curve.ruin_below_cents
    goals = _Goals(rules, law, target_cents)
    goal = goals.from_each(curve.starts_cents)
    report(0.1)
    walks = flat_walks(
        rules,
        slip,
        rounds,
        n_sessions=n_sessions,
        seed=seed,
        progress=lambda share: report(0.1 + 0.4 * share),
    )
    simulated = {}
    for place, start in enumerate(bankrolls_cents):
        simulated[start] = goals.simulate(start, n_endless, seed, level, threads)
        report(0.5 + 0.5 * (place + 1) / len(bankrolls_cents))
    return SlipRuin(
        slip=slip,
        law=law,
        curve=curve,
        at_end=_at_end(law, distances, rounds),
        simulated=tuple(walks.ruined(cents, level=level) for cents in distances.tolist()),
        goal=replace(goal, simulated=simulated),
    )


def _starts(law: NetLaw, bankrolls_cents: Sequence[int]) -> NDArray[np.int64]:
    """The bankrolls, and more between them on the lattice of the nets."""
    first, last = bankrolls_cents[0], bankrolls_cents[-1]
    step = law.step_cents * max((last - first) // (_FINE * law.step_cents), 1)
    return np.unique([*bankrolls_cents, *range(first, last, step)])


def _at_end(law: NetLaw, distances: NDArray[np.int64], rounds: Sequence[int]) -> _Floats:
    """P(net < -distance after n rounds), by distance and rounds; of a bankroll below ruin, 1."""
    columns = []
    for n in rounds:
        final = flat_law(law, n)
        below = np.concatenate([[0.0], np.cumsum(final.probabilities)])
        columns.append(below[np.searchsorted(final.nets, -distances)])
    return np.where(distances[:, None] < 0, 1.0, np.stack(columns, axis=1))


@dataclass(frozen=True, eq=False)
class _Goals:
    """Flat play of one slip until ruin or a target."""

    rules: RuleSet
    law: NetLaw
    target_cents: int

    @property
    def ruin_below_cents(self) -> int:
        return exposure_cents(self.rules, self.law.slip)

    def from_each(self, starts_cents: NDArray[np.int64]) -> GoalOrRuin:
        """All figures from each start but the simulated ones."""
        below, target, law = self.ruin_below_cents, self.target_cents, self.law
        starts = starts_cents.tolist()
        # starts on one lattice share their equations
        solved = {start % law.step_cents: start for start in starts if start >= below}
        systems = {
            rest: flat_barriers(self.rules, law, start, target) for rest, start in solved.items()
        }
        found = [systems[s % law.step_cents] if s >= below else None for s in starts]
        diffusion = Diffusion.of(law)
        bounds = np.array([goal_bounds(law, start, below, target) for start in starts])
        return GoalOrRuin(
            starts_cents=starts_cents,
            p_ruin=np.array(
                [1 - f.goal_from(s) if f else 1.0 for f, s in zip(found, starts, strict=True)]
            ),
            error_bound=max((system.error_bound for system in systems.values()), default=0.0),
            lundberg=1 - bounds[:, ::-1],
            diffusion=np.array(
                [1 - diffusion.p_goal(max(s - below, 0), target - s) for s in starts]
            ),
            rounds=np.array(
                [f.rounds_from(s) if f else 0.0 for f, s in zip(found, starts, strict=True)]
            ),
            endless=tuple(endless_play(law, start, below) for start in starts),
            simulated={},
        )

    def simulate(
        self, start_cents: int, n: int, seed: int, level: float, threads: int
    ) -> tuple[Share, int]:
        """Ruined sessions, and how many met no end."""
        slip, step = self.law.slip, np.gcd(self.law.step_cents, start_cents)
        highest = self.target_cents + int(self.law.nets[-1])
        tables = flat_tables(
            self.rules, slip, step_cents=int(step), n_levels=highest // int(step) + 1
        )
        result = simulate_sessions(
            self.rules,
            {"flat": tables},
            start_cents=start_cents,
            target_cents=self.target_cents,
            n_rounds=MOST_ROUNDS,
            n_sessions=n,
            seed=seed,
            threads=threads,
            level=level,
        ).policies["flat"]
        # who cannot place the slip again is ruined, though the table may take a lesser one
        ruined = result.ruin.count + result.left.count
        return Share(ruined, n, level), n - ruined - result.target.count
