"""``niulab benchmark``: a league of agents on one task, or a suite over many, with its report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple, cast

import typer

from niulab.cli.output import (
    JsonFlag,
    command_line,
    console,
    examples,
    fitted_tables,
    print_json,
    print_sections,
    progress_bar,
    say,
    warn,
)

if TYPE_CHECKING:
    from niulab.evaluation import BenchmarkConfig, League
    from niulab.evaluation.report import ReportFiles
    from niulab.parallel import Engine
    from niulab.training.leagues.suite import HeldSuite
    from niulab.training.leagues.suite_config import SuiteConfig

__all__ = ["EXAMPLES", "print_league", "run"]

EXAMPLES = examples(
    "niulab benchmark arrange",
    "niulab benchmark arrange_hk --out reports/hk",
    "niulab benchmark arrange --workers 2",
    "niulab benchmark session   [dim]# betting systems beside the optimum[/dim]",
    "niulab benchmark suite --workers 4   [dim]# learners x tasks x seeds[/dim]",
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
    retry_failed: Annotated[
        bool,
        typer.Option("--retry-failed", help="Do the cells of a suite anew that failed before."),
    ] = False,
    json: JsonFlag = False,
) -> None:
    """Hold a league of agents on one task, or a suite of learners over tasks and
    seeds, and write its report.

    The report is Markdown, one self-contained HTML page with pictures, and every
    figure as CSV and JSON. What is trained is kept beside it: a suite that was
    killed goes on where it was. Where and how many at a time changes no figure.
    """
    from niulab.errors import ConfigError
    from niulab.evaluation import BenchmarkConfig
    from niulab.training.leagues.suite_config import read_any

    checked = read_any(config)
    where = _Where(
        cast("Engine", engine or ("serial" if workers is None else "processes")), workers, address
    )
    if isinstance(checked, BenchmarkConfig):
        if retry_failed:
            raise ConfigError(
                "--retry-failed is about the cells of a suite, and this is a league: the same "
                "command without it goes on with what is left"
            )
        folder = out or Path("reports") / Path(config).stem
        _hold_league(checked, folder, where, as_json=json)
    else:
        folder = out or Path("reports") / checked.name
        _hold_suite(checked, folder, where, retry_failed=retry_failed, as_json=json)


class _Where(NamedTuple):
    """Where trainings run (see ``parallel.run_tasks``)."""

    engine: Engine
    workers: int | None
    address: str | None


def _hold_league(benchmark: BenchmarkConfig, folder: Path, where: _Where, *, as_json: bool) -> None:
    from niulab.evaluation.tables import league_dict
    from niulab.training.leagues.league import hold_league

    with progress_bar() as report:
        result = hold_league(
            benchmark, folder, command=command_line(), progress=report, **where._asdict()
        )
    for place in result.reused:
        say(f"{place} was finished before: read, not trained again")
    warn(result.league.warnings)
    if as_json:
        record = league_dict(result.league)
        print_json({**record, "report": vars(result.report), "runs": result.runs})
    else:
        print_league(result.league, result.report)


def _hold_suite(
    suite: SuiteConfig, folder: Path, where: _Where, *, retry_failed: bool, as_json: bool
) -> None:
    from niulab.evaluation.studies.report import study_dict
    from niulab.training.leagues.suite import hold_suite

    try:
        with progress_bar() as report:
            held = hold_suite(
                suite,
                folder,
                command=command_line(),
                progress=report,
                retry_failed=retry_failed,
                **where._asdict(),
            )
    except KeyboardInterrupt:
        if (folder / "cells").exists():
            warn([f"stopped; the same command goes on from what lies in {folder / 'cells'}"])
        raise
    if held.n_kept:
        say(f"{held.n_kept} of {held.n_cells} cells were finished before: read, not made again")
    warn(held.report.warnings())
    if as_json:
        print_json({**study_dict(held.report, held.provenance), "report": vars(held.files)})
    else:
        _print_suite(held)


def _print_suite(held: HeldSuite) -> None:
    out = console()
    out.print(f"\n{held.report.title}", style="bold", markup=False)
    print_sections(held.report.sections())
    names = ", ".join(path.name for path in (held.files.markdown, held.files.json))
    out.print(f"\nreport: {held.files.html} (and {names}, tables)", markup=False)


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
