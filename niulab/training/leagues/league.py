"""A league with runs of its own: train what the benchmark asks for, score all, write the report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from niulab.agents.models.sb3 import load_agent
from niulab.errors import ConfigError, NiuLabError
from niulab.evaluation.benchmark import Entrant, League, benchmark
from niulab.evaluation.config import BenchmarkConfig, TrainRow
from niulab.evaluation.curves import read_curve
from niulab.evaluation.report import ReportFiles, write_report
from niulab.parallel import Engine, Outcome, run_tasks, verify_engine
from niulab.training.config import TrainConfig, read_train
from niulab.training.run import RunResult, train
from niulab.training.runs.run_folder import RunFolder

__all__ = ["LeagueResult", "hold_league"]


@dataclass(frozen=True)
class LeagueResult:
    """A league, the files of its report, and the folders of its runs; ``reused`` were finished."""

    league: League
    report: ReportFiles
    runs: tuple[Path, ...]
    reused: tuple[Path, ...]


def hold_league(
    config: BenchmarkConfig,
    folder: Path,
    *,
    command: Sequence[str] = (),
    progress: Callable[[str, int, int], None] | None = None,
    show_training: bool = True,
    engine: Engine = "serial",
    workers: int | None = None,
    address: str | None = None,
) -> LeagueResult:
    """Train the config's runs below ``folder``, score all agents and write the report there.

    A run that stands there already goes on, or is only read if it is finished: the same config and
    seed give the same weights. Every mistake in a training config is found before the first step.
    ``engine``, ``workers`` and ``address`` say where runs are trained (see ``run_tasks``; nodes of
    a Ray must share ``folder``); the league does not depend on it.
    """
    verify_engine(engine, workers, address)
    runs = [
        (row, _checked(row, seed, config), folder / "runs" / f"{Path(row.config).stem}-{seed}")
        for row in config.train
        for seed in row.seeds
    ]
    folder.mkdir(parents=True, exist_ok=True)  # one that cannot be written is found out now
    reused = tuple(place for *_, place in runs if RunFolder(place).result_file.exists())
    words = " ".join(command)
    trained = {}
    if engine != "serial":
        todo = {place: _Run(run, place.absolute(), words) for _, run, place in runs}
        for place in reused:
            todo.pop(place, None)
        trained = _train_apart(todo, engine, workers, address, progress)
    entrants = []
    for row, run, place in runs:
        result = trained.pop(place, None) or _train(_Run(run, place, words), progress=show_training)
        name = row.name if len(row.seeds) == 1 else f"{row.name}, seed {run.seed}"
        entrants.append(
            Entrant(
                load_agent(RunFolder(place).final, config.settings, name=name),
                name,
                seed=run.seed,
                origin=f"{row.config}, {result.steps:,} steps",
                curve=read_curve(place, name=name),
            )
        )
    league = benchmark(config, entrants, command=command, progress=progress)
    report = write_report(league, folder)
    return LeagueResult(league, report, tuple(place for *_, place in runs), reused)


@dataclass(frozen=True)
class _Run:
    config: TrainConfig
    place: Path
    command: str


def _train(run: _Run, *, progress: bool = False) -> RunResult:
    """Begin the run or go on with it, as its folder says."""
    resume = RunFolder(run.place).manifest_file.exists()
    return train(run.config, run.place, resume=resume, progress=progress, command=run.command)


def _train_apart(
    runs: Mapping[Path, _Run],
    engine: Engine,
    workers: int | None,
    address: str | None,
    progress: Callable[[str, int, int], None] | None,
) -> dict[Path, RunResult]:
    """Train several runs at a time, each in a process of its own."""
    n_ended = 0

    def count(_: Outcome[RunResult] | None = None) -> None:
        nonlocal n_ended
        if progress is not None:
            progress("training", n_ended, len(runs))
        n_ended += 1

    count()
    outcomes = run_tasks(
        _train, runs.values(), engine=engine, workers=workers, address=address, on_result=count
    )
    ended = dict(zip(runs, outcomes, strict=True))
    failed = {place: outcome for place, outcome in ended.items() if outcome.error is not None}
    if failed:
        lines = [f"  - {place}: {outcome.error}" for place, outcome in failed.items()]
        error = NiuLabError(
            f"{len(failed)} of {len(runs)} runs failed; mend what is named here, and the same "
            "command goes on with what is left:\n" + "\n".join(lines)
        )
        for outcome in failed.values():
            error.add_note(outcome.traceback)
        raise error
    return {place: outcome.value for place, outcome in ended.items() if outcome.value is not None}


def _checked(row: TrainRow, seed: int, config: BenchmarkConfig) -> TrainConfig:
    run = read_train(row.config, seed=seed)
    ours, theirs = config.settings, run.settings
    if (run.task, theirs.rules_hash) != (config.task, ours.rules_hash):
        raise ConfigError(
            f"the run '{row.config}' learns {run.task} under {theirs.rules_name}, the "
            f"benchmark asks for {config.task} under {ours.rules_name}: name a training config of "
            "that task"
        )
    return run
