"""Plays in memory: the rows of a play log as columns, one row a round and seat.

Text is kept once, in vocabularies; a row holds its place there. Money is in integer cents, times in
microseconds since 1970 (UTC), cards are ids 0..51 in the order dealt. What a log did not record is
``NO_CARD``, ``NO_TIME`` or ``NO_CODE``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntFlag
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from niulab.engine.cards import HAND_SIZE, N_CARDS
from niulab.engine.rules import RuleSet

__all__ = [
    "BOXES",
    "NO_CARD",
    "NO_CODE",
    "NO_TIME",
    "Flag",
    "Plays",
    "Vocabularies",
    "boxes_of",
]

NO_CARD = N_CARDS
"""The card id where no card is recorded."""

NO_CODE = -1
"""The place of a text that is not recorded."""

NO_TIME = np.iinfo(np.int64).min
"""The time of what is not recorded."""

BOXES = ("single", "double", "super", "bonus")
"""Columns of money; the required box travels in ``single`` whatever its sheet calls it."""


class Flag(IntFlag):
    """What a row has that tests must know of; rows are kept whatever their flags."""

    CARD_TWICE = 1
    """A card lies too often in the round, or its rows disagree on the dealer's cards: left out of
    every e-process."""
    VOID = 2
    """The round was called off."""
    RESIDUAL = 4
    """A payment differs from the rules."""
    LATE_ROW = 8
    """The row came after later rounds of its player had been imported."""
    NO_NET = 16
    """Payments are not recorded."""
    NO_ORDER = 32
    """The cards are a set: the order dealt is not recorded."""
    MIS_SET = 64
    """The player's pair is not a best one."""
    DEALER_MIS_SET = 128
    """The dealer's pair is not a best one."""
    UNKNOWN_RULES = 256
    """The sheet is not known: nothing could be recomputed."""
    FOREIGN_PAIR = 512
    """The pair holds a card that is not in the hand: nothing could be recomputed."""


@dataclass(frozen=True)
class Vocabularies:
    """Texts by code: players, tables, dealers, rounds (ids), names of rule sets and so on.

    seat_orders: seats in the order dealt, as ``2 3 5 1``; voids: why a round was called off.
    """

    players: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    dealers: tuple[str, ...] = ()
    rounds: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    shufflers: tuple[str, ...] = ()
    shuffles: tuple[str, ...] = ()
    shoes: tuple[str, ...] = ()
    deal_methods: tuple[str, ...] = ()
    seat_orders: tuple[str, ...] = ()
    voids: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False, kw_only=True)
