"""Suite files: learners x tasks x seeds with one budget, in strict TOML whose every mistake is
reported at once.

[suite]
name        = "suite"               # of the report's folder
title       = "Niu Niu, five ways"  # heads the report
seeds       = [0, 1, 2]             # of the cells: one training each
steps       = 400_000               # budget of a cell in environment steps; schedules end there
evaluations = 10                    # of a cell, at even distances
max_cpu_seconds = 600               # optional: a cell that takes longer is stopped, without a score
seed        = 0                     # of the bootstrap, and of scores that have to be simulated
[[task]]
name        = "Arrange"             # the column
id          = "niulab/Arrange-v0"   # an environment's id
steps       = 300_000               # optional: another budget
env         = { rules = "single-double-super" }   # laid over the learners' configs, too
[[learner]]
label       = "PPO, card network"   # one row over all tasks
configs     = { Arrange = "ppo_arrange" }   # a training config for each task it enters
set         = ["algorithm.n_epochs=1"]      # optional: laid over each of them
[[reference]]
label       = "uniform play"
agent       = "random"              # the same on every task, or agents = { Arrange = "oracle" }
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, ValidationError
from pydantic_core import ErrorDetails

from niulab.agents.registry import make_agent
from niulab.engine.rules.toml import overridden
from niulab.envs.presets import full_id
from niulab.envs.settings import EnvSettings, make_settings
from niulab.errors import CheckpointError, ConfigError, explained, nearest
from niulab.evaluation.config import (
    BenchmarkConfig,
    find_config,
    parse_benchmark,
    read_tree,
)
from niulab.training.config import TrainConfig, parse_train

__all__ = [
    "Entry",
    "ReferenceEntry",
    "SuiteConfig",
    "SuiteTask",
    "parse_suite",
    "read_any",
    "slug",
]

_MOST_SHOWN = 3
_AS_SHOWN = {
    "card_order",
    "encoding",
    "illegal",
    "mask",
    "observation",
    "point_flags",
    "reward",
    "reward_scale",
}
"""Settings that a learner may choose: what it is shown and paid while it learns, not the task."""


@dataclass(frozen=True)
class SuiteTask:
    """A column: its name, the environment, and the budget of each of its cells.

    env: keywords that are laid over a learner's own, so that one config serves many of them.
    """

    name: str
    id: str
    env: Mapping[str, Any]
    settings: EnvSettings
    steps: int


@dataclass(frozen=True)
class Entry:
    """A learner on one task, as it is trained there; the seed is the cell's."""

    label: str
    task: str
    config: TrainConfig


@dataclass(frozen=True)
class ReferenceEntry:
    """An agent by its registered name on one task, scored once."""

    label: str
    task: str
    agent: str


@dataclass(frozen=True)
class SuiteConfig:
    """A checked suite. ``tree`` is the file as it was read."""

    name: str
    title: str
    seeds: tuple[int, ...]
    tasks: tuple[SuiteTask, ...]
    labels: tuple[str, ...]
    entries: tuple[Entry, ...]
    references: tuple[ReferenceEntry, ...]
    max_cpu_seconds: float | None
    seed: int
    rounds: int
    level: float
    n_resamples: int
    delta: float
    tree: Mapping[str, Any]

    def task(self, name: str) -> SuiteTask:
        """The task of a name."""
        return next(task for task in self.tasks if task.name == name)


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


Seed = Annotated[int, Field(ge=0, lt=1 << 63)]
Text = Annotated[str, Field(min_length=1, max_length=80)]


class _Suite(_Strict):
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$")]
    title: str = ""
    seeds: Annotated[list[Seed], Field(min_length=1)]
    steps: PositiveInt | None = None
    evaluations: PositiveInt = 10
    max_cpu_seconds: Annotated[float, Field(gt=0)] | None = None
    seed: Seed = 0
    rounds: Annotated[int, Field(ge=100)] = 20_000
    level: Annotated[float, Field(gt=0, lt=1)] = 0.95
    n_resamples: PositiveInt = 2000
    delta: Annotated[float, Field(gt=0, lt=0.5)] = 0.05


