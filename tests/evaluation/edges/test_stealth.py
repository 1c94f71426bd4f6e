"""Scores under a detector: profit and nats of any policy, exact, beside the frontier and play."""

import numpy as np
import pytest

from niulab.agents.advantage.config import FrontierPlayer, HoleCarder
from niulab.agents.advantage.hiding import hidden_point
from niulab.agents.advantage.sight import seen_edge, seen_information
from niulab.agents.base import CallableAgent
from niulab.agents.registry import make_agent
from niulab.engine.rules import load_rules
from niulab.envs.encoding import Encoding
from niulab.envs.settings import make_settings
from niulab.envs.watch import watched_bets
from niulab.errors import ConfigError
from niulab.evaluation import benchmark, evaluate
from niulab.evaluation.config import parse_benchmark
from niulab.evaluation.edges.stealth import policy_of, settings_as_watched, stealth_bounds
from niulab.evaluation.simulate import simulate
from niulab.evaluation.tables import score_lines
from niulab.solvers.limits.detector import declared_log_factors

PEEK = "niulab/Peek-v0"
SHEET = load_rules("single-double-super")
TWO = {"channel": {"position": "dealer"}, "menu": ["single=100", "single=100,super=100"]}
BETTOR = {"mu": 0.1, "sees": 0.5, "base": 0.25}
MIXED = {"position": "dealer", "see_rate": 0.8, "noise": 0.3}


class ByChance:
    """Any policy, as an agent."""

    name = "by chance"

    def __init__(self, settings, policy):
        self.policy, self.settings = policy, settings

    def initial_state(self, n):
        return None

    def act(self, observations, masks, infos, state, rng):
        ladder = self.probabilities(observations, masks).cumsum(axis=1)
        return (rng.random(len(ladder))[:, None] >= ladder[:, :-1]).sum(axis=1), state

    def probabilities(self, observations, masks):
        return self.policy[Encoding(self.settings).decode_signal(observations)]


def test_a_hole_carder_is_scored_as_advantage_players_are():
    def when_favored(observations, masks):
        return (observations[:, 1:6].sum(axis=1) > 0).astype(np.int64)  # ace to five

    score = evaluate(CallableAgent(when_favored), PEEK, detector={"mu": 0.05}, **TWO)
    player = HoleCarder(high="super=100")
    assert score.profit == seen_edge(SHEET, player) / 100
    assert score.information == pytest.approx(seen_information(SHEET, player), abs=1e-12)
    assert score.rate == score.information
    assert score.value == pytest.approx(float(score.profit) - 0.05 * score.information, abs=1e-15)
    assert score.source == "argmax"
    assert score.gap == pytest.approx(0, abs=1e-9)  # the frontier's end


@pytest.mark.parametrize("mu", [0.02, 0.05, 0.1, 0.15])
def test_the_frontiers_policy_attains_the_optimum(mu):
    score = evaluate("optimal", PEEK, detector={"mu": mu}, **TWO)
    point = hidden_point(SHEET, FrontierPlayer(mu=mu, high="super=100"))
    assert score.source == "probabilities"
    assert float(score.profit) + 0.025 == pytest.approx(point.profit, abs=1e-6)
    assert score.information == pytest.approx(point.information, abs=1e-6)
    assert score.value == pytest.approx(float(score.bounds.optimum), abs=1e-9)
    assert score.bounds.optimum == pytest.approx(
        point.profit - 0.025 - mu * point.information, abs=1e-9
    )
    assert score.normalized == pytest.approx(1, abs=1e-6)
    assert score.gap == pytest.approx(0, abs=1e-9)


def test_beyond_the_limit_price_blind_play_is_best():
    bounds = stealth_bounds(make_settings(PEEK, detector={"mu": 0.2}, **TWO))
    assert bounds.optimum == pytest.approx(-0.025, abs=1e-12)
    assert bounds.random == pytest.approx(-0.025, abs=1e-15)
    assert evaluate("least-slip", PEEK, detector={"mu": 0.2}, **TWO).normalized is None


