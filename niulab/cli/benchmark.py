"""``niulab benchmark``: a league of agents on one task, exact, with its report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from niulab.cli.output import (
    JsonFlag,
    command_line,
    console,
    examples,
    fitted_tables,
    print_json,
    progress_bar,
    say,
    warn,
)

if TYPE_CHECKING:
    from niulab.evaluation import League
    from niulab.evaluation.report import ReportFiles
    from niulab.parallel import Engine

__all__ = ["EXAMPLES", "print_league", "run"]

EXAMPLES = examples(
    "niulab benchmark arrange",
    "niulab benchmark arrange_hk --out reports/hk",
    "niulab benchmark arrange --workers 2",
    "niulab benchmark session   [dim]# betting systems beside the optimum[/dim]",
    "niulab benchmark arrange --json > league.json",
)


def run(
    config: Annotated[
        str,
        typer.Argument(help="A shipped benchmark or the path of a .toml file.", metavar="CONFIG"),
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="Folder of the report. Default: reports/NAME.", metavar="DIR"),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Runs trained at a time, each in a process of its own.")
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            help="Where runs are trained: serial (default), processes (default with --workers) or "
            "ray.",
            metavar="ENGINE",
        ),
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(
            help="A Ray to join, as auto or HOST:PORT. Default: one on this machine.",
            metavar="ADDRESS",
        ),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Score agents on one task, rank them, and write the league as a report.

    The report is Markdown, CSV, JSON and one self-contained HTML page with
    pictures. Runs that the benchmark trains first are kept beside it; where
    and how many at a time changes no figure.
    """
    from niulab.evaluation import read_benchmark
    from niulab.evaluation.tables import league_dict
    from niulab.training.leagues.league import hold_league

    benchmark = read_benchmark(config)
    folder = out or Path("reports") / Path(config).stem
    command = command_line()
    with progress_bar() as report:
        result = hold_league(
            benchmark,
            folder,
            command=command,
            progress=report,
            engine=cast("Engine", engine or ("serial" if workers is None else "processes")),
            workers=workers,
            address=address,
        )
    for place in result.reused:
        say(f"{place} was finished before: read, not trained again")
    warn(result.league.warnings)
    if json:
        record = league_dict(result.league)
        print_json({**record, "report": vars(result.report), "runs": result.runs})
    else:
        print_league(result.league, result.report)


def print_league(league: League, files: ReportFiles) -> None:
    """The league, what its columns mean, and where the report lies."""
    from niulab.evaluation.tables import league_cells, legend, summary

    out = console()
    header, rows = league_cells(league)
    out.print(f"\n[bold]{league.title}[/bold], best first\n")
    for part in fitted_tables((header, rows), out.width, name="agent"):
        out.print(part)
    for line in (summary(league), *legend(league)):
        out.print(line, markup=False)
    made = league.provenance
    seed = f"seed {made.seed} of the cross-check, " if made.rounds else ""
    out.print(f"made by: {made.command} ({seed}rules {made.rules} {made.rules_hash})", markup=False)
    out.print(f"report: {files.html} (and {files.markdown.name}, .csv, .json)", markup=False)
