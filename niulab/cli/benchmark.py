"""``niulab benchmark``: a league of agents on one task, exact, with its report."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from niulab.cli.output import (
    JsonFlag,
    command_line,
    console,
    examples,
    print_json,
    progress_bar,
    say,
    warn,
)

if TYPE_CHECKING:
    from niulab.evaluation import League
    from niulab.evaluation.report import ReportFiles

__all__ = ["EXAMPLES", "print_league", "run"]

EXAMPLES = examples(
    "niulab benchmark arrange",
    "niulab benchmark configs/benchmark/arrange_hk.toml --out reports/hk",
    "niulab benchmark arrange --json > league.json",
)

_GAP = 3  # between two columns


def run(
    config: Annotated[
        str,
        typer.Argument(help="A shipped benchmark or the path of a .toml file.", metavar="CONFIG"),
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="Folder of the report. Default: reports/NAME.", metavar="DIR"),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Score agents on one task, rank them, and write the league as a report.

    The report is Markdown, CSV, JSON and one self-contained HTML page with
    pictures. Runs that the benchmark trains first are kept beside it.
    """
    from niulab.evaluation import read_benchmark
    from niulab.evaluation.tables import league_dict
    from niulab.training.league import hold_league

    benchmark = read_benchmark(config)
    folder = out or Path("reports") / Path(config).stem
    command = command_line()
    with progress_bar() as report:
        result = hold_league(benchmark, folder, command=command, progress=report)
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
    for part in _parts(header, rows, out.width):
        out.print(part)
    for line in (summary(league), *legend(league)):
        out.print(line, markup=False)
    made = league.provenance
    seed = f"seed {made.seed} of the cross-check, " if made.rounds else ""
    out.print(f"made by: {made.command} ({seed}rules {made.rules} {made.rules_hash})", markup=False)
    out.print(f"report: {files.html} (and {files.markdown.name}, .csv, .json)", markup=False)


def _parts(header: list[str], rows: list[list[str]], width: int) -> Iterator[Table]:
    """The table in as few parts as fit a width, each with the agents' names in front."""
    name = header.index("agent")
    widths = [
        max(len(text) for text in column) + _GAP for column in zip(header, *rows, strict=True)
    ]
    left = [place for place, title in enumerate(header) if title not in {"agent", ""}]
    while left:
        taken, room = [left.pop(0)], width - widths[name]
        room -= widths[taken[0]]
        while left and widths[left[0]] <= room:
            room -= widths[left[0]]
            taken.append(left.pop(0))
        part = Table(box=SIMPLE_HEAD, padding=(0, 1), pad_edge=False)
        for place in (name, *taken):
            is_text = header[place] in {"agent", "source"}
            part.add_column(header[place], justify="left" if is_text else "right", no_wrap=True)
        for row in rows:
            part.add_row(*(row[place] for place in (name, *taken)))
        yield part
