"""The floor: tables of several seats with one dealer each, played round by round, all at once.

Round t of table g is round t of row seed ``stream_seed(seed, "logged/deals") + g``; every packet
belongs to a seat, whoever is present, so nobody's coming or going changes another's cards.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from niulab.agents.advantage.catalog import make_attackers
from niulab.agents.advantage.config import AttackConfig, PlayerConfig
from niulab.agents.advantage.crowd import Block, Crowd, Seats
from niulab.engine.batch import BatchEngine
from niulab.engine.cards import HAND_SIZE
from niulab.engine.rules import RuleSet
from niulab.errors import ConfigError
from niulab.evaluation.logged.config import FloorConfig
from niulab.evaluation.logged.honest import Bettor, Bettors
from niulab.evaluation.logged.seating import Seating, seat_players
from niulab.evaluation.logged.settling import BoxNets, cells_of_hands
from niulab.seeding import WORD_BITS, round_words, stream_seed

__all__ = ["Played", "World"]

Cents = NDArray[np.int64]

_BLOCK_ROWS = 1 << 18
_MOST_ROUNDS = 256
_ERRS = 9  # a group of words of the players' seeds that no crowd takes


@dataclass(frozen=True, eq=False)
class Played:
    """A block of k rounds of n players: what ``columns`` makes plays of.

    is_present: bool (k, n). stakes, late, nets, residuals, sights: int64 (k, n, B) by the sheet's
    boxes. packets: int64 (k, n), whose cards each got. changed: player, k and hand of every hand
    that is not as dealt.
    """

    block: Block
    is_present: NDArray[np.bool_]
    stakes: Cents
    late: Cents
    nets: Cents
    residuals: Cents
    sights: Cents
    packets: Cents
    changed: list[tuple[int, int, NDArray[np.uint8]]] = field(default_factory=list)


class World:
    """Plays the rounds of a floor in order, block by block."""

    def __init__(self, floor: FloorConfig, *, block_rounds: int | None = None) -> None:
        self.floor = floor
        self.rules = floor.rules
        self.seating: Seating = seat_players(floor)
        self.boxes = tuple(self.rules.boxes)
        self.done = 0
        self._engine = BatchEngine(self.rules, floor.seats)
        self._settling = [BoxNets(self.rules, box) for box in self.boxes]
        self._crowds = tuple(
            (rows, _make_crowd(self.rules, self._seats_of(rows), config))
            for rows, config in zip(self.seating.crowds, floor.players, strict=True)
        )
        self._payable = [pair for pair in self._crowds if pair[1].pays_otherwise]
        self._switching = [pair for pair in self._crowds if pair[1].switches]
        self._deal_seed = np.uint64(stream_seed(floor.seed, "logged/deals"))
        self._required = self.boxes.index(self.rules.required_box or "")
        self._steers = self.rules.table.first_packet == "largest_required_stake"
        fits = _BLOCK_ROWS // max(len(self.seating.seats), 1)
        self._size = block_rounds or min(max(fits, 8), _MOST_ROUNDS)

    def blocks(self) -> Iterator[Played]:
        """The rounds not yet played, a block at a time."""
        while self.done < self.floor.rounds:
            yield self._play(min(self._size, self.floor.rounds - self.done))

    def _seats_of(self, rows: NDArray[np.int64]) -> Seats:
        seats = self.seating.seats
        return Seats(seats.tables[rows], seats.places[rows], seats.seeds[rows])

    # ------------------------------------------------------------ a block

    def _play(self, size: int) -> Played:
        n, n_boxes, seats = len(self.seating.seats), len(self.boxes), self.seating.seats
        rounds = np.arange(self.done, self.done + size, dtype=np.int64)
        block, cells = self._deal(rounds)
        money = (size, n, n_boxes)
        played = Played(
            block=block,
            is_present=np.zeros((size, n), dtype=np.bool_),
            stakes=np.zeros(money, dtype=np.int64),
            late=np.zeros(money, dtype=np.int64),
            nets=np.zeros(money, dtype=np.int64),
            residuals=np.zeros(money, dtype=np.int64),
            sights=np.zeros(money, dtype=np.int64),
            packets=np.tile(seats.places, (size, 1)),
        )
        errs = self._dealer_errs(rounds)
        for _, crowd in self._crowds:
            crowd.look(block)
        for k in range(size):
            self._play_round(played, cells, k, None if errs is None else errs[:, k])
        self.done += size
        return played

    def _deal(self, rounds: NDArray[np.int64]) -> tuple[Block, Cents]:
        """The packets of all tables, and the cells of each against the dealer's (tables, k, S)."""
        n_tables, n_seats, k = self.seating.n_tables, self.floor.seats, len(rounds)
        tables = np.arange(n_tables, dtype=np.uint64) + self._deal_seed
        rows = np.repeat(tables, k), np.tile(rounds, n_tables)
        packets = self._engine.deal(*rows).reshape(n_tables, k, n_seats + 1, HAND_SIZE)
        cells = self._engine.cells(*rows).reshape(n_tables, k, n_seats)
        shifts = rounds // self.floor.shift
        dealers = (np.arange(n_tables)[:, None] + shifts) % self.floor.dealers
        return Block(rounds, packets, dealers), cells

    def _dealer_errs(self, rounds: NDArray[np.int64]) -> NDArray[np.bool_] | None:
        if not self.floor.dealer_error_rate:
            return None
        seeds = self.seating.seats.seeds
        shape = len(seeds), len(rounds)
        words = round_words(
            np.broadcast_to(seeds[:, None], shape), np.broadcast_to(rounds, shape), _ERRS
        )
        errs: NDArray[np.bool_] = words * 2.0**-WORD_BITS < self.floor.dealer_error_rate
        return errs

    # ------------------------------------------------------------ a round

    def _play_round(
        self, played: Played, cells: Cents, k: int, errs: NDArray[np.bool_] | None
    ) -> None:
        stakes, sights = played.stakes[k], None
        for rows, crowd in self._crowds:
            crowd.begin(k)
            here = crowd.is_present
            played.is_present[k, rows] = here
            stakes[rows] = np.where(here[:, None], crowd.bets(), 0)
            declared = crowd.sights()
            if declared is not None:
                sights = played.sights[k]
                sights[rows] = np.where(here[:, None], declared, 0)
        if self._steers:
            played.packets[k] = self._steered(stakes)
        reached = cells[self.seating.seats.tables, k, played.packets[k]]
        self._switch(played, reached, k)
        nets = self._nets(stakes, reached, sights)
        changes, extra = played.late[k], played.residuals[k]
        for rows, crowd in self._payable:
            late = crowd.late(stakes[rows], nets[rows])
            if late is not None:
                changes[rows] = np.where(crowd.is_present[:, None], late, 0)
                lying = stakes[rows] + changes[rows]
                nets[rows] = self._nets(lying, reached[rows], None)
            mispaid = crowd.mispaid(nets[rows])
            if mispaid is not None:
                extra[rows] = mispaid
        if errs is not None:
            won = np.maximum(nets[:, self._required], 0)
            extra[:, self._required] += np.where(errs, won, 0)
        nets += extra
        played.nets[k] = nets
        totals = nets.sum(axis=1)
        for rows, crowd in self._crowds:
            crowd.settled(totals[rows])

    def _nets(self, stakes: Cents, cells: Cents, sights: Cents | None) -> Cents:
        nets = np.empty_like(stakes)
        for b, settling in enumerate(self._settling):
            seen = None if sights is None else sights[:, b]
            nets[:, b] = settling.nets(stakes[:, b], cells, seen)
        return nets

    def _steered(self, stakes: Cents) -> Cents:
        """Packets by player: the first of the largest required stakes of a table has the first."""
        seats, n_seats = self.seating.seats, self.floor.seats
        required = np.zeros((self.seating.n_tables, n_seats), dtype=np.int64)
        required[seats.tables, seats.places] = stakes[:, self._required]
        first = required.argmax(axis=1)
        packets: Cents = (seats.places - first[seats.tables]) % n_seats
        return packets

    def _switch(self, played: Played, reached: Cents, k: int) -> None:
        seats = self.seating.seats
        for rows, crowd in self._switching:
            tables = seats.tables[rows]
            hands = played.block.packets[tables, k, played.packets[k, rows]]
            dealt = played.block.packets[tables, k, -1]
            shown = crowd.switched(hands, dealt)
            is_other = (shown != hands).any(axis=1)
            if is_other.any():
                found = cells_of_hands(self.rules, shown[is_other], dealt[is_other])
                reached[rows[is_other]] = found
                for row, hand in zip(rows[is_other].tolist(), shown[is_other], strict=True):
                    played.changed.append((row, k, hand))


def _make_crowd(rules: RuleSet, seats: Seats, config: PlayerConfig) -> Crowd:
    if isinstance(config, AttackConfig):
        return make_attackers(rules, seats, config)
    if isinstance(config, Bettor):
        return Bettors(rules, seats, config)
    raise ConfigError(f"nobody plays '{config.kind}': take a kind of PLAYER_KINDS")
