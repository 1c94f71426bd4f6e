"""The same round as ``round`` for many tables at once: best-set hands, dealt and settled compiled.

Rounds are keyed by (seed of the row, round), so a round has the same cards, and the same result, in
any batch, on any number of threads and in the single environment.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from niulab.engine.cards import HAND_SIZE
from niulab.engine.keysums import packed_keys, rank_tables
from niulab.engine.rules.model import RuleSet
from niulab.engine.settlement import Outcome, net_table, tie_outcome
from niulab.engine.shoe import deal_plan
from niulab.engine.wagers import Slip, verify_slip
from niulab.errors import RoundStateError, WagerError
from niulab.seeding import mix64, mix64_array

__all__ = ["BatchEngine", "Tally"]

_CHUNK_ROUNDS = 1 << 20
_SQUARE_BITS = 21  # of ``kernels``, which are not imported to compile nothing


class Tally(NamedTuple):
    """Counts of cells, int64 (n_seats, verdict, rank, rank, events), and a square by value."""

    counts: NDArray[np.int64]
    squares: list[int]


class BatchEngine:
    """Deals, ranks and settles rounds of ``n_seats`` (1 to 9) seats against one dealer.

    Both sides set their hands best, as they do under every sheet whose player does not err.
    """

    def __init__(self, rules: RuleSet, n_seats: int = 1) -> None:
        if not 1 <= n_seats <= rules.table.max_seats:
            raise WagerError(
                f"a table of '{rules.name}' has 1 to {rules.table.max_seats} seats, got {n_seats}"
            )
        self.rules = rules
        self.n_seats = n_seats
        self._tables = rank_tables(rules)
        self._shoe = deal_plan(rules, n_seats + 1)
        n_ranks, n_masks = len(rules.ranks), 1 << len(rules.events)
        self._shape = len(Outcome), n_ranks, n_ranks, n_masks
        strides = n_ranks * n_ranks * n_masks, n_ranks * n_masks, n_masks
        self._judging = self._tables, packed_keys(self._tables)[self._shoe[1]], strides
        self._kept: tuple[Slip | tuple[Slip, ...], NDArray[np.int64]] | None = None

    def deal(self, seeds: NDArray[np.uint64], rounds: NDArray[np.int64]) -> NDArray[np.uint8]:
        """Cards of round ``rounds[i]`` of row seed ``seeds[i]``: uint8 (n, n_seats + 1, 5)."""
        from niulab.engine.kernels import deal_rows

        dealt = np.empty((len(seeds), (self.n_seats + 1) * HAND_SIZE), dtype=np.uint8)
        deal_rows(mix64_array(seeds), np.require(rounds, np.int64, ["C", "W"]), *self._shoe, dealt)
        return dealt.reshape(len(seeds), self.n_seats + 1, HAND_SIZE)

    def deal_hands(
        self, seeds: NDArray[np.uint64], rounds: NDArray[np.int64], *, n_as_dealt: int = 0
    ) -> NDArray[np.uint8]:
        """The same cards by hand, the dealer's last: uint8 (n_seats + 1, n, 5), fresh.

        Each hand's cards are in ascending order; the first ``n_as_dealt`` hands keep the order in
        which they were dealt.
        """
        from niulab.engine.kernels import deal_hands

        hands = np.empty((self.n_seats + 1, len(seeds), HAND_SIZE), dtype=np.uint8)
        rows = np.require(seeds, np.uint64, ["C", "W"]), np.require(rounds, np.int64, ["C", "W"])
        deal_hands(*rows, self._shoe, self._block(), n_as_dealt, hands)
        return hands

    def play(
        self,
        slips: Slip | Sequence[Slip],
        seeds: NDArray[np.uint64],
        rounds: NDArray[np.int64],
    ) -> NDArray[np.int64]:
        """Net cents of every seat: int64 (n, n_seats); one slip for all seats or one for each.

        Raises WagerError for a slip the table must refuse.
        """
        return self._look_up(self._last_nets(slips), seeds, rounds)

    def cells(self, seeds: NDArray[np.uint64], rounds: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where each round ended, as places in the seats' raveled ``nets``: int64 (n, n_seats)."""
        places = np.arange(prod(self._shape), dtype=np.int64)
        return self._look_up(np.stack([places] * self.n_seats), seeds, rounds)

    def _look_up(
        self, table: NDArray[np.int64], seeds: NDArray[np.uint64], rounds: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """What a table of ``nets`` by seat and cell holds for every seat: int64 (n, n_seats)."""
        from niulab.engine.kernels import play_rows

        result = np.empty((len(seeds), self.n_seats), dtype=np.int64)
        rows = np.require(seeds, np.uint64, ["C", "W"]), np.require(rounds, np.int64, ["C", "W"])
        table = table.reshape(self.n_seats, -1)
        play_rows(*rows, self._shoe, *self._judging, self._block(), table, result)
        return result

    def _block(self) -> tuple[NDArray[Any], ...]:
        """Scratch of the kernels: draws, places, strengths, events and cells of a block."""
        from niulab.engine.showdown import BLOCK

        n_hands = self.n_seats + 1
        return (
            np.empty((HAND_SIZE * n_hands + 1, BLOCK), dtype=np.uint16),
            np.empty((HAND_SIZE * n_hands, BLOCK), dtype=np.uint16),
            np.zeros((n_hands, BLOCK), dtype=np.uint16),
            np.zeros((n_hands, BLOCK), dtype=np.uint8),
            np.empty((self.n_seats, BLOCK), dtype=np.int64),
        )

    def _last_nets(self, slips: Slip | Sequence[Slip]) -> NDArray[np.int64]:
        """``nets``, kept while the slips stay the same: a table costs what 10,000 rounds do."""
        key = slips if isinstance(slips, Slip) else tuple(slips)
        kept = self._kept
        if kept is None or kept[0] != key:
            kept = self._kept = key, self.nets(slips)
        return kept[1]

    def nets(self, slips: Slip | Sequence[Slip]) -> NDArray[np.int64]:
        """Net cents by (seat, verdict, player's rank, dealer's rank, events).

        A verdict is 0 for a loss, 1 for an exact tie (a push or the dealer's), 2 for a win.
        """
        each = [slips] * self.n_seats if isinstance(slips, Slip) else list(slips)
        if len(each) != self.n_seats:
            raise WagerError(
                f"{self.n_seats} seats need a slip each, or one for all; got {len(each)}"
            )
        for slip in each:
            verify_slip(self.rules, slip)
        nets = np.stack([net_table(self.rules, slip) for slip in each])
        for rank in range(len(self.rules.ranks)):
            nets[:, Outcome.PUSH, rank, rank] = nets[
                :, tie_outcome(self.rules.order, rank), rank, rank
            ]
        return nets

    @property
    def rounds_per_shoe(self) -> int:
        """Rounds between two shuffles: 1, unless the sheet deals on to a cut card."""
        return self._shoe[0][2]

    def count(self, seed: int, first: int, n_rounds: int, *, threads: int = 1) -> NDArray[np.int64]:
        """How often each cell occurred in rounds ``first`` to ``first + n_rounds`` of a row seed.

        int64 (n_seats, 3 verdicts, R, R, 2**n_events), shaped as ``nets``; integers, so the same
        whatever the number of threads.
        """
        values = np.zeros((*self._shape, 0), dtype=np.int64)
        return self.tally(seed, first, n_rounds, values, threads=threads).counts

    def tally(
        self,
        seed: int,
        first: int,
        n_rounds: int,
        values: NDArray[np.int64],
        *,
        threads: int = 1,
    ) -> Tally:
        """``count``, and the squares that an interval of the mean of each value needs.

        values: int64 (3 verdicts, R, R, 2**n_events, q), one seat's. Seats share the dealer and
        rounds of one shoe its cards, so what is squared is the total of all seats over a whole
        shoe; ``first`` opens a shoe, and rounds after the last whole one are counted only. Raises
        WagerError if a total may reach 2**42.
        """
        values = np.ascontiguousarray(values, dtype=np.int64)
        per_shoe, n_values = self.rounds_per_shoe, values.shape[-1]
        largest = int(np.abs(values).max(initial=0)) * self.n_seats * per_shoe
        if largest >= 1 << 2 * _SQUARE_BITS:
            raise WagerError(
                f"a shoe may move {largest} cents, too much to be squared exactly: write stakes "
                f"{(largest >> 2 * _SQUARE_BITS) + 1} times smaller"
            )
        if n_values and first % per_shoe:
            raise RoundStateError(
                f"round {first} is inside a shoe of {per_shoe} rounds: write a multiple of it"
            )
        is_in_cells = self.n_seats == per_shoe == 1  # then the counts tell the squares
        summed = values[..., :0] if is_in_cells else values
        size = min(_CHUNK_ROUNDS, -(-n_rounds // threads))
        size = max(size // per_shoe, 1) * per_shoe
        row, end = np.uint64(mix64(seed)), first + n_rounds

        def tally_from(start: int) -> Tally:
            return self._tally_chunk(row, start, min(size, end - start), summed)

        counts = np.zeros((self.n_seats, *values.shape[:-1]), dtype=np.int64)
        squares = [0] * n_values
        with ThreadPoolExecutor(threads) as pool:
            run = map if threads == 1 else pool.map
            for chunk in run(tally_from, range(first, end, size)):
                counts += chunk.counts
                if not is_in_cells:
                    squares = [a + b for a, b in zip(squares, chunk.squares, strict=True)]
        if is_in_cells:
            seen = np.nonzero(counts[0])
            for n, cell in zip(counts[0][seen].tolist(), values[seen].tolist(), strict=True):
                squares = [a + n * b**2 for a, b in zip(squares, cell, strict=True)]
        return Tally(counts, squares)

    def _tally_chunk(
        self, row: np.uint64, start: int, n_rounds: int, values: NDArray[np.int64]
    ) -> Tally:
        from niulab.engine.kernels import count_cells

        n_values, n_cells = values.shape[-1], prod(self._shape)
        counts = np.zeros((self.n_seats, n_cells), dtype=np.int64)
        totals, squares = np.zeros(n_values, np.int64), np.zeros((n_values, 3), np.int64)
        by_cell = np.ascontiguousarray(values).reshape(n_cells, n_values)
        count_cells(
            row, start, n_rounds, self._shoe, *self._judging, self._block(), counts, by_cell,
            totals, squares,
        )  # fmt: skip
        pieces = squares.tolist()
        bits = _SQUARE_BITS
        counts = counts.reshape(self.n_seats, *self._shape)
        return Tally(counts, [(a << 2 * bits) + (ab << bits + 1) + b for a, ab, b in pieces])
