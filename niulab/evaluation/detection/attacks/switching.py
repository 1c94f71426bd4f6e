"""Card switching and holding out: hands that are better than the cards dealt to their seats.

Given the ten cards of two seats, how they are split into two hands is uniform over C(10,5) = 252
ways, whatever either player stakes. A player who exchanges cards with his neighbor has the better
part too often. Who takes cards from elsewhere has hands too good for one deck: the rank of his own
hand is tested beside, in every round.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from niulab.engine.ranking import ranker
from niulab.engine.rules import RuleSet
from niulab.evaluation.detection.attacks.seats import (
    TableRounds,
    first_of_hand,
    hands_on_table,
    table_rounds,
)
from niulab.evaluation.detection.factors import standardized, tilt_table
from niulab.evaluation.detection.features import (
    OWN_RANK,
    rank_law,
    rank_values,
    top_box,
)
from niulab.evaluation.detection.portfolio import Block, Component
from niulab.evaluation.playlog.plays import Plays, boxes_of

__all__ = [
    "EXCHANGE",
    "SPLIT",
    "SWITCHED",
    "held_out_block",
    "neighbor_pairs",
    "pair_factors",
    "switching_block",
    "switching_factors",
]

SWITCHED = "cards switched"
SPLIT = "split of ten cards"
EXCHANGE = "best exchange of one card"

_THETAS = (0.5, 1.0, 2.0)
_RATES = np.array([0.1, 0.3, 0.9])
"""Chances of an exchange in a round."""
_HELD_THETAS = (0.3, 1.0)

Floats = NDArray[np.float64]


def switching_block() -> Block:
    """Components whose factors ``switching_factors`` gives."""
    named = [("value of the split", f"theta {theta:g}") for theta in _THETAS]
    named += [(EXCHANGE, f"rate {rate:g}") for rate in _RATES]
    return Block(tuple(Component(SWITCHED, f, SPLIT, "always", s) for f, s in named))


def held_out_block(sheets: Sequence[RuleSet]) -> Block:
    """The rank of the own hand by itself, in every round."""
    n_ranks = max(len(rules.ranks) for rules in sheets)
    components = tuple(
        Component(SWITCHED, "value of the own hand", OWN_RANK, "always", f"theta {theta:g}")
        for theta in _HELD_THETAS
    )
    tables, laws = [], []
    for rules in sheets:
        spare = n_ranks - len(rules.ranks)
        law = np.pad(rank_law(rules), (0, spare))
        values = np.pad(_values(rules), (0, spare))
        tables.append(tilt_table(values, law, np.ones(1), _HELD_THETAS))
        laws.append(law)
    return Block(components, tuple(tables), tuple(laws))


def _values(rules: RuleSet) -> Floats:
    """What a rank is worth on the box of the highest odds."""
    return rank_values(rules, boxes_of(rules)[top_box(rules)] or str(rules.required_box))


def neighbor_pairs(plays: Plays, rounds: TableRounds) -> NDArray[np.int64]:
    """Rows (n_pairs, 2) whose seats are next to each other, both hands known, each pair once.

    Of several rows of one hand the first stands for all.
    """
    return _pairs(first_of_hand(plays, rounds, hands_on_table(plays)), rounds)


def _pairs(firsts: NDArray[np.int64], rounds: TableRounds) -> NDArray[np.int64]:
    at = np.flatnonzero(firsts[rounds.rows] == rounds.rows)
    rows, number = rounds.rows[at], rounds.rounds[at]
    is_pair = number[1:] == number[:-1]
    return np.stack([rows[:-1][is_pair], rows[1:][is_pair]], axis=1)


def switching_factors(plays: Plays, sheets: Sequence[RuleSet]) -> Floats:
    """Factors (n, k) of every row under ``switching_block``; 1 where no neighbor's hand is known.

    The mean over a row's neighbors: their pairs share the own hand, so products would not do.
    """
    from niulab.evaluation.detection.attacks.kernels import mean_of_pairs

    rounds, hands = table_rounds(plays), hands_on_table(plays)
    firsts = first_of_hand(plays, rounds, hands)
    pairs = _pairs(firsts, rounds)
    means = np.ones((len(plays), len(_THETAS) + len(_RATES)))
    counts = np.zeros(len(plays), dtype=np.int8)
    for code, rules in enumerate(sheets):
        mine = pairs[plays.rules[pairs[:, 0]] == code]
        factors = pair_factors(rules, hands[mine[:, 0]], hands[mine[:, 1]])
        mean_of_pairs(mine, factors, counts, means)
    again = np.flatnonzero((firsts >= 0) & (firsts != np.arange(len(plays))))
    means[again] = means[firsts[again]]
    return means


def pair_factors(rules: RuleSet, own: NDArray[np.uint8], other: NDArray[np.uint8]) -> Floats:
    """Factors (n, 2, k) of hands (n, 5) and their neighbors' (n, 5), given the ten cards."""
    from niulab.evaluation.detection.attacks.kernels import split_factors

    values = _values(rules)
    heights = np.unique(values, return_inverse=True)[1].astype(np.uint8)
    scores = standardized(values, rank_law(rules))
    tilted = np.exp(scores[:, None] * np.asarray(_THETAS))
    rank_of = ranker(rules).split_table.max(axis=1)
    factors = np.empty((len(own), 2, len(_THETAS) + len(_RATES)))
    split_factors(own, other, rank_of, heights, tilted, _RATES, factors)
    return factors
