"""Compiled: what ten cards could have been split into, and what that says of the split they were.

The five best cards of ten are among 252 hands, each as likely as any other when the cards are dealt
fairly. Hands are ranked by card ranks alone, with the table of ``Ranker.split_table``: a score may
be any function of the hand, as long as all 252 are scored by the same.
"""

# Inside numba's functions the types are numba's.
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
from numba import njit

__all__ = ["N_SPLITS", "mean_of_pairs", "split_factors"]

N_SPLITS = comb(10, 5)
"""Ways to split ten cards into two hands."""

_SUBSETS = np.array(list(combinations(range(10), 5)), dtype=np.int64)

_SPLIT_OF = np.full(1024, -1, dtype=np.int16)
"""The number of a split by the bit mask of its five places among ten sorted cards."""
_SPLIT_OF[(1 << _SUBSETS).sum(axis=1)] = np.arange(N_SPLITS)

_NEIGHBORS = np.array(
    [
        [
            _SPLIT_OF[sum(1 << place for place in own) ^ (1 << a) ^ (1 << b)]
            for a in own
            for b in range(10)
            if b not in own
        ]
        for own in _SUBSETS.tolist()
    ],
    dtype=np.uint8,
)
"""The 25 splits that one exchanged card leads to, (252, 25)."""

_COLEX = np.array([[comb(rank + k, k + 1) for k in range(5)] for rank in range(13)], dtype=np.int64)


@njit(cache=True, nogil=True)
def _merge(own, other, ten):
    """Write the cards of two hands in ascending order; returns which split is the first hand."""
    for j in range(10):
        card = 2 * np.int64(own[j]) if j < 5 else 2 * np.int64(other[j - 5]) + 1
        place = j
        while place > 0 and ten[place - 1] > card:
            ten[place] = ten[place - 1]
            place -= 1
        ten[place] = card
    places = 0
    for j in range(10):
        places |= (1 - (ten[j] & 1)) << j
        ten[j] >>= 1
    return np.int64(_SPLIT_OF[places])


@njit(cache=True, nogil=True)
def _rank_splits(ten, rank_of, terms, ranks, counts):
    """The best rank of every split of ten cards in ascending order, (252,), and how many splits
    have a rank, (4, n_ranks): four counts to be added, since one would wait for itself.
    """
    for k in range(5):
        for j in range(10):
            terms[k, j] = _COLEX[ten[j] >> 2, k]
    split = np.uint64(0)
    for a in range(6):
        one = terms[0, a]
        for b in range(a + 1, 7):
            two = one + terms[1, b]
            for c in range(b + 1, 8):
                three = two + terms[2, c]
                for d in range(c + 1, 9):
                    four = three + terms[3, d]
                    for e in range(d + 1, 10):
                        rank = rank_of[np.uint64(four + terms[4, e])]
                        ranks[split] = rank
                        counts[split & np.uint64(3), rank] += np.uint16(1)
                        split += np.uint64(1)


@njit(cache=True, nogil=True)
def _chance_after(ranks, heights, split, worth):
    """Chance of a split after the best exchange of one card, over its chance before, 1/252.

    Who cannot gain leaves the cards as they are; exchanges that are equally good are equally
    likely. worth: (25,), room for the heights of the neighbors.
    """
    value = heights[ranks[split]]
    is_best = True
    for j in range(25):
        worth[j] = heights[ranks[_NEIGHBORS[split, j]]]
        is_best &= worth[j] <= value
    chance = 0.0
    for j in range(25):
        if worth[j] < value:
            before = _NEIGHBORS[split, j]
            ways = 0
            for i in range(25):
                reached = heights[ranks[_NEIGHBORS[before, i]]]
                if reached > value:
                    ways = 0
                    break
                if reached == value:
                    ways += 1
            if ways > 0:
                chance += 1.0 / ways
    return chance + 1.0 if is_best else chance


@njit(cache=True, nogil=True)
def split_factors(own, other, rank_of, heights, tilted, rates, factors):
    """Factors (n, 2, k) of the first and the second hand of pairs, written into ``factors``.

    own, other: uint8 (n, 5), card ids. rank_of: uint8 (6188,), best rank by multiset. heights:
    uint8 (n_ranks,), the place of a rank by what an exchange of cards is for, from below; tilted:
    (n_ranks, m), exponentials of tilted scores. rates: (r,), the chance of an exchange. k = m + r:
    exponential over its mean, and 1 - rate + rate x chance of the split after an exchange over its
    chance without.
    """
    n_ranks, m = tilted.shape
    ten, terms = np.empty(10, dtype=np.int64), np.empty((5, 10), dtype=np.int64)
    ranks, worth = np.empty(N_SPLITS, dtype=np.uint8), np.empty(25, dtype=np.uint8)
    counts, totals = np.empty((4, n_ranks), dtype=np.uint16), np.empty(m)
    for i in range(len(own)):
        first = _merge(own[i], other[i], ten)
        counts[:] = 0
        _rank_splits(ten, rank_of, terms, ranks, counts)
        totals[:] = 0.0
        for r in range(n_ranks):
            n = float(counts[0, r] + counts[1, r] + counts[2, r] + counts[3, r])
            for c in range(m):
                totals[c] += n * tilted[r, c]
        for hand in range(2):
            # in lexicographic order the complement of the first split is the last
            split = first if hand == 0 else N_SPLITS - 1 - first
            for c in range(m):
                factors[i, hand, c] = N_SPLITS * tilted[ranks[split], c] / totals[c]
            chance = _chance_after(ranks, heights, split, worth)
            for c in range(len(rates)):
                factors[i, hand, m + c] = 1.0 - rates[c] + rates[c] * chance


@njit(cache=True, nogil=True)
def mean_of_pairs(pairs, factors, counts, means):
    """Add factors (n_pairs, 2, k) of pairs of rows into the means (n, k) of their rows, in place.

    counts: (n,), pairs of each row so far; a row without one keeps what stands there.
    """
    for i in range(len(pairs)):
        for hand in range(2):
            row = pairs[i, hand]
            counts[row] += 1
            for c in range(means.shape[1]):
                if counts[row] == 1:
                    means[row, c] = factors[i, hand, c]
                else:  # of two at most: to the left, and to the right
                    means[row, c] = (means[row, c] + factors[i, hand, c]) / 2
