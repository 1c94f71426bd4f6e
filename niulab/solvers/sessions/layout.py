"""A session laid out for the compiled programmes: nets in steps, barriers, the room it takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from niulab.engine.rules.model import RuleSet
from niulab.errors import ConfigError
from niulab.solvers.joint_law import JointLaw
from niulab.solvers.sessions.net_law import NetLaw, net_law
from niulab.solvers.sessions.tables import (
    BettingTables,
    ruin_cents,
    verify_start,
    verify_step,
    verify_tables,
)

__all__ = ["MOST_BYTES", "Arguments", "Layout", "lay_out"]

MOST_BYTES = 4 << 30
"""Of the arrays of one programme."""

_ROUNDOFF = 2.0**-53


class Arguments(NamedTuple):
    """The leading arguments of the kernels, in their order; see ``play_rounds``."""

    choice: NDArray[np.int32]
    following: NDArray[np.int32]
    n_drawn: int
    lowest: int
    shifts: NDArray[np.int64]
    chances: NDArray[np.float64]
    n_nets: NDArray[np.int64]
    memory: int
    start: int
    bottom: int
    top: int


@dataclass(frozen=True, eq=False)
class Layout:
    """What a programme over (memory, level) is given.

    laws: of the tables' slips. shifts int64 and chances float64 (S, K): their nets in steps, n_nets
    (S,) of them. Levels: ruin is below ``bottom``, the game ends at ``top``, and no bankroll leaves
    ``lowest`` to ``lowest + width - 1``. n_rows: the most memories that are held at one time.
    rounding_bound: of the absolute error of every probability that ``n_rounds`` rounds lead to.
    """

    tables: BettingTables
    laws: tuple[NetLaw, ...]
    shifts: NDArray[np.int64]
    chances: NDArray[np.float64]
    n_nets: NDArray[np.int64]
    start: int
    bottom: int
    top: int
    lowest: int
    width: int
    n_rows: int
    rounding_bound: float

    @property
    def arguments(self) -> Arguments:
        """Of the kernels; levels are places from ``lowest`` on."""
        return Arguments(
            choice=self.tables.choice,
            following=self.tables.next,
            n_drawn=self.tables.n_memories if self.tables.redraws else 1,
            lowest=self.lowest,
            shifts=self.shifts,
            chances=self.chances,
            n_nets=self.n_nets,
            memory=self.tables.initial,
            start=self.start - self.lowest,
            bottom=self.bottom - self.lowest,
            top=self.top - self.lowest,
        )

    def rows(self, *gaps: int) -> NDArray[np.float64]:
        """Zeroed scratch (2, n_rows, *gaps, width); raises ConfigError where memory ends."""
        shape = (2, self.n_rows, *gaps, self.width)
        n_states = np.prod([float(n) for n in shape[1:]])
        if 16 * n_states > MOST_BYTES:
            raise ConfigError(
                f"{self.n_rows} memories of {self.width} levels"
                + "".join(f" and {n} gaps" for n in gaps)
                + f" are {n_states:.0f} states and need {16 * n_states:.0f} bytes, more than "
                f"{MOST_BYTES}: take fewer levels (a lower top or target), stakes on a coarser "
                "step_cents, or a policy with fewer memories"
            )
        return np.zeros(shape)


def lay_out(
    rules: RuleSet,
    tables: BettingTables,
    *,
    start_cents: int,
    n_rounds: int,
    target_cents: int | None,
    law: JointLaw | None,
) -> Layout:
    """Check the session of ``play_session`` and lay it out; raises ConfigError."""
    _verify_session(rules, tables, start_cents, n_rounds, target_cents, law)
    laws = tuple(net_law(rules, slip, law) for slip in tables.slips)
    shifts, chances, n_nets = _moves(tables, laws)
    step, n_rows = tables.step_cents, _most_memories(tables, n_rounds)
    start, bottom = start_cents // step, -(-ruin_cents(rules) // step)
    top = tables.n_levels if target_cents is None else -(-target_cents // step)
    lowest, highest = min(start, 0), start
    least = np.array([*shifts.min(axis=1), 0])  # STOP indexes the last entry
    most = np.array([*shifts.max(axis=1), 0])
    levels = np.arange(bottom, top)
    for row in tables.choice[:, bottom:top]:
        lowest = min(lowest, int((levels + least[row]).min(initial=0)))
        highest = max(highest, int((levels + most[row]).max(initial=0)))
    width = highest - lowest + 1
    # A level collects at most one term for every net that leads to its memory; each term holds two
    # products and a rounded probability. Sums over levels, memories and rounds follow.
    n_chain = n_rounds * (_most_terms(tables, shifts, n_nets) + 5) + width + n_rows
    return Layout(
        tables=tables,
        laws=laws,
        shifts=shifts,
        chances=chances,
        n_nets=n_nets,
        start=start,
        bottom=bottom,
        top=top,
        lowest=lowest,
        width=width,
        n_rows=n_rows,
        rounding_bound=n_chain * _ROUNDOFF,
    )


def _moves(
    tables: BettingTables, laws: tuple[NetLaw, ...]
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.int64]]:
    verify_step(tables, laws)
    n_nets = np.array([len(law.nets) for law in laws])
    shifts = np.zeros((len(laws), n_nets.max()), dtype=np.int64)
    chances = np.zeros(shifts.shape)
    for place, law in enumerate(laws):
        shifts[place, : len(law.nets)] = law.nets // tables.step_cents
        chances[place, : len(law.nets)] = law.probabilities
    return shifts, chances, n_nets


def _most_memories(tables: BettingTables, n_rounds: int) -> int:
    """The most memories that are possible at one time: 1 for a policy with a deadline."""
    if tables.redraws:
        return 1
    held, most = np.array([tables.initial]), 1
    for _ in range(n_rounds):
        following = np.unique(tables.next[held])
        most = max(most, len(following))
        if most == tables.n_memories or np.array_equal(following, held):
            break
        held = following
    return most


def _most_terms(tables: BettingTables, shifts: NDArray[np.int64], n_nets: NDArray[np.int64]) -> int:
    """The most (memory, net) pairs that lead to one memory."""
    if tables.redraws:
        return tables.n_memories * int(n_nets.max())
    by_kind = [
        np.bincount(np.sign(row[:n]) + 1, minlength=3)
        for row, n in zip(shifts, n_nets, strict=True)
    ]
    weights = np.tile(np.max(by_kind, axis=0), tables.n_memories)
    return int(np.bincount(tables.next.ravel(), weights=weights).max())


def _verify_session(
    rules: RuleSet,
    tables: BettingTables,
    start_cents: int,
    n_rounds: int,
    target_cents: int | None,
    law: JointLaw | None,
) -> None:
    if n_rounds < 0:
        raise ConfigError(f"n_rounds is a whole number of at least 0, got {n_rounds}")
    if rules.deck.reshuffle != "every_round" and law is None:
        raise ConfigError(
            f"'{rules.name}' deals on to a cut card, and rounds of one shoe depend on each other: "
            "simulate the session, or give law=joint_law(rules) to take rounds as independent"
        )
    verify_start(tables, start_cents, target_cents)
    verify_tables(rules, tables)
