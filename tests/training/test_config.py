import tomllib
from pathlib import Path

import pytest

from niulab.errors import ConfigError
from niulab.training import parse_train, read_train

CONFIGS = Path(__file__).resolve().parents[2] / "configs" / "train"
GOOD = {
    "name": "good",
    "total_steps": 1000,
    "n_envs": 8,
    "network": {"kind": "cards"},
    "algorithm": {"name": "ppo", "n_steps": 4, "batch_size": 16},
}


def mistakes_of(tree):
    with pytest.raises(ConfigError) as caught:
        parse_train(tree)
    return str(caught.value)


def test_one_error_lists_every_mistake():
    text = mistakes_of(
        {
            "name": "no/folder",
            "sed": 1,
            "total_steps": 0,
            "network": {"kind": "cards", "hiden": [8]},
            "algorithm": {"name": "ppo", "learning_rate": {"start": 1.0, "ends": 0.1}},
            "evaluation": {"every": -1},
            "env": {"rule": "single-double-super", "reward": "expcted"},
        }
    )
    for expected in (
        "name: ",
        "unknown key 'sed'; did you mean 'seed'?",
        "total_steps: ",
        "unknown key 'network.hiden'; did you mean 'hidden'?",
        "unknown key 'algorithm.learning_rate.ends'; did you mean 'end'?",
        "algorithm.learning_rate.end is missing",
        "evaluation.every: ",
        "unknown setting 'rule'; did you mean 'rules'?",
        "did you mean 'expected'?",
    ):
        assert expected in text
    assert text.count("\n") == 9


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0, True, "0.1"])
def test_what_is_no_learning_rate_is_refused(value):
    text = mistakes_of(GOOD | {"algorithm": {"name": "a2c", "learning_rate": value}})
    assert "algorithm.learning_rate" in text


def test_a_tasks_short_name_makes_the_same_config():
    config = read_train("ppo_arrange")
    assert read_train("ppo_arrange", task="Arrange") == config
    assert read_train("ppo_arrange", overrides=["task=Arrange"]).to_toml() == config.to_toml()
    with pytest.raises(ConfigError) as caught:
        read_train("ppo_arrange", task="Arange")
    assert str(caught.value).count("no environment 'Arange'; did you mean 'Arrange'?") == 1


def test_a_batch_that_does_not_divide_the_rollout_names_the_nearest_sizes():
    text = mistakes_of(GOOD | {"algorithm": {"name": "ppo", "n_steps": 6, "batch_size": 20}})
    assert "batch_size = 20 does not divide the rollout of 48 steps" in text
    assert "write 16 or 24" in text


def test_sizes_of_dqn_fit_the_rows():
    words = {"name": "dqn", "buffer_size": 32, "target_update_interval": 32}
    text = mistakes_of(GOOD | {"n_envs": 64, "algorithm": words})
    assert "buffer_size = 32" in text
    assert "target_update_interval = 32" in text
    assert text.count("write at least 64") == 2


def test_unknown_algorithms_and_networks_name_the_known_ones():
    text = mistakes_of(GOOD | {"algorithm": {"name": "trpo"}, "network": {"kind": "cnn"}})
    assert "algorithm.name is one of ppo, a2c, maskable_ppo, recurrent_ppo, dqn, qrdqn" in text
    assert "got 'trpo'" in text
    assert "network.kind is one of cards, mlp, lstm, got 'cnn'" in text


@pytest.mark.parametrize(
    ("network", "algorithm", "expected"),
    [
        ({"kind": "lstm"}, "ppo", "'ppo' has no network of kind 'lstm': write kind = 'cards' or"),
        ({"kind": "mlp"}, "recurrent_ppo", "write kind = 'lstm'"),
        ({"kind": "mlp", "n_quantiles": 5}, "dqn", "n_quantiles is a word of 'qrdqn'"),
        ({"kind": "lstm", "shared_lstm": True}, "recurrent_ppo", "enable_critic_lstm = false"),
    ],
)
def test_networks_and_algorithms_that_do_not_go_together_are_refused(network, algorithm, expected):
    assert expected in mistakes_of(GOOD | {"network": network, "algorithm": {"name": algorithm}})


def test_imitation_needs_a_task_of_settings_only():
    words = {"name": "imitation", "n_steps": 2, "batch_size": 16}
    text = mistakes_of(GOOD | {"task": "niulab/NiuNiu-v0", "algorithm": words})
    assert "write task = 'niulab/Arrange-v0'" in text


def test_a_network_that_sees_no_hand_is_refused():
    text = mistakes_of(GOOD | {"task": "niulab/Session-v0"})
    assert "write kind = 'mlp'" in text


def test_a_config_survives_its_own_toml():
    config = parse_train(GOOD | {"env": {"slip": "single=100,super=40", "n_rounds": 1}})
    assert parse_train(tomllib.loads(config.to_toml())) == config


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.toml")), ids=lambda path: path.stem)
def test_shipped_configs_are_found_by_name_and_by_path(path):
    config = read_train(path.stem)
    assert config == read_train(path)
    assert config.name == path.stem
    assert read_train(path.stem, seed=7).seed == 7


def test_an_unknown_config_names_the_nearest():
    with pytest.raises(ConfigError, match="did you mean 'ppo_arrange'"):
        read_train("ppo_arange")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"total_steps": 10**30}, "total_steps: "),
        ({"algorithm": GOOD["algorithm"] | {"n_steps": 999_999_999}}, "n_steps: "),
    ],
    ids=["steps without end", "rollouts without end"],
)
def test_runs_that_could_not_end_are_refused(change, expected):
    assert expected in mistakes_of(GOOD | change)


@pytest.mark.parametrize("value", ["9" * 5000, "[" * 5000 + "]" * 5000], ids=["long", "deep"])
def test_a_value_beyond_reading_is_one_message(tmp_path, value):
    path = tmp_path / "own.toml"
    path.write_text(f"total_steps = {value}")
    with pytest.raises(ConfigError, match="is no TOML"):
        read_train(path)
    with pytest.raises(ConfigError, match="total_steps: input should be a valid integer") as caught:
        read_train("ppo_arrange", overrides=[f"total_steps = {value}"])
    assert len(str(caught.value)) < 300


def test_a_byte_order_mark_is_no_mistake(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text((CONFIGS / "ppo_arrange.toml").read_text(), encoding="utf-8-sig")
    assert read_train(path) == read_train("ppo_arrange")
