"""Compiled rounds: deal, rank and settle many tables at once; only ``batch`` calls these.

Rounds pass in blocks, stage by stage. The arrays of a block have a line per card or hand and a
column per round, so that most stages are plain loops over columns, which the compiler does many at
a time. A round's cards are those of ``shoe.deal_round``, bit for bit: the same words, bounds and
redraws. Hands are ranked and compared by ``showdown``.

Until a table says which card it is, a card is known by its place in the full shoe.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from niulab.engine.showdown import BLOCK, judge_block, rank_block

__all__ = ["count_cells", "deal_hands", "deal_rows", "play_rows"]

_U = np.uint64
_GOLDEN = _U(0x9E3779B97F4A7C15)
_GROUP = _U(0xD1B54A32D192ED03)
_RETRY = _U(0x8CB92BA72F3D8DD7)
SQUARE_BITS = 21  # totals below 2**42 are squared in two pieces: no sum of 2**20 leaves int64


# ---------------------------------------------------------------- dealing


@njit(inline="always")
def _mix(z):
    z = (z ^ (z >> _U(30))) * _U(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> _U(27))) * _U(0x94D049BB133111EB)
    return z ^ (z >> _U(31))


@njit(inline="always")
def _word(z, bits):
    return _mix(_mix(z) + _GOLDEN) >> _U(64 - bits)


@njit
def _draw(rows, rounds, plan, size, thresholds, drawn):
    """Draw the places with which the first places of fresh shoes of ``size`` cards are swapped.

    drawn: uint16 (cards, BLOCK), and one line more for draws that are only needed to accept a word.
    """
    per_word, bits, n, last = plan[0], plan[1], rows.shape[0], drawn.shape[0] - 1
    shift, mask = _U(bits), (_U(1) << _U(bits)) - _U(1)
    states, words = np.zeros(BLOCK, dtype=np.uint64), np.empty(BLOCK, dtype=np.uint64)
    for i in range(n):
        states[i] = rows[i] + _U(rounds[i]) * _GOLDEN
    for group in range((last + per_word - 1) // per_word):
        start, offset = group * per_word, _U(group) * _GROUP
        end = min(start + per_word, size)
        for i in range(BLOCK):
            words[i] = _word(states[i] + offset, bits)
        for j in range(start, end):
            line, place, bound = drawn[min(j, last)], _U(j), _U(size - j)
            for i in range(BLOCK):
                m = words[i] * bound
                line[i] = place + (m >> shift)
                words[i] = m & mask
        for i in range(n):
            if words[i] < thresholds[group]:
                z, x = states[i] + offset, _U(0)
                while x < thresholds[group]:
                    z += _RETRY
                    x = _word(z, bits)
                    for j in range(start, end):
                        m = x * _U(size - j)
                        drawn[min(j, last), i] = _U(j) + (m >> shift)
                        x = m & mask


@njit(inline="always")
def _before_own(j, drawn, first, line):
    """Follow the draws of place ``first + j`` back through the ``j`` swaps from ``first`` on."""
    for i in range(BLOCK):
        place = drawn[j * BLOCK + i]
        for k in range(j):
            swap = j - 1 - k
            place = np.uint16(first + swap) if place == drawn[swap * BLOCK + i] else place
        line[i] = place


@njit
def _before_five(drawn, first, line):
    """Follow places back through the five swaps from ``first`` on."""
    for i in range(BLOCK):
        place = line[i]
        for k in range(5):
            swap = 4 - k
            place = np.uint16(first + swap) if place == drawn[swap * BLOCK + i] else place
        line[i] = place


@njit
def _follow(drawn, places):
    """From draws to the places of the full shoe whose cards come up; both (cards, BLOCK) uint16.

    Swap k moves what place k held to the place it drew, so a drawn place is followed back through
    the earlier swaps, the latest first: where swap k drew it, it held what place k did. No shoe is
    laid out or shuffled. Hands of five are unrolled, for the compiler to do many columns at a time.
    """
    flat = drawn.reshape(-1)
    for first in range(0, places.shape[0], 5):
        own = flat[first * BLOCK : (first + 5) * BLOCK]
        _before_own(0, own, first, places[first])
        _before_own(1, own, first, places[first + 1])
        _before_own(2, own, first, places[first + 2])
        _before_own(3, own, first, places[first + 3])
        _before_own(4, own, first, places[first + 4])
        for j in range(first, first + 5):
            for earlier in range(first - 5, -1, -5):
                five = flat[earlier * BLOCK : (earlier + 5) * BLOCK]
                _before_five(five, earlier, places[j])


@njit(inline="always")
def _shuffle(z, done, n_needed, plan, thresholds, deck):
    """Shuffle on from the ``done`` first places of a shoe to ``n_needed``; how many are done then.

    deck: uint16, the places in their present order.
    """
    per_word, bits, size = plan[0], plan[1], deck.shape[0]
    shift, mask = _U(bits), (_U(1) << _U(bits)) - _U(1)
    drawn = np.empty(per_word, dtype=np.int64)
    while done < n_needed:
        group, end = done // per_word, min(done + per_word, size)
        state, x = z + _U(group) * _GROUP, _U(0)
        is_first = True
        while is_first or x < thresholds[group]:
            is_first = False
            x = _word(state, bits)
            for j in range(done, end):
                m = x * _U(size - j)
                drawn[j - done] = j + np.int64(m >> shift)
                x = m & mask
            state += _RETRY
        for j in range(done, end):
            k = drawn[j - done]
            deck[j], deck[k] = deck[k], deck[j]
        done = end
    return done


@njit
def _deal_on(rows, rounds, plan, size, thresholds, places):
    """Deal rounds that share shoes: one that lies in the same shoe as the last goes on from it."""
    per_shoe, n_cards = plan[2], places.shape[0]
    deck = np.empty(size, dtype=np.uint16)
    z, done = _U(0), np.int64(0)
    for i in range(rows.shape[0]):
        shoe = rounds[i] // per_shoe
        offset = (rounds[i] - shoe * per_shoe) * n_cards
        state = rows[i] + _U(shoe) * _GOLDEN
        if state != z or done == 0:
            z, done = state, np.int64(0)
            for j in range(size):
                deck[j] = j
        done = _shuffle(z, done, offset + n_cards, plan, thresholds, deck)
        for j in range(n_cards):
            places[j, i] = deck[offset + j]


@njit(inline="always")
def _deal(rows, rounds, plan, size, thresholds, drawn, places):
    """Places (cards, BLOCK) of the cards of up to BLOCK rounds, in shoes of ``size`` cards.

    rows, rounds: uint64 and int64 (n,), mixed row seeds and the rounds' numbers.
    """
    if plan[2] > 1:
        _deal_on(rows, rounds, plan, size, thresholds, places)
    else:
        _draw(rows, rounds, plan, size, thresholds, drawn)
        _follow(drawn, places)


@njit(cache=True, nogil=True)
def deal_rows(rows, rounds, plan, full, thresholds, dealt):
    """Deal round ``rounds[i]`` of mixed row seed ``rows[i]`` into ``dealt`` (n, cards) uint8."""
    n_cards, size = dealt.shape[1], full.shape[0]
    drawn = np.empty((n_cards + 1, BLOCK), dtype=np.uint16)
    places = np.empty((n_cards, BLOCK), dtype=np.uint16)
    for start in range(0, dealt.shape[0], BLOCK):
        n = min(BLOCK, dealt.shape[0] - start)
        _deal(rows[start : start + n], rounds[start : start + n], plan, size, thresholds,
              drawn, places)  # fmt: skip
        for i in range(n):
            for j in range(n_cards):
                dealt[start + i, j] = full[places[j, i]]


@njit(inline="always")
def _sort_five(lines):
    """Sort the columns of five lines (5, BLOCK): a network of nine exchanges."""
    for a, b in ((0, 1), (3, 4), (2, 4), (2, 3), (1, 4), (0, 3), (0, 2), (1, 3), (1, 2)):
        low, high = lines[a], lines[b]
        for i in range(BLOCK):
            less, more = min(low[i], high[i]), max(low[i], high[i])
            low[i], high[i] = less, more


@njit(cache=True, nogil=True)
def deal_hands(seeds, rounds, shoe, block, n_as_dealt, hands):
    """Deal round ``rounds[i]`` of row seed ``seeds[i]`` into ``hands``, uint8 (hands, n, 5).

    Cards are in ascending order but for the first ``n_as_dealt`` hands, which stay as dealt. Shoe
    and block are those of ``play_rows``.
    """
    plan, full, thresholds = shoe
    drawn, places, n_hands = block[0], block[1], hands.shape[0]
    rows = np.empty(BLOCK, dtype=np.uint64)
    for start in range(0, hands.shape[1], BLOCK):
        n = min(BLOCK, hands.shape[1] - start)
        for i in range(n):
            rows[i] = _mix(seeds[start + i])
        some = rounds[start : start + n]
        _deal(rows[:n], some, plan, full.shape[0], thresholds, drawn, places)
        for hand in range(n_hands):
            own = places[5 * hand : 5 * hand + 5]
            if hand >= n_as_dealt:
                _sort_five(own)  # places are in the order of their cards
            if plan[3]:  # in a whole deck a place is its card
                for i in range(n):
                    for j in range(5):
                        hands[hand, start + i, j] = own[j, i]
            else:
                for i in range(n):
                    for j in range(5):
                        hands[hand, start + i, j] = full[own[j, i]]


# ---------------------------------------------------------------- rounds


@njit(inline="always")
def _cells(rows, rounds, shoe, tables, packed, strides, block):
    """All stages of a block: cells (seats, BLOCK), as ``showdown.judge_block`` says."""
    plan, full, thresholds = shoe
    drawn, places, strengths, events, cells = block
    _deal(rows, rounds, plan, full.shape[0], thresholds, drawn, places)
    rank_block(places, rows.shape[0], full, packed, tables, strengths, events)
    judge_block(places, rows.shape[0], full, tables, strengths, events, strides, cells)


@njit(cache=True, nogil=True)
def play_rows(seeds, rounds, shoe, tables, packed, strides, block, nets, result):
    """Net cents (n, seats) of best-set rounds; nets: int64 (seats, cells).

    Cells are those of a raveled (verdict, rank, rank, events) with the ``strides`` of the first
    three. shoe: plan, full, thresholds. packed: ``packed_keys`` by place of the shoe. block:
    scratch for draws, places, strengths, events and cells, as ``_cells`` takes it.
    """
    n_seats, cells = nets.shape[0], block[4]
    rows = np.empty(BLOCK, dtype=np.uint64)
    for start in range(0, result.shape[0], BLOCK):
        n = min(BLOCK, result.shape[0] - start)
        for i in range(n):
            rows[i] = _mix(seeds[start + i])
        some = rounds[start : start + n]
        _cells(rows[:n], some, shoe, tables, packed, strides, block)
        for seat in range(n_seats):
            for i in range(n):
                result[start + i, seat] = nets[seat, cells[seat, i]]


@njit(cache=True, nogil=True)
def count_cells(
    row, first, n_rounds, shoe, tables, packed, strides, block, counts, values, totals, squares
):
    """Count rounds from ``first`` on in ``counts``, int64 (seats, cells); see ``play_rows``.

    For each of q values, int64 (cells, q), the total over the seats and rounds of one shoe is
    ``a * 2**SQUARE_BITS + b``; the sums of a*a, a*b and b*b over the shoes that end here are added
    to ``squares`` (q, 3). ``totals`` (q,) are those of an open shoe.
    """
    n_seats, n_values, per_shoe = counts.shape[0], values.shape[1], shoe[0][2]
    rows, rounds = np.empty(BLOCK, dtype=np.uint64), np.empty(BLOCK, dtype=np.int64)
    cells = block[4]
    for start in range(first, first + n_rounds, BLOCK):
        n = min(BLOCK, first + n_rounds - start)
        for i in range(n):
            rows[i], rounds[i] = row, start + i
        _cells(rows[:n], rounds[:n], shoe, tables, packed, strides, block)
        for seat in range(n_seats):
            for i in range(n):
                counts[seat, cells[seat, i]] += 1
        if n_values == 0:
            continue
        for i in range(n):
            for seat in range(n_seats):
                for q in range(n_values):
                    totals[q] += values[cells[seat, i], q]
            if (start + i + 1) % per_shoe == 0:
                for q in range(n_values):
                    a, b = totals[q] >> SQUARE_BITS, totals[q] & ((1 << SQUARE_BITS) - 1)
                    squares[q, 0] += a * a
                    squares[q, 1] += a * b
                    squares[q, 2] += b * b
                    totals[q] = 0
