import json
import tomllib
import warnings

import pytest

pytest.importorskip("optuna", reason="the extra `tune` is not installed")

from niulab.errors import CheckpointError, ConfigError
from niulab.training import parse_train, train
from niulab.training.tuning import study as room
from niulab.training.tuning.config import parse_tune
from niulab.training.tuning.study import best_config, find_study, tune

TINY = {
    "name": "tiny",
    "total_steps": 128,
    "n_envs": 8,
    "env": {"encoding": "ids", "card_order": "dealt"},
    "network": {"kind": "mlp", "hidden": [8]},
    "algorithm": {"name": "ppo", "n_steps": 4, "batch_size": 32},
    "evaluation": {"n_rounds": 100},
}
SPACE = {
    "algorithm.learning_rate.start": {"low": 1e-3, "high": 0.1, "log": True},
    "algorithm.n_epochs": {"low": 1, "high": 2},
    "network.hidden": [[4], [8]],
}


def search(**words):
    changes = {"n_trials": 4, "set": {"total_steps": 64}, "space": SPACE} | words
    return parse_tune({"name": "search", "config": TINY, "tune": changes})


def figures(result):
    return [(row.state, dict(row.values), row.scores) for row in result.rows]


class Killed(BaseException):
    """What a study cannot catch."""


def test_an_interrupted_study_tries_what_an_uninterrupted_one_tries(tmp_path, monkeypatch):
    config = search(seeds=[0, 1])
    whole = tune(config, tmp_path / "whole")
    calls = []

    def dying(*args, **words):
        calls.append(args)
        if len(calls) == 4:  # the second run of the second trial
            raise Killed
        return train(*args, **words)

    monkeypatch.setattr(room, "train", dying)
    with pytest.raises(Killed):
        tune(config, tmp_path / "cut")
    monkeypatch.undo()
    best = best_config(tmp_path / "cut")  # of one trial, before the study goes on
    assert best.algorithm.learning_rate.start == pytest.approx(
        whole.rows[0].values["algorithm.learning_rate.start"]
    )
    result = tune(config, tmp_path / "cut")
    assert len(result.rows) == 4
    assert figures(result) == figures(whole)
    assert result.best.score == max(row.score for row in whole.rows)
    assert result.best.score == pytest.approx(sum(result.best.scores) / 2)


def test_a_trials_score_is_that_of_its_runs_and_the_best_trains_at_the_full_budget(tmp_path):
    config = search(n_trials=2)
    result = tune(config, tmp_path / "s")
    row = result.rows[1]
    alone = train(config.trial(row.values, 0), tmp_path / "alone", progress=False)
    assert row.score == alone.score.to_record()["normalized_score"]
    best = best_config(find_study(tmp_path / "s" / "study.db"))
    assert (best.total_steps, best.name) == (128, "tiny-tuned")
    assert list(best.network.hidden) == result.best.values["network.hidden"]
    written = tomllib.loads((tmp_path / "s" / "best.toml").read_text())
    assert parse_train(written) == best


def test_another_seed_tries_other_values_and_more_trials_go_on(tmp_path):
    first = tune(search(n_trials=2), tmp_path / "a")
    other = tune(search(n_trials=2, seed=1), tmp_path / "b")
    assert figures(first) != figures(other)
    more = tune(search(n_trials=3), tmp_path / "a")
    assert figures(more)[:2] == figures(first)
    assert len(more.rows) == 3
    with pytest.raises(CheckpointError, match=r"another config \(tune.seed changed\)"):
        tune(search(n_trials=3, seed=1), tmp_path / "a")


def test_a_trial_that_fails_is_a_row(tmp_path):
    space = {"algorithm.batch_size": [32, 33], "algorithm.learning_rate.start": [1e30, 0.01]}
    result = tune(search(n_trials=6, sampler="random", space=space), tmp_path / "s")
    failed = [row for row in result.rows if row.state == "failed"]
    assert {row.state for row in result.rows} == {"failed", "complete"}
    for row in failed:
        is_size = row.values["algorithm.batch_size"] == 33
        assert ("does not divide" if is_size else "broke down") in row.error
        assert row.score is None
    assert result.best.values == {
        "algorithm.batch_size": 32,
        "algorithm.learning_rate.start": 0.01,
    }


def test_a_study_without_a_complete_trial_says_so(tmp_path):
    space = {"algorithm.batch_size": [32, 33], "algorithm.learning_rate.start": [1e30]}
    result = tune(search(n_trials=1, space=space), tmp_path / "s")
    assert result.best is None
    assert not (tmp_path / "s" / "best.toml").exists()
    with pytest.raises(ConfigError, match="no trial of the study"):
        best_config(tmp_path / "s")


def test_pruned_trials_stop_between_their_runs(tmp_path, monkeypatch):
    scores = iter([0.5, 0.5] * 4 + [0.1])  # the fifth trial is below the median at once
    monkeypatch.setattr(room, "_trained", lambda _: next(scores))
    result = tune(search(n_trials=5, seeds=[0, 1], prune=True), tmp_path / "s")
    assert [row.state for row in result.rows] == ["complete"] * 4 + ["pruned"]
    assert result.rows[4].scores == (0.1,)
    assert result.best.score == 0.5


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(ConfigError, match="holds something else"):
        tune(search(), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    (tmp_path / "study.db").write_bytes(b"no database")
    with pytest.raises(CheckpointError, match="is no study"):
        best_config(tmp_path)
    with pytest.raises(ConfigError, match="there is no study 'none'"):
        best_config("none")


def test_optuna_is_an_extra(tmp_path, monkeypatch):
    monkeypatch.setattr(room, "find_spec", lambda _: None)
    with pytest.raises(ImportError, match=r"pip install 'niulab\[tune\]'"):
        tune(search(), tmp_path / "s")
    assert not (tmp_path / "s").exists()


@pytest.mark.long
def test_two_jobs_train_a_batch_apart(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one = tune(search(n_trials=2, sampler="random"), tmp_path / "one")
        two = tune(search(n_trials=2, sampler="random"), tmp_path / "two", jobs=2)
    assert figures(one) == figures(two)  # chance alone does not look at other trials
    manifest = tmp_path / "two" / "trials" / "0001" / "seed-0" / "manifest.json"
    assert json.loads(manifest.read_text())["seed"] == 0
    with pytest.raises(ConfigError, match="prune = false"):
        tune(search(prune=True), tmp_path / "three", jobs=2)
