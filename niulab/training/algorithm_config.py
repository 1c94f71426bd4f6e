"""The algorithms' own words in a training config, with SB3's names, and sizes that go together."""

from __future__ import annotations

from collections.abc import Iterator
from math import isqrt
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveInt

from niulab.training.schedules import Scheduled, constant

__all__ = [
    "ALGORITHMS",
    "A2c",
    "AlgorithmConfig",
    "ClippedPolicy",
    "Dqn",
    "Imitation",
    "MaskablePpo",
    "OffPolicy",
    "Ppo",
    "QrDqn",
    "RecurrentPpo",
    "Sac",
    "Td3",
    "ValueBased",
    "mistaken_sizes",
]

Share = Annotated[float, Field(ge=0, le=1)]
NonNegative = Annotated[float, Field(ge=0)]
Positive = Annotated[float, Field(gt=0)]
NSteps = Annotated[int, Field(ge=1, le=1 << 16)]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


# ---------------------------------------------------------------- policies from rollouts


class _ActorCritic(_Strict):
    n_steps: NSteps = 16
    learning_rate: Scheduled = constant(3e-4)
    ent_coef: Scheduled = constant(0.0)
    gamma: Share = 1.0
    gae_lambda: Share = 0.95
    vf_coef: NonNegative = 0.5
    max_grad_norm: Positive = 0.5
    normalize_advantage: bool = True
    adam_eps: Positive = 1e-5

    @property
    def steps_between_updates(self) -> int:
        """Steps of each row."""
        return self.n_steps


class ClippedPolicy(_ActorCritic):
    """Words that the three PPOs share."""

    batch_size: Annotated[int, Field(ge=2)] = 1024
    n_epochs: PositiveInt = 4
    clip_range: Positive = 0.2
    target_kl: Positive | None = None


class Ppo(ClippedPolicy):
    """SB3's PPO."""

    name: Literal["ppo"] = "ppo"


class MaskablePpo(ClippedPolicy):
    """sb3-contrib's PPO that takes the mask of legal actions."""

    name: Literal["maskable_ppo"] = "maskable_ppo"


class RecurrentPpo(ClippedPolicy):
    """sb3-contrib's PPO with an LSTM; its widths stand in the network of kind "lstm"."""

    name: Literal["recurrent_ppo"] = "recurrent_ppo"


class A2c(_ActorCritic):
    """SB3's A2C, with Adam."""

    name: Literal["a2c"] = "a2c"


class Imitation(_Strict):
    """Cross-entropy on the oracle's settings: no reinforcement, a point of reference."""

    name: Literal["imitation"] = "imitation"
    n_steps: NSteps = 4
    batch_size: Annotated[int, Field(ge=2)] = 1024
    n_epochs: PositiveInt = 1
    learning_rate: Scheduled = constant(1e-3)
    max_grad_norm: Positive = 10.0
    adam_eps: Positive = 1e-8

    @property
    def steps_between_updates(self) -> int:
        """Steps of each row."""
        return self.n_steps


# ---------------------------------------------------------------- from a replay buffer


class OffPolicy(_Strict):
    """Words that algorithms with a replay buffer share."""

    learning_rate: Scheduled = constant(1e-4)
    buffer_size: PositiveInt = 100_000
    learning_starts: Annotated[int, Field(ge=0)] = 1_000
    batch_size: Annotated[int, Field(ge=2)] = 256
    tau: Share = 1.0
    gamma: Share = 1.0
    train_freq: PositiveInt = 4
    gradient_steps: PositiveInt = 1
    adam_eps: Positive = 1e-8

    @property
    def steps_between_updates(self) -> int:
        """Steps of each row."""
        return self.train_freq


class ValueBased(OffPolicy):
    """DQN's words; ``exploration`` is the share of random actions."""

    exploration: Scheduled = constant(0.1)
    target_update_interval: PositiveInt = 10_000
    max_grad_norm: Positive = 10.0


class Dqn(ValueBased):
    """SB3's DQN."""

    name: Literal["dqn"] = "dqn"


class QrDqn(ValueBased):
    """sb3-contrib's QR-DQN; ``n_quantiles`` stands in the network."""

    name: Literal["qrdqn"] = "qrdqn"


class Sac(OffPolicy):
    """SB3's SAC. ent_coef: a number, a schedule, or "auto", learned for ``target_entropy``."""

    name: Literal["sac"] = "sac"
    learning_rate: Scheduled = constant(3e-4)
    tau: Share = 0.005
    train_freq: PositiveInt = 1
    ent_coef: Scheduled | Literal["auto"] = "auto"
    target_entropy: float | Literal["auto"] = "auto"
    target_update_interval: PositiveInt = 1


class Td3(OffPolicy):
    """SB3's TD3; ``action_noise`` is the standard deviation of the noise that explores."""

    name: Literal["td3"] = "td3"
    learning_rate: Scheduled = constant(1e-3)
    tau: Share = 0.005
    train_freq: PositiveInt = 1
    policy_delay: PositiveInt = 2
    target_policy_noise: NonNegative = 0.2
    target_noise_clip: NonNegative = 0.5
    action_noise: NonNegative = 0.1


AlgorithmConfig = Ppo | MaskablePpo | RecurrentPpo | A2c | Imitation | Dqn | QrDqn | Sac | Td3

ALGORITHMS: dict[str, type[AlgorithmConfig]] = {
    "ppo": Ppo,
    "a2c": A2c,
    "maskable_ppo": MaskablePpo,
    "recurrent_ppo": RecurrentPpo,
    "dqn": Dqn,
    "qrdqn": QrDqn,
    "sac": Sac,
    "td3": Td3,
    "imitation": Imitation,
}
"""By the name a config writes."""


# ---------------------------------------------------------------- sizes


def mistaken_sizes(algorithm: AlgorithmConfig, n_envs: int) -> Iterator[str]:
    """Sizes that are right on their own and do not go together, a sentence each."""
    if isinstance(algorithm, OffPolicy):
        yield from _too_small_for(algorithm, n_envs)
        return
    rollout = algorithm.n_steps * n_envs
    if rollout < 2:
        yield "n_envs x algorithm.n_steps is 1 step: a rollout needs at least 2"
    elif not isinstance(algorithm, A2c) and rollout % algorithm.batch_size:
        low = [size for size in range(1, isqrt(rollout) + 1) if rollout % size == 0]
        sizes = sorted({*low, *(rollout // size for size in low)} - {1})
        near = sorted(sizes, key=lambda size: abs(size - algorithm.batch_size))[:2]
        yield (
            f"algorithm.batch_size = {algorithm.batch_size} does not divide the rollout of "
            f"{rollout} steps (n_envs x n_steps): write {' or '.join(map(str, sorted(near)))}"
        )


def _too_small_for(algorithm: OffPolicy, n_envs: int) -> Iterator[str]:
    if algorithm.buffer_size < n_envs:
        yield (
            f"algorithm.buffer_size = {algorithm.buffer_size} holds less than one step of "
            f"{n_envs} rows: write at least {n_envs}"
        )
    if isinstance(algorithm, ValueBased) and algorithm.target_update_interval < n_envs:
        yield (
            f"algorithm.target_update_interval = {algorithm.target_update_interval} is below "
            f"one step of {n_envs} rows: write at least {n_envs}"
        )
