"""How fast training is: PPO on Arrange, native rows beside SB3's DummyVecEnv, and time to a score.

Both sides learn with SB3's PPO, the same perceptron, observations and rewards. Ours has rows, batch
and epochs of the shipped config ``ppo_mlp_arrange``; SB3's has 8 environments in a row and SB3's
batch of 64 with 10 epochs. Seconds are of the processor; what the environment takes of them is
counted apart, the rest is the network's.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
from measure import Figure, Meter

import niulab
from niulab.training import TrainConfig, read_train, train
from niulab.training.algorithms import make_model
from niulab.training.sb3_vec import make_sb3_vec

__all__ = ["DUMMY", "NATIVE", "RATIO", "Learned", "Training", "measure_training"]

TASK = "niulab/Arrange-v0"
CONFIG = "ppo_mlp_arrange"
SCORE = 0.999

NATIVE = f"training: {CONFIG} as shipped, native rows"
DUMMY = "training: the same network, DummyVecEnv(8), batch 64, 10 epochs"
SMALL_NATIVE = f"training: {CONFIG} with SB3's default network (64, 64)"
SMALL_DUMMY = "training: SB3's default network, DummyVecEnv(8), batch 64, 10 epochs"
RATIO = "training: native rows ÷ DummyVecEnv(8), SB3's default network"
_SMALL = ("network.hidden=[64, 64]", "network.activation=tanh")

_N_ENVS = 8


@dataclass(frozen=True)
class Learned:
    """How long it took to a normalized score of ``SCORE``; ``seconds`` is the budget if it did not.

    score, steps: when it got there, or at the end.
    """

    name: str
    has_arrived: bool
    seconds: float
    steps: int
    score: float


@dataclass(frozen=True)
class Training:
    """shares: of each loop's processor time, what the environment took. learned: by learner."""

    shares: dict[str, float]
    learned: list[Learned]


class _Clock:
    """Processor time inside ``step_wait`` of a VecEnv, which is where SB3 meets the environment."""

    def __init__(self, env: Any) -> None:
        self.seconds = 0.0
        step = env.step_wait

        def timed() -> Any:
            start = time.process_time()
            result = step()
            self.seconds += time.process_time() - start
            return result

        env.step_wait = timed


def measure_training(meter: Meter, *, is_short: bool = False) -> Training:
    """Steps per processor second of both loops, their ratio, and the times to ``SCORE``."""
    import torch

    torch.set_num_threads(1)
    repeats = 1 if is_short else 3
    shares: dict[str, float] = {}
    rates: dict[str, Figure] = {}
    for native, dummy, changes in (
        (NATIVE, DUMMY, ()),
        (SMALL_NATIVE, SMALL_DUMMY, _SMALL),
    ):
        config = read_train(CONFIG, overrides=changes)
        for name, make, n_steps in (
            (native, lambda c=config: _native(c), repeats * 4 * config.rollout_steps),
            (dummy, lambda c=config: _dummy(c), repeats * 2048),
        ):
            done = [_loop(make, n_steps) for _ in range(repeats)]
            rates[name] = meter.given(name, [rate for rate, _ in done], unit="steps")
            shares[name] = sorted(share for _, share in done)[repeats // 2]
    ratio = rates[SMALL_NATIVE].value / rates[SMALL_DUMMY].value
    meter.given(RATIO, [ratio], unit="times")
    changes = ("total_steps=16_384",) if is_short else ()
    learned = [_of_config(name, changes) for name in ("ppo_arrange", CONFIG)]
    learned.append(_of_defaults(5.0 if is_short else 120.0))
    return Training(shares, learned)


def _loop(make: Callable[[], Any], n_steps: int) -> tuple[float, float]:
    """Steps per processor second of a whole loop, and the environment's share of the time."""
    model = make()
    model.learn(1, log_interval=None)  # one rollout and update that do not count
    before = model.num_timesteps
    clock = _Clock(model.env)
    start = time.process_time()
    model.learn(n_steps, log_interval=None, reset_num_timesteps=False)
    taken = time.process_time() - start
    model.env.close()
    return (model.num_timesteps - before) / taken, clock.seconds / taken


def _native(config: TrainConfig) -> Any:
    return make_model(config, make_sb3_vec(config.n_envs, config.settings))


def _dummy(config: TrainConfig) -> Any:
    """SB3 as its users write it, but for the network and the words of a one-step task."""
    from stable_baselines3 import PPO
    from stable_baselines3.common.vec_env import DummyVecEnv
    from torch import nn

    words = {key: value for key, value in config.settings.to_json().items() if key != "mask"}
    env = DummyVecEnv([lambda: gymnasium.make(TASK, **words)] * _N_ENVS)
    activation = {"relu": nn.ReLU, "tanh": nn.Tanh}[config.network.activation]
    network = {"net_arch": [*config.network.hidden], "activation_fn": activation}
    return PPO(
        "MlpPolicy",
        env,
        n_steps=2048 // _N_ENVS,
        batch_size=64,
        n_epochs=10,
        gamma=0.0,
        policy_kwargs=network,
        device="cpu",
        seed=0,
    )


def _of_config(name: str, changes: tuple[str, ...]) -> Learned:
    """A shipped config, scored exactly every 50,000 steps; scoring takes no time of its clock."""
    config = read_train(name, overrides=("evaluation.every=50_000", *changes))
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        train(config, run, progress=False)
        rows = [json.loads(row) for row in (run / "evaluations.jsonl").read_text().splitlines()]
    first = next((row for row in rows if row["scores"]["normalized_score"] >= SCORE), None)
    row = first or rows[-1]
    score = row["scores"]["normalized_score"]
    return Learned(
        f"`{name}`, native rows", first is not None, row["cpu_seconds"], row["step"], score
    )


def _of_defaults(budget: float) -> Learned:
    """SB3's PPO with every word at its default, on 8 environments in a row, until time is up."""
    from stable_baselines3 import PPO
    from stable_baselines3.common.vec_env import DummyVecEnv

    env = DummyVecEnv([lambda: gymnasium.make(TASK)] * _N_ENVS)
    model = PPO("MlpPolicy", env, device="cpu", seed=0)
    spent, score = 0.0, 0.0
    while spent < budget and score < SCORE:
        start = time.process_time()
        model.learn(model.n_steps * _N_ENVS, log_interval=None, reset_num_timesteps=False)
        spent += time.process_time() - start
        score = float(niulab.evaluate(model, TASK).normalized)
    name = f"SB3's PPO, all defaults, DummyVecEnv({_N_ENVS})"
    return Learned(name, score >= SCORE, spent, model.num_timesteps, score)
