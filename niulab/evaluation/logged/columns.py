"""Blocks of a floor as plays: one row a round and player present, by player and time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from niulab.engine.hands import SPLITS
from niulab.engine.ranking import ranker
from niulab.engine.rules import RuleSet
from niulab.engine.rules.cover import full_in_sight_cents
from niulab.evaluation.logged.config import FloorConfig
from niulab.evaluation.logged.seating import Seating
from niulab.evaluation.logged.world import Played, World
from niulab.evaluation.playlog.plays import (
    BOXES,
    NO_CARD,
    NO_CODE,
    Flag,
    Plays,
    Vocabularies,
    boxes_of,
)
from niulab.seeding import WORD_BITS, round_words

__all__ = ["best_pairs", "simulate_blocks", "simulate_plays"]

_START_US = 1_767_225_600_000_000  # 2026-01-01T00:00:00Z
_SECOND_US = 1_000_000
_CLOSES_BEFORE_US = 20 * _SECOND_US
_BETS_WITHIN_US = 20 * _SECOND_US
_BET_TIMES = 10  # a group of words of the players' seeds

Cents = NDArray[np.int64]


def simulate_plays(floor: FloorConfig, *, pairs: bool = True, rounds_named: bool = True) -> Plays:
    """All plays of a floor, by player and time; the same seed gives the same rows.

    See ``simulate_blocks``; about 300 bytes a row.
    """
    return Plays.join([*simulate_blocks(floor, pairs=pairs, rounds_named=rounds_named)]).by_player()


def simulate_blocks(
    floor: FloorConfig,
    *,
    pairs: bool = True,
    rounds_named: bool = True,
    block_rounds: int | None = None,
) -> Iterator[Plays]:
    """The plays of a floor in blocks of consecutive rounds, each by player and time.

    pairs: whether the set pairs are recorded. rounds_named: whether rounds have names; without them
    the code of round t of table g is t x tables + g, and no text stands for it. Player codes follow
    ``seat_players(floor).labels``.
    """
    world = World(floor, block_rounds=block_rounds)
    texts = _texts(floor, world.seating, rounds_named=rounds_named)
    for played in world.blocks():
        yield _plays(world, texts, played, pairs=pairs)


def _texts(floor: FloorConfig, seating: Seating, *, rounds_named: bool) -> Vocabularies:
    n_tables, widest = seating.n_tables, len(str(floor.rounds))
    tables = [f"T{g + 1:0{len(str(n_tables))}d}" for g in range(n_tables)]
    rounds = (
        [f"{table}-{t + 1:0{widest}d}" for t in range(floor.rounds) for table in tables]
        if rounds_named
        else []
    )
    width = len(str(floor.dealers))
    return Vocabularies(
        players=tuple(label.player for label in seating.labels),
        tables=tuple(tables),
        dealers=tuple(f"D{d + 1:0{width}d}" for d in range(floor.dealers)),
        rounds=tuple(rounds),
        rules=(floor.rules.name,),
    )


def _plays(world: World, texts: Vocabularies, played: Played, *, pairs: bool) -> Plays:
    floor, seats, rounds = world.floor, world.seating.seats, played.block.rounds
    player, k = np.nonzero(played.is_present.T)
    table, t = seats.tables[player], rounds[k]
    time = _START_US + (t * floor.seconds + table % floor.seconds) * _SECOND_US
    close = time - _CLOSES_BEFORE_US
    words = round_words(seats.seeds[player], t, _BET_TIMES) * 2.0**-WORD_BITS
    before = (words * _BETS_WITHIN_US).astype(np.int64) // 1000 * 1000
    cards = played.block.packets[table, k, played.packets[k, player]]
    dealt = played.block.packets[table, k, -1]
    flags = np.zeros(len(player), dtype=np.uint16)
    _show(played, cards, dealt, flags, table, k)
    # most blocks have neither, and rows are copied slowly
    residuals, late = (
        _columns(world.rules, cents[k, player]) if cents.any() else 0
        for cents in (played.residuals, played.late)
    )
    if np.any(residuals):
        flags[np.any(residuals, axis=1)] |= int(Flag.RESIDUAL)
    stakes = _columns(world.rules, played.stakes[k, player])
    packets = _places_dealt(world, played)
    return Plays.of(
        len(player),
        texts,
        player=player,
        table=table,
        dealer=played.block.dealers[table, k],
        round=t * world.seating.n_tables + table,
        rules=0,
        shuffler=NO_CODE,
        time=time,
        bet_time=close - before,
        close_time=close,
        seat=seats.places[player] + 1,
        packet=packets[k, player],
        first_seat=_first_seats(world, played, packets)[k, table],
        stakes=stakes,
        late=late,
        nets=_columns(world.rules, played.nets[k, player]),
        residuals=residuals,
        cover=_covers(
            world.rules,
            stakes + late,
            _columns(world.rules, played.sights[k, player]) if played.sights.any() else None,
        ),
        cards=cards,
        dealer_cards=dealt,
        pair=best_pairs(world.rules, cards) if pairs else NO_CARD,
        dealer_pair=best_pairs(world.rules, dealt) if pairs else NO_CARD,
        flags=flags,
    )


def _show(
    played: Played,
    cards: NDArray[np.uint8],
    dealt: NDArray[np.uint8],
    flags: NDArray[np.uint16],
    table: Cents,
    k: Cents,
) -> None:
    """Put changed hands in their rows, and flag rounds that now show a card twice."""
    if not played.changed:
        return
    first = np.append(0, played.is_present.sum(axis=0).cumsum())
    place = played.is_present.cumsum(axis=0) - 1
    rows = [first[player] + place[at, player] for player, at, _ in played.changed]
    cards[rows] = np.stack([hand for *_, hand in played.changed])
    rounds = table * len(played.is_present) + k
    touched = np.flatnonzero(np.isin(rounds, rounds[rows]))
    order = touched[np.argsort(rounds[touched], kind="stable")]
    starts = np.flatnonzero(np.r_[True, np.diff(rounds[order]) > 0])
    for group in np.split(order, starts[1:]):
        lying = np.append(cards[group].ravel(), dealt[group[0]])
        if len(np.unique(lying)) < len(lying):
            flags[group] |= int(Flag.CARD_TWICE)


def _places_dealt(world: World, played: Played) -> NDArray[np.int64]:
    """Places of the present players' packets in the dealing order of their tables, (k, n)."""
    tables, size = world.seating.seats.tables, len(played.is_present)
    holds = np.zeros((size, world.seating.n_tables, world.floor.seats), dtype=np.int64)
    at = np.arange(size)[:, None], tables, played.packets
    holds[at] = played.is_present
    return np.asarray(holds.cumsum(axis=2)[at] - 1)


