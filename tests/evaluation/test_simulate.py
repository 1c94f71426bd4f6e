"""Simulation: the second road, equal to the core step for step and around the exact figures."""

from collections import Counter

import numpy as np
import pytest
from strategies import overlay

from niulab.agents.base import CallableAgent, SamplingAgent
from niulab.agents.baselines import RandomAgent
from niulab.agents.registry import SETTERS, make_agent
from niulab.envs.encoding import ENDED
from niulab.envs.seat.core import Core
from niulab.envs.settings import make_settings
from niulab.errors import ConfigError
from niulab.evaluation.simulate import _Player, simulate

TASKS = {
    "niuniu": ("niulab/NiuNiu-v0", {}),
    "table": ("niulab/Table-v0", {}),
    "session": ("niulab/Session-v0", {}),
    "leaving": ("niulab/Session-v0", {"can_leave": True, "objective": "profit"}),
    "dealt": ("niulab/NiuNiu-v0", {"card_order": "dealt", "objective": "log_wealth"}),
    "sets": ("niulab/Arrange-v0", {"n_rounds": 3, "bankroll_cents": 600}),
    "endless": (
        "niulab/Session-v0",
        {"n_rounds": None, "objective": "time_at_table", "bankroll_cents": 300},
    ),
    "open": ("niulab/Table-v0", {"rules": "even-double-super-bonus"}),
    "push": ("niulab/Table-v0", {"rules": "ngau-ngau-hong-kong"}),
    "capped": (
        "niulab/Session-v0",
        {
            "rules": overlay(
                "single-double-super", '[boxes.super.cover]\nshortfall = "cap_loss"\n'
            ),
            "menu": ["single=100", "single=100,super=1000", "single=100,super=2000"],
        },
    ),
}


@pytest.mark.parametrize(("sheet", "z"), [("003", 4.5), ("hong-kong", 4.5)])
@pytest.mark.parametrize("name", SETTERS)
def test_the_interval_lies_around_the_exact_value(name, sheet, z, scores_of):
    score = scores_of(sheet)[name]
    settings = make_settings("niulab/Arrange-v0", rules=score.rules)
    seen = simulate(make_agent(name, settings), settings, n_rounds=20_000, seed=5).estimate
    assert seen.n_rounds == 20_000
    assert abs(seen.mean - float(score.value)) < z / 1.96 * seen.half_width


@pytest.mark.parametrize("task", TASKS)
def test_episodes_in_the_batch_equal_those_of_the_core(task):
    """What lets a batch stand for single episodes: the same returns and ends."""
    env_id, words = TASKS[task]
    settings = make_settings(env_id, **words)

    def mixed(observations, masks):
        # as good as random, but a function of what is seen; sometimes illegal
        keys = (observations * np.arange(1, observations.shape[1] + 1)).sum(axis=1)
        return keys.astype(int) % masks.shape[1]

    agent = CallableAgent(mixed)
    many = _Player(agent, settings)
    returns, ends = by_core(settings, agent, range(99, 139))
    assert many(99, 40, np.random.default_rng(0)).tolist() == returns
    assert many.ends == ends


def by_core(settings, agent, seeds):
    """Returns and ends of one episode a seed, played one after the other."""
    core, returns, ends = Core(settings), [], Counter()
    for seed in seeds:
        state, total = core.start(seed), 0.0
        while state.phase != ENDED:
            mask = core.mask(state)
            action, _ = agent.act(core.observe(state)[None], mask[None], {}, None, None)
            state, transition = core.step(state, int(action[0]))
            total += transition.reward
        returns.append(total)
        ends[transition.end] += 1
    return returns, ends


def test_setting_best_in_a_session_is_the_session_that_sets_by_itself():
    both, bets = make_settings("niulab/NiuNiu-v0"), make_settings("niulab/Session-v0")
    words = {"n_rounds": 500, "seed": 3}
    played = simulate(make_agent("flat:3+first-found-base", both), both, **words)
    assert played.estimate == simulate(make_agent("flat:3", bets), bets, **words).estimate
    assert sum(played.ends.values()) == 500


def test_the_same_seed_gives_the_same_figures_whatever_the_global_state(arrange):
    agent = RandomAgent()
    first = simulate(agent, arrange, n_rounds=5000, seed=1)
    np.random.seed(3)  # noqa: NPY002  # the global state that must not matter
    assert simulate(agent, arrange, n_rounds=5000, seed=1) == first
    assert simulate(agent, arrange, n_rounds=5000, seed=2).estimate != first.estimate


def test_every_agent_meets_the_same_cards(arrange):
    hands = []

    def remember(observations):
        hands.append(observations.copy())
        return np.zeros(len(observations), dtype=int)

    for _ in range(2):
        simulate(CallableAgent(remember), arrange, n_rounds=100, seed=4)
    assert (hands[0] == hands[1]).all()


def test_rewards_are_settled_and_unscaled_whatever_the_task_trains_on():
    plain = make_settings("niulab/Arrange-v0")
    shaped = make_settings("niulab/Arrange-v0", reward="expected", reward_scale=10.0)
    agent = make_agent("greedy-pair", plain)
    assert (
        simulate(agent, plain, n_rounds=1000).estimate
        == simulate(agent, shaped, n_rounds=1000).estimate
    )


def test_sampling_probabilities_is_uniform_play_for_random(arrange):
    seen = simulate(SamplingAgent(RandomAgent()), arrange, n_rounds=20_000).estimate
    assert abs(seen.mean - -0.5648681) < 2.3 * seen.half_width


def test_an_interval_needs_rounds(arrange):
    with pytest.raises(ConfigError, match="at least 2 rounds"):
        simulate(RandomAgent(), arrange, n_rounds=1)


@pytest.mark.parametrize(
    "words", [{"seed": -1}, {"seed": 1.5}, {"seed": 1 << 63}, {"n_rounds": 1}, {"n_rounds": 2.5}]
)
def test_numbers_that_are_none_are_refused(words):
    settings = make_settings("niulab/Arrange-v0")
    with pytest.raises(ConfigError, match=r"whole number|at least 2 rounds"):
        simulate(RandomAgent(), settings, **words)
