"""How cost grows with the batch, the seats, the threads and the decks."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace

from measure import Figure, Meter, pin
from ours import RULES, play_work, vector_work

import niulab
from niulab.engine.batch import BatchEngine
from niulab.engine.rules.catalog import parse_rules

__all__ = ["Growth", "measure_growth"]

_ROWS = 1 << 14
_BATCHES = (1, 4, 16, 64, 256, 1024, 4096, 16384, 65536)


@dataclass(frozen=True)
class Growth:
    """One table: a figure per value of what grows, in one or more columns."""

    title: str
    grows: str
    columns: tuple[str, ...]
    rows: dict[int, tuple[Figure, ...]]
    note: str
    by_wall: bool = False


def measure_growth(meter: Meter, core: int, *, all_cores: set[int]) -> list[Growth]:
    """The four tables; the one of threads is measured on two cores."""
    return [
        _batches(meter),
        _seats(meter),
        _threads(meter, core, all_cores),
        _decks(meter),
    ]


def _batches(meter: Meter) -> Growth:
    rules, rows = niulab.load_rules(RULES), {}
    for batch in _BATCHES:
        n_calls = max(1, 256 // batch)
        play = play_work(rules, batch)
        ids, n_ids = vector_work(batch, encoding="ids")
        flags, n_flags = vector_work(batch)
        rows[batch] = (
            meter.rate(f"growth: play, batch {batch}", _times(n_calls, play), n_calls * batch),
            meter.rate(f"growth: vector env ids, batch {batch}", ids, n_ids, unit="steps"),
            meter.rate(f"growth: vector env float32, batch {batch}", flags, n_flags, unit="steps"),
        )
    columns = ("`BatchEngine.play`", "vector env, ids", "vector env, float32 flags")
    return Growth(
        "Rows of a batch", "batch", columns, rows, "Rounds or steps per processor second."
    )


def _times(n: int, work: Callable[[], object]) -> Callable[[], object]:
    def repeated() -> None:
        for _ in range(n):
            work()

    return repeated


def _seats(meter: Meter) -> Growth:
    rules, rows = niulab.load_rules(RULES), {}
    for n_seats in range(1, 10):
        work = play_work(rules, _ROWS, n_seats)
        tables = meter.rate(f"growth: {n_seats} seats", work, _ROWS, batch=_ROWS)
        rows[n_seats] = (tables, replace(tables, value=n_seats * tables.value, unit="seats"))
    columns = ("rounds of the table", "seats settled")
    note = "One seat and a whole deck have a path of their own; from two seats on rounds go through"
    note += " the general one, and from the eleventh card on need a second word."
    return Growth("Seats", "seats", columns, rows, note)


def _threads(meter: Meter, core: int, all_cores: set[int]) -> Growth:
    engine, rows = BatchEngine(niulab.load_rules(RULES)), {}
    pin(*all_cores)
    for threads in (1, 2):
        rows[threads] = (
            meter.rate(
                f"growth: count, {threads} threads",
                lambda threads=threads: engine.count(1, 0, 1 << 23, threads=threads),
                1 << 23,
                batch=1 << 23,
            ),
        )
    pin(core)
    load = os.getloadavg()[0]
    note = f"`BatchEngine.count` on {len(all_cores)} cores, load average {load:.1f} meanwhile; by"
    note += " the wall, two threads gain only what other work leaves of the second core."
    return Growth("Threads", "threads", ("per processor second",), rows, note, by_wall=True)


def _decks(meter: Meter) -> Growth:
    rows = {}
    for decks in range(1, 9):
        rules = parse_rules(
            f'name = "decks-{decks}"\ntitle = "{decks} decks"\nextends = "{RULES}"\n'
            f'source = "benchmark"\ndeck = {{ decks = {decks} }}\n'
        )
        work = play_work(rules, _ROWS)
        rows[decks] = (meter.rate(f"growth: {decks} decks", work, _ROWS, batch=_ROWS),)
    note = "Shuffled every round; a larger shoe is laid out anew for each, and five cards share a"
    note += " word instead of ten."
    return Growth("Decks", "decks", ("`BatchEngine.play`",), rows, note)
