"""A suite of trainings: every learner on every task with every seed, kept cell by cell.

What stands in the folder already is not done again, so a suite that was killed goes on where it
was, and one that grew by a task, a learner or a seed only does what is new. A cell whose config
changed is an error: a suite overwrites no result. What fails is a row of the report.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from niulab.errors import CheckpointError
from niulab.evaluation.benchmark import circumstances
from niulab.evaluation.edges.samples import SampleLimit, why_no_sample_limit
from niulab.evaluation.statistics import SuiteResults, summarize
from niulab.evaluation.studies.report import StudyFiles, write_study
from niulab.evaluation.studies.study import Provenance
from niulab.evaluation.suites.report import ReferenceScore, SuiteReport
from niulab.parallel import Engine, Outcome, run_tasks, verify_engine
from niulab.solvers.values import edges_of_all
from niulab.training.leagues.cells import (
    Cell,
    LimitWork,
    ReferenceWork,
    TrainingWork,
    curve_of,
    keep_failure,
    read_cell,
    run_cell,
)
from niulab.training.leagues.suite_config import SuiteConfig, slug

__all__ = ["HeldSuite", "cells_of", "hold_suite", "suite_report"]

_LIMITS = "limits of samples"
_NOT_ENTERED = "not entered: the suite names no training config of this learner for the task"
_MOST_SHOWN = 5


@dataclass(frozen=True)
class HeldSuite:
    """A suite, the files of its report, its provenance and how many cells were finished before."""

    report: SuiteReport
    files: StudyFiles
    provenance: Provenance
    n_cells: int
    n_kept: int


def hold_suite(
    config: SuiteConfig,
    folder: Path,
    *,
    command: Sequence[str] | str = (),
    progress: Callable[[str, int, int], None] | None = None,
    engine: Engine = "serial",
    workers: int | None = None,
    address: str | None = None,
    retry_failed: bool = False,
) -> HeldSuite:
    """Do what the cells below ``folder`` lack, and write the report there.

    ``engine``, ``workers`` and ``address`` say where (see ``run_tasks``; nodes of a Ray must share
    ``folder``); no figure but seconds depends on it. ``retry_failed`` does cells anew that failed,
    and goes on with trainings that were stopped for their seconds. Raises CheckpointError, before
    anything is done, for cells that were made with another config.
    """
    verify_engine(engine, workers, address)
    words = command if isinstance(command, str) else " ".join(command)
    cells = cells_of(config, folder, command=words)
    _verify_unchanged(cells, folder)
    folder.mkdir(parents=True, exist_ok=True)  # one that cannot be written is found out now
    due = [cell for cell in cells if cell.is_due(retry_failed=retry_failed)]
    for cell in due:
        cell.clear()
    n_ended = len(cells) - len(due)

    def note(outcome: Outcome[dict[str, Any]] | None = None) -> None:
        nonlocal n_ended
        if outcome is not None:
            n_ended += 1
            if outcome.error is not None:
                keep_failure(due[outcome.index], outcome)
        if progress is not None:
            progress("cells", n_ended, len(cells))

    note()
    run_tasks(run_cell, due, engine=engine, workers=workers, address=address, on_result=note)
    report = suite_report(config, cells)
    provenance = Provenance(
        study="suite",
        rules=tuple({(t.settings.rules_name, t.settings.rules_hash) for t in config.tasks}),
        seed=config.seed,
        config=dict(config.tree),
        **circumstances(command or "niulab.training.leagues.suite.hold_suite(config, folder)"),
    )
    files = write_study(report, folder, provenance)
    return HeldSuite(report, files, provenance, len(cells), len(cells) - len(due))


def cells_of(config: SuiteConfig, folder: Path, *, command: str = "") -> list[Cell]:
    """Every cell of a suite, seed by seed, so that an early stop leaves whole seeds; those that
    need no training come first.
    """
    root = folder.absolute() / "cells"
    cells = []
    for task in config.tasks:
        entered = [entry for entry in config.entries if entry.task == task.name]
        if any(why_no_sample_limit(entry.config.settings) is None for entry in entered):
            place, work = (
                root / slug(_LIMITS) / slug(task.name),
                LimitWork(task.settings, config.delta),
            )
            cells.append(Cell(_LIMITS, task.name, None, place, work))
    for entry in config.references:
        task = config.task(entry.task)
        agent = ReferenceWork(
            entry.agent, task.id, task.settings, config.seed, config.rounds, config.level
        )
        place = root / slug(entry.label) / slug(entry.task)
        cells.append(Cell(entry.label, entry.task, None, place, agent))
    for seed in config.seeds:
        for run in config.entries:
            training = TrainingWork(run.config.replaced(seed=seed), config.max_cpu_seconds, command)
            place = root / slug(run.label) / slug(run.task) / str(seed)
            cells.append(Cell(run.label, run.task, seed, place, training))
    return cells


def suite_report(config: SuiteConfig, cells: Sequence[Cell]) -> SuiteReport:
    """The report of what stands in the cells; one that is not finished is a row without a score."""
    records = {(cell.label, cell.task, cell.seed): read_cell(cell) for cell in cells}
    summary = summarize(
        _results(config, records),
        seed=config.seed,
        level=config.level,
        n_resamples=config.n_resamples,
    )
    limits = {
        task: tuple(SampleLimit.from_dict(limit) for limit in record["limits"])
        for (label, task, _), record in records.items()
        if label == _LIMITS and record is not None and record["status"] == "finished"
    }
    return SuiteReport(
        title=config.title,
        summary=summary,
        references=tuple(
            _reference(entry.label, entry.task, entry.agent, records[entry.label, entry.task, None])
            for entry in config.references
        ),
        limits=limits,
        learned_from_luck=frozenset(
            (entry.label, entry.task)
            for entry in config.entries
            if why_no_sample_limit(entry.config.settings) is None
        ),
        cautions=tuple(_cautions(config, records)),
    )


_Records = Mapping[tuple[str, str, int | None], dict[str, Any] | None]


def _verify_unchanged(cells: Sequence[Cell], folder: Path) -> None:
    changed = []
    for cell in cells:
        try:
            cell.verify_unchanged()
        except CheckpointError as error:
            changed.append(str(error))
    if changed:
        shown = [f"  - {line}" for line in changed[:_MOST_SHOWN]]
        if len(changed) > _MOST_SHOWN:
            shown.append(f"  - and {len(changed) - _MOST_SHOWN} more cells")
        raise CheckpointError(
            f"{len(changed)} cells in '{folder}' were made with another config, and a suite "
            "overwrites no result:\n"
            + "\n".join(shown)
            + "\ngive another folder (--out), or remove the cells that are to be made again"
        )


def _results(config: SuiteConfig, records: _Records) -> SuiteResults:
    labels, tasks, seeds = config.labels, tuple(t.name for t in config.tasks), config.seeds
    shape = len(labels), len(seeds), len(tasks)
    figures = {
        name: np.full(shape, np.nan)
        for name in ("normalized_score", "cumulative_regret", "wall_seconds", "cpu_seconds")
    }
    steps = np.zeros(shape, dtype=np.int64)
    reasons, curves = {}, {}
    for i, label in enumerate(labels):
        for j, seed in enumerate(seeds):
            for k, task in enumerate(tasks):
                cell, record = (label, seed, task), records.get((label, task, seed))
                reason = _why_no_score((label, task, seed), records)
                if reason:
                    reasons[cell] = reason
                if record is None:
                    continue
                steps[i, j, k] = record.get("steps", 0)
                if not reason:
                    for name, matrix in figures.items():
                        value = record[name]
                        matrix[i, j, k] = np.nan if value is None else value
                if (curve := curve_of(record)) is not None:
                    curves[cell] = curve
    return SuiteResults(
        algorithms=labels,
        tasks=tasks,
        seeds=seeds,
        scores=figures["normalized_score"],
        regrets=figures["cumulative_regret"],
        steps=steps,
        wall_seconds=figures["wall_seconds"],
        cpu_seconds=figures["cpu_seconds"],
        reasons=reasons,
        curves=curves,
    )


def _why_no_score(key: tuple[str, str, int], records: _Records) -> str:
    record = records.get(key)
    if record is None:
        return "not finished" if key in records else _NOT_ENTERED
    if record["status"] != "finished":
        return f"{record['status']}: {record['error']}"
    if record["normalized_score"] is None:
        return "no normalized score: the task has no known optimum above its floor"
    return ""


def _reference(
    label: str, task: str, agent: str, record: Mapping[str, Any] | None
) -> ReferenceScore:
    if record is None or record["status"] != "finished":
        reason = "not finished" if record is None else str(record["error"])
        return ReferenceScore(label, task, agent, None, 0.0, None, reason)
    score = record["score"]
    value = score["value"]
    return ReferenceScore(
        label=label,
        task=task,
        agent=agent,
        value=value["float"] if isinstance(value, Mapping) else value,
        half_width=score.get("half_width", 0.0),
        normalized=record["normalized_score"],
    )


def _cautions(config: SuiteConfig, records: _Records) -> list[str]:
    """What must be seen before any figure."""
    found = edges_of_all(rules for task in config.tasks for rules in task.settings.every_sheet)
    kept = [record for record in records.values() if record is not None]
    counts = {
        status: sum(record["status"] == status for record in kept)
        for status in ("failed", "out of budget")
    }
    found += [
        f"{n} of {len(records)} cells {word}: see the last table; --retry-failed does them anew"
        for word, n in (
            ("failed", counts["failed"]),
            ("ran out of budget", counts["out of budget"]),
        )
        if n
    ]
    versions = {tuple(sorted(record["versions"].items())) for record in kept}
    if len(versions) > 1:
        names = {name for one in versions for name, _ in one}
        differing = sorted(
            name for name in names if len({dict(one).get(name) for one in versions}) > 1
        )
        found.append(f"cells were made with different versions of {', '.join(differing)}")
    return found
