"""Order steering: on sheets where the largest required stake receives the first packet.

Who knows something of the packet on top of the deck stakes most when it is good, and leaves it to
others when it is bad. Who takes it is settled by the stakes, so under the null the first packet is
as good as any: its rank and its first cards have exact laws, and given all packets of the round
each was as likely to be the first. One factor a player and round.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from niulab.engine.cards import HAND_SIZE
from niulab.engine.rules import RuleSet
from niulab.evaluation.detection.attacks.seats import TableRounds, first_of_hand, table_rounds
from niulab.evaluation.detection.factors import (
    likelihood_table,
    standardized,
    tilt_table,
    verify_means,
)
from niulab.evaluation.detection.features import (
    are_known,
    best_own_ranks,
    card_law,
    card_values,
    judged,
    rank_law,
    rank_values,
    top_box,
)
from niulab.evaluation.detection.portfolio import Block, Component
from niulab.evaluation.playlog.plays import Flag, Plays, boxes_of

__all__ = [
    "FIRST_PACKET",
    "STEERED",
    "can_steer",
    "first_packets",
    "packet_feature",
    "relative_factors",
    "steering_block",
    "steering_factors",
]

STEERED = "order steered"
FIRST_PACKET = "first packet"

_RATES = np.array([[0.98, 0.5], [0.8, 0.3], [0.4, 0.03], [0.4, 0.4]])
"""Chances to know the packet, and to take the first one without knowing it."""

_THETAS = (0.5, 1.5)
_TAKEN = np.array([-1.0, 1.0])

Floats = NDArray[np.float64]


def can_steer(rules: RuleSet) -> bool:
    """Whether stakes decide who receives the first packet."""
    return rules.table.first_packet == "largest_required_stake"


def steering_block(sheets: Sequence[RuleSet]) -> Block | None:
    """Components whose factors ``steering_factors`` gives; None where no sheet can be steered."""
    if not any(can_steer(rules) for rules in sheets):
        return None
    rates = [f"known {q:g}, else taken {b:g}" for q, b in _RATES]
    named = [(packet_feature(None), r) for r in rates]
    tilts = [f"theta {theta:g}" for theta in _THETAS]
    named += [("value of the packet", t) for t in tilts]
    named += [("value beside the other packets", t) for t in tilts]
    for place in range(HAND_SIZE):
        named += [(packet_feature(place), r) for r in rates]
        named += [(f"value of card {place + 1}", t) for t in tilts]
    return Block(tuple(Component(STEERED, f, FIRST_PACKET, "taken", s) for f, s in named))


def packet_feature(place: int | None) -> str:
    """What a component calls the card at a place of the first packet, or its rank, when known."""
    return "rank of the packet favorable" if place is None else f"card {place + 1} favorable"


def first_packets(plays: Plays, rounds: TableRounds) -> NDArray[np.int64]:
    """By round, the row whose seat received the first packet, -1 where nobody staked; (n_rounds,).

    As recorded (``packet``, ``first_seat``), else the largest required stake at the close, of equal
    ones the first from the marked position.
    """
    rows, number = rounds.rows, rounds.rounds
    required = plays.stakes[rows, 0]
    is_recorded = (plays.packet[rows] == 0) | (
        (plays.first_seat[rows] > 0) & (plays.first_seat[rows] == plays.seat[rows])
    )
    # the largest key is recorded first, then by stake, then the first seat in order
    order = np.lexsort((-np.arange(len(rows)), required, is_recorded, number))
    last = order[rounds.starts[1:] - 1]
    counts = is_recorded[last] | (required[last] > 0)
    return np.where(counts, rows[last], -1)


def steering_factors(plays: Plays, sheets: Sequence[RuleSet]) -> Floats:
    """Factors (n, k) of every row under ``steering_block``; 1 where nothing is tested."""
    block = steering_block(sheets)
    n_columns = len(block.components) if block is not None else 0
    factors = np.ones((len(plays), n_columns))
    if block is None or not len(plays):
        return factors
    rounds = table_rounds(plays)
    first = first_packets(plays, rounds)
    known = judged(plays) & are_known(plays.cards)
    ranks = best_own_ranks(plays, sheets, plays.cards)
    dealers = best_own_ranks(plays, sheets, plays.dealer_cards)
    hands = first_of_hand(plays, rounds, plays.cards)  # a packet counts once, whoever stakes on it
    packets = np.where(hands == np.arange(len(plays)), ranks, -1).astype(np.int16)
    first_hand = np.where(first >= 0, hands[first], -1)
    for code, rules in enumerate(sheets):
        if not can_steer(rules):
            continue
        is_tested = (first >= 0) & known[first] & (plays.rules[first] == code)
        for_rows = is_tested[rounds.rounds]
        rows, firsts = rounds.rows[for_rows], first[rounds.rounds[for_rows]]
        if not len(rows):
            continue
        taken = (plays.player[rows] == plays.player[firsts]).astype(np.int64)
        by_rank, by_card = _tables(rules)
        beside = relative_factors(_packet_scores(rules), packets, dealers, rounds, first_hand)
        is_ordered = (plays.flags[firsts] & int(Flag.NO_ORDER)) == 0
        cards = [
            np.where(is_ordered[:, None], by_card[taken, plays.cards[firsts, place]], 1.0)
            for place in range(HAND_SIZE)
        ]
        number = rounds.rounds[for_rows]
        factors[rows] = np.concatenate(
            [by_rank[taken, ranks[firsts]], beside[number, taken], *cards], axis=1
        )
    return factors


def relative_factors(
    scores: Floats,
    ranks: NDArray[np.int16],
    dealers: NDArray[np.int16],
    rounds: TableRounds,
    first: NDArray[np.int64],
) -> Floats:
    """exp(+-theta q) of the first packet over its mean over the packets known; (n_rounds, 2, k).

    scores: q by rank. ranks, dealers: (n,) by row, -1 for a hand not known. The packets of a round
    are exchangeable, so each was as likely to be the first: the mean is 1 given all of them.
    """
    tilts = _TAKEN[:, None] * np.asarray(_THETAS)  # (2, k)
    weights = np.exp(tilts[None] * scores[:, None, None])  # by rank
    weights = np.concatenate([weights, np.zeros((1, *tilts.shape))])  # -1: not known
    at = rounds.rows
    sums = np.add.reduceat(weights[ranks[at]], rounds.starts[:-1], axis=0)
    counts = np.add.reduceat((ranks[at] >= 0).astype(np.float64), rounds.starts[:-1])
    dealer = dealers[at][rounds.starts[:-1]]
    sums += weights[dealer]
    counts += dealer >= 0
    is_known = (first >= 0) & (ranks[first] >= 0)
    means = sums[is_known] / counts[is_known, None, None]
    factors = np.ones((len(first), *tilts.shape))
    factors[is_known] = weights[ranks[first[is_known]]] / means
    return factors


_KEPT: dict[str, tuple[Floats, Floats]] = {}


def _tables(rules: RuleSet) -> tuple[Floats, Floats]:
    """Factors by (taken, rank) and by (taken, card), their means verified; kept."""
    if rules.rules_hash not in _KEPT:
        box = boxes_of(rules)[top_box(rules)] or str(rules.required_box)
        law, values = rank_law(rules), rank_values(rules, box)
        by_rank = np.concatenate(
            [likelihood_table(values > 0, law, _RATES), tilt_table(values, law, _TAKEN, _THETAS)],
            axis=2,
        )
        own = card_values(rules, box)[0]
        by_card = np.concatenate(
            [
                likelihood_table(own > 0, card_law(), _RATES),
                tilt_table(own, card_law(), _TAKEN, _THETAS),
            ],
            axis=2,
        )
        verify_means(by_rank, law, what="the rank of the first packet")
        verify_means(by_card, card_law(), what="a card of the first packet")
        _KEPT[rules.rules_hash] = by_rank, by_card
    return _KEPT[rules.rules_hash]


def _packet_scores(rules: RuleSet) -> Floats:
    box = boxes_of(rules)[top_box(rules)] or str(rules.required_box)
    return standardized(rank_values(rules, box), rank_law(rules))
