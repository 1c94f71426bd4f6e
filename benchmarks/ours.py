"""niulab's own figures: engine, environments, adapter, solver, exact evaluation, first calls."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from measure import Meter
from numpy.typing import NDArray
from stages import Stage, profile

import niulab
from niulab.engine.batch import BatchEngine
from niulab.engine.wagers import least_slip
from niulab.envs.settings import EnvSettings, make_settings
from niulab.envs.single import NiuNiuEnv
from niulab.evaluation.exact import evaluate_arrangement
from niulab.seeding import generator

__all__ = [
    "COUNT",
    "DEAL",
    "EVALUATED",
    "FIRST_COMPUTED",
    "FIRST_FOUND",
    "FIRST_KEPT",
    "FORWARD",
    "GYM_SINGLE",
    "IMPORT",
    "PLAY",
    "RULES",
    "SB3",
    "SB3_READ",
    "SIMULATE",
    "SINGLE",
    "SOLVE",
    "VALUES",
    "VECTOR_FLOAT32",
    "VECTOR_IDS",
    "measure_engine",
    "measure_environments",
    "measure_evaluation",
    "measure_first_calls",
    "measure_simulate",
    "play_work",
    "stages_of",
    "vector_work",
]

RULES = "single-double-super"
ARRANGE = "niulab/Arrange-v0"

COUNT = "engine: BatchEngine.count"
DEAL = "engine: BatchEngine.deal"
PLAY = "engine: BatchEngine.play"
SINGLE = "single env: step and reset"
GYM_SINGLE = "single env through gymnasium.make: step and reset"
VECTOR_IDS = "vector env, uint8 card ids"
VECTOR_FLOAT32 = "vector env, float32 flags"
SB3 = "SB3 adapter, uint8 card ids"
_READ = ", all infos read as SB3 does"
SB3_READ = SB3 + _READ
FIRST_FOUND = "exact evaluation: first-found-base"
FORWARD = "exact evaluation: card network's forward passes"
EVALUATED = "exact evaluation: card network, untrained"
SOLVE = "solver: whole game, compiled"
VALUES = "solver: all hand values from nothing, compiled"
FIRST_COMPUTED = "solver: hand values, fresh process, from nothing"
FIRST_KEPT = "solver: hand values, fresh process, from disk"
IMPORT = "import niulab"
SIMULATE = "niulab simulate"

_ROWS = 1 << 16


# ---------------------------------------------------------------- engine


def play_work(rules: niulab.RuleSet, rows: int, n_seats: int = 1) -> Callable[[], object]:
    """One call of ``play``: round 0 of as many row seeds."""
    engine, slip = BatchEngine(rules, n_seats), least_slip(rules)
    seeds, rounds = np.arange(rows, dtype=np.uint64), np.zeros(rows, dtype=np.int64)
    return lambda: engine.play(slip, seeds, rounds)


def measure_engine(meter: Meter) -> None:
    """Rounds per second of the compiled round, one seat, best-set hands."""
    rules = niulab.load_rules(RULES)
    engine = BatchEngine(rules)
    meter.rate(COUNT, lambda: engine.count(1, 0, 1 << 20), 1 << 20, batch=1 << 20)
    meter.rate(PLAY, play_work(rules, _ROWS), _ROWS, batch=_ROWS)
    seeds, rounds = np.arange(_ROWS, dtype=np.uint64), np.zeros(_ROWS, dtype=np.int64)
    meter.rate(DEAL, lambda: engine.deal(seeds, rounds), _ROWS, batch=_ROWS)


# ---------------------------------------------------------------- environments


def _actions(rows: int) -> NDArray[np.int64]:
    """Actions of some steps, drawn beforehand."""
    n_steps = min(64, max(4, (1 << 18) // rows))
    return generator(0, "benchmarks/actions").integers(0, 10, (n_steps, rows))


def vector_work(rows: int, **keywords: object) -> tuple[Callable[[], object], int]:
    """Steps of a batch of Arrange, every row of which ends and starts again, and their number."""
    env = gymnasium.make_vec(ARRANGE, num_envs=rows, **keywords)
    env.reset(seed=1)
    actions = _actions(rows)

    def work() -> None:
        for row in actions:
            env.step(row)

    return work, actions.size


def measure_environments(meter: Meter) -> None:
    """Steps per second; in Arrange a step is a round."""
    actions = _actions(16).ravel().tolist()
    for name, env in (
        (SINGLE, NiuNiuEnv(ARRANGE)),
        (GYM_SINGLE, gymnasium.make(ARRANGE)),
    ):
        meter.rate(name, _single_work(env, actions), len(actions))
    for name, words in (
        (VECTOR_IDS, {"encoding": "ids"}),
        (f"{VECTOR_IDS}, zero-copy", {"encoding": "ids", "copy": False}),
        ("vector env, uint8 flags", {"observation": "uint8"}),
        (VECTOR_FLOAT32, {}),
        (f"{VECTOR_FLOAT32}, zero-copy", {"copy": False}),
    ):
        work, n = vector_work(4096, **words)
        meter.rate(name, work, n, unit="steps", batch=4096)
    _measure_sb3(meter)


def _single_work(env: gymnasium.Env, actions: list[int]) -> Callable[[], object]:
    env.reset(seed=1)

    def work() -> None:
        for action in actions:
            env.step(action)
            env.reset()

    return work


def _measure_sb3(meter: Meter) -> None:
    rows = 2048
    for name, settings in (
        (SB3, make_settings(ARRANGE, encoding="ids")),
        ("SB3 adapter, float32 flags", make_settings(ARRANGE)),
    ):
        for reads, addition in ((False, ""), (True, _READ)):
            work, n = _sb3_work(rows, settings, reads_infos=reads)
            meter.rate(name + addition, work, n, unit="steps", batch=rows)


def _sb3_work(
    rows: int, settings: EnvSettings, *, reads_infos: bool
) -> tuple[Callable[[], object], int]:
    from niulab.training.sb3_vec import make_sb3_vec

    env, actions = make_sb3_vec(rows, settings), _actions(rows)
    env.reset()

    def work() -> None:
        for row in actions:
            infos = env.step(row)[3]
            if reads_infos:
                for info in infos:
                    info.get("episode")

    return work, actions.size


# ---------------------------------------------------------------- exact evaluation


def measure_evaluation(meter: Meter) -> None:
    """Seconds for an exact score over all 2,598,960 hands, the rules' tables being there."""
    import torch

    from niulab.agents.models.card import CardNetwork
    from niulab.agents.models.policies import build_policy
    from niulab.agents.models.sb3 import agent_of
    from niulab.agents.registry import make_agent
    from niulab.solvers.matchups import matchups

    torch.set_num_threads(1)
    torch.manual_seed(0)
    settings = make_settings(ARRANGE, rules=RULES, encoding="ids")
    agent = make_agent("first-found-base", settings)
    meter.time(
        FIRST_FOUND,
        lambda: evaluate_arrangement(agent, settings),
        repeats=3,
    )
    hands = matchups(settings.rules).hands
    network = agent_of(build_policy("ppo", CardNetwork(), settings), settings)

    def forward_passes() -> None:
        for start in range(0, len(hands), 65536):
            network.set_hands(hands[start : start + 65536])

    meter.time(FORWARD, forward_passes, repeats=3)
    meter.time(
        EVALUATED,
        lambda: evaluate_arrangement(network, settings),
        repeats=3,
    )


