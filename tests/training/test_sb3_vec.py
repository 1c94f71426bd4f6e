import json

import numpy as np
import pytest
from gymnasium import Wrapper
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3.common.vec_env import VecEnv

from niulab.envs import NiuNiuEnv, make_settings
from niulab.training.sb3_vec import make_sb3_vec

ARRANGE = make_settings("niulab/Arrange-v0", encoding="ids")
NIUNIU = make_settings("niulab/NiuNiu-v0", n_rounds=2)
TASKS = pytest.mark.parametrize("settings", [ARRANGE, NIUNIU], ids=["native", "in a row"])


@TASKS
def test_a_vec_env_keeps_sb3s_contract(settings):
    env = make_sb3_vec(5, settings)
    assert isinstance(env, VecEnv)
    assert env.seed(3) == [3, 4, 5, 6, 7]
    observations = env.reset()
    space = env.observation_space
    assert observations.shape == (5, *space.shape)
    assert observations.dtype == space.dtype
    n_ended = 0
    for _ in range(8):
        before = observations.copy()
        observations, rewards, dones, infos = env.step(np.zeros(5, dtype=np.int64))
        assert observations.shape == before.shape
        assert observations.dtype == space.dtype
        assert rewards.shape == dones.shape == (5,)
        assert rewards.dtype == np.float32
        assert dones.dtype == np.bool_
        assert len(infos) == 5
        for row in np.flatnonzero(dones):
            n_ended += 1
            assert space.contains(infos[row]["terminal_observation"])
            assert infos[row]["TimeLimit.truncated"] is False
            assert infos[row]["episode"]["l"] >= 1
    assert n_ended > 0
    assert env.get_attr("settings", indices=[0, 2]) == [settings, settings]
    assert env.env_is_wrapped(Wrapper) == [False] * 5
    env.close()


def test_native_rows_play_what_single_environments_play():
    native = make_sb3_vec(3, ARRANGE)
    native.seed(11)
    seen = native.reset()
    singles = [NiuNiuEnv(ARRANGE) for _ in range(3)]
    for row, single in enumerate(singles):
        assert np.array_equal(single.reset(seed=11 + row)[0], seen[row])
    for action in (0, 4, 9):
        seen, rewards, _, infos = native.step(np.full(3, action))
        for row, single in enumerate(singles):
            final, reward, _, _, _ = single.step(action)
            assert reward == pytest.approx(rewards[row])
            assert infos[row]["episode"]["r"] == pytest.approx(reward)
            assert np.array_equal(infos[row]["terminal_observation"], final)
            assert np.array_equal(single.reset()[0], seen[row])


@TASKS
def test_contribs_masking_finds_the_masks(settings):
    env = make_sb3_vec(4, settings)
    env.reset()
    assert is_masking_supported(env)
    masks = get_action_masks(env)
    assert masks.shape == (4, settings.n_actions)
    assert masks.dtype == np.bool_
    assert masks[:, 0].all()


def test_a_batch_of_masks_is_made_once_per_step():
    env = make_sb3_vec(64, ARRANGE)
    made = []
    native = env.env.action_masks
    env.env.action_masks = lambda: made.append(1) or native()
    get_action_masks(env)
    assert len(made) == 1


def test_native_rows_share_attributes_and_have_no_methods_of_their_own():
    env = make_sb3_vec(4, ARRANGE)
    env.set_attr("note", 3)
    assert env.get_attr("note") == [3] * 4
    with pytest.raises(ValueError, match="set it for all of them"):
        env.set_attr("note", 4, indices=[0])
    assert not env.has_attr("nothing")
    with pytest.raises(AttributeError, match="only action_masks"):
        env.env_method("render")


@TASKS
def test_a_state_goes_through_json_and_fixes_the_future(settings):
    def play(env, n):
        return [env.step(np.zeros(3, dtype=np.int64))[:3] for _ in range(n)]

    first = make_sb3_vec(3, settings)
    first.seed(5)
    first.reset()
    play(first, 3)
    state = json.loads(json.dumps(first.get_state()))
    second = make_sb3_vec(3, settings)
    second.reset()
    second.set_state(state)
    for one, other in zip(play(first, 6), play(second, 6), strict=True):
        for a, b in zip(one, other, strict=True):
            assert np.array_equal(a, b)
