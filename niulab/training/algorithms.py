"""From a config to one of the algorithms of SB3 and sb3-contrib, or to imitation of the oracle."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sb3_contrib import QRDQN, MaskablePPO, RecurrentPPO
from stable_baselines3 import A2C, DQN, PPO, SAC, TD3
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.noise import NormalActionNoise
from stable_baselines3.common.vec_env import VecEnv

from niulab.agents.models.policies import policy_recipe
from niulab.errors import ConfigError
from niulab.seeding import stream_seed
from niulab.training.algorithm_config import Sac, Td3, ValueBased
from niulab.training.config import TrainConfig
from niulab.training.imitation import OracleImitation
from niulab.training.schedules import Schedule

__all__ = ["algorithm_class", "apply_schedules", "make_model"]

_CLASSES: dict[str, type[BaseAlgorithm]] = {
    "ppo": PPO,
    "a2c": A2C,
    "maskable_ppo": MaskablePPO,
    "recurrent_ppo": RecurrentPPO,
    "dqn": DQN,
    "qrdqn": QRDQN,
    "sac": SAC,
    "td3": TD3,
    "imitation": OracleImitation,
}
_OURS = {"name", "learning_rate", "ent_coef", "exploration", "action_noise", "adam_eps"}
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
    elif isinstance(algorithm, Sac):
        ent_coef = algorithm.ent_coef
        words["ent_coef"] = ent_coef.start if isinstance(ent_coef, Schedule) else ent_coef
    elif isinstance(algorithm, Td3):
        still = np.zeros(env.action_space.shape or ())
        words["action_noise"] = NormalActionNoise(still, still + algorithm.action_noise)
    make: Any = _CLASSES[algorithm.name]
    model: BaseAlgorithm = make(recipe.policy_class, env, **words)
    env.seed(stream_seed(config.seed, "training/env"))
    _follow_schedules(model, config)
    return model


def _follow_schedules(model: Any, config: TrainConfig) -> None:
    """Let SB3 ask our schedules, which count absolute steps, where it would ask its own."""
    algorithm, total = config.algorithm, config.total_steps
    model.lr_schedule = lambda _: algorithm.learning_rate.at(model.num_timesteps, total)
    if isinstance(algorithm, ValueBased):
        exploration = algorithm.exploration
        model.exploration_schedule = lambda _: exploration.at(model.num_timesteps, total)
        model.exploration_rate = exploration.start


def apply_schedules(model: Any, config: TrainConfig) -> None:
    """Set what SB3 reads as a plain number; called before each update."""
    ent_coef = getattr(config.algorithm, "ent_coef", None)
    if not isinstance(ent_coef, Schedule):
        return
    value = ent_coef.at(model.num_timesteps, config.total_steps)
    if isinstance(config.algorithm, Sac):
        model.ent_coef_tensor = torch.tensor(value, device=model.device)
    else:
        model.ent_coef = value
        model.logger.record("train/ent_coef", value)
