"""Exact scores under continuous stakes: against simulation, and against a small programme."""

from collections import Counter
from functools import cache

import numpy as np
import pytest
from strategies import overlay

from niulab.agents.base import CallableAgent
from niulab.agents.registry import agent_names, as_agent, make_agent
from niulab.engine.settlement import settle
from niulab.engine.wagers import Slip, exposure_cents
from niulab.envs.settings import make_settings
from niulab.envs.stakes.mapping import StakeMap
from niulab.errors import ConfigError
from niulab.evaluation.benchmark import known_bounds, score_agent
from niulab.evaluation.sessions.exact import session_bounds
from niulab.evaluation.simulate import simulate
from niulab.solvers.joint_law import joint_law

STAKE = "niulab/SessionStake-v0"
SMALL = {"bankroll_cents": 500, "target_cents": 1_000, "n_rounds": 3, "maximum_cents": 400}
"""A task small enough for a programme by hand: 21 slips, 200 bankrolls."""


def small(**keywords):
    return make_settings(STAKE, **SMALL | keywords)


def score_of(policy, **keywords):
    settings = small(**keywords)
    return score_agent(as_agent(policy, settings), settings, task=STAKE, n_rounds=20_000)


def by_hand(settings, weigh):
    """P(target) by recursion over bankrolls; ``weigh`` makes a state's value of its slips'."""
    rules, law = settings.rules, joint_law(settings.rules)

    @cache
    def nets(slip):
        counts = Counter()
        for cell, n in law.cells.items():
            counts[cell.settle(rules, slip).net_cents] += n
        return [(net, n / law.n_deals) for net, n in counts.items()]

    @cache
    def value(bankroll, left):
        if bankroll >= settings.target_cents:
            return 1.0
        if not left or bankroll < 100:
            return 0.0
        return weigh(
            bankroll,
            {
                slip: sum(p * value(bankroll + net, left - 1) for net, p in nets(slip))
                for slip in settings.menu
                if exposure_cents(rules, slip) <= bankroll
            },
        )

    return value(settings.bankroll_cents, settings.n_rounds)


def test_the_bounds_are_those_of_a_small_programme():
    settings = small()
    bounds = session_bounds(settings)
    optimum = by_hand(settings, lambda _, values: max(values.values()))
    assert bounds.optimum == pytest.approx(optimum, abs=1e-13)
    assert 0 < bounds.gap < 1e-12

    stakes = StakeMap(settings)

    def mean(bankroll, values):
        shares = stakes.shares(np.array([bankroll]))[0]
        return sum(shares[settings.menu.index(slip)] * value for slip, value in values.items())

    assert bounds.random == pytest.approx(by_hand(settings, mean), abs=1e-13)


def test_the_optimum_is_no_less_than_that_of_a_menu_on_the_grid():
    menu = session_bounds(make_settings("niulab/Session-v0"))
    grid = known_bounds(make_settings(STAKE))
    assert grid.optimum > menu.optimum + 0.05
    assert grid.gap < 1e-12
    alike = small(stakes="menu", chip_cents=None, maximum_cents=None, menu=small().menu)
    assert session_bounds(alike).optimum == session_bounds(small()).optimum
    assert session_bounds(alike).random != session_bounds(small()).random


def test_the_optimal_agent_answers_vectors_and_scores_one():
    settings = small()
    agent = make_agent("optimal", settings)
    score = score_agent(agent, settings, task=STAKE)
    assert score.is_exact
    assert score.normalized == pytest.approx(1, abs=1e-9)
    answer, _ = agent.act(
        np.array([[1, 0.5, 1]], dtype=np.float32), np.ones((1, 21), dtype=bool), {}, None, None
    )
    assert answer.shape == (1, 3)
    assert answer.dtype == np.float32


