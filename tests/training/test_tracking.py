"""What TensorBoard is told, read back from the event files."""

import json

import numpy as np
import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

from niulab.training import train
from niulab.training.sb3_vec import Sb3Vec

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


def events_of(folder):
    events = EventAccumulator(str(folder / "tb"), size_guidance={"scalars": 0, "histograms": 0})
    events.Reload()
    return events


def lines_of(folder):
    return [json.loads(line) for line in (folder / "evaluations.jsonl").read_text().splitlines()]


def test_curves_beside_the_optimum_and_the_regret_of_each_rank(tiny, tmp_path):
    rules = tmp_path / "short-deck.toml"
    rules.write_text(SHORT_DECK, encoding="utf-8")
    env = {"rules": str(rules), "encoding": "ids"}
    result = train(
        tiny(env=env, total_steps=128, evaluation={"every": 64}), tmp_path / "run", progress=False
    )
    events, lines = events_of(tmp_path / "run"), lines_of(tmp_path / "run")
    steps = [line["step"] for line in lines]
    values = [(event.step, event.value) for event in events.Scalars("eval/value")]
    assert values == [
        (s, pytest.approx(x["scores"]["value"])) for s, x in zip(steps, lines, strict=True)
    ]
    optimum = [event.value for event in events.Scalars("eval/value_of_optimum")]
    assert optimum == [pytest.approx(float(result.score.bounds.optimum))] * len(steps)
    tags = [tag for tag in events.Tags()["scalars"] if tag.startswith("regret_by_rank/")]
    assert {tag.partition("/")[2] for tag in tags} == set(result.score.regret_by_rank)
    for place, line in enumerate(lines):  # the ranks' regrets add up to what is lost in all
        parts = [events.Scalars(tag)[place].value for tag in tags]
        assert sum(parts) == pytest.approx(line["scores"]["regret"], rel=1e-5)
        lost = optimum[place] - line["scores"]["value"]
        assert lost == pytest.approx(line["scores"]["regret"], rel=1e-5)
    assert "custom_scalars__config__" in events.Tags()["tensors"]


@pytest.mark.parametrize("algorithm", ["ppo", "dqn"])
def test_histograms_count_every_action_that_was_played(algorithm, tiny, tmp_path, monkeypatch):
    played, send = [], Sb3Vec.step_async

    def counting(self, actions):
        played.extend(actions.tolist())
        send(self, actions)

    monkeypatch.setattr(Sb3Vec, "step_async", counting)
    train(tiny(algorithm, logging={"every": 128}), tmp_path, progress=False)
    histograms = events_of(tmp_path).Histograms("rollout/actions")
    assert [event.step for event in histograms] == [128, 256, 384, 512]
    assert [event.histogram_value.num for event in histograms] == [128] * 4
    counts = np.zeros(10)
    for event in histograms:
        for limit, n in zip(
            event.histogram_value.bucket_limit, event.histogram_value.bucket, strict=True
        ):
            if n:
                counts[int(limit)] += n  # the bar of action 3 ends at 3.5
    assert counts.tolist() == np.bincount(played, minlength=10).tolist()


def hparams_records(folder):
    tags = []
    for file in sorted((folder / "tb").glob("events.out.tfevents.*")):
        for event in EventFileLoader(str(file)).Load():
            tags += [value.tag for value in event.summary.value if "_hparams_" in value.tag]
    return sorted(tags)


def test_one_hparams_record_even_if_the_run_died_behind_it(tiny, tmp_path):
    config = tiny(checkpoint={"every": 256})
    record = train(config, tmp_path, progress=False).score.to_record()
    whole = [
        "_hparams_/experiment",
        "_hparams_/session_end_info",
        "_hparams_/session_start_info",
    ]
    assert hparams_records(tmp_path) == whole
    (tmp_path / "result.json").unlink()
    train(config, tmp_path, resume=True, progress=False)
    assert hparams_records(tmp_path) == whole
    final = events_of(tmp_path).Scalars("final/value")
    assert [(event.step, event.value) for event in final] == [(512, pytest.approx(record["value"]))]


def test_what_a_killed_leg_wrote_after_its_checkpoint_is_purged(tiny, tmp_path):
    config = tiny(checkpoint={"every": 256}, evaluation={"every": 64, "n_rounds": 100})
    train(config, tmp_path, progress=False)
    (tmp_path / "result.json").unlink()  # as if it had died at the very end
    train(config, tmp_path, resume=True, progress=False)
    events = events_of(tmp_path)
    steps = [64, 128, 192, 256, 320, 384, 448, 512]
    assert [event.step for event in events.Scalars("eval/value")] == steps
    assert [event.step for event in events.Histograms("rollout/actions")] == steps
