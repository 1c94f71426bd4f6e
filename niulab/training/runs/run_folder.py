"""The folder of a training run: what stands where, and who may write there.

manifest.json        what is trained, with which versions; written before the first step
config.toml          the whole config, defaults written out
evaluations.jsonl    one line per evaluation (see ``evaluation.curves``)
tb/                  TensorBoard events
checkpoints/         states to go on from (see ``checkpoint``)
best/, final/        model files: the best score on the way, the weights at the end
result.json          the final score; written last, so a run that has it is finished
"""

from __future__ import annotations

import json
import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from niulab.agents.models.file import write_synced, writing
from niulab.envs.encoding import Encoding
from niulab.errors import CheckpointError, ConfigError
from niulab.evaluation.curves import CURVE_FILE
from niulab.seeding import ALGORITHM_VERSION
from niulab.training.config import TrainConfig

__all__ = ["RunFolder", "default_folder", "package_versions", "run_identity"]

_FORMAT = "niulab-run-v1"
_UNFINISHED = ".manifest.json.new"
_PACKAGES = ("gymnasium", "numpy", "torch", "stable-baselines3", "sb3-contrib")


def default_folder(config: TrainConfig) -> Path:
    """Where a run goes that was given no folder."""
    return Path("runs") / f"{config.name}-{config.seed}"


def package_versions() -> dict[str, str]:
    """Versions on which a run's figures depend; "unknown" for a library without metadata."""
    from niulab import __version__  # the package's root is only complete once it is imported

    found = {"python": platform.python_version(), "niulab": __version__}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "unknown"
    return found


@dataclass(frozen=True)
class RunFolder:
    """The files of one run."""

    path: Path

    @property
    def manifest_file(self) -> Path:
        return self.path / "manifest.json"

    @property
    def evaluations_file(self) -> Path:
        return self.path / CURVE_FILE

    @property
    def result_file(self) -> Path:
        return self.path / "result.json"

    @property
    def events(self) -> Path:
        return self.path / "tb"

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def best(self) -> Path:
        return self.path / "best"

    @property
    def final(self) -> Path:
        return self.path / "final"

    def verify_new(self) -> None:
        """Raise ConfigError if something stands here already.

        A manifest that was never finished is nothing: its run died before it began.
        """
        if self.path.exists() and (
            not self.path.is_dir() or {p.name for p in self.path.iterdir()} - {_UNFINISHED}
        ):
            raise ConfigError(
                f"'{self.path}' exists already, and a run overwrites nothing: go on with that run "
                "(--resume), or give this one another folder, name or seed"
            )

    def create(self, config: TrainConfig, command: str) -> None:
        """Write manifest and config of a run that is about to begin."""
        self.verify_new()
        with writing(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
        manifest = {"format": _FORMAT, **run_identity(config), "legs": [_leg(0, command)]}
        _write_json(self.manifest_file, manifest)
        self._write_config(config)

    def _write_config(self, config: TrainConfig) -> None:
        _replace(self.path / "config.toml", config.to_toml().encode())

    def verify_resumable(self, config: TrainConfig) -> None:
        """Raise CheckpointError, naming what changed, unless ``config`` is the run's own."""
        manifest = self.read_manifest()
        changed = [
            f"{key} was {_show(old)}, is {_show(new)}"
            for key, old, new in _differences(manifest, run_identity(config))
        ]
        if changed:
            raise CheckpointError(
                f"the run in '{self.path}' was begun with another config:\n"
                + "\n".join(f"  - {line}" for line in changed)
                + "\nresume it with its own config.toml, or begin a new run"
            )

    def read_manifest(self) -> dict[str, Any]:
        """The manifest; CheckpointError if there is none."""
        try:
            manifest = json.loads(self.manifest_file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            raise CheckpointError(
                f"there is no run to resume in '{self.path}' (no manifest.json): begin it without "
                "--resume"
            ) from None
        if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT:
            raise CheckpointError(
                f"'{self.manifest_file}' is not the manifest of a run of this version: begin a new "
                "run"
            )
        return manifest

    def add_leg(self, step: int, config: TrainConfig, command: str) -> None:
        """Note that the run goes on from ``step``, and with which versions."""
        if not (self.path / "config.toml").exists():  # killed between manifest and config
            self._write_config(config)
        manifest = self.read_manifest()
        manifest["legs"].append(_leg(step, command))
        _write_json(self.manifest_file, manifest)

    def add_evaluation(self, line: Mapping[str, Any]) -> None:
        """Append one evaluation."""
        place = self.evaluations_file
        with writing(place), place.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(line, allow_nan=False) + "\n")

    def drop_evaluations_after(self, step: int) -> None:
        """Forget what a killed run evaluated after the checkpoint it goes on from."""
        if not self.evaluations_file.exists():
            return
        lines = self.evaluations_file.read_text(encoding="utf-8").splitlines(keepends=True)
        kept = [line for line in lines if line.endswith("\n") and json.loads(line)["step"] <= step]
        _replace(self.evaluations_file, "".join(kept).encode())

    def write_result(self, result: Mapping[str, Any]) -> None:
        """Close the run."""
        _write_json(self.result_file, result)

    def read_result(self) -> dict[str, Any] | None:
        """What ``write_result`` wrote, or None while the run is not finished."""
        if not self.result_file.exists():
            return None
        try:
            result: Any = json.loads(self.result_file.read_text(encoding="utf-8"))
        except ValueError:
            result = None
        if not isinstance(result, dict) or not {"wall_seconds", "cpu_seconds"} <= result.keys():
            raise CheckpointError(
                f"'{self.result_file}' is not what a finished run wrote: remove it, and --resume "
                "goes on from the last checkpoint"
            )
        return result


def run_identity(config: TrainConfig) -> dict[str, Any]:
    """What must not change between the legs of a run."""
    settings, encoding = config.settings, Encoding(config.settings)
    return {
        "config": config.to_json(),
        "settings": settings.to_json(),
        "rules": settings.rules.name,
        "rules_hash": settings.rules_hash,
        "encoding": encoding.name,
        "n_columns": encoding.size,
        "seed": config.seed,
        "planned_steps": config.total_steps,
        "deals_version": ALGORITHM_VERSION,
    }


def _leg(step: int, command: str) -> dict[str, Any]:
    return {
        "from_step": step,
        "command": command,
        "began": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": package_versions(),
    }


def _differences(
    old: Mapping[str, Any], new: Mapping[str, Any], prefix: str = ""
) -> Iterator[tuple[str, Any, Any]]:
    """Keys of ``new`` whose value in ``old`` is another, with both values."""
    for key, value in new.items():
        before = old.get(key)
        if isinstance(value, Mapping) and isinstance(before, Mapping):
            both = {**dict.fromkeys(before), **value}
            yield from _differences(before, both, f"{prefix}{key}.")
        elif before != value:
            yield f"{prefix}{key}", before, value


def _show(value: Any) -> str:
    return "not set" if value is None else json.dumps(value)


def _write_json(file: Path, content: Mapping[str, Any]) -> None:
    _replace(file, (json.dumps(content, indent=2, allow_nan=False) + "\n").encode())


def _replace(file: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    fresh = file.with_name(f".{file.name}.new")
    with writing(file):
        write_synced(fresh, content)
        fresh.replace(file)
