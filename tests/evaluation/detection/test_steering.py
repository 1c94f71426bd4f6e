"""The largest stake receives the first packet: exact means, and who steers is found."""

from itertools import permutations
from math import log

import numpy as np
import pytest
from table_players import seated, shared, steered

from niulab.engine.rules import load_rules
from niulab.evaluation.detection.attacks.seats import TableRounds, table_rounds
from niulab.evaluation.detection.attacks.steering import (
    STEERED,
    can_steer,
    first_packets,
    relative_factors,
    steering_block,
    steering_factors,
)
from niulab.evaluation.detection.features import best_own_ranks, rank_law, rank_values
from niulab.evaluation.detection.fold import PlayerStates, fold
from niulab.evaluation.detection.portfolio import Portfolio, weighted
from niulab.evaluation.playlog.plays import Plays

N_SEATS = 3


@pytest.fixture(scope="module")
def even():
    return load_rules("even-double-super-bonus")


@pytest.fixture(scope="module")
def alone(even):
    return Portfolio((even,), tuple(weighted([steering_block([even])], {STEERED: 1.0})), "steer")


def test_only_sheets_that_deal_by_stake_can_be_steered(sheet, even):
    assert can_steer(even)
    assert not can_steer(sheet)
    assert steering_block([sheet]) is None
    assert steering_factors(seated(sheet, 1, 2, 3), [sheet]).shape == (6, 0)


def test_the_first_packet_is_recorded_or_follows_the_stakes(even):
    stakes = np.zeros((8, 4), dtype=np.int64)
    stakes[:, 0] = [100, 300, 300, 200, 0, 0, 0, 0]
    plays = seated(even, 1, 4, 2, stakes=stakes)
    rounds = table_rounds(plays)
    assert first_packets(plays, rounds).tolist() == [1, -1]  # the first of the largest; nobody
    recorded = seated(even, 1, 4, 2, stakes=stakes, packet=[3, 2, 1, 0, -1, -1, -1, -1])
    assert first_packets(recorded, rounds).tolist() == [3, -1]
    named = seated(even, 1, 4, 2, stakes=stakes, first_seat=[3] * 4 + [0] * 4)
    assert first_packets(named, rounds).tolist() == [2, -1]


def test_factors_beside_other_packets_have_mean_one_over_their_orders(even):
    scores = np.random.default_rng(0).normal(size=len(even.ranks))
    rounds = TableRounds(np.arange(3), np.array([0, 3]))
    packets = [0, 3, 10, 7]
    found = [
        relative_factors(
            scores, np.array(p[:3], np.int16), np.array([p[3]] * 3, np.int16), rounds,
            np.array([0]),
        )[0]
        for p in permutations(packets)
    ]  # fmt: skip
    assert np.abs(np.mean(found, axis=0) - 1).max() <= 1e-12


def test_factors_by_rank_have_mean_one_over_the_law(even):
    """One hand of every rank, weighted by the exact law, both for who takes it and who does not."""
    plays = seated(even, 1, 2, 3_000, seed=1)
    ranks = best_own_ranks(plays, [even], plays.cards)
    factors = steering_factors(plays, [even])
    is_first = plays.seat == 1  # equal stakes: the first seat takes the packet in every round
    rows = np.array([np.flatnonzero(is_first & (ranks == r))[0] for r in range(len(even.ranks))])
    columns = list(range(6))  # rates, then tilts
    for seats in (rows, rows + 1):
        means = rank_law(even) @ factors[seats][:, columns]
        assert np.abs(means - 1).max() <= 1e-12


def test_factors_by_card_have_mean_one_over_the_deck(even):
    """Every card of the deck at each place of the first packet, taken and left."""
    plays = seated(even, 1, 2, 6_000, seed=1)
    factors = steering_factors(plays, [even])
    for place in range(5):
        is_first = plays.seat == 1
        rows = np.array(
            [np.flatnonzero(is_first & (plays.cards[:, place] == c))[0] for c in range(52)]
        )
        for seats in (rows, rows + 1):
            means = factors[seats][:, 8 + 6 * place : 14 + 6 * place].mean(axis=0)
            assert np.abs(means - 1).max() <= 1e-12


@pytest.mark.parametrize("knows", ["the rank of the packet", "its first card"])
def test_a_steerer_is_found_near_the_limit(even, alone, knows):
    favors = rank_values(even, "super") > 0
    texts = seated(even, 1, 1, 1).texts

    def wants(packet, rng):
        if knows == "its first card":
            return packet[:, 0] // 4 >= 9  # 10, J, Q, K: worth Super
        return favors[best_own_ranks(Plays.of(len(packet), texts, rules=0), [even], packet)]

    plays = steered(even, 30, 120, wants, seed=2).by_player()
    given = steering_factors(plays, [even])
    n = 30 * N_SEATS
    states = fold(alone, PlayerStates.fresh(n, alone), plays, given=given).states
    steerers = np.arange(30) * N_SEATS
    share = 4 / 13 if knows == "its first card" else float(rank_law(even) @ favors)
    information = -(share * log(share) + (1 - share) * log(1 - share))
    weight = alone.components[0].weight
    assert (states.alarms[steerers] > 0).all()
    assert states.alarms[steerers].mean() <= 1.3 * log(1_000 / weight) / information


def test_who_stakes_blindly_is_not_found(even, alone):
    def wants(packet, rng):
        return rng.random(len(packet)) < 0.5

    plays = steered(even, 100, 100, wants, seed=3).by_player()
    given = steering_factors(plays, [even])
    n = 100 * N_SEATS
    states = fold(alone, PlayerStates.fresh(n, alone), plays, given=given, alpha=0.05).states
    # the seats of a table share their packets: 100 tables count, not 300 players
    assert np.mean(states.peaks >= log(20)) <= 0.05 + 3 * (0.05 * 0.95 / 100) ** 0.5


@pytest.mark.parametrize("seats", [[1, 2, 2, 2], [2, 2, 2, 1], [0, 0, 0, 0]])
def test_a_packet_that_several_players_stake_on_counts_once(even, seats):
    """Over all orders of a round's packets, two of seats and the dealer's, the mean is one."""
    packets = np.random.default_rng(9).permutation(52)[:15].reshape(3, 5)
    orders = np.array(list(permutations(packets.tolist())), dtype=np.uint8)  # (6, 3, 5)
    places = [0, 1, 1, 1] if seats != [2, 2, 2, 1] else [1, 1, 1, 0]
    plays = shared(even, orders[:, places], seats, dealers=orders[:, 2])
    plays.stakes[:, 0] = np.tile([300, 100, 100, 100], 6)
    columns = [i for i, c in enumerate(steering_block([even]).components) if "beside" in c.feature]
    factors = steering_factors(plays, [even])[:, columns].reshape(6, 4, -1)
    assert np.abs(factors.mean(axis=0) - 1).max() <= 1e-12
    assert np.ptp(factors, axis=0).min() > 0  # they do say something
