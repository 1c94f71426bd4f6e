"""What "results" keep of a dealer's card that is always seen: each definition and its figure.

The road here goes through single hands: the dealer's five cards show one of them at random, so a
result tells of the stake what the mean share of favorable cards among the hands behind it does.
``law_given_card`` and ``result_log`` play no part, but for the nets.
"""

from collections import defaultdict
from math import log

import numpy as np
import pytest

from niulab.engine.rules import load_rules
from niulab.solvers.limits.information import best_delay, mutual_information
from niulab.solvers.matchups import matchups


@pytest.fixture(scope="module")
def by_hand(super_values):
    """Deals by (player wins, dealer's rank, player's rank), (2, R, R), in all and weighted by the
    share of cards of the dealer's hand for which Super is staked.
    """
    rules = load_rules("single-double-super")
    table, n = matchups(rules), len(rules.ranks)
    share = (super_values > 0)[table.hands // 4].mean(axis=1)  # one of five places was seen
    dealer = table.ranks.astype(np.int64)
    opponents = table.counts.astype(np.float64)  # of the hand, by the player's rank
    lower = table.less[:, 0].astype(np.float64)  # of its own rank, and weaker
    assert not table.equal.any()
    both = np.zeros((2, 2, n, n))
    for weight, found in zip((np.ones(len(share)), share), both, strict=True):
        for player in range(n):
            met = np.bincount(dealer, weight * opponents[:, player], minlength=n)
            found[1, :player, player] = met[:player]
            found[0, player + 1 :, player] = met[player + 1 :]
        weaker = np.bincount(dealer, weight * lower, minlength=n)
        own = np.bincount(dealer, weight * opponents[np.arange(len(dealer)), dealer], minlength=n)
        found[0, np.arange(n), np.arange(n)] = weaker
        found[1, np.arange(n), np.arange(n)] = own - weaker
    return both


def rounds_of(deals, staked):
    """ln(1000) over the information of the stake and what is kept, both (k,) counts of deals."""
    total, rate = deals.sum(), staked.sum() / deals.sum()

    def entropy(p):
        inner = p[(p > 0) & (p < 1)]
        weights = (deals / total)[(p > 0) & (p < 1)] if len(p) > 1 else 1.0
        return -(weights * (inner * np.log(inner) + (1 - inner) * np.log1p(-inner))).sum()

    is_met = deals > 0
    deals, staked = deals[is_met], staked[is_met]
    return log(1_000) / (entropy(np.array([rate])) - entropy(staked / deals))


def kept_as(name, deals):
    """Sums over what the log does not keep."""
    wins, losses = deals[1], deals[0]
    return {
        "both ranks and the winner": np.concatenate([wins.ravel(), losses.ravel()]),
        "the winner and his rank": np.concatenate([wins.sum(axis=0), losses.sum(axis=1)]),
        "the winner alone": np.array([wins.sum(), losses.sum()]),
        "the winner and the dealer's rank": np.concatenate([wins.sum(axis=1), losses.sum(axis=1)]),
    }[name]


def test_nets_keep_less_than_the_winner_s_rank(ranks_law, super_values, seen_laws):
    """What the boxes paid tells the rank, but for a high card and Niu 1, which are paid alike."""
    rules = load_rules("single-double-super")
    policy = np.stack([super_values <= 0, super_values > 0], axis=1).astype(float)
    rows = []
    for law in seen_laws:
        row = defaultdict(int)
        for cell, n in law.cells.items():
            row[tuple(cell.unit(rules, box).net for box in rules.boxes)] += n
        rows.append(row)
    results = sorted(set().union(*rows))
    kept = np.array(
        [[row[r] / law.n_deals for r in results] for row, law in zip(rows, seen_laws, strict=True)]
    )
    assert round(best_delay(mutual_information(ranks_law, policy, kept), 1e-3)) == 7_067


@pytest.mark.parametrize(
    ("name", "rounds"),
    [
        ("both ranks and the winner", 5_140),
        ("the winner and his rank", 6_592),
        ("the winner and the dealer's rank", 6_403),
        ("the winner alone", 13_113),
    ],
)
def test_each_definition_has_its_figure(by_hand, name, rounds):
    deals, staked = (kept_as(name, each) for each in by_hand)
    assert deals.sum() == pytest.approx(3_986_646_103_440, rel=1e-15)
    assert round(rounds_of(deals, staked)) == rounds
