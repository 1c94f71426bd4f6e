"""How commands print: JSON alone on stdout, tables, loud warnings and progress on stderr.

Exact figures are printed as ``"a/b"``; floats appear only where a key or a column says so.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console, JustifyMethod
from rich.markup import escape
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from niulab.evaluation.studies import Section
    from niulab.evaluation.tables import Cells

__all__ = [
    "JsonFlag",
    "Report",
    "command_line",
    "complain",
    "console",
    "exact",
    "examples",
    "fitted_tables",
    "percent",
    "print_json",
    "print_json_line",
    "print_sections",
    "progress_bar",
    "say",
    "table",
    "warn",
]

Report = Callable[[str, int, int], None]
"""Called with what is worked on, how much of it is done and how much it is in all."""

JsonFlag = Annotated[
    bool, typer.Option("--json", help="Print JSON on stdout and nothing else there.")
]

_MOST_ROWS = 40  # of a table on the screen; the report has them all
_GAP = 3  # between two columns
_WIDTH_OF_FILES = 160  # where no terminal says how wide it is


def command_line() -> list[str]:
    """The words this program was called with, for manifests and reports."""
    return ["niulab", *sys.argv[1:]]


def console(*, stderr: bool = False) -> Console:
    """The console on stdout, or on stderr."""
    return _console(stderr=stderr)


def _console(*, stderr: bool) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else _WIDTH_OF_FILES
    return Console(file=stream, width=width, highlight=False)


def print_json(content: Any) -> None:
    """Print one JSON document; a number that JSON cannot hold is a bug, not output."""
    print(json.dumps(content, indent=2, allow_nan=False, default=_plain))


def print_json_line(content: Any) -> None:
    """Print one JSON document on one line, at once."""
    print(json.dumps(content, allow_nan=False, default=_plain), flush=True)


def _plain(value: object) -> object:
    if isinstance(value, Fraction):
        return exact(value)
    if isinstance(value, Path):
        return str(value)
    message = f"{type(value).__name__} is no JSON"
    raise TypeError(message)


def exact(value: Fraction) -> str:
    """A Fraction as ``a/b``."""
    return f"{value.numerator}/{value.denominator}"


def percent(value: Fraction | float, digits: int = 4) -> str:
    return f"{100 * float(value):.{digits}f} %"


def table(title: str, *columns: str, note: str = "") -> Table:
    """A table whose first column is a name and whose others are figures."""
    result = Table(title=title, title_justify="left", caption=note or None, caption_justify="left")
    for place, column in enumerate(columns):
        result.add_column(column, justify="right" if place else "left", no_wrap=not place)
    return result


def fitted_tables(cells: Cells, width: int, *, name: str) -> Iterator[Table]:
    """A table in as few parts as fit a width, each with the column ``name`` in front; columns
    without a title are left out.
    """
    from niulab.evaluation.tables import figure_columns

    header, rows = cells
    widths = [
        max(len(text) for text in column) + _GAP for column in zip(header, *rows, strict=True)
    ]
    front, figures = header.index(name), figure_columns(cells)
    left = [place for place, title in enumerate(header) if title and place != front]
    while True:
        taken, room = [front], width - widths[front]
        while left and (len(taken) == 1 or widths[left[0]] <= room):
            room -= widths[left[0]]
            taken.append(left.pop(0))
        part = Table(box=SIMPLE_HEAD, padding=(0, 1), pad_edge=False)
        for place in taken:
            justify: JustifyMethod = "right" if figures[place] else "left"
            fits = place == front or widths[place] <= width - widths[front]
            part.add_column(header[place], justify=justify, no_wrap=fits)
        for row in rows:
            part.add_row(*(escape(row[place]) for place in taken))
        yield part
        if not left:
            return


def print_sections(sections: Iterable[Section]) -> None:
    """Print the chapters of a report, without their pictures."""
    out = console()
    for section in sections:
        out.print(f"\n{section.title}", style="bold", markup=False)
        for line in section.lines:
            out.print(line, markup=False)
        if section.cells is None:
            continue
        header, rows = section.cells
        for part in fitted_tables((header, rows[:_MOST_ROWS]), out.width, name=header[0]):
            out.print(part)
        if len(rows) > _MOST_ROWS:
            out.print(f"... and {len(rows) - _MOST_ROWS:,} more in the report")


def warn(lines: Iterable[str]) -> None:
    """Print warnings on stderr, loudly."""
    for line in lines:
        _console(stderr=True).print(Text(line, style="bold red"), soft_wrap=True)


def say(line: str) -> None:
    """Print a word on what goes on, on stderr."""
    _console(stderr=True).print(line, markup=False, soft_wrap=True)


def complain(message: str) -> None:
    """Print an error on stderr."""
    text = Text.assemble(("error: ", "bold red"), message)
    _console(stderr=True).print(text, soft_wrap=True)


def examples(*lines: str) -> str:
    """The epilog of a command's help."""
    return "\n\n".join(["[bold]Examples[/bold]", *(f"[dim]$[/dim] {line}" for line in lines)])


@contextmanager
def progress_bar(*, with_eta: bool = False) -> Iterator[Report | None]:
    """A progress bar on stderr that appears with the first report; None where it is no terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.progress import (
        BarColumn,
        Progress,
        ProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns: list[ProgressColumn] = [
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
    ]
    if with_eta:  # the time left, of one piece of work that goes on evenly
        columns.append(TimeRemainingColumn())
    progress = Progress(*columns, console=_console(stderr=True), transient=True)
    task = progress.add_task("", total=None)

    def report(title: str, done: int, total: int) -> None:
        progress.start()
        progress.update(task, description=title, completed=done, total=total)

    try:
        yield report
    finally:
        progress.stop()
