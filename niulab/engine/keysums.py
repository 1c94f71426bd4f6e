"""A ranking as lookup tables for compiled code: sums of card keys instead of sorted hands.

The sum of five rank keys names their multiset and the sum of five suit keys theirs, so a hand is
ranked by two additions per card and a few look-ups, in any order of its cards.
"""

from __future__ import annotations

from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from niulab.engine.cards import HAND_SIZE, N_CARDS
from niulab.engine.ranking import ranker
from niulab.engine.rules.model import RuleSet
from niulab.engine.specials import PREDICATES

__all__ = [
    "PACKED_BITS",
    "RANK_KEYS",
    "TIE_MODES",
    "RankTables",
    "packed_keys",
    "rank_tables",
]

RANK_KEYS = (0, 1, 6, 31, 108, 366, 926, 2286, 5733, 12905, 27316, 44676, 94545)
"""Thirteen integers whose sums of five (repetition allowed) are all distinct, found greedily; the
tests check all 6,188 sums. With fewer copies of a rank the sums are a part of these."""

SUIT_KEYS = (0, 1, 6, 36)
"""The same for four suits: digits to base six with one left out."""

TIE_MODES = {
    "high_card_then_suit": 0,
    "suit_first": 1,
    "card_by_card": 2,
    "pairs_then_cards": 3,
    "push": 4,
    "dealer": 4,
}
"""Numbers by which compiled code knows the tie-break modes."""

PACKED_BITS = 20
"""Sums of five rank keys, and of five card keys above them, fit 32 bits side by side."""


class RankTables(NamedTuple):
    """What ``kernels`` need to rank and compare hands.

    rank_keys, suit_keys: int32 (52,); card_keys: uint8 (52,). By sum of rank keys: best_of, uint8,
    the best rank, and multiset_of, int16, the row of splits: uint8 (6188, 10), rank of every
    setting of a multiset's ascending cards; both without specials that see suits. rank_bits: uint16
    (6188,) and suit_bits: uint16 (by sum of suit keys): their bitwise "and" tells which suited
    specials and events hold; held_rank and held_events: uint8, by that mask. short_keys: uint8
    (2, 52), tie-break key by the highest card key, of high cards and of other ranks, whose modes
    are high_mode and mode. suited: whether any mask can matter.
    """

    rank_keys: NDArray[np.int32]
    suit_keys: NDArray[np.int32]
    card_keys: NDArray[np.uint8]
    best_of: NDArray[np.uint8]
    multiset_of: NDArray[np.int16]
    splits: NDArray[np.uint8]
    rank_bits: NDArray[np.uint16]
    suit_bits: NDArray[np.uint16]
    held_rank: NDArray[np.uint8]
    held_events: NDArray[np.uint8]
    short_keys: NDArray[np.uint8]
    high_mode: int
    mode: int
    suited: bool


_CACHE: dict[str, RankTables] = {}


def rank_tables(rules: RuleSet) -> RankTables:
    """The tables of a rule set's ranking, made once per ``ranking_hash``."""
    if rules.ranking_hash not in _CACHE:
        _CACHE[rules.ranking_hash] = _make(rules)
    return _CACHE[rules.ranking_hash]


def packed_keys(tables: RankTables) -> NDArray[np.uint32]:
    """Rank key + (card key << PACKED_BITS) by card, uint32 (52,).

    Of five of them the sum tells the rank and the largest the highest card.
    """
    card_keys = tables.card_keys.astype(np.uint32)
    return tables.rank_keys.astype(np.uint32) | card_keys << np.uint32(PACKED_BITS)


def _make(rules: RuleSet) -> RankTables:
    table = ranker(rules)
    rank_sums = np.array(RANK_KEYS)[table.multisets].sum(axis=1)
    multiset_of = np.zeros(HAND_SIZE * RANK_KEYS[-1] + 1, dtype=np.int16)
    multiset_of[rank_sums] = np.arange(len(rank_sums))
    specials = [
        (index, special.predicate)
        for index, special in enumerate(rules.specials, start=11)
        if not special.is_front and PREDICATES[special.predicate].by_suits is not None
    ]
    names = [predicate for _, predicate in specials] + list(rules.events)
    rank_bits = np.zeros(len(rank_sums), dtype=np.uint16)
    suits = list(combinations_with_replacement(range(4), HAND_SIZE))
    suit_sums = [sum(SUIT_KEYS[suit] for suit in row) for row in suits]
    suit_bits = np.zeros(HAND_SIZE * SUIT_KEYS[-1] + 1, dtype=np.uint16)
    for bit, name in enumerate(names):
        by_ranks, by_suits = PREDICATES[name].by_ranks, PREDICATES[name].by_suits
        holds = [by_ranks is None or by_ranks(row) for row in table.multisets.tolist()]
        rank_bits |= np.array(holds, dtype=np.uint16) << bit
        suit_bits[suit_sums] |= (
            np.array([by_suits is None or by_suits(row) for row in suits], dtype=np.uint16) << bit
        )
    masks = np.arange(1 << len(names))
    held_rank = np.zeros(len(masks), dtype=np.uint8)
    for bit, (index, _) in enumerate(specials):
        held_rank = np.where(masks >> bit & 1, np.maximum(held_rank, index), held_rank)
    order = rules.order
    high_mode = TIE_MODES[order.high_card_tie_break or order.tie_break]
    mode = TIE_MODES[order.tie_break]
    return RankTables(
        rank_keys=np.repeat(np.array(RANK_KEYS, dtype=np.int32), 4),
        suit_keys=np.tile(np.array(SUIT_KEYS, dtype=np.int32), N_CARDS // 4),
        card_keys=table.card_keys,
        best_of=table.split_table.max(axis=1)[multiset_of],
        multiset_of=multiset_of,
        splits=table.split_table,
        rank_bits=rank_bits,
        suit_bits=suit_bits,
        held_rank=held_rank.astype(np.uint8),
        held_events=(masks >> len(specials)).astype(np.uint8),
        short_keys=np.array([_short_keys(high_mode), _short_keys(mode)], dtype=np.uint8),
        high_mode=high_mode,
        mode=mode,
        suited=bool(names),
    )


def _short_keys(mode: int) -> list[int]:
    """Tie-break key by the highest card key, for the modes that need no more; else zeros."""
    if mode == TIE_MODES["high_card_then_suit"]:
        return list(range(N_CARDS))
    if mode == TIE_MODES["suit_first"]:
        return [13 * (top % 4) + top // 4 for top in range(N_CARDS)]
    return [0] * N_CARDS
