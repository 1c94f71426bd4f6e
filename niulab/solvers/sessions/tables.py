"""A betting policy as finite tables: what the programme evaluates and the simulation plays.

A policy sees its memory and its bankroll, never the round that is about to be dealt. Memory is a
number below M (the step of a progression, the rounds played); the bankroll is a whole number of
steps, its level.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from niulab.engine.rules.model import RuleSet
from niulab.engine.wagers import Slip, cover_from, exposure_cents, least_slip, verify_slip
from niulab.errors import ConfigError, WagerError
from niulab.solvers.sessions.net_law import NetLaw

__all__ = [
    "STOP",
    "BettingTables",
    "flat_tables",
    "ruin_cents",
    "verify_start",
    "verify_step",
    "verify_tables",
]

STOP = -1
"""A choice: stake nothing from here on, be it ruined or gone."""


@dataclass(frozen=True, eq=False)
class BettingTables:
    """A finite-state betting policy on a bankroll lattice.

    slips: what it may place; one with chips declared in sight is another slip.
    choice: int32 (M, L), place in ``slips`` at memory m and bankroll level l, or STOP.
    next: int32 (M, 3), memory after a round whose net was below, at or above 0.
    initial: the first memory. step_cents: bankroll = level * step_cents, levels 0 to L - 1.
    redraws: memory is drawn uniformly from all M before every round, whatever ``next`` says.

    A policy with a deadline has the rounds played as its memory. Raises ConfigError for tables of
    the wrong shape or with places that are none.
    """

    slips: tuple[Slip, ...]
    choice: NDArray[np.int32]
    next: NDArray[np.int32]
    initial: int
    step_cents: int
    redraws: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "slips", tuple(self.slips))
        if self.step_cents < 1:
            raise ConfigError(f"step_cents is a whole number of at least 1, got {self.step_cents}")
        if not self.slips:
            raise ConfigError("tables without slips place nothing: give at least one slip")
        object.__setattr__(self, "choice", _integers(self.choice, "choice"))
        object.__setattr__(self, "next", _integers(self.next, "next"))
        n_memories, n_levels = self.choice.shape
        if not n_memories or not n_levels:
            raise ConfigError(
                f"choice has the shape (memories, levels), both at least 1, got {self.choice.shape}"
            )
        if self.next.shape != (n_memories, 3):
            raise ConfigError(
                f"next has the shape (memories, 3), here {(n_memories, 3)}, one column each for a "
                f"net below, at and above 0, got {self.next.shape}"
            )
        _verify_range(self.choice, "choice", STOP, len(self.slips), "a place in slips, or STOP")
        _verify_range(self.next, "next", 0, n_memories, "a memory")
        if not 0 <= self.initial < n_memories:
            raise ConfigError(f"initial is a memory from 0 to {n_memories - 1}, got {self.initial}")

    @property
    def n_memories(self) -> int:
        """M."""
        return len(self.choice)

    @property
    def n_levels(self) -> int:
        """L."""
        return len(self.choice[0])


def flat_tables(rules: RuleSet, slip: Slip, *, step_cents: int, n_levels: int) -> BettingTables:
    """One slip for as long as the bankroll puts it and its cover in sight, then STOP."""
    verify_slip(rules, slip)
    if step_cents < 1 or n_levels < 1:
        raise ConfigError(
            f"a lattice has a step and a number of levels of at least 1, got step_cents="
            f"{step_cents} and n_levels={n_levels}"
        )
    choice = np.full((1, n_levels), STOP, dtype=np.int32)
    choice[0, -(-exposure_cents(rules, slip) // step_cents) :] = 0
    return BettingTables(
        slips=(slip,),
        choice=choice,
        next=np.zeros((1, 3), dtype=np.int32),
        initial=0,
        step_cents=step_cents,
    )


def ruin_cents(rules: RuleSet) -> int:
    """The bankroll below which the table takes no slip: ruin, as the environments see it."""
    return exposure_cents(rules, cover_from(rules, least_slip(rules), 0))


def verify_tables(rules: RuleSet, tables: BettingTables) -> None:
    """Raise ConfigError for the first choice that the table would refuse, cover included."""
    needs = []
    for place, slip in enumerate(tables.slips):
        try:
            verify_slip(rules, slip)
        except WagerError as error:
            raise ConfigError(f"slips[{place}]: {error}") from error
        needs.append(exposure_cents(rules, slip))
    # levels from which a slip can be placed; STOP, which indexes the last entry, always can
    first = np.array([*(-(-need // tables.step_cents) for need in needs), 0])
    levels = np.arange(tables.n_levels)
    for memory, row in enumerate(tables.choice):  # one row at a time: tables may fill the memory
        is_short = levels < first[row]
        if is_short.any():
            level = int(is_short.argmax())
            place = int(row[level])
            raise ConfigError(
                f"choice[{memory}, {level}] places '{tables.slips[place]}' with "
                f"{level * tables.step_cents} cents, it needs {needs[place]} in sight: below level "
                f"{first[place]} choose a slip that is covered, or STOP"
            )


def verify_start(tables: BettingTables, start_cents: int, target_cents: int | None) -> None:
    """Raise ConfigError unless the start is a level, with a choice there and on to the target."""
    step = tables.step_cents
    if start_cents % step:
        raise ConfigError(
            f"start_cents={start_cents} is no multiple of the tables' step_cents={step}: make "
            "tables with a step that divides it"
        )
    needed = start_cents // step + 1 if target_cents is None else -(-target_cents // step)
    if start_cents < 0 or needed > tables.n_levels:
        raise ConfigError(
            f"the tables know bankrolls from 0 to {(tables.n_levels - 1) * step} cents: "
            f"start_cents={start_cents} and target_cents={target_cents} need n_levels={needed}"
        )


def verify_step(tables: BettingTables, laws: Iterable[NetLaw]) -> None:
    """Raise ConfigError unless every net is a whole number of the tables' steps."""
    for law in laws:
        if law.step_cents % tables.step_cents:
            raise ConfigError(
                f"'{law.slip}' wins and loses multiples of {law.step_cents} cents, which miss a "
                f"lattice of step_cents={tables.step_cents}: write a divisor, as session_lattice "
                "finds it"
            )


def _integers(array: NDArray[np.int32], name: str) -> NDArray[np.int32]:
    given = np.asarray(array)
    if given.ndim != 2 or not np.issubdtype(given.dtype, np.integer):
        raise ConfigError(
            f"{name} is a two-dimensional array of integers, got {given.ndim} dimensions of "
            f"{given.dtype}"
        )
    return np.ascontiguousarray(given, dtype=np.int32)


def _verify_range(array: NDArray[np.int32], name: str, low: int, high: int, what: str) -> None:
    is_wrong = (array < low) | (array >= high)
    if is_wrong.any():
        row, column = (int(place) for place in np.argwhere(is_wrong)[0])
        raise ConfigError(
            f"{name}[{row}, {column}] is {what}, from {low} to {high - 1}, got {array[row, column]}"
        )
