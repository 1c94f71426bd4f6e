"""Compiled inclusion-exclusion over shared cards; only ``matchups`` calls it, and only when needed.

Hands are multisets of card ids given as ascending rows. A hand ``b`` weighs
``w(b) = prod C(n_c, b_c)`` physical hands of a shoe with ``n_c`` copies of card ``c``. For a
multiset ``J`` of cards, the sum of ``w(b) * prod C(b_c, J_c)`` over the hands ``b`` of a class,
divided by ``w(J)``, counts the physical hands of the class that contain given copies ``J``; the
hands that avoid all five cards of ``a`` are then the sum over ``J`` in ``a`` of ``(-1)^|J|`` times
that count (inclusion-exclusion; Stanley, Enumerative Combinatorics 1, section 2.1).
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["add_up", "count_ranks", "divided"]

NO_OPTION = 255
_PROPER_SUBSETS = 31


@njit(cache=True, nogil=True)
def _subset_rows(hand, colex, shift, offsets, rows):
    """Fill ``rows[mask]`` with the table row of each subset of a hand (the full one excepted)."""
    rows[0] = 0
    for k in range(5):
        for low in range(1 << k):
            size = (low & 1) + (low >> 1 & 1) + (low >> 2 & 1) + (low >> 3 & 1)
            if size < 4:
                row = rows[low] - offsets[size] + colex[hand[k] + shift * size, size + 1]
                rows[low | 1 << k] = row + offsets[size + 1]


# Opponents' hands that share no physical card with a hand are counted in three steps, the first and
# the last in pieces, as nothing else is heard while compiled code runs. Their arguments:
#
#   hands (n, 5) uint8 in colex order; order (n,): hands by ascending tie key; ranks (n,) uint8: of
#   the opponent's best setting; weights (n,); options (n, k) uint8: ranks to compare at (255:
#   none); table (n_subsets, n_ranks): zeroed at first, its dtype wide enough for sum(weights).


@njit(cache=True, nogil=True)
def _signs():
    sign = np.ones(_PROPER_SUBSETS, dtype=np.int64)
    for mask in range(_PROPER_SUBSETS):
        for k in range(5):
            if mask >> k & 1:
                sign[mask] = -sign[mask]
    return sign


@njit(cache=True, nogil=True)
def add_up(
    hands, order, begin, group_ends, ranks, weights, options, colex, shift, offsets,
    subset_weights, has_ties, table, less, equal,
):  # fmt: skip
    """Add hands to the table in the order of their keys; less, equal (n, k): opponents of each
    option's own rank with a lower / the same key.

    begin, group_ends: where the first of these runs of one key begins in ``order``, and their ends.
    Without ``has_ties`` hands of one key share a card, so one pass serves and ``equal`` stays
    untouched.
    """
    n_options = options.shape[1]
    rows = np.zeros(_PROPER_SUBSETS, dtype=np.int64)
    found = np.zeros(n_options, dtype=np.int64)
    sign = _signs()
    for end in group_ends:
        for when in range(3 if has_ties else 1):
            for i in range(begin, end):
                hand = order[i]
                rank = ranks[hand]
                _subset_rows(hands[hand], colex, shift, offsets, rows)
                if when != 1:
                    found[:] = 0
                    for mask in range(_PROPER_SUBSETS):
                        row = rows[mask]
                        for o in range(n_options):
                            option = options[hand, o]
                            if option != NO_OPTION:
                                held = table[row, option]
                                if subset_weights[row] > 1:
                                    held //= subset_weights[row]
                                found[o] += sign[mask] * held
                    for o in range(n_options):
                        if when == 0:
                            less[hand, o] = found[o]
                        elif options[hand, o] != NO_OPTION:
                            # subsets of five were left out: the hand itself avoids nothing
                            own = 1 if options[hand, o] == rank else 0
                            equal[hand, o] = found[o] - less[hand, o] - own
                if when == 1 or not has_ties:
                    for mask in range(_PROPER_SUBSETS):
                        table[rows[mask], rank] += weights[hand]
        begin = end


@njit(cache=True, nogil=True)
def divided(subset_weights, table):
    """Divide what was added up by the ways to hold each subset, once all hands are in."""
    for row in range(table.shape[0]):
        if subset_weights[row] > 1:
            for rank in range(table.shape[1]):
                table[row, rank] //= subset_weights[row]


@njit(cache=True, nogil=True)
def count_ranks(hands, ranks, asked, colex, shift, offsets, table, counts):
    """Write opponents by rank, (m, n_ranks), of the hands ``asked`` (m,), ascending rows."""
    n_ranks = counts.shape[1]
    rows = np.zeros(_PROPER_SUBSETS, dtype=np.int64)
    sign = _signs()
    shared = np.zeros(n_ranks, dtype=np.int64)  # part of the subsets without the lowest card
    top = np.zeros(4, dtype=np.uint8)
    for index in range(asked.shape[0]):
        hand = asked[index]
        _subset_rows(hands[hand], colex, shift, offsets, rows)
        is_new = index == 0
        for k in range(4):
            is_new |= top[k] != hands[hand, k + 1]
            top[k] = hands[hand, k + 1]
        if is_new:
            shared[:] = 0
            for mask in range(0, _PROPER_SUBSETS, 2):
                for rank in range(n_ranks):
                    shared[rank] += sign[mask] * table[rows[mask], rank]
        for rank in range(n_ranks):
            counts[index, rank] = shared[rank]
        for mask in range(1, _PROPER_SUBSETS, 2):
            for rank in range(n_ranks):
                counts[index, rank] += sign[mask] * table[rows[mask], rank]
        counts[index, ranks[hand]] -= 1
