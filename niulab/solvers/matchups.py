"""For every hand, how many opponents' hands of each rank the rest of the shoe can deal.

This is the one sweep over all hands from which laws, values and the oracle follow. It runs once per
ranking and shoe in a process (about a second for one deck) and is exact: integers, no sampling.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import numpy as np
from numpy.typing import NDArray

from niulab.engine.cards import HAND_SIZE
from niulab.engine.ranking import COLEX, NO_OPTION, all_hands, all_multisets, hand_weights, ranker
from niulab.engine.rules.model import Order, RuleSet
from niulab.errors import RulesError

__all__ = ["Matchups", "exact_dot", "matchups"]

_DIGIT_BITS = 24
_TOTAL_ORDERS = {"high_card_then_suit", "suit_first", "card_by_card"}


@dataclass(frozen=True, eq=False)
class Matchups:
    """Counts of opponents' hands, row by row of ``all_hands``.

    hands: uint8 (n, 5), ascending card ids. weights: int64 (n,), physical hands a row stands for.
    ranks: uint8 (n,), rank index of the best setting. events: uint8 (n,), event masks.
    options: uint8 (n, k), the distinct rank indices a hand can be set to, best first, 255 for none.
    option_of: uint8 (n, 10), which option each of the ten settings is.
    counts: (n, n_ranks), opponents' hands from the rest of the shoe by their best rank.
    less, equal: (n, k), those of the option's own rank with a lower / the same tie-break key.
    n_opponents: opponents' hands in all, the same for every row.
    """

    hands: NDArray[np.uint8]
    weights: NDArray[np.int64]
    ranks: NDArray[np.uint8]
    events: NDArray[np.uint8]
    options: NDArray[np.uint8]
    option_of: NDArray[np.uint8]
    counts: NDArray[np.signedinteger]
    less: NDArray[np.signedinteger]
    equal: NDArray[np.signedinteger]
    n_opponents: int

    @property
    def n_deals(self) -> int:
        """Ordered deals of two hands."""
        return int(self.weights.sum()) * self.n_opponents


_CACHE: dict[tuple[str, tuple[int, ...]], Matchups] = {}
_MAX_CACHED = 2  # a one-deck table takes about 250 MB


def matchups(rules: RuleSet, composition: Sequence[int] | None = None) -> Matchups:
    """The counts of a rule set, from the full shoe or a ``composition`` (copies of each card id).

    Computed once per ranking and composition and kept for the last two. Raises RulesError if the
    composition cannot deal two hands.
    """
    copies = tuple(rules.deck.composition if composition is None else composition)
    if len(copies) != 52 or min(copies) < 0 or sum(copies) < 2 * HAND_SIZE:
        message = (
            f"a composition gives the copies of 52 card ids and at least ten cards, got {copies}"
        )
        raise RulesError(message)
    key = (rules.ranking_hash, copies)
    if key not in _CACHE:
        while len(_CACHE) >= _MAX_CACHED:
            _CACHE.pop(next(iter(_CACHE)))
        _CACHE[key] = _compute(rules, copies)
    return _CACHE[key]


def _compute(rules: RuleSet, copies: tuple[int, ...]) -> Matchups:
    table = ranker(rules)
    hands = all_hands(multi=max(copies) > 1)
    ranks, weights = table.best_ranks(hands), hand_weights(hands, copies)
    options, option_of = table.options(hands)
    classes = None if table.sees_suits else table.multisets_of(hands)
    sweep = _Sweep(hands, ranks, weights, classes, table.n_ranks, copies)
    if rules.order.high_card_tie_break is None:
        counts, less, equal = sweep.run(table.tie_keys(hands, ranks), options, rules.order)
    else:  # hands set as high cards are compared in their own way, so they are swept apart
        is_high = options == 0
        above = np.where(is_high, NO_OPTION, options).astype(np.uint8)
        high = np.where(is_high, 0, NO_OPTION).astype(np.uint8)
        _, less, equal = sweep.run(table.tie_keys(hands, np.ones_like(ranks)), above, rules.order)
        counts, less_high, equal_high = sweep.run(
            table.tie_keys(hands, np.zeros_like(ranks)), high, rules.order
        )
        less, equal = less + less_high, equal + equal_high
    n_opponents = comb(sum(copies) - HAND_SIZE, HAND_SIZE)
    events = table.events(hands)
    return Matchups(
        hands, weights, ranks, events, options, option_of, counts, less, equal, n_opponents
    )


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

    def run(
        self, keys: NDArray[np.int64], options: NDArray[np.uint8], order: Order
    ) -> tuple[NDArray[np.signedinteger], ...]:
        """Counts (n, n_ranks), less and equal (n, k; 0 for no option) under the given tie keys."""
        is_small = int(self.weights.sum()) <= np.iinfo(np.int32).max
        dtype = np.int32 if is_small else np.int64
        shapes = ((len(keys), self.n_ranks), options.shape, options.shape)
        results = tuple(np.zeros(shape, dtype=dtype) for shape in shapes)
        if self.weights.all():
            self._count(slice(None), keys, options, order, results)
            return results
        rows = np.flatnonzero(self.weights)  # hands the shoe cannot deal keep zeros
        parts = tuple(np.zeros((len(rows), *shape[1:]), dtype=dtype) for shape in shapes)
        self._count(rows, keys, options, order, parts)
        for result, part in zip(results, parts, strict=True):
            result[rows] = part
        return results

    def _count(
        self,
        rows: slice | NDArray[np.intp],
        keys: NDArray[np.int64],
        options: NDArray[np.uint8],
        order: Order,
        results: tuple[NDArray[np.signedinteger], ...],
    ) -> None:
        from niulab.solvers.kernels import count_disjoint

        keys = keys[rows]
        is_sorted = bool((np.diff(keys) >= 0).all())
        by_key = np.arange(len(keys)) if is_sorted else np.argsort(keys, kind="stable")
        run_ends = np.append(np.flatnonzero(np.diff(keys[by_key])) + 1, len(keys))
        multi = max(self.copies) > 1
        shift = int(multi)
        asked, class_of = self._classes(rows, len(keys))
        counts, less, equal = results
        by_class = np.empty((len(asked), self.n_ranks), dtype=counts.dtype)
        sizes = [comb(52 + shift * (size - 1), size) if size else 1 for size in range(HAND_SIZE)]
        count_disjoint(
            self.hands[rows], by_key, run_ends, self.ranks[rows], self.weights[rows], options[rows],
            asked, COLEX,
            shift, np.concatenate([[0], np.cumsum(sizes)])[:HAND_SIZE],
            _subset_weights(self.copies, multi=multi), multi or not _is_total(order),
            np.zeros((sum(sizes), self.n_ranks), dtype=counts.dtype), by_class, less, equal,
        )  # fmt: skip
        np.take(by_class, class_of, axis=0, out=counts, mode="clip")  # no copy beside `out`

    def _classes(
        self, rows: slice | NDArray[np.intp], n: int
    ) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """One row of each class, ascending, and the class of each row, counted in that order."""
        every = np.arange(n)
        if self.classes is None:
            return every, every
        classes = self.classes[rows]
        first = np.full(int(classes.max()) + 1, -1, dtype=np.intp)
        first[classes[::-1]] = every[::-1]
        asked = np.sort(first[first >= 0])
        place = np.empty_like(first)
        place[classes[asked]] = np.arange(len(asked))
        return asked, place[classes]


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
