import numpy as np
import pytest

from niulab.agents.models.sb3 import load_agent
from niulab.evaluation import read_curve
from niulab.training import parse_train, read_train, train


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


def test_qrdqn_learns_from_a_few_thousand_hands(tmp_path):
    shipped = read_train("qrdqn_arrange")
    words = shipped.algorithm.model_dump() | {"learning_starts": 2048, "gradient_steps": 16}
    words["batch_size"] = 1024
    config = shipped.replaced(total_steps=24_576, algorithm=words, evaluation={})
    result = train(config, tmp_path, progress=False)
    assert result.score.is_exact
    assert result.score.normalized > 0.4  # 0 is uniform play


@pytest.mark.parametrize("algorithm", ["sac", "td3"])
def test_one_bold_round_of_continuous_stakes_is_solved(algorithm, tmp_path):
    shipped = read_train(f"{algorithm}_session_stake")
    words = {"learning_starts": 1024, "batch_size": 256, "gradient_steps": 8}
    words |= {"learning_rate": {"start": 0.001, "end": 0.0001}}
    words |= {"action_noise": 0.5} if algorithm == "td3" else {}
    config = shipped.replaced(
        total_steps=6144,
        env={"n_rounds": 1, "target_cents": 3_000},  # half as much again, in one round
        algorithm=shipped.algorithm.model_dump() | words,
        evaluation={"every": 1024},
        checkpoint={},
    )
    result = train(config, tmp_path, progress=False)
    before, *_, after = read_curve(tmp_path).scores
    assert before["normalized_score"] < 0.5  # nothing was learned yet
    assert after["normalized_score"] > 0.95
    assert result.score.is_exact


def test_recurrent_ppo_bets_better_than_uniform_play(tmp_path):
    config = parse_train(
        {
            "name": "recurrent",
            "task": "niulab/Session-v0",
            "total_steps": 8_192,
            "n_envs": 64,
            "network": {"kind": "lstm", "hidden": [32], "lstm_hidden_size": 16},
            "algorithm": {
                "name": "recurrent_ppo",
                "n_steps": 8,
                "batch_size": 256,
                "learning_rate": 0.01,
            },
        }
    )
    result = train(config, tmp_path, progress=False)
    assert not result.score.is_exact  # it remembers
    assert result.score.value - result.score.half_width > result.score.bounds.random


@pytest.mark.long
@pytest.mark.parametrize(
    "name", ["a2c_arrange", "maskable_ppo_arrange", "dqn_arrange", "qrdqn_arrange"]
)
def test_every_algorithm_learns_to_set_nearly_all_hands(name, tmp_path):
    result = train(read_train(name), tmp_path, progress=False)
    assert result.score.n_errors <= 300
