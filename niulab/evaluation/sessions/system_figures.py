"""The session of a betting system: its tables, its exact law, its sampled order statistics."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import Any

import numpy as np

from niulab.agents.systems.catalog import make_system
from niulab.agents.systems.compile import system_tables
from niulab.agents.systems.sitting import Sitting
from niulab.agents.systems.system import BettingSystem
from niulab.engine.rules import RuleSet
from niulab.engine.wagers import Slip, exposure_cents
from niulab.errors import ConfigError
from niulab.evaluation.benchmark import circumstances
from niulab.evaluation.sessions.play import Policies, Sessions
from niulab.evaluation.sessions.results import SimulatedPolicy
from niulab.evaluation.statistics import normal_quantile
from niulab.solvers.sessions.lattice import quantile_index, worst_mean
from niulab.solvers.sessions.programme import play_session, session_lattice
from niulab.solvers.sessions.tables import BettingTables

__all__ = [
    "MOST_STATES",
    "QUANTILES",
    "SampledSession",
    "SessionFigures",
    "SystemTask",
    "exact_figures",
    "sample_session",
    "simulated_figures",
    "tables_of",
]

MOST_STATES = 1 << 25
"""Memories times levels of one system: half a gigabyte of a programme."""

QUANTILES = (0.05, 0.5, 0.95)
"""Shares at which results and drawdowns are told."""

_MOST_LEVELS = 1 << 18  # without a target: what stakes a share of the bankroll knows no end
_MOST_PATHS = 10_000_000
_WORST = 0.05
_CHUNK = 2048  # sessions sampled together


@dataclass(frozen=True, kw_only=True)
class SystemTask:
    """The session that every system plays, and how much is spent on it.

    budget: most multiply-and-adds of one exact score. n_sessions: simulated for a system beyond it,
    n_checks: for all others, n_paths: sampled for drawdowns. level: of every interval.
    """

    rules: RuleSet
    base_slip: Slip
    start_cents: int
    n_rounds: int
    target_cents: int | None = None
    seed: int = 0
    level: float = 0.95
    n_sessions: int = 1_000_000
    n_checks: int = 100_000
    n_paths: int = 10_000
    budget: int = 50_000_000_000

    def __post_init__(self) -> None:
        start, target = self.start_cents, self.target_cents
        needed = exposure_cents(self.rules, self.base_slip)
        mistakes = []
        if start < needed:
            mistakes.append(
                f"a bankroll of {start} cents cannot cover '{self.base_slip}', which puts {needed} "
                f"cents in sight: start with {needed} or more"
            )
        if target is not None and target <= start:
            mistakes.append(
                f"a target of {target} cents is not above the bankroll of {start}: every session "
                "would be over before it begins"
            )
        if self.n_paths > _MOST_PATHS:
            mistakes.append(
                f"n_paths is at most {_MOST_PATHS} (all lie in memory), got {self.n_paths}"
            )
        if mistakes:
            raise ConfigError("\n".join(mistakes))

    @cached_property
    def sitting(self) -> Sitting:
        """What a system is told of the session."""
        return Sitting.at(
            self.rules,
            self.base_slip,
            start_cents=self.start_cents,
            target_cents=self.target_cents,
        )

    @cached_property
    def depends(self) -> dict[str, Any]:
        """What every exact figure of a system depends on besides its name, in JSON's types."""
        return {
            "version": circumstances("")["version"],
            "rules": self.rules.rules_hash,
            "base_slip": str(self.base_slip),
            "start_cents": self.start_cents,
            "target_cents": self.target_cents,
            "n_rounds": self.n_rounds,
        }

    @cached_property
    def simulation_depends(self) -> dict[str, Any]:
        """The same of what is simulated."""
        versions = {"deals_version": circumstances("")["deals_version"]}
        return self.depends | versions | {"seed": self.seed, "level": self.level}


@dataclass(frozen=True)
class SessionFigures:
    """What one session brings; a result is the last bankroll less the first, in cents.

    quantiles_cents: of results at ``QUANTILES``. cvar_cents: the mean of the worst 5 %. overflow:
    mass that left the top of a lattice without a target. rounding_bound: of every exact
    probability, besides overflow; 0 for what is simulated.
    """

    ev_cents: float
    sd_cents: float
    p_ruin: float
    p_target: float
    p_ahead: float
    p_left: float
    quantiles_cents: tuple[int, ...]
    cvar_cents: float
    mean_rounds: float
    staked_cents: float
    overflow: float
    rounding_bound: float


@dataclass(frozen=True)
class SampledSession:
    """Order statistics of ``n`` sessions: of results, as above, and of the greatest drawdowns."""

    n: int
    quantiles_cents: tuple[int, ...]
    cvar_cents: float
    drawdowns_cents: tuple[int, ...]


