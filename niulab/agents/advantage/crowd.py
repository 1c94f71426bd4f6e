"""Crowds: players of one kind at many tables, who bet round by round, all of them at once.

A crowd is shown a block of rounds before they are played (``look``): an honest one takes its own
chances from it, an attacker also what it sees of the cards. Chances are functions of a player's
seed and the round, so they do not depend on who else plays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from niulab.agents.advantage.config import AttackConfig, high_slip, low_slip
from niulab.engine.rules import RuleSet
from niulab.engine.wagers import Slip
from niulab.seeding import WORD_BITS, round_words

__all__ = ["Attackers", "Block", "Crowd", "Seats", "cents_by_box"]

Cents = NDArray[np.int64]
Cards = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Seats:
    """Where n players sit: tables and seats (0 ..), int64 (n,), and their seeds, uint64 (n,)."""

    tables: NDArray[np.int64]
    places: NDArray[np.int64]
    seeds: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.tables)


@dataclass(frozen=True, eq=False)
class Block:
    """Some rounds of all tables, already dealt.

    rounds: int64 (k,). packets: uint8 (tables, k, seats + 1, 5) in the order dealt, the dealer's
    last. dealers: int64 (tables, k).
    """

    rounds: NDArray[np.int64]
    packets: Cards
    dealers: NDArray[np.int64]


class Crowd:
    """Players of one kind; this class sits by.

    is_present: bool (n,), who is at the table when the next round's stakes are asked for.
    """

    switches = False
    """Whether ``switched`` may change hands."""

    pays_otherwise = False
    """Whether ``late`` or ``mispaid`` may change what a round pays."""

    def __init__(self, rules: RuleSet, seats: Seats) -> None:
        self.rules = rules
        self.seats = seats
        self.boxes = tuple(rules.boxes)
        self.is_present = np.ones(len(seats), dtype=np.bool_)
        self.now = 0
        self.block: Block | None = None

    def look(self, block: Block) -> None:
        """Learn what it may know of the rounds of a block, before any is played."""
        self.block = block

    def begin(self, k: int) -> None:
        """Round ``block.rounds[k]`` begins; who is present is settled here."""
        self.now = k

    def bets(self) -> Cents:
        """Cents on every box of the sheet, (n, B); zeros sit by."""
        return np.zeros((len(self.seats), len(self.boxes)), dtype=np.int64)

    def sights(self) -> Cents | None:
        """Cents in sight (n, B) where it declares short cover, 0 for full cover; None: never."""
        return None

    def late(self, stakes: Cents, nets: Cents) -> Cents | None:
        """Changes (n, B) after the close, when the results ``nets`` of the stakes are known."""
        return None

    def mispaid(self, nets: Cents) -> Cents | None:
        """What it is paid beyond the rules, (n, B)."""
        return None

    def switched(self, hands: Cards, dealt: Cards) -> Cards:
        """Hands (n, 5) as shown; ``dealt`` (n, 5) is the dealer's."""
        return hands

    def settled(self, nets: Cents) -> None:
        """The round is over with these nets (n,)."""

    def chances(self, group: int) -> NDArray[np.float64]:
        """Uniform numbers (n, k) of the block, a stream of its own for each group."""
        rounds = self._block.rounds
        shape = len(self.seats), len(rounds)
        rows = np.broadcast_to(self.seats.seeds[:, None], shape)
        words = round_words(rows, np.broadcast_to(rounds, shape), group)
        uniform: NDArray[np.float64] = np.multiply(words, 2.0**-WORD_BITS, dtype=np.float64)
        return uniform

    @property
    def _block(self) -> Block:
        if self.block is None:
            message = "a crowd looks at a block before it bets"
            raise RuntimeError(message)
        return self.block

    @property
    def _round(self) -> int:
        return int(self._block.rounds[self.now])


class Attackers(Crowd):
    """Attackers of a kind: their spread, start and stops."""

    def __init__(self, rules: RuleSet, seats: Seats, config: AttackConfig) -> None:
        super().__init__(rules, seats)
        self.config = config
        self.low = cents_by_box(rules, low_slip(rules, config))
        self.high = cents_by_box(rules, high_slip(rules, config))
        self._won = np.zeros(len(seats), dtype=np.int64)

    @property
    def has_started(self) -> bool:
        """Whether the current round is one of the attack."""
        return self._round >= self.config.start

    def begin(self, k: int) -> None:
        super().begin(k)
        config, unit = self.config, self.rules.base_unit_cents
        if config.win_goal is not None:
            self.is_present &= self._won < config.win_goal * unit
        if config.loss_limit is not None:
            self.is_present &= self._won > -config.loss_limit * unit
        if config.most_rounds is not None and self._round >= config.start + config.most_rounds:
            self.is_present[:] = False

    def bets(self) -> Cents:
        return np.tile(self.high, (len(self.seats), 1))

    def settled(self, nets: Cents) -> None:
        if self.has_started:
            self._won += nets

    def of_attack(self, changes: NDArray[Any]) -> NDArray[Any] | None:
        """Changes once the attack has begun, None before."""
        return changes if self.has_started else None


def cents_by_box(rules: RuleSet, slip: Slip | Mapping[str, int]) -> Cents:
    """Cents of a slip in the order of the sheet's boxes, int64 (B,)."""
    stakes = dict(slip.stakes) if isinstance(slip, Slip) else slip
    return np.array([stakes.get(box, 0) for box in rules.boxes], dtype=np.int64)
