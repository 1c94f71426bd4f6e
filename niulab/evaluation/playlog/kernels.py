"""Compiled loops over rows of plays: places in the dealing order, hands sorted and as set."""

# Inside numba's functions the types are numba's.
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["clockwise_places", "number_values", "order_by_code", "pair_splits", "sorted_hands"]


@njit(cache=True, nogil=True)
def _count(mask):
    """Bits of a word that are set."""
    mask = mask - ((mask >> np.uint64(1)) & np.uint64(0x5555555555555555))
    low = mask & np.uint64(0x3333333333333333)
    mask = low + ((mask >> np.uint64(2)) & np.uint64(0x3333333333333333))
    mask = (mask + (mask >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (mask * np.uint64(0x0101010101010101)) >> np.uint64(56)


@njit(cache=True, nogil=True)
def clockwise_places(rounds, n_rounds, seats, first_seats, stakes, places):
    """Place of each row's seat, clockwise from the first seat, among staked seats of its round.

    rounds: int64 (n,); stakes: (n, boxes). ``places`` int8 (n,) is filled where the first seat is
    known and staked itself, else left as it is. Seats are below 128.
    """
    taken = np.zeros((n_rounds, 2), np.uint64)
    turns = np.full(len(rounds), -1, np.int64)
    for i in range(len(rounds)):
        if first_seats[i] > 0 and seats[i] > 0:
            for box in range(stakes.shape[1]):
                if stakes[i, box] != 0:
                    turns[i] = (np.int64(seats[i]) - np.int64(first_seats[i])) % 128
                    taken[rounds[i], turns[i] >> 6] |= np.uint64(1) << np.uint64(turns[i] & 63)
                    break
    for i in range(len(rounds)):
        low, high = taken[rounds[i], 0], taken[rounds[i], 1]
        if turns[i] < 0 or not low & np.uint64(1):
            continue
        below = (np.uint64(1) << np.uint64(turns[i] & 63)) - np.uint64(1)
        if turns[i] < 64:
            places[i] = np.int64(_count(low & below))
        else:
            places[i] = np.int64(_count(low) + _count(high & below))


@njit(cache=True, nogil=True)
def sorted_hands(hands):
    """Each row of card ids in ascending order; uint8 (n, k)."""
    n, width = hands.shape
    result = np.empty((n, width), np.uint8)
    for i in range(n):
        for k in range(width):
            card = hands[i, k]
            place = k
            while place > 0 and result[i, place - 1] > card:
                result[i, place] = result[i, place - 1]
                place -= 1
            result[i, place] = card
    return result


@njit(cache=True, nogil=True)
def pair_splits(hands, pairs, no_card, split_of, splits):
    """Which split of each hand a recorded pair is: its number; -1 none recorded, -2 one card, -3 a
    card that is not in the hand. ``split_of``: (5 or more, 5 or more) by places in the hand.
    """
    width = hands.shape[1]
    for i in range(len(hands)):
        first, second = -1, -1
        for k in range(width):
            if first < 0 and hands[i, k] == pairs[i, 0]:
                first = k
            elif second < 0 and hands[i, k] == pairs[i, 1]:
                second = k
        size = (pairs[i, 0] < no_card) + (pairs[i, 1] < no_card)
        if size == 0:
            splits[i] = -1
        elif first < 0 or (size == 2 and second < 0):
            splits[i] = -3
        elif size == 1:
            splits[i] = -2
        else:
            splits[i] = split_of[first, second]


@njit(cache=True, nogil=True)
def order_by_code(codes, n_codes):
    """Places of rows sorted by code, 0 .. n_codes - 1, equal ones in their order; int64 (n,)."""
    starts = np.zeros(n_codes + 1, np.int64)
    for code in codes:
        starts[code + 1] += 1
    for code in range(n_codes):
        starts[code + 1] += starts[code]
    order = np.empty(len(codes), np.int64)
    for i in range(len(codes)):
        order[starts[codes[i]]] = i
        starts[codes[i]] += 1
    return order


@njit(cache=True, nogil=True)
def number_values(values, table, known, places):
    """Distinct values in the order first met into ``known``, and the place there of each; returns
    how many there are. ``table``: zeros, a power of two of them above the number of values.
    """
    mask = np.uint64(len(table) - 1)
    n = 0
    for i in range(len(values)):
        value = values[i]
        if i and value == values[i - 1]:
            places[i] = places[i - 1]
            continue
        key = np.uint64(value) * np.uint64(0x9E3779B97F4A7C15)
        slot = (key ^ (key >> np.uint64(32))) & mask
        while table[slot] and known[table[slot] - 1] != value:
            slot = (slot + np.uint64(1)) & mask
        if not table[slot]:
            known[n] = value
            n += 1
            table[slot] = n
        places[i] = table[slot] - 1
    return n