def tables_of(task: SystemTask, name: str) -> BettingTables:
    """A system's tables on the lattice of all it can stake; raises ConfigError.

    Without a target the lattice ends where hardly any session gets, at the latest with 2^18 levels
    or ``MOST_STATES`` (but not below four times the start): what leaves it there is ``overflow``.
    """
    system = make_system(name)
    slips: tuple[Slip, ...] = (task.base_slip,)
    lattice = _lattice(task, system, slips)
    while True:
        tables = system_tables(
            system,
            task.rules,
            base_slip=task.base_slip,
            start_cents=task.start_cents,
            target_cents=task.target_cents,
            step_cents=lattice[0],
            n_levels=lattice[1],
            n_rounds=task.n_rounds,
        )
        # a larger bankroll may stake other slips, which need a larger lattice
        slips = tuple(dict.fromkeys((*slips, *tables.slips)))
        needed = _lattice(task, system, slips)
        if needed == lattice:
            return tables
        lattice = needed


def _lattice(task: SystemTask, system: BettingSystem, slips: tuple[Slip, ...]) -> tuple[int, int]:
    """Step in cents, and number of levels."""
    start, target = task.start_cents, task.target_cents
    step, n_levels = session_lattice(task.rules, slips, start, target, n_rounds=task.n_rounds)
    if target is None:
        most = min(MOST_STATES // len(system.automaton), _MOST_LEVELS)
        n_levels = min(n_levels, max(most, 4 * start // step))
    return step, n_levels


def exact_figures(task: SystemTask, tables: BettingTables) -> SessionFigures:
    """The programme's figures; raises ConfigError as ``play_session`` does."""
    law = play_session(
        task.rules,
        tables,
        start_cents=task.start_cents,
        n_rounds=task.n_rounds,
        target_cents=task.target_cents,
    )
    return SessionFigures(
        ev_cents=law.ev_cents,
        sd_cents=law.sd_cents,
        p_ruin=law.p_ruin,
        p_target=law.p_target,
        p_ahead=law.p_ahead,
        p_left=float(law.left_by[-1]),
        quantiles_cents=tuple(law.quantile(p) - task.start_cents for p in QUANTILES),
        cvar_cents=law.cvar_cents(1 - _WORST),
        mean_rounds=law.mean_rounds,
        staked_cents=law.staked_cents,
        overflow=law.overflow,
        rounding_bound=law.rounding_bound,
    )


def simulated_figures(
    policy: SimulatedPolicy, sampled: SampledSession, start_cents: int
) -> SessionFigures:
    """Simulated figures, and the order statistics of what was sampled."""
    final = policy.final_cents
    return SessionFigures(
        ev_cents=final.mean - start_cents,
        sd_cents=final.half_width / normal_quantile(final.level) * sqrt(final.n_rounds),
        p_ruin=policy.ruin.mean,
        p_target=policy.target.mean,
        p_ahead=policy.ahead.mean,
        p_left=policy.left.mean,
        quantiles_cents=sampled.quantiles_cents,
        cvar_cents=sampled.cvar_cents,
        mean_rounds=policy.rounds.mean,
        staked_cents=policy.staked_cents,
        overflow=policy.overflow.mean,
        rounding_bound=0.0,
    )


def sample_session(task: SystemTask, tables: BettingTables) -> SampledSession:
    """The first sessions of the simulation, looked at after every round."""
    policies = Policies.of(task.rules, [tables], task.start_cents, task.target_cents)
    results, drawdowns = np.empty(task.n_paths), np.empty(task.n_paths)
    for first in range(0, task.n_paths, _CHUNK):
        n = min(_CHUNK, task.n_paths - first)
        sessions = Sessions(policies, first, n, seed=task.seed)
        peaks = bankrolls = sessions.bankrolls_cents[:, 0]
        deepest = np.zeros_like(peaks)
        while sessions.done < task.n_rounds and sessions.n_playing:
            sessions.advance(1)
            bankrolls = sessions.bankrolls_cents[:, 0]
            peaks = np.maximum(peaks, bankrolls)
            deepest = np.maximum(deepest, peaks - bankrolls)
        results[first : first + n] = bankrolls - task.start_cents
        drawdowns[first : first + n] = deepest
    results.sort()
    drawdowns.sort()
    share = np.full(task.n_paths, 1 / task.n_paths)
    places = [quantile_index(share, p, 0.5 / task.n_paths) for p in QUANTILES]
    return SampledSession(
        n=task.n_paths,
        quantiles_cents=tuple(int(results[place]) for place in places),
        cvar_cents=worst_mean(results.astype(np.int64), share, _WORST),
        drawdowns_cents=tuple(int(drawdowns[place]) for place in places),
    )
