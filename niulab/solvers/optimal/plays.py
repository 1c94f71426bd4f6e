"""Slips on the bankroll lattice: where each can be placed, and where its round can lead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from niulab.engine.rules.model import RuleSet
from niulab.engine.wagers import Slip, cover_from, exposure_cents
from niulab.errors import ConfigError
from niulab.solvers.joint_law import JointLaw, joint_law
from niulab.solvers.optimal.problem import needed_cents
from niulab.solvers.sessions.net_law import NetLaw, lattice_step, net_law
from niulab.solvers.sessions.tables import BettingTables

__all__ = ["MAX_BYTES", "Plays", "make_plays", "verify_size"]

Longs = NDArray[np.int64]
Floats = NDArray[np.float64]

MAX_BYTES = 1 << 30
"""Most memory the tables of one solution may take."""

_NO_END = np.iinfo(np.int64).max
_BYTES_A_CELL = 20  # low, high and choice of one state


@dataclass(frozen=True, eq=False)
class Plays:
    """P plays in menu order, flat for the kernels (see there); a level is ``step_cents`` chips.

    slips (P,): as they lie; under short cover that caps losses, a slip lies differently at every
    bankroll that does not put it in sight in full. menu: int64 (P,), index into the slips given.
    laws (P,). ruin_level: the first at which a slip can be placed. reach: most levels a round adds.
    """

    slips: tuple[Slip, ...]
    laws: tuple[NetLaw, ...]
    menu: Longs
    begin: Longs
    end: Longs
    first: Longs
    jumps: Longs
    chances: Floats
    step_cents: int

    @property
    def ruin_level(self) -> int:
        """The first level at which a slip can be placed."""
        return int(self.begin.min())

    @property
    def reach(self) -> int:
        """The most levels a round can add."""
        return max(int(self.jumps.max()), 0)

    @property
    def most_results(self) -> int:
        """The most nets a slip has."""
        return int(np.diff(self.first).max())

    def level_of(self, bankroll_cents: int) -> int:
        """The level of a bankroll; raises ConfigError for one off the lattice."""
        level, rest = divmod(bankroll_cents, self.step_cents)
        if rest or level < 0:
            raise ConfigError(
                f"no session comes to {bankroll_cents} cents: bankrolls are multiples of "
                f"{self.step_cents} cents"
            )
        return level

    def tables(self, choice: NDArray[np.int32]) -> BettingTables:
        """A policy whose row t holds for t rounds played, for programmes and simulations."""
        n_memories = len(choice)
        following = np.minimum(np.arange(1, n_memories + 1), n_memories - 1)
        return BettingTables(
            slips=self.slips,
            choice=choice,
            next=np.repeat(following[:, None], 3, axis=1).astype(np.int32),
            initial=0,
            step_cents=self.step_cents,
        )

    @property
    def moves(self) -> tuple[Longs, Longs, Floats]:
        """first, jumps, chances."""
        return self.first, self.jumps, self.chances

    @property
    def arrays(self) -> tuple[Longs, Longs, Longs, Longs, Floats]:
        """begin, end, first, jumps, chances: as the kernels take them."""
        return self.begin, self.end, *self.moves


def make_plays(
    rules: RuleSet,
    slips: Sequence[Slip],
    *amounts_cents: int,
    law: JointLaw | None = None,
    step_cents: int | None = None,
) -> Plays:
    """The plays of slips on the coarsest lattice that holds their nets and the amounts.

    ``step_cents`` asks for a finer one; raises ConfigError if it does not divide.
    """
    law = joint_law(rules) if law is None else law
    laws = {slip: net_law(rules, slip, law) for slip in slips}
    coarsest = lattice_step(laws.values(), *amounts_cents)
    while True:
        step = coarsest if step_cents is None else step_cents
        plays = [play for place, slip in enumerate(slips) for play in _at(rules, place, slip, step)]
        laws |= {slip: net_law(rules, slip, law) for _, slip, _, _ in plays if slip not in laws}
        coarsest, before = lattice_step(laws.values(), *amounts_cents), coarsest
        if coarsest == before:  # laws of slips under short cover may have asked for a finer one
            break
    if coarsest % step:
        raise ConfigError(
            f"a lattice of {step} cents does not hold all bankrolls: step_cents divides {coarsest}"
        )
    menu, placed, begin, end = zip(*plays, strict=True)
    found = [laws[slip] for slip in placed]
    return Plays(
        slips=placed,
        laws=tuple(found),
        menu=np.array(menu, dtype=np.int64),
        begin=np.array(begin, dtype=np.int64),
        end=np.array(end, dtype=np.int64),
        first=np.cumsum([0, *(len(one.nets) for one in found)]),
        jumps=np.concatenate([one.nets for one in found]) // step,
        chances=np.concatenate([one.probabilities for one in found]),
        step_cents=step,
    )


def _at(rules: RuleSet, place: int, slip: Slip, step: int) -> list[tuple[int, Slip, int, int]]:
    """(place, slip as it lies, first level, level after the last) of one slip."""
    full = -(-exposure_cents(rules, slip) // step)
    least = -(-needed_cents(rules, slip) // step)
    short = [
        (place, cover_from(rules, slip, level * step), level, level + 1)
        for level in range(least, full)
    ]
    return [*short, (place, slip, full, _NO_END)]


def verify_size(n_rows: int, n_levels: int, step_cents: int, remedy: str) -> None:
    """Raise ConfigError if tables of (rows, levels) are more than ``MAX_BYTES``."""
    needed = n_rows * n_levels * _BYTES_A_CELL
    if needed > MAX_BYTES:
        raise ConfigError(
            f"{n_rows:,} x {n_levels:,} bankrolls of {step_cents} cents need {needed:,} bytes, "
            f"more than {MAX_BYTES:,}: {remedy}"
        )
