"""Tuning configs: strict TOML whose every mistake is reported at once.

name   = "ppo_arrange"    # the study's; its folder is runs/tune/<name>
config = "ppo_arrange"    # the training config that is varied, by name or path
[tune]
n_trials = 20             # trials in all, failed and pruned ones included
seeds    = [0, 1]         # seeds of each trial's runs: all trials are dealt the same cards
seed     = 0              # of the sampler
sampler  = "tpe"          # or "random"
prune    = false          # stop a trial between its runs if it is below the median so far
[tune.set]                # what the runs of trials have otherwise than the config
total_steps = 50_000
[tune.space]              # what is searched; a list is a choice
"algorithm.learning_rate.start" = { low = 1e-3, high = 1e-1, log = true }
"algorithm.n_epochs" = { low = 1, high = 4 }    # two whole numbers: whole numbers
"network.activation" = ["sine", "relu"]
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    PositiveInt,
    Tag,
    ValidationError,
    model_validator,
)

from niulab.engine.rules.toml import overlaid
from niulab.errors import ConfigError, explained
from niulab.evaluation.config import find_config, read_tree
from niulab.training.config import TrainConfig, parse_train, read_train

__all__ = ["Choice", "Range", "TuneConfig", "parse_tune", "read_tune", "without_nones"]

Plain = bool | int | float | str | list[Any] | dict[str, Any]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Range(_Strict):
    """Numbers from ``low`` to ``high``, both included; whole ones if both are."""

    low: int | float
    high: int | float
    log: bool = False
    step: Annotated[int | float, Field(gt=0)] | None = None

    @model_validator(mode="after")
    def _verify(self) -> Range:
        if not self.low < self.high:
            raise ValueError(f"low = {self.low} lies below high, got high = {self.high}")
        if self.log and self.low <= 0:
            raise ValueError(f"log = true needs low above 0, got {self.low}")
        if self.log and self.step is not None:
            raise ValueError("log = true knows no step: leave one of them out")
        if self.is_whole and isinstance(self.step, float):
            raise ValueError(f"whole numbers have a whole step, got {self.step}")
        return self

    @property
    def is_whole(self) -> bool:
        return isinstance(self.low, int) and isinstance(self.high, int)

    @property
    def ends(self) -> tuple[Any, ...]:
        """Values to try before anything is trained."""
        return self.low, self.high


class Choice(_Strict):
    """One of some values."""

    values: Annotated[list[Plain], Field(min_length=1)]

    @property
    def ends(self) -> tuple[Any, ...]:
        """Values to try before anything is trained."""
        return tuple(self.values)


def _kind(value: Any) -> str:
    is_choice = isinstance(value, Choice) or (isinstance(value, Mapping) and "values" in value)
    return "choice" if is_choice else "range"


_Dimension = Annotated[
    Annotated[Range, Tag("range")] | Annotated[Choice, Tag("choice")], Discriminator(_kind)
]


class _Tune(_Strict):
    n_trials: PositiveInt
    seeds: Annotated[list[Annotated[int, Field(ge=0, lt=1 << 63)]], Field(min_length=1)] = [0]
    seed: Annotated[int, Field(ge=0, lt=1 << 63)] = 0
    sampler: Literal["tpe", "random"] = "tpe"
    prune: bool = False
    set: dict[str, Any] = Field(default_factory=dict)
    space: Annotated[dict[str, _Dimension], Field(min_length=1)]


class TuneConfig(_Strict):
    """A checked search.

    base: the training config that is varied; trials train it with ``tune.set`` laid over.
    """

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$")]
    base: TrainConfig
    tune: _Tune

    def trial(self, values: Mapping[str, Any], seed: int) -> TrainConfig:
        """The run of a trial; ConfigError if the values do not go together."""
        return _varied(self.base, self.tune.set, values, seed=seed)

    def best(self, values: Mapping[str, Any]) -> TrainConfig:
        """The config with the values found, at the config's own budget and seed."""
        return _varied(self.base, {}, values, name=f"{self.base.name}-tuned"[:80])

    def with_trials(self, n_trials: int) -> TuneConfig:
        """The search with another number of trials."""
        return self.model_copy(update={"tune": self.tune.model_copy(update={"n_trials": n_trials})})

    def to_json(self) -> dict[str, Any]:
        """What a study must not change between its legs, and the number of trials."""
        return self.model_dump(mode="json") | {"base": self.base.to_json()}


