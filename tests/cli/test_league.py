"""``niulab benchmark`` and ``niulab demo``: leagues with runs of their own, and their reports."""

from __future__ import annotations

import tomllib

import pytest

from niulab import evaluation
from niulab.evaluation import parse_benchmark
from niulab.training import read_train
from niulab.training.leagues import league as league_room

BENCHMARK = """
title = "A small league"
task = "niulab/Arrange-v0"
agents = ["oracle", "never-claim"]
rounds = 0
"""
# cards shown as dealt have no exact score: a hundred rounds tell, and quickly
DEALT = """
task = "niulab/Arrange-v0"
agents = ["oracle"]
rounds = 100
[env]
card_order = "dealt"
"""
SMALL = [
    "total_steps=4096",
    "n_envs=512",
    "network.embedding=16",
    "network.hidden=[16]",
    "algorithm.batch_size=1024",
    "env.card_order=dealt",
    "evaluation.n_rounds=100",
]


@pytest.fixture
def small_runs(monkeypatch):
    """Runs of the shipped configs, short and on a small network."""
    monkeypatch.setattr(
        league_room,
        "read_train",
        lambda name, **changes: read_train(name, overrides=SMALL, **changes),
    )


def write(tmp_path, text):
    path = tmp_path / "small.toml"
    path.write_text(text)
    return str(path)


def test_a_league_is_ranked_and_reported(run_json, tmp_path):
    out = tmp_path / "report"
    league = run_json("benchmark", write(tmp_path, BENCHMARK), "--out", str(out))
    assert [row["name"] for row in league["rows"]] == ["oracle", "never-claim"]
    assert league["rows"][0]["score"]["n_errors"] == 0
    assert league["rows"][0]["score"]["regret"]["exact"] == "0/1"
    assert league["bounds"]["optimum"]["exact"] == "-1/40"
    assert league["warnings"] == []
    files = {file.name for file in out.iterdir()}
    assert files == {"league.md", "league.csv", "league.json", "league.html"}
    assert league["report"]["html"] == str(out / "league.html")


def test_runs_enter_the_league_and_are_reused(run, small_runs, tmp_path):
    text = DEALT + '[[train]]\nconfig = "ppo_arrange"\nname = "PPO"\nseeds = [0]\n'
    words = ["benchmark", write(tmp_path, text), "--out", str(tmp_path / "report")]
    first = run(*words)
    assert first.exit_code == 0, first.stderr
    assert "PPO" in first.stdout
    assert "learning" not in first.stderr
    assert (tmp_path / "report" / "runs" / "ppo_arrange-0" / "final" / "card.json").is_file()
    again = run(*words)
    assert "was finished before: read, not trained again" in again.stderr
    assert again.stdout.splitlines()[:12] == first.stdout.splitlines()[:12]


TWO_RUNS = DEALT + '[[train]]\nconfig = "ppo_arrange"\nname = "PPO"\nseeds = [0, 1]\n'


def test_a_run_trained_apart_gives_the_same_league_and_outlives_the_failure_of_another(
    run_json, refused, small_runs, tmp_path
):
    config = write(tmp_path, TWO_RUNS)
    here, apart = tmp_path / "here", tmp_path / "apart"
    expected = run_json("benchmark", config, "--out", str(here))

    occupied = apart / "runs" / "ppo_arrange-0"
    occupied.mkdir(parents=True)
    (occupied / "note.txt").touch()
    message = refused("benchmark", config, "--out", str(apart), "--workers", "1")
    assert "1 of 2 runs failed" in message
    assert f"{occupied}: ConfigError: '{occupied}' exists already" in message
    assert (apart / "runs" / "ppo_arrange-1" / "result.json").is_file()

    (occupied / "note.txt").unlink()
    league = run_json("benchmark", config, "--out", str(apart))
    assert len(league["rows"]) == 3
    for row, same in zip(league["rows"], expected["rows"], strict=True):
        assert (row["name"], row["score"]) == (same["name"], same["score"])
    for seed in (0, 1):
        weights = f"runs/ppo_arrange-{seed}/final/weights.safetensors"
        assert (apart / weights).read_bytes() == (here / weights).read_bytes()


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--engine", "treads"], "there is no engine 'treads'"),
        (["--workers", "0"], "needs at least 1 worker, got 0"),
        (["--address", "auto"], "write engine 'ray'"),
    ],
)
def test_engines_that_cannot_be_write_nothing(refused, tmp_path, words, part):
    out = tmp_path / "report"
    assert part in refused("benchmark", write(tmp_path, BENCHMARK), "--out", str(out), *words)
    assert not out.exists()


REFUSED = {
    "unknown benchmark": ("arange", ["did you mean 'arrange'"]),
    "unknown agent": (BENCHMARK.replace("oracle", "orakle"), ["did you mean 'oracle'"]),
    "two mistakes": (
        BENCHMARK.replace("rounds = 0", "rouns = 0").replace("Arrange", "Arange"),
        ["unknown key 'rouns'", "no environment 'niulab/Arange-v0'"],
    ),
    "run of another sheet": (
        BENCHMARK + '[env]\nrules = "bull-bull-live"\n[[train]]\nconfig = "ppo_arrange"\n',
        ["learns niulab/Arrange-v0 under single-double-super", "bull-bull-live"],
    ),
    "run that does not exist": (BENCHMARK + '[[train]]\nconfig = "ppoo"\n', ["no train config"]),
}


@pytest.mark.parametrize(("text", "parts"), REFUSED.values(), ids=REFUSED)
def test_bad_benchmarks_write_nothing(refused, tmp_path, text, parts):
    config = write(tmp_path, text) if "\n" in text else text
    out = tmp_path / "report"
    message = refused("benchmark", config, "--out", str(out))
    assert all(part in message for part in parts), message
    assert not out.exists()


def test_a_report_that_cannot_be_written_is_found_out_first(refused, tmp_path):
    occupied = tmp_path / "report"
    occupied.write_text("a file")
    message = refused("benchmark", write(tmp_path, BENCHMARK), "--out", str(occupied))
    assert f"cannot use '{occupied}'" in message
    assert occupied.read_text() == "a file"


def test_the_demo_solves_trains_and_reports(run_json, small_runs, monkeypatch, tmp_path):
    small = parse_benchmark(tomllib.loads(DEALT))
    monkeypatch.setattr(evaluation, "read_benchmark", {"arrange": small}.get)
    out = tmp_path / "demo"
    demo = run_json("demo", "--seed", "5", "--out", str(out))
    assert demo["boxes"]["single"] == "-1/40"
    assert {row["name"] for row in demo["rows"]} == {"oracle", "PPO, card network"}
    assert demo["runs"] == [str(out / "runs" / "ppo_arrange-5")]
    assert (out / "league.html").is_file()
    assert (out / "runs" / "ppo_arrange-5" / "tb").is_dir()


@pytest.mark.long
def test_the_demos_agent_sets_nearly_every_hand(run_json, tmp_path):
    demo = run_json("demo", "--out", str(tmp_path))
    (ppo,) = [row for row in demo["rows"] if row["name"] == "PPO, card network"]
    assert ppo["score"]["n_errors"] <= 5
