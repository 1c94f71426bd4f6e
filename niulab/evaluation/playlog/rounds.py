"""What only a round's rows together tell: cards that lie twice, packets, rows that come again.

A reader calls these on each chunk, a store once more on rows gathered from many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from niulab.engine.cards import HAND_SIZE
from niulab.engine.rules import RuleSet
from niulab.evaluation.playlog.kernels import clockwise_places, number_values
from niulab.evaluation.playlog.plays import NO_CARD, NO_CODE, NO_TIME, Flag, Plays

__all__ = ["Repeats", "clock_steps_back", "distinct", "find_repeats", "flag_rounds", "round_keys"]

_SEATS = 128
_DERIVED = {"flags", "residuals", "packet"}


class Repeats(NamedTuple):
    """keep: bool (n,), the first row of each (table, round, seat, player). identical: rows equal
    to it; differing: rows that are not. first_of: int64 (n,), the first row of each row's key.
    """

    keep: NDArray[np.bool_]
    identical: NDArray[np.int64]
    differing: NDArray[np.int64]
    first_of: NDArray[np.int64]


def find_repeats(plays: Plays) -> Repeats:
    """Rows whose table, round, seat and player came before, compared with the first of them."""
    n = len(plays)
    own = np.arange(n, dtype=np.int64)
    if n == 0:
        return Repeats(np.ones(0, np.bool_), own, own, own)
    if _are_all_new(plays):
        none = own[:0]
        return Repeats(np.ones(n, np.bool_), none, none, own)
    keys = (plays.player, plays.seat, plays.round, plays.table)
    order = np.lexsort(keys)  # stable: the first of equals comes first
    changes = np.zeros(n, dtype=np.bool_)
    changes[0] = True
    for key in keys:
        changes[1:] |= key[order][1:] != key[order][:-1]
    first_of = np.empty(n, dtype=np.int64)
    first_of[order] = order[np.flatnonzero(changes)][np.cumsum(changes) - 1]
    again = np.flatnonzero(first_of != own)
    same = np.ones(len(again), dtype=np.bool_)
    later, earlier = plays.take(again), plays.take(first_of[again])
    for name in Plays.COLUMNS:
        if name not in _DERIVED and len(again):
            equal = getattr(later, name) == getattr(earlier, name)
            same &= equal.reshape(len(again), -1).all(axis=1)
    keep = first_of == own
    return Repeats(keep, again[same], again[~same], first_of)


def _are_all_new(plays: Plays) -> bool:
    """Whether it is certain that no (table, round, seat, player) comes twice."""
    texts = plays.texts
    sizes = (len(texts.tables), len(texts.rounds), len(texts.players))
    if prod(size + 1 for size in sizes) >= 1 << 55:  # eight bits more are for the seat
        return False
    packed = (plays.table + np.int64(1)) * (sizes[1] + 1) + plays.round + 1
    packed = (packed * (sizes[2] + 1) + plays.player + 1) * (2 * _SEATS) + plays.seat + _SEATS
    return len(distinct(packed)[0]) == len(packed)


def distinct(values: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Distinct values in the order first met, and the place of each; by hashing, not sorting."""
    known, places = np.empty(len(values), np.int64), np.empty(len(values), np.int64)
    table = np.zeros(1 << (2 * len(values) + 2).bit_length(), dtype=np.int32)
    n = number_values(np.ascontiguousarray(values, dtype=np.int64), table, known, places)
    return known[:n], places


def round_keys(plays: Plays) -> NDArray[np.int64]:
    """A number for each row's (table, round), 0 .. in the order first met, (n,)."""
    both = plays.table.astype(np.int64) << 32 | plays.round.astype(np.int64) & 0xFFFFFFFF
    return distinct(both)[1]


def flag_rounds(plays: Plays, sheets: Sequence[RuleSet | None] = ()) -> Plays:
    """The rows with ``Flag.CARD_TWICE`` and packets, from all rows of each round at hand.

    A card lies too often if hands of different seats (or the dealer's) hold it more often than the
    deck of the sheet does; rows of one seat that agree on its cards count once. Rows of a round
    that disagree on the dealer's cards are flagged, too. packet: the place in ``seat_order``, else
    the place clockwise from ``first_seat`` among the round's seats with a stake.
    """
    if not len(plays):
        return plays
    rounds = round_keys(plays)
    decks = np.array([*(sheet.deck.decks if sheet else 1 for sheet in sheets), 1], np.int64)
    code = np.where(plays.rules < len(sheets), plays.rules, NO_CODE)
    limit = np.ones(int(rounds.max()) + 1, dtype=np.int64)
    np.maximum.at(limit, rounds, decks[code])
    bad = _has_card_too_often(plays, rounds, limit)
    flags = plays.flags & np.uint16(~int(Flag.CARD_TWICE) & 0xFFFF)
    flags[bad[rounds]] |= np.uint16(Flag.CARD_TWICE)
    return replace(plays, flags=flags, packet=_packets(plays, rounds))


