"""Benchmark files: strict TOML whose every mistake is reported at once.

title  = "Setting hands"            # heads the report
task   = "niulab/Arrange-v0"        # an environment's id
agents = ["random", "oracle"]       # names of agents.registry, model:PATH, table:PATH
seed   = 0                          # of the simulated cross-check
rounds = 200000                     # of the cross-check; 0 for none
level  = 0.95                       # of its interval
stochastic = false                  # use probabilities instead of the likeliest action
[env]                               # keywords of the environment
rules  = "single-double-super"
[[train]]                           # runs to train first (the command line does)
config = "ppo_arrange"
name   = "PPO"
seeds  = [0, 1]
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from niulab.agents.registry import make_agent
from niulab.engine.rules.toml import parse_toml, read_text
from niulab.envs.presets import full_id
from niulab.envs.settings import EnvSettings, make_settings
from niulab.errors import CheckpointError, ConfigError, nearest

__all__ = [
    "BenchmarkConfig",
    "TrainRow",
    "find_config",
    "parse_benchmark",
    "read_benchmark",
    "read_tree",
]


@dataclass(frozen=True)
class TrainRow:
    """A training config whose runs enter the league, one run per seed."""

    config: str
    name: str
    seeds: tuple[int, ...] = (0,)


@dataclass(frozen=True)
class BenchmarkConfig:
    """A checked benchmark: one task, the agents that play it and the size of the cross-check."""

    title: str
    task: str
    settings: EnvSettings
    agents: tuple[str, ...]
    train: tuple[TrainRow, ...] = ()
    seed: int = 0
    rounds: int = 200_000
    level: float = 0.95
    stochastic: bool = False

    def __post_init__(self) -> None:
        if mistakes := _mistaken_numbers(vars(self)):
            raise ConfigError("; ".join(mistakes))


_KEYS = {
    "title": str,
    "task": str,
    "env": dict,
    "agents": list,
    "train": list,
    "seed": int,
    "rounds": int,
    "level": float,
    "stochastic": bool,
}
_TRAIN_KEYS = {"config": str, "name": str, "seeds": list}
_WORDS = {
    str: "a text",
    dict: "a table",
    list: "a list",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
}


def find_config(name: str | Path, kind: str) -> Path:
    """The file of an experiment given by path, or by name among the shipped ``configs/<kind>``."""
    path = Path(name)
    if path.suffix == ".toml":
        if path.is_file():
            return path
        raise ConfigError(f"there is no file '{path}': give a path or one of {_shipped(kind)}")
    for folder in _config_folders(kind):
        if (folder / f"{name}.toml").is_file():
            return folder / f"{name}.toml"
    known = _shipped(kind)
    raise ConfigError(
        f"no {kind} config '{name}'{nearest(str(name), known)} (or give the path of a .toml file)"
    )


def read_tree(path: Path) -> dict[str, Any]:
    """The tree of a config file; raises ConfigError for one that is no TOML."""
    try:
        text = read_text(path)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ConfigError(f"cannot read '{path}': {reason}") from None
    try:
        return parse_toml(text)
    except ValueError as error:
        raise ConfigError(f"{path} is no TOML: {error}") from None


def read_benchmark(name: str | Path) -> BenchmarkConfig:
    """Read a benchmark by path or by shipped name; raises ConfigError with every mistake."""
    path = find_config(name, "benchmark")
    return parse_benchmark(read_tree(path), origin=str(path))


def parse_benchmark(tree: Mapping[str, Any], *, origin: str = "benchmark") -> BenchmarkConfig:
    """Check a benchmark given as plain data; raises ConfigError with every mistake."""
    mistakes = _mistaken_keys(tree, _KEYS, "")
    values = {key: tree[key] for key in _KEYS if key in tree and _is_a(tree[key], _KEYS[key])}
    mistakes += [f"{key} is missing" for key in ("task", "agents") if key not in tree]
    mistakes += _mistaken_numbers(values)
    settings = _read_settings(values, mistakes)
    if settings is not None:
        _check_agents(values.get("agents", []), settings, mistakes)
    rows = _read_train(values.get("train", []), mistakes)
    if not mistakes and not values["agents"] and not rows:
        mistakes.append("agents is empty: name at least one agent, or a run to train")
    if mistakes or settings is None:
        lines = "\n".join(f"  - {mistake}" for mistake in mistakes)
        raise ConfigError(f"{origin} is no benchmark:\n{lines}")
    task = full_id(values["task"])
    return BenchmarkConfig(
        title=values.get("title", f"League of {task}"),
        task=task,
        settings=settings,
        agents=tuple(values["agents"]),
        train=rows,
        seed=values.get("seed", BenchmarkConfig.seed),
        rounds=values.get("rounds", BenchmarkConfig.rounds),
        level=float(values.get("level", BenchmarkConfig.level)),
        stochastic=values.get("stochastic", BenchmarkConfig.stochastic),
    )


def _read_settings(values: Mapping[str, Any], mistakes: list[str]) -> EnvSettings | None:
    task = values.get("task")
    if task is None:
        return None
    try:
        task = full_id(task)
    except ConfigError as error:
        mistakes.append(f"task: {error}")
        return None
    try:
        return make_settings(task, **values.get("env", {}))
    except ConfigError as error:
        lines = str(error).splitlines()
        mistakes += [f"env: {line.strip().removeprefix('- ')}" for line in lines[1:] or lines]
    return None


def _check_agents(names: list[Any], settings: EnvSettings, mistakes: list[str]) -> None:
    for name in names:
        if not isinstance(name, str):
            mistakes.append(f"agents holds {name!r}: write names in quotes")
            continue
        try:  # files are opened too: better now than after an hour of training
            make_agent(name, settings)
        except (ConfigError, CheckpointError) as error:
            mistakes.append(f"agents: {error}")
    texts = [name for name in names if isinstance(name, str)]
    mistakes += [
        f"agents names '{name}' twice" for name in sorted(set(texts)) if texts.count(name) > 1
    ]


def _read_train(rows: list[Any], mistakes: list[str]) -> tuple[TrainRow, ...]:
    found = []
    for number, row in enumerate(rows):
        where = f"train[{number}]."
        if not isinstance(row, dict):
            mistakes.append(f"train[{number}] is a table: write [[train]] and its keys below")
            continue
        wrong = _mistaken_keys(row, _TRAIN_KEYS, where)
        if "config" not in row:
            wrong.append(f"{where}config is missing: name a training config, as ppo_arrange")
        seeds = row.get("seeds", [0])
        if isinstance(seeds, list) and (
            not seeds or len(set(map(repr, seeds))) < len(seeds) or not all(map(_is_seed, seeds))
        ):
            wrong.append(f"{where}seeds lists different whole numbers >= 0, got {seeds}")
        mistakes += wrong
        if not wrong:
            name = row.get("name", Path(row["config"]).stem)
            found.append(TrainRow(row["config"], name, tuple(seeds)))
    runs = Counter(f"{Path(row.config).stem}-{seed}" for row in found for seed in row.seeds)
    mistakes += [
        f"train asks for the run '{run}' twice: runs are kept by their config's file name and seed"
        for run, times in runs.items()
        if times > 1
    ]
    return tuple(found)


def _mistaken_keys(tree: Mapping[str, Any], known: Mapping[str, type], where: str) -> list[str]:
    mistakes = [
        f"unknown key '{where}{key}'{nearest(key, known)}" for key in tree if key not in known
    ]
    for key, kind in known.items():
        if key in tree and not _is_a(tree[key], kind):
            mistakes.append(f"{where}{key} is {_WORDS[kind]}, got {tree[key]!r}")
    return mistakes


def _mistaken_numbers(values: Mapping[str, Any]) -> list[str]:
    mistakes = []
    if not _is_seed(values.get("seed", 0)):
        mistakes.append(f"seed is a whole number from 0 to 2**63 - 1, got {values['seed']}")
    rounds = values.get("rounds", BenchmarkConfig.rounds)
    if rounds != 0 and rounds < 100:
        mistakes.append(f"rounds is 0 (no cross-check) or at least 100, got {rounds}")
    if not 0 < values.get("level", BenchmarkConfig.level) < 1:
        mistakes.append(f"level lies between 0 and 1, got {values['level']}: write 0.95")
    return mistakes


def _is_a(value: Any, kind: type) -> bool:
    if kind is float:
        return type(value) in {int, float}
    return type(value) is kind


def _is_seed(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 63


def _config_folders(kind: str) -> list[Path]:
    """Where experiments lie: inside an installed wheel, or at the root of a source tree."""
    package = Path(__file__).resolve().parents[1]
    return [package / "configs" / kind, package.parent / "configs" / kind]


def _shipped(kind: str) -> list[str]:
    return sorted({file.stem for folder in _config_folders(kind) for file in folder.glob("*.toml")})
