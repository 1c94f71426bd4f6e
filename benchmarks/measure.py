"""How every figure is taken: one pinned core, processor time, the median of several repeats.

Only the standard library is used, so that peers' own environments can import it.
"""

from __future__ import annotations

import os
import platform
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Figure", "Meter", "cpu_model", "default_core", "pin", "show"]

_CALIBRATION = 1_000_000


@dataclass(frozen=True)
class Figure:
    """Median, least and most of one quantity per processor second, and its median by the wall.

    ``unit`` is "s" for a time, else the name of what is done per second.
    """

    name: str
    unit: str
    value: float
    least: float
    most: float
    wall: float
    batch: int = 1


@dataclass
class Meter:
    """Measures and prints, and keeps what it measured by name, with the work behind it."""

    seconds: float = 0.3
    repeats: int = 5
    figures: dict[str, Figure] = field(default_factory=dict)
    works: dict[str, Callable[[], object]] = field(default_factory=dict)

    def rate(
        self, name: str, work: Callable[[], object], n: int, *, unit: str = "rounds", batch: int = 1
    ) -> Figure:
        """Units per processor second of ``work``, each call of which does ``n`` of them."""
        work()
        start, n_calls = time.process_time(), 0
        while time.process_time() - start < self.seconds / 4:
            work()
            n_calls += 1
        per_repeat = max(1, round(4 * n_calls))
        taken = [_timed(work, per_repeat) for _ in range(self.repeats)]
        rates = [n * per_repeat / cpu for cpu, _ in taken]
        wall = statistics.median(n * per_repeat / wall for _, wall in taken)
        self.works[name] = work
        return self.keep(Figure(name, unit, *_spread(rates), wall, batch))

    def time(self, name: str, work: Callable[[], object], *, repeats: int | None = None) -> Figure:
        """Processor seconds of one call, after one that does not count."""
        work()
        taken = [_timed(work, 1) for _ in range(repeats or self.repeats)]
        wall = statistics.median(wall for _, wall in taken)
        self.works[name] = work
        return self.keep(Figure(name, "s", *_spread([cpu for cpu, _ in taken]), wall))

    def given(self, name: str, values: list[float], *, unit: str = "s", batch: int = 1) -> Figure:
        """What other processes measured of themselves, by processor time."""
        return self.keep(Figure(name, unit, *_spread(values), statistics.median(values), batch))

    def calibrate(self, when: str) -> Figure:
        """A fixed Python loop: how fast this core is just now."""
        return self.rate(f"calibration, {when}", _loop, _CALIBRATION, unit="loops")

    def keep(self, figure: Figure) -> Figure:
        self.figures[figure.name] = figure
        print(line(figure), flush=True)
        return figure


def _loop() -> int:
    total = 0
    for i in range(_CALIBRATION):
        total += i & 7
    return total


def _timed(work: Callable[[], object], n_calls: int) -> tuple[float, float]:
    """Processor seconds of this process, all its threads together, and seconds by the wall."""
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(n_calls):
        work()
    return time.process_time() - cpu, time.perf_counter() - wall


def _spread(values: list[float]) -> tuple[float, float, float]:
    return statistics.median(values), min(values), max(values)


def show(value: float, unit: str) -> str:
    """A value with three digits: ``12.3 M``, ``0.412 s``."""
    if unit == "s":
        return f"{value:.2f} s" if value >= 1 else f"{value * 1000:.3g} ms"
    for scale, sign in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if value >= scale:
            digits = max(0, 2 - len(str(int(value / scale))) + 1)
            return f"{value / scale:.{digits}f}{sign}"
    return f"{value:.3g}"


def line(figure: Figure) -> str:
    spread = f"{show(figure.least, figure.unit)} to {show(figure.most, figure.unit)}"
    unit = "" if figure.unit in {"s", "times"} else f" {figure.unit}/cpu-s"
    return f"{figure.name:<58} {show(figure.value, figure.unit):>9}{unit}   ({spread})"


def default_core() -> int:
    """The last of the cores this process may use; systems tend to fill the first ones."""
    return max(os.sched_getaffinity(0)) if hasattr(os, "sched_setaffinity") else 0


def pin(*cores: int) -> None:
    """Keep this process, and those it starts, on some cores, where the system can do that."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, cores)


def cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for row in info.read_text("utf-8").splitlines():
            if row.startswith("model name"):
                return row.partition(":")[2].strip()
    return platform.processor() or f"{platform.machine()} ({sys.platform})"
