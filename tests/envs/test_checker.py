"""Three checkers on every id, with warnings as errors, and our own one on broken environments."""

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from sb3_contrib import MaskablePPO
from stable_baselines3 import A2C, DQN, PPO
from stable_baselines3.common.env_checker import check_env as check_env_of_sb3

from niulab.envs.checker import check_environment
from niulab.envs.registration import ENV_IDS
from niulab.envs.single import NiuNiuEnv

VARIANTS = [
    {},
    {"observation": "uint8"},
    {"mask": "observation"},
    {"rules": "even-double-super-bonus"},
    {"rules": "six-deck-shoe-bonus", "card_order": "dealt"},
]


@pytest.mark.parametrize("keywords", VARIANTS, ids=str)
@pytest.mark.parametrize("env_id", ENV_IDS)
def test_every_id_passes_gymnasiums_sb3s_and_our_checker(env_id, keywords):
    if env_id == "niulab/SessionStake-v0" and "mask" in keywords:
        pytest.skip("continuous stakes have no mask")
    if env_id == "niulab/Shoe-v0" and "rules" in keywords:
        keywords = {**keywords, "shoe": None, "n_rounds": 2}  # one of the sheets keeps no shoe
    check_env(gymnasium.make(env_id, render_mode="ansi", **keywords).unwrapped)
    check_env_of_sb3(gymnasium.make(env_id, **keywords))
    check_environment(gymnasium.make(env_id, **keywords), n_steps=30)


def test_ids_and_other_modes_pass_too():
    check_env(gymnasium.make("niulab/Arrange-v0", encoding="ids").unwrapped)
    check_env_of_sb3(gymnasium.make("niulab/NiuNiu-v0", encoding="ids"))
    check_environment(gymnasium.make("niulab/Session-v0", max_episode_steps=3), n_steps=30)


@pytest.mark.parametrize("algorithm", [PPO, A2C, DQN, MaskablePPO])
def test_sb3_takes_the_default_id_without_a_wrapper(algorithm):
    rollout = {"learning_starts": 4} if algorithm is DQN else {"n_steps": 8}
    rollout |= {"batch_size": 8} if algorithm in {PPO, MaskablePPO} else {}
    env = gymnasium.make("niulab/NiuNiu-v0")
    policy = {"net_arch": [8]}
    model = algorithm("MlpPolicy", env, policy_kwargs=policy, device="cpu", seed=0, **rollout)
    model.learn(16)
    seen, _ = env.reset(seed=0)
    assert model.predict(seen)[0] in env.action_space


class IntegerReward(NiuNiuEnv):
    def step(self, action):
        seen, reward, *rest = super().step(action)
        return seen, np.float32(reward), *rest


class RepeatingStream(NiuNiuEnv):
    def reset(self, *, seed=None, options=None):
        return super().reset(seed=17, options=options)


class WrongMask(NiuNiuEnv):
    def _info(self):
        return super()._info() | {"action_mask": np.zeros(10, dtype=np.int8)}


class LossyState(NiuNiuEnv):
    def set_state(self, state):
        return super().set_state({**state, "state": {**state["state"], "seed": 1}})


@pytest.mark.parametrize(
    ("broken", "promise"),
    [
        (IntegerReward, "a reward is a float, got float32"),
        (RepeatingStream, "another seed gives another run"),
        (WrongMask, "a mask leaves at least one action"),
        (LossyState, "set_state keeps the future"),
    ],
)
def test_our_checker_finds_planted_faults(broken, promise):
    with pytest.raises(AssertionError, match=promise):
        check_environment(broken("niulab/NiuNiu-v0"))
