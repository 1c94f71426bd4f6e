"""Counters bet what the exact values say, and need no more than the cards they were shown."""

import numpy as np
import pytest

from niulab.agents.betting.counters import LinearCounter, OptimalCounter
from niulab.agents.registry import BETTORS, make_agent
from niulab.envs.settings import make_settings
from niulab.envs.vector import NiuNiuVectorEnv
from niulab.errors import ConfigError
from niulab.evaluation.edges.shoe import shoes
from niulab.solvers.shoes.slips import shoe_slips

SHOE = "niulab/Shoe-v0"
MAINS = ["even=100", "even=500,bonus=500", "even=100,bonus=100"]


def bets(agent, settings, seed, n=16):
    env = NiuNiuVectorEnv(n, settings)
    observations, infos = env.reset(seed=seed)
    memory, chosen = agent.initial_state(n), []
    for _ in range(settings.n_rounds):
        actions, memory = agent.act(observations, env.action_masks(), infos, memory, None)
        chosen.append(actions)
        observations, *_, infos = env.step(actions)
    return np.array(chosen).T


@pytest.mark.parametrize("kind", [OptimalCounter, LinearCounter])
def test_every_view_leads_to_the_same_bets(kind):
    (some,) = shoes(make_settings(SHOE), n_shoes=16, seed=0)
    found = []
    for words in ({}, {"shoe": "counts"}, {"shoe": "cards"}, {"shoe": "cards", "encoding": "ids"}):
        settings = make_settings(SHOE, **words)
        found.append(bets(kind(settings), settings, some.seed))
    assert all((other == found[0]).all() for other in found)
    assert len(np.unique(found[0])) > 1


@pytest.mark.parametrize("menu", [None, MAINS], ids=["one main stake", "several"])
def test_the_optimum_bets_the_highest_exact_value(menu):
    words = {} if menu is None else {"menu": menu}
    settings = make_settings(SHOE, shoe="counts", **words)
    (some,) = shoes(settings, n_shoes=4, seed=1)
    chosen = bets(OptimalCounter(settings), settings, some.seed, n=4)
    nets = shoe_slips(settings.rules, settings.menu).nets(some.left.reshape(-1, 52))
    assert chosen.ravel().tolist() == nets.argmax(axis=1).tolist()


def test_the_count_is_blind_to_suits():
    """Effects of removal are those of faces and of the rest: no linear count sees suits."""
    settings = make_settings(SHOE, shoe="counts")
    agent = LinearCounter(settings)
    left = np.full((1, 52), 2)
    of_spades = left.copy()
    of_spades[0, 3:40:4] = 5  # no face among them
    of_spades[0, 0:40:4] = 0
    of_spades[0, 1:40:4] = 1
    assert left.sum() == of_spades.sum()
    effects, first = agent._effects, agent._choose(left)
    assert np.unique(effects[9]).size == 2
    assert agent._choose(of_spades) == first == 0
    assert OptimalCounter(settings)._choose(of_spades) == 9


def test_who_cannot_count_is_told_why():
    with pytest.raises(ConfigError, match="shoe=None"):
        make_agent("counter", make_settings("niulab/Session-v0"))
    with pytest.raises(ConfigError, match="plays for profit"):
        OptimalCounter(make_settings(SHOE, bankroll_cents=100_000))
    settings = make_settings(SHOE, menu=MAINS)
    with pytest.raises(ConfigError, match="give shoe='counts'"):
        bets(OptimalCounter(settings), settings, 0, n=2)
    assert {make_agent(name, settings).name for name in ("counter", "optimal")} <= set(BETTORS)
