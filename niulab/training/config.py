"""Training configs: strict TOML whose every mistake is reported at once.

name        = "ppo_arrange"         # the run's folder is runs/<name>-<seed>
task        = "niulab/Arrange-v0"   # an environment's id
seed        = 0                     # the one seed: of cards, weights, exploration
total_steps = 400_000               # planned environment steps; schedules end there
n_envs      = 2048                  # rows played at once
[env]                               # keywords of the environment
[network]                           # kind = "cards" or "mlp", and its widths
[algorithm]                         # name = "ppo", "a2c", "maskable_ppo" or "dqn", and SB3's words
[evaluation]                        # every, in environment steps
[checkpoint]                        # every, keep, replay_buffer
[logging]                           # every
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from math import isqrt
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails

from niulab.agents.models.card import CardNetwork, MlpNetwork, verify_network
from niulab.engine.rules.toml import overridden
from niulab.envs.presets import PRESETS
from niulab.envs.settings import EnvSettings, make_settings
from niulab.errors import ConfigError, nearest
from niulab.evaluation.config import explained, find_config, read_tree
from niulab.training.schedules import Schedule, Scheduled, constant

__all__ = [
    "A2c",
    "AlgorithmConfig",
    "Dqn",
    "MaskablePpo",
    "Ppo",
    "TrainConfig",
    "parse_train",
    "read_train",
]

Share = Annotated[float, Field(ge=0, le=1)]
NonNegative = Annotated[float, Field(ge=0)]
Positive = Annotated[float, Field(gt=0)]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class _ActorCritic(_Strict):
    """Words that PPO, A2C and MaskablePPO share, with SB3's names."""

    n_steps: Annotated[int, Field(ge=1, le=1 << 16)] = 16
    learning_rate: Scheduled = constant(3e-4)
    ent_coef: Scheduled = constant(0.0)
    gamma: Share = 1.0
    gae_lambda: Share = 0.95
    vf_coef: NonNegative = 0.5
    max_grad_norm: Positive = 0.5
    normalize_advantage: bool = True
    adam_eps: Positive = 1e-5


class _Clipped(_ActorCritic):
    batch_size: Annotated[int, Field(ge=2)] = 1024
    n_epochs: PositiveInt = 4
    clip_range: Positive = 0.2
    target_kl: Positive | None = None


class Ppo(_Clipped):
    """SB3's PPO."""

    name: Literal["ppo"] = "ppo"


class MaskablePpo(_Clipped):
    """sb3-contrib's PPO that takes the mask of legal actions."""

    name: Literal["maskable_ppo"] = "maskable_ppo"


class A2c(_ActorCritic):
    """SB3's A2C, with Adam."""

    name: Literal["a2c"] = "a2c"


class Dqn(_Strict):
    """SB3's DQN; ``exploration`` is the share of random actions."""

    name: Literal["dqn"] = "dqn"
    learning_rate: Scheduled = constant(1e-4)
    exploration: Scheduled = constant(0.1)
    buffer_size: PositiveInt = 100_000
    learning_starts: Annotated[int, Field(ge=0)] = 1_000
    batch_size: Annotated[int, Field(ge=2)] = 256
    tau: Share = 1.0
    gamma: Share = 1.0
    train_freq: PositiveInt = 4
    gradient_steps: PositiveInt = 1
    target_update_interval: PositiveInt = 10_000
    max_grad_norm: Positive = 10.0
    adam_eps: Positive = 1e-8


AlgorithmConfig = Ppo | MaskablePpo | A2c | Dqn
_Algorithm = Annotated[AlgorithmConfig, Field(discriminator="name")]


class _Evaluation(_Strict):
    """When the policy is scored: exactly where possible, else over ``n_rounds`` episodes."""

    every: PositiveInt | None = None
    n_rounds: Annotated[int, Field(ge=100)] = 20_000


