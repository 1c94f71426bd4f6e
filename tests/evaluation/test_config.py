"""Benchmark files: every mistake at once, with the nearest known word."""

from dataclasses import replace
from pathlib import Path

import pytest

from niulab.errors import ConfigError
from niulab.evaluation.config import TrainRow, find_config, parse_benchmark, read_benchmark

GOOD = {"task": "niulab/Arrange-v0", "agents": ["oracle", "random"]}


def test_what_is_left_out_has_a_default():
    config = parse_benchmark(GOOD)
    assert config.agents == ("oracle", "random")
    assert config.settings.rules.name == "single-double-super"
    assert (config.seed, config.rounds, config.level, config.stochastic) == (
        0,
        200_000,
        0.95,
        False,
    )
    assert config.title == "League of niulab/Arrange-v0"
    assert config.train == ()


def test_a_full_file_is_read(tmp_path):
    (tmp_path / "x.toml").write_text(
        """
        title = "X"
        task = "niulab/Arrange-v0"
        agents = []
        seed = 7
        rounds = 0
        level = 0.99
        stochastic = true
        [env]
        rules = "ngau-ngau-hong-kong"
        [[train]]
        config = "ppo_arrange"
        name = "PPO"
        seeds = [0, 1]
        [[train]]
        config = "runs/a2c.toml"
        """
    )
    config = read_benchmark(tmp_path / "x.toml")
    assert config.settings.rules.name == "ngau-ngau-hong-kong"
    assert config.train == (
        TrainRow("ppo_arrange", "PPO", (0, 1)),
        TrainRow("runs/a2c.toml", "a2c", (0,)),
    )
    assert (config.seed, config.rounds, config.level, config.stochastic) == (7, 0, 0.99, True)


def test_a_tasks_short_name_makes_the_same_benchmark():
    short = parse_benchmark(GOOD | {"task": GOOD["task"].removeprefix("niulab/")[:-3]})
    assert short == parse_benchmark(GOOD)


def test_one_error_lists_every_mistake():
    tree = {
        "tittle": "X",
        "task": "niulab/Arrange-v0",
        "agents": ["orcale", "random", "random", 3, "model:runs/nowhere"],
        "rounds": 5,
        "level": 95,
        "seed": True,
        "stochastic": 1,
        "env": {"rulez": "x", "reward_scale": -1},
        "train": [{"name": "PPO", "seeds": [0, 0], "sedes": 1}, "ppo"],
    }
    with pytest.raises(ConfigError) as error:
        parse_benchmark(tree, origin="x.toml")
    message = str(error.value)
    assert message.startswith("x.toml is no benchmark:\n")
    for part in [
        "unknown key 'tittle'; did you mean 'title'?",
        "seed is a whole number, got True",
        "stochastic is true or false, got 1",
        "rounds is 0 (no cross-check) or at least 100, got 5",
        "level lies between 0 and 1, got 95",
        "env: unknown setting 'rulez'; did you mean 'rules'?",
        "env: reward_scale is finite and above 0",
        "unknown key 'train[0].sedes'; did you mean 'seeds'?",
        "train[0].config is missing",
        "train[0].seeds lists different whole numbers",
        "train[1] is a table",
    ]:
        assert part in message, part


def test_agents_are_checked_once_the_task_is_known():
    tree = GOOD | {"agents": ["orcale", "random", "random", 3, "model:runs/nowhere"]}
    with pytest.raises(ConfigError) as error:
        parse_benchmark(tree)
    message = str(error.value)
    assert "did you mean 'oracle'" in message
    assert "agents names 'random' twice" in message
    assert "agents holds 3: write names in quotes" in message
    assert "'runs/nowhere': there is nothing. A model is a folder" in message


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({}, "task is missing"),
        ({"task": "niulab/Arrange-v0"}, "agents is missing"),
        (GOOD | {"task": "niulab/Arange-v0"}, "did you mean 'niulab/Arrange-v0'"),
        (GOOD | {"agents": []}, "agents is empty"),
        (GOOD | {"agents": "oracle"}, "agents is a list, got 'oracle'"),
        (GOOD | {"level": float("nan")}, "level lies between 0 and 1"),
        (GOOD | {"seed": -1}, r"seed is a whole number from 0 to 2\*\*63 - 1, got -1"),
    ],
)
def test_single_mistakes(tree, message):
    with pytest.raises(ConfigError, match=message):
        parse_benchmark(tree)


def test_configs_are_found_by_name_and_by_path(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert read_benchmark("arrange").settings.rules.name == "single-double-super"
    assert read_benchmark("arrange_hk").settings.rules.name == "ngau-ngau-hong-kong"
    assert find_config("arrange", "benchmark").name == "arrange.toml"
    with pytest.raises(ConfigError, match="did you mean 'arrange'"):
        find_config("arange", "benchmark")
    with pytest.raises(ConfigError, match=r"there is no file 'x\.toml'"):
        find_config("x.toml", "benchmark")
    Path("bad.toml").write_text("title = \n")
    with pytest.raises(ConfigError, match=r"bad\.toml is no TOML"):
        read_benchmark("bad.toml")
    Path("latin.toml").write_bytes(b'title = "\xff"\n')
    with pytest.raises(ConfigError, match=r"latin\.toml.*no UTF-8"):
        read_benchmark(Path("latin.toml"))


@pytest.mark.parametrize("change", [{"rounds": 5}, {"seed": -1}, {"seed": 1 << 63}, {"level": 2.0}])
def test_numbers_are_checked_wherever_a_benchmark_comes_from(change):
    with pytest.raises(ConfigError, match=f"{next(iter(change))} (is|lies)"):
        replace(parse_benchmark(GOOD), **change)


def test_a_run_is_asked_for_once():
    rows = [{"config": "ppo_arrange", "seeds": [0, 1]}, {"config": "x/ppo_arrange.toml"}]
    with pytest.raises(ConfigError, match="asks for the run 'ppo_arrange-0' twice"):
        parse_benchmark(GOOD | {"train": rows})


def test_toml_that_breaks_the_parser_is_refused(tmp_path):
    file = tmp_path / "big.toml"
    for text in ("rounds = " + "9" * 5000, "a = " + "[" * 5000):
        file.write_text(text)
        with pytest.raises(ConfigError, match=r"big\.toml is no TOML: it "):
            read_benchmark(file)
