"""Betting: exact laws, optima and scores, beside plain NumPy simulations of the same questions.

A simulation draws rounds from the joint law of the slips it may place, as anyone would who has the
odds of the game: no cards are dealt. Each must agree with the exact answer before its speed counts.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from math import sqrt

import numpy as np
from measure import Meter, pin
from numpy.typing import NDArray

import niulab
from niulab.agents.betting.solver import solve_task
from niulab.agents.registry import make_agent
from niulab.engine.settlement import net_table
from niulab.engine.wagers import Slip
from niulab.envs.settings import make_settings
from niulab.envs.settings.menus import default_menu
from niulab.evaluation.sessions.exact import evaluate_session
from niulab.seeding import generator
from niulab.solvers.joint_law import joint_law
from niulab.solvers.optimal.problem import BettingProblem
from niulab.solvers.optimal.values import solve_betting
from niulab.solvers.sessions.barriers import ruin_curve
from niulab.solvers.sessions.flat import flat_law
from niulab.solvers.sessions.net_law import net_law
from niulab.solvers.sessions.programme import play_session, session_lattice
from niulab.solvers.sessions.tables import STOP, BettingTables, flat_tables

__all__ = [
    "FLAT",
    "GAP",
    "PROGRAMME",
    "RUIN",
    "SCORE",
    "SESSION",
    "STUDY",
    "STUDY_CPU",
    "TARGET",
    "Question",
    "measure_betting",
    "measure_study",
]

FLAT = "betting: law of 60 flat rounds, transform"
PROGRAMME = "betting: law of 60 rounds, programme with barriers"
TARGET = "betting: target or ruin, 800 bankrolls, 9 slips"
SESSION = "betting: optimum of Session-v0"
RUIN = "betting: ruin of 1,000 bankrolls, 10,000 rounds"
SCORE = "betting: exact score of an agent on Session-v0"
STUDY = "niulab study systems, by the wall"
STUDY_CPU = "niulab study systems, processor time"

GAP = 1e-9
"""The proven distance to the optimum that is asked of a solution."""

_RULES = "single-double-super"
_SLIP = "single=100,super=100"
_ROUNDS = 60
_BANKROLL = 6_000
_LONG = 10_000
_N_BANKROLLS = 1_000
_LEAST_CHECKED = 1 << 14
_SIGMAS = 5.5  # a simulation further off than this is wrong: by chance once in 26 million
_STUDY_KIND = "systems"
_SHORT_STUDY = (
    "n_rounds=40",
    "n_sessions=2000",
    "n_checks=2000",
    "n_paths=100",
    "budget=1000000",
)


@dataclass(frozen=True)
class _Simulation:
    """Plays ``n`` sessions when called with it, and counts those that ended as asked."""

    name: str
    play: Callable[[int], int]
    n: int


@dataclass(frozen=True)
class Question:
    """A chance, its exact answer with a bound of its error, and what was measured.

    figure: the time of the exact answer. simulated: the rate of the simulation, in sessions.
    """

    what: str
    figure: str
    chance: float
    error: float
    simulated: str = ""

    def sessions(self, error: float) -> float:
        """How many sessions make the half-width of a 95 % interval as narrow as ``error``."""
        return 1.96**2 * self.chance * (1 - self.chance) / error**2


def measure_betting(meter: Meter) -> list[Question]:
    """Every exact figure of the section, and the simulation beside it."""
    rules = niulab.load_rules(_RULES)
    return [
        _flat(meter, rules),
        _programme(meter, rules),
        _target(meter, rules),
        *_session(meter),
        _ruin(meter, rules),
    ]


# ---------------------------------------------------------------- questions


def _flat(meter: Meter, rules: niulab.RuleSet) -> Question:
    slip = Slip.of(_SLIP)
    meter.time(FLAT, lambda: flat_law(net_law(rules, slip), _ROUNDS), repeats=21)
    law = net_law(rules, slip)
    found = flat_law(law, _ROUNDS)
    rng = generator(0, "benchmarks/flat")

    def play(n: int) -> int:
        """Flat play asks only how often each net came: one draw a session tells."""
        seen = rng.multinomial(_ROUNDS, law.probabilities, size=n)
        return int(np.count_nonzero(seen @ law.nets > 0))

    error = found.rounding_bound * np.count_nonzero(found.nets > 0)
    what = f"ahead after {_ROUNDS} rounds of `{slip}`, bankroll without end"
    simulation = _Simulation("NumPy simulation: 60 flat rounds", play, 1 << 13)
    return _asked(meter, simulation, Question(what, FLAT, found.p_ahead, float(error)))


def _programme(meter: Meter, rules: niulab.RuleSet) -> Question:
    slip = Slip.of(_SLIP)
    step, n_levels = session_lattice(rules, [slip], _BANKROLL, None, n_rounds=_ROUNDS)
    tables = flat_tables(rules, slip, step_cents=step, n_levels=n_levels)

    def exact() -> object:
        return play_session(rules, tables, start_cents=_BANKROLL, n_rounds=_ROUNDS)

    meter.time(PROGRAMME, exact, repeats=21)
    found = play_session(rules, tables, start_cents=_BANKROLL, n_rounds=_ROUNDS)
    play = _session_of(rules, tables, _BANKROLL, n_rounds=_ROUNDS)
    simulation = _Simulation("NumPy simulation: 60 rounds with barriers", play, 1 << 13)
    what = f"the same from {_BANKROLL // rules.base_unit_cents} units, stopping short of cover"
    error = found.rounding_bound + found.overflow
    return _asked(meter, simulation, Question(what, PROGRAMME, found.p_ahead, error))


def _target(meter: Meter, rules: niulab.RuleSet) -> Question:
    problem = BettingProblem(
        rules=rules, slips=default_menu(rules)[:9], start_cents=2_000, target_cents=4_000
    )
    meter.time(TARGET, lambda: solve_betting(problem, tolerance=GAP))
    found = solve_betting(problem, tolerance=GAP)
    if found.gap > GAP or found.low.size != 800:
        raise RuntimeError(f"not the problem of the target: {found.low.size=}, {found.gap=}")
    play = _session_of(rules, found.tables(), 2_000, target_cents=4_000)
    simulation = _Simulation("NumPy simulation: target or ruin", play, 1 << 13)
    what = "20 units to 40 before ruin, 9 slips, no deadline, best play"
    return _asked(meter, simulation, Question(what, TARGET, found.value, found.gap))


def _session(meter: Meter) -> list[Question]:
    settings = make_settings("niulab/Session-v0")
    meter.time(SESSION, lambda: solve_task(settings))
    found, agent = solve_task(settings), make_agent("optimal", settings)
    meter.time(SCORE, lambda: evaluate_session(agent, settings))
    score = evaluate_session(agent, settings)
    play = _session_of(
        settings.rules,
        found.tables(),
        settings.bankroll_cents or 0,
        n_rounds=settings.n_rounds,
        target_cents=settings.target_cents,
    )
    optimum = "Session-v0 (20 units to 40 in 6 rounds), best play"
    scored = "Session-v0, the `optimal` agent asked at every bankroll it can come to"
    simulation = _Simulation("NumPy simulation: Session-v0", play, 1 << 14)
    return [
        _asked(meter, simulation, Question(optimum, SESSION, found.value, found.gap)),
        _asked(meter, simulation, Question(scored, SCORE, score.value, score.error)),
    ]


def _ruin(meter: Meter, rules: niulab.RuleSet) -> Question:
    law = net_law(rules, Slip.of(_SLIP))
    starts = np.arange(1_200, 1_200 + 200 * _N_BANKROLLS, 200)
    meter.time(RUIN, lambda: ruin_curve(rules, law, starts, [_LONG]), repeats=3)
    curve = ruin_curve(rules, law, starts, [_LONG])
    chances = curve.ruined[:, 0]
    middle = int(np.abs(chances - 0.5).argmin())  # the hardest to simulate
    room = curve.ruin_below_cents - int(starts[middle])
    rng, edges = generator(0, "benchmarks/ruin"), np.cumsum(law.probabilities)[:-1]

    def play(n: int) -> int:
        """The lowest point of a path tells of every bankroll at once whether it is ruined."""
        cells = np.searchsorted(edges, rng.random((n, _LONG)), side="right")
        lowest = np.cumsum(law.nets[cells], axis=1).min(axis=1)
        return int(np.count_nonzero(lowest < room))

    what = (
        f"ruin within {_LONG:,} rounds of `{law.slip}` for {_N_BANKROLLS:,} bankrolls at once; "
        f"here from {starts[middle] // rules.base_unit_cents:,} units"
    )
    error = float(curve.overflow[middle]) + curve.rounding_bound
    simulation = _Simulation("NumPy simulation: paths of 10,000 rounds", play, 64)
    return _asked(meter, simulation, Question(what, RUIN, float(chances[middle]), error))


def _asked(meter: Meter, simulation: _Simulation, question: Question) -> Question:
    """Measure the simulation, once it is seen to be right."""
    n, chance = simulation.n, question.chance
    n_checks = max(1, _LEAST_CHECKED // n)
    hits, n_checked = sum(simulation.play(n) for _ in range(n_checks)), n * n_checks
    off = abs(hits / n_checked - chance)
    if off > _SIGMAS * sqrt(chance * (1 - chance) / n_checked) + question.error:
        raise RuntimeError(f"{question.what}: simulated {hits} of {n_checked}, exact {chance}")
    if simulation.name not in meter.figures:
        meter.rate(simulation.name, lambda: simulation.play(n), n, unit="sessions", batch=n)
    return replace(question, simulated=simulation.name)


# ---------------------------------------------------------------- a simulation in NumPy


def _session_of(
    rules: niulab.RuleSet,
    tables: BettingTables,
    start_cents: int,
    *,
    n_rounds: int | None = None,
    target_cents: int | None = None,
) -> Callable[[int], int]:
    """Sessions side by side, round by round, until all have ended; hits end at the target.

    Without a target those that end above the start are hits.
    """
    edges, nets = _joint_cells(rules, tables.slips)
    nets //= tables.step_cents
    start, rng = start_cents // tables.step_cents, generator(0, "benchmarks/session")
    goal = start + 1 if target_cents is None else -(-target_cents // tables.step_cents)
    remembers = tables.n_memories > 1

    def play(n: int) -> int:
        levels, memory = np.full(n, start), np.full(n, tables.initial)
        n_hits = n_played = 0
        while len(levels) and n_played != n_rounds:
            choice = tables.choice[memory, np.minimum(levels, tables.n_levels - 1)]
            stays = choice != STOP
            if not stays.all():
                n_hits += int(np.count_nonzero(levels[~stays] >= goal))
                levels, memory, choice = levels[stays], memory[stays], choice[stays]
            won = nets[choice, np.searchsorted(edges, rng.random(len(levels)), side="right")]
            levels += won
            if remembers:
                memory = tables.next[memory, np.sign(won) + 1]
            if target_cents is not None:
                stays = levels < goal
                n_hits += len(levels) - int(np.count_nonzero(stays))
                levels, memory = levels[stays], memory[stays]
            n_played += 1
        return n_hits + int(np.count_nonzero(levels >= goal))

    return play


def _joint_cells(
    rules: niulab.RuleSet, slips: Sequence[Slip]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The joint law of the slips' nets: edges of the cells (m - 1,), and nets (slips, m)."""
    tables = [net_table(rules, slip) for slip in slips]
    counts: Counter[tuple[int, ...]] = Counter()
    law = joint_law(rules)
    for cell, n in law.cells.items():
        place = cell.outcome, cell.player_rank, cell.dealer_rank, cell.events
        counts[tuple(int(table[place]) for table in tables)] += n
    nets = np.array(list(counts), dtype=np.int64).T
    return np.cumsum(list(counts.values()), dtype=np.float64)[:-1] / law.n_deals, nets.copy()