def _first_seats(world: World, played: Played, packets: NDArray[np.int64]) -> NDArray[np.int64]:
    """The seats (1 ..) that the first packets went to, (k, tables)."""
    seats, size = world.seating.seats, len(played.is_present)
    found = np.zeros((size, world.seating.n_tables), dtype=np.int64)
    k, player = np.nonzero((packets == 0) & played.is_present)
    found[k, seats.tables[player]] = seats.places[player] + 1
    return found


def _columns(rules: RuleSet, cents: Cents) -> Cents:
    """Cents by the sheet's boxes (n, B) in the columns of BOXES (n, 4)."""
    found, boxes = np.zeros((len(cents), len(BOXES)), dtype=np.int64), tuple(rules.boxes)
    for column, box in enumerate(boxes_of(rules)):
        if box is not None:
            found[:, column] = cents[:, boxes.index(box)]
    return found


def _covers(rules: RuleSet, lying: Cents, sights: Cents | None) -> Cents:
    """Chips in sight beside what lies on double and super, (n, 2); -1 where there is no such box.

    lying, sights: (n, 4) by BOXES.
    """
    found = np.full((len(lying), 2), -1, dtype=np.int64)
    for column, box in enumerate(boxes_of(rules)[1:3], 1):
        if box is None:
            continue
        cents = lying[:, column]
        staked = np.flatnonzero(cents)
        known, place = np.unique(cents[staked], return_inverse=True)
        full = [full_in_sight_cents(rules.boxes[box], stake) for stake in known.tolist()]
        in_sight = np.zeros(len(cents), dtype=np.int64)
        in_sight[staked] = np.array(full, dtype=np.int64)[place.reshape(-1)]
        if sights is not None:
            in_sight = np.where(sights[:, column] > 0, sights[:, column], in_sight)
        found[:, column - 1] = in_sight - cents
    return found


def best_pairs(rules: RuleSet, hands: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The front hands of best-set hands (n, 5): two cards, or the highest and NO_CARD; (n, 2)."""
    tables, ascending = ranker(rules), np.sort(hands, axis=1)
    ranks = tables.split_ranks(ascending)
    best = ranks.argmax(axis=1)
    rows = np.arange(len(hands))
    fronts = np.array(SPLITS)[best]
    pairs = np.stack([ascending[rows, fronts[:, 0]], ascending[rows, fronts[:, 1]]], axis=1)
    high = ranks[rows, best] == 0
    top = tables.card_keys[ascending].argmax(axis=1)
    pairs[high, 0] = ascending[rows, top][high]
    pairs[high, 1] = NO_CARD
    return pairs.astype(np.uint8)
