"""SB3 on tasks that draw sheets: the adapter, masks, and a policy that learns to read a sheet."""

import numpy as np
import pytest
import torch
from sb3_contrib import MaskablePPO
from stable_baselines3 import PPO

from niulab.envs.settings import make_settings
from niulab.evaluation import evaluate
from niulab.training.sb3_vec import make_sb3_vec

LOOPHOLE = "niulab/Loophole-v0"
BASE = "even-double-super-bonus"


@pytest.mark.parametrize("algorithm", [PPO, MaskablePPO])
def test_the_adapter_plays_the_default_task(algorithm):
    env = make_sb3_vec(64, make_settings(LOOPHOLE))
    env.seed(1)
    env.reset()
    masks = np.array(env.env_method("action_masks"))
    assert masks.shape == (64, 10)
    assert not masks.all()  # a sheet without a Bonus is among them
    words = {"n_steps": 2, "batch_size": 64, "n_epochs": 1, "seed": 0, "device": "cpu"}
    model = algorithm("MlpPolicy", env, policy_kwargs={"net_arch": [8]}, **words)
    model.learn(256)
    assert model.num_timesteps == 256


def test_a_policy_learns_to_read_the_sheet():
    torch.set_num_threads(1)
    sheets = [f"{BASE}-literal-double-scale", f"{BASE}-bonus-any-niu-niu"]
    menu = ["even=100", "even=100,super=100", "even=100,bonus=100"]
    settings = make_settings(LOOPHOLE, sheets=sheets, menu=menu)
    env = make_sb3_vec(256, settings)
    env.seed(0)
    model = PPO(
        "MlpPolicy", env, n_steps=8, batch_size=512, n_epochs=4, gamma=0.0, learning_rate=3e-3,
        policy_kwargs={"net_arch": [16]}, seed=0, device="cpu",
    )  # fmt: skip
    model.learn(20 * 8 * 256)
    score = evaluate(model, LOOPHOLE, sheets=sheets, menu=menu)
    assert score.is_exact
    assert score.normalized == 1