class _Checkpoint(_Strict):
    """When the run's state is written, how many are kept, and whether the replay buffer is."""

    every: PositiveInt | None = None
    keep: PositiveInt = 2
    replay_buffer: bool = True


class _Logging(_Strict):
    """When TensorBoard is told how learning goes."""

    every: PositiveInt = 10_000


class TrainConfig(_Strict):
    """A checked training run; all frequencies are in environment steps."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$")]
    task: str = "niulab/Arrange-v0"
    seed: Annotated[int, Field(ge=0, lt=1 << 63)] = 0
    total_steps: Annotated[int, Field(ge=1, le=10**12)]
    n_envs: Annotated[int, Field(ge=1, le=1 << 16)] = 1
    threads: Annotated[int, Field(ge=1, le=256)] = 1
    device: Annotated[str, Field(pattern=r"^(cpu|cuda(:[0-9]+)?)$")] = "cpu"
    env: dict[str, Any] = Field(default_factory=dict)
    network: Annotated[CardNetwork | MlpNetwork, Field(discriminator="kind")]
    algorithm: _Algorithm
    evaluation: _Evaluation = _Evaluation()
    checkpoint: _Checkpoint = _Checkpoint()
    logging: _Logging = _Logging()

    @cached_property
    def settings(self) -> EnvSettings:
        """The checked settings of the environment."""
        return make_settings(self.task, **self.env)

    @property
    def rollout_steps(self) -> int:
        """Environment steps between two updates; frequencies fall due at such boundaries."""
        algorithm = self.algorithm
        n_steps = algorithm.train_freq if isinstance(algorithm, Dqn) else algorithm.n_steps
        return n_steps * self.n_envs

    def to_json(self) -> dict[str, Any]:
        """The whole config, defaults written out, as JSON can hold it."""
        return self.model_dump(mode="json")

    def to_toml(self) -> str:
        """The whole config as TOML that ``read_train`` reads."""
        return "\n".join(_toml_lines(self.to_json())) + "\n"

    def replaced(self, **changes: Any) -> TrainConfig:
        """The config with other top-level values, checked again."""
        return parse_train(self.model_dump() | changes)


def read_train(name: str | Path, *, overrides: Iterable[str] = (), **changes: Any) -> TrainConfig:
    """Read a config by path or by shipped name; ``changes`` replace top-level values.

    ``overrides`` are words like ``algorithm.n_steps=8`` (see ``engine.rules.toml``). Raises
    ConfigError with every mistake.
    """
    path = find_config(name, "train")
    tree = read_tree(path)
    return parse_train(overridden(tree | changes, overrides), origin=str(path))


def parse_train(tree: Mapping[str, Any], *, origin: str = "config") -> TrainConfig:
    """Check a config given as plain data; raises ConfigError with every mistake."""
    mistakes: list[str] = []
    config = None
    try:
        config = TrainConfig.model_validate(dict(tree))
    except ValidationError as error:
        mistakes += [_explain(item) for item in error.errors()]
    settings = _read_settings(tree, mistakes)
    mistakes += _mistaken_batches(tree)
    if config is not None and settings is not None:
        try:
            verify_network(config.network, settings)
        except ConfigError as error:
            mistakes.append(f"network: {error}")
        if settings.mask != "info":
            mistakes.append("env: training takes masks from infos: leave out mask = 'observation'")
    if mistakes or config is None:
        lines = "\n".join(f"  - {mistake}" for mistake in mistakes)
        raise ConfigError(f"{origin} is no training config:\n{lines}")
    return config


def _read_settings(tree: Mapping[str, Any], mistakes: list[str]) -> EnvSettings | None:
    task, keywords = tree.get("task", "niulab/Arrange-v0"), tree.get("env", {})
    if not isinstance(task, str) or not isinstance(keywords, Mapping):
        return None  # said already
    if task not in PRESETS:
        mistakes.append(f"task: no environment '{task}'{nearest(task, PRESETS)}")
        return None
    try:
        return make_settings(task, **keywords)
    except ConfigError as error:
        lines = str(error).splitlines()
        mistakes += [f"env: {line.strip().removeprefix('- ')}" for line in lines[1:] or lines]
    return None


def _mistaken_batches(tree: Mapping[str, Any]) -> Iterator[str]:
    """Sizes that are right on their own and do not go together."""
    try:
        algorithm: AlgorithmConfig = TypeAdapter(_Algorithm).validate_python(tree.get("algorithm"))
        n_envs: int = TypeAdapter(PositiveInt).validate_python(tree.get("n_envs", 1))
    except ValidationError:
        return
    if isinstance(algorithm, Dqn):
        if algorithm.buffer_size < n_envs:
            yield (
                f"algorithm.buffer_size = {algorithm.buffer_size} holds less than one step of "
                f"{n_envs} rows: write at least {n_envs}"
            )
        if algorithm.target_update_interval < n_envs:
            yield (
                f"algorithm.target_update_interval = {algorithm.target_update_interval} is below "
                f"one step of {n_envs} rows: write at least {n_envs}"
            )
        return
    rollout = algorithm.n_steps * n_envs
    if rollout < 2:
        yield "n_envs x algorithm.n_steps is 1 step: a rollout needs at least 2"
    elif isinstance(algorithm, _Clipped) and rollout % algorithm.batch_size:
        low = [size for size in range(1, isqrt(rollout) + 1) if rollout % size == 0]
        sizes = sorted({*low, *(rollout // size for size in low)} - {1})
        near = sorted(sizes, key=lambda size: abs(size - algorithm.batch_size))[:2]
        yield (
            f"algorithm.batch_size = {algorithm.batch_size} does not divide the rollout of "
            f"{rollout} steps (n_envs x n_steps): write {' or '.join(map(str, sorted(near)))}"
        )


def _explain(item: ErrorDetails) -> str:
    """One line for one of pydantic's errors."""
    parts = [str(part) for part in item["loc"]]
    if len(parts) > 2 and parts[1] in _MODELS:
        place, model = [parts[0], *parts[2:]], _MODELS[parts[1]]
    else:
        place, model = parts, _MODELS.get(parts[0], TrainConfig) if len(parts) > 1 else TrainConfig
    where = ".".join(place)
    if item["type"] in {"union_tag_invalid", "union_tag_not_found"}:
        key = "kind" if place[0] == "network" else "name"
        tags = ("cards", "mlp") if key == "kind" else ("ppo", "a2c", "maskable_ppo", "dqn")
        given = item["input"].get(key) if isinstance(item["input"], Mapping) else item["input"]
        return f"{where}.{key} is one of {', '.join(tags)}, got {reprlib.repr(given)}"
    known = tuple(Schedule.model_fields if len(place) > 2 else model.model_fields)
    return explained(item, where, known)


_MODELS: dict[str, type[BaseModel]] = {
    "cards": CardNetwork,
    "mlp": MlpNetwork,
    "ppo": Ppo,
    "a2c": A2c,
    "maskable_ppo": MaskablePpo,
    "dqn": Dqn,
    "evaluation": _Evaluation,
    "checkpoint": _Checkpoint,
    "logging": _Logging,
}


# ---------------------------------------------------------------- TOML


def _toml_lines(tree: Mapping[str, Any]) -> Iterator[str]:
    tables = {key: value for key, value in tree.items() if isinstance(value, Mapping)}
    for key, value in tree.items():
        if key not in tables and value is not None:
            yield f"{key} = {_toml(value)}"
    for key, table in tables.items():
        yield f"\n[{key}]"
        for inner, value in table.items():
            if value is not None:
                yield f"{inner} = {_toml(value)}"


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        pairs = [f"{_toml(str(key))} = {_toml(inner)}" for key, inner in value.items()]
        return "{ " + ", ".join(pairs) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return TypeAdapter(str).dump_json(value).decode()  # JSON's escapes are TOML's
    return repr(value)
