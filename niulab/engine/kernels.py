"""Compiled rounds: deal, rank and settle many tables at once; only ``batch`` calls these.

A round's cards are those of ``shoe.deal_round``, bit for bit: the same words, bounds and redraws.
Hands are ranked by key sums (``keysums``), nothing is sorted, and tie-break keys beyond the highest
card are compared only between equal ranks.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = [
    "count_cells",
    "count_duels",
    "deal_rows",
    "judge_rows",
    "play_duels",
    "play_rows",
    "rank_rows",
]

_U = np.uint64
_GOLDEN = _U(0x9E3779B97F4A7C15)
_GROUP = _U(0xD1B54A32D192ED03)
_RETRY = _U(0x8CB92BA72F3D8DD7)
_TEN_BITS = _U(58)  # a whole deck deals its first ten cards from one 58-bit word
_TEN_MASK = _U((1 << 58) - 1)
MAX_CARDS = 416
BLOCK = 256  # rounds between two stages; their cards and strengths stay in the nearest cache
SQUARE_BITS = 21  # totals below 2**42 are squared in two pieces: no sum of 2**20 leaves int64
CARD_BY_CARD, PAIRS_THEN_CARDS = 2, 3


@njit(inline="always")
def _mix(z):
    z = (z ^ (z >> _U(30))) * _U(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> _U(27))) * _U(0x94D049BB133111EB)
    return z ^ (z >> _U(31))


@njit(inline="always")
def _ten(row, counter, threshold, deck, dealt):
    """Deal ten cards of a fresh deck of 52; ``deck`` is the identity on entry and on exit."""
    z = row + counter * _GOLDEN
    while True:
        x = _mix(_mix(z) + _GOLDEN) >> _U(6)
        for j in range(10):
            m = x * _U(52 - j)
            k = j + np.int64(m >> _TEN_BITS)
            x = m & _TEN_MASK
            card = deck[k]
            deck[k] = deck[j]
            dealt[j] = card
        for j in range(52):
            deck[j] = j
        if x >= threshold:
            return
        z += _RETRY


@njit(inline="always")
def _duel(row, counter, threshold, deck, rank_keys, card_keys, best_of, short_keys):
    """Deal ten cards of a fresh deck and rank both hands on the way: two strengths.

    The strengths are those of ``rank_rows`` on the cards of ``_ten``; fused, they cost a third
    less.
    """
    z = row + counter * _GOLDEN
    while True:
        for j in range(52):
            deck[j] = j
        x = _mix(_mix(z) + _GOLDEN) >> _U(6)
        key, top = _U(0), np.uint8(0)
        for j in range(5):
            m = x * _U(52 - j)
            k = j + np.int64(m >> _TEN_BITS)
            x = m & _TEN_MASK
            card = deck[k]
            deck[k] = deck[j]
            key += _U(rank_keys[card])
            top = max(top, card_keys[card])
        his_key, his_top = _U(0), np.uint8(0)
        for j in range(5, 10):
            m = x * _U(52 - j)
            k = j + np.int64(m >> _TEN_BITS)
            x = m & _TEN_MASK
            card = deck[k]
            deck[k] = deck[j]
            his_key += _U(rank_keys[card])
            his_top = max(his_top, card_keys[card])
        if x >= threshold:
            break
        z += _RETRY
    rank, his_rank = best_of[key], best_of[his_key]
    mine = (np.int64(rank) << 6) + np.int64(short_keys[min(rank, np.uint8(1)), top])
    his = (np.int64(his_rank) << 6) + np.int64(short_keys[min(his_rank, np.uint8(1)), his_top])
    return mine, his


@njit
def _shuffle(row, counter, n_needed, full, size, bits, thresholds, deck):
    """Shuffle the first ``n_needed`` places of a shoe; ``deck`` is overwritten."""
    n_cards = full.shape[0]
    for j in range(n_cards):
        deck[j] = full[j]
    mask = (_U(1) << _U(bits)) - _U(1)
    start, group = 0, 0
    while start < n_needed:
        end = min(start + size, n_cards)
        z = row + counter * _GOLDEN + _U(group) * _GROUP
        while True:
            first = _mix(_mix(z) + _GOLDEN) >> _U(64 - bits)
            x = first
            for j in range(start, end):
                m = x * _U(n_cards - j)
                k = j + np.int64(m >> _U(bits))
                x = m & mask
                card = deck[k]
                deck[k] = deck[j]
                deck[j] = card
            if x >= thresholds[group]:
                break
            for j in range(end - 1, start - 1, -1):  # undo, last swap first
                x = first
                for i in range(start, j):
                    x = (x * _U(n_cards - i)) & mask
                k = j + np.int64((x * _U(n_cards - j)) >> _U(bits))
                card = deck[k]
                deck[k] = deck[j]
                deck[j] = card
            z += _RETRY
        start = end
        group += 1


@njit
def _long_key(cards, first, mode, card_keys):
    """The tie-break keys that look at all five cards (``hands.tie_key``)."""
    a, b = np.int64(card_keys[cards[first]]), np.int64(card_keys[cards[first + 1]])
    c, d = np.int64(card_keys[cards[first + 2]]), np.int64(card_keys[cards[first + 3]])
    e = np.int64(card_keys[cards[first + 4]])
    a, b = max(a, b), min(a, b)  # a network of nine exchanges sorts them, highest first
    d, e = max(d, e), min(d, e)
    c, e = max(c, e), min(c, e)
    c, d = max(c, d), min(c, d)
    b, e = max(b, e), min(b, e)
    a, d = max(a, d), min(a, d)
    a, c = max(a, c), min(a, c)
    b, d = max(b, d), min(b, d)
    b, c = max(b, c), min(b, c)
    if mode == CARD_BY_CARD:
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


@njit(cache=True, nogil=True)
def deal_rows(rows, rounds, plan, full, thresholds, dealt):
    """Deal round ``rounds[i]`` of mixed row seed ``rows[i]`` into ``dealt`` (n, cards) uint8."""
    size, bits, per_shoe, is_fresh_deck = plan
    n_cards = dealt.shape[1]
    deck = np.arange(MAX_CARDS).astype(np.uint8)
    if is_fresh_deck and n_cards == 10:
        threshold = thresholds[0]
        for i in range(dealt.shape[0]):
            _ten(rows[i], _U(rounds[i]), threshold, deck, dealt[i])
        return
    for i in range(dealt.shape[0]):
        shoe = rounds[i] // per_shoe
        offset = (rounds[i] - shoe * per_shoe) * n_cards
        _shuffle(rows[i], _U(shoe), offset + n_cards, full, size, bits, thresholds, deck)
        for j in range(n_cards):
            dealt[i, j] = deck[offset + j]


@njit(cache=True, nogil=True)
def rank_rows(dealt, tables, strengths, events):
    """Strength (64 x best rank + short key) and event mask of every hand; both (n * hands,) int64.

    dealt: uint8 (n * hands, 5), the cards in any order.
    """
    (rank_keys, suit_keys, card_keys, best_of, multiset_of, _, rank_bits, suit_bits, held_rank,
     held_events, short_keys, _, _, suited) = tables  # fmt: skip
    for i in range(dealt.shape[0]):
        key, top = _U(0), np.uint8(0)
        for j in range(5):
            card = dealt[i, j]
            key += _U(rank_keys[card])
            top = max(top, card_keys[card])
        rank = best_of[key]
        if suited:
            suits = _U(0)
            for j in range(5):
                suits += _U(suit_keys[dealt[i, j]])
            held = rank_bits[multiset_of[key]] & suit_bits[suits]
            rank = max(rank, held_rank[held])
            events[i] = held_events[held]
        strengths[i] = (np.int64(rank) << 6) + np.int64(short_keys[min(rank, np.uint8(1)), top])


@njit
def _resolve(dealt, strengths, verdicts, high_mode, mode, card_keys):
    """Verdicts of ties of short keys by the keys that look at all five cards."""
    dealer = strengths.shape[1] - 1
    for i in range(verdicts.shape[0]):
        for seat in range(dealer):
            if verdicts[i, seat] == 1:
                mode_here = mode if strengths[i, seat] >= 64 else high_mode
                if mode_here in (CARD_BY_CARD, PAIRS_THEN_CARDS):
                    mine = _long_key(dealt[i], 5 * seat, mode_here, card_keys)
                    his = _long_key(dealt[i], 5 * dealer, mode_here, card_keys)
                    verdicts[i, seat] = 1 + np.int64(mine > his) - np.int64(mine < his)


@njit(cache=True, nogil=True)
def judge_rows(dealt, strengths, tables, verdicts):
    """0 lose, 1 exact tie, 2 win of every seat's hand against the dealer's; (n, seats) int64."""
    dealer = strengths.shape[1] - 1
    for i in range(verdicts.shape[0]):
        his = strengths[i, dealer]
        for seat in range(dealer):
            mine = strengths[i, seat]
            verdicts[i, seat] = 1 + np.int64(mine > his) - np.int64(mine < his)
    if max(tables.high_mode, tables.mode) >= CARD_BY_CARD:
        _resolve(dealt, strengths, verdicts, tables.high_mode, tables.mode, tables.card_keys)


@njit(cache=True, nogil=True)
def play_duels(rows, rounds, threshold, rank_keys, card_keys, best_of, short_keys, nets, result):
    """``play_rows`` of one seat, a fresh deck, no suited ranks or events, and short tie keys."""
    deck = np.empty(64, dtype=np.uint8)
    for i in range(result.shape[0]):
        mine, his = _duel(
            rows[i], _U(rounds[i]), threshold, deck, rank_keys, card_keys, best_of, short_keys
        )
        verdict = 1 + np.int64(mine > his) - np.int64(mine < his)
        result[i, 0] = nets[0, verdict, mine >> 6, his >> 6, 0]


@njit(cache=True, nogil=True)
def count_duels(row, first, n_rounds, threshold, rank_keys, card_keys, best_of, short_keys, counts):
    """``count_cells`` where ``play_duels`` serves."""
    deck = np.empty(64, dtype=np.uint8)
    for i in range(first, first + n_rounds):
        mine, his = _duel(row, _U(i), threshold, deck, rank_keys, card_keys, best_of, short_keys)
        verdict = 1 + np.int64(mine > his) - np.int64(mine < his)
        counts[0, verdict, mine >> 6, his >> 6, 0] += 1


@njit(cache=True, nogil=True)
def play_rows(rows, rounds, plan, full, thresholds, tables, nets, result):
    """Net cents (n, seats) of best-set rounds; nets: (seats, verdict, rank, rank, events)."""
    n_seats = result.shape[1]
    dealt = np.empty((BLOCK, 5 * (n_seats + 1)), dtype=np.uint8)
    strengths = np.empty((BLOCK, n_seats + 1), dtype=np.int64)
    events = np.zeros((BLOCK, n_seats + 1), dtype=np.int64)
    verdicts = np.empty((BLOCK, n_seats), dtype=np.int64)
    for start in range(0, len(result), BLOCK):
        n = min(BLOCK, len(result) - start)
        deal_rows(
            rows[start : start + n], rounds[start : start + n], plan, full, thresholds, dealt[:n]
        )
        rank_rows(dealt[:n].reshape(-1, 5), tables, strengths.reshape(-1), events.reshape(-1))
        judge_rows(dealt[:n], strengths[:n], tables, verdicts[:n])
        for i in range(n):
            his = strengths[i, n_seats] >> 6
            for seat in range(n_seats):
                mine = strengths[i, seat] >> 6
                result[start + i, seat] = nets[seat, verdicts[i, seat], mine, his, events[i, seat]]


@njit(cache=True, nogil=True)
def count_cells(
    row, first, n_rounds, plan, full, thresholds, tables, counts, values, totals, squares
):
    """Count rounds from ``first`` on in ``counts`` (seats, verdict, rank, rank, events).

    For each of q values, int64 (verdict, rank, rank, events, q), the total over the seats and
    rounds of one shoe is ``a * 2**SQUARE_BITS + b``; the sums of a*a, a*b and b*b over the shoes
    that end here are added to ``squares`` (q, 3). ``totals`` (q,) are those of an open shoe.
    """
    n_seats, n_values, per_shoe = counts.shape[0], values.shape[4], plan[2]
    rows = np.full(BLOCK, row)
    rounds = np.empty(BLOCK, dtype=np.int64)
    dealt = np.empty((BLOCK, 5 * (n_seats + 1)), dtype=np.uint8)
    strengths = np.empty((BLOCK, n_seats + 1), dtype=np.int64)
    events = np.zeros((BLOCK, n_seats + 1), dtype=np.int64)
    verdicts = np.empty((BLOCK, n_seats), dtype=np.int64)
    for start in range(first, first + n_rounds, BLOCK):
        n = min(BLOCK, first + n_rounds - start)
        for i in range(n):
            rounds[i] = start + i
        deal_rows(rows[:n], rounds[:n], plan, full, thresholds, dealt[:n])
        rank_rows(dealt[:n].reshape(-1, 5), tables, strengths.reshape(-1), events.reshape(-1))
        judge_rows(dealt[:n], strengths[:n], tables, verdicts[:n])
        for i in range(n):
            his = strengths[i, n_seats] >> 6
            for seat in range(n_seats):
                mine, verdict, held = strengths[i, seat] >> 6, verdicts[i, seat], events[i, seat]
                counts[seat, verdict, mine, his, held] += 1
                for q in range(n_values):
                    totals[q] += values[verdict, mine, his, held, q]
            if n_values and (start + i + 1) % per_shoe == 0:
                for q in range(n_values):
                    a, b = totals[q] >> SQUARE_BITS, totals[q] & ((1 << SQUARE_BITS) - 1)
                    squares[q, 0] += a * a
                    squares[q, 1] += a * b
                    squares[q, 2] += b * b
                    totals[q] = 0
