"""Leagues: ranked, checked by simulation, and loud about what cannot be."""

import inspect
from dataclasses import fields, replace
from fractions import Fraction

import numpy as np
import pytest
from strategies import overlay

from niulab.agents.registry import make_agent
from niulab.envs.multi import parallel_env
from niulab.envs.settings import EnvSettings, make_settings
from niulab.envs.single import NiuNiuEnv
from niulab.envs.vector import NiuNiuVectorEnv
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
    score = evaluate("flat:1", "niulab/Session-v0", rounds=400, seed=2, **shoe)
    assert isinstance(score, SimulatedScore)
    assert score.estimate.n_rounds == 400
    assert "simulated, with an interval: rounds of one shoe" in score.notes[0]
    assert score.bounds == Bounds(None, None)


@pytest.mark.parametrize("taker", [evaluate, NiuNiuEnv, NiuNiuVectorEnv, parallel_env])
def test_no_word_of_its_own_hides_a_keyword_of_the_environment(taker):
    own = {*inspect.signature(taker).parameters}
    assert own.isdisjoint({field.name for field in fields(EnvSettings)} | {"slip"})


def test_a_deadline_reaches_the_environment():
    """Three rounds of one unit on Single, which pays 0.95: 2.8 more takes a win in each."""
    score = evaluate("least-slip", "niulab/Session-v0", n_rounds=3, **THREE_UP)
    assert score.value == 1 / 8


THREE_UP = {"bankroll_cents": 1_000, "target_cents": 1_280}


class HalfAndHalf:
    """By its argmax the first slip; by chance as often the last."""

    name = "half and half"

    def initial_state(self, n):
        return None

    def act(self, observations, masks, infos, state, rng):
        return np.zeros(len(observations), dtype=np.int64), state

    def probabilities(self, observations, masks):
        shares = np.zeros(masks.shape)
        shares[:, [0, -1]] = 0.5
        return shares


SIMULATED = {
    "niulab/Shoe-v0": {"n_rounds": 1},
    "niulab/Loophole-v0": {
        "n_rounds": 2,
        "sheets": ["single-double-super", "even-double-super-bonus"],
        "menu": ["single=100", "single=1000"],
    },
}


@pytest.mark.parametrize("task", SIMULATED)
def test_probabilities_are_played_where_a_score_is_simulated(task):
    words = {"rounds": 4_000, **SIMULATED[task]}
    first, last = (evaluate(f"flat:{slip}", task, **words) for slip in (0, LAST[task]))
    likeliest = evaluate(HalfAndHalf(), task, **words)
    by_chance = evaluate(HalfAndHalf(), task, stochastic=True, **words)
    assert float(likeliest.value) == float(first.value)
    middle = (float(first.value) + float(last.value)) / 2
    margin = 3 * (by_chance.half_width + last.half_width)
    assert float(by_chance.value) == pytest.approx(middle, abs=margin)
    assert by_chance.half_width > 2 * likeliest.half_width  # the large slip is played as well
    assert "by its probabilities" in by_chance.notes[-1]
    with pytest.raises(ConfigError, match="gives no probabilities"):
        evaluate("least-slip", task, stochastic=True, **words)


LAST = {"niulab/Shoe-v0": 9, "niulab/Loophole-v0": 1}


def test_bounds_that_differ_by_rounding_make_no_score():
    assert Bounds(0.0, 3.6e-15, gap=1.2e-14).normalize(0.0) is None
    assert Bounds(0.3, 0.3 + 1e-15).normalize(0.3) is None
    assert Bounds(Fraction(0), Fraction(1, 10**9)).normalize(Fraction(1, 10**9)) == 1


def test_a_policy_that_answers_by_chance_is_simulated_and_said(arrange):
    class Chance:
        name = "chance"

        def initial_state(self, n):
            return None

        def act(self, observations, masks, infos, state, rng):
            return rng.integers(10, size=len(observations)), state

    score = evaluate(Chance(), rounds=2000)
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
