"""How betting systems do in one session: exactly within a budget, and simulated beside it.

All systems play the same simulated rounds, so that the difference of each to flat play is paired.
The simulation checks the exact figures; where the programme over (memory, bankroll) would take more
than the budget, it gives the figures itself, from more sessions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any

from niulab.evaluation.sessions.kept import KeptParts
from niulab.evaluation.sessions.results import PairedDifference, SimulatedPolicy
from niulab.evaluation.sessions.simulate import simulate_sessions
from niulab.evaluation.sessions.system_figures import (
    MOST_STATES,
    SampledSession,
    SessionFigures,
    SystemTask,
    exact_figures,
    sample_session,
    simulated_figures,
    tables_of,
)
from niulab.solvers.sessions.net_law import net_law
from niulab.solvers.sessions.tables import BettingTables

__all__ = [
    "BASELINE",
    "CHECKED",
    "SimulatedSession",
    "SystemScore",
    "fits_budget",
    "operations",
    "score_systems",
]

BASELINE = "flat"
"""The system that all others are compared with."""

CHECKED = ("EV", "ruin", "target", "ahead", "rounds")
"""Exact figures that a simulation checks."""

_GROUP = 6  # systems simulated together: rounds are dealt once for all, and kept when they are done


@dataclass(frozen=True)
class SimulatedSession:
    """Simulated figures, and the paired difference to flat play (None for flat play itself)."""

    policy: SimulatedPolicy
    difference: PairedDifference | None


@dataclass(frozen=True)
class SystemScore:
    """One system's session; where ``is_exact`` is False its figures are the simulated ones.

    n_operations: multiply-and-adds that the exact figures take at most.
    """

    name: str
    n_memories: int
    n_levels: int
    n_operations: int
    is_exact: bool
    figures: SessionFigures
    simulated: SimulatedSession
    sampled: SampledSession

    @property
    def n_sessions(self) -> int:
        """Simulated sessions."""
        return self.simulated.policy.final_cents.n_rounds

    def missed(self, start_cents: int) -> tuple[str, ...]:
        """Of ``CHECKED``, the figures that lie outside their simulated intervals."""
        figures, policy = self.figures, self.simulated.policy
        held = (
            policy.final_cents.covers(start_cents + figures.ev_cents),
            policy.ruin.covers(figures.p_ruin),
            policy.target.covers(figures.p_target),
            policy.ahead.covers(figures.p_ahead),
            policy.rounds.covers(figures.mean_rounds),
        )
        return tuple(name for name, is_held in zip(CHECKED, held, strict=True) if not is_held)


def operations(task: SystemTask, tables: BettingTables) -> int:
    """Multiply-and-adds of a programme over all memories, levels, rounds and nets, at most."""
    n_levels = tables.n_levels
    if task.target_cents is not None:
        n_levels = min(n_levels, -(-task.target_cents // tables.step_cents))
    n_nets = max(len(net_law(task.rules, slip).nets) for slip in tables.slips)
    return tables.n_memories * n_levels * task.n_rounds * n_nets


def fits_budget(task: SystemTask, tables: BettingTables) -> bool:
    """Whether a system's figures are made exactly."""
    is_small = tables.n_memories * tables.n_levels <= MOST_STATES
    return is_small and operations(task, tables) <= task.budget


