"""One way to run a command in this process: exit code, stdout and stderr apart."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from niulab.cli.main import app

Run = Callable[..., Result]


@pytest.fixture
def run() -> Run:
    def invoke(*words: str) -> Result:
        return CliRunner().invoke(app, list(words), catch_exceptions=False)

    return invoke


@pytest.fixture
def run_json(run: Run) -> Callable[..., Any]:
    """Run a command that must succeed and print nothing but JSON on stdout."""

    def invoke(*words: str) -> Any:
        result = run(*words, "--json")
        assert result.exit_code == 0, result.stderr
        return json.loads(result.stdout)

    return invoke


@pytest.fixture
def refused(run: Run) -> Callable[..., str]:
    """Run a command that must be refused; returns its one message."""

    def invoke(*words: str) -> str:
        result = run(*words)
        assert result.exit_code == 2, result.output
        assert result.stdout == ""
        assert "Traceback" not in result.stderr
        assert result.stderr.count("error: ") == 1, result.stderr
        return result.stderr

    return invoke
