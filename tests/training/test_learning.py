import numpy as np
import pytest

from niulab.agents.models.sb3 import load_agent
from niulab.training import read_train, train


def test_maskable_ppo_learns_on_the_native_batch(tmp_path):
    shipped = read_train("maskable_ppo_arrange")
    config = shipped.replaced(
        total_steps=48 * 1024,
        n_envs=512,
        algorithm=shipped.algorithm.model_dump() | {"batch_size": 2048},
        evaluation={},
    )
    result = train(config, tmp_path, progress=False)
    record = result.score.to_record()
    assert record["normalized_score"] > 0.4  # 0 is uniform play
    assert record["n_illegal"] == 0
    agent = load_agent(result.model, config.settings)
    hands = np.array([[0, 4, 20, 36, 40]], dtype=np.uint8)
    assert agent.set_hands(hands).shape == (1,)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(5))
def test_ppo_sets_all_hands_but_five_on_every_seed(seed, tmp_path):
    result = train(read_train("ppo_arrange", seed=seed), tmp_path, progress=False)
    assert result.steps == 401_408
    assert result.score.n_errors <= 5


@pytest.mark.long
@pytest.mark.parametrize("name", ["a2c_arrange", "maskable_ppo_arrange", "dqn_arrange"])
def test_every_algorithm_learns_to_set_nearly_all_hands(name, tmp_path):
    result = train(read_train(name), tmp_path, progress=False)
    assert result.score.n_errors <= 300
