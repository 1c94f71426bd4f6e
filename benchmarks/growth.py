"""How cost grows with the batch, the seats, the threads and the decks."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace

from measure import Figure, Meter, pin
from ours import RULES, play_work, vector_work

import niulab
from niulab.engine.batch import BatchEngine
from niulab.engine.cards import HAND_SIZE
from niulab.engine.rules.catalog import parse_rules
from niulab.engine.shoe import deal_plan

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
    one, nine = (1e9 / rows[n_seats][0].value for n_seats in (1, 9))
    note = (
        f"A round takes {one:.1f} ns with one seat and {nine:.1f} with nine; a hand, the dealer's "
        f"among them, {one / 2:.1f} and {nine / 10:.1f}. Random words needed for a round, by "
        f"seats: {_words({n: _words_of(rules, n) for n in rows})}."
    )
    if nine / 10 > one / 2:
        note += " A card is traced back through the swaps of all cards dealt before it."
    return Growth("Seats", "seats", columns, rows, note)


def _words(needed: dict[int, int]) -> str:
    """Random words a round needs, by what grows: ``1 with 1, 2 with 2 to 8``."""
    return ", ".join(
        f"{words} with {_span([n for n in needed if needed[n] == words])}"
        for words in sorted(set(needed.values()))
    )


def _words_of(rules: niulab.RuleSet, n_seats: int) -> int:
    per_word = deal_plan(rules, n_seats + 1)[0][0]
    return -(-HAND_SIZE * (n_seats + 1) // per_word)


def _span(numbers: list[int]) -> str:
    return f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"


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
    gain = rows[2][0].wall / rows[1][0].wall
    note = (
        f"`BatchEngine.count` on {len(all_cores)} cores, load average {load:.1f} meanwhile. By "
        f"the wall two threads do {gain:.2f} times the work of one."
    )
    return Growth("Threads", "threads", ("per processor second",), rows, note, by_wall=True)


def _decks(meter: Meter) -> Growth:
    rows, words = {}, {}
    for decks in range(1, 9):
        rules = parse_rules(
            f'name = "decks-{decks}"\ntitle = "{decks} decks"\nextends = "{RULES}"\n'
            f'source = "benchmark"\ndeck = {{ decks = {decks} }}\n'
        )
        work, words[decks] = play_work(rules, _ROWS), _words_of(rules, 1)
        rows[decks] = (meter.rate(f"growth: {decks} decks", work, _ROWS, batch=_ROWS),)
    one, most = (1e9 / rows[decks][0].value for decks in (1, 8))
    note = (
        f"Shuffled every round: {one:.1f} ns with one deck, {most:.1f} with eight. Random words "
        f"needed for a round, by decks: {_words(words)}."
    )
    return Growth("Decks", "decks", ("`BatchEngine.play`",), rows, note)
