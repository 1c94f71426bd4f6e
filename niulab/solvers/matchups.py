"""For every hand, how many opponents' hands of each rank the rest of the shoe can deal.

This is the one sweep over all hands from which laws, values and the oracle follow. It runs once per
ranking and shoe in a process (about half a second for one deck, whose counts are also kept on disk,
see ``store``) and is exact: integers, no sampling.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import comb
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from niulab.engine.cards import HAND_SIZE
from niulab.engine.ranking import COLEX, NO_OPTION, all_hands, all_multisets, hand_weights, ranker
from niulab.engine.rules.model import Order, RuleSet
from niulab.errors import RulesError
from niulab.solvers import store

__all__ = ["Matchups", "exact_dot", "matchups"]

_CHUNK = 1 << 18
_DIGIT_BITS = 24
_TOTAL_ORDERS = {"high_card_then_suit", "suit_first", "card_by_card"}


@dataclass(frozen=True, eq=False)
class Matchups:
    """Counts of opponents' hands, row by row of ``all_hands``.

    hands: uint8 (n, 5), ascending card ids. weights: int64 (n,), physical hands a row stands for.
    ranks: uint8 (n,), rank index of the best setting. events: uint8 (n,), event masks.
    options: uint8 (n, k), the distinct rank indices a hand can be set to, best first, 255 for none.
    option_of: uint8 (n, 10), which option each of the ten settings is.
    class_counts: (m, n_ranks), opponents' hands from the rest of the shoe by their best rank, for
    classes of hands that leave the same; class_of: int32 (n,), each hand's class.
    less, equal: (n, k), those of the option's own rank with a lower / the same tie-break key.
    n_opponents: opponents' hands in all, the same for every row.
    """

    hands: NDArray[np.uint8]
    weights: NDArray[np.int64]
    ranks: NDArray[np.uint8]
    events: NDArray[np.uint8]
    options: NDArray[np.uint8]
    option_of: NDArray[np.uint8]
    class_counts: NDArray[np.signedinteger]
    class_of: NDArray[np.int32]
    less: NDArray[np.signedinteger]
    equal: NDArray[np.signedinteger]
    n_opponents: int

    @cached_property
    def counts(self) -> NDArray[np.signedinteger]:
        """``class_counts`` of every hand, (n, n_ranks): 114 MB for one deck and eleven ranks."""
        if not self.is_grouped:
            return self.class_counts[:-1]
        return np.take(self.class_counts, self.class_of, axis=0)

    def of_hands(self, rows: NDArray[np.integer]) -> Matchups:
        """The same counts for some of the hands only, each a class of its own."""
        class_counts = np.zeros((len(rows) + 1, self.class_counts.shape[1]), self.less.dtype)
        class_counts[:-1] = self.class_counts[self.class_of[rows]]
        return Matchups(
            hands=self.hands[rows],
            weights=self.weights[rows],
            ranks=self.ranks[rows],
            events=self.events[rows],
            options=self.options[rows],
            option_of=self.option_of[rows],
            class_counts=class_counts,
            class_of=np.arange(len(rows), dtype=np.int32),
            less=self.less[rows],
            equal=self.equal[rows],
            n_opponents=self.n_opponents,
        )

    def sums_against(
        self, against: NDArray[np.int64], lines: NDArray[np.intp]
    ) -> NDArray[np.int64]:
        """Sum over opponents' hands of ``against[lines[i], their rank]``, for every hand i; (n,).

        against: int64 (lines, n_ranks).
        """
        if self.is_grouped:  # a few thousand classes meet a few dozen lines
            sums = (self.class_counts.astype(np.int64) @ against.T).ravel()
            result: NDArray[np.int64] = sums[self.class_of * np.intp(len(against)) + lines]
            return result
        result = np.empty(len(lines), dtype=np.int64)
        for start in range(0, len(lines), _CHUNK):
            rows = slice(start, start + _CHUNK)
            counts = self.counts[rows].astype(np.int64)
            result[rows] = np.einsum("ij,ij->i", counts, against[lines[rows]])
        return result

    @property
    def is_grouped(self) -> bool:
        """Whether classes are multisets of card ranks; else each hand is its own, in their order.

        Hands of a class then have the same options, too.
        """
        return len(self.class_counts) < len(self.class_of)

    @property
    def n_deals(self) -> int:
        """Ordered deals of two hands."""
        return int(self.weights.sum()) * self.n_opponents


_Counted: TypeAlias = tuple[
    NDArray[np.signedinteger], NDArray[np.signedinteger], NDArray[np.signedinteger]
]
_CACHE: dict[tuple[str, tuple[int, ...], tuple[str, ...]], Matchups] = {}
_PIECE = 1 << 18  # hands swept at a time, a fifth of a second
_MAX_CACHED = 2  # a one-deck table takes 120 MB, and as much again once ``counts`` is asked for


def matchups(rules: RuleSet, composition: Sequence[int] | None = None) -> Matchups:
    """The counts of a rule set, from the full shoe or a ``composition`` (copies of each card id).

    Computed once per ranking and composition and kept for the last two; sheets that differ in what
    boxes pay on share their counts. Raises RulesError if the composition cannot deal two hands.
    """
    copies = tuple(rules.deck.composition if composition is None else composition)
    if len(copies) != 52 or min(copies) < 0 or sum(copies) < 2 * HAND_SIZE:
        message = (
            f"a composition gives the copies of 52 card ids and at least ten cards, got {copies}"
        )
        raise RulesError(message)
    key = (rules.counting_hash, copies, rules.events)
    if key not in _CACHE:
        same = next((table for known, table in _CACHE.items() if known[:2] == key[:2]), None)
        while len(_CACHE) >= _MAX_CACHED:
            _CACHE.pop(next(iter(_CACHE)))
        _CACHE[key] = (
            _compute(rules, copies)
            if same is None
            else replace(same, events=ranker(rules).events(same.hands))
        )
    return _CACHE[key]


def _compute(rules: RuleSet, copies: tuple[int, ...]) -> Matchups:
    table = ranker(rules)
    hands = all_hands(multi=max(copies) > 1)
    ranks, weights = table.best_ranks(hands), hand_weights(hands, copies)
    options, option_of = table.options(hands)
    events = table.events(hands)
    classes = None if table.sees_suits else table.multisets_of(hands)
    sweep = _Sweep(hands, ranks, weights, classes, table.n_ranks, copies)
    # Only what a process is likely to ask for again, and a file of moderate size.
    is_kept = set(copies) == {1} and not table.sees_suits
    counted = _stored(rules, sweep, options) if is_kept else None
    if counted is None:
        counted = _swept(rules, sweep, options)
        if is_kept:
            class_counts, less, equal = counted
            arrays = {"class_counts": class_counts, "less": less}
            store.save(_kept_as(rules), arrays | ({"equal": equal} if equal.any() else {}))
    class_counts, less, equal = counted
    return Matchups(
        hands=hands,
        weights=weights,
        ranks=ranks,
        events=events,
        options=options,
        option_of=option_of,
        class_counts=class_counts,
        class_of=sweep.class_of,
        less=less,
        equal=equal,
        n_opponents=comb(sum(copies) - HAND_SIZE, HAND_SIZE),
    )


def _kept_as(rules: RuleSet) -> str:
    return f"matchups-{rules.ranking_hash}"


def _stored(rules: RuleSet, sweep: _Sweep, options: NDArray[np.uint8]) -> _Counted | None:
    """The counts on disk, if there are any of the right shapes."""
    found = store.load(_kept_as(rules))
    if found is None or not {"class_counts", "less"} <= set(found):
        return None
    class_counts, less = found["class_counts"], found["less"]
    equal = found.get("equal", np.zeros_like(less))
    shapes = (len(sweep.asked) + 1, sweep.n_ranks), options.shape, options.shape
    if tuple(array.shape for array in (class_counts, less, equal)) != shapes:
        return None
    return class_counts, less, equal


def _swept(rules: RuleSet, sweep: _Sweep, options: NDArray[np.uint8]) -> _Counted:
    """Counts by class, less and equal, computed."""
    order, table = rules.order, ranker(rules)
    if order.high_card_tie_break is None:
        return sweep.run(table.tie_keys(sweep.hands, sweep.ranks), options, order)
    # hands set as high cards are compared in their own way, so they are swept apart
    is_high = options == 0
    above = np.where(is_high, NO_OPTION, options).astype(np.uint8)
    high = np.where(is_high, 0, NO_OPTION).astype(np.uint8)
    as_rank, as_high = np.ones_like(sweep.ranks), np.zeros_like(sweep.ranks)
    _, less, equal = sweep.run(table.tie_keys(sweep.hands, as_rank), above, order)
    counts, less_high, equal_high = sweep.run(table.tie_keys(sweep.hands, as_high), high, order)
    return counts, less + less_high, equal + equal_high


@dataclass(frozen=True, eq=False)
class _Sweep:
    """The arguments of the kernel that do not depend on the tie-break.

    Where no rank sees suits, hands of one multiset of card ranks leave the same number of opponents
    of every rank, so these are counted once per class.
    """

    hands: NDArray[np.uint8]
    ranks: NDArray[np.uint8]
    weights: NDArray[np.int64]
    classes: NDArray[np.int16] | None
    n_ranks: int
    copies: tuple[int, ...]

    @cached_property
    def rows(self) -> slice | NDArray[np.intp]:
        """The hands that the shoe can deal."""
        return slice(None) if self.weights.all() else np.flatnonzero(self.weights)

    @cached_property
    def _classes(self) -> tuple[NDArray[np.intp], NDArray[np.int32]]:
        n = len(self.hands[self.rows])
        if self.classes is None:
            return np.arange(n), np.arange(n, dtype=np.int32)
        classes = self.classes[self.rows]
        first = np.full(int(classes.max()) + 1, -1, dtype=np.intp)
        first[classes[::-1]] = np.arange(n)[::-1]
        asked = np.sort(first[first >= 0])
        place = np.empty(len(first), dtype=np.int32)
        place[classes[asked]] = np.arange(len(asked))
        return asked, place[classes]

    @property
    def asked(self) -> NDArray[np.intp]:
        """One hand of each class, ascending, as places in ``rows``."""
        return self._classes[0]

    @cached_property
    def class_of(self) -> NDArray[np.int32]:
        """Each hand's class, numbered as ``asked``; after the last comes "cannot be dealt"."""
        asked, classes = self._classes
        if isinstance(self.rows, slice):
            return classes
        class_of = np.full(len(self.hands), len(asked), dtype=np.int32)
        class_of[self.rows] = classes
        return class_of

    def run(self, keys: NDArray[np.int64], options: NDArray[np.uint8], order: Order) -> _Counted:
        """Counts by class (m, n_ranks), and less and equal (n, k; 0 for no option) at given keys.

        The last class is that of ``class_of``, without opponents.
        """
        is_small = int(self.weights.sum()) <= np.iinfo(np.int32).max
        dtype = np.int32 if is_small else np.int64
        class_counts = np.zeros((len(self.asked) + 1, self.n_ranks), dtype=dtype)
        less, equal = (np.zeros(options.shape, dtype=dtype) for _ in range(2))
        if isinstance(self.rows, slice):
            self._count(keys, options, order, class_counts[:-1], less, equal)
            return class_counts, less, equal
        shape = len(self.rows), options.shape[1]
        some_less, some_equal = (np.zeros(shape, dtype=dtype) for _ in range(2))
        self._count(keys[self.rows], options[self.rows], order, class_counts[:-1],
                    some_less, some_equal)  # fmt: skip
        less[self.rows], equal[self.rows] = some_less, some_equal
        return class_counts, less, equal

    def _count(
        self,
        keys: NDArray[np.int64],
        options: NDArray[np.uint8],
        order: Order,
        class_counts: NDArray[np.signedinteger],
        less: NDArray[np.signedinteger],
        equal: NDArray[np.signedinteger],
    ) -> None:
        from niulab.solvers.kernels import add_up, count_ranks, divided

        is_sorted = bool((keys[1:] >= keys[:-1]).all())
        by_key = np.arange(len(keys)) if is_sorted else np.argsort(keys, kind="stable")
        ascending = keys if is_sorted else keys[by_key]
        run_ends = np.append(np.flatnonzero(ascending[1:] != ascending[:-1]) + 1, len(keys))
        multi = max(self.copies) > 1
        shift = int(multi)
        sizes = [comb(52 + shift * (size - 1), size) if size else 1 for size in range(HAND_SIZE)]
        offsets = np.concatenate([[0], np.cumsum(sizes)])[:HAND_SIZE]
        hands, ranks, weights = (each[self.rows] for each in (self.hands, self.ranks, self.weights))
        subset_weights = _subset_weights(self.copies, multi=multi)
        table = np.zeros((sum(sizes), self.n_ranks), dtype=less.dtype)
        begin, has_ties = 0, multi or not _is_total(order)
        # Ctrl-C is only heard between two pieces
        cuts = np.searchsorted(run_ends, np.arange(_PIECE, len(keys), _PIECE))
        for ends in np.split(run_ends, np.unique(cuts)):
            if len(ends):
                add_up(
                    hands, by_key, begin, ends, ranks, weights, options, COLEX, shift, offsets,
                    subset_weights, has_ties, table, less, equal,
                )  # fmt: skip
                begin = int(ends[-1])
        divided(subset_weights, table)
        for start in range(0, len(self.asked), _PIECE):
            piece = slice(start, start + _PIECE)
            count_ranks(
                hands, ranks, self.asked[piece], COLEX, shift, offsets, table, class_counts[piece]
            )