class _Task(_Strict):
    name: Text
    id: str
    steps: PositiveInt | None = None
    env: dict[str, Any] = {}


class _Learner(_Strict):
    label: Text
    configs: Annotated[dict[str, str], Field(min_length=1)]
    set: list[str] = []


class _Reference(_Strict):
    label: Text
    agent: str | None = None
    agents: dict[str, str] | None = None


class _File(_Strict):
    suite: _Suite
    task: Annotated[list[_Task], Field(min_length=1)]
    learner: Annotated[list[_Learner], Field(min_length=1)]
    reference: list[_Reference] = []


def read_any(name: str | Path) -> BenchmarkConfig | SuiteConfig:
    """Read a benchmark by path or by shipped name, a league or a suite, as its tables say."""
    path = find_config(name, "benchmark")
    tree = read_tree(path)
    if isinstance(tree.get("suite"), Mapping):
        return parse_suite(tree, origin=str(path))
    if not {"task", "agents", "train"} & tree.keys():
        raise ConfigError(
            f"{path} is neither a league nor a suite: write task and agents for a league on one "
            "task, or the tables [suite], [[task]] and [[learner]]"
        )
    return parse_benchmark(tree, origin=str(path))


def parse_suite(tree: Mapping[str, Any], *, origin: str = "this") -> SuiteConfig:
    """Check a suite given as plain data; raises ConfigError with every mistake."""
    try:
        file = _File.model_validate(dict(tree))
    except ValidationError as error:
        raise _refused(origin, [_explain(item) for item in error.errors()]) from None
    mistakes = [*_mistaken_names(file)]
    tasks = {}
    for number, row in enumerate(file.task):
        settings = _settings_of(row, f"task[{number}].", mistakes)
        steps = row.steps or file.suite.steps
        if steps is None:
            mistakes.append(
                f"task[{number}].steps is missing: give every task a budget, or one in [suite]"
            )
        if settings is not None and steps is not None:
            tasks[row.name] = SuiteTask(row.name, full_id(row.id), row.env, settings, steps)
    entries = [*_entries(file, tasks, mistakes)]
    references = [*_references(file, tasks, mistakes)]
    if mistakes:
        raise _refused(origin, mistakes)
    suite = file.suite
    return SuiteConfig(
        name=suite.name,
        title=suite.title or f"Suite {suite.name}",
        seeds=tuple(suite.seeds),
        tasks=tuple(tasks.values()),
        labels=tuple(row.label for row in file.learner),
        entries=tuple(entries),
        references=tuple(references),
        max_cpu_seconds=suite.max_cpu_seconds,
        seed=suite.seed,
        rounds=suite.rounds,
        level=suite.level,
        n_resamples=suite.n_resamples,
        delta=suite.delta,
        tree=dict(tree),
    )


def slug(name: str) -> str:
    """A label or a task's name as a folder's name."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "-"


def _refused(origin: str, mistakes: list[str]) -> ConfigError:
    lines = "\n".join(f"  - {mistake}" for mistake in mistakes)
    return ConfigError(f"{origin} is no suite:\n{lines}")


_TABLES: dict[str, type[BaseModel]] = {
    "suite": _Suite,
    "task": _Task,
    "learner": _Learner,
    "reference": _Reference,
}


def _explain(item: ErrorDetails) -> str:
    """One line for one of pydantic's errors."""
    loc = item["loc"]
    where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in loc)
    model = _TABLES.get(str(loc[0]), _File) if len(loc) > 1 else _File
    return explained(item, where.removeprefix("."), model.model_fields)


