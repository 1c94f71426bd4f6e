"""``niulab simulate``: figures, kills and interrupts, and what is refused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

NIULAB = [sys.executable, "-m", "niulab"]
SDS = "single-double-super"
SLIP = ["--slip", "single=100,super=40"]


def figures(record):
    """What must be equal between two runs of the same rounds."""
    return {key: record[key] for key in ("rounds", "boxes", "slip_values", "outcomes")}


def test_keys_and_exact_values(run_json):
    record = run_json("simulate", SDS, "--rounds", "1e6", *SLIP, "--seats", "2", "--seed", "5")
    assert (record["rules"], record["rules_hash"]) == (SDS, "7d76c5e2082a6388")
    assert record["slip"] == {"single": 100, "super": 40}
    assert (record["seats"], record["seed"], record["rounds"]) == (2, 5, 1_000_000)
    assert record["rounds_per_second"] == pytest.approx(1_000_000 / record["seconds"])
    assert record["boxes"]["single"]["ev_exact"] == "-1/40"
    assert list(record["boxes"]) == ["single", "double", "super"]
    for box in record["boxes"].values():  # 2.5 half-widths: a false alarm in a million
        assert abs(box["ev"] - box["ev_exact_float"]) < 2.5 * box["half_width"]
    slip = record["slip_values"]
    assert slip["ev_cents_exact"] == "-1348040845829/166110254310"
    assert abs(slip["ev_cents"] - slip["ev_cents_exact_float"]) < 2.5 * slip["half_width"]
    assert list(record["outcomes"]) == ["win", "lose", "push"]
    assert sum(outcome["count"] for outcome in record["outcomes"].values()) == 2_000_000
    assert record["outcomes"]["win"]["share_exact"] == "1/2"
    assert (record["level"], record["rounds_resumed"], record["warnings"]) == (0.95, 0, [])


def test_numbers_are_read_alike_and_threads_change_nothing(run_json):
    one = run_json("simulate", SDS, "--rounds", "250_000")
    for rounds in ("2.5e5", "250000", "25E+4"):
        assert figures(run_json("simulate", SDS, "--rounds", rounds)) == figures(one)
    assert figures(run_json("simulate", SDS, "--rounds", "250_000", "--threads", "2")) == figures(
        one
    )
    assert figures(run_json("simulate", SDS, "--rounds", "250_000", "--seed", "1")) != figures(one)


def test_the_text_shows_simulated_beside_exact(run):
    result = run("simulate", SDS, "--rounds", "1e5", *SLIP)
    for part in ("100,000 rounds of 1 seat(s), seed 0", "rounds/s", "± at 95 %", "-1/40", "push"):
        assert part in result.stdout
    assert result.stderr == ""  # no bar where there is no terminal


def test_a_sheet_that_pays_the_player_is_warned_of(run):
    result = run("simulate", "even-double-super-bonus-literal-note", "--rounds", "1e4", "--json")
    assert json.loads(result.stdout)["warnings"][0] == result.stderr.strip()


def started(path, *words):
    """A run without end, as soon as its checkpoint holds rounds."""
    process = subprocess.Popen(
        [*NIULAB, "simulate", SDS, *words, "--rounds", "1e15", "--checkpoint", str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 100
    while time.monotonic() < deadline and process.poll() is None:
        if path.exists() and json.loads(path.read_text())["rounds"]:
            return process
        time.sleep(0.05)
    process.kill()
    pytest.fail(f"no checkpoint: {process.communicate()[1]}")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL, nor SIGINT for one process")
@pytest.mark.parametrize(("how", "code"), [("SIGKILL", -9), ("SIGINT", 130)])
def test_a_stopped_run_resumes_to_the_same_totals(run_json, tmp_path, how, code):
    path = tmp_path / "totals.json"
    process = started(path, *SLIP, "--threads", "2")
    process.send_signal(getattr(signal, how))
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (code, "")
    assert "Traceback" not in err
    done = json.loads(path.read_text())["rounds"]
    words = ["simulate", SDS, *SLIP, "--rounds", str(done + 200_000)]
    resumed = run_json(*words, "--checkpoint", str(path))
    assert resumed["rounds_resumed"] == done
    assert figures(resumed) == figures(run_json(*words))


def test_a_checkpoint_of_another_run_is_refused(run_json, refused, tmp_path):
    words = ["simulate", SDS, "--rounds", "1e4", "--checkpoint", str(tmp_path / "totals.json")]
    run_json(*words)
    message = refused(*words, "--seed", "1", "--seats", "2")
    assert "seats is 1 there and 2 here, seed is 0 there and 1 here" in message
    (tmp_path / "totals.json").write_text("{")
    assert "is damaged" in refused(*words)


REFUSED = {
    "NaN": (["--rounds", "nan"], "'nan' is no positive whole number"),
    "infinite": (["--rounds", "inf"], "write 1000000, 1_000_000 or 1e6"),
    "negative": (["--rounds=-5"], "'-5' is no positive whole number"),
    "zero": (["--rounds", "0"], "'0' is no positive"),
    "a fraction": (["--rounds", "1.5"], "'1.5' is no positive whole number"),
    "a small power": (["--rounds", "1e-3"], "'1e-3' is no positive"),
    "a huge power": (["--rounds", "1e999999999"], "is no positive"),
    "too many": (["--rounds", "1e16"], "at most 1000000000000000 rounds"),
    "no interval": (["--rounds", "1"], "at least 2 rounds, got 1"),
    "empty": (["--rounds", ""], "'' is no positive whole number"),
    "too many seats": (["--seats", "10"], "1 to 9 seats, got 10"),
    "a slip the table refuses": (["--slip", "super=40"], "lacks the required box 'single'"),
    "stakes that are none": (["--slip", "single=nan"], "is no stake"),
}


@pytest.mark.parametrize(("words", "part"), REFUSED.values(), ids=REFUSED)
def test_bad_input(refused, words, part):
    assert part in refused("simulate", SDS, *words)


def test_a_sheet_without_bets_or_an_unknown_one_is_refused(refused):
    assert "ranks hands and offers no bets" in refused("simulate", "bomb-room")
    assert "did you mean" in refused("simulate", "single-double-supper")


@pytest.mark.parametrize(
    "words", [["--threads", "0"], ["--seats", "0"], ["--seed", "-1"], ["--seed", "x"]]
)
def test_wrong_words(run, words):
    result = run("simulate", SDS, *words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert words[0] in result.stderr


def test_a_floor_is_logged_with_its_labels(run_json, run, tmp_path):
    words = ("simulate", "--players", "small", "--rounds", "30", "--seed", "4")
    record = run_json(*words, "--log", str(tmp_path / "a"))
    assert (record["rules"], record["rounds"], record["seed"]) == (SDS, 30, 4)
    assert record["players"] == 24
    assert record["attacks"]["colluders"] == 3
    lines = (tmp_path / "a" / "plays.csv").read_text().splitlines()
    assert len(lines) == record["rows"] + 1
    assert len((tmp_path / "a" / "labels.csv").read_text().splitlines()) == 25
    text = run(*words, "--log", str(tmp_path / "b")).stdout
    assert "24 players in 30 rounds" in text
    assert (tmp_path / "b" / "plays.csv").read_bytes() == (
        tmp_path / "a" / "plays.csv"
    ).read_bytes()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "RULES is missing"),
        (("--players", "small"), "belong together"),
        (("--log", "x"), "belong together"),
        ((SDS, "--players", "small", "--log", "x"), "RULES does not go with"),
        (("--players", "smal", "--log", "x"), "did you mean 'small'"),
        (("--players", "small", "--log", "x", "--format", "xls"), "csv or parquet"),
        (("--players", "small", "--log", "x", "--seats", "3"), "--seats does not go with"),
        ((SDS, "--format", "parquet"), "--players and --log"),
    ],
)
def test_what_a_floor_is_refused_for(refused, words, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert said in " ".join(refused("simulate", *words).split())
    assert list(tmp_path.iterdir()) == []
