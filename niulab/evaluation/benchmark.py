"""One policy's score, and many in a league: exact where it can be, simulated and said so elsewhere.

Agents come in as objects; whoever trains them (the floor above) hands them over as entrants.
"""

from __future__ import annotations

import platform
import shlex
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import numpy as np

from niulab.agents.base import Agent, SamplingAgent, StochasticAgent, as_stochastic
from niulab.agents.betting.staker import staked
from niulab.agents.registry import as_agent, make_agent
from niulab.envs.presets import full_id
from niulab.envs.settings import EnvSettings, make_settings
from niulab.evaluation.config import BenchmarkConfig
from niulab.evaluation.curves import Curve
from niulab.evaluation.edges.loophole import (
    evaluate_loophole,
    loophole_bounds,
    why_loophole_simulated,
)
from niulab.evaluation.edges.peek import evaluate_peek, peek_bounds, why_peek_simulated
from niulab.evaluation.edges.shoe import evaluate_shoe, shoe_bounds, why_shoe_played
from niulab.evaluation.edges.stealth import settings_as_watched
from niulab.evaluation.exact import arrangement_bounds, evaluate_arrangement, why_simulated
from niulab.evaluation.rounds import evaluate_round, round_bounds, why_round_simulated
from niulab.evaluation.score import UNITS, Bounds, Score, SimulatedScore
from niulab.evaluation.sessions.exact import (
    evaluate_session,
    session_bounds,
    why_session_simulated,
)
from niulab.evaluation.simulate import simulate
from niulab.evaluation.statistics import Estimate, normal_quantile
from niulab.seeding import ALGORITHM_VERSION
from niulab.solvers.values import edges_of_all

__all__ = [
    "Entrant",
    "League",
    "LeagueRow",
    "Provenance",
    "benchmark",
    "circumstances",
    "evaluate",
    "known_bounds",
    "score_agent",
]

ALARM = 6.0
"""Standard errors between a simulated mean and an exact figure that no honest run shows."""

_BY_CHANCE = "played by its probabilities, not by its likeliest action"


@dataclass(frozen=True)
class Entrant:
    """An agent in a league: its name there, where it comes from and how it learned."""

    agent: Agent
    name: str
    seed: int | None = None
    origin: str = ""
    curve: Curve | None = None


@dataclass(frozen=True)
class LeagueRow:
    """One agent: its score, the simulated cross-check (None: not asked for) and the time taken."""

    name: str
    origin: str
    seed: int | None
    score: Score
    check: Estimate | None
    seconds: float


@dataclass(frozen=True)
class Provenance:
    """What is needed to make the same figures again."""

    version: str
    deals_version: int
    rules: str
    rules_hash: str
    task: str
    seed: int
    rounds: int
    command: str
    date: str
    python: str
    numpy: str


@dataclass(frozen=True)
class League:
    """A league table, best value first."""

    title: str
    task: str
    slip: str
    unit: str
    rows: tuple[LeagueRow, ...]
    bounds: Bounds
    provenance: Provenance
    warnings: tuple[str, ...]
    curves: tuple[Curve, ...]


def evaluate(
    policy: Any,
    env_id: str = "niulab/Arrange-v0",
    *,
    stochastic: bool = False,
    rounds: int = 200_000,
    seed: int = 0,
    level: float = 0.95,
    **overrides: Any,
) -> Score:
    """Score anything that decides on a task: exactly where possible, else by simulation.

    policy: an agent, an agent's name, a table of actions (array or ``.npy`` path), an object with
    SB3's ``predict``, or a function of observations. ``overrides`` are keywords of the environment,
    its ``n_rounds`` among them. ``rounds`` (episodes), ``seed`` and ``level`` matter to simulations
    only; a score's notes say why one was needed. ``stochastic`` scores the policy's probabilities
    and not its argmax, and raises ConfigError for a policy that gives none.
    """
    settings = make_settings(task := full_id(env_id), **overrides)
    return score_agent(
        as_agent(policy, settings),
        settings,
        task=task,
        stochastic=stochastic,
        n_rounds=rounds,
        seed=seed,
        level=level,
    )


def score_agent(
    agent: Agent,
    settings: EnvSettings,
    *,
    task: str,
    stochastic: bool = False,
    n_rounds: int = 200_000,
    seed: int = 0,
    level: float = 0.95,
    progress: Callable[[int, int], None] | None = None,
) -> Score:
    """Score an agent on a task, exactly where possible; along a shoe exactly by composition."""
    words: dict[str, Any] = {"task": task, "progress": progress}
    sampling: dict[str, Any] = {"n_rounds": n_rounds, "seed": seed, "level": level}
    has_shoe = settings.shoe is not None and why_shoe_played(settings) is None
    reason = None
    if not has_shoe:
        why, score = _exact_road(settings)
        if (reason := why(agent, settings)) is None:
            return score(agent, settings, stochastic=stochastic, **words)
    played = _sampled(agent, settings) if stochastic else agent
    if has_shoe:
        found = evaluate_shoe(played, settings, **sampling, **words)
    else:
        notes = (f"simulated, with an interval: {reason}",)
        bounds = known_bounds(settings)
        settings = settings_as_watched(agent, settings)
        found = simulate(played, settings, bounds=bounds, notes=notes, **sampling, **words)
    return replace(found, notes=(*found.notes, _BY_CHANCE)) if stochastic else found


def _sampled(agent: Agent, settings: EnvSettings) -> Agent:
    """The agent acting by its probabilities; raises ConfigError if it gives none."""
    return staked(SamplingAgent(as_stochastic(agent)), settings)


