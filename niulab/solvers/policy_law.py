"""The exact law of a round in which a given policy sets the player's hands.

A policy is a table of whole weights over each hand's options (the distinct ranks it can be set to);
the sum over all hands is then an integer count of deals, as in ``solvers.joint_law``, which is the
case of the best option everywhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from niulab.engine.rules.model import RuleSet
from niulab.engine.settlement import Outcome, tie_outcome
from niulab.errors import ConfigError
from niulab.solvers.joint_law import Cell, JointLaw, joint_law
from niulab.solvers.matchups import Matchups, exact_dot, matchups

__all__ = [
    "RESOLUTION",
    "OptionWeights",
    "best_weights",
    "chosen_weights",
    "exact_sum",
    "exact_sums",
    "option_weights",
    "policy_law",
    "quantized",
    "uniform_weights",
]

RESOLUTION = 2520 * 6657
"""Probabilities become whole multiples of 1 / RESOLUTION, and sums of them exact. It is close to
2**24, the resolution of float32, and makes uniform play over up to ten actions exact."""

_WEIGHT_BITS = 16  # what exact_dot takes
_VALUE_BITS = 40
_PIECE_BITS = 26


@dataclass(frozen=True, eq=False)
class OptionWeights:
    """How often each hand is set to each of its options.

    weights: int32 (n, k) in the order of ``matchups(rules).options``, best rank first; each row
    adds to ``total``.
    """

    weights: NDArray[np.int32]
    total: int


def chosen_weights(table: Matchups, actions: NDArray[np.integer]) -> OptionWeights:
    """Weights of a deterministic policy: one action 0..9 per row of ``table.hands``."""
    rows = np.arange(len(actions))
    return _one_hot(table, table.option_of[rows, actions])


def best_weights(table: Matchups) -> OptionWeights:
    """Weights of a policy whose hands always count at their best rank."""
    return _one_hot(table, np.zeros(len(table.hands), dtype=np.uint8))


def uniform_weights(table: Matchups) -> OptionWeights:
    """Weights of uniform play: each of the ten settings counts one."""
    ones = np.ones_like(table.option_of, dtype=np.int32)
    n_options = table.options.shape[1]
    return OptionWeights(option_weights(table.option_of, ones, n_options), ones.shape[1])


def quantized(probabilities: NDArray[np.floating]) -> NDArray[np.int32]:
    """Probabilities (n, n_actions) as whole multiples of 2**-24 whose rows add to 1 exactly.

    What rounding leaves of a row goes to its likeliest action. Raises ConfigError for rows that are
    no probabilities.
    """
    is_row = np.isfinite(probabilities).all(axis=1) & (probabilities >= 0).all(axis=1)
    is_row &= np.abs(probabilities.sum(axis=1) - 1) < 1e-3
    if not is_row.all():
        row = int(np.flatnonzero(~is_row)[0])
        raise ConfigError(
            f"row {row} of the agent's probabilities is {probabilities[row].tolist()}: "
            "give numbers >= 0 that add to 1"
        )
    weights = np.rint(probabilities.astype(np.float64) * RESOLUTION).astype(np.int32)
    rest = RESOLUTION - weights.sum(axis=1, dtype=np.int64)
    weights[np.arange(len(weights)), weights.argmax(axis=1)] += rest.astype(np.int32)
    return weights


def option_weights(
    option_of: NDArray[np.uint8], weights: NDArray[np.int32], n_options: int
) -> NDArray[np.int32]:
    """Weights of the options (n, n_options) from weights of the ten settings (n, 10)."""
    result = np.zeros((len(weights), n_options), dtype=np.int32)
    rows = np.arange(len(weights))
    for options, column in zip(option_of.T, weights.T, strict=True):
        result[rows, options] += column
    return result


def policy_law(rules: RuleSet, policy: OptionWeights) -> JointLaw:
    """The law of a round under a policy against a dealer who sets best.

    Its counts are deals times ``policy.total``, so probabilities and values come out exact. It is
    computed as the law of best setting, corrected for the hands that the policy sets otherwise.
    """
    best = joint_law(rules)
    cells = Counter({cell: n * policy.total for cell, n in best.cells.items()})
    for option in range(policy.weights.shape[1]):
        moved = policy.weights[:, option] - (policy.total if option == 0 else 0)
        _move(cells, rules, option, moved)
    return JointLaw(
        rules,
        {cell: n for cell, n in sorted(cells.items()) if n},
        best.rank_hands,
        best.n_hands,
    )


def _move(
    cells: Counter[Cell], rules: RuleSet, option: int, moved: NDArray[np.signedinteger]
) -> None:
    """Add to the cells the deals of every hand at one of its options, ``moved`` (n,) times."""
    table, n_masks = matchups(rules), 1 << len(rules.events)
    used = np.flatnonzero(moved)
    ranks, masks = table.options[used, option], table.events[used]
    lines = ranks.astype(np.intp) * n_masks + masks
    weights = moved[used] * table.weights[used]
    n_lines = len(rules.ranks) * n_masks
    less = exact_sums(lines, n_lines, weights, table.less[used, option])
    equal = exact_sums(lines, n_lines, weights, table.equal[used, option])
    classes = table.class_of[used].astype(np.intp)
    if table.is_grouped:
        weights, classes, lines = _grouped(weights, classes, lines, masks, n_masks)
    order = np.argsort(lines, kind="stable")
    ends = np.cumsum(np.bincount(lines, minlength=n_lines))
    for index in np.flatnonzero(np.diff(ends, prepend=0)).tolist():
        rank, events = divmod(index, n_masks)
        rows = order[ends[index - 1] if index else 0 : ends[index]]
        counts = table.class_counts[classes[rows]]
        for dealer_rank in range(counts.shape[1]):
            n = exact_sum(weights[rows], counts[:, dealer_rank])
            if dealer_rank != rank:
                outcome = Outcome.WIN if rank > dealer_rank else Outcome.LOSE
                cells[Cell(rank, dealer_rank, outcome, events)] += n
                continue
            cells[Cell(rank, rank, Outcome.WIN, events)] += less[index]
            cells[Cell(rank, rank, tie_outcome(rules.order, rank), events)] += equal[index]
            cells[Cell(rank, rank, Outcome.LOSE, events)] += n - less[index] - equal[index]


def _grouped(
    weights: NDArray[np.int64],
    classes: NDArray[np.intp],
    lines: NDArray[np.intp],
    masks: NDArray[np.uint8],
    n_masks: int,
) -> tuple[NDArray[np.int64], NDArray[np.intp], NDArray[np.intp]]:
    """Weights, classes and lines with one row for all hands of a class and mask."""
    places = classes * n_masks + masks
    n_places = int(places.max(initial=-1)) + 1
    sums = exact_sums(places, n_places, weights, np.ones(1, dtype=np.int64))
    totals = np.array(sums, dtype=np.int64)  # below 2**61: RESOLUTION x all hands of eight decks
    line_of = np.zeros(n_places, dtype=np.intp)
    line_of[places] = lines
    seen = np.flatnonzero(totals)
    return totals[seen], seen // n_masks, line_of[seen]


def exact_sums(
    places: NDArray[np.integer],
    n_places: int,
    weights: NDArray[np.integer],
    values: NDArray[np.integer],
) -> list[int]:
    """Sums of ``weights * values`` by place, int64 (n,) all, as exact integers, however large.

    They are added in pieces that doubles hold exactly, for up to 2**27 rows.
    """
    totals = [0] * n_places
    digits = list(_pieces(values.astype(np.int64, copy=False), _VALUE_BITS))
    for weight_shift, weight in _pieces(weights.astype(np.int64, copy=False), _WEIGHT_BITS):
        for value_shift, digit in digits:
            for shift, piece in _pieces(weight * digit, _PIECE_BITS):
                sums = np.bincount(places, weights=piece, minlength=n_places).tolist()
                by = weight_shift + value_shift + shift
                totals = [total + (int(n) << by) for total, n in zip(totals, sums, strict=True)]
    return totals


def _pieces(numbers: NDArray[np.int64], bits: int) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Integers cut into pieces of so many bits, each with its shift; the last carries the sign."""
    shift = 0
    while max(int(numbers.max(initial=0)), -int(numbers.min(initial=0))) >> bits:
        yield shift, numbers & ((1 << bits) - 1)
        numbers = numbers >> bits
        shift += bits
    yield shift, numbers


def exact_sum(weights: NDArray[np.integer], values: NDArray[np.integer | np.bool_]) -> int:
    """Sum of ``weights * values`` as an exact Python integer, however large."""
    numbers = values.astype(np.int64, copy=False)
    digits = _pieces(weights.astype(np.int64, copy=False), _WEIGHT_BITS)
    return sum(exact_dot(digit, numbers) << shift for shift, digit in digits)


def _one_hot(table: Matchups, options: NDArray[np.uint8]) -> OptionWeights:
    weights = np.zeros(table.options.shape, dtype=np.int32)
    weights[np.arange(len(weights)), options] = 1
    return OptionWeights(weights, 1)
