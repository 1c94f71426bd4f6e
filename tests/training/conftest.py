"""Tiny runs: few rollouts, scored by few rounds (cards shown as dealt have no exact score)."""

import pytest
from small_suite import TRAIN, make_tree

from niulab.training import parse_train

ALGORITHMS = {
    "ppo": {"name": "ppo", "n_steps": 4, "batch_size": 32, "n_epochs": 2},
    "a2c": {"name": "a2c", "n_steps": 4},
    "maskable_ppo": {"name": "maskable_ppo", "n_steps": 4, "batch_size": 32, "n_epochs": 2},
    "dqn": {
        "name": "dqn",
        "train_freq": 4,
        "batch_size": 16,
        "buffer_size": 256,
        "learning_starts": 64,
        "target_update_interval": 64,
        "exploration": {"start": 1.0, "end": 0.1},
    },
}
PPO = ALGORITHMS["ppo"]
ALGORITHMS |= {
    "qrdqn": ALGORITHMS["dqn"] | {"name": "qrdqn"},
    "recurrent_ppo": PPO | {"name": "recurrent_ppo"},
    "imitation": {"name": "imitation", "n_steps": 4, "batch_size": 32},
}
ALGORITHMS |= {
    name: {
        "name": name,
        "train_freq": 4,
        "batch_size": 16,
        "buffer_size": 256,
        "learning_starts": 64,
        "gradient_steps": 2,
    }
    for name in ("sac", "td3")
}
LSTM = {"kind": "lstm", "hidden": [8], "lstm_hidden_size": 8}
SMALL = {
    "kind": "cards",
    "embedding": 8,
    "hidden": [8],
    "critic_embedding": 8,
    "critic_hidden": [8],
}


@pytest.fixture
def tiny():
    """Make a config of 512 steps: 8 rows, 16 rollouts of 32."""

    def make(algorithm="ppo", **changes):
        words = changes.pop("algorithm_words", {})
        rate = {"learning_rate": {"start": 0.01, "end": 0.0001}}
        tree = {
            "name": "tiny",
            "total_steps": 512,
            "n_envs": 8,
            "env": {"encoding": "ids", "card_order": "dealt"},
            "network": SMALL,
            "algorithm": ALGORITHMS[algorithm] | rate | words,
            "evaluation": {"n_rounds": 100},
            "logging": {"every": 64},
        }
        if algorithm == "recurrent_ppo":  # rounds to remember
            tree |= {"task": "niulab/Session-v0", "env": {"n_rounds": 3}, "network": LSTM}
        if algorithm in {"sac", "td3"}:
            tree |= {"task": "niulab/SessionStake-v0", "env": {"n_rounds": 3}}
            tree |= {"network": {"kind": "mlp", "hidden": [8]}}
        return parse_train(tree | changes)

    return make


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The path of a training config."""
    file = tmp_path_factory.mktemp("configs") / "small.toml"
    file.write_text(TRAIN)
    return str(file)


@pytest.fixture
def tree(small):
    """Two learners on two sessions with two seeds, and two agents beside them."""
    return make_tree(small)
