"""Leagues: ranked, checked by simulation, and loud about what cannot be."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from strategies import overlay

from niulab.agents.registry import make_agent
from niulab.envs.settings import make_settings
from niulab.errors import ConfigError
from niulab.evaluation import (
    ArrangementScore,
    RoundScore,
    SessionScore,
    SimulatedScore,
    benchmark,
    evaluate,
)
from niulab.evaluation.benchmark import Entrant, _alarms, known_bounds
from niulab.evaluation.config import parse_benchmark
from niulab.evaluation.score import Bounds
from niulab.evaluation.statistics import Estimate

N = 2_598_960


@pytest.fixture(scope="module")
def config():
    return parse_benchmark(
        {"task": "niulab/Arrange-v0", "agents": ["random", "oracle"], "rounds": 4000, "seed": 1}
    )


@pytest.fixture(scope="module")
def league(config):
    agent = make_agent("greedy-pair", config.settings)
    entrant = Entrant(agent, "greedy · seed 3", seed=3, origin="runs/x")
    return benchmark(
        config, [entrant], command=["niulab", "benchmark", "my file"], date="2026-01-02"
    )


def test_the_best_value_comes_first(league):
    assert [row.name for row in league.rows] == ["oracle", "greedy · seed 3", "random"]
    assert league.rows[1].seed == 3
    assert league.rows[1].origin == "runs/x"
    assert league.bounds.optimum == league.rows[0].score.value
    assert league.bounds.random == league.rows[2].score.value
    assert league.warnings == ()


def test_a_simulated_cross_check_stands_beside_each_exact_figure(league):
    for row in league.rows:
        assert row.score.is_exact
        assert row.check.n_rounds == 4000
        assert abs(row.check.mean - float(row.score.value)) < 2.3 * row.check.half_width


def test_a_league_says_where_its_figures_come_from(league, config):
    made = league.provenance
    assert made.command == "niulab benchmark 'my file'"
    assert made.date == "2026-01-02"
    assert made.rules_hash == config.settings.rules.rules_hash
    assert (made.seed, made.rounds, made.task) == (1, 4000, "niulab/Arrange-v0")


def test_the_cross_check_can_be_left_out(config):
    quiet = replace(config, rounds=0, agents=("oracle",))
    (row,) = benchmark(quiet).rows
    assert row.check is None


def test_progress_names_the_agent(config):
    seen = set()
    benchmark(
        replace(config, rounds=0, agents=("oracle",)),
        progress=lambda name, done, total: seen.add((name, done == total)),
    )
    assert ("oracle", True) in seen


def test_a_sheet_that_pays_the_player_is_announced():
    rules = overlay("single-double-super", "[boxes.super]\nlose_odds = { default = 1 }\n")
    tree = {"task": "niulab/Arrange-v0", "agents": ["oracle"], "rounds": 0}
    league = benchmark(parse_benchmark(tree | {"env": {"rules": rules}}))
    assert any("super" in warning and "PLAYER" in warning for warning in league.warnings)


def test_alarms_for_what_no_honest_run_shows(league):
    settings = make_settings("niulab/Arrange-v0")
    row = league.rows[0]

    def alarms(seen, bounds=league.bounds):
        return _alarms([replace(row, check=seen)], bounds, settings, [])

    assert alarms(Estimate(-0.03, 0.01, 0.95, 1000)) == []
    assert "one of the two is wrong" in alarms(Estimate(-0.5, 0.01, 0.95, 1000))[0]
    leak = SimulatedScore(
        "x", "t", "r", "h", Estimate(0.5, 0.01, 0.95, 1000), 0, 0, Bounds(None, None), {}
    )
    unknown = Bounds(None, None)
    assert "leak of information" in _alarms([replace(row, score=leak)], unknown, settings, [])[0]
    assert _alarms([replace(row, score=leak)], unknown, settings, ["a defective sheet"]) == []


# ---------------------------------------------------------------- evaluate


def test_evaluate_takes_names_tables_functions_and_models(tmp_path):
    class Model:
        def predict(self, observation, deterministic=True):
            return np.zeros(len(observation), dtype=np.int64), None

    np.save(tmp_path / "zeros.npy", np.zeros(N, dtype=np.uint8))
    scores = [
        evaluate(policy)
        for policy in (
            str(tmp_path / "zeros.npy"),
            Model(),
            lambda observations: np.zeros(len(observations), dtype=int),
        )
    ]
    assert all(isinstance(score, ArrangementScore) for score in scores)
    assert len({score.value for score in scores}) == 1
    assert scores[0].value < evaluate("first-found-base").value


def test_evaluate_takes_a_short_name_and_says_the_whole_one():
    assert evaluate("optimal", "Peek") == evaluate("optimal", "niulab/Peek-v0")
    with pytest.raises(ConfigError, match="did you mean 'Peek'"):
        evaluate("optimal", "Peak")


def test_evaluate_is_exact_for_one_round_with_a_bet():
    rules = overlay("single-double-super", 'arrangement = "dealer_corrects"\n')
    score = evaluate("least-slip", "niulab/Table-v0", rules=rules, menu=["single=100"])
    assert isinstance(score, RoundScore)
    assert score.value == Fraction(-1, 40)


def test_evaluate_scores_sessions_exactly_where_it_can():
    score = evaluate("flat:3", "niulab/Session-v0")
    assert isinstance(score, SessionScore)
    assert score.value == 0.21875  # 14 of the 64 ways six even rounds can go
    assert score.bounds.optimum == pytest.approx(0.364445, abs=1e-6)
    assert 0 < score.bounds.gap < 1e-9
    shoe = {"rules": "six-deck-shoe-bonus", "menu": ["even=100", "even=200"]}
    score = evaluate("flat:1", "niulab/Session-v0", n_rounds=400, seed=2, **shoe)
    assert isinstance(score, SimulatedScore)
    assert score.estimate.n_rounds == 400
    assert "simulated, with an interval: rounds of one shoe" in score.notes[0]
    assert score.bounds == Bounds(None, None)


def test_a_policy_that_answers_by_chance_is_simulated_and_said(arrange):
    class Chance:
        name = "chance"

        def initial_state(self, n):
            return None

        def act(self, observations, masks, infos, state, rng):
            return rng.integers(10, size=len(observations)), state

    score = evaluate(Chance(), n_rounds=2000)
    assert isinstance(score, SimulatedScore)
    assert "by chance or memory" in score.notes[0]
    assert score.bounds == known_bounds(arrange)
    assert abs(score.normalized) < 0.1


def test_bad_input_is_one_clear_error(tmp_path):
    with pytest.raises(ConfigError, match="no environment 'niulab/Arange-v0'"):
        evaluate("oracle", "niulab/Arange-v0")
    with pytest.raises(ConfigError, match="cannot read the table of actions"):
        evaluate(str(tmp_path / "none.npy"))
    with pytest.raises(ConfigError, match="unknown setting 'rulse'"):
        evaluate("oracle", rulse="x")
