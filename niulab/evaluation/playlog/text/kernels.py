"""Compiled loops over the bytes of clean lines: fields split, and plain ones read at once.

Whatever is not in its plainest form is left to others: an odd line (``odd_lines``) to the reader
that takes lines one by one, a column with an odd field (``odd_columns``) to the reader of texts.
"""

# Inside numba's functions the types are numba's.
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"

from __future__ import annotations

import numpy as np
from numba import njit

from niulab.evaluation.playlog.plays import NO_CARD, NO_TIME
from niulab.evaluation.playlog.text.objects.kernels import split_json

__all__ = ["EMPTY", "HAND", "NUMBER", "SKIP", "TEXT", "TIME", "gather_texts", "read_lines"]

SKIP, NUMBER, TIME, HAND, TEXT = range(5)
"""What a column holds."""

EMPTY = NO_TIME
"""The number or time of an empty field."""

_TILE = 256
"""Lines whose bytes stay in the cache while all their columns are read."""

_LONGEST = 100_000  # bytes of a line
_MOST_DIGITS = 15  # of a number: no product leaves int64
_QUOTE, _SPACE = 0x22, 0x20


@njit(cache=True, nogil=True)
def read_lines(
    data, starts, stops, rows, separator, keys, key_ends, has_quotes, kinds, slots, counts_of,
    card_ranks, card_suits, zone_is_utc, numbers, times, hands, codes, tables, text_starts,
    text_stops, n_texts, odd_columns, odd_lines,
):  # fmt: skip
    """Read lines ``data[starts[i]:stops[i]]`` into row ``rows[i]`` of the columns.

    separator: between fields, 0 for objects of JSON whose keys (``keys`` one after the other, each
    up to its ``key_ends``) come in this order. has_quotes: whether a field may stand in quotes. By
    column: kinds; slots, its place among the columns of its kind; counts_of, bits of the numbers of
    cards it may hold. numbers, times: int64 (k, n); hands: uint8 (k, n, 5); codes: int32 (k, n)
    places in the texts of ``text_starts``, ``text_stops`` (k, m), found by ``tables`` (k, 2**x) of
    place + 1. odd_columns, odd_lines: bool, set where something is not plain.
    """
    n_columns = len(kinds)
    begins = np.empty((n_columns, _TILE), np.int64)
    ends = np.empty((n_columns, _TILE), np.int64)
    held = np.empty(_TILE, np.int64)
    for low in range(0, len(starts), _TILE):
        n = 0
        for i in range(low, min(low + _TILE, len(starts))):
            start, stop = starts[i], stops[i]
            if stop > start and data[stop - 1] == 0x0D:
                stop -= 1
            if odd_lines[i] or stop - start > _LONGEST or _is_blank(data, start, stop):
                odd_lines[i] = True
            elif separator == 0:
                if split_json(data, start, stop, keys, key_ends, begins, ends, n):
                    held[n] = rows[i]
                    n += 1
                else:
                    odd_lines[i] = True
            elif _split(data, start, stop, separator, has_quotes, begins, ends, n):
                held[n] = rows[i]
                n += 1
            else:
                odd_lines[i] = True
        for column in range(n_columns):
            kind, k = kinds[column], slots[column]
            if kind == SKIP or odd_columns[column]:
                continue
            begin, end = begins[column], ends[column]
            if kind == NUMBER:
                is_plain = _read_numbers(data, begin, end, held, n, numbers[k])
            elif kind == TIME:
                is_plain = _read_times(data, begin, end, held, n, zone_is_utc, times[k])
            elif kind == HAND:
                is_plain = _read_hands(
                    data, begin, end, held, n, counts_of[column], card_ranks, card_suits, hands[k]
                )
            else:
                n_texts[k] = _code_texts(
                    data, begin, end, held, n, tables[k], text_starts[k], text_stops[k], n_texts[k],
                    codes[k],
                )  # fmt: skip
                is_plain = True
            if not is_plain:
                odd_columns[column] = True


@njit(cache=True, nogil=True)
def gather_texts(data, starts, stops, offsets, texts):
    """Copy texts one after the other; offsets: int32 (m + 1,)."""
    place = 0
    for i in range(len(starts)):
        for p in range(starts[i], stops[i]):
            texts[place] = data[p]
            place += 1
        offsets[i + 1] = place