def read_tune(name: str | Path) -> TuneConfig:
    """Read a search by path or by shipped name; raises ConfigError with every mistake."""
    path = find_config(name, "tune")
    return parse_tune(read_tree(path), origin=str(path))


def parse_tune(tree: Mapping[str, Any], *, origin: str = "config") -> TuneConfig:
    """Check a search given as plain data; ``config`` is a name, a path, or a tree of its own.

    Raises ConfigError with every mistake, among them values that the training config refuses.
    """
    mistakes: list[str] = []
    plain = {key: value for key, value in tree.items() if key != "config"}
    base = _base(tree, mistakes)
    if isinstance(tune := plain.get("tune"), Mapping) and isinstance(tune.get("space"), Mapping):
        space = {k: {"values": v} if isinstance(v, list) else v for k, v in tune["space"].items()}
        plain["tune"] = {**tune, "space": space}
    config = None
    try:
        config = TuneConfig.model_validate(plain | {"base": base or _STAND_IN})
    except ValidationError as error:
        mistakes += dict.fromkeys(_explain(item) for item in error.errors())
    if config is not None and base is not None:
        mistakes += _refused(config)
    if mistakes or config is None:
        lines = "\n".join(f"  - {mistake}" for mistake in mistakes)
        raise ConfigError(f"{origin} is no tuning config:\n{lines}")
    return config


def _base(tree: Mapping[str, Any], mistakes: list[str]) -> TrainConfig | None:
    given = tree.get("config")
    try:
        if isinstance(given, Mapping):
            return parse_train(given, origin="config")
        if isinstance(given, str):
            return read_train(given)
    except ConfigError as error:
        mistakes.append(f"config: {error}")
        return None
    mistakes.append("config is missing: name a training config, as ppo_arrange")
    return None


def _refused(config: TuneConfig) -> list[str]:
    """Keys none of whose values the training config takes, and what is wrong with ``tune.set``."""
    first = {key: dimension.ends[0] for key, dimension in config.tune.space.items()}
    try:
        _varied(config.base, config.tune.set, {})
    except ConfigError as error:
        return [f"tune.set: {_lines(error)}"]
    refused = []
    for key, dimension in config.tune.space.items():
        errors = []
        for value in dimension.ends:
            try:
                _varied(config.base, config.tune.set, {key: value})
            except ConfigError as error:
                if not _fits(config, first | {key: value}):  # sizes may have to go together
                    errors.append(f"tune.space: {key} = {value!r}: {_lines(error)}")
        if len(errors) == len(dimension.ends):
            refused.append(errors[0])
    return refused


def _fits(config: TuneConfig, values: Mapping[str, Any]) -> bool:
    try:
        _varied(config.base, config.tune.set, values)
    except ConfigError:
        return False
    return True


def _varied(
    base: TrainConfig, changes: Mapping[str, Any], values: Mapping[str, Any], **top: Any
) -> TrainConfig:
    tree = overlaid(base.to_json(), changes)
    for key, value in values.items():
        above: Any = value
        for part in reversed(key.split(".")):
            above = {part: above}
        tree = overlaid(tree, above)
    return parse_train(without_nones(tree) | top)


def without_nones(tree: Mapping[str, Any]) -> dict[str, Any]:
    """TOML has no null: what is not set is left out."""
    return {
        key: without_nones(value) if isinstance(value, Mapping) else value
        for key, value in tree.items()
        if value is not None
    }


def _lines(error: ConfigError) -> str:
    """A message's mistakes in one line, without its heading."""
    lines = [line.strip().removeprefix("- ") for line in str(error).splitlines()]
    return "; ".join(lines[1:] or lines)


def _explain(item: Any) -> str:
    parts = [str(part) for part in item["loc"]]
    known: tuple[str, ...] = ("name", "config", "tune")
    if parts[0] == "tune" and len(parts) > 1:
        known = tuple(_Tune.model_fields)
        if parts[1] == "space" and len(parts) > 2:
            known = tuple(Range.model_fields)
            if item["type"] == "model_type":
                return (
                    f"tune.space.{parts[2]} is a list of values, or {{ low = ..., high = ... }}, "
                    f"got {item['input']!r}"
                )
            parts = [*parts[:3], *parts[4:]]
            if parts[3:] == ["values"]:
                parts.pop()
    return explained(item, ".".join(parts), known)


_STAND_IN = TrainConfig.model_construct(name="none")
"""Of a training config that was refused, so that the other mistakes are found too."""
