import json

import numpy as np
import pytest
import torch
from gymnasium import Wrapper
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.utils import get_action_masks, is_masking_supported
from stable_baselines3 import SAC
from stable_baselines3.common.vec_env import VecEnv

import niulab
from niulab.envs import NiuNiuEnv, make_settings
from niulab.envs.vector import NiuNiuVectorEnv
from niulab.errors import ConfigError
from niulab.training.sb3_vec import Sb3Vec, make_sb3_vec

ARRANGE = make_settings("niulab/Arrange-v0", encoding="ids")
NIUNIU = make_settings("niulab/NiuNiu-v0", n_rounds=2)
SHOE = make_settings("niulab/Shoe-v0", shoe="cards", n_rounds=3)
TASKS = pytest.mark.parametrize(
    "settings", [ARRANGE, NIUNIU, SHOE], ids=["arrange", "niuniu", "shoe"]
)


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
        for row in np.flatnonzero(~dones):
            assert infos[row] == {}
    assert n_ended > 0
    assert env.get_attr("settings", indices=[0, 2]) == [settings, settings]
    assert env.env_is_wrapped(Wrapper) == [False] * 5
    env.close()


def test_rows_play_what_single_environments_play():
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


def test_an_episodes_return_is_the_sum_of_its_rewards_and_no_others():
    env = make_sb3_vec(4, make_settings("niulab/NiuNiu-v0", objective="profit", target_cents=None))
    env.seed(1)
    env.reset()
    returns, lengths = np.zeros(4), np.zeros(4, dtype=np.int64)
    n_ended = 0
    for _ in range(60):
        _, rewards, dones, infos = env.step(np.zeros(4, dtype=np.int64))
        returns += rewards
        lengths += 1
        for row in np.flatnonzero(dones):
            n_ended += 1
            assert infos[row]["episode"]["r"] == pytest.approx(returns[row])
            assert infos[row]["episode"]["l"] == lengths[row]
        returns[dones], lengths[dones] = 0, 0
    assert n_ended >= 8


def test_a_batch_of_masks_is_made_once_per_step():
    env = make_sb3_vec(64, ARRANGE)
    made = []
    native = env.env.action_masks
    env.env.action_masks = lambda: made.append(1) or native()
    get_action_masks(env)
    assert len(made) == 1


def test_a_batch_that_resets_otherwise_or_writes_over_observations_is_refused():
    with pytest.raises(ConfigError, match="SameStep"):
        Sb3Vec(NiuNiuVectorEnv(2, ARRANGE, autoreset_mode="NextStep"))
    with pytest.raises(ConfigError, match="copy=True"):
        Sb3Vec(NiuNiuVectorEnv(2, ARRANGE, copy=False))


def test_rows_share_attributes_and_have_no_methods_of_their_own():
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
    second.set_state(state)
    for one, other in zip(play(first, 6), play(second, 6), strict=True):
        for a, b in zip(one, other, strict=True):
            assert np.array_equal(a, b)


def test_the_step_limit_counts_as_truncated_unless_the_episode_ended_of_itself():
    """SB3's rule, by which it bootstraps the value of a last state."""
    env = Sb3Vec(NiuNiuVectorEnv(64, NIUNIU, max_episode_steps=4))
    env.seed(2)
    env.reset()
    seen = set()
    for _ in range(16):
        before = env.env.get_state()["rows"]["n_steps"]
        _, _, dones, infos = env.step(np.full(64, 3))
        ends = env.last_infos.get("final_info", {}).get("end", [None] * 64)
        for row in np.flatnonzero(dones):
            is_cut = infos[row]["TimeLimit.truncated"]
            assert is_cut == (ends[row] == "max_episode_steps")
            assert infos[row]["episode"]["l"] == before[row] + 1
            seen.add((is_cut, before[row] + 1))
    assert (False, 4) in seen
    env = Sb3Vec(NiuNiuVectorEnv(2, NIUNIU, max_episode_steps=1))
    env.reset()
    assert [info["TimeLimit.truncated"] for info in env.step(np.zeros(2, int))[3]] == [True, True]


def test_infos_are_made_when_read_and_stay_as_the_reader_left_them():
    env = make_sb3_vec(3, ARRANGE)
    env.reset()
    infos = env.step(np.zeros(3, dtype=np.int64))[3]
    later = env.step(np.zeros(3, dtype=np.int64))[3]
    assert infos._rows == [None] * 3
    infos[1]["note"] = 5
    assert infos[1]["note"] == infos[-2]["note"] == 5
    assert [sorted(info) for info in infos[::2]] == [sorted(infos[0])] * 2
    assert len(list(infos)) == len(infos) == 3
    assert infos[0]["terminal_observation"].tolist() != later[0]["terminal_observation"].tolist()
    with pytest.raises(IndexError):
        infos[3]


def test_an_observed_mask_comes_as_a_dict():
    env = make_sb3_vec(3, make_settings("niulab/Table-v0", mask="observation"))
    assert env.reset().keys() == env.observation_space.spaces.keys()
    env.step(np.zeros(3, dtype=np.int64))
    seen, _, _, infos = env.step(np.zeros(3, dtype=np.int64))
    assert seen["observation"].shape[0] == 3
    assert env.observation_space.contains(infos[2]["terminal_observation"])


@pytest.fixture
def one_thread():
    """Torch's threads only get in each other's way on networks as small as these."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def test_maskable_ppo_learns_on_256_rows_and_reports_their_episodes(one_thread):
    env = make_sb3_vec(256, make_settings("niulab/Session-v0", bankroll_cents=600))
    model = MaskablePPO(
        "MlpPolicy", env, n_steps=12, batch_size=1_024, n_epochs=1, seed=0, device="cpu"
    )
    model.learn(2 * 12 * 256)
    assert model.num_timesteps == 2 * 12 * 256
    assert len(model.ep_info_buffer) == 100
    assert all(1 <= episode["l"] <= 6 for episode in model.ep_info_buffer)
    assert "illegal_action" not in env.last_infos


def test_sac_trains_on_continuous_stakes_and_its_policy_is_scored_exactly():
    settings = make_settings("niulab/SessionStake-v0")
    env = make_sb3_vec(8, settings)
    model = SAC(
        "MlpPolicy", env, policy_kwargs={"net_arch": [16]}, learning_starts=80, batch_size=64,
        gamma=1.0, seed=0, device="cpu",
    )  # fmt: skip
    model.learn(400)
    assert model.num_timesteps == 400
    assert model.replay_buffer.actions.shape[2] == 3
    assert len(model.ep_info_buffer) > 10
    score = niulab.evaluate(model, "niulab/SessionStake-v0")
    assert score.is_exact
    assert score.n_illegal == 0
    assert score.value <= score.bounds.optimum + score.bounds.gap


def test_a_state_of_continuous_stakes_has_the_same_future():
    settings = make_settings("niulab/SessionStake-v0")
    env, other = (make_sb3_vec(3, settings) for _ in range(2))
    env.seed(5)
    env.reset()
    actions = np.random.default_rng(0).uniform(-1, 1, (12, 3, 3)).astype(np.float32)
    for one in actions[:5]:
        env.step(one)
    other.set_state(json.loads(json.dumps(env.get_state())))
    for one in actions[5:]:
        for ours, theirs in zip(env.step(one)[:3], other.step(one)[:3], strict=True):
            assert np.array_equal(ours, theirs)
