"""Ten cards split into two hands: exact means, and who exchanges cards is found."""

from itertools import combinations
from math import exp, log

import numpy as np
import pytest
from table_players import exchanged, seated, shared

from niulab.engine.hands import best_arrangement
from niulab.engine.rules import load_rules
from niulab.evaluation.detection.attacks.seats import table_rounds
from niulab.evaluation.detection.attacks.switching import (
    SWITCHED,
    held_out_block,
    neighbor_pairs,
    pair_factors,
    switching_block,
    switching_factors,
)
from niulab.evaluation.detection.features import rank_law, rank_values
from niulab.evaluation.detection.fold import PlayerStates, fold
from niulab.evaluation.detection.portfolio import Portfolio, weighted


def all_splits(ten):
    own = np.array(list(combinations(ten, 5)), dtype=np.uint8)
    other = np.array([[c for c in ten if c not in set(row)] for row in own.tolist()], np.uint8)
    return own, other


@pytest.fixture(scope="module")
def alone(sheet):
    """Switching and nothing else."""
    blocks = tuple(weighted([switching_block()], {SWITCHED: 1.0}))
    return Portfolio((sheet,), blocks, "switching")


@pytest.mark.parametrize(
    "name",
    [
        "single-double-super",
        "bull-bull-live",
        pytest.param("ngau-ngau-hong-kong", marks=pytest.mark.long),  # specials of the front
    ],
)
def test_factors_have_mean_one_over_all_252_splits(name):
    rules = load_rules(name)
    rng = np.random.default_rng(1)
    for _ in range(60):
        own, other = all_splits(rng.permutation(52)[:10].tolist())
        factors = pair_factors(rules, own, other)
        back = pair_factors(rules, other, own)[:, ::-1]  # the complement is the other's hand
        assert factors == pytest.approx(back, rel=1e-15)
        assert np.abs(factors.mean(axis=0) - 1).max() <= 1e-12
        assert (factors >= 0).all()


def test_a_tilt_is_that_of_the_reference_evaluator(sheet):
    own, other = all_splits(np.random.default_rng(2).permutation(52)[:10].tolist())
    values, law = rank_values(sheet, "super"), rank_law(sheet)
    mean = law @ values
    sd = (law @ (values - mean) ** 2) ** 0.5
    scores = [
        (values[best_arrangement(hand, sheet).rank_index] - mean) / sd for hand in own.tolist()
    ]
    whole = sum(exp(1.0 * s) for s in scores) / 252
    expected = [exp(1.0 * s) / whole for s in scores]
    assert pair_factors(sheet, own, other)[:, 0, 1] == pytest.approx(expected, rel=1e-12)


def test_a_sure_exchange_leaves_what_it_reaches(sheet):
    """The last factor against the frequencies of exchanges made one by one from all splits."""
    own, other = all_splits(np.random.default_rng(3).permutation(52)[:10].tolist())
    values = rank_values(sheet, "super")
    value = {frozenset(h): values[best_arrangement(h, sheet).rank_index] for h in own.tolist()}
    chance = dict.fromkeys(value, 0.0)
    for hand, own_value in value.items():
        rest = frozenset(c for h in value for c in h) - hand
        reached = [hand - {a} | {b} for a in hand for b in rest]
        best = max(value[h] for h in reached)
        if best <= own_value:
            chance[hand] += 1
        else:
            ends = [h for h in reached if value[h] == best]
            for end in ends:
                chance[end] += 1 / len(ends)
    expected = [0.1 + 0.9 * chance[frozenset(h)] for h in own.tolist()]
    assert pair_factors(sheet, own, other)[:, 0, -1] == pytest.approx(expected, rel=1e-12)


def test_own_hands_alone_have_mean_one(sheet):
    block = held_out_block([sheet, load_rules("bull-bull-live")])
    for table, law in zip(block.tables, block.laws, strict=True):
        assert np.abs(np.einsum("v,bvk->bk", law, table) - 1).max() <= 1e-12


def test_rank_values_add_up_to_the_box(sheet):
    assert rank_law(sheet) @ rank_values(sheet, "single") == pytest.approx(-1 / 40, abs=1e-12)
    assert rank_law(sheet)[0] == pytest.approx(872_128 / 2_598_960, rel=1e-14)


def test_neighbors_are_seats_next_to_each_other(sheet):
    plays = seated(sheet, 1, 4, 2)
    cards = plays.cards.copy()
    cards[1] = 52  # the second seat's cards are not recorded: the first and third are next
    plays = plays.take(np.random.default_rng(0).permutation(8))
    pairs = {
        tuple(sorted((int(plays.round[a]), int(plays.seat[x])) for x in (a, b)))
        for a, b in neighbor_pairs(plays, table_rounds(plays))
    }
    assert pairs == {((r, s), (r, s + 1)) for r in range(2) for s in range(1, 4)}
    hidden = seated(sheet, 1, 4, 1, cards=cards[:4])
    pairs = neighbor_pairs(hidden, table_rounds(hidden))
    assert pairs.tolist() == [[0, 2], [2, 3]]
    factors = switching_factors(hidden, [sheet])
    assert (factors[1] == 1).all()
    both = [pair_factors(sheet, hidden.cards[[2]], hidden.cards[[other]])[0, 0] for other in (0, 3)]
    assert factors[2] == pytest.approx((both[0] + both[1]) / 2, rel=1e-12)


@pytest.mark.parametrize("rate", [1.0, 0.5])
def test_who_exchanges_cards_is_found_and_others_are_not(sheet, alone, rate):
    n_tables, n_seats, n_rounds = 20, 3, 200
    fair = seated(sheet, n_tables, n_seats, n_rounds, seed=11)
    switchers = np.arange(n_tables) * n_seats  # the first seat of every table, with the second
    plays = exchanged(fair, sheet, switchers, rate).by_player()
    given = switching_factors(plays, [sheet])
    states = fold(alone, PlayerStates.fresh(60, alone), plays, given=given).states
    assert (states.alarms[switchers] > 0).all()
    of_sure = (given[np.isin(plays.player, switchers), -1] - 0.1) / 0.9  # chance over 1 / 252
    information = np.log(1 - rate + rate * of_sure).mean()
    weight = alone.components[0].weight
    assert states.alarms[switchers].mean() <= 1.3 * log(1_000 / weight) / information
    assert (states.alarms[switchers + 2] == 0).all()
    honest = fair.by_player()
    given = switching_factors(honest, [sheet])
    states = fold(alone, PlayerStates.fresh(60, alone), honest, given=given, alpha=0.05).states
    assert np.mean(states.peaks >= log(20)) <= 0.05 + 3 * (0.05 * 0.95 / 60) ** 0.5


@pytest.mark.parametrize("seats", [[1, 1, 2], [0, 0, 0]])
def test_players_on_one_seat_share_its_hand_and_the_factors_of_its_neighbor(sheet, seats):
    """Two of the three rows tell of one hand: the mean over all splits is one for every row."""
    own, other = all_splits(np.random.default_rng(5).permutation(52)[:10].tolist())
    plays = shared(sheet, np.stack([own, own, other], axis=1), seats)
    factors = switching_factors(plays, [sheet]).reshape(252, 3, -1)
    assert np.abs(factors.mean(axis=0) - 1).max() <= 1e-12
    assert (factors[:, 0] == factors[:, 1]).all()
    assert factors[:, [0, 2]] == pytest.approx(pair_factors(sheet, own, other), rel=1e-15)
