"""Compiled loops over rows: cards put in order, hands compared with the dealer's as they are set.

Hands are ranked by key sums (``engine.keysums``), in any order of their cards.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["TIE", "compare_rows", "part_rows"]

_U = np.uint64
TIE = 1


@njit(inline="always")
def _sort(hand, ordered):
    a, b, c, d, e = hand[0], hand[1], hand[2], hand[3], hand[4]
    a, b = min(a, b), max(a, b)  # a network of nine exchanges
    d, e = min(d, e), max(d, e)
    c, e = min(c, e), max(c, e)
    c, d = min(c, d), max(c, d)
    b, e = min(b, e), max(b, e)
    a, d = min(a, d), max(a, d)
    a, c = min(a, c), max(a, c)
    b, d = min(b, d), max(b, d)
    b, c = min(b, c), max(b, c)
    ordered[0], ordered[1], ordered[2], ordered[3], ordered[4] = a, b, c, d, e


@njit(cache=True, nogil=True)
def part_rows(packets, hands, dealers, as_dealt):
    """Part packets (n, 2, 5) into hands and dealers (n, 5), all uint8, their cards in order.

    The hands' order stays ``as_dealt``.
    """
    for i in range(packets.shape[0]):
        _sort(packets[i, 1], dealers[i])
        if as_dealt:
            for j in range(5):
                hands[i, j] = packets[i, 0, j]
        else:
            _sort(packets[i, 0], hands[i])


@njit(inline="always")
def _strength(rank, top, short_keys):
    return (np.int64(rank) << 6) + np.int64(short_keys[min(rank, np.uint8(1)), top])


@njit(cache=True, nogil=True)
def compare_rows(
    hands, dealers, settings, keys, tables, suit_tables, ranks, others, outcomes, events
):  # fmt: skip
    """Ranks of set hands and of the dealers' best, 0, TIE or 2 of the rank and its short tie key.

    hands, dealers: uint8 (n, 5), hands ascending. settings: int64 (n,), or empty for the best.
    keys: (rank_keys, card_keys, short_keys), tables: (best_of, multiset_of, splits), suit_tables:
    (suit_keys, rank_bits, suit_bits, held_rank, held_events, suited), all of ``RankTables``.
    ranks, others, outcomes, events: int64 (n,), to be filled; events only where suits matter.
    """
    rank_keys, card_keys, short_keys = keys
    best_of, multiset_of, splits = tables
    suit_keys, rank_bits, suit_bits, held_rank, held_events, suited = suit_tables
    is_set = settings.shape[0] > 0
    for i in range(hands.shape[0]):
        mine, his, my_top, his_top = _U(0), _U(0), np.uint8(0), np.uint8(0)
        for j in range(5):
            card, other = hands[i, j], dealers[i, j]
            mine += _U(rank_keys[card])
            his += _U(rank_keys[other])
            my_top = max(my_top, card_keys[card])
            his_top = max(his_top, card_keys[other])
        his_rank = best_of[his]
        my_rank = splits[multiset_of[mine], settings[i]] if is_set else best_of[mine]
        if suited:
            my_suits, his_suits = _U(0), _U(0)
            for j in range(5):
                my_suits += _U(suit_keys[hands[i, j]])
                his_suits += _U(suit_keys[dealers[i, j]])
            held = rank_bits[multiset_of[mine]] & suit_bits[my_suits]
            my_rank = max(my_rank, held_rank[held])
            events[i] = held_events[held]
            held = rank_bits[multiset_of[his]] & suit_bits[his_suits]
            his_rank = max(his_rank, held_rank[held])
        my_strength = _strength(my_rank, my_top, short_keys)
        his_strength = _strength(his_rank, his_top, short_keys)
        ranks[i], others[i] = my_rank, his_rank
        outcomes[i] = (
            TIE + np.int64(my_strength > his_strength) - np.int64(my_strength < his_strength)
        )
