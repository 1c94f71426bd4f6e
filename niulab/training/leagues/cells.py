"""The cells of a suite on disk: one piece of work each, kept as soon as it is finished.

<out>/cells/<label>/<task>/<seed>/cell.json     what came of it, written whole or not at all
                                 .../run/       the training's own folder (see ``run_folder``)

A cell is a training, a reference agent's score, or a task's limit of samples. Nothing in its record
depends on where or beside what it was made, but seconds, the date and the versions do.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from math import isnan
from pathlib import Path
from typing import Any, Literal

from niulab.agents.registry import make_agent
from niulab.envs.settings import EnvSettings
from niulab.errors import CheckpointError, ConfigError, OutOfBudgetError
from niulab.evaluation.benchmark import score_agent
from niulab.evaluation.curves import Curve, read_curve
from niulab.evaluation.edges.samples import sample_limits
from niulab.evaluation.page import write_files
from niulab.evaluation.score import Score
from niulab.parallel import Outcome
from niulab.seeding import ALGORITHM_VERSION
from niulab.training.config import TrainConfig
from niulab.training.run import train
from niulab.training.runs.run_folder import RunFolder, package_versions, run_identity

__all__ = [
    "Cell",
    "LimitWork",
    "ReferenceWork",
    "Status",
    "TrainingWork",
    "curve_of",
    "keep_failure",
    "read_cell",
    "run_cell",
]

_FORMAT = "niulab-cell-v1"

Status = Literal["finished", "failed", "out of budget"]


@dataclass(frozen=True)
class TrainingWork:
    """A training; ``max_cpu_seconds`` stops it and is no part of what it is."""

    config: TrainConfig
    max_cpu_seconds: float | None
    command: str

    @property
    def settings(self) -> EnvSettings:
        return self.config.settings

    def identity(self) -> dict[str, Any]:
        return run_identity(self.config)

    def result(self, folder: Path) -> dict[str, Any]:
        """Begin the training or go on with it, as its folder says."""
        run = RunFolder(folder / "run")
        ended = train(
            self.config,
            run.path,
            resume=run.manifest_file.exists(),
            progress=False,
            command=self.command,
            max_cpu_seconds=self.max_cpu_seconds,
        )
        curve = read_curve(run.path)
        regret = curve.cumulative_regret()
        return {
            **_scored(ended.score),
            "steps": ended.steps,
            "cumulative_regret": None if isnan(regret) else regret,
            "curve": {"steps": list(curve.steps), "scores": list(curve.scores)},
            "wall_seconds": round(ended.wall_seconds, 3),
            "cpu_seconds": round(ended.cpu_seconds, 3),
        }


@dataclass(frozen=True)
class ReferenceWork:
    """A registered agent's score, exact where it can be, else over ``rounds`` episodes."""

    agent: str
    task: str
    settings: EnvSettings
    seed: int
    rounds: int
    level: float

    def identity(self) -> dict[str, Any]:
        return {
            "agent": self.agent,
            "task": self.task,
            **_settings_identity(self.settings),
            "seed": self.seed,
            "rounds": self.rounds,
            "level": self.level,
        }

    def result(self, folder: Path) -> dict[str, Any]:
        """The score; nothing else is written into ``folder``."""
        wall, cpu = time.perf_counter(), time.process_time()
        score = score_agent(
            make_agent(self.agent, self.settings),
            self.settings,
            task=self.task,
            seed=self.seed,
            n_rounds=self.rounds,
            level=self.level,
        )
        return {
            **_scored(score),
            "wall_seconds": round(time.perf_counter() - wall, 3),
            "cpu_seconds": round(time.process_time() - cpu, 3),
        }


@dataclass(frozen=True)
class LimitWork:
    """The limits of samples of a task with a look (see ``evaluation.edges.samples``)."""

    settings: EnvSettings
    delta: float

    def identity(self) -> dict[str, Any]:
        return {**_settings_identity(self.settings), "delta": self.delta}

    def result(self, folder: Path) -> dict[str, Any]:
        """The limits; nothing else is written into ``folder``."""
        limits = sample_limits(self.settings, delta=self.delta)
        return {"limits": [limit.to_dict() for limit in limits]}


