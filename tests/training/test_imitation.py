import numpy as np
import pytest
import torch

from niulab.engine.hands import SPLITS
from niulab.envs import NiuNiuVectorEnv, make_settings
from niulab.envs.encoding import Encoding
from niulab.solvers.hand_values import hand_values
from niulab.training import read_train, train
from niulab.training.imitation import OracleLabels, imitation_loss


@pytest.mark.parametrize("order", ["sorted", "dealt"])
def test_labels_are_the_settings_of_highest_exact_reward(order):
    settings = make_settings("niulab/Arrange-v0", card_order=order, reward="expected")
    labels = OracleLabels(settings)
    env = NiuNiuVectorEnv(256, settings)
    observations, _ = env.reset(seed=3)
    rewards = np.empty((256, 10))
    for action in range(10):  # the same hands, set in each way
        env.reset(seed=3)
        rewards[:, action] = env.step(np.full(256, action))[1]
    best = rewards.max(axis=1, keepdims=True)
    assert np.array_equal(labels(observations), np.isclose(rewards, best, rtol=0, atol=1e-12))


def test_labels_follow_the_cards_wherever_they_are_shown():
    shown = {o: make_settings("niulab/Arrange-v0", card_order=o) for o in ("sorted", "dealt")}
    hands = hand_values(shown["sorted"].rules).table.hands[::100_000]
    order = np.array([3, 0, 4, 1, 2])
    of_sorted = OracleLabels(shown["sorted"])(Encoding(shown["sorted"]).encode_hands(hands))
    of_dealt = OracleLabels(shown["dealt"])(Encoding(shown["dealt"]).encode_hands(hands[:, order]))
    for action, (i, j) in enumerate(SPLITS):
        places = tuple(sorted((order.tolist().index(i), order.tolist().index(j))))
        assert np.array_equal(of_sorted[:, action], of_dealt[:, SPLITS.index(places)])


def test_the_loss_is_that_of_the_probability_of_any_optimal_setting():
    logits = torch.log(torch.tensor([[0.5, 0.25, 0.25], [0.1, 0.2, 0.7]]))
    is_optimal = torch.tensor([[True, True, False], [False, True, False]])
    expected = -(np.log(0.75) + np.log(0.2)) / 2
    assert imitation_loss(logits, is_optimal).item() == pytest.approx(expected, rel=1e-6)


def test_imitation_of_forty_thousand_hands_is_nearly_the_oracle(tmp_path):
    shipped = read_train("imitation_arrange")
    config = shipped.replaced(total_steps=40_000, n_envs=1024, evaluation={})
    result = train(config, tmp_path, progress=False)
    assert result.score.is_exact
    assert result.score.normalized > 0.97


@pytest.mark.long
@pytest.mark.parametrize("name", ["imitation_arrange", "imitation_mlp_arrange"])
def test_imitation_sets_every_hand(name, tmp_path):
    result = train(read_train(name), tmp_path, progress=False)
    assert result.score.n_errors <= 20
