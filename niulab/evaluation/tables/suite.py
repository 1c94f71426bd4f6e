"""Tables of a suite: aggregates by algorithm, comparisons, scores and sample efficiency by task."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isinf, isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from niulab.evaluation.curves import THRESHOLDS
from niulab.evaluation.statistics.aggregates import iqm
from niulab.evaluation.statistics.efficiency import SampleEfficiency
from niulab.evaluation.statistics.intervals import Interval
from niulab.evaluation.statistics.suite_results import SuiteResults
from niulab.evaluation.statistics.summary import SuiteSummary
from niulab.evaluation.tables.text import Cells, csv_text, markdown_table

__all__ = [
    "aggregate_cells",
    "aggregate_csv",
    "efficiency_cells",
    "failure_cells",
    "improvement_cells",
    "reference_cells",
    "regret_cells",
    "score_cells",
    "suite_csv",
    "suite_legend",
    "suite_markdown",
    "time_cells",
]

_AGGREGATES = {"iqm": "IQM", "median": "median", "mean": "mean", "optimality_gap": "gap"}


def aggregate_cells(summary: SuiteSummary) -> Cells:
    """A row per algorithm, the highest IQM first; those without aggregates come last."""
    header = ["algorithm", *_AGGREGATES.values(), "without a score", "cpu hours"]
    rows = []
    for algorithm in summary.ranking:
        found = summary.aggregates.get(algorithm)
        cells = ["" if found is None else _interval(getattr(found, name)) for name in _AGGREGATES]
        place = summary.results.algorithms.index(algorithm)
        failed = summary.results.failed[place]
        seconds = summary.results.cpu_seconds[place]
        hours = "" if np.isnan(seconds).all() else f"{np.nansum(seconds) / 3600:.2f}"
        rows.append([algorithm, *cells, f"{failed.sum()} of {failed.size}", hours])
    return header, rows


def aggregate_csv(summary: SuiteSummary) -> str:
    """The aggregates at full precision, a line per algorithm, the highest IQM first."""
    records = []
    for algorithm in summary.ranking:
        record: dict[str, Any] = {"algorithm": algorithm}
        found = summary.aggregates.get(algorithm)
        for name in _AGGREGATES:
            interval = None if found is None else getattr(found, name)
            for column, end in ((name, "value"), (f"{name}_low", "low"), (f"{name}_high", "high")):
                value = np.nan if interval is None else getattr(interval, end)
                record[column] = "" if isnan(value) else value
        failed = summary.results.failed[summary.results.algorithms.index(algorithm)]
        record |= {"n_failed": int(failed.sum()), "n_cells": failed.size}
        record |= {name: getattr(summary, name) for name in ("level", "n_resamples", "seed")}
        records.append(record)
    return csv_text(records)


def improvement_cells(summary: SuiteSummary) -> Cells:
    """P(a run of the row's algorithm beats one of the column's); no rows without a pair."""
    names = [name for name in summary.ranking if name in summary.aggregates]
    rows = [
        [
            one,
            *(
                "–" if one == other else _interval(summary.improvement[one, other], digits=2)
                for other in names
            ),
        ]
        for one in names
        if len(names) > 1
    ]
    return ["P(row beats column)", *names], rows


def score_cells(results: SuiteResults) -> Cells:
    """Mean normalized score of each task's runs, and of how many where some failed."""
    return _task_cells(results, results.scores, _score)


def reference_cells(
    scores: Mapping[str, Mapping[str, float | None]], tasks: Sequence[str]
) -> Cells:
    """Normalized scores of agents that were not trained, by label and task, with the IQM over tasks
    where all have one.
    """
    rows = []
    for label, by_task in scores.items():
        found = [by_task.get(task) for task in tasks]
        known = [score for score in found if score is not None]
        middle = _score(iqm(np.array(known))) if len(known) == len(tasks) else ""
        rows.append([label, middle, *("" if x is None else _score(x) for x in found)])
    return ["agent", "IQM", *tasks], rows


def time_cells(results: SuiteResults) -> Cells:
    """What a run of each algorithm took on each task, in the mean: steps, seconds of learning."""
    rows = []
    for i, algorithm in enumerate(results.algorithms):
        for k, task in enumerate(results.tasks):
            cpu, wall = results.cpu_seconds[i, :, k], results.wall_seconds[i, :, k]
            known = ~np.isnan(cpu)
            if not known.any():
                continue
            steps, seconds = results.steps[i, known, k], cpu[known]
            speed = f"{steps.sum() / seconds.sum():,.0f}" if seconds.sum() else ""
            row = [f"{steps.mean():,.0f}", f"{seconds.mean():,.1f}", f"{np.nanmean(wall):,.1f}"]
            rows.append([algorithm, task, *row, speed])
    return ["algorithm", "task", "steps", "cpu seconds", "wall seconds", "steps / cpu second"], rows


def regret_cells(results: SuiteResults) -> Cells:
    """Mean cumulative regret of each task's runs, in the task's unit, and of how many runs."""
    return _task_cells(results, results.regrets, _regret)


