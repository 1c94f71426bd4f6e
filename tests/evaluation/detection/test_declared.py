"""Declared attacks that need several seats: one feature alone, found near its limit."""

from math import log

import numpy as np
import pytest
from table_players import exchanged, seated, steered

from niulab.engine.rules import load_rules
from niulab.errors import ConfigError, WagerError
from niulab.evaluation.detection.attacks import switching
from niulab.evaluation.detection.attacks.declared import (
    declared_group,
    declared_steering,
    declared_switching,
)
from niulab.evaluation.detection.attacks.groups import Group, group_plays
from niulab.evaluation.detection.attacks.steering import steering_block, steering_factors
from niulab.evaluation.detection.attacks.switching import pair_factors, switching_factors
from niulab.evaluation.detection.features import best_own_ranks, rank_law, rank_values
from niulab.evaluation.detection.fold import PlayerStates, fold
from niulab.evaluation.detection.portfolio import declared_portfolio
from niulab.evaluation.detection.watch import given_factors
from niulab.evaluation.playlog.plays import Plays
from niulab.solvers.limits.information import mutual_information


@pytest.fixture(scope="module")
def even():
    return load_rules("even-double-super-bonus")


def alarms(portfolio, plays, **options):
    """Rounds to the alarm by player, 0 for none."""
    plays = plays.by_player()
    states = PlayerStates.fresh(len(plays.texts.players), portfolio)
    given = given_factors(portfolio, plays)
    return fold(portfolio, states, plays, given=given, **options).states.alarms


def test_a_declared_portfolio_takes_the_columns_of_its_feature(sheet, even):
    plays = seated(even, 3, 3, 20, seed=3)
    whole = steering_factors(plays, [even])
    names = [(c.feature, c.strength) for c in steering_block([even]).components]
    for place in (None, 0, 4):
        portfolio = declared_steering(even, place=place)
        assert len(portfolio.components) == 4
        assert portfolio.weights.sum() == pytest.approx(1, abs=1e-15)
        columns = [names.index((c.feature, c.strength)) for c in portfolio.components]
        assert np.array_equal(given_factors(portfolio, plays), whole[:, columns])
    fair = seated(sheet, 3, 2, 20, seed=4)
    given = given_factors(declared_switching(sheet), fair)
    assert np.array_equal(given, switching_factors(fair, [sheet])[:, 3:])


@pytest.mark.parametrize("place", [None, 0])
@pytest.mark.parametrize("knows", [1.0, 0.5])
def test_a_declared_steerer_is_found_near_the_limit(even, place, knows):
    favors, texts = rank_values(even, "super") > 0, seated(even, 1, 1, 1).texts

    def wants(packet, rng):
        ranks = best_own_ranks(Plays.of(len(packet), texts, rules=0), [even], packet)
        good = favors[ranks] if place is None else packet[:, place] // 4 >= 9
        return good & (rng.random(len(packet)) < knows)

    share = float(rank_law(even) @ favors) if place is None else 4 / 13
    acts = np.array([[1 - knows, knows], [1.0, 0.0]])
    limit = log(1_000) / mutual_information(np.array([share, 1 - share]), acts)
    found = alarms(declared_steering(even, place=place), steered(even, 100, 150, wants, seed=2))
    assert (found[::3] > 0).all()
    assert limit < found[::3].mean() <= 1.5 * limit


def test_a_declared_switcher_is_found_near_the_limit(sheet, monkeypatch):
    rate, n = 0.5, 60_000
    tens = np.random.default_rng(5).random((n, 52)).argsort(axis=1)[:, :10].astype(np.uint8)
    monkeypatch.setattr(switching, "_RATES", np.array([rate]))
    ratios = pair_factors(sheet, tens[:, :5], tens[:, 5:])[:, 0, -1]
    monkeypatch.undo()
    information = float((ratios * np.log(ratios)).mean())  # over deals without exchange
    assert log(1_000) / information == pytest.approx(12.5, rel=0.05)  # docs/detection.md
    plays = exchanged(seated(sheet, 150, 2, 100, seed=11), sheet, np.arange(150) * 2, rate)
    found = alarms(declared_switching(sheet), plays)[::2]
    assert (found > 0).all()
    assert 12 < found.mean() <= 1.5 * 12.5


@pytest.mark.parametrize("box", ["single", "super"])
def test_a_declared_group_is_found_near_the_limit(sheet, box):
    plays = seated(sheet, 100, 2, 60, seed=6)
    stakes, column = plays.stakes.copy(), ("single", "double", "super").index(box)
    stakes[:, column] += 100 * (plays.dealer_cards[:, 0] // 4 < 5)  # both know of an ace to a five
    plays = seated(sheet, 100, 2, 60, seed=6, stakes=stakes)
    names = plays.texts.players
    groups = [Group(f"g{k}", (names[2 * k], names[2 * k + 1])) for k in range(100)]
    portfolio = declared_group(sheet, place=5, box=box, low="single=200")
    assert portfolio.attacks == ("collusion",)
    rows = group_plays(plays, groups)
    found = fold(portfolio, PlayerStates.fresh(100, portfolio), rows).states.alarms
    limit = log(1_000) / 0.66628
    assert (found > 0).all()
    assert limit < found.mean() <= 1.5 * limit


def test_a_declared_low_slip_makes_the_first_rounds_tell(sheet):
    plays = seated(sheet, 200, 1, 60, seed=12)
    stakes = plays.stakes.copy()
    stakes[:, 0] = np.where(plays.dealer_cards[:, 0] // 4 < 5, 1_500, 300)
    plays = seated(sheet, 200, 1, 60, seed=12, stakes=stakes)
    limit = log(1_000) / 0.66628
    without = alarms(declared_portfolio(sheet, place=5, box="single"), plays)
    found = alarms(declared_portfolio(sheet, place=5, box="single", low="single=300"), plays)
    assert (found > 0).all()
    assert found.mean() <= 1.5 * limit < without.mean()
    # to raise from 300 is for the tests what it is to raise from 100
    stakes = plays.stakes.copy()
    stakes[:, 0] -= 200
    lower = seated(sheet, 200, 1, 60, seed=12, stakes=stakes)
    same = alarms(declared_portfolio(sheet, place=5, box="single"), lower)
    assert found.tolist() == same.tolist()


def test_honest_tables_are_not_accused(sheet, even):
    rng = np.random.default_rng(1)
    stakes = np.zeros((400 * 60 * 2, 4), dtype=np.int64)
    stakes[:, 0] = 100 * rng.integers(1, 5, len(stakes))
    for rules, portfolio in (
        (sheet, declared_switching(sheet)),
        (even, declared_steering(even)),
        (even, declared_steering(even, place=2)),
    ):
        found = alarms(portfolio, seated(rules, 400, 2, 60, seed=8, stakes=stakes), alpha=0.05)
        # two seats share a factor: 400 tables count
        assert np.mean(found > 0) <= 0.05 + 3 * (0.05 * 0.95 / 400) ** 0.5


def test_what_cannot_be_declared_is_told(sheet, even):
    with pytest.raises(ConfigError, match="steering needs a sheet"):
        declared_steering(sheet)
    with pytest.raises(ConfigError, match="0 to 4, got 5"):
        declared_steering(even, place=5)
    with pytest.raises(WagerError, match="triple"):
        declared_portfolio(sheet, place=5, box="single", low="triple=100")
    with pytest.raises(ConfigError, match="place is 0 to 9"):
        declared_group(sheet, place=-1, box="super")
