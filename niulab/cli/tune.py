"""``niulab tune``: a search over hyperparameters, as a study that can be interrupted."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from niulab.cli.output import (
    JsonFlag,
    command_line,
    console,
    examples,
    print_json,
    say,
    table,
    warn,
)

if TYPE_CHECKING:
    from niulab.training.tuning.config import TuneConfig
    from niulab.training.tuning.study import TrialRow, TuneResult

__all__ = ["EXAMPLES", "run"]

EXAMPLES = examples(
    "niulab tune ppo_arrange",
    "niulab tune ppo_arrange --trials 50",
    "niulab tune ./mine.toml --out studies/mine --jobs 2",
    "niulab train --from-study ppo_arrange",
)


def run(
    config: Annotated[
        str,
        typer.Argument(help="A shipped search or the path of a .toml file.", metavar="CONFIG"),
    ],
    trials: Annotated[
        int | None, typer.Option(help="Trials in all. Default: the config's.", min=1)
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="The study's folder. Default: runs/tune/NAME.", metavar="DIR"),
    ] = None,
    jobs: Annotated[
        int, typer.Option(help="Trials at a time, in processes of their own.", min=1)
    ] = 1,
    json: JsonFlag = False,
) -> None:
    """Search hyperparameters for the highest mean score over several seeds.

    Every trial trains with the same seeds, so all are dealt the same cards. A
    study that was interrupted goes on when the same command is run again, and its
    best trial so far can be trained at any time (niulab train --from-study NAME).
    """
    from niulab.solvers.values import edges_of_all
    from niulab.training.tuning.config import read_tune
    from niulab.training.tuning.study import tune

    checked = read_tune(config)
    if trials is not None:
        checked = checked.with_trials(trials)
    warnings = edges_of_all(checked.base.settings.every_sheet)
    if jobs > 1:
        warnings.append(
            f"with {jobs} jobs the trials of a batch do not know of each other: another number of "
            "jobs tries other values"
        )
    warn(warnings)
    words: dict[str, Any] = {"jobs": jobs, "command": shlex.join(command_line())}
    result = tune(checked, out, on_trial=None if json else _say, **words)
    if json:
        print_json(_record(checked, result, warnings))
    else:
        _print(checked, result)


def _say(row: TrialRow) -> None:
    score = row.error.splitlines()[0] if row.score is None else f"{row.score:.5f}"
    say(f"trial {row.number}: {row.state}, {score}")


def _record(config: TuneConfig, result: TuneResult, warnings: list[str]) -> dict[str, Any]:
    return {
        "name": config.name,
        "folder": result.folder,
        "seeds": list(config.tune.seeds),
        "trials": [_row(row) for row in result.rows],
        "best": None if result.best is None else _row(result.best),
        "warnings": warnings,
    }


def _row(row: TrialRow) -> dict[str, Any]:
    return {
        "number": row.number,
        "state": row.state,
        "score": row.score,
        "scores": list(row.scores),
        "values": dict(row.values),
        "error": row.error,
    }


def _print(config: TuneConfig, result: TuneResult) -> None:
    seeds = ", ".join(map(str, config.tune.seeds))
    title = f"{config.name}: {len(result.rows)} trials, mean final score over seeds {seeds}"
    figures = table(title, "trial", "state", "score", *config.tune.space)
    for row in sorted(result.rows, key=lambda row: (row.score is None, -(row.score or 0))):
        values = [_short(row.values[key]) for key in config.tune.space]
        score = "-" if row.score is None else f"{row.score:.6f}"
        figures.add_row(str(row.number), row.state, score, *values)
    out = console()
    out.print(figures)
    for row in result.rows:
        if row.error:
            out.print(f"trial {row.number} failed: {row.error}", markup=False)
    if result.best is None:
        out.print("no trial is complete")
        return
    place = result.folder / "best.toml"
    out.print(f"best: trial {result.best.number}; niulab train {place}", markup=False)


def _short(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
