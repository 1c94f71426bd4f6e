"""The study of agents that hide: its rows are the frontier's and the advantage players' own."""

from math import isnan, log

import pytest

from niulab.agents.advantage.config import FrontierPlayer, HoleCarder
from niulab.agents.advantage.hiding import hidden_point
from niulab.agents.advantage.sight import seen_edge, seen_information
from niulab.engine.rules import load_rules
from niulab.errors import ConfigError
from niulab.evaluation.studies.stealth import StealthConfig, stealth_study

SHEET = load_rules("single-double-super")


@pytest.fixture(scope="module")
def study():
    config = StealthConfig(agents=["least-slip", "optimal"], mus=[0.1, 0.05], players=60)
    return stealth_study(config)


def test_policies_of_the_frontier_are_those_of_its_players(study):
    for one, mu in zip(study.frontier, (0.1, 0.05), strict=True):
        point = hidden_point(SHEET, FrontierPlayer(mu=mu, high="super=100"))
        assert one.profit == pytest.approx(point.profit - 0.025, abs=1e-9)
        assert one.information == pytest.approx(point.information, abs=1e-9)
        assert one.limit == pytest.approx(log(1e3) / point.information, rel=1e-8)
        assert one.gap == pytest.approx(0, abs=1e-9)
        assert one.value == pytest.approx(one.best, abs=1e-12)


def test_who_does_not_hide_is_scored_as_the_hole_carder(study):
    words = [{}, {"see_rate": 0.5}, {"cover_bet": 0.2, "hold_back": 0.2}]
    for one, keys in zip(study.plain, words, strict=True):
        player = HoleCarder(high="super=100", **keys)
        assert one.profit == pytest.approx(float(seen_edge(SHEET, player)) / 100, abs=1e-12)
        assert one.information == pytest.approx(seen_information(SHEET, player), abs=1e-12)
        assert one.frontier >= one.profit - 1e-9
        assert isnan(one.mu)


def test_measured_delays_stand_between_the_limit_and_twice_that(study):
    for one in (*study.frontier, *study.plain):
        assert one.n_found == 60
        assert one.delay.mean + one.delay.half_width > one.limit
        assert one.delay.mean - one.delay.half_width < 2 * one.limit


def test_an_agent_that_is_not_seen_is_never_found(study):
    blind, best = study.trained
    assert (blind.information, blind.delay, blind.n_found) == (0, None, 0)
    assert blind.profit == pytest.approx(-0.025, abs=1e-12)
    assert best.profit == pytest.approx(study.frontier[1].profit, abs=1e-6)
    rows = study.sections()[0].cells[1]
    assert rows[0][-2:] == ["never", "none found"]
    assert study.headline()["value_missed"]["optimal"] == pytest.approx(0, abs=1e-9)


def test_every_table_has_columns_of_one_length(study):
    for table in study.columns().values():
        assert len({len(column) for column in table.values()}) == 1
    assert len(study.columns()["rates"]["rate"]) == 7 * 13
    assert study.sections()[0].pictures[0].png.startswith(b"\x89PNG")
    assert study.warnings() == ()


@pytest.mark.parametrize(
    ("keys", "part"),
    [
        ({"agents": ["optimal"], "mus": [0.1, 0.2]}, "one price each: got 1 and 2"),
        ({"mus": [0.0]}, "greater than 0"),
        ({"mus": []}, "at least 1"),
        ({"alpha": 2.0}, "less than 1"),
    ],
)
def test_mistakes_are_told(keys, part):
    with pytest.raises(ConfigError, match=part):
        StealthConfig(**keys)
