"""Compiled loops over rows: hands settled as they are set, shown as flags.

Rows are worked through in blocks, one short loop after the other over columns that stay in the
nearest cache. Most of these loops become vector instructions; one loop that plays a whole round
per turn would not, and takes twice as long.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = [
    "compare_rows",
    "keep_rows",
    "order_rows",
    "pay_rows",
    "write_flags",
]

_U = np.uint64
_BLOCK = 512
_KEY_BITS = 13  # of a strength, below the rank; keys by rank multisets need them all


@njit
def _sort(a, b, c, d, e):
    a, b = min(a, b), max(a, b)  # a network of nine exchanges
    d, e = min(d, e), max(d, e)
    c, e = min(c, e), max(c, e)
    c, d = min(c, d), max(c, d)
    b, e = min(b, e), max(b, e)
    a, d = min(a, d), max(a, d)
    a, c = min(a, c), max(a, c)
    b, d = min(b, d), max(b, d)
    b, c = min(b, c), max(b, c)
    return a, b, c, d, e


@njit(cache=True, nogil=True)
def order_rows(hands, settings, splits, ordered, chosen):
    """Hands (n, 5) uint8 in ascending order, and the settings (n,) there of the same cards.

    splits: int64 (10, 2), ``hands.SPLITS``, which are in lexicographic order. Equal cards of
    several decks keep their order.
    """
    for i in range(hands.shape[0]):
        split = _U(settings[i])
        first, second = splits[split, 0], splits[split, 1]
        low, high = np.int64(0), np.int64(0)
        for j in range(5):
            place = np.int64(0)
            for k in range(5):
                is_before = hands[i, k] == hands[i, j] and k < j
                place += np.int64(hands[i, k] < hands[i, j] or is_before)
            ordered[i, place] = hands[i, j]
            low += place * np.int64(j == first)
            high += place * np.int64(j == second)
        low, high = min(low, high), max(low, high)
        chosen[i] = low * (9 - low) // 2 + high - low - 1


@njit(inline="always")
def _multiset(hands, i, places):
    return (
        places[0, hands[i, 0]]
        + places[1, hands[i, 1]]
        + places[2, hands[i, 2]]
        + places[3, hands[i, 3]]
        + places[4, hands[i, 4]]
    )


@njit(inline="always")
def _all_cards(hands, i, heights):
    """The key of a hand compared card by card."""
    a, b, c, d, e = _sort(
        np.int64(heights[hands[i, 0]]),
        np.int64(heights[hands[i, 1]]),
        np.int64(heights[hands[i, 2]]),
        np.int64(heights[hands[i, 3]]),
        np.int64(heights[hands[i, 4]]),
    )
    return (((e * 52 + d) * 52 + c) * 52 + b) * 52 + a


@njit(inline="always")
def _top_keys(hands, start, n, heights, is_in_order, tops):
    if is_in_order:
        for i in range(n):
            tops[i] = hands[start + i, 4]
    else:
        for i in range(n):
            top = heights[hands[start + i, 0]]
            for j in range(1, 5):
                top = max(top, heights[hands[start + i, j]])
            tops[i] = top


@njit(inline="always")
def _strengths(ranks, tops, multisets, n, by_top, by_multiset, strengths):
    """Ranks and the tie-break keys below them, but for those that compare card by card."""
    for i in range(n):
        key = by_top[min(ranks[i], np.uint8(1)), tops[i]]
        strengths[i] = (np.int32(ranks[i]) << _KEY_BITS) + np.int32(key)
    if by_multiset.shape[1] > 0:
        for i in range(n):
            strengths[i] += np.int32(by_multiset[min(ranks[i], np.uint8(1)), multisets[i]])


@njit(inline="always")
def _suited(hands, start, n, multisets, ranks, suits, events):
    """Raise ranks to the specials that see suits; the events that hold."""
    suit_keys, rank_bits, suit_bits, held_rank, held_events = suits
    for i in range(n):
        key = _U(0)
        for j in range(5):
            key += _U(suit_keys[hands[start + i, j]])
        held = rank_bits[multisets[i]] & suit_bits[key]
        ranks[i] = max(ranks[i], held_rank[held])
        events[i] = held_events[held]


@njit(cache=True, nogil=True)
def compare_rows(hands, dealers, settings, ranking, suits, ties, is_suited, columns, events):
    """Compare ascending hands (n, 5) uint8 with the dealers', which are set best.

    settings: int64 (n,), or empty for hands at their best. ranking, suits and ties: tables of
    ``Croupier``. columns: int64 (3, n), takes the outcomes and both ranks; events: uint8 (n,).
    """
    places, splits, bests = ranking
    heights, is_in_order, by_top, by_multiset, by_cards, equal = ties
    is_set, is_long = len(settings) > 0, by_cards.any()
    mine, his = np.empty((2, _BLOCK), dtype=np.uint16)
    rank, other, top, his_top, outcome = np.empty((5, _BLOCK), dtype=np.uint8)
    strength, his_strength = np.empty((2, _BLOCK), dtype=np.int32)
    for start in range(0, hands.shape[0], _BLOCK):
        n = min(_BLOCK, hands.shape[0] - start)
        for i in range(n):
            mine[i] = _multiset(hands, start + i, places)
            his[i] = _multiset(dealers, start + i, places)
        for i in range(n):
            other[i] = bests[his[i]]
            rank[i] = splits[mine[i], _U(settings[start + i])] if is_set else bests[mine[i]]
        if is_suited:
            _suited(dealers, start, n, his, other, suits, events[start:])
            _suited(hands, start, n, mine, rank, suits, events[start:])
        _top_keys(hands, start, n, heights, is_in_order, top)
        _top_keys(dealers, start, n, heights, is_in_order, his_top)
        _strengths(rank, top, mine, n, by_top, by_multiset, strength)
        _strengths(other, his_top, his, n, by_top, by_multiset, his_strength)
        for i in range(n):
            is_more, is_less = strength[i] > his_strength[i], strength[i] < his_strength[i]
            outcome[i] = np.uint8(1) + np.uint8(is_more) - np.uint8(is_less)
        if is_long:
            for i in range(n):
                if outcome[i] == 1 and by_cards[min(rank[i], np.uint8(1))]:
                    my_key = _all_cards(hands, start + i, heights)
                    his_key = _all_cards(dealers, start + i, heights)
                    outcome[i] = 1 + np.int64(my_key > his_key) - np.int64(my_key < his_key)
        for i in range(n):
            columns[0, start + i] = equal[rank[i]] if outcome[i] == 1 else outcome[i]
            columns[1, start + i] = rank[i]
            columns[2, start + i] = other[i]


@njit(cache=True, nogil=True)
def pay_rows(compared, events, slips, sights, money, paid):
    """Cents of compared rounds, to ``paid``: int64 (2 + boxes, n), won, moved, won on each box.

    compared: int64 (3, n), as ``compare_rows`` writes it. events: uint8 (n,), or empty for none.
    slips: int64 (n,), or empty for the menu's first. sights: int64 (boxes, n), the most that a box
    may lose, or empty. money: tables of ``Croupier``.
    """
    offsets, nets, moves, n_ranks, n_events = money
    has_slips, is_capped, has_events = len(slips) > 0, sights.shape[1] > 0, len(events) > 0
    cells = np.empty(_BLOCK, dtype=np.uint64)
    for start in range(0, paid.shape[1], _BLOCK):
        n = min(_BLOCK, paid.shape[1] - start)
        for i in range(n):
            cell = _U(compared[0, start + i]) * _U(n_ranks) + _U(compared[1, start + i])
            cells[i] = (cell * _U(n_ranks) + _U(compared[2, start + i])) * _U(n_events)
        if has_events:
            for i in range(n):
                cells[i] += _U(events[start + i])
        for box in range(offsets.shape[0]):
            for i in range(n):
                slip = _U(slips[start + i]) if has_slips else _U(0)
                place = cells[i] + _U(offsets[box, slip])
                net, moved = nets[place], moves[place]
                if is_capped and net < -sights[box, start + i]:
                    net = -sights[box, start + i]
                    moved = -net
                paid[2 + box, start + i] = net
                paid[0, start + i] = net + (paid[0, start + i] if box else 0)
                paid[1, start + i] = moved + (paid[1, start + i] if box else 0)


@njit(cache=True, nogil=True)
def write_flags(hands, columns, observations):
    """Set the flags of cards in zeroed observations (n, size), whatever their dtype.

    hands: uint8 (n, 5). columns: uint16 (5, cards, 2 or 3), where the flags of each card are when
    it lies at each place of the hand; ids beyond its cards show nothing.
    """
    has_points = columns.shape[2] > 2
    for i in range(hands.shape[0]):
        for j in range(5):
            card = hands[i, j]
            if card < columns.shape[1]:
                observations[i, columns[j, card, 0]] = 1
                observations[i, columns[j, card, 1]] = 1
                if has_points:
                    observations[i, columns[j, card, 2]] = 1


@njit(cache=True, nogil=True)
def keep_rows(values, flags, kept):
    """Values uint8 (n, width) of the rows marked, zeros in the others."""
    for i in range(values.shape[0]):
        mask = np.uint8(255) if flags[i] else np.uint8(0)
        for j in range(values.shape[1]):
            kept[i, j] = values[i, j] & mask
