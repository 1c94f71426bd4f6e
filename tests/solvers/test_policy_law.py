"""The law of a round under any settings: integers that agree with counting deal by deal."""

from collections import Counter

import numpy as np
import pytest
from strategies import overlay

from niulab.engine.hands import SPLITS, arrange, best_arrangement
from niulab.engine.ranking import all_hands
from niulab.engine.rules import load_rules
from niulab.engine.settlement import Outcome
from niulab.engine.wagers import Slip
from niulab.errors import ConfigError
from niulab.solvers.hand_values import hand_values
from niulab.solvers.joint_law import Cell, joint_law
from niulab.solvers.matchups import matchups
from niulab.solvers.policy_law import (
    RESOLUTION,
    best_weights,
    chosen_weights,
    exact_sum,
    exact_sums,
    policy_law,
    quantized,
    uniform_weights,
)
from niulab.solvers.values import slip_values

RULES = load_rules()
HONG_KONG = load_rules("ngau-ngau-hong-kong")
SUITED = overlay(
    "single-double-super",
    'specials = [{ name = "black", predicate = "all_black" }]\n'
    "[boxes.super.win_odds]\nblack = 12\n",
)


@pytest.fixture(scope="module")
def table_of_actions():
    return np.random.default_rng(11).integers(10, size=len(all_hands()))


@pytest.mark.parametrize("rules", [RULES, HONG_KONG, SUITED], ids=["003", "hong-kong", "suited"])
def test_best_settings_give_the_joint_law(rules):
    assert policy_law(rules, best_weights(matchups(rules))).cells == joint_law(rules).cells


@pytest.mark.parametrize("rules", [RULES, SUITED], ids=["003", "suited"])
def test_a_random_table_is_worth_the_mean_of_its_hands_values(rules, table_of_actions):
    """Two roads: counts of deals by cell, and values hand by hand."""
    slip = Slip.of(dict.fromkeys(rules.boxes, 200))
    values = hand_values(rules, slip)
    law = policy_law(rules, chosen_weights(matchups(rules), table_of_actions))
    assert slip_values(rules, slip, law).ev_cents == values.mean(values.of(table_of_actions))


def test_uniform_play_wins_the_published_share():
    law = policy_law(RULES, uniform_weights(matchups(RULES)))
    assert law.n_deals == 10 * 3_986_646_103_440
    assert float(law.probability(Outcome.WIN)) == pytest.approx(0.2231446, abs=5e-8)


def test_the_law_agrees_with_enumerating_every_deal_of_a_small_deck(table_of_actions):
    """The slow road: sixteen cards, 2,018,016 deals, each ranked by the reference evaluator."""
    rules = overlay(
        "ngau-ngau-hong-kong",
        'deck = { removed_ranks = ["2", "3", "6", "7", "8", "9", "10", "J", "Q"] }\n'
        "table = { max_seats = 2 }\n",
    )
    table = matchups(rules)
    rows = np.flatnonzero(table.weights)
    hands = table.hands[rows].tolist()
    dealers = [best_arrangement(hand, rules) for hand in hands]
    players = [
        arrange(hand, SPLITS[action], rules)
        for hand, action in zip(hands, table_of_actions[rows].tolist(), strict=True)
    ]
    expected = Counter()
    masks = np.array([sum(1 << card for card in hand) for hand in hands])
    strengths = np.array([dealer.strength for dealer in dealers])
    ranks = np.array([dealer.rank_index for dealer in dealers])
    for player, mask in zip(players, masks.tolist(), strict=True):
        apart = (masks & mask) == 0
        outcomes = np.select(
            [strengths[apart] < player.strength, strengths[apart] == player.strength],
            [Outcome.WIN, Outcome.PUSH],
            Outcome.LOSE,
        )
        for code, n in Counter((10 * ranks[apart] + outcomes).tolist()).items():
            rank, outcome = divmod(code, 10)
            expected[Cell(player.rank_index, rank, Outcome(outcome))] += n
    law = policy_law(rules, chosen_weights(table, table_of_actions))
    assert law.n_deals == 2_018_016
    assert law.cells == expected


def test_probabilities_become_whole_weights_that_add_up():
    rows = np.random.default_rng(0).dirichlet(np.ones(10), size=1000).astype(np.float32)
    weights = quantized(rows)
    assert (weights.sum(axis=1) == RESOLUTION).all()
    assert np.abs(weights / RESOLUTION - rows).max() < 1e-6


@pytest.mark.parametrize("n", range(1, 11))
def test_uniform_probabilities_stay_uniform(n):
    assert set(quantized(np.full((1, n), 1 / n))[0].tolist()) == {RESOLUTION // n}


@pytest.mark.parametrize("row", [[0.5, 0.4], [1.5, -0.5], [float("nan"), 1.0], [float("inf"), 0.0]])
def test_what_is_no_probability_is_refused_with_its_row(row):
    with pytest.raises(ConfigError, match=r"row 1 of the agent's probabilities .* add to 1"):
        quantized(np.array([[0.5, 0.5], row]))


@pytest.mark.parametrize("scale", [1, 1 << 20, 1 << 37])
def test_sums_are_exact_beyond_64_bits_and_below_zero(scale):
    rng = np.random.default_rng(2)
    weights = rng.integers(-scale, scale, size=5000)
    values = rng.integers(0, 1 << 40, size=5000)
    pairs = zip(weights.tolist(), values.tolist(), strict=True)
    assert exact_sum(weights, values) == sum(w * v for w, v in pairs)


@pytest.mark.parametrize("scale", [1, 1 << 20, 1 << 37])
@pytest.mark.parametrize("size", [1, 1 << 24, 1 << 60])
def test_sums_by_place_are_exact_beyond_64_bits_and_below_zero(scale, size):
    rng = np.random.default_rng(3)
    places = rng.integers(0, 7, size=5000)
    weights = rng.integers(-scale, scale, size=5000, endpoint=True)
    values = rng.integers(-size, size, size=5000, endpoint=True)
    expected = [0] * 8
    for place, weight, value in zip(*(x.tolist() for x in (places, weights, values)), strict=True):
        expected[place] += weight * value
    assert exact_sums(places, 8, weights, values) == expected
