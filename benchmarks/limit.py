"""The limit by which targets were set: the least work of a round of two hands, one round at a time.

A stand-in game with the memory traffic of the real one: five cards each, points from the best base,
three special hands, odds by the winner's rank, ties to the highest card. It knows nothing of rule
files, seats or shoes. Each round is finished before the next begins, so this is a yardstick and no
bound: work on many rounds stage by stage, as in ``niulab.engine.kernels``, may pass it.
``python benchmarks/limit.py`` prints nanoseconds per round, stage by stage.
"""

from __future__ import annotations

from itertools import combinations, combinations_with_replacement
from typing import NamedTuple

import numpy as np
from measure import Meter, default_core, pin
from numba import njit
from numpy.typing import NDArray

__all__ = ["Limit", "measure_limit"]

_U = np.uint64
_GOLDEN = _U(0x9E3779B97F4A7C15)
_BITS, _MASK = _U(58), _U((1 << 58) - 1)
_DEALS = np.prod(np.arange(43, 53, dtype=object))
_REFUSED = _U((1 << 58) % _DEALS)  # this part of the words is drawn again: then all deals are equal
_ODDS = np.array([1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 3, 5, 5, 5], dtype=np.int64)
_N = 1 << 16


# ---------------------------------------------------------------- tables


def additive_keys(n: int = 13, copies: int = 4, size: int = 5) -> list[int]:
    """The least ascending integers of which all sums of ``size``, ``copies`` each, are distinct.

    A key c is barred if two sums of earlier keys differ by 1 to 4 times c while they are as many
    keys apart: adding c to the shorter would then make them equal.
    """
    sums = [np.zeros(1, dtype=np.int64), *[np.zeros(0, dtype=np.int64)] * size]
    keys: list[int] = []
    while len(keys) < n:
        is_barred = np.zeros(100_000, dtype=np.bool_)
        for more in range(1, copies + 1):
            for length in range(more, size + 1):
                apart = np.subtract.outer(sums[length], sums[length - more]).ravel()
                apart = apart[(apart > 0) & (apart % more == 0)] // more
                is_barred[apart[apart < len(is_barred)]] = True
        first = keys[-1] + 1 if keys else 0
        keys.append(first + int(np.argmin(is_barred[first:])))
        sums = [
            np.concatenate([sums[k - m] + m * keys[-1] for m in range(min(copies, k) + 1)])
            for k in range(size + 1)
        ]
    return keys


def rank_of(ranks: tuple[int, ...]) -> int:
    """0 no base, 1 to 9 points, 10 niu niu, 11 to 13 the special hands."""
    points = [min(rank + 1, 10) for rank in ranks]
    if sum(points) <= 10 and max(points) < 5:
        return 13
    if ranks[0] == ranks[3] or ranks[1] == ranks[4]:
        return 12
    if ranks[0] >= 10:
        return 11
    fronts = [sum(pair) % 10 for pair in combinations(points, 2)]
    made = [front for front in fronts if front == sum(points) % 10]
    return (made[0] or 10) if made else 0


class Tables(NamedTuple):
    """key_of: int64 (52,) by card. rank_by_sum: uint8, by the sum of five keys, 361 kB."""

    key_of: NDArray[np.int64]
    rank_by_sum: NDArray[np.uint8]


def make_tables() -> Tables:
    keys = np.array(additive_keys())
    hands = [h for h in combinations_with_replacement(range(13), 5) if h[0] < h[4]]
    sums = keys[np.array(hands)].sum(axis=1)
    rank_by_sum = np.zeros(sums.max() + 1, dtype=np.uint8)
    rank_by_sum[sums] = [rank_of(hand) for hand in hands]
    return Tables(np.repeat(keys, 4), rank_by_sum)


# ---------------------------------------------------------------- stages


@njit(inline="always")
def _word(seed, counter):
    """A word by its number: rounds may be asked for in any order."""
    z = seed + _U(counter) * _GOLDEN
    z = (z ^ (z >> _U(30))) * _U(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> _U(27))) * _U(0x94D049BB133111EB)
    return (z ^ (z >> _U(31))) >> _U(6)


@njit(inline="always")
def _next_word(state):
    """The next word of a xoroshiro128+ stream, the cheapest source: rounds in order only."""
    a, b = state[0], state[1]
    word = a + b
    b ^= a
    state[0] = ((a << _U(24)) | (a >> _U(40))) ^ b ^ (b << _U(16))
    state[1] = (b << _U(37)) | (b >> _U(27))
    return word >> _U(6)


@njit(inline="always")
def _draw(x, place, deck):
    """One card to ``place``: the card, and what is left of the word."""
    m = x * _U(52 - place)
    other = place + np.int64(m >> _BITS)
    card = deck[other]
    deck[other] = deck[place]
    deck[place] = card
    return card, m & _MASK


