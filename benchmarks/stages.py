"""Where the time of a measured piece of work goes, for the figures that miss their target."""

from __future__ import annotations

import cProfile
import pstats
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Stage", "profile"]

_LEAST_OWN, _LEAST_TOTAL, _MOST = 0.03, 0.05, 24


@dataclass(frozen=True)
class Stage:
    """A function: its share of all processor time by itself, and with all that it calls."""

    name: str
    calls: int
    own: float
    total: float


def profile(work: Callable[[], object], *, seconds: float = 0.5) -> list[Stage]:
    """The functions that hold a good part of the time, themselves or with what they call.

    Compiled code counts as the own time of the function that is compiled.
    """
    profiler = cProfile.Profile(time.process_time)
    start = time.process_time()
    profiler.runcall(work)
    while time.process_time() - start < seconds:
        profiler.runcall(work)
    stats = pstats.Stats(profiler).stats  # type: ignore[attr-defined]  # typeshed leaves it out
    all_of_it = sum(own for _, _, own, _, _ in stats.values())
    stages = [
        Stage(_name(*place), calls, own / all_of_it, total / all_of_it)
        for place, (calls, _, own, total, _) in stats.items()
    ]
    large = [
        stage
        for stage in stages
        if stage.own >= _LEAST_OWN or _LEAST_TOTAL <= stage.total <= 1 - _LEAST_TOTAL
    ]
    return sorted(large, key=lambda stage: -stage.total)[:_MOST]


def _name(file: str, line: int, function: str) -> str:
    if file == "~":
        of_type = re.fullmatch(r"<method '(\w+)' of '([\w.]+)' objects>", function)
        return f"{of_type[2]}.{of_type[1]}" if of_type else function.strip("<>").split()[-1]
    path = Path(file)
    return f"{path.parent.name}/{path.name}: {function}" if line else function
