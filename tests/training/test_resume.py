import json
import shutil

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from niulab.errors import CheckpointError
from niulab.training import run as run_room
from niulab.training import train
from niulab.training.callbacks import RunCallback
from niulab.training.runs.checkpoint import find_checkpoint
from niulab.training.runs.tracking import Tracker


class Killed(BaseException):
    """What a run cannot catch."""


@pytest.fixture
def killed_after(monkeypatch):
    """Let the next run die four rollouts after its n-th checkpoint, with more events written."""

    def arrange(n):
        saved, played, save, end = [], [], RunCallback._save, RunCallback._on_rollout_end

        def counting(self, step):
            save(self, step)
            saved.append(step)

        def dying(self):
            played.extend([1] * (len(saved) >= n))
            if len(played) == 4:
                raise Killed
            end(self)

        monkeypatch.setattr(RunCallback, "_save", counting)
        monkeypatch.setattr(RunCallback, "_on_rollout_end", dying)

    yield arrange
    monkeypatch.undo()


def run_twice(config, folder, killed_after, monkeypatch):
    """The folders of an uninterrupted run, and of one that died and was resumed."""
    whole, cut = folder / "whole", folder / "cut"
    train(config, whole, progress=False)
    killed_after(1)
    with pytest.raises(Killed):
        train(config, cut, progress=False)
    monkeypatch.undo()
    result = train(config, cut, resume=True, progress=False)
    assert result.steps == config.total_steps
    return whole, cut


def scores_of(folder):
    lines = (folder / "evaluations.jsonl").read_text().splitlines()
    return [{k: json.loads(line)[k] for k in ("step", "due", "scores")} for line in lines]


def scalars(folder, tag):
    events = EventAccumulator(str(folder / "tb"))
    events.Reload()
    return [(event.step, event.value) for event in events.Scalars(tag)]


@pytest.mark.parametrize(
    "algorithm",
    ["ppo", "a2c", "maskable_ppo", "recurrent_ppo", "dqn", "qrdqn", "sac", "td3", "imitation"],
)
def test_a_resumed_run_equals_an_uninterrupted_one(
    algorithm, tiny, tmp_path, killed_after, monkeypatch
):
    config = tiny(
        algorithm,
        checkpoint={"every": 256},
        evaluation={"every": 128, "n_rounds": 100},
    )
    whole, cut = run_twice(config, tmp_path, killed_after, monkeypatch)
    for name in ("final", "best"):
        weights = "weights.safetensors"
        assert (whole / name / weights).read_bytes() == (cut / name / weights).read_bytes()
    assert scores_of(whole) == scores_of(cut)
    rate = scalars(whole, "train/learning_rate")  # the schedule goes on where it stopped
    assert scalars(cut, "train/learning_rate") == rate
    assert rate[-1][1] == pytest.approx(0.0001, rel=0.05)
    assert scalars(cut, "rollout/ep_rew_mean") == scalars(whole, "rollout/ep_rew_mean")


SHORT_DECK = """
name = "short-deck"
title = "Single, Double, Super Niu without 2 to 6"
source = "tests"
extends = "single-double-super"
[deck]
removed_ranks = ["2", "3", "4", "5", "6"]
[table]
max_seats = 5
"""


def test_sessions_resume_too(tiny, tmp_path, killed_after, monkeypatch):
    rules = tmp_path / "short-deck.toml"
    rules.write_text(SHORT_DECK, encoding="utf-8")
    config = tiny(
        "maskable_ppo",
        task="niulab/NiuNiu-v0",
        env={"rules": str(rules), "encoding": "ids", "n_rounds": 3},
        total_steps=256,
        checkpoint={"every": 96},
    )
    whole, cut = run_twice(config, tmp_path, killed_after, monkeypatch)
    weights = "final/weights.safetensors"
    assert (whole / weights).read_bytes() == (cut / weights).read_bytes()
    assert scores_of(whole) == scores_of(cut)


def test_shared_waves_resume_too(tiny, tmp_path, killed_after, monkeypatch):
    network = {"kind": "mlp", "hidden": [8], "frequencies": 4}  # SB3 names them three times
    config = tiny(network=network, checkpoint={"every": 64})
    whole, cut = run_twice(config, tmp_path, killed_after, monkeypatch)
    weights = "final/weights.safetensors"
    assert (whole / weights).read_bytes() == (cut / weights).read_bytes()


