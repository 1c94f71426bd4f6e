"""Training configs: strict TOML whose every mistake is reported at once.

name        = "ppo_arrange"         # the run's folder is runs/<name>-<seed>
task        = "niulab/Arrange-v0"   # an environment's id
seed        = 0                     # the one seed: of cards, weights, exploration
total_steps = 400_000               # planned environment steps; schedules end there
n_envs      = 2048                  # rows played at once
[env]                               # keywords of the environment
[network]                           # kind = "cards", "mlp" or "lstm", and its widths
[algorithm]                         # name, as "ppo", and SB3's words (``algorithm_config``)
[evaluation]                        # every, in environment steps
[checkpoint]                        # every, keep, replay_buffer
[logging]                           # every
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PositiveInt,
    TypeAdapter,
    ValidationError,
)
from pydantic_core import ErrorDetails

from niulab.agents.models.card import NETWORKS, Network, verify_network
from niulab.engine.rules.toml import overridden
from niulab.envs.presets import full_id
from niulab.envs.settings import EnvSettings, make_settings
from niulab.errors import ConfigError, explained
from niulab.evaluation.config import find_config, read_tree
from niulab.training.algorithm_config import ALGORITHMS, AlgorithmConfig, mistaken_sizes
from niulab.training.schedules import Schedule

__all__ = [
    "TrainConfig",
    "parse_train",
    "read_train",
]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


_ON_POLICY = {"ppo", "a2c", "maskable_ppo"}
"""Algorithms that learn from rounds of the policy at hand, and say by what chances it acts."""

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
    task: Annotated[str, AfterValidator(full_id)] = "niulab/Arrange-v0"
    seed: Annotated[int, Field(ge=0, lt=1 << 63)] = 0
    total_steps: Annotated[int, Field(ge=1, le=10**12)]
    n_envs: Annotated[int, Field(ge=1, le=1 << 16)] = 1
    threads: Annotated[int, Field(ge=1, le=256)] = 1
    device: Annotated[str, Field(pattern=r"^(cpu|cuda(:[0-9]+)?)$")] = "cpu"
    env: dict[str, Any] = Field(default_factory=dict)
    network: Annotated[Network, Field(discriminator="kind")]
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
        return self.algorithm.steps_between_updates * self.n_envs

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
            verify_network(config.network, settings, config.algorithm.name)
        except ConfigError as error:
            mistakes.append(f"network: {error}")
        if config.algorithm.name == "imitation" and (settings.bets or settings.sees_dealer):
            mistakes.append(
                "algorithm: 'imitation' copies the oracle's settings of a hand at a fixed slip and "
                "needs a task of nothing else: write task = 'niulab/Arrange-v0'"
            )
        is_ideal = settings.detector is not None and settings.detector.is_ideal
        if is_ideal and config.algorithm.name not in _ON_POLICY:
            mistakes.append(
                "env: an ideal detector knows the policy whose rounds are learned from: write "
                f"algorithm.name = 'ppo', not '{config.algorithm.name}', or declare a detector"
            )
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
    try:
        task = full_id(task)
    except ConfigError:
        return None  # said already
    try:
        return make_settings(task, **keywords)
    except ConfigError as error:
        lines = str(error).splitlines()
        mistakes += [f"env: {line.strip().removeprefix('- ')}" for line in lines[1:] or lines]
    return None


def _mistaken_batches(tree: Mapping[str, Any]) -> Iterator[str]:
    try:
        algorithm: AlgorithmConfig = TypeAdapter(_Algorithm).validate_python(tree.get("algorithm"))
        n_envs: int = TypeAdapter(PositiveInt).validate_python(tree.get("n_envs", 1))
    except ValidationError:
        return
    yield from mistaken_sizes(algorithm, n_envs)


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
        tags = NETWORKS if key == "kind" else ALGORITHMS
        given = item["input"].get(key) if isinstance(item["input"], Mapping) else item["input"]
        return f"{where}.{key} is one of {', '.join(tags)}, got {reprlib.repr(given)}"
    known = tuple(Schedule.model_fields if len(place) > 2 else model.model_fields)
    return explained(item, where, known)


_MODELS: dict[str, type[BaseModel]] = {
    **NETWORKS,
    **ALGORITHMS,
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