@njit(cache=True, nogil=True)
def _is_blank(data, start, stop):
    for p in range(start, stop):
        byte = data[p]
        if byte != _SPACE and not 0x09 <= byte <= 0x0D and byte != 0:
            return False
    return True


@njit(cache=True, nogil=True)
def _split(data, start, stop, separator, has_quotes, begins, ends, place):
    """Fields of a line into column ``place``; False unless it has one for each row."""
    n, column, p = len(begins), 0, start
    while True:
        if column == n:
            return False
        if has_quotes and p < stop and data[p] == _QUOTE:
            p += 1
            begins[column, place] = p
            while p < stop and data[p] != _QUOTE:
                p += 1
            if p == stop:
                return False
            ends[column, place] = p
            p += 1
            if p < stop and data[p] != separator:
                return False
        else:
            begins[column, place] = p
            while p < stop and data[p] != separator:
                if has_quotes and data[p] == _QUOTE:
                    return False
                p += 1
            ends[column, place] = p
        column += 1
        if p == stop:
            return column == n
        p += 1


@njit(cache=True, nogil=True)
def _read_numbers(data, begins, ends, rows, n, values):
    for i in range(n):
        p, end = begins[i], ends[i]
        if p == end:
            values[rows[i]] = EMPTY
            continue
        is_negative = data[p] == 0x2D
        if is_negative:
            p += 1
        if p == end or end - p > _MOST_DIGITS:
            return False
        value = np.int64(0)
        while p < end:
            digit = np.int64(data[p]) - 0x30
            if digit < 0 or digit > 9:
                return False
            value = value * 10 + digit
            p += 1
        values[rows[i]] = -value if is_negative else value
    return True


@njit(cache=True, nogil=True)
def _is_same(data, one, other, stop):
    """Whether ``data[one:]`` begins with ``data[other:stop]``."""
    while other < stop:
        if data[one] != data[other]:
            return False
        one, other = one + 1, other + 1
    return True


@njit(cache=True, nogil=True)
def _is_repeat(data, begins, ends, before, i):
    """Whether field i is that of the line before it, as rows of a round repeat times and hands."""
    if before < 0 or ends[before] - begins[before] != ends[i] - begins[i]:
        return False
    return _is_same(data, begins[before], begins[i], ends[i])


@njit(cache=True, nogil=True)
def _digits(data, p, n):
    """The number of n digits, -1 if there is anything else."""
    value = np.int64(0)
    for q in range(p, p + n):
        digit = np.int64(data[q]) - 0x30
        if digit < 0 or digit > 9:
            return np.int64(-1)
        value = value * 10 + digit
    return value


@njit(cache=True, nogil=True)
def _read_times(data, begins, ends, rows, n, zone_is_utc, values):
    before = -1
    for i in range(n):
        p, end = begins[i], ends[i]
        if p == end:
            values[rows[i]] = EMPTY
            continue
        if _is_repeat(data, begins, ends, before, i):
            values[rows[i]] = values[rows[before]]
            continue
        value = _time(data, p, end, zone_is_utc)
        if value == EMPTY:
            return False
        values[rows[i]] = value
        before = i
    return True


@njit(cache=True, nogil=True)
def _time(data, p, end, zone_is_utc):
    """Microseconds of ``2026-01-31T23:59:59.123456Z``; EMPTY for anything but such texts."""
    if end - p < 19 or end - p > 32:
        return EMPTY
    days, seconds, offset = _days(data, p), _seconds(data, p + 10), np.int64(0)
    p += 19
    micros, scale = np.int64(0), 100_000
    if p < end and data[p] == 0x2E:
        first = p + 1
        p = first
        while p < end and 0x30 <= data[p] <= 0x39:
            micros += scale * (np.int64(data[p]) - 0x30)
            scale //= 10
            p += 1
        if p == first or p - first > 6:
            return EMPTY
    if p == end:
        is_known = zone_is_utc
    elif end - p == 1:
        is_known = data[p] == 0x5A
    else:
        offset = _offset(data, p, end)
        is_known = offset != EMPTY
    if days == EMPTY or seconds < 0 or not is_known:
        return EMPTY
    return (days * 86_400 + seconds - offset) * 1_000_000 + micros


