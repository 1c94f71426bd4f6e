import json
import random

import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from niulab.errors import ConfigError
from niulab.evaluation import read_curve
from niulab.training import read_train, train
from niulab.training.callbacks import RunCallback, due_multiples
from niulab.training.runs.checkpoint import _generators


def weights_of(folder):
    return (folder / "final" / "weights.safetensors").read_bytes()


@pytest.mark.parametrize("algorithm", ["ppo", "dqn"])
def test_one_seed_fixes_everything_and_another_changes_everything(algorithm, tiny, tmp_path):
    first = train(tiny(algorithm), tmp_path / "a", progress=False)
    random.seed(1)
    torch.manual_seed(1)
    second = train(tiny(algorithm), tmp_path / "b", progress=False)
    other = train(tiny(algorithm, seed=1), tmp_path / "c", progress=False)
    assert weights_of(first.run_dir) == weights_of(second.run_dir)
    assert weights_of(first.run_dir) != weights_of(other.run_dir)


def test_the_callers_generators_and_threads_are_left_alone(tiny, tmp_path, monkeypatch):
    threads = []
    step = RunCallback._on_step

    def spying(self):
        threads.append(torch.get_num_threads())
        return step(self)

    monkeypatch.setattr(RunCallback, "_on_step", spying)
    before = _generators(), torch.get_rng_state()
    n_threads = torch.get_num_threads()
    train(tiny(), tmp_path / "run", progress=False)
    assert set(threads) == {1}
    assert torch.get_num_threads() == n_threads
    assert _generators() == before[0]
    assert torch.equal(torch.get_rng_state(), before[1])


def test_the_manifest_stands_before_the_first_step(tiny, tmp_path, monkeypatch):
    config, folder = tiny(seed=4), tmp_path / "run"

    def dying(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(RunCallback, "_on_rollout_start", dying)
    with pytest.raises(KeyboardInterrupt):
        train(config, folder, progress=False, command="niulab train tiny")
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["seed"] == 4
    assert manifest["planned_steps"] == 512
    assert manifest["rules_hash"] == config.settings.rules.rules_hash
    assert manifest["encoding"] == "cards-ids-v1"
    assert manifest["config"] == config.to_json()
    assert manifest["legs"][0]["command"] == "niulab train tiny"
    assert manifest["legs"][0]["versions"]["torch"] == torch.__version__
    assert read_train(folder / "config.toml") == config


def test_a_folder_in_use_is_not_touched(tiny, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(ConfigError, match="--resume"):
        train(tiny(), tmp_path, progress=False)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_events_hold_returns_scores_and_one_hparams_record(tiny, tmp_path):
    config = tiny(evaluation={"every": 128, "n_rounds": 100})
    train(config, tmp_path, progress=False)
    events = EventAccumulator(str(tmp_path / "tb"))
    events.Reload()
    tags = events.Tags()["scalars"]
    assert {"rollout/ep_rew_mean", "train/loss", "train/ent_coef", "eval/value"} <= set(tags)
    assert [event.step for event in events.Scalars("eval/value")] == [128, 256, 384, 512]
    plugin = events.PluginTagToContent("hparams")
    assert sorted(plugin) == [
        "_hparams_/experiment",
        "_hparams_/session_end_info",
        "_hparams_/session_start_info",
    ]
    assert "final/value" in tags
    curve = read_curve(tmp_path)
    assert curve.steps == (128, 256, 384, 512)


def test_frequencies_are_in_environment_steps():
    def all_due(rollout, every, total):
        boundaries = range(rollout, total + rollout, rollout)
        return [
            multiple
            for step in boundaries
            for multiple in due_multiples(step - rollout, step, every=every, total=total)
        ]

    assert all_due(1, 100, 1000) == all_due(64, 100, 1000) == list(range(100, 1001, 100))
    assert all_due(640, 100, 1000) == list(range(100, 1001, 100))
    assert due_multiples(64, 128, every=100, total=1000) == [100]
    assert due_multiples(0, 64, every=None, total=1000) == []


@pytest.mark.parametrize("n_envs", [1, 64])
def test_evaluations_fall_due_at_the_same_multiples_for_any_number_of_rows(n_envs, tiny, tmp_path):
    config = tiny(
        "a2c",
        n_envs=n_envs,
        env={"card_order": "dealt"},
        network={"kind": "mlp", "hidden": [8]},
        algorithm_words={"n_steps": 2},
        total_steps=384,
        evaluation={"every": 100, "n_rounds": 100},
    )
    train(config, tmp_path, progress=False)
    lines = [json.loads(x) for x in (tmp_path / "evaluations.jsonl").read_text().splitlines()]
    assert [multiple for line in lines for multiple in line["due"]] == [100, 200, 300]
    assert all(line["step"] >= max(line["due"], default=0) for line in lines)


def test_a_loss_that_is_no_number_stops_the_run(tiny, tmp_path):
    config = tiny(algorithm_words={"learning_rate": 1e30})
    with pytest.raises(ConfigError, match=r"'tiny' \(seed 0\) broke down by step \d+"):
        train(config, tmp_path, progress=False)


def test_a_weight_that_is_no_number_stops_the_run_at_the_boundary(tiny, tmp_path, monkeypatch):
    end = RunCallback._on_rollout_end

    def breaking(self):
        end(self)
        if self.model.num_timesteps >= 128:
            next(self.model.policy.parameters()).data.fill_(float("nan"))

    monkeypatch.setattr(RunCallback, "_on_rollout_end", breaking)
    with pytest.raises(ConfigError, match="broke down by step 128"):
        train(tiny("dqn"), tmp_path, progress=False)


@pytest.mark.parametrize("algorithm", ["ppo", "a2c", "dqn"])
def test_plain_networks_train_on_sessions(algorithm, tiny, tmp_path):
    config = tiny(
        algorithm,
        task="niulab/Session-v0",
        env={"n_rounds": 3},
        network={"kind": "mlp", "hidden": [8]},
        total_steps=128,
    )
    result = train(config, tmp_path, progress=False)
    assert result.score.is_exact
    assert 0 <= result.score.value <= result.score.bounds.optimum
