"""A declared group is one player: its rows, its e-value, its errors."""

from math import log

import numpy as np
import pytest
from table_players import seated

from niulab.errors import ConfigError
from niulab.evaluation.detection.attacks.groups import (
    COLLUSION,
    Group,
    group_plays,
    group_portfolio,
)
from niulab.evaluation.detection.fold import PlayerStates, fold
from niulab.evaluation.detection.scores import round_starts

N_SEATS = 3


@pytest.fixture(scope="module")
def watch(sheet):
    return group_portfolio([sheet])


def colluding(sheet, n_tables, n_rounds, *, is_told, seed=0):
    """The last seat peeks at the dealer's first card and stakes one unit always; the others stake
    Super when they are told that it is low.
    """
    plays = seated(sheet, n_tables, N_SEATS, n_rounds, seed=seed)
    rng = np.random.default_rng(seed)
    is_low = plays.dealer_cards[:, 0] // 4 < 5
    one_signal = np.repeat(rng.random(len(plays) // N_SEATS) < 5 / 13, N_SEATS)
    stakes = plays.stakes.copy()
    is_staking = (is_low if is_told else one_signal) & (plays.seat < N_SEATS)
    # each hides behind stakes of his own
    stakes[:, 2] = 100 * (is_staking & (rng.random(len(plays)) < 0.5))
    groups = [
        Group(f"g{k}", tuple(f"p{N_SEATS * k + s}" for s in range(2)), f"p{N_SEATS * k + 2}")
        for k in range(n_tables)
    ]
    return seated(sheet, n_tables, N_SEATS, n_rounds, seed=seed, stakes=stakes), groups


def test_a_group_is_one_row_a_round(sheet):
    plays, groups = colluding(sheet, 2, 5, is_told=True)
    grouped = group_plays(plays, groups)
    assert len(grouped) == 10
    assert grouped.texts.players == ("g0", "g1")
    assert (np.diff(round_starts(grouped).rounds) == 1).all()
    for row in range(10):
        mine = (plays.round == grouped.round[row]) & (plays.table == grouped.player[row])
        assert grouped.stakes[row].tolist() == plays.stakes[mine].sum(axis=0).tolist()
        assert grouped.cards[row].tolist() == plays.cards[mine][N_SEATS - 1].tolist()
        assert grouped.dealer_cards[row].tolist() == plays.dealer_cards[mine][0].tolist()


def test_rounds_without_the_peeker_show_the_dealers_cards_only(sheet):
    plays, groups = colluding(sheet, 1, 4, is_told=True)
    away = plays.take((plays.seat < N_SEATS) | (plays.round > 1))
    grouped = group_plays(away, groups)
    assert (grouped.cards == 52).all(axis=1).tolist() == [True, True, False, False]
    assert (grouped.dealer_cards < 52).all()
    nobody = group_plays(plays, [Group("quiet", ("p0", "p1"))])
    assert (nobody.cards == 52).all()


def test_a_group_with_a_peeker_is_found_sooner_than_its_members(sheet, watch):
    plays, groups = colluding(sheet, 20, 150, is_told=True, seed=1)
    grouped = group_plays(plays, groups)
    states = fold(watch, PlayerStates.fresh(20, watch), grouped).states
    assert (states.alarms > 0).all()
    alone = fold(watch, PlayerStates.fresh(60, watch), plays.by_player()).states
    members = alone.alarms.reshape(20, N_SEATS)[:, :2]
    assert states.alarms.mean() < np.where(members > 0, members, 151).mean(axis=0).min()
    assert watch.attacks == (COLLUSION,)
    strongest = states.values * watch.weights
    named = [watch.components[k] for k in strongest.argmax(axis=1)]
    assert np.mean([component.slot == "card5" for component in named]) >= 0.9


def test_honest_groups_that_move_together_raise_no_alarm(sheet, watch):
    plays, groups = colluding(sheet, 200, 60, is_told=False, seed=2)
    states = fold(watch, PlayerStates.fresh(200, watch), group_plays(plays, groups), alpha=0.05)
    rate = np.mean(states.states.peaks >= log(20))
    assert rate <= 0.05 + 3 * (0.05 * 0.95 / 200) ** 0.5


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([Group("g", ("p0", "p99"))], "names 'p99', who is not in the log"),
        ([Group("g", ("p0",))], "two players or more, and 'g' names 1"),
        ([Group("g", ("p0", "p1")), Group("g", ("p1", "p2"))], "names of their own"),
    ],
)
def test_groups_that_cannot_be_are_refused(sheet, groups, message):
    with pytest.raises(ConfigError, match=message):
        group_plays(seated(sheet, 1, 3, 1), groups)