@njit(inline="always")
def _strengths(x, deck, key_of, rank_by_sum):
    """Both hands' rank and highest card, and the rest of the word."""
    mine, his, top, his_top = 0, 0, 0, 0
    for place in range(5):
        card, x = _draw(x, place, deck)
        mine += key_of[card]
        top = max(top, np.int64(card))
    for place in range(5, 10):
        card, x = _draw(x, place, deck)
        his += key_of[card]
        his_top = max(his_top, np.int64(card))
    return (
        (np.int64(rank_by_sum[mine]) << 6) | top,
        (np.int64(rank_by_sum[his]) << 6) | his_top,
        x,
    )


@njit(inline="always")
def _settle(mine, his, odds, flat, scaled):
    sign = 2 * np.int64(mine > his) - 1
    return sign * (flat + scaled * odds[max(mine, his) >> 6])


@njit
def words_only(seed, first, nets):
    for i in range(nets.shape[0]):
        nets[i] = np.int64(_word(seed, first + i))


@njit
def deal_only(seed, first, dealt):
    deck = np.empty(52, dtype=np.uint8)
    for i in range(dealt.shape[0]):
        for j in range(52):
            deck[j] = j
        x = _word(seed, first + i)
        for j in range(10):
            dealt[i, j], x = _draw(x, j, deck)


@njit
def keyed_rounds(seed, first, key_of, rank_by_sum, odds, flat, scaled, nets):
    """Whole rounds by number, from a fresh deck each: what random access costs at least."""
    deck = np.empty(52, dtype=np.uint8)
    for i in range(nets.shape[0]):
        counter, x = _U(first + i), _U(0)
        mine, his = 0, 0
        while True:
            for j in range(52):
                deck[j] = j
            mine, his, x = _strengths(_word(seed, counter), deck, key_of, rank_by_sum)
            if x >= _REFUSED:
                break
            counter += _U(1 << 63)
        nets[i] = _settle(mine, his, odds, flat, scaled)


@njit
def streamed_rounds(state, deck, key_of, rank_by_sum, odds, flat, scaled, nets):
    """Whole rounds in order from one stream, the deck never put back: the least of all."""
    for i in range(nets.shape[0]):
        mine, his, x = 0, 0, _U(0)
        while x < _REFUSED:
            mine, his, x = _strengths(_next_word(state), deck, key_of, rank_by_sum)
        nets[i] = _settle(mine, his, odds, flat, scaled)


# ---------------------------------------------------------------- measuring


class Limit(NamedTuple):
    """Names of the figures, by stage; ``streamed`` is the one that targets are shares of."""

    words: str = "limit: word by counter"
    deal: str = "limit: word, ten cards, fresh deck"
    keyed: str = "limit: whole round by counter, fresh deck"
    streamed: str = "limit: whole round in a stream, carried deck"


def measure_limit(meter: Meter) -> Limit:
    """Check the stand-in game, then measure its stages."""
    names, tables = Limit(), make_tables()
    nets, dealt = np.empty(_N, dtype=np.int64), np.empty((_N, 10), dtype=np.uint8)
    deck, state = np.arange(52, dtype=np.uint8), np.array([3, 5], dtype=np.uint64)
    seed, stakes = _U(7), (*tables, _ODDS, 1, 1)
    keyed_rounds(seed, 0, *stakes, nets)
    deal_only(seed, 0, dealt)
    _check(dealt, nets)
    streamed_rounds(state, deck, *stakes, nets)
    _check(dealt, nets)
    meter.rate(names.words, lambda: words_only(seed, 0, nets), _N, batch=_N)
    meter.rate(names.deal, lambda: deal_only(seed, 0, dealt), _N, batch=_N)
    meter.rate(names.keyed, lambda: keyed_rounds(seed, 0, *stakes, nets), _N, batch=_N)
    meter.rate(names.streamed, lambda: streamed_rounds(state, deck, *stakes, nets), _N, batch=_N)
    return names


def _check(dealt: NDArray[np.uint8], nets: NDArray[np.int64]) -> None:
    """Ten distinct cards a round, every card as often as another, and a nearly fair game."""
    seen = np.bincount(dealt.ravel(), minlength=52)
    is_distinct = (np.diff(np.sort(dealt, axis=1).astype(np.int64), axis=1) > 0).all()
    spread = float(((seen - seen.mean()) ** 2 / seen.mean()).sum())
    if not (is_distinct and spread < 120 and abs(nets.mean()) < 0.1):
        raise RuntimeError(f"the limit kernel deals wrongly: {spread=}, mean net {nets.mean()}")


if __name__ == "__main__":
    pin(default_core())
    meter = Meter()
    for name in measure_limit(meter):
        print(f"{name:<58} {1e9 / meter.figures[name].value:.1f} ns a round")