def _has_card_too_often(
    plays: Plays, rounds: NDArray[np.int64], limit: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """By round. Rounds whose rows hold 5 different cards each and one dealer's are done fast."""
    n_rounds = len(limit)
    has_own = (plays.cards < NO_CARD).any(axis=1)
    has_dealer = (plays.dealer_cards < NO_CARD).any(axis=1)
    dealers = _masks(plays.dealer_cards)
    dealer = np.zeros(n_rounds, dtype=np.uint64)
    dealer[rounds[has_dealer]] = dealers[has_dealer]
    strange = np.zeros(n_rounds, dtype=np.bool_)
    strange[rounds[has_dealer & (dealers != dealer[rounds])]] = True
    masks = _masks(plays.cards)
    order = np.argsort(rounds, kind="stable")  # mostly in order already
    starts = np.flatnonzero(np.diff(rounds[order], prepend=-1))
    together = np.bitwise_or.reduceat(masks[order], starts) | dealer
    n_cards = HAND_SIZE * (
        np.bincount(rounds[has_own], minlength=n_rounds) + (dealer != 0).astype(np.int64)
    )
    strange |= np.bitwise_count(together) != n_cards
    bad = np.zeros(n_rounds, dtype=np.bool_)
    if strange.any():
        rows = strange[rounds]
        bad |= _counts_too_often(plays.take(rows), rounds[rows], limit)
    return bad


def _masks(hands: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """A bit for each card held, (n,); none for NO_CARD."""
    bits = np.append(np.uint64(1) << np.arange(NO_CARD, dtype=np.uint64), np.uint64(0))
    masks: NDArray[np.uint64] = bits[hands[:, 0]]
    for column in hands.T[1:]:
        masks = masks | bits[column]
    return masks


def _counts_too_often(
    plays: Plays, rounds: NDArray[np.int64], limit: NDArray[np.int64]
) -> NDArray[np.bool_]:
    own = _hand_keys(rounds * _SEATS + plays.seat, plays.cards)
    dealers = _hand_keys(rounds * _SEATS + _SEATS - 1, plays.dealer_cards)
    bad = np.zeros(len(limit), dtype=np.bool_)
    n_dealers = np.bincount(dealers[0] // _SEATS, minlength=len(limit))
    bad[n_dealers > 1] = True
    holders = np.concatenate([own[0], dealers[0]])
    cards = np.concatenate([own[1], dealers[1]]).astype(np.int64)
    lying = ((holders // _SEATS)[:, None] * 64 + cards)[cards < NO_CARD]
    places, counts = np.unique(lying, return_counts=True)
    bad[places[counts > limit[places // 64]] // 64] = True
    return bad


def _hand_keys(
    holders: NDArray[np.int64], hands: NDArray[np.uint8]
) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Distinct (holder, set of cards) that hold any card: holders (m,) and hands (m, 5)."""
    rows = np.flatnonzero((hands < NO_CARD).any(axis=1))
    sets = np.sort(hands[rows], axis=1)
    packed = np.zeros(len(rows), dtype=np.int64)
    for column in sets.T:
        packed = packed * 64 + column
    order = np.lexsort((packed, holders[rows]))
    is_new = np.ones(len(rows), dtype=np.bool_)
    is_new[1:] = (np.diff(packed[order]) != 0) | (np.diff(holders[rows][order]) != 0)
    kept = order[is_new]
    return holders[rows][kept], sets[kept]


def _packets(plays: Plays, rounds: NDArray[np.int64]) -> NDArray[np.int8]:
    packet = np.full(len(plays), -1, dtype=np.int8)
    if plays.first_seat.any():
        clockwise_places(
            rounds, int(rounds.max()) + 1, plays.seat, plays.first_seat, plays.stakes, packet
        )
    orders = [_seats_of(text) for text in plays.texts.seat_orders]
    if orders:
        places = np.full((len(orders) + 1, _SEATS), -1, dtype=np.int8)
        for code, order in enumerate(orders):
            places[code, order] = np.arange(len(order))
        rows = np.flatnonzero((plays.seat_order != NO_CODE) & (plays.seat > 0))
        packet[rows] = places[plays.seat_order[rows], plays.seat[rows]]
    return packet


def _seats_of(text: str) -> list[int]:
    """Seats of a dealing order, none if it is no list of different seats."""
    parts = text.replace(",", " ").replace(";", " ").replace("-", " ").split()
    if not all(part.isascii() and part.isdigit() and 0 < int(part) < _SEATS for part in parts):
        return []
    seats = [int(part) for part in parts]
    return seats if len(set(seats)) == len(seats) else []


def clock_steps_back(plays: Plays) -> int:
    """How often time goes back from a row to the next row of its table, in the order of the file,
    where another round begins: a clock was changed, or rows are out of order.
    """
    order = np.argsort(plays.table, kind="stable")
    table, time, round_ = plays.table[order], plays.time[order], plays.round[order]
    known = (time[1:] != NO_TIME) & (time[:-1] != NO_TIME)
    back = (table[1:] == table[:-1]) & (round_[1:] != round_[:-1]) & (time[1:] < time[:-1])
    return int((back & known).sum())
