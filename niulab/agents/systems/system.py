"""What a betting system is: a finite memory, and the units of a base slip it wants to stake.

A round moves the memory by the sign of its net alone: lost, nothing, won. A round of net zero
leaves it where it is. How many units are staked follows from the memory, or from the bankroll.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from niulab.agents.systems.sitting import Sitting
from niulab.errors import ConfigError

__all__ = ["AFFORDS_LESS", "LEAVE", "MEMORYLESS", "Automaton", "BettingSystem", "make_automaton"]

LEAVE = -1
"""Wanted instead of units by a system that is done: it leaves the table where it may."""

AFFORDS_LESS = (
    "Where the table maximum, the chips or their cover allow less than it wants, it stakes the "
    "largest multiple of its base slip that is allowed, at last the table's least slip, and goes "
    "on as if it had staked what it wanted."
)

_MOST_MEMORIES = 200_000

_State = TypeVar("_State", bound=Hashable)


@dataclass(frozen=True, eq=False)
class Automaton:
    """The memory of a system; number 0 is the first one.

    states: what each memory stands for. units: int64 (M,) it stakes. next: int32 (M, 3), the memory
    after a net below, at and above zero. depths: int32 (M,), ascending, the fewest rounds to it.
    """

    states: tuple[Hashable, ...]
    units: NDArray[np.int64]
    next: NDArray[np.int32]
    depths: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.units)

    def after(self, memories: NDArray[np.int64], nets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Memories (n,) after rounds with these nets (n,)."""
        moved: NDArray[np.int64] = self.next[memories, np.sign(nets) + 1].astype(np.int64)
        return moved

    def within(self, n_rounds: int) -> Automaton:
        """Only the memories that ``n_rounds`` rounds can stake from; what lies beyond is 0."""
        n = int(np.count_nonzero(self.depths < n_rounds))
        following = np.where(self.next[:n] < n, self.next[:n], 0).astype(np.int32)
        return Automaton(self.states[:n], self.units[:n], following, self.depths[:n])


def make_automaton(
    start: _State,
    *,
    units: Callable[[_State], int],
    won: Callable[[_State], _State],
    lost: Callable[[_State], _State],
) -> Automaton:
    """The automaton of a rule of play, its memories counted once, breadth first.

    Raises ConfigError where the rule has no end within 200,000 memories.
    """
    numbers: dict[_State, int] = {start: 0}
    states, depths, following = [start], [0], list[tuple[int, int, int]]()
    for number, state in enumerate(states):  # grows while it is walked
        for after in (lost(state), won(state)):
            if after not in numbers:
                numbers[after] = len(states)
                states.append(after)
                depths.append(depths[number] + 1)
        if len(states) > _MOST_MEMORIES:
            raise ConfigError(
                f"this system has more than {_MOST_MEMORIES} memories: give it lower caps, as "
                "max=10 or a shorter length"
            )
        following.append((numbers[lost(state)], number, numbers[won(state)]))
    return Automaton(
        tuple(states),
        np.array([units(state) for state in states], dtype=np.int64),
        np.array(following, dtype=np.int32),
        np.array(depths, dtype=np.int32),
    )


def _stay(state: int) -> int:
    return state


MEMORYLESS = make_automaton(1, units=_stay, won=_stay, lost=_stay)
"""One memory, one unit."""


@dataclass(frozen=True, eq=False, kw_only=True)
class BettingSystem:
    """A betting system; this class stakes what its memory says.

    fallback: what it does where a cap of its own, the table maximum, the chip unit or cover binds.
    redraws: before every round the memory is drawn uniformly from all of them, whatever came.
    """

    NEEDS: ClassVar[tuple[str, ...]] = ()
    """What it must know of the sitting: "start_cents", "target_cents"."""

    name: str
    summary: str
    fallback: str = AFFORDS_LESS
    automaton: Automaton = field(default=MEMORYLESS, repr=False)
    redraws: bool = False

    def wanted(
        self, sitting: Sitting, units: NDArray[np.int64], bankrolls: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Units of the base slip it wants to stake, or LEAVE; 0 is the table's least slip.

        units: of the memories, and bankrolls in cents, broadcast against each other.
        """
        return np.broadcast_arrays(units, bankrolls)[0]

    def verify(self, sitting: Sitting) -> None:
        """Raise ConfigError for a sitting that lacks what the system must know."""
        for what in self.NEEDS:
            if getattr(sitting, what) is None:
                raise ConfigError(
                    f"'{self.name}' looks at its bankroll, and here is no {what}: give the task "
                    f"{_KEYWORDS[what]}"
                )


_KEYWORDS = {"start_cents": "bankroll_cents", "target_cents": "target_cents"}
