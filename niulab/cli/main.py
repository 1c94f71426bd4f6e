"""The program ``niulab``: its commands, and what an error looks like."""

from __future__ import annotations

import os
import sys
from errno import EDQUOT, EFBIG, ENOSPC
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from niulab import __version__
from niulab.cli import (
    benchmark,
    demo,
    evaluate,
    hand,
    rules,
    simulate,
    solve,
    study,
    train,
    tune,
)
from niulab.cli.agents import export, import_zip, play
from niulab.cli.logs import detect, log, vulnerability
from niulab.cli.output import complain, examples
from niulab.errors import ConfigError, NiuLabError

__all__ = ["app", "main"]


_NO_ROOM = (ENOSPC, EDQUOT, EFBIG)
"""What the system says of a full disk, a used up quota and the longest file."""


class _Program(TyperGroup):
    """A user's error is one message on stderr and exit code 2, in every command."""

    def invoke(self, ctx: Any) -> object:
        try:
            return super().invoke(ctx)
        except NiuLabError as error:
            complain(str(error))
        except OSError as error:
            if error.filename is not None:
                remedy = "give a path that can be read and written"
                complain(f"cannot use '{error.filename}': {error.strerror}; {remedy}")
            elif error.errno in _NO_ROOM:  # stdout leads there, or a file that is open
                complain(f"cannot write the output: {error.strerror}; make room for it")
            else:  # no file of the user's: a broken pipe, say
                raise
        raise typer.Exit(2)


class _Command(TyperCommand):
    """An empty path is refused: taken as a path, it would be the folder the program stands in."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        given, _, _ = self.make_parser(ctx).parse_args(args=list(args))
        hints = get_type_hints(self.callback)
        for param in self.params:
            words = given.get(param.name)
            is_empty = "" in (words if isinstance(words, list | tuple) else [words])
            if is_empty and Path in _types_in(hints.get(param.name)):
                name = next((each for each in param.opts if each.startswith("--")), "")
                name = name or str(param.metavar or param.name)
                raise ConfigError(f"{name} is '': give a path, '.' for the folder you are in")
        return super().parse_args(ctx, args)


def _types_in(hint: Any) -> set[Any]:
    """The types that a hint is made of: ``list[Path] | None`` holds Path."""
    return {hint}.union(*map(_types_in, get_args(hint)))


app = typer.Typer(
    name="niulab",
    cls=_Program,
    help="Niu Niu Poker, solved exactly: train agents on it and benchmark them against the oracle.",
    epilog=examples(
        "niulab rules",
        "niulab solve single-double-super --slip single=100,super=40",
        'niulab hand "KS QH 10D AC 7S" --dealer "2S 3S 4D 9H 9C"',
        "niulab evaluate greedy-pair",
        "niulab study mix",
        "niulab demo",
    ),
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        print(f"niulab {__version__}")
        raise typer.Exit


@app.callback()
def _program(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    pass


for _name, _room in {
    "rules": rules,
    "solve": solve,
    "simulate": simulate,
    "hand": hand,
    "train": train,
    "tune": tune,
    "evaluate": evaluate,
    "export": export,
    "import": import_zip,
    "benchmark": benchmark,
    "study": study,
    "detect": detect,
    "play": play,
    "vulnerability": vulnerability,
    "demo": demo,
}.items():
    app.command(_name, cls=_Command, epilog=_room.EXAMPLES)(_room.run)
for _info in log.app.registered_commands:
    _info.cls = _Command
app.add_typer(log.app, name="log")


def main() -> None:
    """Run the command line; the entry point of the package."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by who started the program
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115, open to the end
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a sign shows another
    app()