@pytest.mark.parametrize(
    "name", ["optimal", "random", "least-slip", "flat:single=300,double=100", "system:martingale"]
)
def test_exact_values_are_what_play_in_the_environment_earns(name):
    settings = small()
    agent = make_agent(name, settings)
    score = score_agent(agent, settings, task=STAKE)
    assert score.is_exact
    seen = simulate(agent, settings, n_rounds=40_000, seed=4)
    assert abs(seen.value - score.value) < 2 * seen.half_width + 1e-12
    assert sum(score.ends.values()) == pytest.approx(1)


def test_flat_play_is_what_the_small_programme_says():
    settings = small()
    slip = Slip.parse("single=300,double=100")
    flat = by_hand(settings, lambda _, v: v.get(slip, v[Slip.parse("single=100")]))
    assert score_of(f"flat:{slip}").value == pytest.approx(flat, abs=1e-13)


def test_functions_and_models_are_asked_for_vectors():
    def boldly(observations):
        return np.tile([1.0, -1.0, -1.0], (len(observations), 1))

    class Model:
        def predict(self, observation, deterministic=True):
            return boldly(observation).astype(np.float32), None

    settings = small()
    most = [Slip.parse(f"single={100 * units}") for units in range(1, 5)]
    bold = by_hand(settings, lambda _, v: v[next(s for s in reversed(most) if s in v)])
    for policy in (boldly, Model()):
        score = score_of(policy)
        assert score.is_exact
        assert score.value == pytest.approx(bold, abs=1e-13)


@pytest.mark.parametrize(
    "answer", [np.zeros(5, dtype=np.int64), np.zeros((5, 2)), np.full((5, 3), np.nan)], ids=str
)
def test_other_answers_are_refused(answer):
    def answering(observations):
        return np.resize(answer, (len(observations), *answer.shape[1:]))

    with pytest.raises(ConfigError, match="gave another answer than stakes: stakes are numbers"):
        score_of(CallableAgent(answering))


def test_chance_and_memory_are_told_apart():
    rng = np.random.default_rng(0)
    score = score_of(lambda seen: rng.uniform(-1, 1, (len(seen), 3)))
    assert not score.is_exact
    assert "by chance or memory" in score.notes[0]
    assert abs(score.value - session_bounds(small()).random) < 2 * score.half_width


def test_short_cover_settles_in_the_environment_as_in_the_programme():
    """Under cover that may fall short one slip is settled otherwise at every bankroll."""
    keywords = SMALL | {"rules": "even-double-super-bonus", "maximum_cents": 200, "n_rounds": 2}
    settings = make_settings(STAKE, **keywords)
    agent = make_agent("random", settings)
    score = score_agent(agent, settings, task=STAKE)
    seen = simulate(agent, settings, n_rounds=40_000, seed=9)
    assert score.is_exact
    assert abs(seen.value - score.value) < 2 * seen.half_width


def test_names_of_agents_can_all_be_made():
    settings = small(maximum_cents=200)
    names = agent_names(settings)
    assert {"random", "optimal", "least-slip", "flat:0", "system:bold"} <= {*names}
    for name in names:
        assert make_agent(name, settings).name


def test_rounding_commissions_settle_each_slip_by_itself():
    """Net per unit times stakes is not the net where payments round."""
    text = (
        "[table]\nchip_unit_cents = 10\n[boxes.single]\nminimum_cents = 30\n"
        "commission = { rate = '1/20', rounding = 'floor' }\n"
    )
    rules = overlay("single-double-super", text)
    settings = small(rules=rules, chip_cents=10, maximum_cents=70, target_cents=520, n_rounds=1)
    nets = {
        str(slip): settle(rules, slip, outcome=2, player_rank=1, dealer_rank=0).net_cents
        for slip in (Slip.parse("single=30"), Slip.parse("single=50"))
    }
    assert nets == {"single=30": 28, "single=50": 47}
    wins = by_hand(settings, lambda _, values: max(values.values()))
    assert session_bounds(settings).optimum == pytest.approx(wins, abs=1e-13)
