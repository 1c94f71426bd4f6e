"""The shoe: which cards a round deals, as a pure function of a row's seed and the round's number.

A shuffle is a partial Fisher-Yates pass over the shoe's cards, decoded from counter-based words
(``seeding.round_word``). The scalar and the vectorized form deal the same cards, bit for bit, and
the first packets of a round do not depend on how many packets follow.

**Decode.** A word x of w bits gives the places of a group of cards with bounds b0, b1, ... (the
cards left in the shoe): multiply by the bound, take the high part, keep the low w bits::

    m = x * b;  digit = m >> w;  x = m mod 2**w

**Exactness.** Let P = b0 * b1 * ... The digits are those of v = floor(x * P / 2**w) in the mixed
radix b0, b1, ..., and the final remainder is x * P mod 2**w. The x that lead to one v leave
remainders in steps of P through [0, 2**w), so for every v exactly (2**w - t) / P of them leave a
remainder of at least t = 2**w mod P (Lemire 2019, doi:10.1145/3230636). Words with a smaller
remainder are redrawn: every ordered deal is equally likely. w = 64 - bit_length(shoe), at most 58,
keeps x * b inside 64 bits: 58 bits serve ten cards of one deck (0.4 % are redrawn), 55 bits serve
five cards of six decks.

**Penetration.** The order of shoe s is keyed by (seed, s). Rounds take successive cards until the
cut card has come out; round r is therefore round r mod k of shoe r // k, with the k of
``rounds_per_shoe``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import ceil, prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from niulab.engine.cards import HAND_SIZE
from niulab.engine.rules.model import Deck, RuleSet
from niulab.errors import CardError
from niulab.seeding import WORD_BITS, round_word, round_words

__all__ = [
    "ShoePlace",
    "deal_plan",
    "deal_round",
    "deal_rounds",
    "dealt_before",
    "rounds_per_shoe",
    "shoe_place",
]

_ONE_DECK = 52
_CHUNK_BYTES = 1 << 22


class ShoePlace(NamedTuple):
    """Where a round lies: the number of its shoe and the cards dealt from that shoe before it."""

    shoe: int
    offset: int


class _Group(NamedTuple):
    """Cards decoded from one word: first place, bounds, redraw threshold."""

    start: int
    bounds: tuple[int, ...]
    threshold: int


def deal_round(
    rules: RuleSet, seed: int, round_index: int, n_hands: int
) -> tuple[tuple[int, ...], ...]:
    """Deal one round: ``n_hands`` packets of five card ids in the order dealt, the dealer's last.

    Raises CardError if the shoe cannot serve so many hands.
    """
    place = shoe_place(rules, round_index, n_hands)
    last = place.offset + HAND_SIZE * n_hands
    cards = _shuffled(rules.deck, seed, place.shoe, last)[place.offset :]
    return tuple(tuple(cards[i : i + HAND_SIZE]) for i in range(0, len(cards), HAND_SIZE))


def deal_rounds(
    rules: RuleSet, seeds: NDArray[np.uint64], rounds: NDArray[np.int64], n_hands: int
) -> NDArray[np.uint8]:
    """Deal one round per row: uint8 (n, n_hands, 5).

    Row i holds the cards of ``deal_round(rules, seeds[i], rounds[i], n_hands)``.
    """
    _verify_fits(rules, n_hands)
    seeds = np.asarray(seeds).astype(np.uint64, copy=False)
    rounds = np.asarray(rounds).astype(np.int64, copy=False)
    result = np.empty((len(seeds), n_hands * HAND_SIZE), dtype=np.uint8)
    shoes, offsets = rounds, np.zeros_like(rounds)
    if rules.deck.reshuffle == "penetration":
        shoes, place = np.divmod(rounds, rounds_per_shoe(rules, n_hands))
        offsets = place * (n_hands * HAND_SIZE)
    # Rows of about equal offset share a pass, and a pass stays in the processor's cache.
    order = np.argsort(offsets, kind="stable") if offsets.any() else np.arange(len(seeds))
    step = max(1, _CHUNK_BYTES // rules.deck.n_cards)
    for first in range(0, len(seeds), step):
        rows = order[first : first + step]
        result[rows] = _shuffled_rows(
            rules.deck, seeds[rows], shoes[rows], offsets[rows], result.shape[1]
        )
    return result.reshape(len(seeds), n_hands, HAND_SIZE)


def rounds_per_shoe(rules: RuleSet, n_hands: int) -> int:
    """Rounds of ``n_hands`` hands dealt before the shoe is shuffled anew.

    A round starts as long as the cut card has not come out and the cards suffice.
    """
    _verify_fits(rules, n_hands)
    deck = rules.deck
    if deck.penetration is None:
        return 1
    per_round = n_hands * HAND_SIZE
    return max(1, min(ceil(deck.penetration * deck.n_cards / per_round), deck.n_cards // per_round))


def shoe_place(rules: RuleSet, round_index: int, n_hands: int) -> ShoePlace:
    """The shoe a round is dealt from and how many of its cards are out before it."""
    shoe, place = divmod(round_index, rounds_per_shoe(rules, n_hands))
    return ShoePlace(shoe, place * n_hands * HAND_SIZE)


def dealt_before(rules: RuleSet, seed: int, round_index: int, n_hands: int) -> tuple[int, ...]:
    """Card ids that left the round's shoe in earlier rounds, in the order dealt."""
    place = shoe_place(rules, round_index, n_hands)
    return tuple(_shuffled(rules.deck, seed, place.shoe, place.offset))


