"""Other people's policies become agents, or are refused in one sentence."""

import numpy as np
import pytest
from gymnasium import spaces

from niulab.agents.base import (
    Agent,
    CallableAgent,
    HandSetter,
    PredictAgent,
    SamplingAgent,
    StochasticAgent,
    as_actions,
)
from niulab.agents.baselines import OracleAgent, RandomAgent
from niulab.envs.settings import make_settings
from niulab.errors import ConfigError

OBSERVATIONS = np.arange(12, dtype=np.float32).reshape(4, 3)
MASKS = np.ones((4, 10), dtype=np.bool_)


def act(agent, masks=MASKS, state=None, seed=0):
    return agent.act(OBSERVATIONS, masks, {}, state, np.random.default_rng(seed))


def test_the_protocols_tell_what_an_agent_can():
    oracle, chance = OracleAgent(make_settings("niulab/Arrange-v0")), RandomAgent()
    assert isinstance(oracle, Agent)
    assert isinstance(oracle, HandSetter)
    assert not isinstance(oracle, StochasticAgent)
    assert isinstance(chance, StochasticAgent)
    assert not isinstance(chance, HandSetter)
    assert not isinstance(len, Agent)


def test_a_function_of_observations_acts():
    agent = CallableAgent(lambda seen: seen[:, 0].astype(int) // 3, "thirds")
    actions, _ = act(agent)
    assert agent.name == "thirds"
    assert actions.dtype == np.int64
    assert actions.tolist() == [0, 1, 2, 3]


def test_a_function_of_observations_and_masks_sees_both():
    masks = np.zeros((4, 10), dtype=np.bool_)
    masks[:, 7] = True

    def first_legal(observations, masks):
        return masks.argmax(axis=1)

    agent = CallableAgent(first_legal)
    assert agent.name == "first_legal"
    assert act(agent, masks)[0].tolist() == [7, 7, 7, 7]


@pytest.mark.parametrize(
    ("answer", "what"),
    [
        (np.zeros(4), "float64"),
        (np.zeros((4, 2), dtype=int), r"shape \(4, 2\)"),
        (np.zeros(3, dtype=int), r"shape \(3,\)"),
        (None, "object"),
    ],
)
def test_an_answer_that_is_no_action_per_row_is_refused(answer, what):
    with pytest.raises(ConfigError, match=f"'x' answered 4 observations.*{what}"):
        as_actions(answer, 4, "x")


def test_a_column_of_actions_counts_as_a_row_each():
    assert as_actions(np.array([[1], [2]]), 2, "x").tolist() == [1, 2]


class Predictor:
    """SB3's words, and a record of what was said."""

    def __init__(self, observation_space=None):
        self.observation_space = observation_space
        self.said = []

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        self.said.append((observation, state, deterministic))
        return np.full(4, 2), "memory"


def test_an_object_with_predict_is_asked_for_its_likeliest_action():
    model = Predictor()
    agent = PredictAgent(model)
    actions, state = act(agent, state=agent.initial_state(4))
    act(agent, state=state)
    assert actions.tolist() == [2, 2, 2, 2]
    assert agent.name == "Predictor"
    assert [said[1:] for said in model.said] == [(None, True), ("memory", True)]


def test_a_model_trained_with_masks_in_the_observation_gets_them_there():
    box, mask = spaces.Box(0, 1, (3,)), spaces.MultiBinary(10)
    model = Predictor(spaces.Dict({"observation": box, "action_mask": mask}))
    act(PredictAgent(model))
    seen = model.said[0][0]
    assert seen["observation"] is OBSERVATIONS
    assert seen["action_mask"].tolist() == MASKS.tolist()


def test_a_maskable_model_gets_the_masks():
    class Maskable:
        def predict(self, observation, action_masks=None):
            return action_masks.sum(axis=1) - 1, None

    assert act(PredictAgent(Maskable()))[0].tolist() == [9, 9, 9, 9]


def test_a_model_of_another_task_is_refused_with_the_shape_it_met():
    class Foreign:
        def predict(self, observation, deterministic=True):
            raise ValueError("Unexpected observation shape (4, 3)")

    with pytest.raises(ConfigError, match=r"does not take observations of shape \(3,\)"):
        act(PredictAgent(Foreign(), "ppo"))


def test_a_sampling_agent_acts_by_the_probabilities():
    class Sure:
        name = "sure"

        def initial_state(self, n):
            return None

        def act(self, observations, masks, infos, state, rng):
            raise AssertionError("the likeliest action is not asked for")

        def probabilities(self, observations, masks):
            rows = np.zeros((len(observations), 10))
            rows[:, 3], rows[:, 8] = 0.25, 0.75
            return rows

    agent = SamplingAgent(Sure())
    rng = np.random.default_rng(0)
    seen, masks = np.zeros((40_000, 1)), np.ones((40_000, 10), dtype=np.bool_)
    actions, _ = agent.act(seen, masks, {}, None, rng)
    counts = np.bincount(actions, minlength=10)
    assert counts[[3, 8]].sum() == 40_000
    assert abs(counts[3] / 40_000 - 0.25) < 0.01