def known_bounds(settings: EnvSettings) -> Bounds:
    """Exact bounds of a task where this version can compute them, else None for both."""
    if settings.channel is not None:
        return peek_bounds(settings)
    if settings.sheets is not None:
        return loophole_bounds(settings)
    if settings.shoe is not None:
        return shoe_bounds(settings)
    if settings.bets and settings.bankroll_cents is not None:
        return session_bounds(settings)
    is_profit_of_one = settings.objective == "profit" and settings.n_rounds == 1
    sees_dealer = settings.sees_dealer and settings.rules.arrangement == "as_set"
    if not is_profit_of_one or sees_dealer or settings.bankroll_cents is not None:
        return Bounds(random=None, optimum=None)
    if settings.bets:
        return round_bounds(settings)
    return arrangement_bounds(settings.rules, settings.slip)


def _exact_road(settings: EnvSettings) -> tuple[Callable[..., str | None], Callable[..., Score]]:
    """Why an agent has no exact score on a task, and the function that computes it if it has."""
    if settings.channel is not None:
        return why_peek_simulated, evaluate_peek
    if settings.sheets is not None:
        return why_loophole_simulated, evaluate_loophole
    if not settings.bets:
        return why_simulated, evaluate_arrangement
    if settings.bankroll_cents is not None:
        return why_session_simulated, evaluate_session
    return why_round_simulated, evaluate_round


def benchmark(
    config: BenchmarkConfig,
    entrants: Sequence[Entrant] = (),
    *,
    command: Sequence[str] | str | None = None,
    date: str | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> League:
    """Score the config's agents and the given entrants on one task, and rank them by value.

    ``command`` and ``date`` (ISO) go into the provenance; ``progress`` is called with an agent's
    name and how far its evaluation is.
    """
    settings = config.settings
    named = [Entrant(make_agent(name, settings), name, origin=name) for name in config.agents]
    rows = [_row(entrant, config, progress) for entrant in (*named, *entrants)]
    rows.sort(key=lambda row: -row.score.value)  # equals keep the order they came in
    bounds = known_bounds(settings)
    edges = edges_of_all(settings.every_sheet)
    return League(
        title=config.title,
        task=config.task,
        slip="" if settings.bets else str(settings.slip),
        unit=UNITS[settings.objective],
        rows=tuple(rows),
        bounds=bounds,
        provenance=_provenance(config, command, date),
        warnings=(*edges, *_alarms(rows, bounds, settings, edges)),
        curves=tuple(entrant.curve for entrant in entrants if entrant.curve is not None),
    )


def _row(
    entrant: Entrant, config: BenchmarkConfig, progress: Callable[[str, int, int], None] | None
) -> LeagueRow:
    def report(done: int, total: int) -> None:
        if progress is not None:
            progress(entrant.name, done, total)

    began = time.perf_counter()
    n_rounds = config.rounds or BenchmarkConfig.rounds
    words: dict[str, Any] = {"task": config.task, "seed": config.seed, "level": config.level}
    score = score_agent(
        entrant.agent,
        config.settings,
        stochastic=config.stochastic and isinstance(entrant.agent, StochasticAgent),
        n_rounds=n_rounds,
        progress=report,
        **words,
    )
    check = None
    if score.is_exact and config.rounds:
        agent = entrant.agent
        if score.source == "probabilities":
            agent = _sampled(agent, config.settings)
        watched = settings_as_watched(entrant.agent, config.settings)
        check = simulate(agent, watched, n_rounds=n_rounds, **words).estimate
    seconds = time.perf_counter() - began
    return LeagueRow(entrant.name, entrant.origin, entrant.seed, score, check, seconds)


def _alarms(
    rows: Sequence[LeagueRow], bounds: Bounds, settings: EnvSettings, edges: Sequence[str]
) -> list[str]:
    """What no honest run shows: a cross-check far from its exact value, more than the optimum."""
    ceiling = bounds.optimum
    is_blind = settings.channel is None and settings.shoe is None
    if ceiling is None and settings.objective == "profit" and not edges and is_blind:
        ceiling = Fraction(
            0
        )  # on a sheet without a player's edge no bet has a positive expectation
    alarms = []
    for row in rows:
        seen = row.score.estimate if isinstance(row.score, SimulatedScore) else row.check
        if seen is None:
            continue
        margin = ALARM * seen.half_width / normal_quantile(seen.level)
        if row.score.is_exact and abs(seen.mean - float(row.score.value)) > margin:
            alarms.append(
                f"WARNING: '{row.name}' played {seen.mean:+.6f} in the environment, its exact "
                f"value is {float(row.score.value):+.6f}: one of the two is wrong"
            )
        elif ceiling is not None and seen.mean - margin > ceiling:
            alarms.append(
                f"WARNING: '{row.name}' earns {seen.mean:+.6f}, above the optimum "
                f"{float(ceiling):+.6f}: it found a bug or a leak of information, no strategy"
            )
    return alarms


def _provenance(
    config: BenchmarkConfig, command: Sequence[str] | str | None, date: str | None
) -> Provenance:
    return Provenance(
        **circumstances(command or "niulab.evaluation.benchmark(config)", date),
        rules=config.settings.rules_name,
        rules_hash=config.settings.rules_hash,
        task=config.task,
        seed=config.seed,
        rounds=config.rounds,
    )


def circumstances(command: Sequence[str] | str, date: str | None = None) -> dict[str, Any]:
    """What every provenance holds: versions, the command, and the date (ISO; default: now)."""
    from niulab import __version__  # the package's root is only complete once it is imported

    return {
        "version": __version__,
        "deals_version": ALGORITHM_VERSION,
        "command": command if isinstance(command, str) else shlex.join(command),
        "date": date or datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "numpy": np.__version__,
    }