def _is_total(order: Order) -> bool:
    """Whether equal keys imply a shared card when each card exists once."""
    modes = {order.tie_break, order.high_card_tie_break or order.tie_break}
    return bool(order.suits) and modes <= _TOTAL_ORDERS


def _subset_weights(copies: tuple[int, ...], *, multi: bool) -> NDArray[np.int64]:
    """Physical ways of every multiset of up to four cards, in the kernel's row order."""
    parts = [np.ones(1, dtype=np.int64)]
    parts += [hand_weights(all_multisets(n, multi=multi), copies) for n in range(1, HAND_SIZE)]
    return np.maximum(np.concatenate(parts), 1)


def exact_dot(weights: NDArray[np.integer], values: NDArray[np.integer]) -> int:
    """Sum of ``weights * values`` as an exact Python integer.

    Values are cut into 24-bit digits, so that no partial sum of up to 2**23 products of a weight
    below 2**16 overflows 64 bits.
    """
    total, rest, scale = 0, values.astype(np.int64), 1
    while True:
        is_last = bool(((rest >= -(1 << _DIGIT_BITS)) & (rest < 1 << _DIGIT_BITS)).all())
        digit = rest if is_last else rest & ((1 << _DIGIT_BITS) - 1)
        total += scale * int(np.dot(weights.astype(np.int64), digit))
        if is_last:
            return total
        rest = rest >> _DIGIT_BITS
        scale <<= _DIGIT_BITS
