"""Suites: cells kept as they finish, failures as rows, the same figures however one gets there."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from small_suite import make_tree

from niulab.errors import CheckpointError
from niulab.evaluation.statistics import aggregate, probability_of_improvement, sample_efficiency
from niulab.evaluation.suites import report as report_room
from niulab.training.leagues import cells as cells_room
from niulab.training.leagues.suite import hold_suite
from niulab.training.leagues.suite_config import parse_suite, read_any


@pytest.fixture(autouse=True)
def undrawn(request, monkeypatch):
    """Pictures take most of the time of a small suite, and have tests of their own."""
    if "drawn" not in request.fixturenames:
        undraw(monkeypatch)


@pytest.fixture
def drawn():
    """A test that asks for it gets pictures."""


def undraw(monkeypatch):
    for name in (
        "aggregate_intervals",
        "improvement_intervals",
        "performance_profiles",
        "suite_curves",
    ):
        monkeypatch.setattr(report_room, name, lambda _: None)


def figures_of(folder):
    """Every table of a report and every cell, without the seconds and the date."""
    cells = {}
    for file in sorted(folder.rglob("cell.json")):
        record = json.loads(file.read_text())
        for key in ("wall_seconds", "cpu_seconds", "date"):
            record.pop(key, None)
        cells[str(file.parent.relative_to(folder))] = record
    tables = {
        file.name: list(csv.DictReader(file.read_text().splitlines()))
        for file in folder.glob("*.csv")
    }
    for row in tables["cells.csv"]:
        del row["wall_seconds"], row["cpu_seconds"]
    return cells, tables


def test_every_cell_is_a_figure_and_the_report_says_what_direct_calls_say(tree, drawn, tmp_path):
    seen = []
    config = parse_suite(tree)
    held = hold_suite(config, tmp_path / "out", progress=lambda *words: seen.append(words))
    assert seen == [("cells", done, 11) for done in range(12)]
    assert (held.n_cells, held.n_kept) == (11, 0)

    results = held.report.summary.results
    assert results.shape == (2, 2, 2)
    assert results.algorithms == ("PPO", "PPO, slow")
    assert results.steps.tolist() == [[[256, 128]] * 2] * 2
    for i, label in enumerate(("ppo", "ppo-slow")):
        for j, seed in enumerate((3, 5)):
            for k, task in enumerate(("two", "one")):
                place = tmp_path / "out" / "cells" / label / task / str(seed)
                cell = json.loads((place / "cell.json").read_text())
                run = json.loads((place / "run" / "result.json").read_text())
                assert cell["score"]["value"] == run["score"]["value"]
                assert results.scores[i, j, k] == run["score"]["normalized_score"]
                assert results.cpu_seconds[i, j, k] == run["cpu_seconds"]
                steps = [256, 128][k]
                assert cell["curve"]["steps"][-1] == steps
                regrets = [row["regret"] for row in cell["curve"]["scores"]]
                total = np.dot(regrets, np.diff(cell["curve"]["steps"], prepend=0))
                assert results.regrets[i, j, k] == pytest.approx(total)
                assert len(cell["config_hash"]) == 16
                assert cell["rules_hash"] == config.tasks[k].settings.rules.rules_hash
                assert "torch" in cell["versions"]

    summary = held.report.summary
    for algorithm in results.algorithms:
        direct = aggregate(results.scores_of(algorithm), seed=0, n_resamples=100)
        assert summary.aggregates[algorithm].iqm == direct.iqm
    one, other = results.algorithms
    assert summary.improvement[one, other] == probability_of_improvement(
        results.scores_of(one), results.scores_of(other), seed=0, n_resamples=100
    )
    curves = results.curves_of("PPO", "Two")
    assert summary.efficiency["PPO", "Two"][0] == sample_efficiency(curves, 0.9)

    study = json.loads((tmp_path / "out" / "study.json").read_text())
    headline = study["headline"]
    assert headline["aggregates"]["PPO"]["iqm"][0] == summary.aggregates["PPO"].iqm.value
    by_label = {(r["label"], r["task"]): r for r in headline["references"]}
    assert by_label["optimum", "Two"]["normalized"] == pytest.approx(1)
    assert set(by_label) == {("optimum", "Two"), ("optimum", "One"), ("bold", "Two")}
    text = (tmp_path / "out" / "report.md").read_text()
    for title in ("Over tasks and seeds", "Scores by task", "Agents that were not trained", "Time"):
        assert f"## {title}" in text
    assert "limit" not in text
    assert "Cells without" not in text


@pytest.fixture(scope="module")
def whole(small, tmp_path_factory):
    """The figures of the suite that nothing interrupted."""
    folder = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        undraw(patch)
        hold_suite(parse_suite(make_tree(small)), folder)
    return figures_of(folder)


def test_an_interrupted_suite_goes_on_and_does_nothing_twice(tree, whole, tmp_path, monkeypatch):
    config, out, train = parse_suite(tree), tmp_path / "out", cells_room.train
    trained = []

    def stopping(run, place, **words):
        if len(trained) == 3:
            raise KeyboardInterrupt
        trained.append(place)
        return train(run, place, **words)

    monkeypatch.setattr(cells_room, "train", stopping)
    with pytest.raises(KeyboardInterrupt):
        hold_suite(config, out)
    dates = {file: file.stat().st_mtime_ns for file in out.rglob("cell.json")}
    assert len(dates) == 3 + 3
    assert not (out / "report.md").exists()

    monkeypatch.setattr(cells_room, "train", train)
    held = hold_suite(config, out)
    assert (held.n_cells, held.n_kept) == (11, 6)
    assert {file: file.stat().st_mtime_ns for file in dates} == dates
    assert figures_of(out) == whole
    assert hold_suite(config, out).n_kept == 11


def test_a_suite_that_grows_only_does_what_is_new(tree, tmp_path):
    del tree["learner"][1], tree["reference"][0]
    tree["suite"]["seeds"] = [3]
    hold_suite(parse_suite(tree), tmp_path)
    tree["suite"]["seeds"] = [3, 8]
    held = hold_suite(parse_suite(tree), tmp_path)
    assert (held.n_cells, held.n_kept) == (5, 3)


def test_a_training_that_breaks_down_is_a_row_and_the_others_go_on(tree, tmp_path):
    tree["learner"][1]["set"] = ["algorithm.learning_rate=1e30"]
    tree["learner"][1]["label"] = "broken"
    config = parse_suite(tree)
    held = hold_suite(config, tmp_path)
    results = held.report.summary.results
    assert results.failed.tolist() == [[[False] * 2] * 2, [[True] * 2] * 2]
    reason = results.reasons["broken", 3, "Two"]
    assert reason.startswith("failed: ConfigError: training of 'small' (seed 3) broke down")
    record = json.loads((tmp_path / "cells" / "broken" / "two" / "3" / "cell.json").read_text())
    assert record["status"] == "failed"
    assert "Traceback" in record["traceback"]
    assert held.report.summary.left_out == {"broken": ("Two", "One")}
    assert "4 of 11 cells failed" in held.report.warnings()[0]
    assert "broke down" in (tmp_path / "report.md").read_text()

    assert hold_suite(config, tmp_path).n_kept == 11
    again = hold_suite(config, tmp_path, retry_failed=True)
    assert again.n_kept == 7
    assert again.report.summary.results.reasons == results.reasons


def test_a_failure_that_is_mended_is_forgotten(tree, whole, tmp_path, monkeypatch):
    config, out, train = parse_suite(tree), tmp_path / "out", cells_room.train

    def failing(run, place, **words):
        if run.seed == 5 and "slow" in str(place):
            place.mkdir(parents=True)
            (place / "half").touch()
            message = "no space left"
            raise MemoryError(message)
        return train(run, place, **words)

    monkeypatch.setattr(cells_room, "train", failing)
    held = hold_suite(config, out)
    assert held.report.summary.results.reasons["PPO, slow", 5, "One"] == (
        "failed: MemoryError: no space left"
    )
    monkeypatch.setattr(cells_room, "train", train)
    assert hold_suite(config, out, retry_failed=True).n_kept == 9
    assert figures_of(out) == whole


def test_what_takes_too_long_is_stopped_at_a_boundary_and_goes_on_when_given_more(
    tree, whole, tmp_path
):
    out = tmp_path / "out"
    tree["suite"]["max_cpu_seconds"] = 1e-9
    held = hold_suite(parse_suite(tree), out)
    assert held.report.summary.results.failed.all()
    reason = held.report.summary.results.reasons["PPO", 3, "Two"]
    assert reason.startswith("out of budget: stopped at step 64 of 256 after ")
    assert "8 of 11 cells ran out of budget" in held.report.warnings()[0]
    assert hold_suite(parse_suite(tree), out).n_kept == 11

    tree["suite"]["max_cpu_seconds"] = 1e9
    assert hold_suite(parse_suite(tree), out).n_kept == 3
    cells, tables = figures_of(out)
    assert cells == whole[0]
    assert tables == whole[1]


def test_a_changed_config_is_named_before_anything_is_done(tree, tmp_path):
    out = tmp_path / "out"
    del tree["learner"][1], tree["reference"]
    hold_suite(parse_suite(tree), out)
    before = figures_of(out)
    tree["learner"][0]["set"] = ["algorithm.n_epochs=2"]
    with pytest.raises(CheckpointError) as caught:
        hold_suite(parse_suite(tree), out)
    message = str(caught.value)
    assert "4 cells in" in message
    assert "PPO on Two, seed 3: its config was" in message
    assert "give another folder (--out)" in message
    assert figures_of(out) == before


def test_a_learner_may_leave_out_tasks_and_is_not_averaged_over_others(tree, tmp_path):
    del tree["learner"][1]["configs"]["One"], tree["reference"]
    tree["suite"]["seeds"] = [3]
    held = hold_suite(parse_suite(tree), tmp_path)
    summary = held.report.summary
    assert summary.left_out == {"PPO, slow": ("One",)}
    assert set(summary.aggregates) == {"PPO"}
    assert summary.results.reasons["PPO, slow", 3, "One"].startswith("not entered")


# ---------------------------------------------------------------- processes


@pytest.mark.long
def test_processes_give_the_figures_of_one_process(tree, whole, tmp_path):
    tree["learner"][1]["set"] = ["algorithm.learning_rate=1e30"]
    config = parse_suite(tree)
    hold_suite(config, tmp_path / "here")
    hold_suite(config, tmp_path / "apart", engine="processes", workers=2)
    here, apart = figures_of(tmp_path / "here"), figures_of(tmp_path / "apart")
    for cells, _ in (here, apart):
        for record in cells.values():
            record.pop("traceback", None)
    assert here == apart


KILLED = """
import sys
from pathlib import Path
from niulab.training.leagues.suite import hold_suite
from niulab.training.leagues.suite_config import read_any
hold_suite(read_any(sys.argv[1]), Path(sys.argv[2]))
"""


@pytest.mark.long
@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL")
def test_a_suite_killed_in_the_middle_of_a_training_goes_on(small, tmp_path):
    """SIGKILL between a checkpoint and the end of a run, as if the power had failed."""
    text = f"""
[suite]
name = "small"
seeds = [3, 5]
steps = 6_000
evaluations = 4
[[task]]
name = "Two"
id = "niulab/Session-v0"
env = {{ n_rounds = 2 }}
[[learner]]
label = "PPO"
configs = {{ Two = "{small}" }}
"""
    file, out = tmp_path / "suite.toml", tmp_path / "out"
    file.write_text(text)
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(file), str(out)])
    second = out / "cells" / "ppo" / "two" / "5" / "run" / "checkpoints"
    try:
        deadline = time.monotonic() + 300
        while len([*second.glob("step-*")]) < 2:
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    finished = out / "cells" / "ppo" / "two" / "3" / "cell.json"
    before = finished.read_bytes()
    assert not (second.parents[1] / "cell.json").exists()

    config = read_any(file)
    held = hold_suite(config, out)
    assert held.n_kept == 1
    assert finished.read_bytes() == before
    manifest = json.loads((second.parent / "manifest.json").read_text())
    assert manifest["legs"][1]["from_step"] > 0
    hold_suite(config, tmp_path / "whole")
    assert figures_of(out) == figures_of(tmp_path / "whole")