@dataclass(frozen=True)
class Cell:
    """One piece of work of a suite and its folder; ``seed`` is that of a training."""

    label: str
    task: str
    seed: int | None
    folder: Path
    work: TrainingWork | ReferenceWork | LimitWork

    @property
    def title(self) -> str:
        """How messages name it."""
        seed = "" if self.seed is None else f", seed {self.seed}"
        return f"{self.label} on {self.task}{seed}"

    @property
    def config_hash(self) -> str:
        """A digest of everything its figures depend on, but versions of packages."""
        text = json.dumps(self.work.identity(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def file(self) -> Path:
        return self.folder / "cell.json"

    def verify_unchanged(self) -> None:
        """Raise CheckpointError if what stands in the folder was begun with another config."""
        record = read_cell(self)
        if record is not None and record["config_hash"] != self.config_hash:
            raise CheckpointError(
                f"{self.title}: its config was {record['config_hash']}, is {self.config_hash}"
            )
        run = RunFolder(self.folder / "run")
        if isinstance(self.work, TrainingWork) and run.manifest_file.exists():
            run.verify_resumable(self.work.config)

    def is_due(self, *, retry_failed: bool) -> bool:
        """Whether there is anything to do: a failure is repeated only when asked for, a training
        that was stopped when it is given other seconds, too.
        """
        record = read_cell(self)
        if record is None:
            return True
        if record["status"] == "out of budget" and isinstance(self.work, TrainingWork):
            return retry_failed or record["max_cpu_seconds"] != self.work.max_cpu_seconds
        return retry_failed and record["status"] == "failed"

    def clear(self) -> None:
        """Forget what is to be done again; a training that was only stopped keeps its run, and goes
        on from the last checkpoint.
        """
        record = read_cell(self)
        if record is None:
            return
        if record["status"] == "failed":
            shutil.rmtree(self.folder / "run", ignore_errors=True)
        self.file.unlink()


def run_cell(cell: Cell) -> dict[str, Any]:
    """Do the work of a cell and keep what came of it; raises whatever the work raises, but for a
    training that ran out of its seconds, which is a result.
    """
    try:
        result = {"status": "finished", **cell.work.result(cell.folder)}
    except OutOfBudgetError as error:
        result = {"status": "out of budget", "error": str(error), **_so_far(cell)}
    return _keep(cell, result)


def keep_failure(cell: Cell, outcome: Outcome[Any]) -> dict[str, Any]:
    """Keep what is known of a cell whose work raised, or whose worker died."""
    return _keep(
        cell,
        {
            "status": "failed",
            "error": outcome.error,
            "traceback": outcome.traceback,
            **_so_far(cell),
        },
    )


def read_cell(cell: Cell) -> dict[str, Any] | None:
    """What was kept of a cell, or None; raises CheckpointError for what is no such record."""
    if not cell.file.exists():
        return None
    try:
        record: Any = json.loads(cell.file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        record = None
    if not isinstance(record, dict) or record.get("format") != _FORMAT:
        raise CheckpointError(
            f"'{cell.file}' is no record of a cell of this version: remove it, and the cell is "
            "made again"
        )
    return record


def curve_of(record: Mapping[str, Any]) -> Curve | None:
    """The evaluations during a cell's training, if there were any."""
    curve = record.get("curve")
    if not curve or not curve["steps"]:
        return None
    return Curve(record["label"], tuple(curve["steps"]), tuple(curve["scores"]))


def _scored(score: Score) -> dict[str, Any]:
    normalized = score.normalized
    return {
        "normalized_score": None if normalized is None else float(normalized),
        "score": score.to_dict(),
    }


def _settings_identity(settings: EnvSettings) -> dict[str, Any]:
    return {
        "settings": settings.to_json(),
        "rules_hash": settings.rules_hash,
        "deals_version": ALGORITHM_VERSION,
    }


def _so_far(cell: Cell) -> dict[str, Any]:
    """The evaluations of a training that did not end."""
    found: dict[str, Any] = {}
    if isinstance(cell.work, TrainingWork):
        found["max_cpu_seconds"] = cell.work.max_cpu_seconds
        try:
            curve = read_curve(cell.folder / "run")
        except ConfigError:  # none, or the reason why it failed
            return found
        found["curve"] = {"steps": list(curve.steps), "scores": list(curve.scores)}
        found["steps"] = curve.steps[-1] if curve.steps else 0
    return found


def _keep(cell: Cell, result: Mapping[str, Any]) -> dict[str, Any]:
    rules = cell.work.settings.rules
    record = {
        "format": _FORMAT,
        "label": cell.label,
        "task": cell.task,
        "seed": cell.seed,
        "config_hash": cell.config_hash,
        "rules": rules.name,
        "rules_hash": rules.rules_hash,
        "deals_version": ALGORITHM_VERSION,
        "versions": package_versions(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        **result,
    }
    text = json.dumps(record, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    write_files({cell.file: text})
    return record
