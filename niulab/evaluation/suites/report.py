"""A suite as a report: figures over tasks and seeds, agents beside them, limits, time, failures.

It has the form of a study, so that ``evaluation.studies.report`` writes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isinf, isnan
from typing import Any

import numpy as np

from niulab.evaluation.curves import THRESHOLDS
from niulab.evaluation.edges.samples import SampleLimit, SamplesOverLimit, samples_over_limit
from niulab.evaluation.plots.suite import (
    aggregate_intervals,
    improvement_intervals,
    performance_profiles,
    suite_curves,
)
from niulab.evaluation.statistics.summary import SuiteSummary
from niulab.evaluation.studies.study import Columns, Picture, Section
from niulab.evaluation.tables import (
    Cells,
    aggregate_cells,
    efficiency_cells,
    failure_cells,
    improvement_cells,
    reference_cells,
    regret_cells,
    score_cells,
    suite_legend,
    time_cells,
)

__all__ = ["ReferenceScore", "SuiteReport"]

_LIMIT = (
    "The limit holds for whoever learns from settled nets, one slip a round, takes the slips of "
    "each signal for unrelated arms and errs with probability {:g} at most."
)
_AGGREGATES = ("iqm", "median", "mean", "optimality_gap")


@dataclass(frozen=True)
class ReferenceScore:
    """An agent that was not trained, on one task; ``half_width`` is 0 where its value is exact.

    value: in the task's own unit. normalized: None where the task has no known optimum, or where
    ``reason`` says why there is no score.
    """

    label: str
    task: str
    agent: str
    value: float | None
    half_width: float
    normalized: float | None
    reason: str = ""


@dataclass(frozen=True, eq=False)
class SuiteReport:
    """What a suite found. limits: by task that has them. learned_from_luck: the algorithm and task
    of each learner to whom those limits apply. cautions: what must be seen before any figure.
    """

    title: str
    summary: SuiteSummary
    references: tuple[ReferenceScore, ...] = ()
    limits: Mapping[str, tuple[SampleLimit, ...]] = field(default_factory=dict)
    learned_from_luck: frozenset[tuple[str, str]] = frozenset()
    cautions: tuple[str, ...] = ()

    kind = "suite"

    def warnings(self) -> tuple[str, ...]:
        """The cautions."""
        return self.cautions

    def over_limits(self) -> dict[tuple[str, str], tuple[SamplesOverLimit, ...]]:
        """Samples over the limit, by (algorithm, task), a figure for each normalized score."""
        results = self.summary.results
        return {
            (algorithm, task): tuple(samples_over_limit(curves, limit) for limit in limits)
            for task, limits in self.limits.items()
            for algorithm in results.algorithms
            if (algorithm, task) in self.learned_from_luck
            if (curves := results.curves_of(algorithm, task))
        }

    def headline(self) -> dict[str, Any]:
        """Aggregates by algorithm, references, limits and every cell, as plain data."""
        summary = self.summary
        return {
            "ranking": list(summary.ranking),
            "aggregates": {
                algorithm: {
                    name: [interval.value, interval.low, interval.high]
                    for name in _AGGREGATES
                    for interval in [getattr(found, name)]
                }
                for algorithm, found in summary.aggregates.items()
            },
            "improvement": {
                f"{one} over {other}": [found.value, found.low, found.high]
                for (one, other), found in summary.improvement.items()
            },
            "left_out": {name: list(tasks) for name, tasks in summary.left_out.items()},
            "level": summary.level,
            "n_resamples": summary.n_resamples,
            "seed": summary.seed,
            "references": [vars(reference) for reference in self.references],
            "limits": {
                task: [limit.to_dict() for limit in limits] for task, limits in self.limits.items()
            },
            "cells": summary.results.to_records(),
        }

    def columns(self) -> Columns:
        """Cells, aggregates, comparisons, steps, curves, references and limits."""
        tables = {
            "cells": self.summary.results.to_records(),
            "aggregates": self._aggregate_records(),
            "improvement": [
                {"algorithm": one, "rival": other, **_ends(found)}
                for (one, other), found in self.summary.improvement.items()
            ],
            "efficiency": self._efficiency_records(),
            "curves": self._curve_records(),
            "references": [vars(reference) for reference in self.references],
            "limits": [
                {"task": task, "score": limit.score, "delta": limit.delta, **vars(one)}
                for task, limits in self.limits.items()
                for limit in limits
                for one in limit.signals
            ],
        }
        return {
            name: {key: [row[key] for row in rows] for key in rows[0]}
            for name, rows in tables.items()
            if rows
        }

    def sections(self) -> tuple[Section, ...]:
        """The chapters, those without a row left out."""
        summary, results = self.summary, self.summary.results
        chapters = (
            Section(
                "Over tasks and seeds",
                tuple(line.removeprefix("- ") for line in suite_legend(summary)),
                aggregate_cells(summary),
                _pictures(
                    (
                        "aggregates",
                        "IQM, median, mean and optimality gap of each algorithm with intervals",
                        aggregate_intervals(summary),
                    ),
                    (
                        "profiles",
                        "Share of runs above each normalized score",
                        performance_profiles(summary),
                    ),
                ),
            ),
            Section("Scores by task", cells=score_cells(results)),
            Section("Agents that were not trained", self._reference_lines(), self._references()),
            Section(
                "Probability of improvement",
                ("A run of the row's algorithm beats one of the column's on the same task.",),
                improvement_cells(summary),
                _pictures(
                    (
                        "improvement",
                        "Probability that a run of one algorithm beats a run of the other",
                        improvement_intervals(summary),
                    )
                ),
            ),
            Section(
                "Steps to a normalized score",
                (
                    "Median over the runs of a task, and the runs that arrived.",
                    "A run that ends before it arrives counts as beyond every step (censored).",
                    "Not reached: fewer than half arrived.",
                ),
                efficiency_cells(summary),
                _pictures(("learning", "IQM along training", suite_curves(summary))),
            ),
            *(self._limit_section(task) for task in self.limits),
            Section(
                "Cumulative regret by task",
                ("Exact regret summed over the training, in the task's own unit.",),
                regret_cells(results),
            ),
            Section(
                "Time",
                ("Seconds of learning, evaluations left out, in the mean over runs.",),
                time_cells(results),
            ),
            Section("Cells without a score", cells=failure_cells(results)),
        )
        return tuple(
            section
            for section in chapters
            if section.cells is not None and any(any(row[1:]) for row in section.cells[1])
        )

    # ------------------------------------------------------------ references and limits

    def _references(self) -> Cells:
        scores: dict[str, dict[str, float | None]] = {}
        for reference in self.references:
            scores.setdefault(reference.label, {})[reference.task] = reference.normalized
        return reference_cells(scores, self.summary.results.tasks)

    def _reference_lines(self) -> tuple[str, ...]:
        lines = ["Scored once by task: exact figures, without an interval."]
        lines += [
            f"{one.label} on {one.task} was simulated: its value is within {one.half_width:.3g}."
            for one in self.references
            if one.half_width
        ]
        lines += [
            f"{one.label} on {one.task} has no score: {one.reason.splitlines()[0]}"
            for one in self.references
            if one.reason
        ]
        return tuple(lines)

    def _limit_section(self, task: str) -> Section:
        limits = self.limits[task]
        header = ["algorithm", *(_score_title(limit.score) for limit in limits)]
        rows = [["limit, in steps", *(_count(limit.samples) for limit in limits)]]
        rows += [
            [algorithm, *(_over(found) for found in figures)]
            for (algorithm, of), figures in self.over_limits().items()
            if of == task
        ]
        hardest = limits[-1].hardest
        return Section(
            f"Samples over the limit on {task}",
            (
                _LIMIT.format(limits[0].delta),
                "Algorithms: median steps as multiples of it, with the runs that arrived.",
                "A network that shares what it learns between signals may get below 1.",
                f"The signal {hardest.signal} decides the last limit.",
            ),
            (header, rows),
        )

    # ------------------------------------------------------------ tables at full precision

    def _aggregate_records(self) -> list[dict[str, Any]]:
        return [
            {"algorithm": algorithm, "figure": name, **_ends(getattr(found, name))}
            for algorithm, found in self.summary.aggregates.items()
            for name in _AGGREGATES
        ]

    def _efficiency_records(self) -> list[dict[str, Any]]:
        return [
            {
                "algorithm": algorithm,
                "task": task,
                "score": threshold,
                "median_steps": None if isinf(found.median) else found.median,
                "n_reached": found.n_reached,
                "n_runs": found.n_runs,
            }
            for (algorithm, task), figures in self.summary.efficiency.items()
            for threshold, found in zip(THRESHOLDS, figures, strict=True)
        ]

    def _curve_records(self) -> list[dict[str, Any]]:
        return [
            {"algorithm": algorithm, "steps": step, "iqm": value, "low": low, "high": high}
            for algorithm, band in self.summary.curves.items()
            for step, value, low, high in np.stack(
                [band.steps, band.value, band.low, band.high], axis=1
            ).tolist()
        ]


def _pictures(*drawn: tuple[str, str, bytes | None]) -> tuple[Picture, ...]:
    return tuple(Picture(name, alt, png) for name, alt, png in drawn if png is not None)


def _ends(interval: Any) -> dict[str, float | None]:
    ends = {"value": interval.value, "low": interval.low, "high": interval.high}
    return {name: None if isnan(end) else float(end) for name, end in ends.items()}


def _score_title(score: float) -> str:
    return "the optimum" if score == 1 else f"score {score:g}"


def _count(number: float) -> str:
    return "none is enough" if isinf(number) else f"{number:,.0f}"


def _over(found: SamplesOverLimit) -> str:
    ratio = "not reached" if isinf(found.ratio) else f"{found.ratio:.3g} x"
    return f"{ratio} ({found.n_reached} of {found.n_runs})"
