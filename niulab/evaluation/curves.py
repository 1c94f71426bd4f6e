"""Learning curves as runs write them: one JSON object per line, ``{"step": n, "scores": {...}}``.

``scores`` is a score's ``to_record()``. Figures here are exact evaluations, so a curve carries no
evaluation noise and its first crossing of a threshold is a fact.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from niulab.errors import ConfigError

__all__ = ["CURVE_FILE", "THRESHOLDS", "Curve", "Until", "common_grid", "read_curve"]

CURVE_FILE = "evaluations.jsonl"
"""Name of the file in a run folder."""

THRESHOLDS = (0.9, 0.99, 0.999)
"""Normalized scores whose first crossing measures sample efficiency."""

Until = Literal["shortest", "longest"]
"""Where a common grid ends: with the shortest run, or with the longest."""


@dataclass(frozen=True)
class Curve:
    """One run's evaluations: steps (environment steps, ascending) and what was measured there."""

    name: str
    steps: tuple[int, ...]
    scores: tuple[dict[str, Any], ...]

    def series(self, key: str) -> NDArray[np.float64]:
        """One figure along the run, NaN where it is missing.

        "cumulative_regret" is the regret summed over steps so far, each evaluation standing for the
        steps since the last one; NaN from the first evaluation without a regret on.
        """
        if key == "cumulative_regret":
            return np.cumsum(self.series("regret") * np.diff(self.steps, prepend=0))
        values = [row.get(key) for row in self.scores]
        return np.array([np.nan if value is None else float(value) for value in values])

    def steps_to(self, normalized_score: float) -> int | None:
        """First evaluated step at which the normalized score is reached, or None."""
        reached = np.flatnonzero(self.series("normalized_score") >= normalized_score)
        return self.steps[reached[0]] if len(reached) else None

    def cumulative_regret(self) -> float:
        """Regret summed over all steps of the run; 0 for a run without an evaluation."""
        return float(self.series("cumulative_regret")[-1]) if self.steps else 0.0


def read_curve(path: Path, *, name: str | None = None) -> Curve:
    """Read the evaluations of a run folder, or of the file itself.

    Raises ConfigError naming file and line. A last line cut short by a killed run is left out.
    """
    file = path / CURVE_FILE if path.is_dir() else path
    try:
        lines = file.read_text(encoding="utf-8").splitlines(keepends=True)
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no UTF-8 text"
        raise ConfigError(
            f"cannot read the evaluations '{file}': {reason}; give a run folder"
        ) from None
    steps: list[int] = []
    scores: list[dict[str, Any]] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip() or (number == len(lines) and not line.endswith("\n")):
            continue
        row = _row(line, f"{file}:{number}")
        if steps and row["step"] <= steps[-1]:
            raise ConfigError(
                f"{file}:{number}: step {row['step']} follows step {steps[-1]}: steps ascend"
            )
        steps.append(row["step"])
        scores.append(row["scores"])
    return Curve(name or file.parent.name, tuple(steps), tuple(scores))


def common_grid(
    curves: Sequence[Curve], key: str, *, n_points: int = 101, until: Until = "shortest"
) -> dict[str, Any]:
    """Curves of unequal length on one grid of steps, up to the shortest run's end or the longest's.

    Returns ``{"steps": (n_points,), "values": (n_curves, n_points)}``, linear between evaluations;
    NaN before a run's first evaluation and beyond its last.
    """
    if not curves or not all(curve.steps for curve in curves):
        raise ConfigError("a common grid needs at least one evaluation in every run")
    firsts, lasts = ([curve.steps[place] for curve in curves] for place in (0, -1))
    if until == "longest":
        first, last = min(firsts), max(lasts)
    else:
        first, last = max(firsts), min(lasts)
        if first > last:
            raise ConfigError(
                f"no step lies within every run: one begins at {first}, one ends at {last}; "
                'write until="longest"'
            )
    grid = np.linspace(first, last, n_points)
    values = [
        np.interp(grid, curve.steps, curve.series(key), left=np.nan, right=np.nan)
        for curve in curves
    ]
    return {"steps": grid, "values": np.stack(values)}


def _row(line: str, where: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise ConfigError(f"{where}: no JSON ({error.msg})") from None
    if (
        not isinstance(row, dict)
        or type(row.get("step")) is not int
        or not isinstance(row.get("scores"), dict)
    ):
        raise ConfigError(f'{where}: an evaluation reads {{"step": 4096, "scores": {{...}}}}')
    for key, value in row["scores"].items():
        if isinstance(value, float) and not isfinite(value):
            raise ConfigError(f"{where}: {key} is {value}")
    return row
