"""Agents that remember, and agents whose answers are vectors of stakes."""

import numpy as np
import pytest
import torch

from niulab.agents.models.card import LstmNetwork, MlpNetwork, ModelCard
from niulab.agents.models.file import save_model
from niulab.agents.models.networks import CardLayout, SplitQNetwork, SplitQuantileNetwork
from niulab.agents.models.policies import build_policy
from niulab.agents.models.sb3 import Sb3RecurrentAgent, agent_of, load_agent
from niulab.envs import NiuNiuVectorEnv, make_settings
from niulab.envs.encoding import Encoding
from niulab.errors import ConfigError
from niulab.evaluation.benchmark import score_agent
from niulab.evaluation.exact import why_simulated
from niulab.seeding import generator

SESSION = make_settings("niulab/Session-v0", n_rounds=3)
STAKES = make_settings("niulab/SessionStake-v0", n_rounds=3)
LSTM = LstmNetwork(hidden=(8,), lstm_hidden_size=8, n_lstm_layers=2)
RNG = generator(0, "tests/unused")


@pytest.fixture(scope="module")
def recurrent():
    torch.manual_seed(0)
    policy = build_policy("recurrent_ppo", LSTM, SESSION)
    for weight in policy.parameters():  # large ones, so that answers hang on the memory
        weight.data.mul_(4)
    return policy


def test_a_memory_begins_anew_with_each_episode_as_in_sb3(recurrent):
    n = 32
    env = NiuNiuVectorEnv(n, SESSION)
    agent = Sb3RecurrentAgent(recurrent, SESSION)
    observations, infos = env.reset(seed=1)
    state, theirs, starts = agent.initial_state(n), None, np.zeros(n, dtype=bool)
    n_remembered = n_begun = 0
    for _ in range(9):
        actions, state = agent.act(observations, env.action_masks(), infos, state, RNG)
        expected, theirs = recurrent.predict(
            observations, state=theirs, episode_start=starts, deterministic=True
        )
        assert np.array_equal(actions, expected)
        assert np.allclose(state.hidden.numpy(), theirs[0], atol=1e-6)
        fresh, _ = agent.act(observations, env.action_masks(), {}, agent.initial_state(n), RNG)
        n_remembered += int((actions != fresh).sum())
        assert np.array_equal(actions[starts], fresh[starts])
        n_begun += int(starts.sum())
        observations, _, terminated, truncated, infos = env.step(actions)
        starts = terminated | truncated
    assert n_remembered > 0
    assert n_begun > 0


def test_rows_remember_apart_and_are_counted(recurrent):
    agent = Sb3RecurrentAgent(recurrent, SESSION)
    env = NiuNiuVectorEnv(4, SESSION)
    observations, _ = env.reset(seed=1)
    masks = env.action_masks()
    _, state = agent.act(observations, masks, {}, None, RNG)
    alone, of_one = agent.act(observations[2:3], masks[2:3], {}, agent.initial_state(1), RNG)
    assert len(alone) == 1
    assert torch.allclose(of_one.cell[:, 0], state.cell[:, 2], atol=1e-6)
    with pytest.raises(ConfigError, match=r"remembers 4 rows and was asked about 2"):
        agent.act(observations[:2], masks[:2], {}, state, RNG)


def test_an_agent_that_remembers_is_simulated_and_says_so(recurrent, tmp_path):
    card = ModelCard.of(
        SESSION, task="niulab/Session-v0", algorithm="recurrent_ppo", network=LSTM, seed=3, steps=0
    )
    agent = load_agent(save_model(tmp_path, card, recurrent.state_dict()), SESSION)
    assert agent.name == "recurrent_ppo-lstm-3"
    score = score_agent(agent, SESSION, task="niulab/Session-v0", n_rounds=200)
    assert not score.is_exact
    assert score.notes == ("simulated, with an interval: it remembers what it saw before",)
    expected = score_agent(agent_of(recurrent, SESSION), SESSION, task="", n_rounds=200)
    assert score.value == expected.value
    arrange = make_settings("niulab/Arrange-v0")
    setter = agent_of(build_policy("recurrent_ppo", LSTM, arrange), arrange)
    assert why_simulated(setter, arrange) == "it remembers what it saw before"


@pytest.mark.parametrize("algorithm", ["sac", "td3", "ppo"])
def test_vectors_come_back_as_they_were_and_are_scored_exactly(algorithm, tmp_path):
    torch.manual_seed(0)
    network = MlpNetwork(hidden=(8,))
    policy = build_policy(algorithm, network, STAKES)
    card = ModelCard.of(
        STAKES, task="niulab/SessionStake-v0", algorithm=algorithm, network=network, seed=3, steps=0
    )
    agent = load_agent(save_model(tmp_path, card, policy.state_dict()), STAKES)
    observations = Encoding(STAKES).encode_bets(
        3, bankrolls=np.array([500, 1500, 2000]), rounds_left=2
    )
    vectors, _ = agent.act(observations, np.ones((3, 1), dtype=bool), {}, None, RNG)
    expected, _ = policy.predict(observations, deterministic=True)
    assert vectors.shape == (3, 3)
    assert np.allclose(vectors, expected, atol=1e-6)
    score = score_agent(agent, STAKES, task="niulab/SessionStake-v0")
    assert score.is_exact
    assert 0 <= score.value <= score.bounds.optimum
    with pytest.raises(ConfigError, match="SessionStake"):
        build_policy("sac", network, SESSION)
    with pytest.raises(ConfigError, match="by indices"):
        build_policy("qrdqn", network, STAKES)


@pytest.mark.parametrize("task", ["niulab/Arrange-v0", "niulab/NiuNiu-v0"])
def test_one_quantile_that_adds_all_products_is_the_network_of_values(task):
    settings = make_settings(task, encoding="ids")
    encoding = Encoding(settings)
    words = {
        "layout": CardLayout.of(encoding),
        "highs": encoding.space.high.tolist(),
        "n_actions": settings.n_actions,
        "embedding": 8,
        "hidden": (8,),
    }
    values, quantiles = SplitQNetwork(**words), SplitQuantileNetwork(n_quantiles=1, **words)
    quantiles.load_state_dict({**values.state_dict(), "spread.weight": torch.ones(1, 8)})
    env = NiuNiuVectorEnv(64, settings)
    observations, _ = env.reset(seed=0)
    shown = [observations, env.step(np.zeros(64, dtype=np.int64))[0]]
    for seen in map(torch.as_tensor, shown):
        found = quantiles(seen)
        assert found.shape == (64, 1, settings.n_actions)
        assert torch.allclose(found[:, 0], values(seen), atol=1e-5)
