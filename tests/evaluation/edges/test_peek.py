"""A look before the bet: exact scores of any policy, and the environment beside them."""

from fractions import Fraction

import numpy as np
import pytest

from niulab.agents.base import CallableAgent
from niulab.agents.registry import make_agent
from niulab.envs.settings import make_settings
from niulab.errors import ConfigError
from niulab.evaluation import benchmark, evaluate, known_bounds
from niulab.evaluation.config import parse_benchmark, read_benchmark
from niulab.evaluation.edges.peek import evaluate_peek, peek_bounds, why_peek_simulated
from niulab.evaluation.rounds import why_round_simulated
from niulab.evaluation.simulate import simulate
from niulab.evaluation.tables import score_lines

PEEK = "niulab/Peek-v0"


@pytest.fixture(scope="module")
def peek():
    return make_settings(PEEK)


def test_the_optimum_is_one_and_the_best_blind_slip_is_zero(peek):
    best, blind = (evaluate(name, PEEK) for name in ("optimal", "least-slip"))
    assert best.value == best.bounds.optimum == Fraction(13777061279, 75734158500)
    assert (best.normalized, best.regret) == (1, 0)
    assert blind.value == blind.bounds.random == Fraction(-1, 40)
    assert blind.normalized == 0
    assert best.slips == {
        "single=100": Fraction(9, 13),
        "single=100,super=200": Fraction(1, 13),
        "single=500,double=500,super=100": Fraction(3, 13),
    }
    assert best.win_probability == Fraction(1, 2)
    assert known_bounds(peek) == best.bounds
    assert best.to_dict()["bounds"]["floor"] == "best blind slip"
    assert ("best blind slip", "-0.0250000") in score_lines(best)
    assert "floor" not in evaluate("least-slip", "niulab/Table-v0").to_dict()["bounds"]


def test_uniform_play_is_scored_by_its_probabilities():
    score = evaluate("random", PEEK)
    assert score.source == "probabilities"
    assert set(score.slips.values()) == {Fraction(1, 10)} or sum(score.slips.values()) == 1
    assert float(score.value) == pytest.approx(-0.172514, abs=1e-6)
    assert "-0.172514" in " ".join(score.notes)
    assert score.normalized < 0


@pytest.mark.parametrize(
    "channel",
    [{}, {"position": "dealer", "see_rate": 0.6, "noise": 0.2}, {"shows": ["10 J Q K"]}],
    ids=str,
)
def test_the_environment_pays_what_the_exact_score_says(channel):
    settings = make_settings(PEEK, channel=channel)
    agent = make_agent("optimal", settings)
    exact = evaluate_peek(agent, settings)
    seen = simulate(agent, settings, n_rounds=60_000, seed=3).estimate
    assert abs(seen.mean - float(exact.value)) < 2 * seen.half_width
    assert exact.value > exact.bounds.random


def test_any_function_of_the_observation_is_scored(peek):
    def on_kings(observations, masks):
        return np.where(observations[:, 13] > 0, 3, 0)

    score = evaluate_peek(CallableAgent(on_kings), peek)
    assert score.slips == {"single=100": Fraction(12, 13), "single=1000": Fraction(1, 13)}
    assert 0 < score.normalized < 1
    assert score.value + score.regret == score.bounds.optimum


def test_illegal_answers_become_the_least_slip(peek):
    score = evaluate_peek(CallableAgent(lambda seen: np.full(len(seen), 10)), peek)
    assert (score.n_illegal, score.slips) == (13, {"single=100": 1})


def test_nothing_is_asked_about_only_if_it_can_be_shown():
    asked = []

    def note(observations, masks):
        asked.append(len(observations))
        return np.zeros(len(observations), dtype=np.int64)

    for see_rate, n in ((1, 13), (0.5, 14)):
        settings = make_settings(PEEK, channel={"see_rate": see_rate})
        evaluate_peek(CallableAgent(note), settings)
        assert asked[-1] == n


def test_bets_by_chance_are_simulated(peek):
    class Gambler:
        name = "gambler"

        def initial_state(self, n):
            return None

        def act(self, observations, masks, infos, state, rng):
            return rng.integers(2, size=len(observations)), state

    with pytest.raises(ConfigError, match="'gambler' has no exact score: it bets by chance"):
        evaluate_peek(Gambler(), peek)
    score = evaluate(Gambler(), PEEK, rounds=200)
    assert not score.is_exact
    assert score.bounds == peek_bounds(peek)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ({"channel": None}, "no channel"),
        ({"n_rounds": 3}, "whole sessions"),
        ({"bankroll_cents": 900}, "whole sessions"),
        ({"can_leave": True}, "may leave"),
    ],
)
def test_what_is_not_exact_yet_says_so(words, part):
    settings = make_settings(PEEK, **words)
    agent = make_agent("least-slip", settings)
    assert part in why_peek_simulated(agent, settings)
    if settings.channel is not None:
        assert known_bounds(settings).optimum is None
        assert "channel" in why_round_simulated(agent, settings)


def test_a_session_after_looks_is_simulated_and_no_gain_is_an_alarm():
    tree = {"task": PEEK, "agents": ["optimal"], "rounds": 4_000, "seed": 0}
    league = benchmark(parse_benchmark(tree | {"env": {"n_rounds": 20}}))
    assert league.rows[0].score.value > 1
    assert league.warnings == ()
    session = evaluate("least-slip", "niulab/Session-v0", channel={}, rounds=200)
    assert not session.is_exact


def test_the_shipped_benchmark_ranks_the_optimum_first():
    config = read_benchmark("peek")
    assert config.task == PEEK
    assert config.agents[0] == "optimal"
