"""Who wins a round at one seat and what it pays, by look-ups that take 1 us.

``engine.round`` says the same card by card, in a hundred times as long. Ranks come from the tables
of ``engine.ranking``, cents from ``engine.settlement``: a slip settles alike in every round that
ends with the same outcome, ranks and events, so each such cell is settled once and kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from niulab.engine.hands import tie_key
from niulab.engine.ranking import COLEX, ranker
from niulab.engine.rules import RuleSet
from niulab.engine.settlement import Outcome, Settlement, settle, tie_outcome
from niulab.engine.specials import PREDICATES
from niulab.engine.wagers import Slip, cover_from, exposure_cents

__all__ = ["Referee", "Ruling"]

_LOSE, _PUSH, _WIN = map(int, Outcome)

_MOST_CELLS = 1 << 14

# Summed over the places of an ascending hand: the row of its card ranks in ``Ranker.multisets``.
_A, _B, _C, _D, _E = (
    [int(COLEX[card // 4 + place, place + 1]) for card in range(52)] for place in range(5)
)

_Hand = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Ruling:
    """A settled round but for its cards: menu index of the slip, who won, the ranks, the money.

    Rounds share rulings, so nothing in one may be changed.
    """

    slip: int
    outcome: Outcome
    player_rank: int
    dealer_rank: int
    settlement: Settlement
    net_cents: int

    @cached_property
    def numbers(self) -> dict[str, Any]:
        """The round in NumPy's numbers, enums and ranks by their index; no dealer's cards yet."""
        return {
            "slip": np.int64(self.slip),
            "outcome": np.int64(self.outcome),
            "player_rank": np.int64(self.player_rank),
            "dealer_rank": np.int64(self.dealer_rank),
            "dealer_cards": None,
            "net_cents": np.int64(self.net_cents),
            "moved_cents": np.int64(self.settlement.moved_cents),
            "net_by_box": {
                box: np.int64(cents) for box, cents in self.settlement.net_by_box.items()
            },
        }


class Referee:
    """Rules on rounds at the slips of a menu; the dealer sets best."""

    def __init__(self, rules: RuleSet, menu: Sequence[Slip]) -> None:
        self._rules = rules
        self._menu = menu
        # from this bankroll on every box has its full cover in sight
        self._full = [exposure_cents(rules, slip) for slip in menu]
        tables = ranker(rules)
        self._multisets = tables.multisets
        self._splits = tables.split_table.tobytes()
        self._best = tables.split_table.max(axis=1).tobytes()
        self._card_keys = tables.card_keys.tolist()
        self._is_as_set = rules.arrangement == "as_set"
        modes = map(rules.order.mode_of, range(len(rules.ranks)))
        self._goes_by_top = [mode == "high_card_then_suit" for mode in modes]
        suited = {
            index: PREDICATES[special.predicate]
            for index, special in enumerate(rules.specials, start=11)
            if not special.is_front and PREDICATES[special.predicate].by_suits is not None
        }
        self._n_suited = len(suited)
        self._predicates = (*suited.values(), *(PREDICATES[name] for name in rules.events))
        self._suited_rank = [
            max((index for bit, index in enumerate(suited) if held >> bit & 1), default=0)
            for held in range(1 << len(suited))
        ]
        self._held_by_ranks = lru_cache(maxsize=None)(self._find_by_ranks)
        self._held_by_suits = lru_cache(maxsize=None)(self._find_by_suits)
        self._of_cell = lru_cache(_MOST_CELLS)(self._settle_cell)

    def rule(
        self,
        hand: _Hand,
        setting: int | None,
        dealer: _Hand,
        *,
        slip: int,
        bankroll_cents: int | None,
    ) -> Ruling:
        """Rule on ascending hands; without a setting the player's counts at its best.

        ``slip`` is a menu index; ``bankroll_cents``, before the round, bounds the cover in sight.
        """
        a, b, c, d, e = hand
        row = _A[a] + _B[b] + _C[c] + _D[d] + _E[e]
        if setting is None or not self._is_as_set:
            rank = self._best[row]
        else:
            rank = self._splits[10 * row + setting]
        a, b, c, d, e = dealer
        other_row = _A[a] + _B[b] + _C[c] + _D[d] + _E[e]
        other, events = self._best[other_row], 0
        if self._predicates:
            suited, events = self._look_at_suits(hand, row)
            rank = max(rank, suited)
            other = max(other, self._look_at_suits(dealer, other_row)[0])
        if rank == other:
            outcome = self._compare_equals(hand, dealer, rank)
        else:
            outcome = _WIN if rank > other else _LOSE
        if bankroll_cents is None or bankroll_cents >= self._full[slip]:
            return self._of_cell(slip, outcome, rank, other, events)
        staked = cover_from(self._rules, self._menu[slip], bankroll_cents)
        return self._settle_cell(slip, outcome, rank, other, events, staked)

    def _compare_equals(self, hand: _Hand, dealer: _Hand, rank: int) -> int:
        """The outcome between two hands of one rank."""
        order = self._rules.order
        if self._goes_by_top[rank]:  # tie_key's commonest mode, in a tenth of its time
            keys = self._card_keys
            a, b, c, d, e = hand
            mine = max(keys[a], keys[b], keys[c], keys[d], keys[e])
            a, b, c, d, e = dealer
            other = max(keys[a], keys[b], keys[c], keys[d], keys[e])
        else:
            mine, other = tie_key(hand, rank, order), tie_key(dealer, rank, order)
        if mine == other:
            return int(tie_outcome(order, rank))
        return _WIN if mine > other else _LOSE

    def _settle_cell(
        self,
        slip: int,
        outcome: int,
        rank: int,
        other: int,
        events: int,
        staked: Slip | None = None,
    ) -> Ruling:
        """Settle a slip of the menu, or what is ``staked`` in its place."""
        settlement = settle(
            self._rules,
            self._menu[slip] if staked is None else staked,
            outcome=Outcome(outcome),
            player_rank=rank,
            dealer_rank=other,
            events=events,
        )
        return Ruling(slip, Outcome(outcome), rank, other, settlement, settlement.net_cents)

    # ------------------------------------------------------------ suits and events

    def _look_at_suits(self, hand: _Hand, row: int) -> tuple[int, int]:
        """The highest special that sees suits, or 0, and the mask of events."""
        a, b, c, d, e = hand
        held = self._held_by_ranks(row) & self._held_by_suits(a & 3, b & 3, c & 3, d & 3, e & 3)
        n = self._n_suited
        return self._suited_rank[held & ((1 << n) - 1)], held >> n

    def _find_by_ranks(self, row: int) -> int:
        """Bit i: whether a row of ranks meets the i-th predicate's condition on them, or any."""
        ranks = self._multisets[row].tolist()
        conditions = (predicate.by_ranks for predicate in self._predicates)
        return sum((holds is None or holds(ranks)) << bit for bit, holds in enumerate(conditions))

    def _find_by_suits(self, *suits: int) -> int:
        """The same for suits."""
        conditions = (predicate.by_suits for predicate in self._predicates)
        return sum((holds is None or holds(suits)) << bit for bit, holds in enumerate(conditions))
