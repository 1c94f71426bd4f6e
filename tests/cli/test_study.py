"""``niulab study``: figures on stdout, a report on disk, and one message for what is wrong."""

from __future__ import annotations

import json

import pytest

from niulab.errors import ConfigError
from niulab.evaluation import studies

MIX = 'kind = "mix"\nstakes_cents = [0, 40]\nslip = "single=100,super=40"\n'


def write(tmp_path, text):
    path = tmp_path / "small.toml"
    path.write_text(text)
    return str(path)


def test_a_study_is_printed_and_reported(run, tmp_path):
    out = tmp_path / "report"
    result = run("study", write(tmp_path, MIX), "--out", str(out))
    assert result.exit_code == 0, result.stderr
    assert "Mixes of boxes" in result.stdout
    assert "-8134827643/302018644200" in result.stdout
    assert f"report: {out / 'report.html'}" in result.stdout
    names = {path.name for path in out.iterdir()}
    tables = ("boxes", "correlations", "mixes", "payoff")
    assert names == {
        *("report.md", "report.html", "study.json", "edges.png", "frontier.png", "payoff.png"),
        *(f"{table}.{end}" for table in tables for end in ("csv", "parquet")),
    }


def test_json_alone_on_stdout_is_what_the_file_holds(run_json, tmp_path):
    out = tmp_path / "report"
    record = run_json("study", write(tmp_path, MIX), "--out", str(out), "--set", "seed=7")
    assert record["headline"]["house_edge"]["single"] == "1/40"
    assert record["headline"]["house_edge"]["super"] == "466382605027/3322205086200"
    assert record["provenance"]["seed"] == 7
    report = record.pop("report")
    assert report["html"] == str(out / "report.html")
    assert json.loads((out / "study.json").read_text("utf-8")) == record


def test_the_default_folder_is_named_after_the_config(run_json, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_json("study", write(tmp_path, MIX))
    assert (tmp_path / "reports" / "small" / "report.md").is_file()


def test_the_readings_of_the_defective_sheet_are_warned_of(run, tmp_path):
    result = run("study", "readings", "--out", str(tmp_path))
    assert result.exit_code == 0
    assert "PLAYER +0.8512620433" in result.stderr  # any Niu Niu on the Bonus
    assert "PLAYER +0.4605403442" in result.stderr  # the literal note: the +46 % sheet
    assert "-46.054034 %" in result.stdout
    rows = (tmp_path / "readings.csv").read_text("utf-8").splitlines()
    assert len(rows) == 1 + 12 * 4


REFUSED = {
    "unknown study": ("mixx", ["no study config 'mixx'; did you mean 'mix'?"]),
    "unknown kind": ('kind = "mixes"\n', ["no study 'mixes'; did you mean 'mix'?"]),
    "no TOML": ("kind = \n", ["is no TOML"]),
    "several mistakes at once": (
        'kind = "mix"\nrules = "single-duble-super"\nstake_cents = [1]\nseed = -3\n',
        [
            "small.toml is no mix study:",
            "rules: no rule set 'single-duble-super'; did you mean 'single-double-super'?",
            "unknown key 'stake_cents'; did you mean 'stakes_cents'?",
            "seed: input should be greater than or equal to 0, got -3",
        ],
    ),
    "a turnover too large": (
        'kind = "promotions"\nturnover_cents = 1_000_000_000\n',
        ["10,000,001 x 2,140 bankrolls of 5 cents need 428,000,042,800 bytes"],
    ),
    "chip unit that does not divide": (
        MIX.replace("40]", "50]"),
        ["DOUBLE 50 would leave a fraction", "SUPER 50 would leave", "write 40 or 60"],
    ),
}


@pytest.mark.parametrize(("text", "parts"), REFUSED.values(), ids=REFUSED)
def test_bad_studies_write_nothing(refused, tmp_path, text, parts):
    config = write(tmp_path, text) if "\n" in text else text
    out = tmp_path / "new" / "report"
    message = refused("study", config, "--out", str(out))
    assert all(part in message for part in parts), message
    assert not (tmp_path / "new").exists()


def test_a_word_that_sets_nothing_is_refused(refused, tmp_path):
    message = refused("study", write(tmp_path, MIX), "--set", "seed")
    assert "'seed' sets nothing: write key=value" in message


def test_a_report_that_cannot_be_written_is_found_out_first(refused, tmp_path, monkeypatch):
    monkeypatch.setattr(studies, "run_study", None)
    (tmp_path / "file").write_text("a file")
    message = refused("study", write(tmp_path, MIX), "--out", str(tmp_path / "file" / "x"))
    assert "give a path that can be read and written" in message


def test_a_report_that_cannot_be_written_leaves_no_folder(refused, tmp_path, monkeypatch):
    def full(*_args, **_words):
        raise ConfigError("cannot write 'report.md': No space left on device")

    monkeypatch.setattr(studies, "write_study", full)
    out = tmp_path / "new" / "report"
    message = refused("study", write(tmp_path, MIX), "--out", str(out))
    assert "No space left on device" in message
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("has_kept", [True, False])
def test_an_interrupted_study_says_what_it_kept(run, tmp_path, monkeypatch, has_kept):
    def interrupted(config, *, progress, keep):
        if has_kept:
            keep.mkdir()
            (keep / "row.json").write_text("{}")
        raise KeyboardInterrupt

    monkeypatch.setattr(studies, "run_study", interrupted)
    out = tmp_path / "report"
    result = run("study", write(tmp_path, MIX), "--out", str(out))
    assert result.exit_code == 130
    assert ("goes on from what lies in" in result.stderr) == has_kept
    assert out.exists() == has_kept