def efficiency_cells(summary: SuiteSummary) -> Cells:
    """Median steps to each normalized score by task, with the runs that reached it."""
    results = summary.results
    rows = [
        [algorithm, f"{threshold:g}", *(_efficiency(found, place) for found in by_task)]
        for algorithm in results.algorithms
        if any(by_task := [summary.efficiency.get((algorithm, task)) for task in results.tasks])
        for place, threshold in enumerate(THRESHOLDS)
    ]
    return ["algorithm", "score", *results.tasks], rows


def failure_cells(results: SuiteResults) -> Cells:
    """Every cell without a score, and why; seeds with one reason share a row."""
    seeds: dict[tuple[str, str, str], list[str]] = {}
    for record in results.to_records():
        if record["reason"]:
            key = (record["algorithm"], record["task"], record["reason"])
            seeds.setdefault(key, []).append(str(record["seed"]))
    rows = [
        [algorithm, task, ", ".join(found), reason.splitlines()[0]]
        for (algorithm, task, reason), found in seeds.items()
    ]
    return ["algorithm", "task", "seeds", "reason"], rows


def suite_csv(results: SuiteResults) -> str:
    """The matrix itself at full precision, a line per algorithm, task and seed."""
    return csv_text(
        [
            {name: "" if value is None else value for name, value in record.items()}
            for record in results.to_records()
        ]
    )


def suite_legend(summary: SuiteSummary) -> list[str]:
    """What the figures mean and what they rest on, as Markdown lines."""
    n_algorithms, n_runs, n_tasks = summary.results.shape
    lines = [
        f"- {n_algorithms} algorithms x {n_tasks} tasks x {n_runs} seeds",
        "- normalized scores: 0 is uniform play (after a look: the best blind slip), 1 the optimum",
        "- IQM: mean of the middle half of all runs of all tasks",
        "- median, mean: over tasks, of each task's mean; gap: mean shortfall below 1",
    ]
    if summary.aggregates:
        lines.append(
            f"- in brackets: {100 * summary.level:g} % percentile intervals from "
            f"{summary.n_resamples:,} resamples of runs within tasks (seed {summary.seed}): about "
            "other runs on these tasks, not about other tasks"
        )
    if summary.results.failed.any():
        lines.append(
            "- runs without a score (failed, stopped, or of a task the algorithm does not enter) "
            "enter no figure but their own count"
        )
    return lines + [
        f"- {algorithm}: no aggregate, because no run has a score on {', '.join(tasks)}"
        for algorithm, tasks in summary.left_out.items()
    ]


def suite_markdown(summary: SuiteSummary) -> str:
    """All tables of a suite as Markdown; those without rows are left out."""
    results = summary.results
    sections = {
        "Probability of improvement": improvement_cells(summary),
        "Scores by task": score_cells(results),
        "Steps to a normalized score": efficiency_cells(summary),
        "Cumulative regret by task": regret_cells(results),
        "Runs without a score": failure_cells(results),
    }
    lines = ["## Over tasks and seeds", "", *markdown_table(aggregate_cells(summary)), ""]
    lines += [*suite_legend(summary), ""]
    for title, (header, rows) in sections.items():
        if any(any(row[1:]) for row in rows):
            lines += [f"## {title}", "", *markdown_table((header, rows)), ""]
    return "\n".join(lines)


def _task_cells(
    results: SuiteResults, figures: NDArray[np.float64], show: Callable[[float], str]
) -> Cells:
    rows = [
        [algorithm, *(_mean(column, show) for column in matrix.T)]
        for algorithm, matrix in zip(results.algorithms, figures, strict=True)
    ]
    return ["algorithm", *results.tasks], rows


def _mean(column: Sequence[float] | NDArray[np.float64], show: Callable[[float], str]) -> str:
    known = np.asarray(column)[~np.isnan(column)]
    if not len(known):
        return ""
    of = "" if len(known) == len(column) else f" ({len(known)} of {len(column)})"
    return show(float(known.mean())) + of


def _efficiency(found: tuple[SampleEfficiency, ...] | None, place: int) -> str:
    if found is None:
        return ""
    median, n_reached, n_runs = found[place].median, found[place].n_reached, found[place].n_runs
    steps = "not reached" if isinf(median) else f"{median:,.0f}"
    return f"{steps} ({n_reached} of {n_runs})"


def _interval(interval: Interval, *, digits: int = 4) -> str:
    value = _score(interval.value, digits)
    if isnan(interval.low):
        return value
    return f"{value} [{_score(interval.low, digits)}, {_score(interval.high, digits)}]"


def _regret(regret: float) -> str:
    return f"{regret:,.0f}" if abs(regret) >= 1000 else f"{regret:.4g}"


def _score(value: float, digits: int = 4) -> str:
    text = f"{value:.{digits}f}"
    # a score that is not quite 1 must not print as the optimum's; sessions round at about 1e-14
    return f"1-{1 - value:.0e}" if value < 1 - 1e-12 and float(text) == 1 else text
