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
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

__all__ = [
    "JsonFlag",
    "Report",
    "command_line",
    "complain",
    "console",
    "exact",
    "examples",
    "percent",
    "print_json",
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

_WIDTH_OF_FILES = 160  # where no terminal says how wide it is


def command_line() -> list[str]:
    """The words this program was called with, for manifests and reports."""
    return ["niulab", *sys.argv[1:]]


def console() -> Console:
    """The console on stdout."""
    return _console(stderr=False)


def _console(*, stderr: bool) -> Console:
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else _WIDTH_OF_FILES
    return Console(file=stream, width=width, highlight=False)


def print_json(content: Any) -> None:
    """Print one JSON document; a number that JSON cannot hold is a bug, not output."""
    print(json.dumps(content, indent=2, allow_nan=False, default=_plain))


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
