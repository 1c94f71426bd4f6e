"""Compiled forward programmes over (memory, level) and over the gap from the peak.

Levels are stored at place ``level - lowest``. A round moves whole runs of levels that place one
slip, net by net, so that the inner loop is one contiguous multiply-and-add.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

__all__ = ["pass_gap", "pass_gap_with_bankroll", "play_rounds"]

TINY = 1e-290  # mass below it is dropped at the ends of a row: arithmetic is slow down there
STOP = -1  # of ``tables``
LONG = 16  # places from which two views of the rows pay for themselves

Choices = NDArray[np.int32]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@njit(inline="always")
def _mass(row: Floats, first: int, last: int) -> float:
    """Sum of ``row[first:last]`` in four chains, which do not wait for each other."""
    a = b = c = d = 0.0
    i = first
    while i + 4 <= last:
        a += row[i]
        b += row[i + 1]
        c += row[i + 2]
        d += row[i + 3]
        i += 4
    while i < last:
        a += row[i]
        i += 1
    return (a + b) + (c + d)


@njit(inline="always")
def _add(source: Floats, target: Floats, first: int, last: int, shift: int, chance: float) -> None:
    """``target[i + shift] += chance * source[i]`` for places ``first`` to ``last``."""
    if last - first == 1:
        target[first + shift] += chance * source[first]
    elif last - first < LONG:
        for i in range(first, last):
            target[i + shift] += chance * source[i]
    else:
        there, here = target[first + shift : last + shift], source[first:last]
        for i in range(last - first):
            there[i] += chance * here[i]


@njit(inline="always")
def _absorb(row: Floats, first: int, last: int, chance: float, absorbed: Floats) -> float:
    """Add a share of ``row[first:last]`` to ``absorbed``; its mass."""
    _add(row, absorbed, first, last, 0, chance)
    return chance * _mass(row, first, last)


@njit(inline="always")
def _describe(
    total: Floats,
    first: int,
    last: int,
    start: int,
    quantiles: Floats,
    slack: float,
    band: Integers,
) -> float:
    """Fill ``band`` with the places of the quantiles; the mean place, seen from the start."""
    reached = mean = 0.0
    k = 0
    for i in range(first, last):
        reached += total[i]
        mean += total[i] * (i - start)
        while k < len(quantiles) and reached >= quantiles[k] - slack:
            band[k] = i
            k += 1
    for rest in range(k, len(quantiles)):
        band[rest] = last - 1
    return mean


@njit(inline="always")
def _run_end(choices: Choices, first: int, last: int, lowest: int) -> int:
    """The place before ``last`` up to which the choice is that at ``first``."""
    end = first + 1
    while end < last and choices[end + lowest] == choices[first + lowest]:
        end += 1
    return end


@njit(inline="always")
def _close(
    row: Floats, first: int, last: int, bottom: int, top: int, final: Floats, ends: Floats
) -> tuple[int, int]:
    """Absorb what fell below ``bottom`` or reached ``top``; the ends of what plays on."""
    if first < bottom:
        ends[0] += _absorb(row, first, min(bottom, last), 1.0, final)
        row[first : min(bottom, last)] = 0.0
        first = bottom
    if last > top:
        ends[1] += _absorb(row, max(top, first), last, 1.0, final)
        row[max(top, first) : last] = 0.0
        last = top
    while first < last and row[first] < TINY:
        row[first] = 0.0
        first += 1
    while last > first and row[last - 1] < TINY:
        last -= 1
        row[last] = 0.0
    return first, max(first, last)


@njit(inline="always")
def _find_heirs(
    following: Choices,
    m: int,
    n_drawn: int,
    row_of: Integers,
    held: Integers,
    n: int,
    heirs: Integers,
) -> int:
    """Fill ``heirs`` (3,), the rows of the memories after m, new ones from row n on; rows now."""
    for kind in range(3):
        heir = np.int64(0) if n_drawn > 1 else np.int64(following[m, kind])
        if row_of[heir] < 0:
            row_of[heir], held[n] = n, heir
            n += 1
        heirs[kind] = row_of[heir]
    return n


@njit(cache=True, nogil=True)
def play_rounds(
    choice: Choices,
    following: Choices,
    n_drawn: int,
    lowest: int,
    shifts: Integers,
    chances: Floats,
    n_nets: Integers,
    memory: int,
    start: int,
    bottom: int,
    top: int,
    rows: Floats,
    quantiles: Floats,
    slack: float,
    final: Floats,
    ends: Floats,
    means: Floats,
    bands: Integers,
    placed: Floats,
) -> None:
    """Play ``len(ends) - 1`` rounds from place ``start``; below ``bottom`` is ruin, ``top`` ends.

    choice (M, L), following (M, 3): as in ``BettingTables``; level l is place ``l - lowest``.
    n_drawn: memories to draw from before every round, 1 where they follow each other.
    shifts, chances (S, K): places moved and probability of each net of each slip, n_nets (S,).
    rows (2, n, W): zeroed scratch for the n memories held at a time. Results: final (W,) the last
    law; ends (T + 1, 3) mass ruined, at the top, and stopped, of each round; means (T + 1,) from
    the start; bands (T + 1, q) places; placed (S,) expected times.
    """
    held = np.zeros((2, rows.shape[1]), dtype=np.int64)
    firsts, lasts = np.full_like(held, len(final)), np.zeros_like(held)
    row_of = np.full(len(choice), -1, dtype=np.int64)
    heirs = np.zeros(3, dtype=np.int64)
    total = np.zeros(len(final))
    share = 1.0 / n_drawn
    low, high, now, n_held = start, start + 1, 0, 1
    held[0, 0], firsts[0, 0], lasts[0, 0] = memory, start, start + 1
    rows[0, 0, start] = 1.0
    firsts[0, 0], lasts[0, 0] = _close(rows[0, 0], start, start + 1, bottom, top, final, ends[0])
    for played in range(len(ends)):
        total[low:high] = final[low:high]
        for r in range(n_held):
            _add(rows[now, r], total, firsts[now, r], lasts[now, r], 0, 1.0)
        means[played] = _describe(total, low, high, start, quantiles, slack, bands[played])
        if played == len(ends) - 1:
            break
        then, n_then = 1 - now, 0
        for r in range(n_held):
            row = rows[now, r]
            for drawn in range(n_drawn):
                m = drawn if n_drawn > 1 else int(held[now, r])
                n_then = _find_heirs(following, m, n_drawn, row_of, held[then], n_then, heirs)
                first = firsts[now, r]
                while first < lasts[now, r]:
                    last = _run_end(choice[m], first, lasts[now, r], lowest)
                    slip = choice[m, first + lowest]
                    if slip == STOP:
                        ends[played, 2] += _absorb(row, first, last, share, final)
                    else:
                        placed[slip] += share * _mass(row, first, last)
                        for k in range(n_nets[slip]):
                            shift = shifts[slip, k]
                            s = heirs[1 + np.int64(shift > 0) - np.int64(shift < 0)]
                            firsts[then, s] = min(firsts[then, s], first + shift)
                            lasts[then, s] = max(lasts[then, s], last + shift)
                            chance = share * chances[slip, k]
                            _add(row, rows[then, s], first, last, shift, chance)
                    first = last
            row[firsts[now, r] : lasts[now, r]] = 0.0
            firsts[now, r], lasts[now, r] = len(final), 0
        for s in range(n_then):
            row_of[held[then, s]] = -1
            low, high = min(low, firsts[then, s]), max(high, lasts[then, s])
            firsts[then, s], lasts[then, s] = _close(
                rows[then, s], firsts[then, s], lasts[then, s], bottom, top, final, ends[played + 1]
            )
        now, n_held = then, n_then
    final[low:high] = total[low:high]


@njit(cache=True, nogil=True)
def pass_gap(shifts: Integers, chances: Floats, n_rounds: int, limit: int) -> float:
    """P(the gap from the peak passes ``limit`` within ``n_rounds``), from a gap of 0.

    shifts, chances (K,): ascending nets in steps. A net x takes the gap g to max(g - x, 0).
    """
    now, then = np.zeros(limit + 1), np.zeros(limit + 1)
    now[0], last, passed = 1.0, 1, 0.0
    for _ in range(n_rounds):
        last_then = 1
        for k in range(len(shifts)):
            shift, chance = shifts[k], chances[k]
            n_down = min(max(shift, 0), last)  # gaps that a win closes
            n_kept = max(min(limit + 1 + shift, last), n_down)  # from here on it is passed
            then[0] += chance * _mass(now, 0, n_down)
            _add(now, then, n_down, n_kept, -shift, chance)
            passed += chance * _mass(now, n_kept, last)
            if n_kept > n_down:
                last_then = max(last_then, n_kept - shift)
        now[:last] = 0.0
        last = last_then
        while last > 1 and then[last - 1] < TINY:
            last -= 1
            then[last] = 0.0
        now, then = then, now
    return passed


@njit(cache=True, nogil=True)
def pass_gap_with_bankroll(
    choice: Choices,
    following: Choices,
    n_drawn: int,
    lowest: int,
    shifts: Integers,
    chances: Floats,
    n_nets: Integers,
    memory: int,
    start: int,
    bottom: int,
    top: int,
    rows: Floats,
    n_rounds: int,
) -> float:
    """``pass_gap`` of a session: arguments as in ``play_rounds``, rows (2, n, limit + 1, W)."""
    n_gaps = rows.shape[2]
    held = np.zeros((2, rows.shape[1]), dtype=np.int64)
    firsts = np.full((2, rows.shape[1], n_gaps), rows.shape[3], dtype=np.int64)
    lasts = np.zeros_like(firsts)
    row_of = np.full(len(choice), -1, dtype=np.int64)
    heirs = np.zeros(3, dtype=np.int64)
    done, ends = np.zeros(rows.shape[3]), np.zeros(3)
    share, passed = 1.0 / n_drawn, 0.0
    now, n_held = 0, 1
    held[0, 0], rows[0, 0, 0, start] = memory, 1.0
    firsts[0, 0, 0], lasts[0, 0, 0] = _close(
        rows[0, 0, 0], start, start + 1, bottom, top, done, ends
    )
    for _ in range(n_rounds):
        then, n_then = 1 - now, 0
        for r in range(n_held):
            for drawn in range(n_drawn):
                m = drawn if n_drawn > 1 else int(held[now, r])
                n_then = _find_heirs(following, m, n_drawn, row_of, held[then], n_then, heirs)
                for gap in range(n_gaps):
                    row, first = rows[now, r, gap], firsts[now, r, gap]
                    while first < lasts[now, r, gap]:
                        last = _run_end(choice[m], first, lasts[now, r, gap], lowest)
                        slip = choice[m, first + lowest]
                        for k in range(n_nets[slip] if slip != STOP else 0):
                            shift, chance = shifts[slip, k], share * chances[slip, k]
                            if gap - shift >= n_gaps:
                                passed += chance * _mass(row, first, last)
                                continue
                            s = heirs[1 + np.int64(shift > 0) - np.int64(shift < 0)]
                            g = max(gap - shift, 0)
                            firsts[then, s, g] = min(firsts[then, s, g], first + shift)
                            lasts[then, s, g] = max(lasts[then, s, g], last + shift)
                            _add(row, rows[then, s, g], first, last, shift, chance)
                        first = last
        for r in range(n_held):
            for gap in range(n_gaps):
                rows[now, r, gap, firsts[now, r, gap] : lasts[now, r, gap]] = 0.0
                firsts[now, r, gap], lasts[now, r, gap] = rows.shape[3], 0
        for s in range(n_then):
            row_of[held[then, s]] = -1
            for gap in range(n_gaps):
                firsts[then, s, gap], lasts[then, s, gap] = _close(
                    rows[then, s, gap], firsts[then, s, gap], lasts[then, s, gap], bottom, top,
                    done, ends,
                )  # fmt: skip
        now, n_held = then, n_then
    return passed
