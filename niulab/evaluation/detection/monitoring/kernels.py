"""Compiled: hashes of many texts and of pairs, and rounds that no clock orders."""

# Inside numba's functions the types are numba's.
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["count_ties", "hash_texts", "join_hashes"]

_FIRST, _TIMES = np.uint64(0xCBF29CE484222325), np.uint64(0x9E3779B97F4A7C15)
_A, _B = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


@njit(cache=True, nogil=True)
def _mixed(x):
    """The finalizer of splitmix64 (Steele, Lea and Flood 2014)."""
    x = (x ^ (x >> np.uint64(30))) * _A
    x = (x ^ (x >> np.uint64(27))) * _B
    return x ^ (x >> np.uint64(31))


@njit(cache=True, nogil=True)
def join_hashes(a, b, hashes):
    """Write a hash of every pair of hashes, uint64 (n,), never 0."""
    for i in range(len(hashes)):
        hashes[i] = max(_mixed(a[i] * _TIMES + b[i]), np.uint64(1))


@njit(cache=True, nogil=True)
def hash_texts(data, offsets, hashes):
    """Write a hash of every text, uint64 (n,): bytes of ``data`` between ``offsets`` (n + 1,).

    Eight bytes at a time, each mixed in; the length is mixed in first.
    """
    for i in range(len(hashes)):
        low, high = offsets[i], offsets[i + 1]
        state = _FIRST + np.uint64(high - low)
        for at in range(low, high, 8):
            word = np.uint64(0)
            for k in range(at, min(at + 8, high)):
                word |= np.uint64(data[k]) << np.uint64(8 * (k - at))
            state = _mixed((state ^ word) * _TIMES)
        hashes[i] = state


@njit(cache=True, nogil=True)
def count_ties(players, codes, times, last_times, at_last, ties):
    """Count rounds beside another of their player at the same time, in place.

    players, codes: as of ``RoundStarts``. times: int64 (n_rounds,). last_times, at_last, ties:
    int64 (n_players,) of all: the time of the last round, how many rounds lie at it, and the count
    so far.
    """
    for place in range(len(codes)):
        player = codes[place]
        for i in range(players[place], players[place + 1]):
            if at_last[player] > 0 and times[i] == last_times[player]:
                at_last[player] += 1
                ties[player] += 2 if at_last[player] == 2 else 1
            else:
                last_times[player] = times[i]
                at_last[player] = 1
