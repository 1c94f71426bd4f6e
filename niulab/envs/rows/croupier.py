"""Rounds of many rows at once: cards dealt, ranks compared, cents paid, as arrays.

All cards and all cents of a batch come from a ``Croupier``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from niulab.engine.batch import BatchEngine
from niulab.engine.cards import HAND_SIZE
from niulab.engine.keysums import rank_tables
from niulab.engine.ranking import ranker
from niulab.engine.rules import RuleSet
from niulab.engine.rules.cover import full_in_sight_cents
from niulab.engine.settlement import Outcome, moved_table, net_table
from niulab.engine.wagers import Slip, cover_from, exposure_cents
from niulab.solvers.joint_law import tie_outcomes

__all__ = ["BoxTables", "Croupier", "Settled"]


@dataclass(frozen=True, eq=False)
class Settled:
    """n settled rounds: outcomes, rank indices and cents, int64 (n,).

    staked: bool (n,), which rounds have a stake on a box; those of ``net_by_box`` that have none
    hold 0.
    """

    outcomes: NDArray[np.int64]
    player_ranks: NDArray[np.int64]
    dealer_ranks: NDArray[np.int64]
    net_by_box: dict[str, NDArray[np.int64]]
    staked: dict[str, NDArray[np.bool_]]
    net_cents: NDArray[np.int64]
    moved_cents: NDArray[np.int64]


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


class _Compiled(NamedTuple):
    """What compiled code is called with; made when needed, as it is larger than all the rest."""

    engine: BatchEngine
    keys: tuple[NDArray[Any], ...]
    ranks: tuple[NDArray[Any], ...]
    suits: tuple[Any, ...]


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
        return {key: value for key, value in vars(self).items() if key != "_compiled"}

    @cached_property
    def _compiled(self) -> _Compiled:
        it = rank_tables(self.rules)
        return _Compiled(
            BatchEngine(self.rules),
            (it.rank_keys, it.card_keys, it.short_keys),
            (it.best_of, it.multiset_of, it.splits),
            (it.suit_keys, it.rank_bits, it.suit_bits, it.held_rank, it.held_events, it.suited),
        )

    def deal(
        self, seeds: NDArray[np.uint64], rounds: NDArray[np.int64], *, as_dealt: bool
    ) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """The players' hands and the dealers', uint8 (n, 5) each, fresh arrays.

        Row i is dealt round ``rounds[i]`` of row seed ``seeds[i]``. Cards are in ascending order;
        the players' ``as_dealt`` keep theirs.
        """
        from niulab.envs.rows.kernels import part_rows

        packets = self._compiled.engine.deal(seeds, rounds)
        hands, dealers = np.empty((2, len(packets), HAND_SIZE), dtype=np.uint8)
        part_rows(packets, hands, dealers, as_dealt)
        return hands, dealers

    def settle(
        self,
        hands: NDArray[np.uint8],
        dealers: NDArray[np.uint8],
        settings: NDArray[np.int64] | None,
        slips: NDArray[np.int64] | None = None,
        bankrolls: NDArray[np.int64] | None = None,
    ) -> Settled:
        """Settle ascending hands (n, 5) against the dealers' (n, 5).

        settings: (n,), or None for hands at their strongest. slips: (n,), the menu's first if None.
        bankrolls: cents (n,) before the round, where they bound the cover.
        """
        ranks, others, outcomes, events = self._compare(hands, dealers, settings)
        n_ranks = len(self.rules.ranks)
        cells = (outcomes * n_ranks + ranks) * n_ranks + others
        if self.rules.events:
            cells = (cells << len(self.rules.events)) + events
        sights = self.sights(slips, bankrolls)
        by_box, staked = dict[str, NDArray[np.int64]](), dict[str, NDArray[np.bool_]]()
        moves = []
        for box, tables in self.boxes.items():
            if slips is None:
                staked[box] = np.ones(len(hands), dtype=np.bool_)
                places = cells + tables.line_of[0] * tables.nets[0].size
            else:
                lines = tables.line_of[slips]
                staked[box] = lines > 0
                places = cells + lines * tables.nets[0].size
            net, moved = tables.nets.take(places), tables.moved.take(places)
            if box in sights:
                is_capped = net < -sights[box]
                net = np.where(is_capped, -sights[box], net)
                moved = np.where(is_capped, sights[box], moved)
            by_box[box] = net
            moves.append(moved)
        nets = reduce(np.add, by_box.values()) if len(by_box) > 1 else net.copy()
        return Settled(outcomes, ranks, others, by_box, staked, nets, reduce(np.add, moves))

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

    def _compare(
        self,
        hands: NDArray[np.uint8],
        dealers: NDArray[np.uint8],
        settings: NDArray[np.int64] | None,
    ) -> tuple[NDArray[np.int64], ...]:
        """Ranks of the hands and of the dealers', how the main boxes end, and event masks."""
        from niulab.envs.rows.kernels import TIE, compare_rows

        if settings is None or self.rules.arrangement != "as_set":
            settings = np.empty(0, dtype=np.int64)
        hands, dealers = np.ascontiguousarray(hands), np.ascontiguousarray(dealers)
        ranks, others, outcomes, events = np.zeros((4, len(hands)), dtype=np.int64)
        tables = self._compiled
        columns = (ranks, others, outcomes, events)
        compare_rows(hands, dealers, settings, tables.keys, tables.ranks, tables.suits, *columns)
        level = np.flatnonzero(outcomes == TIE)
        if len(level):
            table, at = ranker(self.rules), ranks[level].astype(np.uint8)
            keys = table.tie_keys(hands[level], at)
            other_keys = table.tie_keys(dealers[level], at)
            beaten = np.where(keys == other_keys, self.ties[at], int(Outcome.LOSE))
            outcomes[level] = np.where(keys > other_keys, int(Outcome.WIN), beaten)
        return columns


def _only(slip: Slip, box: str) -> Slip:
    in_sight = slip.sight(box)
    return Slip(((box, slip.stake(box)),), None if in_sight is None else ((box, in_sight),))
