"""The progress bar of a training run: on stderr, and only where that is a terminal."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

__all__ = ["ProgressBar"]

_SECONDS = 0.1


class ProgressBar:
    """Steps done, the last score and the time left; silent unless ``is_wanted`` on a terminal."""

    def __init__(self, title: str, total: int, *, is_wanted: bool) -> None:
        self._progress: Progress | None = None
        self._next = 0.0
        if is_wanted and sys.stderr.isatty():
            self._progress = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.fields[score]}"),
                console=Console(stderr=True),
            )
            self._task = self._progress.add_task(title, total=total, score="")

    def __enter__(self) -> Self:
        if self._progress is not None:
            self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._progress is not None:
            self._progress.stop()

    def advance_to(self, step: int) -> None:
        """Show a step; asked too often, it waits."""
        now = time.perf_counter()
        if self._progress is not None and now >= self._next:
            self._next = now + _SECONDS
            self._progress.update(self._task, completed=step)

    def show(self, score: str, *, step: int | None = None) -> None:
        """Show a word behind the bar."""
        if self._progress is not None:
            self._progress.update(self._task, score=score, completed=step)

    def say(self, line: str) -> None:
        """Print a line above the bar."""
        if self._progress is not None:
            self._progress.console.print(line, highlight=False)
