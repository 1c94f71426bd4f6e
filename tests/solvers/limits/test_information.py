"""Information of stakes, what logs keep of it, and the delays that follow: published figures."""

from itertools import combinations
from math import comb, log

import numpy as np
import pytest

from niulab.errors import ConfigError
from niulab.solvers.limits.information import best_delay, mutual_information
from niulab.solvers.limits.logs import hand_log, result_log


@pytest.fixture(scope="module")
def greedy(super_values):
    """Stakes exactly when the card favors Super."""
    return np.stack([super_values <= 0, super_values > 0], axis=1).astype(float)


def test_a_deterministic_policy_tells_the_entropy_of_its_stakes(ranks_law, greedy):
    share = 5 / 13
    entropy = -(share * log(share) + (1 - share) * log(1 - share))
    assert mutual_information(ranks_law, greedy) == pytest.approx(entropy, rel=1e-14)


def test_stakes_that_ignore_the_card_tell_nothing(ranks_law):
    blind = np.tile([0.3, 0.7], (13, 1))
    assert mutual_information(ranks_law, blind) == pytest.approx(0, abs=1e-15)
    assert best_delay(0.0, 1e-3) == float("inf")


def test_delays_of_one_dealer_card_always_seen(ranks_law, greedy):
    by_position = best_delay(mutual_information(ranks_law, greedy), 1e-3)
    unordered = best_delay(mutual_information(ranks_law, greedy, hand_log([4] * 13)), 1e-3)
    assert round(by_position) == 10
    assert round(unordered) == 64
    classes = hand_log([20, 32])  # a hand tells no more than its number of favorable cards
    two = np.eye(2)[::-1]
    assert best_delay(
        mutual_information(np.array([20, 32]) / 52, two, classes), 1e-3
    ) == pytest.approx(unordered, rel=1e-12)


def test_a_result_tells_less_the_less_it_keeps(ranks_law, greedy, seen_laws):
    cells = sorted({cell for law in seen_laws for cell in law.cells})
    both = np.array([[law.cells.get(cell, 0) / law.n_deals for cell in cells] for law in seen_laws])
    winner = result_log(seen_laws)
    assert winner.shape == (13, 22)
    assert np.abs(winner.sum(axis=1) - 1).max() < 1e-14
    delays = [best_delay(mutual_information(ranks_law, greedy, w), 1e-3) for w in (both, winner)]
    assert [round(delay) for delay in delays] == [5140, 6592]


def test_hands_by_class_are_those_of_a_count_of_all_hands():
    sizes = [2, 3, 4]
    deck = [0, 0, 1, 1, 1, 2, 2, 2, 2]
    seen, hands = np.zeros((3, 100)), {}
    for cards in combinations(range(9), 4):
        shown = tuple(sorted(deck[card] for card in cards))
        place = hands.setdefault(shown, len(hands))
        for card in cards:
            seen[deck[card], place] += 1
    seen = seen[:, : len(hands)] / seen.sum(axis=1, keepdims=True)
    law = hand_log(sizes, 4)
    assert law.shape == (3, len(hands))
    assert sorted(map(tuple, law.T.round(12))) == sorted(map(tuple, seen.T.round(12)))


def test_a_hand_forgets_which_of_its_cards_was_seen():
    law, sizes = hand_log([16, 36]), np.array([16, 36])
    marginal = (sizes / 52) @ law
    hypergeometric = [comb(16, k) * comb(36, 5 - k) / comb(52, 5) for k in range(6)]
    assert sorted(marginal) == pytest.approx(sorted(hypergeometric), rel=1e-13)


@pytest.mark.parametrize("sizes", [[], [0, 52], [2] * 21, [2, 2]])
def test_hands_that_cannot_be_counted_are_refused(sizes):
    with pytest.raises(ConfigError, match="classes that hold cards"):
        hand_log(sizes)


@pytest.mark.parametrize("alpha", [0.0, 1.0, -1, float("nan")])
def test_alpha_is_a_level(alpha):
    with pytest.raises(ConfigError, match="alpha"):
        best_delay(0.1, alpha)


def test_rows_that_are_no_laws_are_refused(ranks_law):
    with pytest.raises(ConfigError, match="add up to 1"):
        mutual_information(ranks_law, np.ones((13, 2)))
    with pytest.raises(ConfigError, match="one row for each"):
        mutual_information(ranks_law, np.ones((12, 1)))