def _mistaken_names(file: _File) -> Iterator[str]:
    """Names that stand twice, or that would share a folder."""
    names = {
        "suite.seeds": list(map(str, file.suite.seeds)),
        "task": [slug(row.name) for row in file.task],
        "learner and reference": [
            *(slug(row.label) for row in file.learner),
            *(slug(row.label) for row in file.reference),
        ],
    }
    for where, found in names.items():
        for name, times in Counter(found).items():
            if times > 1:
                yield f"{where}: '{name}' stands there {times} times: give each another name"


def _settings_of(row: _Task, where: str, mistakes: list[str]) -> EnvSettings | None:
    try:
        task = full_id(row.id)
    except ConfigError as error:
        mistakes.append(f"{where}id: {error}")
        return None
    try:
        return make_settings(task, **row.env)
    except ConfigError as error:
        mistakes += _lines(error, f"{where}env")
    return None


def _entries(file: _File, tasks: Mapping[str, SuiteTask], mistakes: list[str]) -> Iterator[Entry]:
    for number, row in enumerate(file.learner):
        where = f"learner[{number}].configs"
        for name, config in row.configs.items():
            task = _task_of(name, where, file, tasks, mistakes)
            if task is None:
                continue
            every = -(-task.steps // file.suite.evaluations)
            budget = (f"total_steps={task.steps}", f"evaluation.every={every}")
            try:
                path = find_config(config, "train")
                tree = overridden(read_tree(path), row.set)
                tree["env"] = {**tree.get("env", {}), **task.env}
                found = parse_train(overridden(tree, budget), origin=str(path))
            except ConfigError as error:
                mistakes += _lines(error, f"{where}.{name} = '{config}'")
                continue
            if others := _other_settings(task, found):
                mistakes.append(
                    f"{where}.{name} = '{config}' learns another task ({'; '.join(others)}): name "
                    "a training config of this one, or change the task's env"
                )
            yield Entry(row.label, name, found)


def _other_settings(task: SuiteTask, config: TrainConfig) -> list[str]:
    """In which settings a training config is about another task."""
    mine, theirs = (
        {key: value for key, value in settings.to_json().items() if key not in _AS_SHOWN}
        for settings in (task.settings, config.settings)
    )
    keys = dict.fromkeys((*mine, *theirs))
    return [
        f"{key} is {_short(theirs.get(key))} instead of {_short(mine.get(key))}"
        for key in keys
        if mine.get(key) != theirs.get(key)
    ][:_MOST_SHOWN]


def _short(value: Any) -> str:
    if isinstance(value, Mapping) and "name" in value:  # rules of one's own
        return repr(value["name"])
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _references(
    file: _File, tasks: Mapping[str, SuiteTask], mistakes: list[str]
) -> Iterator[ReferenceEntry]:
    for number, row in enumerate(file.reference):
        where = f"reference[{number}]"
        if (row.agent is None) == (row.agents is None):
            mistakes.append(
                f"{where} takes agent = 'random' for every task, or agents = {{ TASK = 'random' }}"
            )
            continue
        agents = row.agents
        if agents is None:
            agents = dict.fromkeys((task.name for task in file.task), str(row.agent))
        for name, agent in agents.items():
            task = _task_of(name, f"{where}.agents", file, tasks, mistakes)
            if task is None:
                continue
            try:
                make_agent(agent, task.settings)
            except (ConfigError, CheckpointError) as error:
                mistakes.append(f"{where} on {name}: {error}")
            yield ReferenceEntry(row.label, name, agent)


def _task_of(
    name: str, where: str, file: _File, tasks: Mapping[str, SuiteTask], mistakes: list[str]
) -> SuiteTask | None:
    """The task of a name; None if there is none, or if it is wrong itself (said already)."""
    names = [row.name for row in file.task]
    if name not in names:
        mistakes.append(f"{where}: no task '{name}'{nearest(name, names)}")
    return tasks.get(name)


def _lines(error: ConfigError, where: str) -> list[str]:
    """The mistakes that an error lists, each with its place."""
    lines = str(error).splitlines()
    return [f"{where}: {line.strip().removeprefix('- ')}" for line in lines[1:] or lines]
