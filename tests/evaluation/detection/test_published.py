"""The delays that docs/detection.md prints, measured again."""

from dataclasses import replace
from math import log

import numpy as np
import pytest
from card_players import honest
from table_players import exchanged, seated, steered

from niulab.engine.rules import load_rules
from niulab.engine.settlement import Outcome
from niulab.evaluation.detection.attacks.declared import declared_steering, declared_switching
from niulab.evaluation.detection.calibration.exact import split_information
from niulab.evaluation.detection.features import (
    SLOTS,
    best_own_ranks,
    rank_law,
    rank_values,
    result_law,
    slot_levels,
)
from niulab.evaluation.detection.fold import PlayerStates, fold
from niulab.evaluation.detection.watch import given_factors, watch_portfolio
from niulab.evaluation.playlog.plays import Plays

pytestmark = pytest.mark.long


def alarms(portfolio, plays):
    """Rounds to the alarm by player, 0 for none."""
    plays = plays.by_player()
    states = PlayerStates.fresh(len(plays.texts.players), portfolio)
    return fold(portfolio, states, plays, given=given_factors(portfolio, plays)).states.alarms


@pytest.mark.parametrize(
    ("rate", "limit", "n_rounds", "declared", "watched"),
    [(1.0, 3.2, 60, 5.1, 6.0), (0.5, 11.5, 150, 16.3, 19.5), (0.2, 54.7, 700, 75.2, 100.0)],
)
def test_delays_of_switchers(sheet, rate, limit, n_rounds, declared, watched):
    assert log(1_000) / split_information(sheet, rate) == pytest.approx(limit, abs=0.05)
    fair = seated(sheet, 200, 2, n_rounds, seed=11)
    plays = exchanged(fair, sheet, np.arange(200) * 2, rate)
    own = declared_switching(sheet)
    for portfolio, published in ((own, declared), (watch_portfolio([sheet]), watched)):
        found = alarms(portfolio, plays)[::2]
        assert (found > 0).all()
        assert found.mean() == pytest.approx(published, rel=0.05)


@pytest.mark.parametrize(
    ("knows", "limit", "declared", "watched"),
    [("rank", 10.2, 13.6, 20.6), ("card", 11.2, 15.2, 22.4)],
)
def test_delays_of_steerers(knows, limit, declared, watched):
    even = load_rules("even-double-super-bonus")
    favors = rank_values(even, "super") > 0
    texts = seated(even, 1, 1, 1).texts

    def wants(packet, rng):
        if knows == "card":
            return packet[:, 0] // 4 >= 9
        return favors[best_own_ranks(Plays.of(len(packet), texts, rules=0), [even], packet)]

    share = 4 / 13 if knows == "card" else float(rank_law(even) @ favors)
    entropy = -(share * log(share) + (1 - share) * log(1 - share))
    assert log(1_000) / entropy == pytest.approx(limit, abs=0.05)
    plays = steered(even, 40, 300, wants, seed=2)
    own = declared_steering(even, place=0 if knows == "card" else None)
    assert alarms(own, plays)[::3].mean() == pytest.approx(declared, rel=0.1)
    assert alarms(watch_portfolio([even]), plays)[::3].mean() == pytest.approx(watched, rel=0.1)


def test_raises_of_past_posters(sheet):
    plays = seated(sheet, 40, 1, 600, seed=4)
    is_win = np.array([cell.outcome == Outcome.WIN for cell in result_law(sheet).cells])
    won = is_win[slot_levels(plays, [sheet])[:, SLOTS.index("result")]]
    raised = won & (np.random.default_rng(5).random(len(plays)) < 0.2)
    late = np.zeros((len(plays), 4), dtype=np.int64)
    late[:, 0] = 100 * raised
    found = alarms(watch_portfolio([sheet]), replace(plays, late=late))
    n_raises = [raised[plays.player == k][: found[k]].sum() for k in range(40)]
    assert np.mean(n_raises) == pytest.approx(15.5, abs=0.5)


def test_false_alarms_of_the_whole_portfolio(sheet):
    n = 3 * 1_300
    plays = seated(sheet, 1_300, 3, 150, seed=21)
    rng, stakes = np.random.default_rng(1), plays.stakes.copy()
    stakes[:, 2] = 100 * honest(plays.cards, plays.dealer_cards, rng)
    stakes[:, 0] *= rng.integers(1, 5, len(plays))
    late = np.zeros_like(stakes)
    late[:, 0] = 100 * rng.integers(-1, 2, len(plays))
    plays = replace(plays, stakes=stakes, late=late).by_player()
    watch = watch_portfolio([sheet])
    given = given_factors(watch, plays)
    peaks = fold(watch, PlayerStates.fresh(n, watch), plays, given=given).states.peaks
    assert np.mean(peaks >= log(20)) == pytest.approx(0.022, abs=0.005)
    assert np.mean(peaks >= log(100)) == pytest.approx(0.005, abs=0.003)
