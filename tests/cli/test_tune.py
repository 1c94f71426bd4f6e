"""``niulab tune`` and ``niulab train --from-study``: a tiny study, and what is refused."""

from pathlib import Path

import pytest

CONFIG = """
name = "tiny"
total_steps = 128
n_envs = 8

[env]
card_order = "dealt"     # no exact score, so a few rounds tell

[network]
kind = "mlp"
hidden = [8]

[algorithm]
name = "ppo"
n_steps = 4
batch_size = 32

[evaluation]
n_rounds = 100
"""
SEARCH = """
name = "search"
config = "{base}"

[tune]
n_trials = 1

[tune.set]
total_steps = 64

[tune.space]
"algorithm.learning_rate.start" = {{ low = 0.001, high = 0.1, log = true }}
"algorithm.batch_size" = [16, 32]
"""


@pytest.fixture
def search(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    base = tmp_path / "tiny.toml"
    base.write_text(CONFIG)
    path = tmp_path / "search.toml"
    path.write_text(SEARCH.format(base=base.as_posix()))
    return str(path)


def test_a_study_is_run_and_its_best_trial_trained(run_json, refused, search):
    pytest.importorskip("optuna", reason="the extra `tune` is not installed")
    result = run_json("tune", search)
    (row,) = result["trials"]
    assert result["best"] == row
    assert row["state"] == "complete"
    assert row["scores"] == [row["score"]]
    more = run_json("tune", search, "--trials", "2")
    assert more["trials"][0] == row
    assert len(more["trials"]) == 2
    trained = run_json("train", "--from-study", "search", "--seed", "5", "--set", "n_envs=16")
    assert (trained["name"], trained["seed"], trained["steps"]) == ("tiny-tuned", 5, 128)
    rate = more["best"]["values"]["algorithm.learning_rate.start"]
    written = Path(trained["run_dir"]) / "config.toml"
    assert f'"start" = {rate!r}' in written.read_text()
    assert "did you mean 'ppo_arrange'" in refused("tune", "ppo_arange")


@pytest.mark.parametrize("words", [[], ["ppo_arrange", "--from-study", "search"]])
def test_train_takes_a_config_or_a_study(refused, words):
    assert "a CONFIG, as ppo_arrange, or --from-study NAME" in refused("train", *words)


def test_without_optuna_the_extra_is_named(refused, search, monkeypatch):
    monkeypatch.setattr("niulab.training.tuning.study.find_spec", lambda _: None)
    assert "pip install 'niulab[tune]'" in refused("tune", search)
    assert "pip install 'niulab[tune]'" in refused("train", "--from-study", "search")
