"""``niulab evaluate``: one policy's exact score, beside the bounds and a simulated cross-check."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from niulab.cli.agents.choosing import choose
from niulab.cli.output import (
    JsonFlag,
    command_line,
    console,
    examples,
    print_json,
    progress_bar,
    table,
    warn,
)

if TYPE_CHECKING:
    from niulab.evaluation import League

__all__ = ["EXAMPLES", "run"]

EXAMPLES = examples(
    "niulab evaluate first-found-base",
    "niulab evaluate trained:ppo_arrange   [dim]# a trained agent that comes with niulab[/dim]",
    "niulab evaluate greedy-pair --rules ngau-ngau-hong-kong --json",
    "niulab evaluate runs/ppo_arrange-0   [dim]# the model of a run, on the task it learned[/dim]",
    "niulab evaluate runs/ppo_arrange-0 --transfer ngau-ngau-hong-kong",
    "niulab evaluate --actions table.npy",
    "niulab evaluate least-slip+oracle --env niulab/Table-v0",
    "niulab evaluate system:bold --env niulab/Session-v0   [dim]# a betting system[/dim]",
)

_ARRANGE = "niulab/Arrange-v0"


def run(
    agent: Annotated[
        str | None,
        typer.Argument(
            metavar="[AGENT]",
            help="An agent's name, as oracle or trained:ppo_arrange, or a model's or run's folder.",
        ),
    ] = None,
    env: Annotated[
        str | None,
        typer.Option(
            help="The task, as Shoe or niulab/Shoe-v0. Default: a model's own, else Arrange.",
            metavar="ID",
        ),
    ] = None,
    rules: Annotated[
        str | None, typer.Option(help="A shipped name or the path of a rules file.")
    ] = None,
    slip: Annotated[
        str | None, typer.Option(help="The slip at stake while setting hands.", metavar="STAKES")
    ] = None,
    actions: Annotated[
        Path | None,
        typer.Option(help="A table of settings, one per hand, instead of AGENT.", metavar="NPY"),
    ] = None,
    transfer: Annotated[
        str | None,
        typer.Option(help="Play a model on another sheet on purpose.", metavar="RULES"),
    ] = None,
    stochastic: Annotated[
        bool, typer.Option("--stochastic", help="Score the policy's probabilities, not its argmax.")
    ] = False,
    rounds: Annotated[
        int, typer.Option(help="Rounds of the simulated cross-check; 0 for none.", min=0)
    ] = 200_000,
    seed: Annotated[int, typer.Option(help="Seed of the cross-check.", min=0)] = 0,
    json: JsonFlag = False,
) -> None:
    """Score a policy exactly: it is asked about every hand, or every bankroll, it can meet.

    EV per box, win probability, share of hands set optimally, share of niu hands
    found, the chance of a target and regret to the optimum carry no sampling
    error. Where a task cannot be enumerated, the score is simulated, with an
    interval, and says so.
    """
    from niulab.agents.base import as_stochastic
    from niulab.evaluation import BenchmarkConfig, Entrant, benchmark

    if (agent is None) == (actions is None):
        raise typer.BadParameter("give either an agent or --actions", param_hint="AGENT")
    name = agent if actions is None else f"table:{actions}"
    keywords = {"rules": transfer or rules, "slip": slip}
    keywords = {key: value for key, value in keywords.items() if value is not None}
    task, settings, player = choose(
        str(name), env, keywords, default=_ARRANGE, is_transfer=transfer is not None
    )
    if stochastic:
        as_stochastic(player)
    config = BenchmarkConfig(
        title=f"{name} on {task}",
        task=task,
        settings=settings,
        agents=(),
        seed=seed,
        rounds=rounds,
        stochastic=stochastic,
    )
    with progress_bar() as report:
        league = benchmark(
            config,
            [Entrant(player, str(name))],
            command=command_line(),
            progress=report,
        )
    warn(league.warnings)
    if json:
        print_json(_record(league))
    else:
        _print(league)


def _record(league: League) -> dict[str, Any]:
    (row,) = league.rows
    return {
        **row.score.to_dict(),
        "simulated": None if row.check is None else asdict(row.check),
        "warnings": list(league.warnings),
        "provenance": asdict(league.provenance),
    }


def _print(league: League) -> None:
    from niulab.evaluation.tables import score_lines

    (row,) = league.rows
    figures = table(league.title, "")
    figures.show_header = False
    figures.add_column()
    for label, figure in score_lines(row.score):
        figures.add_row(label, figure)
    if row.check is not None:
        seen = f"{row.check.mean:+.5f} ± {row.check.half_width:.5f}"
        n_rounds, level = f"{row.check.n_rounds:,}", f"{100 * row.check.level:g} %"
        figures.add_row("simulated", f"{seen} ({n_rounds} rounds, {level} interval)")
    console().print(figures)
