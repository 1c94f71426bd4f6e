"""What a suite of trainings found: algorithms x runs x tasks, with a reason for every hole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from niulab.errors import ConfigError, nearest
from niulab.evaluation.curves import Curve

__all__ = ["Cell", "SuiteResults"]

Cell = tuple[str, int, str]
"""One training: its algorithm, its seed, its task."""

_Floats = NDArray[np.float64]
_FIGURES = ("scores", "regrets", "steps", "wall_seconds", "cpu_seconds")
_MOST_SHOWN = 5


@dataclass(frozen=True, eq=False)
class SuiteResults:
    """Every algorithm on every task with every seed; read-only arrays (algorithms, runs, tasks).

    Run ``i`` has seed ``seeds[i]``. scores: normalized scores, float64; NaN where a cell failed or
    has none, and then ``reasons`` says why, and nowhere else. regrets: exact regret summed over the
    training, in the task's own unit, so never to be averaged over tasks; NaN where unknown. steps:
    environment steps trained, int64. wall_seconds, cpu_seconds: NaN where unmeasured. curves: the
    evaluations during training, where there were any.

    Raises ConfigError that lists every mistake.
    """

    algorithms: tuple[str, ...]
    tasks: tuple[str, ...]
    seeds: tuple[int, ...]
    scores: _Floats
    regrets: _Floats
    steps: NDArray[np.int64]
    wall_seconds: _Floats
    cpu_seconds: _Floats
    reasons: Mapping[Cell, str] = field(default_factory=dict)
    curves: Mapping[Cell, Curve] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in ("algorithms", "tasks", "seeds"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        for name in ("reasons", "curves"):
            object.__setattr__(self, name, dict(getattr(self, name)))
        faults = _name_faults(self)
        for name in _FIGURES:
            try:
                frozen = _frozen(getattr(self, name), np.int64 if name == "steps" else np.float64)
            except (TypeError, ValueError):
                faults.append(f"{name}: no array of numbers")
                continue
            object.__setattr__(self, name, frozen)
            faults += _array_faults(name, frozen, self.shape)
        faults = faults or _cell_faults(self)  # cells are looked up in sound axes only
        if faults:
            raise ConfigError("suite results: " + "; ".join(faults))

    @property
    def shape(self) -> tuple[int, int, int]:
        """Algorithms, runs, tasks."""
        return len(self.algorithms), len(self.seeds), len(self.tasks)

    @property
    def failed(self) -> NDArray[np.bool_]:
        """Cells without a score: (algorithms, runs, tasks)."""
        return np.isnan(self.scores)

    def scores_of(self, algorithm: str) -> _Floats:
        """The matrix (runs, tasks) of an algorithm; raises ConfigError for one that is not here."""
        scores: _Floats = self.scores[_place(algorithm, self.algorithms, "algorithm")]
        return scores

    def curves_of(self, algorithm: str, task: str) -> tuple[Curve, ...]:
        """Curves of the runs that have a score and any evaluation, in the order of their seeds."""
        column = self.scores_of(algorithm)[:, _place(task, self.tasks, "task")]
        cells = [
            (algorithm, seed, task)
            for seed, score in zip(self.seeds, column, strict=True)
            if not np.isnan(score)
        ]
        found = (self.curves.get(cell) for cell in cells)
        return tuple(curve for curve in found if curve is not None and curve.steps)

    def has_common_steps(self, algorithm: str) -> bool:
        """Whether every run of the algorithm that has a score has a curve, and all of them meet."""
        curves = [curve for task in self.tasks for curve in self.curves_of(algorithm, task)]
        if not curves or len(curves) < np.count_nonzero(~np.isnan(self.scores_of(algorithm))):
            return False
        return max(c.steps[0] for c in curves) <= min(c.steps[-1] for c in curves)

    def to_records(self) -> list[dict[str, Any]]:
        """One record per cell, algorithm by algorithm, ready for CSV and JSON: None for NaN."""
        return [
            {"algorithm": algorithm, "task": task, "seed": seed}
            | {name: _plain(getattr(self, name)[i, j, k]) for name in _FIGURES}
            | {"reason": self.reasons.get((algorithm, seed, task), "")}
            for i, algorithm in enumerate(self.algorithms)
            for k, task in enumerate(self.tasks)
            for j, seed in enumerate(self.seeds)
        ]


def _frozen(values: Any, dtype: type[np.generic]) -> NDArray[Any]:
    given = np.asarray(values)
    array = np.array(given, dtype=dtype)
    if dtype is np.int64 and not np.array_equal(array, given):
        raise ValueError
    array.setflags(write=False)
    return array


def _name_faults(results: SuiteResults) -> list[str]:
    faults = []
    for name in ("algorithms", "tasks", "seeds"):
        values: Sequence[Any] = getattr(results, name)
        if not values:
            faults.append(f"{name}: none; a suite has at least one")
        twice = sorted({str(value) for value in values if values.count(value) > 1})
        if twice:
            faults.append(f"{name}: {', '.join(twice)} listed twice")
    return faults


def _array_faults(name: str, array: NDArray[Any], shape: tuple[int, int, int]) -> list[str]:
    if array.shape != shape:
        return [f"{name}: shape {array.shape}, expected (algorithms, runs, tasks) = {shape}"]
    faults = []
    if np.isinf(array).any():
        faults.append(f"{name}: infinity; write NaN and a reason")
    if name in {"steps", "wall_seconds", "cpu_seconds"} and (array < 0).any():
        faults.append(f"{name}: {array.min()} is below 0")
    return faults


def _cell_faults(results: SuiteResults) -> list[str]:
    holes = {
        (results.algorithms[i], results.seeds[j], results.tasks[k])
        for i, j, k in np.argwhere(results.failed)
    }
    said = {cell for cell, reason in results.reasons.items() if reason.strip()}
    known = {
        (algorithm, seed, task)
        for algorithm in results.algorithms
        for seed in results.seeds
        for task in results.tasks
    }
    named = {*results.reasons, *results.curves}
    groups = (
        (named - known, "{}: no such cell (algorithm, seed, task)"),
        (holes - said, "{}: no score and no reason; say why"),
        ({*results.reasons} & known - holes, "{}: a reason beside a score; leave it out"),
    )
    return [fault for cells, text in groups for fault in _first(cells, text)]


def _first(cells: set[Cell], text: str) -> list[str]:
    """The text of the first few cells and a count of the others, which would bury them."""
    shown = [text.format(cell) for cell in sorted(cells, key=str)[:_MOST_SHOWN]]
    n_more = len(cells) - len(shown)
    return [*shown, f"and {n_more} more cells"] if n_more else shown


def _place(name: str, names: tuple[str, ...], what: str) -> int:
    if name not in names:
        raise ConfigError(f"no {what} '{name}' in the suite{nearest(name, names)}")
    return names.index(name)


def _plain(value: np.generic) -> float | int | None:
    number: float | int = value.item()
    return None if number != number else number  # noqa: PLR0124, only NaN differs from itself