def _verify_fits(rules: RuleSet, n_hands: int) -> None:
    most = rules.deck.n_cards // HAND_SIZE
    if not 1 <= n_hands <= most:
        message = (
            f"{n_hands} hands cannot be dealt: the shoe of '{rules.name}' holds "
            f"{rules.deck.n_cards} cards, ask for 1 to {most} hands"
        )
        raise CardError(message)


@lru_cache(maxsize=16)
def _plan(n_cards: int) -> tuple[int, tuple[_Group, ...]]:
    """Word size in bits and the groups of a shoe of ``n_cards``."""
    bits = min(WORD_BITS, 64 - n_cards.bit_length())
    size = 10 if n_cards <= _ONE_DECK else 5
    groups = []
    for start in range(0, n_cards, size):
        bounds = tuple(range(n_cards - start, max(n_cards - start - size, 0), -1))
        groups.append(_Group(start, bounds, (1 << bits) % prod(bounds)))
    return bits, tuple(groups)


def deal_plan(
    rules: RuleSet, n_hands: int
) -> tuple[tuple[int, int, int, bool], NDArray[np.uint8], NDArray[np.uint64]]:
    """What compiled code needs to deal rounds of ``n_hands`` hands as ``deal_round`` does.

    (cards per word, bits per word, rounds per shoe, whether every round opens a whole deck), the
    cards of the full shoe, and the redraw threshold of each word.
    """
    full = np.array(_full_shoe(rules.deck), dtype=np.uint8)
    bits, groups = _plan(len(full))
    per_shoe = rounds_per_shoe(rules, n_hands)
    is_fresh_deck = per_shoe == 1 and len(full) == _ONE_DECK == len(set(full.tolist()))
    thresholds = np.array([group.threshold for group in groups], dtype=np.uint64)
    return (len(groups[0].bounds), bits, per_shoe, is_fresh_deck), full, thresholds


@lru_cache(maxsize=64)
def _full_shoe(deck: Deck) -> tuple[int, ...]:
    """Card ids of the full shoe in ascending order."""
    return tuple(card for card, copies in enumerate(deck.composition) for _ in range(copies))


def _decode(word: int, bounds: Sequence[int], bits: int) -> tuple[list[int], int]:
    """Digits of one word for the bounds, and the remainder that decides on a redraw."""
    digits = []
    for bound in bounds:
        product = word * bound
        digits.append(product >> bits)
        word = product & ((1 << bits) - 1)
    return digits, word


def _shuffled(deck: Deck, seed: int, counter: int, n_dealt: int) -> list[int]:
    """The first ``n_dealt`` cards of a shuffled shoe."""
    cards = list(_full_shoe(deck))
    bits, groups = _plan(len(cards))
    for number, group in enumerate(groups):
        if group.start >= n_dealt:
            break
        attempt, remainder = 0, -1
        digits: list[int] = []
        while remainder < group.threshold:
            word = round_word(seed, counter, number, attempt) >> (WORD_BITS - bits)
            digits, remainder = _decode(word, group.bounds, bits)
            attempt += 1
        for place, digit in enumerate(digits, start=group.start):
            cards[place], cards[place + digit] = cards[place + digit], cards[place]
    return cards[:n_dealt]


def _digits_of_rows(
    seeds: NDArray[np.uint64], counters: NDArray[np.int64], number: int, n_cards: int
) -> NDArray[np.int64]:
    """Accepted digits of one group for every row: int64 (group size, n)."""
    bits, groups = _plan(n_cards)
    group = groups[number]
    digits = np.empty((len(group.bounds), len(seeds)), dtype=np.int64)
    rows: NDArray[np.intp] | slice = slice(None)
    attempt = 0
    while True:
        words = round_words(seeds[rows], counters[rows], number, attempt)
        words >>= np.uint64(WORD_BITS - bits)
        for k, bound in enumerate(group.bounds):
            words *= np.uint64(bound)
            digits[k, rows] = words >> np.uint64(bits)
            words &= np.uint64((1 << bits) - 1)
        redrawn = np.flatnonzero(words < group.threshold)
        if not len(redrawn):
            return digits
        rows = redrawn if isinstance(rows, slice) else rows[redrawn]
        attempt += 1


def _shuffled_rows(
    deck: Deck,
    seeds: NDArray[np.uint64],
    counters: NDArray[np.int64],
    offsets: NDArray[np.int64],
    n_dealt: int,
) -> NDArray[np.uint8]:
    """Cards ``offset`` to ``offset + n_dealt`` of each row's shuffled shoe: uint8 (n, n_dealt)."""
    full = np.array(_full_shoe(deck), dtype=np.uint8)
    rows = np.arange(len(seeds))
    flat = np.repeat(full, len(rows))
    by_place = flat.reshape(len(full), len(rows))  # the same memory: one line per place
    last = int(offsets.max(initial=0)) + n_dealt
    for number, group in enumerate(_plan(len(full))[1]):
        if group.start >= last:
            break
        digits = _digits_of_rows(seeds, counters, number, len(full))
        for place, digit in enumerate(digits[: last - group.start], start=group.start):
            there = (place + digit) * len(rows) + rows
            drawn = flat[there]
            flat[there] = by_place[place]
            by_place[place] = drawn
    if not offsets.any():
        return by_place[:n_dealt].T
    dealt: NDArray[np.uint8] = by_place[offsets + np.arange(n_dealt)[:, None], rows]
    return dealt.T
