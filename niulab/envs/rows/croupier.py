"""Rounds of many rows at once: cards dealt, ranks compared, cents paid, as arrays.

All cards and all cents of a batch come from a ``Croupier``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from niulab.engine.batch import BatchEngine
from niulab.engine.cards import HAND_SIZE, N_CARDS
from niulab.engine.keysums import rank_tables
from niulab.engine.ranking import COLEX, ranker
from niulab.engine.rules import RuleSet
from niulab.engine.rules.cover import full_in_sight_cents
from niulab.engine.settlement import moved_table, net_table
from niulab.engine.wagers import Slip, cover_from, exposure_cents
from niulab.solvers.joint_law import tie_outcomes

__all__ = ["COLUMNS", "NET", "BoxTables", "Croupier"]

COLUMNS = ("outcome", "player_rank", "dealer_rank", "net_cents", "moved_cents")
"""The first columns of settled rounds by name; the nets of each box follow."""

NET = COLUMNS.index("net_cents")

_PLACES = np.array(
    [[COLEX[card // 4 + k, k + 1] for card in range(N_CARDS)] for k in range(HAND_SIZE)],
    dtype=np.uint16,
)
_NOTHING = np.empty(0, dtype=np.int64)
_NO_EVENTS = np.empty(0, dtype=np.uint8)
_MADE_WHEN_NEEDED = ("_engine", "_tables")


@dataclass(frozen=True, eq=False)
class BoxTables:
    """One box under the slips of a menu; most slips share their stake with others.

    line_of: int64 (slips,), a slip's line in the tables; line 0 is no stake. nets, moved: int64
    (lines, 3 outcomes, R player ranks, R dealer ranks, event masks). stakes: int64 (slips,).
    caps_loss: bool (slips,), whether short cover may cap the loss. missing: int64 (slips,), chips
    between the stake and its full cover where it may, else 0.
    """

    line_of: NDArray[np.int64]
    nets: NDArray[np.int64]
    moved: NDArray[np.int64]
    stakes: NDArray[np.int64]
    caps_loss: NDArray[np.bool_]
    missing: NDArray[np.int64]

    @classmethod
    def of(cls, rules: RuleSet, menu: Sequence[Slip], box: str) -> BoxTables:
        """The tables of one box that some slip of the menu stakes."""
        lines = dict.fromkeys(_only(slip, box) for slip in menu if slip.stake(box))
        place = {line: number for number, line in enumerate(lines, start=1)}
        nets = [net_table(rules, line) for line in lines]
        moved = [moved_table(rules, line) for line in lines]
        terms = rules.boxes[box]
        stakes = np.array([slip.stake(box) for slip in menu], dtype=np.int64)
        is_open = terms.cover.shortfall == "cap_loss"
        caps = np.array([is_open and bool(s.stake(box)) and s.sight(box) is None for s in menu])
        full = np.array([full_in_sight_cents(terms, int(stake)) for stake in stakes])
        return cls(
            line_of=np.array(
                [place[_only(slip, box)] if slip.stake(box) else 0 for slip in menu],
                dtype=np.int64,
            ),
            nets=np.stack([np.zeros_like(nets[0]), *nets]),
            moved=np.stack([np.zeros_like(nets[0]), *moved]),
            stakes=stakes,
            caps_loss=caps,
            missing=np.where(caps, full - stakes, 0),
        )


class _Tables(NamedTuple):
    """What ``kernels`` are called with; made when needed, as it is larger than all the rest.

    ranking: (uint16 (5, 52), whose sum over the cards of an ascending hand is the row of its
    multiset; uint8 (6188, 10) ranks of every setting; uint8 (6188,) best ranks). suits: those of
    ``RankTables``. ties: (card keys by id; whether they ascend with the ids; tie-break keys of high
    cards and of other ranks by the highest card key, uint8 (2, 52), and by the multiset, uint16
    (2, 6188); whether these two are compared card by card; how equal hands end, by rank). money:
    (first place of each box under each slip, int64 (boxes, slips); nets and moved cents by place;
    number of ranks; of event masks).
    """

    ranking: tuple[NDArray[Any], ...]
    suits: tuple[Any, ...]
    ties: tuple[Any, ...]
    money: tuple[Any, ...]
    is_suited: bool
    no_limits: NDArray[np.int64]


class Croupier:
    """Deals rounds of two hands, and settles them at the slips of a menu; the dealer sets best.

    ``boxes`` holds the tables of every box the menu stakes, in the rules' order.
    """

    def __init__(self, rules: RuleSet, menu: Sequence[Slip]) -> None:
        self.rules = rules
        self.boxes = {
            box: BoxTables.of(rules, menu, box)
            for box in rules.boxes
            if any(slip.stake(box) for slip in menu)
        }
        self.ties = np.array(tie_outcomes(rules))
        self._needs = np.array([exposure_cents(rules, cover_from(rules, s, 0)) for s in menu])
        capping = [box for box, tables in self.boxes.items() if tables.caps_loss.any()]
        self._capping = Slip(tuple((box, 1) for box in capping)).boxes  # in a slip's order

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key not in _MADE_WHEN_NEEDED}

    @cached_property
    def _engine(self) -> BatchEngine:
        return BatchEngine(self.rules)

    @cached_property
    def _tables(self) -> _Tables:
        it, table = rank_tables(self.rules), ranker(self.rules)
        modes = [self.rules.order.mode_of(line) for line in (0, 1)]
        is_in_order = bool((table.card_keys == np.arange(N_CARDS)).all())
        return _Tables(
            (_PLACES, table.split_table, table.split_table.max(axis=1)),
            (it.suit_keys, it.rank_bits, it.suit_bits, it.held_rank, it.held_events),
            (
                table.card_keys,
                is_in_order,
                it.short_keys,
                _multiset_keys(self.rules),
                np.array([mode == "card_by_card" for mode in modes]),
                self.ties,
            ),
            _money_tables(self.rules, list(self.boxes.values())),
            it.suited,
            np.empty((len(self.boxes), 0), dtype=np.int64),
        )

    def deal(
        self, seeds: NDArray[np.uint64], rounds: NDArray[np.int64], *, as_dealt: bool
    ) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """The players' hands and the dealers', uint8 (n, 5) each, fresh arrays.

        Row i is dealt round ``rounds[i]`` of row seed ``seeds[i]``. Cards are in ascending order;
        the players' ``as_dealt`` keep theirs.
        """
        hands, dealers = self._engine.deal_hands(seeds, rounds, n_as_dealt=int(as_dealt))
        return hands, dealers

    def first_cards(
        self, seeds: NDArray[np.uint64], rounds: NDArray[np.int64]
    ) -> NDArray[np.uint8]:
        """The card dealt first to each player and to each dealer, uint8 (n, 2)."""
        return self._engine.deal(seeds, rounds)[:, :, 0]

    def settle(
        self,
        hands: NDArray[np.uint8],
        dealers: NDArray[np.uint8],
        settings: NDArray[np.int64] | None,
        slips: NDArray[np.int64] | None = None,
        bankrolls: NDArray[np.int64] | None = None,
        *,
        out: NDArray[np.int64] | None = None,
    ) -> NDArray[np.int64]:
        """Settle ascending hands (n, 5) against the dealers' (n, 5): int64 (n_columns, n).

        settings: (n,), or None for hands at their strongest. slips: (n,), the menu's first if None.
        bankrolls: cents (n,) before the round, where they bound the cover. The columns, ``COLUMNS``
        and the net of every box, 0 without a stake on it, are written to ``out`` if it is given.
        """
        from niulab.envs.rows.kernels import compare_rows, pay_rows

        columns = np.empty((self.n_columns, len(hands)), dtype=np.int64) if out is None else out
        tables = self._tables
        events = np.empty(len(hands), dtype=np.uint8) if tables.is_suited else _NO_EVENTS
        compare_rows(
            np.ascontiguousarray(hands),
            np.ascontiguousarray(dealers),
            settings if settings is not None and self.rules.arrangement == "as_set" else _NOTHING,
            *(tables.ranking, tables.suits, tables.ties, tables.is_suited),
            columns[:3],
            events,
        )
        limits = tables.no_limits
        if sights := self.sights(slips, bankrolls):
            limits = np.full((len(self.boxes), len(hands)), np.iinfo(np.int64).max)
            for place, box in enumerate(self.boxes):
                if box in sights:
                    limits[place] = sights[box]
        slips = _NOTHING if slips is None else slips
        pay_rows(columns[:3], events, slips, limits, tables.money, columns[3:])
        return columns

    @property
    def n_columns(self) -> int:
        """Number of the columns of settled rounds."""
        return len(COLUMNS) + len(self.boxes)

    def staked(self, slips: NDArray[np.int64]) -> dict[str, NDArray[np.bool_]]:
        """Which slips (n,) have a stake on each box."""
        return {box: tables.line_of[slips] > 0 for box, tables in self.boxes.items()}

    def sights(
        self, slips: NDArray[np.int64] | None, bankrolls: NDArray[np.int64] | None
    ) -> dict[str, NDArray[np.int64]]:
        """Chips in sight (n,) by box where short cover caps losses (``wagers.cover_from``).

        Where the cover is full the amount is beyond any loss.
        """
        if bankrolls is None or not self._capping:
            return {}
        slips = np.zeros(len(bankrolls), dtype=np.int64) if slips is None else slips
        left = np.maximum(bankrolls - self._needs[slips], 0)
        sights = {}
        for box in self._capping:
            tables = self.boxes[box]
            missing = tables.missing[slips]
            is_short = tables.caps_loss[slips] & (missing > left)
            in_sight = tables.stakes[slips] + left
            sights[box] = np.where(is_short, in_sight, np.iinfo(np.int64).max)
            left = left - np.minimum(missing, left)
        return sights


def _multiset_keys(rules: RuleSet) -> NDArray[np.uint16]:
    """Tie-break keys by multiset, of high cards and of other ranks, 0 where suits have a say.

    Empty where they always have. Only the keys' order is kept: they themselves need 29 bits.
    """
    multisets = ranker(rules).multisets
    lines = [line for line in (0, 1) if rules.order.mode_of(line) == "pairs_then_cards"]
    keys = np.zeros((2, len(multisets) if lines else 0), dtype=np.uint16)
    for line in lines:
        ranks = np.full(len(multisets), line, dtype=np.uint8)
        full = ranker(rules).tie_keys(4 * multisets, ranks)
        keys[line] = np.unique(full, return_inverse=True)[1]
    return keys


def _money_tables(rules: RuleSet, boxes: Sequence[BoxTables]) -> tuple[Any, ...]:
    """All boxes' tables in one, and where in it each box begins under each slip."""
    firsts = np.cumsum([0, *(tables.nets.size for tables in boxes)])
    offsets = [
        first + tables.line_of * tables.nets[0].size
        for first, tables in zip(firsts[:-1], boxes, strict=True)
    ]
    nets = np.concatenate([tables.nets.ravel() for tables in boxes])
    moved = np.concatenate([tables.moved.ravel() for tables in boxes])
    return np.stack(offsets), nets, moved, len(rules.ranks), 1 << len(rules.events)


def _only(slip: Slip, box: str) -> Slip:
    in_sight = slip.sight(box)
    return Slip(((box, slip.stake(box)),), None if in_sight is None else ((box, in_sight),))