@njit(cache=True, nogil=True)
def _days(data, p):
    """Days from 1970 to ``2026-01-31``, EMPTY for no day of the years 1000 .. 2999."""
    year, month, day = _digits(data, p, 4), _digits(data, p + 5, 2), _digits(data, p + 8, 2)
    if data[p + 4] != 0x2D or data[p + 7] != 0x2D or not (1000 <= year <= 2999 and 0 < month < 13):
        return EMPTY
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    most = 28 + is_leap if month == 2 else 30 if month in {4, 6, 9, 11} else 31
    if day < 1 or day > most:
        return EMPTY
    year -= month <= 2  # years that begin in March
    before = (153 * ((month + 9) % 12) + 2) // 5
    return 365 * year + year // 4 - year // 100 + year // 400 + before + day - 719_469


@njit(cache=True, nogil=True)
def _seconds(data, p):
    """Seconds of ``T23:59:59``, -1 for no time of day."""
    hour, minute, second = _digits(data, p + 1, 2), _digits(data, p + 4, 2), _digits(data, p + 7, 2)
    if data[p] != 0x54 and data[p] != _SPACE:
        return np.int64(-1)
    if data[p + 3] != 0x3A or data[p + 6] != 0x3A:
        return np.int64(-1)
    if not (0 <= hour < 24 and 0 <= minute < 60 and 0 <= second < 60):
        return np.int64(-1)
    return hour * 3600 + minute * 60 + second


@njit(cache=True, nogil=True)
def _offset(data, p, end):
    """Seconds of ``+08:00``, EMPTY for anything else."""
    is_signed = data[p] == 0x2B or data[p] == 0x2D
    if end - p != 6 or not is_signed or data[p + 3] != 0x3A:
        return EMPTY
    hours, minutes = _digits(data, p + 1, 2), _digits(data, p + 4, 2)
    if not (0 <= hours < 24 and 0 <= minutes < 60):
        return EMPTY
    seconds = (hours * 60 + minutes) * 60
    return -seconds if data[p] == 0x2D else seconds


@njit(cache=True, nogil=True)
def _read_hands(data, begins, ends, rows, n, counts, ranks, suits, values):
    """``ranks`` and ``suits`` by byte, 255 for bytes that are none."""
    before = -1
    for i in range(n):
        p, end, row = begins[i], ends[i], rows[i]
        if _is_repeat(data, begins, ends, before, i):
            values[row] = values[rows[before]]
            continue
        size = 0
        while p < end:
            if size == 5:
                return False
            if p + 1 < end and data[p] == 0x31 and data[p + 1] == 0x30:
                rank = np.uint8(9)
                p += 2
            else:
                rank = ranks[data[p]]
                p += 1
            if p == end or rank == 255 or suits[data[p]] == 255:
                return False
            values[row, size] = 4 * rank + suits[data[p]]
            size += 1
            p += 1
            if p < end:
                if data[p] != _SPACE or p + 1 == end:
                    return False
                p += 1
        if not counts >> size & 1:
            return False
        for k in range(size, 5):
            values[row, k] = NO_CARD
        before = i
    return True


@njit(cache=True, nogil=True)
def _code_texts(data, begins, ends, rows, n, table, text_starts, text_stops, n_texts, codes):
    """Codes of a column's texts; returns how many texts there are now."""
    mask = np.uint64(len(table) - 1)
    before = -1
    for i in range(n):
        begin, size = begins[i], ends[i] - begins[i]
        if _is_repeat(data, begins, ends, before, i):
            codes[rows[i]] = codes[rows[before]]
            continue
        before = i
        key = np.uint64(0xCBF29CE484222325)
        for p in range(begin, begin + size):
            key = (key ^ np.uint64(data[p])) * np.uint64(0x100000001B3)
        place = (key ^ (key >> np.uint64(29))) & mask
        while True:
            code = table[place] - 1
            if code < 0:
                code = n_texts
                table[place] = code + 1
                text_starts[code], text_stops[code] = begin, begin + size
                n_texts += 1
                break
            is_long = text_stops[code] - text_starts[code] == size
            if is_long and _is_same(data, text_starts[code], begin, begin + size):
                break
            place = (place + np.uint64(1)) & mask
        codes[rows[i]] = code
    return n_texts
