"""A league with runs of its own: train what the benchmark asks for, score all, write the report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from niulab.agents.sb3 import load_agent
from niulab.errors import ConfigError
from niulab.evaluation.benchmark import Entrant, League, benchmark
from niulab.evaluation.config import BenchmarkConfig, TrainRow
from niulab.evaluation.curves import read_curve
from niulab.evaluation.report import ReportFiles, write_report
from niulab.training.config import TrainConfig, read_train
from niulab.training.run import train
from niulab.training.run_folder import RunFolder

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
) -> LeagueResult:
    """Train the config's runs below ``folder``, score all agents and write the report there.

    A run that stands there already goes on, or is only read if it is finished: the same config and
    seed give the same weights. Every mistake in a training config is found before the first step.
    """
    runs = [
        (row, _checked(row, seed, config), folder / "runs" / f"{Path(row.config).stem}-{seed}")
        for row in config.train
        for seed in row.seeds
    ]
    folder.mkdir(parents=True, exist_ok=True)  # one that cannot be written is found out now
    reused = tuple(place for *_, place in runs if RunFolder(place).result_file.exists())
    entrants = []
    for row, run, place in runs:
        result = train(
            run,
            place,
            resume=RunFolder(place).manifest_file.exists(),
            progress=show_training,
            command=" ".join(command),
        )
        name = row.name if len(row.seeds) == 1 else f"{row.name}, seed {run.seed}"
        entrants.append(
            Entrant(
                load_agent(result.model, config.settings, name=name),
                name,
                seed=run.seed,
                origin=f"{row.config}, {result.steps:,} steps",
                curve=read_curve(place, name=name),
            )
        )
    league = benchmark(config, entrants, command=command, progress=progress)
    report = write_report(league, folder)
    return LeagueResult(league, report, tuple(place for *_, place in runs), reused)


def _checked(row: TrainRow, seed: int, config: BenchmarkConfig) -> TrainConfig:
    run = read_train(row.config, seed=seed)
    ours, theirs = config.settings.rules, run.settings.rules
    if (run.task, theirs.rules_hash) != (config.task, ours.rules_hash):
        raise ConfigError(
            f"the run '{row.config}' learns {run.task} under {theirs.name}, the benchmark asks for "
            f"{config.task} under {ours.name}: name a training config of that task"
        )
    return run