class Plays:
    """n rows of a play log.

    player, table, dealer, round, rules, shuffler, shuffle, shoe, deal_method, seat_order, void:
    int32 codes of ``texts``; NO_CODE where not recorded. time, bet_time, close_time: int64. seat:
    int8, 1.. from the marked position, 0 where not recorded. stakes, late, nets, residuals: int64
    (n, 4) by BOXES: at the close, signed changes after it, signed results after commission, and
    results less what the rules give. cover: int64 (n, 2) of double and super, -1 where not
    recorded. cards, dealer_cards: uint8 (n, 5) in the order dealt. pair, dealer_pair: uint8 (n, 2),
    the set front hand; one card and NO_CARD for a hand set as high card. shown: uint8 (n, 5), the
    cards shown, where they are recorded apart from the cards dealt. packet: int8, the place (0 ..)
    of the seat's packet in the dealing order, -1 where not known. first_seat: int8, the seat that
    got the first packet, 0 where not recorded. promo: int64 cents, 0 for none. flags: uint16 of
    ``Flag``.
    """

    texts: Vocabularies
    player: NDArray[np.int32]
    table: NDArray[np.int32]
    dealer: NDArray[np.int32]
    round: NDArray[np.int32]
    rules: NDArray[np.int32]
    shuffler: NDArray[np.int32]
    shuffle: NDArray[np.int32]
    shoe: NDArray[np.int32]
    deal_method: NDArray[np.int32]
    seat_order: NDArray[np.int32]
    void: NDArray[np.int32]
    time: NDArray[np.int64]
    bet_time: NDArray[np.int64]
    close_time: NDArray[np.int64]
    seat: NDArray[np.int8]
    packet: NDArray[np.int8]
    first_seat: NDArray[np.int8]
    stakes: NDArray[np.int64]
    late: NDArray[np.int64]
    nets: NDArray[np.int64]
    residuals: NDArray[np.int64]
    cover: NDArray[np.int64]
    promo: NDArray[np.int64]
    cards: NDArray[np.uint8]
    dealer_cards: NDArray[np.uint8]
    pair: NDArray[np.uint8]
    dealer_pair: NDArray[np.uint8]
    shown: NDArray[np.uint8]
    flags: NDArray[np.uint16]

    CODES: ClassVar[Mapping[str, str]] = {
        "player": "players",
        "table": "tables",
        "dealer": "dealers",
        "round": "rounds",
        "rules": "rules",
        "shuffler": "shufflers",
        "shuffle": "shuffles",
        "shoe": "shoes",
        "deal_method": "deal_methods",
        "seat_order": "seat_orders",
        "void": "voids",
    }
    """Columns of codes and the vocabulary of each."""

    _SHAPES: ClassVar[Mapping[str, tuple[type[np.generic], int, int]]] = {
        "player": (np.int32, 0, NO_CODE),
        "table": (np.int32, 0, NO_CODE),
        "dealer": (np.int32, 0, NO_CODE),
        "round": (np.int32, 0, NO_CODE),
        "rules": (np.int32, 0, NO_CODE),
        "shuffler": (np.int32, 0, NO_CODE),
        "shuffle": (np.int32, 0, NO_CODE),
        "shoe": (np.int32, 0, NO_CODE),
        "deal_method": (np.int32, 0, NO_CODE),
        "seat_order": (np.int32, 0, NO_CODE),
        "void": (np.int32, 0, NO_CODE),
        "time": (np.int64, 0, NO_TIME),
        "bet_time": (np.int64, 0, NO_TIME),
        "close_time": (np.int64, 0, NO_TIME),
        "seat": (np.int8, 0, 0),
        "packet": (np.int8, 0, -1),
        "first_seat": (np.int8, 0, 0),
        "stakes": (np.int64, len(BOXES), 0),
        "late": (np.int64, len(BOXES), 0),
        "nets": (np.int64, len(BOXES), 0),
        "residuals": (np.int64, len(BOXES), 0),
        "cover": (np.int64, 2, -1),
        "promo": (np.int64, 0, 0),
        "cards": (np.uint8, HAND_SIZE, NO_CARD),
        "dealer_cards": (np.uint8, HAND_SIZE, NO_CARD),
        "pair": (np.uint8, 2, NO_CARD),
        "dealer_pair": (np.uint8, 2, NO_CARD),
        "shown": (np.uint8, HAND_SIZE, NO_CARD),
        "flags": (np.uint16, 0, 0),
    }
    """By column: type, width (0: one number) and what stands for "not recorded"."""

    COLUMNS: ClassVar[tuple[str, ...]] = tuple(_SHAPES)
    """Names of all columns."""

    @classmethod
    def of(cls, n: int, texts: Vocabularies, **columns: Any) -> Plays:
        """Rows with the given columns, arrays or one value for all; the rest is not recorded.

        Raises ValueError for a column of another length or name.
        """
        if unknown := set(columns) - set(cls._SHAPES):
            raise ValueError(f"Plays has no column {sorted(unknown)}")
        arrays = {}
        for name, (dtype, width, missing) in cls._SHAPES.items():
            shape = (n, width) if width else (n,)
            given = np.asarray(columns.get(name, missing))
            arrays[name] = np.ascontiguousarray(np.broadcast_to(given, shape), dtype=dtype)
        return cls(texts=texts, **arrays)

    def __len__(self) -> int:
        return len(self.player)

    def take(self, rows: NDArray[np.integer] | NDArray[np.bool_] | slice) -> Plays:
        """Some of the rows, in the order asked for."""
        return replace(self, **{name: getattr(self, name)[rows] for name in self._SHAPES})

    def by_player(self) -> Plays:
        """Sorted by player, time, round and seat: the order of the fold."""
        return self.take(np.lexsort((self.seat, self.round, self.time, self.player)))

    def by_round(self) -> Plays:
        """Sorted by table, time, round and seat."""
        return self.take(np.lexsort((self.seat, self.round, self.time, self.table)))

    @property
    def is_staked(self) -> NDArray[np.bool_]:
        """Whether anything is staked: a row without a stake is a player who sat by, (n,)."""
        totals: NDArray[np.int64] = np.abs(self.stakes).sum(axis=1)
        return totals > 0

    @staticmethod
    def join(parts: Sequence[Plays]) -> Plays:
        """Rows of several pieces that share their vocabularies, one after the other."""
        if not parts:
            raise ValueError("no pieces to join: give at least one")
        first = parts[0]
        if any(part.texts is not first.texts and part.texts != first.texts for part in parts):
            raise ValueError("pieces with other vocabularies: recode them first")
        joined: dict[str, Any] = {
            name: np.concatenate([getattr(part, name) for part in parts]) for name in Plays._SHAPES
        }
        return replace(first, **joined)


def boxes_of(rules: RuleSet) -> tuple[str | None, ...]:
    """The box of a sheet behind each column of BOXES, None where it has none.

    Bonus boxes beyond the first and boxes of other names have no column.
    """
    required = rules.required_box
    bonus = next((box for box, terms in rules.boxes.items() if terms.is_bonus), None)
    rest = [box if box in rules.boxes and box != required else None for box in BOXES[1:3]]
    return (required, *rest, bonus)
