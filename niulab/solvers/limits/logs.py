"""What a log shows of a card that was seen, where it does not show the card by its place.

    hand       the five cards of the hand it lies in, without their order: how many of each class
    results    who won and with which rank, both hands set best

Each is a channel from the value seen to what is logged, rows of laws, as ``mutual_information`` and
``logged_frontier_point`` take it. A log that keeps the order of dealing shows the value itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement
from math import comb

import numpy as np
from numpy.typing import NDArray

from niulab.engine.cards import HAND_SIZE
from niulab.engine.settlement import Outcome
from niulab.errors import ConfigError
from niulab.solvers.joint_law import JointLaw

__all__ = ["MOST_CLASSES", "hand_log", "result_log"]

Floats = NDArray[np.float64]

MOST_CLASSES = 20
"""Classes whose hands are still counted one by one: some 53,000 kinds."""


def hand_log(sizes: Sequence[int], n_cards: int = HAND_SIZE) -> Floats:
    """Law of a hand by classes of cards, given that one of its places shows each: (k, n_hands).

    sizes: (k,), cards of each class in the shoe. Hypergeometric: the card, and the rest of the hand
    from the rest of the shoe. Raises ConfigError for more than 20 classes.
    """
    k = len(sizes)
    if not 0 < k <= MOST_CLASSES or min(sizes) < 1 or sum(sizes) < n_cards:
        raise ConfigError(
            f"hands are counted over 1 to {MOST_CLASSES} classes that hold cards, {n_cards} in all "
            f"or more, got sizes {[*sizes]}: join classes that are played alike"
        )
    rows = []
    for hand in combinations_with_replacement(range(k), n_cards):
        counts = [hand.count(one) for one in range(k)]
        ways = 1
        for size, count in zip(sizes, counts, strict=True):
            ways *= comb(size, count)
        if ways:
            # a hand shows the class in count of its n places, the class is there in size of all
            rows.append([ways * n / size for n, size in zip(counts, sizes, strict=True)])
    law: Floats = np.array(rows).T
    law /= law.sum(axis=1, keepdims=True)
    return law


def result_log(laws: Sequence[JointLaw]) -> Floats:
    """Law of the result given each value seen, (k, n_results), of ``law_given_card`` by value.

    A result is who won and the winner's rank, which settles every box but a bonus.
    """
    tables: list[dict[tuple[int, int], int]] = []
    for law in laws:
        counts: dict[tuple[int, int], int] = {}
        for cell, n in law.cells.items():
            rank = cell.dealer_rank if cell.outcome == Outcome.LOSE else cell.player_rank
            key = int(cell.outcome), rank
            counts[key] = counts.get(key, 0) + n
        tables.append(counts)
    results = sorted({key for counts in tables for key in counts})
    return np.array(
        [
            [counts.get(result, 0) / law.n_deals for result in results]
            for counts, law in zip(tables, laws, strict=True)
        ]
    )
