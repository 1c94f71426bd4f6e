"""``niulab export`` and ``niulab import``: files to give away, and one's own to take in."""

from __future__ import annotations

import json

import pytest
from stable_baselines3 import PPO

from niulab.envs.encoding import Encoding
from niulab.envs.settings import make_settings
from niulab.training import parse_train, train


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The folder of a tiny run."""
    config = parse_train(
        {
            "name": "tiny",
            "total_steps": 64,
            "n_envs": 8,
            "env": {"card_order": "dealt"},
            "network": {"kind": "mlp", "hidden": [8]},
            "algorithm": {"name": "ppo", "n_steps": 4, "batch_size": 32},
            "evaluation": {"n_rounds": 100},
        }
    )
    return train(config, tmp_path_factory.mktemp("runs") / "tiny", progress=False).run_dir


def test_a_run_becomes_a_small_model_that_is_scored_and_replaced(
    run, run_json, refused, trained, tmp_path
):
    out = tmp_path / "given"
    said = run_json("export", str(trained), str(out))
    card = json.loads((out / "card.json").read_text())
    assert said["scores"] == card["scores"]
    assert card["scores"]["source"] == "simulation"
    assert card["config"]["name"] == "tiny"
    assert said["bytes"]["weights.safetensors"] < 10_000
    assert run("export", str(trained), str(out)).exit_code == 0  # the same again, in its place
    (out / "mine.txt").write_text("mine")
    assert "holds other things than a model" in refused("export", str(trained), str(out))
    assert (out / "mine.txt").read_text() == "mine"


def test_a_zip_goes_out_and_comes_in(run_json, refused, trained, tmp_path):
    file, folder = tmp_path / "model.zip", tmp_path / "back"
    run_json("export", str(trained), str(file))
    space = Encoding(make_settings("niulab/Arrange-v0")).space
    assert PPO.load(file, device="cpu").observation_space == space
    words = ("import", str(file), str(folder), "--env", "Arrange", "--set", "card_order=dealt")
    message = refused(*words)
    assert "loading a pickle runs the code it names" in message.replace("\n", " ")
    assert not folder.exists()
    said = run_json(*words, "--allow-pickle")
    assert (said["algorithm"], said["steps"]) == ("ppo", 64)
    assert (folder / "weights.safetensors").is_file()
    assert "exists already" in refused("export", str(trained), str(file))
    assert "exists already" in refused(*words, "--allow-pickle")


def test_a_shipped_agent_goes_out_too(run_json, tmp_path):
    said = run_json("export", "trained:ppo_arrange", str(tmp_path / "model.zip"))
    assert said["scores"]["n_errors"] == 0
    assert (tmp_path / "model.zip").is_file()


def test_what_is_no_model_is_refused(refused, tmp_path):
    assert "there is nothing" in refused("export", str(tmp_path / "none"), str(tmp_path / "m.zip"))
    assert "did you mean" in refused("export", "trained:ppo_arange", str(tmp_path / "m.zip"))
    assert list(tmp_path.iterdir()) == []