@pytest.mark.parametrize(("channel", "n"), [({}, 30), (MIXED, 8)], ids=str)
def test_no_policy_is_better_than_the_optimum(channel, n):
    settings = make_settings(PEEK, channel=channel, detector={"mu": 0.3})
    shape = len(watched_bets(settings).chances), 10
    optimum = stealth_bounds(settings).optimum
    for seed in range(n):  # from nearly pure policies to nearly even ones
        weights = np.random.default_rng(seed).dirichlet(np.full(10, 0.1 + seed / n), shape[0])
        score = evaluate(ByChance(settings, weights), PEEK, channel=channel, detector={"mu": 0.3})
        assert score.value < optimum
        assert score.frontier > score.profit


def test_a_declared_detector_leaves_a_choice_for_each_card():
    settings = make_settings(PEEK, detector=BETTOR, **TWO)
    bets = watched_bets(settings)
    logs = declared_log_factors(bets, settings.detector)
    best = evaluate("optimal", PEEK, detector=BETTOR, **TWO)
    assert best.source == "argmax"
    # every one of the 2 ** 13 choices, slowly
    gains = (bets.values[:13] - 0.1 * logs) / 13
    sums = np.zeros(1)
    for row in gains:
        sums = np.add.outer(sums, row).ravel()
    assert len(sums) == 2**13
    assert best.value == pytest.approx(sums.max(), abs=1e-12)
    assert best.bounds.optimum == pytest.approx(sums.max(), abs=1e-12)
    assert best.bounds.random == pytest.approx(gains.sum(axis=0).max(), abs=1e-12)
    # it stakes on an ace, a two and, to mislead, on a six
    agent = make_agent("optimal", settings)
    assert np.flatnonzero(policy_of(agent, settings)[:13, 1]).tolist() == [0, 1, 5]
    assert (best.information, best.rate) == pytest.approx((0.54020, 0.02801), abs=5e-6)
    # no detector leaves less than the frontier's value
    assert (
        best.bounds.optimum
        > stealth_bounds(make_settings(PEEK, detector={"mu": 0.1}, **TWO)).optimum
    )


@pytest.mark.parametrize("detector", [{"mu": 1.0}, BETTOR | {"mu": 1.0}], ids=str)
def test_played_rounds_pay_the_exact_value(detector):
    """At a price of one unit the nats weigh as much as the money."""
    settings = make_settings(PEEK, detector=detector, **TWO)
    agent = make_agent("random", settings)
    policy = np.random.default_rng(3).dirichlet(np.ones(2), 14)
    for player in (agent, ByChance(settings, policy)):
        exact = evaluate(player, PEEK, detector=detector, **TWO)
        seen = simulate(player, settings_as_watched(player, settings), n_rounds=60_000, seed=3)
        assert abs(seen.value - exact.value) < 2 * seen.half_width


def test_a_league_plays_under_the_detector_that_knows_each_agent():
    tree = {"task": PEEK, "agents": ["optimal", "random", "flat:1"], "rounds": 20_000}
    league = benchmark(parse_benchmark(tree | {"env": TWO | {"detector": {"mu": 0.1}}}))
    assert [row.name for row in league.rows] == ["optimal", "random", "flat:1"]
    assert league.warnings == ()
    assert all(abs(row.check.mean - row.score.value) < 0.1 for row in league.rows)
    lines = score_lines(league.rows[0].score)
    assert any("nats a round told to a log of the card" in figure for _, figure in lines)
    record = league.rows[0].score.to_record()
    assert record["frontier_gap"] == pytest.approx(0, abs=1e-9)
    assert record["detector_rate"] == record["information"]


def test_who_gambles_without_saying_how_has_no_ideal_detector():
    class Gambler:
        name = "gambler"

        def initial_state(self, n):
            return None

        def act(self, observations, masks, infos, state, rng):
            return rng.integers(2, size=len(observations)), state

    settings = make_settings(PEEK, detector={"mu": 0.1}, **TWO)
    with pytest.raises(ConfigError, match="'gambler' does not give it"):
        policy_of(Gambler(), settings)
    with pytest.raises(ConfigError, match="declare a detector"):
        evaluate(Gambler(), PEEK, rounds=200, detector={"mu": 0.1}, **TWO)
    assert not evaluate(Gambler(), PEEK, rounds=200, detector=BETTOR, **TWO).is_exact