@pytest.fixture
def killed(tiny, tmp_path, killed_after, monkeypatch):
    """A config with checkpoints and the folder of a run that died after two of them."""
    config = tiny(checkpoint={"every": 64})
    killed_after(2)
    with pytest.raises(Killed):
        train(config, tmp_path / "run", progress=False)
    monkeypatch.undo()
    return config, tmp_path / "run"


def test_a_changed_config_is_named(killed):
    config, folder = killed
    changed = config.replaced(algorithm=config.algorithm.model_dump() | {"gamma": 0.5})
    with pytest.raises(CheckpointError, match=r"config\.algorithm\.gamma was 1\.0, is 0\.5"):
        train(changed, folder, resume=True, progress=False)


def test_a_damaged_checkpoint_is_named_and_the_one_before_still_good(killed):
    config, folder = killed
    last = find_checkpoint(folder / "checkpoints")
    file = last / "tensors.safetensors"
    file.write_bytes(file.read_bytes()[:-8])
    with pytest.raises(CheckpointError, match="go on from the one before"):
        train(config, folder, resume=True, progress=False)
    shutil.rmtree(last)
    assert train(config, folder, resume=True, progress=False).steps == 512


def test_a_checkpoint_appears_whole_or_not_at_all(killed, monkeypatch):
    config, folder = killed
    before = sorted(path.name for path in (folder / "checkpoints").glob("step-*"))

    def dying(file, content):
        if file.parent.parent.name == "checkpoints" and file.name == "state.json":
            raise Killed
        file.write_bytes(content)

    monkeypatch.setattr("niulab.agents.models.file.write_synced", dying)
    with pytest.raises(Killed):
        train(config, folder, resume=True, progress=False)
    assert sorted(path.name for path in (folder / "checkpoints").glob("step-*")) == before


def test_nothing_is_resumed_where_nothing_was_begun(tiny, tmp_path):
    with pytest.raises(CheckpointError, match="no run to resume"):
        train(tiny(), tmp_path / "none", resume=True, progress=False)


def test_a_run_stopped_before_its_first_checkpoint_begins_again(
    tiny, tmp_path, killed_after, monkeypatch
):
    config = tiny(evaluation={"every": 64, "n_rounds": 100})
    killed_after(0)
    with pytest.raises(Killed):
        train(config, tmp_path / "cut", progress=False)
    monkeypatch.undo()
    train(config, tmp_path / "cut", resume=True, progress=False)
    train(config, tmp_path / "whole", progress=False)
    assert scores_of(tmp_path / "cut") == scores_of(tmp_path / "whole")


def test_a_finished_run_is_only_read(tiny, tmp_path, monkeypatch):
    config = tiny()
    first = train(config, tmp_path / "run", progress=False)
    monkeypatch.setattr(run_room, "_run", None)
    again = train(config, tmp_path / "run", resume=True, progress=False)
    assert again.steps == first.steps
    assert again.score.value == first.score.value
    (tmp_path / "run" / "result.json").write_text("{}")
    with pytest.raises(CheckpointError, match="is not what a finished run wrote"):
        train(config, tmp_path / "run", resume=True, progress=False)


def test_dqn_without_its_replay_buffer_refuses_to_go_on(tiny, tmp_path, killed_after, monkeypatch):
    config = tiny("dqn", checkpoint={"every": 256, "replay_buffer": False})
    killed_after(1)
    with pytest.raises(Killed):
        train(config, tmp_path / "run", progress=False)
    monkeypatch.undo()
    with pytest.raises(CheckpointError, match="holds no replay buffer"):
        train(config, tmp_path / "run", resume=True, progress=False)


def test_a_leg_begun_in_the_same_second_comes_after_the_last_one(tmp_path):
    for leg in range(12):  # event files of one second would be numbered ..., 10, 11, 8, 9
        if leg in {0, 11}:
            tracker = Tracker(tmp_path / "tb", resumed_at=leg or None)
            tracker.scores({"value": float(leg)}, leg)
        else:
            tracker = Tracker(tmp_path / f"other-{leg}")
        tracker.close()
    assert scalars(tmp_path, "eval/value") == [(0, 0.0), (11, 11.0)]
