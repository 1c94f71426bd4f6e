from pathlib import Path

import pytest

from niulab.errors import ConfigError
from niulab.training.tuning.config import parse_tune, read_tune

CONFIGS = Path(__file__).resolve().parents[3] / "configs" / "tune"


def mistakes_of(tree):
    with pytest.raises(ConfigError) as caught:
        parse_tune(tree)
    return str(caught.value)


def test_one_error_lists_every_mistake():
    space = {
        "a.b": {"low": 1, "high": 0},
        "c": {"lo": 1, "high": 3},
        "d": 5,
        "e": [],
        "f": {"low": 0.0, "high": 1.0, "log": True},
    }
    tune = {"n_trials": 0, "sed": 1, "space": space}
    text = mistakes_of({"name": "x", "config": "ppo_arange", "tune": tune})
    for expected in (
        "did you mean 'ppo_arrange'?",
        "tune.n_trials: ",
        "tune.space.a.b: low = 1 lies below high, got high = 0",
        "unknown key 'tune.space.c.lo'; did you mean 'low'?",
        "tune.space.d is a list of values, or { low = ..., high = ... }, got 5",
        "tune.space.e lists at least 1",
        "tune.space.f: log = true needs low above 0",
        "unknown key 'tune.sed'; did you mean 'seed'?",
    ):
        assert expected in text


def test_what_the_training_config_refuses_is_found_before_the_first_trial():
    space = {"algorithm.gama": [1.0], "algorithm.n_steps": {"low": 1.0, "high": 4.0}}
    text = mistakes_of(
        {"name": "x", "config": "ppo_arrange", "tune": {"n_trials": 1, "space": space}}
    )
    assert "unknown key 'algorithm.gama'; did you mean 'gamma'?" in text
    assert "algorithm.n_steps = 1.0" in text
    words = {"n_trials": 1, "set": {"totl_steps": 1}, "space": {"algorithm.gamma": [0.0]}}
    text = mistakes_of({"name": "x", "config": "ppo_arrange", "tune": words})
    assert "tune.set: unknown key 'totl_steps'; did you mean 'total_steps'?" in text


def test_sizes_that_fit_only_each_other_are_no_mistake():
    space = {"algorithm.n_steps": [3], "algorithm.batch_size": [2048 * 3]}
    parse_tune({"name": "x", "config": "ppo_arrange", "tune": {"n_trials": 1, "space": space}})


@pytest.mark.parametrize("path", sorted(CONFIGS.glob("*.toml")), ids=lambda path: path.stem)
def test_shipped_searches_are_found_by_name(path):
    config = read_tune(path.stem)
    assert config == read_tune(path)
    assert config.name == path.stem
    values = {key: dimension.ends[0] for key, dimension in config.tune.space.items()}
    run = config.trial(values, 3)
    assert run.seed == 3
    assert run.total_steps < config.base.total_steps
    assert config.best(values).total_steps == config.base.total_steps
