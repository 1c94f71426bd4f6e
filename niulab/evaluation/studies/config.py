"""Study files: strict TOML whose every mistake is reported at once.

kind  = "mix"                       # what is asked; its room says which keys it knows
title = "Mixes of boxes"            # heads the report
rules = "single-double-super"       # a shipped name, or the path of a rules file
seed  = 0                           # of whatever is simulated
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from niulab.engine.rules.toml import overridden
from niulab.errors import ConfigError, nearest
from niulab.evaluation.config import find_config, read_tree
from niulab.evaluation.studies.study import Progress, Study, StudyConfig

__all__ = ["KINDS", "parse_study", "read_study", "run_study"]

_HERE = ("systems", "target", "ruin", "mix", "kelly", "rebate", "promotions", "readings", "stealth")
_ELSEWHERE = {"detection": "niulab.evaluation.detection.calibration.detection"}

KINDS = (*_HERE, *_ELSEWHERE)
"""Kinds of study: ``x`` lies in a module ``x``, as ``XConfig`` and ``x_study``."""


def read_study(name: str | Path, *, overrides: Iterable[str] = ()) -> StudyConfig:
    """Read a study by path or by shipped name; ``overrides`` are words like ``seed=3``.

    Raises ConfigError with every mistake.
    """
    path = find_config(name, "study")
    return parse_study(overridden(read_tree(path), overrides), origin=str(path))


def parse_study(tree: Mapping[str, Any], *, origin: str = "this") -> StudyConfig:
    """Check a study given as plain data; raises ConfigError with every mistake."""
    kind = tree.get("kind")
    if kind not in KINDS:
        got = "kind is missing" if kind is None else f"kind: no study '{kind}'"
        hint = nearest(str(kind), KINDS) if kind is not None else f"; known: {', '.join(KINDS)}"
        raise ConfigError(f"{origin} is no study:\n  - {got}{hint}")
    try:
        config: StudyConfig = getattr(_room(kind), f"{kind.title()}Config")(**tree)
    except ConfigError as error:
        raise ConfigError(f"{origin}{str(error).removeprefix('this')}") from None
    return config


def run_study(
    config: StudyConfig, *, progress: Progress | None = None, keep: Path | None = None
) -> Study:
    """Run a study; long ones keep finished parts in the folder ``keep`` and use what lies there."""
    study = getattr(_room(config.kind), f"{config.kind}_study")
    result: Study = study(config, progress=progress, keep=keep)
    return result


def _room(kind: str) -> ModuleType:
    return import_module(_ELSEWHERE.get(kind, f"niulab.evaluation.studies.{kind}"))
