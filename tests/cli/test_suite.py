"""``niulab benchmark`` on a suite: JSON, resume, and what is refused before anything is written."""

from __future__ import annotations

import pytest

SUITE = """
[suite]
name = "small"
seeds = [0]
steps = 128
evaluations = 1
n_resamples = 50
[[task]]
name = "Session"
id = "niulab/Session-v0"
env = { n_rounds = 1, target_cents = 2500 }
[[learner]]
label = "PPO"
configs = { Session = "ppo_mlp_session" }
set = ["n_envs=8", "algorithm.batch_size=32", "network.hidden=[8]"]
[[reference]]
label = "uniform play"
agent = "random"
"""


@pytest.fixture
def suite(tmp_path):
    file = tmp_path / "small.toml"
    file.write_text(SUITE)
    return str(file)


def test_a_suite_is_held_and_read_again(run, run_json, suite, tmp_path):
    out = str(tmp_path / "out")
    found = run_json("benchmark", suite, "--out", out)
    assert (found["kind"], found["title"]) == ("suite", "Suite small")
    (cell,) = found["headline"]["cells"]
    assert (cell["algorithm"], cell["task"], cell["seed"], cell["steps"]) == (
        "PPO",
        "Session",
        0,
        128,
    )
    assert found["headline"]["references"][0]["normalized"] == 0
    assert found["headline"]["aggregates"]["PPO"]["iqm"] == [cell["scores"], None, None]
    assert found["provenance"]["config"]["suite"]["name"] == "small"

    again = run("benchmark", suite, "--out", out)
    assert again.exit_code == 0
    assert "2 of 2 cells were finished before" in again.stderr
    assert "Scores by task" in again.stdout
    assert "report.html" in again.stdout


@pytest.mark.parametrize(
    ("text", "words", "part"),
    [
        (SUITE, ["--engine", "treads"], "there is no engine 'treads'"),
        (SUITE.replace("random", "randum"), [], "did you mean 'random'"),
        ('title = "nothing"', [], "neither a league nor a suite"),
        (
            'task = "niulab/Arrange-v0"\nagents = ["oracle"]',
            ["--retry-failed"],
            "is about the cells of a suite",
        ),
    ],
)
def test_what_cannot_be_held_writes_nothing(refused, tmp_path, text, words, part):
    file = tmp_path / "mine.toml"
    file.write_text(text)
    assert part in refused("benchmark", str(file), "--out", str(tmp_path / "out"), *words)
    assert not (tmp_path / "out").exists()
