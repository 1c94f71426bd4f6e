"""Compiled loops over lines of JSON: objects whose keys stand in the order of the first."""

# Inside numba's functions the types are numba's.
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"

from __future__ import annotations

from numba import njit

__all__ = ["split_json"]

_QUOTE, _BACKSLASH, _SPACE = 0x22, 0x5C, 0x20
_MOST_DIGITS = 15


@njit(cache=True, nogil=True)
def _past_spaces(data, p, stop):
    while p < stop and data[p] == _SPACE:
        p += 1
    return p


@njit(cache=True, nogil=True)
def split_json(data, start, stop, keys, key_ends, begins, ends, place):
    """Values of one object into column ``place``; False for other keys or what needs decoding."""
    p = _past_spaces(data, start, stop)
    if p == stop or data[p] != 0x7B:
        return False
    p, key = p + 1, 0
    for column in range(len(key_ends)):
        p = _past_spaces(data, p, stop)
        size = key_ends[column] - key
        if p + size + 2 >= stop or data[p] != _QUOTE or data[p + size + 1] != _QUOTE:
            return False
        for q in range(size):
            if data[p + 1 + q] != keys[key + q]:
                return False
        key = key_ends[column]
        p = _past_spaces(data, p + size + 2, stop)
        if p == stop or data[p] != 0x3A:
            return False
        p = _past_spaces(data, p + 1, stop)
        begin, end, p = _json_value(data, p, stop)
        if p < 0:
            return False
        begins[column, place], ends[column, place] = begin, end
        p = _past_spaces(data, p, stop)
        closing = 0x7D if column == len(key_ends) - 1 else 0x2C
        if p == stop or data[p] != closing:
            return False
        p += 1
    return _past_spaces(data, p, stop) == stop


@njit(cache=True, nogil=True)
def _json_value(data, p, stop):
    """Where the text of a value begins, where it ends, and what follows; -1 if it is not plain."""
    if p == stop:
        return 0, 0, -1
    if data[p] == _QUOTE:
        begin = p + 1
        p = begin
        while p < stop and data[p] != _QUOTE:
            if data[p] == _BACKSLASH or data[p] < _SPACE or data[p] == 0x7F:
                return 0, 0, -1
            p += 1
        return (begin, p, p + 1) if p < stop else (0, 0, -1)
    if data[p] == 0x6E:  # null
        is_null = p + 3 < stop and data[p + 1] == 0x75 and data[p + 2] == data[p + 3] == 0x6C
        return (p, p, p + 4) if is_null else (0, 0, -1)
    begin = p
    if data[p] == 0x2D:
        p += 1
    first = p
    while p < stop and 0x30 <= data[p] <= 0x39:
        p += 1
    n_digits = p - first
    if n_digits == 0 or n_digits > _MOST_DIGITS:
        return 0, 0, -1
    if data[first] == 0x30 and p - begin > 1:  # 007 is no JSON, -0 is 0
        return 0, 0, -1
    return begin, p, p
