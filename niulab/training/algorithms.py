"""From a config to one of SB3's algorithms: PPO, A2C, DQN, and sb3-contrib's MaskablePPO."""

from __future__ import annotations

from typing import Any

import torch
from sb3_contrib import MaskablePPO
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.vec_env import VecEnv

from niulab.agents.models.sb3 import policy_recipe
from niulab.errors import ConfigError
from niulab.seeding import stream_seed
from niulab.training.config import Dqn, TrainConfig

__all__ = ["algorithm_class", "apply_schedules", "make_model"]

_CLASSES: dict[str, type[BaseAlgorithm]] = {
    "ppo": PPO,
    "a2c": A2C,
    "maskable_ppo": MaskablePPO,
    "dqn": DQN,
}
_OURS = {"name", "learning_rate", "ent_coef", "exploration", "adam_eps"}
"""Words that are not handed to SB3 as they are."""

_SEED_MASK = (1 << 32) - 1
"""NumPy's global generator takes seeds of 32 bits."""


def algorithm_class(name: str) -> type[BaseAlgorithm]:
    """SB3's class of an algorithm's name."""
    return _CLASSES[name]


def make_model(config: TrainConfig, env: VecEnv) -> BaseAlgorithm:
    """The algorithm of a config on its environment, seeded together with it.

    The one seed of the config is hashed for each purpose: ``algorithm`` starts torch, NumPy, Python
    and the exploring action space, ``env`` the rows.
    """
    if config.device != "cpu" and not torch.cuda.is_available():
        raise ConfigError(f"device = '{config.device}': torch finds no such device; write 'cpu'")
    algorithm = config.algorithm
    recipe = policy_recipe(algorithm.name, config.network, config.settings)
    adam = {"optimizer_class": torch.optim.Adam, "optimizer_kwargs": {"eps": algorithm.adam_eps}}
    words: dict[str, Any] = algorithm.model_dump(exclude=_OURS) | {
        "learning_rate": algorithm.learning_rate.start,
        "policy_kwargs": recipe.keywords | adam,
        "stats_window_size": max(100, config.n_envs),
        "seed": stream_seed(config.seed, "training/algorithm") & _SEED_MASK,
        "device": config.device,
    }
    if algorithm.name == "a2c":
        words["use_rms_prop"] = False
    make: Any = _CLASSES[algorithm.name]
    model: BaseAlgorithm = make(recipe.policy_class, env, **words)
    env.seed(stream_seed(config.seed, "training/env"))
    _follow_schedules(model, config)
    return model


def _follow_schedules(model: Any, config: TrainConfig) -> None:
    """Let SB3 ask our schedules, which count absolute steps, where it would ask its own."""
    algorithm, total = config.algorithm, config.total_steps
    model.lr_schedule = lambda _: algorithm.learning_rate.at(model.num_timesteps, total)
    if isinstance(algorithm, Dqn):
        exploration = algorithm.exploration
        model.exploration_schedule = lambda _: exploration.at(model.num_timesteps, total)
        model.exploration_rate = exploration.start


def apply_schedules(model: Any, config: TrainConfig) -> None:
    """Set what SB3 reads as a plain number; called before each update."""
    if not isinstance(config.algorithm, Dqn):
        model.ent_coef = config.algorithm.ent_coef.at(model.num_timesteps, config.total_steps)
        model.logger.record("train/ent_coef", model.ent_coef)