# ---------------------------------------------------------------- processes of their own


def measure_first_calls(meter: Meter, repeats: int = 3) -> None:
    """First calls with nothing compiled, the same with compiled code on disk, and warm solves.

    Counts of hands are kept nowhere, but for the one figure that is about them.
    """
    with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryDirectory() as kept:
        cold = {name: _fresh(name, cache) for name in ("kernels", "solve")}
        warm = {
            name: [_fresh(name, cache) for _ in range(repeats)]
            for name in ("import", "kernels", "solve", "values", "first")
        }
        for _ in range(2):  # the first writes them, the second may compile how they are read
            _fresh("first", cache, kept)
        warm["kept"] = [_fresh("first", cache, kept) for _ in range(repeats)]

    def of(probe: str, key: str) -> list[float]:
        return [run[key] for run in warm[probe]]

    meter.given(IMPORT, of("import", "import niulab"))
    meter.given("import numba, at the first call", of("kernels", "import numba"))
    for probe in ("kernels", "solve"):
        for key in cold[probe]:
            if "first" in key:
                meter.given(f"{key}, nothing compiled", [cold[probe][key]])
                meter.given(f"{key}, compiled code on disk", of(probe, key))
    meter.given(SOLVE, of("solve", "solve of another ranking"))
    meter.given("solver: all hand values after it", of("solve", "hand values after the solve"))
    meter.given(VALUES, of("values", "hand values from nothing"))
    meter.given(FIRST_COMPUTED, of("first", "first hand values of a process"))
    meter.given(FIRST_KEPT, of("kept", "first hand values of a process"))


def stages_of(name: str, meter: Meter) -> list[Stage]:
    """The profile of a figure, taken now; none where there is no single process to profile."""
    if name in meter.works:
        return profile(meter.works[name])
    if name == VALUES:
        with tempfile.TemporaryDirectory() as cache:
            return [Stage(**row) for row in _fresh("where", cache)]
    if name == SIMULATE:
        from niulab.evaluation.streaming import simulate_stream

        return profile(lambda: simulate_stream(RULES, n_rounds=1 << 25))
    return []


def _fresh(probe: str, cache: str, kept: str = "") -> Any:
    """A probe's answer; ``cache`` holds compiled code, ``kept`` counts of hands if it is named."""
    script = Path(__file__).with_name("fresh.py")
    done = subprocess.run(
        [sys.executable, script, probe],
        env={**os.environ, "NUMBA_CACHE_DIR": cache, "NIULAB_CACHE": kept},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return json.loads(done.stdout)


def measure_simulate(meter: Meter, millions: int = 200) -> None:
    """The command itself, start-up left out: the difference of a long run and a short one."""
    if find_spec("niulab.cli.simulate") is None:
        print(f"{SIMULATE}: skipped, there is no such command here")
        return
    _run_simulate(1)
    short = min(_run_simulate(1) for _ in range(2))
    times = [(_run_simulate(millions + 1) - short) / millions / 1e6 for _ in range(3)]
    rates = sorted(1 / seconds for seconds in times)
    meter.given(SIMULATE, rates, unit="rounds", batch=millions * 1_000_000)


def _run_simulate(millions: int) -> float:
    """Processor seconds of a run of so many million rounds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, "-m", "niulab", "simulate", RULES, "--rounds", f"{millions}e6"],
            cwd=folder,
            capture_output=True,
            check=True,
        )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
