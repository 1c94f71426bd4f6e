"""An empty path is refused by every command that takes one, before anything is done."""

from __future__ import annotations

from pathlib import Path
from typing import get_type_hints

import pytest
import typer

from niulab.cli.main import app


def takes_path(hint):
    return "Path" in str(hint)


def commands(tree, words=()):
    for name, command in tree.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*words, name))
        else:
            yield (*words, name), command


def cases():
    """Words with one empty path each, other arguments given."""
    for words, command in commands(typer.main.get_command(app)):
        hints = get_type_hints(command.callback)
        arguments = [p.name for p in command.params if p.param_type_name == "argument"]
        for param in command.params:
            if not takes_path(hints.get(param.name, "")):
                continue
            if param.name in arguments:
                yield [*words, *("" if name == param.name else "x" for name in arguments)]
            else:
                option = next(name for name in param.opts if name.startswith("--"))
                yield [*words, option, ""]
                yield [*words, f"{option}="]


CASES = list(cases())


def test_there_are_many_such_paths():
    options = {words[-2] for words in CASES if words[-1] == ""}
    assert {"--out", "--report", "--state", "--store", "--quarantine"} <= options
    assert ["log", "stats", ""] in CASES
    assert ["log", "export", "x", ""] in CASES


@pytest.mark.parametrize("words", CASES, ids=" ".join)
def test_an_empty_path_is_refused(refused, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    message = refused(*words)
    assert "is '': give a path" in message
    assert list(Path().iterdir()) == []


def test_the_message_names_the_option_or_the_argument(refused):
    assert "--report is ''" in refused("vulnerability", "single-double-super", "--report", "")
    assert "STORE is ''" in refused("log", "stats", "")
