"""Configs of suites: every mistake named at once, and what may differ."""

from __future__ import annotations

import tomllib

import pytest

from niulab.errors import ConfigError
from niulab.evaluation.config import BenchmarkConfig, find_config
from niulab.training.leagues.suite_config import SuiteConfig, parse_suite, read_any


def test_every_mistake_is_named_at_once(tree):
    tree["suite"]["seeds"] = [3, 3]
    tree["task"][1]["id"] = "niulab/Sesion-v0"
    tree["learner"][0]["configs"]["Too"] = "ppo_arrange"
    tree["learner"][1]["set"] = ["algorithm.batch_size=7"]
    tree["reference"][0]["label"] = "PPO!"
    tree["reference"][1] = {"label": "bald", "agents": {"Two": "system:bald"}}
    tree["reference"].append({"label": "none"})
    with pytest.raises(ConfigError) as caught:
        parse_suite(tree, origin="mine.toml")
    message = str(caught.value)
    for part in (
        "mine.toml is no suite:",
        "suite.seeds: '3' stands there 2 times",
        "'ppo' stands there 2 times",
        "task[1].id: no environment 'niulab/Sesion-v0'; did you mean 'niulab/Session-v0'?",
        "learner[0].configs: no task 'Too'; did you mean 'Two'?",
        "learner[1].configs.Two",
        "does not divide the rollout",
        "reference[1] on Two",
        "reference[2] takes agent",
    ):
        assert part in message, part


def test_a_tasks_short_id_is_the_same_column(tree):
    whole = parse_suite(tree)
    tree["task"][0]["id"] = "Session"
    short = parse_suite(tree)
    assert (short.tasks, short.entries) == (whole.tasks, whole.entries)


def test_keys_that_are_unknown_or_of_another_kind_are_named_with_their_place(tree):
    tree["suite"]["sedes"] = [1]
    tree["suite"]["steps"] = "many"
    tree["task"][0]["evn"] = {}
    del tree["learner"][1]["label"]
    with pytest.raises(ConfigError) as caught:
        parse_suite(tree)
    message = str(caught.value)
    assert "unknown key 'suite.sedes'; did you mean 'seeds'?" in message
    assert "suite.steps: input should be a valid integer, got 'many'" in message
    assert "unknown key 'task[0].evn'; did you mean 'env'?" in message
    assert "learner[1].label is missing" in message


def test_a_training_config_of_another_task_is_refused_and_what_is_shown_is_free(tree):
    tree["task"][0] |= {"id": "niulab/NiuNiu-v0", "env": {}}
    tree["reference"] = []
    with pytest.raises(ConfigError, match="decisions is 'bet' instead of 'bet_and_set'"):
        parse_suite(tree)
    tree["task"][0] |= {"id": "niulab/Session-v0"}
    tree["learner"][0]["set"] = ["env.observation=uint8", "env.reward_scale=0.5"]
    assert parse_suite(tree).entries[0].config.settings.observation == "uint8"


def test_a_budget_is_needed(tree):
    del tree["suite"]["steps"]
    with pytest.raises(ConfigError, match=r"task\[0\].steps is missing"):
        parse_suite(tree)


def test_the_tables_of_a_file_say_what_it_is(tmp_path):
    assert isinstance(read_any("arrange"), BenchmarkConfig)
    assert isinstance(read_any("suite_quick"), SuiteConfig)
    file = tmp_path / "mine.toml"
    file.write_text('title = "mine"\n')
    with pytest.raises(ConfigError, match="neither a league nor a suite"):
        read_any(file)


@pytest.mark.parametrize("name", ["suite", "suite_quick"])
def test_the_shipped_suites_can_be_held(name):
    config = read_any(name)
    tree = tomllib.loads(find_config(name, "benchmark").read_text("utf-8"))
    assert config.name == name
    assert len(config.entries) == sum(len(row["configs"]) for row in tree["learner"])
    for entry in config.entries:
        assert entry.config.total_steps == config.task(entry.task).steps