def score_systems(
    task: SystemTask,
    names: Sequence[str],
    *,
    threads: int = 1,
    kept: KeptParts | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> tuple[SystemScore, ...]:
    """The score of every system, in the order of ``names``; the same for any number of threads.

    Parts that lie in ``kept`` are not made again. Raises ConfigError.
    """
    work = _Work(task, names, kept or KeptParts(None), progress)
    work.run(threads)
    return tuple(work.score(name) for name in names)


class _Work:
    """The parts of all scores: exact figures, samples and simulations, as far as they are missing.

    Progress counts what each is likely to take, in milliseconds of one core.
    """

    def __init__(
        self,
        task: SystemTask,
        names: Sequence[str],
        kept: KeptParts,
        progress: Callable[[str, int, int], None] | None,
    ) -> None:
        self._task = task
        self._kept = kept
        self._progress = progress
        self._tables = {name: tables_of(task, name) for name in dict.fromkeys((*names, BASELINE))}
        self._names = tuple(dict.fromkeys(names))
        self._parts: dict[tuple[type, str], Any] = {}
        self._done = self._total = 0

    def run(self, threads: int) -> None:
        """Make every part that is not kept."""
        single = [
            (kind, name)
            for kind in (SessionFigures, SampledSession)
            for name in self._names
            if (kind is SampledSession or self._is_exact(name)) and not self._has(kind, name)
        ]
        groups = [*self._groups()]
        self._total = sum(self._cost(*part) for part in single)
        self._total += sum(self._group_cost(group, n) for group, n in groups)
        self._run_single(single, threads)
        for group, n in groups:
            self._simulate(group, n, threads)

    def score(self, name: str) -> SystemScore:
        """The score of a system whose parts are made."""
        simulated = self._parts[SimulatedSession, name]
        sampled = self._parts[SampledSession, name]
        is_exact, tables = self._is_exact(name), self._tables[name]
        return SystemScore(
            name=name,
            n_memories=tables.n_memories,
            n_levels=tables.n_levels,
            n_operations=operations(self._task, tables),
            is_exact=is_exact,
            figures=self._parts[SessionFigures, name]
            if is_exact
            else simulated_figures(simulated.policy, sampled, self._task.start_cents),
            simulated=simulated,
            sampled=sampled,
        )

    # ------------------------------------------------------------ which parts, and what they take

    def _is_exact(self, name: str) -> bool:
        return fits_budget(self._task, self._tables[name])

    def _n_sessions(self, name: str) -> int:
        return self._task.n_checks if self._is_exact(name) else self._task.n_sessions

    def _depends(self, kind: type, name: str) -> dict[str, Any]:
        task = self._task
        asked: dict[str, Any] = {"part": kind.__name__, "system": name}
        if kind is SessionFigures:
            return task.depends | asked
        n = self._n_sessions(name) if kind is SimulatedSession else task.n_paths
        return task.simulation_depends | asked | {"n": n}

    def _has(self, kind: type, name: str) -> bool:
        """Whether a part is made, or kept and now loaded."""
        if (kind, name) not in self._parts:
            part = self._kept.load(kind, self._depends(kind, name))
            if part is None:
                return False
            self._parts[kind, name] = part
        return True

    def _groups(self) -> Iterator[tuple[list[str], int]]:
        """Systems that are still to be simulated together, and in how many sessions."""
        missing = [name for name in self._names if not self._has(SimulatedSession, name)]
        for n in dict.fromkeys(map(self._n_sessions, missing)):
            alike = [name for name in missing if self._n_sessions(name) == n]
            for first in range(0, len(alike), _GROUP):
                yield alike[first : first + _GROUP], n

    def _cost(self, kind: type, name: str) -> int:
        if kind is SessionFigures:
            return operations(self._task, self._tables[name]) // 1_000_000 + 1
        return self._task.n_paths * self._task.n_rounds // 10_000 + 1

    def _group_cost(self, group: Sequence[str], n: int) -> int:
        return (30 + 10 * len(group)) * n * self._task.n_rounds // 1_000_000 + 1

    # ------------------------------------------------------------ making them

    def _put(self, kind: type, name: str, part: Any) -> None:
        self._parts[kind, name] = part
        self._kept.save(part, self._depends(kind, name))

    def _report(self, what: str, done: float = 0) -> None:
        if self._progress is not None:
            self._progress(what, self._done + int(done), self._total)

    def _run_single(self, parts: Sequence[tuple[type, str]], threads: int) -> None:
        pool = ThreadPoolExecutor(threads)
        try:
            running = {pool.submit(self._make, *part): part for part in parts}
            for future in as_completed(running):
                kind, name = running[future]
                self._put(kind, name, future.result())
                self._done += self._cost(kind, name)
                self._report(name)
        finally:  # when stopped, do not begin with what waits
            pool.shutdown(cancel_futures=True)

    def _make(self, kind: type, name: str) -> SessionFigures | SampledSession:
        make = exact_figures if kind is SessionFigures else sample_session
        return make(self._task, self._tables[name])

    def _simulate(self, group: Sequence[str], n: int, threads: int) -> None:
        task = self._task
        what, cost = f"{len(group)} systems, {n:,} sessions", self._group_cost(group, n)
        result = simulate_sessions(
            task.rules,
            {name: self._tables[name] for name in (BASELINE, *group)},
            start_cents=task.start_cents,
            n_rounds=task.n_rounds,
            n_sessions=n,
            target_cents=task.target_cents,
            seed=task.seed,
            threads=threads,
            progress=lambda done, total: self._report(what, cost * done / total),
            level=task.level,
            baseline=BASELINE,
        )
        self._done += cost
        for name in group:
            part = SimulatedSession(result.policies[name], result.differences.get(name))
            self._put(SimulatedSession, name, part)
