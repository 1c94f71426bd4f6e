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

__all__ = ["N_SPLITS", "SPLIT_OF", "split_factors"]

N_SPLITS = comb(10, 5)
"""Ways to split ten cards into two hands."""

_SUBSETS = np.array(list(combinations(range(10), 5)), dtype=np.int64)

SPLIT_OF = np.full(1024, -1, dtype=np.int16)
"""The number of a split by the bit mask of its five places among ten sorted cards."""
SPLIT_OF[(1 << _SUBSETS).sum(axis=1)] = np.arange(N_SPLITS)

_NEIGHBORS = np.array(
    [
        [
            SPLIT_OF[sum(1 << place for place in own) ^ (1 << a) ^ (1 << b)]
            for a in own
            for b in range(10)
            if b not in own
        ]
        for own in _SUBSETS.tolist()
    ],
    dtype=np.int64,
)
"""The 25 splits that one exchanged card leads to, (252, 25)."""

_COLEX = np.array([[comb(rank + k, k + 1) for k in range(5)] for rank in range(13)], dtype=np.int64)


@njit(cache=True, nogil=True)
def _moves(ranks, values, split):
    """The best value one exchange of a card reaches from a split, and how many reach it."""
    best, ways = values[ranks[split]], 0  # who cannot gain leaves the cards as they are
    for j in range(25):
        value = values[ranks[_NEIGHBORS[split, j]]]
        if value > best:
            best, ways = value, 1
        elif value == best and ways > 0:
            ways += 1
    return best, ways


@njit(cache=True, nogil=True)
def split_factors(tens, splits, rank_of, values, tilted, rates, factors):
    """Factors (n, k) of pairs of hands, written into ``factors``.

    tens: uint8 (n, 10), card ids of both hands ascending; splits: (n,), which 252nd of them is the
    player's. rank_of: uint8 (6188,), best rank by multiset. values: (n_ranks,), what an exchange of
    cards is for; tilted: (n_ranks, m), exponentials of tilted scores. rates: (r,), the chance of an
    exchange. k = m + r: exponential over its mean, and chance of the split after the best exchange
    of one card over its chance without.
    """
    n_ranks, m = tilted.shape
    ranks = np.empty(N_SPLITS, dtype=np.uint8)
    counts = np.empty(n_ranks)
    for i in range(len(tens)):
        counts[:] = 0.0
        for split in range(N_SPLITS):
            place = 0
            for k in range(5):
                place += _COLEX[tens[i, _SUBSETS[split, k]] >> 2, k]
            ranks[split] = rank_of[place]
            counts[ranks[split]] += 1.0
        own = splits[i]
        for c in range(m):
            total = 0.0
            for r in range(n_ranks):
                total += counts[r] * tilted[r, c]
            factors[i, c] = N_SPLITS * tilted[ranks[own], c] / total
        value = values[ranks[own]]
        weight = 1.0 if _moves(ranks, values, own)[1] == 0 else 0.0
        for j in range(25):
            before = _NEIGHBORS[own, j]
            if values[ranks[before]] < value:
                best, ways = _moves(ranks, values, before)
                if best == value:
                    weight += 1.0 / ways
        for c in range(len(rates)):
            factors[i, m + c] = 1.0 - rates[c] + rates[c] * weight
