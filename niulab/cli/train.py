"""``niulab train``: one run from a config, into a run folder."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from niulab.cli.output import JsonFlag, command_line, console, examples, print_json, table, warn
from niulab.errors import ConfigError

if TYPE_CHECKING:
    from niulab.training import RunResult, TrainConfig

__all__ = ["EXAMPLES", "run"]

EXAMPLES = examples(
    "niulab train ppo_arrange",
    "niulab train ppo_arrange --seed 3 --run-dir runs/third",
    "niulab train ppo_arrange --set total_steps=100_000 --set env.rules=ngau-ngau-hong-kong",
    "niulab train ppo_arrange --resume",
    "niulab train --from-study ppo_arrange",
    "tensorboard --logdir runs",
)


def run(
    config: Annotated[
        str | None,
        typer.Argument(
            help="A shipped config or the path of a .toml file.",
            metavar="CONFIG",
            show_default=False,
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the run's last checkpoint, bit for bit.")
    ] = False,
    seed: Annotated[
        int | None, typer.Option(help="The run's one seed. Default: the config's.", min=0)
    ] = None,
    run_dir: Annotated[
        Path | None,
        typer.Option(help="The run's folder. Default: runs/NAME-SEED.", metavar="DIR"),
    ] = None,
    from_study: Annotated[
        str | None,
        typer.Option(
            help="Instead of CONFIG: the best trial of a study of niulab tune, by its name or "
            "folder.",
            metavar="NAME",
        ),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="Change a value, as algorithm.n_steps=8; repeatable.", metavar="KEY=VALUE"
        ),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Train an agent as a config says.

    The run folder gets a manifest before the first step, TensorBoard scalars,
    checkpoints, and the policy's exact value along the way. The same config and
    seed give the same weights, whether the run was interrupted or not.
    """
    from niulab.solvers.values import edges_of_all
    from niulab.training import train

    checked = _checked(config, from_study, {} if seed is None else {"seed": seed}, changes or ())
    warnings = edges_of_all(checked.settings.every_sheet)
    warn(warnings)
    command = shlex.join(command_line())
    try:
        result = train(checked, run_dir, resume=resume, progress=True, command=command)
    except KeyboardInterrupt:
        warn(["stopped; the same command with --resume goes on from the last checkpoint"])
        raise
    if json:
        print_json(_record(checked, result, warnings))
    else:
        _print(checked, result)


def _checked(
    config: str | None, study: str | None, seeds: Mapping[str, int], changes: Sequence[str]
) -> TrainConfig:
    from niulab.engine.rules.toml import overridden
    from niulab.training import parse_train, read_train

    if (config is None) == (study is None):
        raise ConfigError("name one thing to train: a CONFIG, as ppo_arrange, or --from-study NAME")
    if config is not None:
        return read_train(config, overrides=changes, **seeds)
    from niulab.training.tuning.study import best_config

    tree = best_config(study or "").model_dump(exclude_none=True)
    return parse_train(overridden(tree | dict(seeds), changes), origin=f"study '{study}'")


def _record(config: TrainConfig, result: RunResult, warnings: list[str]) -> dict[str, Any]:
    return {
        "name": config.name,
        "task": config.task,
        "rules": config.settings.rules.name,
        "rules_hash": config.settings.rules.rules_hash,
        "seed": config.seed,
        "steps": result.steps,
        "wall_seconds": result.wall_seconds,
        "cpu_seconds": result.cpu_seconds,
        "run_dir": result.run_dir,
        "model": result.model,
        "score": result.score.to_dict(),
        "warnings": warnings,
    }


def _print(config: TrainConfig, result: RunResult) -> None:
    from niulab.evaluation.tables import score_lines

    title = f"{config.name}, seed {config.seed}: {result.steps:,} steps, "
    figures = table(f"{title}{result.cpu_seconds:.1f} cpu-seconds of learning", "")
    figures.show_header = False
    figures.add_column()
    for label, figure in score_lines(result.score):
        figures.add_row(label, figure)
    out = console()
    out.print(figures)
    out.print(f"model: {result.model}", markup=False)
    out.print(f"learning curves: tensorboard --logdir {result.run_dir / 'tb'}", markup=False)
