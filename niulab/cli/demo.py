"""``niulab demo``: the main job in one go: solve a sheet, train an agent, hold the league."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from niulab.cli.benchmark import print_league
from niulab.cli.output import (
    JsonFlag,
    command_line,
    console,
    exact,
    examples,
    print_json,
    progress_bar,
    say,
    warn,
)

__all__ = ["EXAMPLES", "run"]

EXAMPLES = examples(
    "niulab demo",
    "niulab demo --seed 3 --out reports/demo-3",
    "niulab demo --json > demo.json",
)

_RULES = "single-double-super"


def run(
    seed: Annotated[int, typer.Option(help="Seed of the training run.", min=0)] = 0,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder of run and report. Default: reports/demo-SEED.", metavar="DIR"),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Solve the English sheet, train an agent to set hands, and hold the league.

    PPO with a card network plays 400,000 hands; then it and the baselines are
    asked about all 2,598,960 hands and ranked beside the oracle. A run that
    stands in the folder already is read, not trained again: the same seed gives
    the same weights.
    """
    from niulab.evaluation import TrainRow, read_benchmark
    from niulab.evaluation.tables import league_dict
    from niulab.solvers.solution import solve
    from niulab.training.leagues.league import hold_league

    folder = out or Path("reports") / f"demo-{seed}"
    folder.mkdir(parents=True, exist_ok=True)  # one that cannot be made is found out now
    say(f"solving {_RULES}: every deal of two hands, counted")
    solution = solve(_RULES)
    warn(solution.warnings)
    edges = {box: exact(values.ev) for box, values in solution.boxes.items()}
    say("EV per unit staked: " + ", ".join(f"{box} {ev}" for box, ev in edges.items()))
    say("training PPO with a card network, then asking every agent about every hand")
    config = replace(
        read_benchmark("arrange"),
        title="The demo's league: setting hands",
        train=(TrainRow("ppo_arrange", "PPO, card network", (seed,)),),
    )
    with progress_bar() as report:
        result = hold_league(config, folder, command=command_line(), progress=report)
    for place in result.reused:
        say(f"{place} was finished before: read, not trained again")
    warn(result.league.warnings)
    if json:
        record = league_dict(result.league)
        print_json({**record, "boxes": edges, "report": vars(result.report), "runs": result.runs})
        return
    print_league(result.league, result.report)
    for place in result.runs:
        console().print(f"learning curves: tensorboard --logdir {place / 'tb'}", markup=False)
