"""Compiled: hands ranked and compared, many at once.

The arrays of a block have a line per card or hand and a column per round. Hands are ranked by key
sums (``keysums``), nothing is sorted, and tie-break keys beyond the highest card are compared only
between equal ranks.
"""

# Inside numba's functions the types are numba's.
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"

from __future__ import annotations

import numpy as np
from numba import njit

from niulab.engine.keysums import PACKED_BITS

__all__ = ["BLOCK", "judge_block", "meet_rows", "rank_block"]

BLOCK = 256
"""Rounds between two stages; what one stage leaves to the next stays in the cache."""

_CARD_BY_CARD, _PAIRS_THEN_CARDS = 2, 3
_MISSING = 52  # ids from here on are not a card


@njit
def rank_block(places, n, full, packed, tables, strengths, events):
    """Strength (64 x best rank + short key), uint16, and events, uint8, of hands (hands, BLOCK).

    Each stage has its loop, as compiled code would jump on a rank that it just read.
    """
    mask, shift = np.uint32((1 << PACKED_BITS) - 1), np.uint32(PACKED_BITS)
    short_keys = tables.short_keys.reshape(-1)
    sums, tops = np.empty((2, BLOCK), dtype=np.uint32)
    ranks = np.empty(BLOCK, dtype=np.uint8)
    for hand in range(strengths.shape[0]):
        for i in range(n):
            total, top = np.uint32(0), np.uint32(0)
            for j in range(5):
                card = packed[places[5 * hand + j, i]]
                total += card
                top = max(top, card)
            sums[i], tops[i] = total & mask, top >> shift
        for i in range(n):
            ranks[i] = tables.best_of[sums[i]]
        if tables.suited:
            for i in range(n):
                suits = 0
                for j in range(5):
                    suits += tables.suit_keys[full[places[5 * hand + j, i]]]
                multiset = tables.multiset_of[sums[i]]
                held = tables.rank_bits[multiset] & tables.suit_bits[suits]
                ranks[i] = max(ranks[i], tables.held_rank[held])
                events[hand, i] = tables.held_events[held]
        for i in range(n):
            tie = short_keys[np.uint32(ranks[i] > 0) * np.uint32(52) + tops[i]]
            strengths[hand, i] = (np.uint16(ranks[i]) << 6) + tie


@njit
def _long_key(places, hand, i, full, card_keys, mode):
    """The tie-break keys that look at all five cards (``hands.tie_key``)."""
    a = np.int64(card_keys[full[places[5 * hand, i]]])
    b = np.int64(card_keys[full[places[5 * hand + 1, i]]])
    c = np.int64(card_keys[full[places[5 * hand + 2, i]]])
    d = np.int64(card_keys[full[places[5 * hand + 3, i]]])
    e = np.int64(card_keys[full[places[5 * hand + 4, i]]])
    a, b = max(a, b), min(a, b)  # a network of nine exchanges sorts them, highest first
    d, e = max(d, e), min(d, e)
    c, e = max(c, e), min(c, e)
    c, d = max(c, d), min(c, d)
    b, e = max(b, e), min(b, e)
    a, d = max(a, d), min(a, d)
    a, c = max(a, c), min(a, c)
    b, d = max(b, d), min(b, d)
    b, c = max(b, c), min(b, c)
    if mode == _CARD_BY_CARD:
        return (((a * 52 + b) * 52 + c) * 52 + d) * 52 + e
    keys = (a // 4, b // 4, c // 4, d // 4, e // 4)
    total, pairs, n_pairs, previous = np.int64(0), np.int64(0), np.int64(0), np.int64(-1)
    for j in range(5):
        total = total * 13 + keys[j]
        if j < 4 and keys[j + 1] == keys[j] and previous != keys[j]:
            pairs = pairs * 14 + keys[j] + 1
            n_pairs += 1
        previous = keys[j]
    return (n_pairs * 14**2 + (pairs * 14 if n_pairs == 1 else pairs)) * 13**5 + total


@njit
def judge_block(places, n, full, tables, strengths, events, strides, cells):
    """Cells (seats, BLOCK) in which seats end, as places in raveled (verdict, rank, rank, events).

    A verdict is 0 for lose, 1 for an exact tie, 2 for win.
    """
    by_verdict, by_rank, by_other = strides
    seats = cells.shape[0]
    others = strengths[seats]
    for seat in range(seats):
        own, held, line = strengths[seat], events[seat], cells[seat]
        for i in range(BLOCK):
            mine, his = np.int64(own[i]), np.int64(others[i])
            verdict = 1 + np.int64(mine > his) - np.int64(mine < his)
            ranks = (mine >> 6) * by_rank + (his >> 6) * by_other
            line[i] = verdict * by_verdict + ranks + held[i]
        if max(tables.high_mode, tables.mode) < _CARD_BY_CARD:
            continue
        for i in range(n):
            mode = tables.mode if own[i] >= 64 else tables.high_mode
            if own[i] == others[i] and mode in (_CARD_BY_CARD, _PAIRS_THEN_CARDS):
                mine = _long_key(places, seat, i, full, tables.card_keys, mode)
                his = _long_key(places, seats, i, full, tables.card_keys, mode)
                line[i] += (np.int64(mine > his) - np.int64(mine < his)) * by_verdict


@njit(cache=True, nogil=True)
def meet_rows(rows, hands, others, full, tables, packed, strides, ends, has_events, levels):
    """Write into int16 ``levels`` (n, 3), at ``rows``, what hands are, set best, and how they end.

    hands, others: uint8 (n, 5), card ids in any order. The columns are the end of ``hands`` against
    ``others``, the best rank and the mask of events (-1 unless ``has_events``). ends: int16, by
    cell of a raveled (verdict, rank, rank) with these ``strides``; -1 where a card of ``others`` is
    not known. full: uint8, 0 .. 51. packed: ``packed_keys``.
    """
    places = np.zeros((10, BLOCK), dtype=np.uint8)
    strengths = np.zeros((2, BLOCK), dtype=np.uint16)
    events = np.zeros((2, BLOCK), dtype=np.uint8)
    no_events = np.zeros((2, BLOCK), dtype=np.uint8)
    cells = np.empty((1, BLOCK), dtype=np.int64)
    is_met = np.empty(BLOCK, dtype=np.bool_)
    for start in range(0, len(rows), BLOCK):
        n = min(BLOCK, len(rows) - start)
        for i in range(n):
            row, most = rows[start + i], np.uint8(0)
            for j in range(5):
                places[j, i] = hands[row, j]
                most = max(most, others[row, j])
            is_met[i] = most < _MISSING
            for j in range(5):
                places[5 + j, i] = others[row, j] if is_met[i] else np.uint8(0)
        rank_block(places, n, full, packed, tables, strengths, events)
        judge_block(places, n, full, tables, strengths, no_events, strides, cells)
        for i in range(n):
            row = rows[start + i]
            levels[row, 0] = ends[cells[0, i]] if is_met[i] else -1
            levels[row, 1] = strengths[0, i] >> 6
            levels[row, 2] = events[0, i] if has_events else -1
