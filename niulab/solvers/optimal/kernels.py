"""Compiled steps of betting programmes; only the modules beside call them, when needed.

A *play* is a slip at the levels where it can be placed: play ``i`` is open at the levels
``begin[i]`` to ``end[i] - 1`` and moves the bankroll by ``jumps[k]`` levels with probability
``chances[k]``, ``k`` from ``first[i]`` to ``first[i + 1] - 1``. ``after`` is what each level is
worth once the round is over; it extends beyond the levels at which rounds are played as far as a
round can lead.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = [
    "best_plays",
    "chain_rows",
    "log_optimal",
    "table_step",
    "turnover_play",
    "turnover_step",
]

_BLOCK = 512  # levels at a time: what a play reads stays in the nearest cache


@njit(cache=True, nogil=True)
def best_plays(
    after, payoff, bonus, can_leave, tie, begin, end, first, jumps, chances, value, choice
):
    """One optimality step: value and choice (L,) of the best play at every level.

    Plays are compared in their order, and a later one must beat an earlier one by more than
    ``tie``; so must leaving, which comes last. Where no play is open ``payoff`` holds, choice -1.
    """
    n_levels = value.shape[0]
    got = np.empty(_BLOCK)
    for start in range(0, n_levels, _BLOCK):
        stop = min(start + _BLOCK, n_levels)
        for level in range(start, stop):
            value[level] = -np.inf
            choice[level] = -1
        for play in range(begin.shape[0]):
            low, high = max(begin[play], start), min(end[play], stop)
            size = high - low
            if size <= 0:
                continue
            got[:size] = bonus
            for k in range(first[play], first[play + 1]):
                chance = chances[k]
                reached = after[low + jumps[k] : high + jumps[k]]
                for i in range(size):
                    got[i] += chance * reached[i]
            for i in range(size):
                if got[i] > value[low + i] + tie:
                    value[low + i] = got[i]
                    choice[low + i] = play
        for level in range(start, stop):
            if choice[level] < 0 or (can_leave and payoff[level] > value[level] + tie):
                value[level] = payoff[level]
                choice[level] = -1


@njit(cache=True, nogil=True)
def table_step(after, payoff, bonus, choice, following, redraws, first, jumps, chances, value):
    """One step of a given policy: value (M, L) from after (M, L + reach).

    choice (M, L): a play or -1; following (M, 3): the memory after a loss, nothing, a gain.
    """
    n_memories, n_levels = value.shape
    mean = np.zeros(after.shape[1])
    if redraws:
        for memory in range(n_memories):
            mean += after[memory] / n_memories
    for memory in range(n_memories):
        for level in range(n_levels):
            play = choice[memory, level]
            if play < 0:
                value[memory, level] = payoff[level]
                continue
            got = bonus
            for k in range(first[play], first[play + 1]):
                jump = jumps[k]
                if redraws:
                    got += chances[k] * mean[level + jump]
                else:
                    kind = 0 if jump < 0 else (1 if jump == 0 else 2)
                    got += chances[k] * after[following[memory, kind], level + jump]
            value[memory, level] = got


@njit(cache=True, nogil=True)
def chain_rows(payoff, bonus, choice, following, first, jumps, chances):
    """The equations ``x = A x + b`` of a given policy over its (memory, level) pairs, as CSR rows,
    one level after the other.

    Levels from ``choice.shape[1]`` on are ends. Where nothing is staked the row says x = payoff.
    """
    n_memories, n_levels = choice.shape
    n = n_memories * n_levels
    size = 0
    for memory in range(n_memories):
        for level in range(n_levels):
            play = choice[memory, level]
            if play >= 0:
                size += first[play + 1] - first[play]
    starts = np.zeros(n + 1, dtype=np.int64)
    places = np.empty(size, dtype=np.int64)
    weights = np.empty(size)
    constant = np.empty(n)
    filled = 0
    for level in range(n_levels):
        for memory in range(n_memories):
            row = level * n_memories + memory
            play = choice[memory, level]
            if play < 0:
                constant[row] = payoff[level]
            else:
                constant[row] = bonus
                for k in range(first[play], first[play + 1]):
                    reached = level + jumps[k]
                    if reached >= n_levels:
                        constant[row] += chances[k] * payoff[reached]
                        continue
                    kind = 0 if jumps[k] < 0 else (1 if jumps[k] == 0 else 2)
                    places[filled] = reached * n_memories + following[memory, kind]
                    weights[filled] = chances[k]
                    filled += 1
            starts[row + 1] = filled
    return starts, places[:filled], weights[:filled], constant


@njit(cache=True, nogil=True)
def turnover_step(values, row, spends, tie, begin, end, first, jumps, chances, choice):
    """Best play with ``row`` steps of handle still to stake; fills ``row`` of values and choice.

    values (rows, L + reach): row 0 is what a met requirement is worth. spends (P,): steps a play
    takes off. choice (rows, L). Levels without an open play are worth nothing: forfeited.
    """
    n_levels = choice.shape[1]
    for level in range(n_levels):
        best, found = -np.inf, -1
        for play in range(begin.shape[0]):
            if level < begin[play] or level >= end[play]:
                continue
            after = values[max(row - spends[play], 0)]
            got = 0.0
            for k in range(first[play], first[play + 1]):
                got += chances[k] * after[level + jumps[k]]
            if got > best + tie:
                best, found = got, play
        values[row, level] = best if found >= 0 else 0.0
        choice[row, level] = found


@njit(cache=True, nogil=True)
def turnover_play(values, row, spends, first, jumps, chances, choice):
    """What given choices bring: fills ``row`` of values; arrays as in ``turnover_step``."""
    for level in range(choice.shape[1]):
        play = choice[row, level]
        values[row, level] = 0.0
        if play >= 0:
            after = values[max(row - spends[play], 0)]
            for k in range(first[play], first[play + 1]):
                values[row, level] += chances[k] * after[level + jumps[k]]


@njit(cache=True, nogil=True)
def log_optimal(returns, chances, tolerance, weights):
    """Fill ``weights`` (n,), which add to 1, with the greatest mean log return; returns its gap.

    returns (m, n) >= 0, chances (m,). ``weights`` come in as a start with a positive return
    everywhere. Minimizes ``sum(w) - E log(returns @ w)`` over ``w >= 0``, whose minimum adds to 1,
    by Newton steps on what is not held at 0 (Bertsekas 1982, projected Newton). No weights are
    better by more than the log of the largest ``E returns_k / (returns @ w)`` (Cover 1984).
    """
    n = weights.shape[0]
    gap = np.inf
    for _ in range(200):
        wealth = returns @ weights
        slope = np.empty(n)
        for k in range(n):
            slope[k] = 1 - (chances * returns[:, k] / wealth).sum()
        gap = np.log(1 - slope.min())
        if gap <= tolerance:
            break
        free = np.flatnonzero((weights > 0) | (slope < 0))
        curve = np.zeros((len(free), len(free)))
        for i in range(len(free)):
            for j in range(len(free)):
                shared = returns[:, free[i]] * returns[:, free[j]]
                curve[i, j] = (chances * shared / wealth**2).sum()
            curve[i, i] *= 1 + 1e-13  # boxes that always pay alike
        move = np.linalg.solve(curve, -slope[free])
        before = weights.sum() - (chances * np.log(wealth)).sum()
        size = 1.0
        while size > 1e-12:
            trial = weights.copy()
            for i in range(len(free)):
                trial[free[i]] = max(weights[free[i]] + size * move[i], 0.0)
            wealth = returns @ trial
            if wealth.min() > 0:
                after = trial.sum() - (chances * np.log(wealth)).sum()
                if after < before:
                    break
            size /= 2
        if size <= 1e-12:
            break
        weights[:] = trial / trial.sum()
    return gap