# ---------------------------------------------------------------- a whole study


def measure_study(meter: Meter, core: int, *, all_cores: set[int], is_short: bool) -> str | None:
    """The league of all systems as the command runs it, on all cores; why it was not measured.

    A short study runs first, so that everything is compiled; if ``is_short`` it is all that runs.
    """
    if find_spec(f"niulab.evaluation.studies.{_STUDY_KIND}") is None:
        return "there is no such study here"
    pin(*all_cores)
    try:
        _run_study(_SHORT_STUDY)
        if is_short:
            return "a quick run plays only a short one"
        wall, cpu = _run_study(())
    except subprocess.CalledProcessError as error:
        lines = (error.stderr or "").strip().splitlines()
        return f"it failed: {lines[-1] if lines else error}"
    finally:
        pin(core)
    meter.given(STUDY, [wall])
    meter.given(STUDY_CPU, [cpu])
    return None


def _run_study(changes: Sequence[str]) -> tuple[float, float]:
    """Seconds by the wall and of all processors."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        words = [word for change in changes for word in ("--set", change)]
        subprocess.run(
            [sys.executable, "-m", "niulab", "study", _STUDY_KIND, "--out", folder, *words],
            env={**os.environ, "COLUMNS": "200"},
            capture_output=True,
            encoding="utf-8",
            check=True,
        )
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
