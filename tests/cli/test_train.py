"""``niulab train``: runs, changed values, resume, and what is refused."""

from __future__ import annotations

import json

import pytest

CONFIG = """
name = "tiny"
task = "niulab/Arrange-v0"
total_steps = 256
n_envs = 8

[env]
encoding = "ids"
card_order = "dealt"     # no exact score, so a few rounds tell

[network]
kind = "cards"
embedding = 8
hidden = [8]
critic_embedding = 8
critic_hidden = [8]

[algorithm]
name = "ppo"
n_steps = 4
batch_size = 32

[evaluation]
n_rounds = 100

[checkpoint]
every = 128
"""


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "tiny.toml"
    path.write_text(CONFIG)
    return str(path)


def test_a_run_is_trained_into_its_folder(run_json, config, tmp_path):
    place = tmp_path / "run"
    result = run_json("train", config, "--seed", "3", "--run-dir", str(place))
    assert (result["seed"], result["steps"]) == (3, 256)
    assert result["rules"] == "single-double-super"
    assert result["run_dir"] == str(place)
    assert result["score"]["source"] == "simulation"
    assert result["warnings"] == []
    manifest = json.loads((place / "manifest.json").read_text())
    assert manifest["seed"] == 3
    assert manifest["legs"][0]["command"].startswith("niulab")
    assert (place / "final" / "weights.safetensors").is_file()


def test_values_are_set_by_key(run_json, config, tmp_path):
    place = tmp_path / "run"
    changes = ["total_steps=64", "env.slip=single=200", "algorithm.n_epochs=1"]
    words = [word for change in changes for word in ("--set", change)]
    result = run_json("train", config, "--run-dir", str(place), *words)
    written = json.loads((place / "manifest.json").read_text())["config"]
    assert result["steps"] == 64
    assert written["env"]["slip"] == "single=200"
    assert written["algorithm"]["n_epochs"] == 1


def test_a_finished_run_is_refused_or_read(run_json, refused, config, tmp_path):
    place = str(tmp_path / "run")
    first = run_json("train", config, "--run-dir", place)
    message = refused("train", config, "--run-dir", place)
    assert "exists already" in message
    assert "--resume" in message
    again = run_json("train", config, "--run-dir", place, "--resume")
    assert again["score"]["value"] == first["score"]["value"]


def test_a_run_of_another_config_is_not_resumed(run_json, refused, config, tmp_path):
    place = str(tmp_path / "run")
    run_json("train", config, "--run-dir", place)
    message = refused("train", config, "--run-dir", place, "--resume", "--seed", "5")
    assert "begun with another config" in message


def test_a_sheet_that_pays_the_player_is_warned_of(run, config, tmp_path):
    result = run(
        "train", config, "--run-dir", str(tmp_path / "run"), "--set", "total_steps=64",
        "--set", "env.rules=even-double-super-bonus-literal-note",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    assert "WARNING: box 'super'" in result.stderr


LIES = {
    "unknown key": (["totl_steps=5"], ["unknown key 'totl_steps'", "did you mean 'total_steps'"]),
    "several mistakes": (
        ["n_envs=0", "algorithm.gamma=2.0", "env.rules=single-double-supper"],
        ["n_envs", "algorithm.gamma", "did you mean 'single-double-super'"],
    ),
    "NaN": (["algorithm.vf_coef=nan"], ["algorithm.vf_coef"]),
    "infinite": (["algorithm.max_grad_norm=inf"], ["algorithm.max_grad_norm"]),
    "batch that does not divide": (["algorithm.batch_size=30"], ["does not divide", "32"]),
    "no algorithm of ours": (
        ["algorithm.name=ppoo"],
        ["ppo, a2c, maskable_ppo, recurrent_ppo, dqn"],
    ),
    "no value": (["total_steps"], ["'total_steps' sets nothing: write key=value"]),
}


@pytest.mark.parametrize(("changes", "parts"), LIES.values(), ids=LIES)
def test_a_config_that_lies_is_refused_before_anything_is_written(
    refused, config, tmp_path, changes, parts
):
    place = tmp_path / "run"
    words = [word for change in changes for word in ("--set", change)]
    message = refused("train", config, "--run-dir", str(place), *words)
    assert all(part in message for part in parts), message
    assert not place.exists()


def test_unknown_configs(refused, tmp_path):
    assert "did you mean 'ppo_arrange'" in refused("train", "ppo_arange")
    assert "there is no file" in refused("train", str(tmp_path / "none.toml"))
    broken = tmp_path / "broken.toml"
    broken.write_text("name = ")
    assert "is no TOML" in refused("train", str(broken))
