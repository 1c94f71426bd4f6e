"""``niulab detect``: the JSON, the state, the report, and what is refused."""

import json

import numpy as np
import pytest
from card_players import hole_carder, honest
from logs_on_disk import on_tables, write_csv

from niulab.engine.batch import BatchEngine
from niulab.engine.rules import load_rules
from niulab.evaluation.playlog.plays import Plays, Vocabularies


@pytest.fixture(scope="module")
def floor():
    """10 players of 150 rounds, the first of whom sees the dealer's first card."""
    sheet, n, n_rounds = load_rules("single-double-super"), 10, 150
    rows = n * n_rounds
    packets = BatchEngine(sheet).deal(np.arange(rows, dtype=np.uint64), np.zeros(rows, np.int64))
    rng = np.random.default_rng(1)
    seen = hole_carder(1.0)(packets[:, 0], packets[:, 1], rng)
    plain = honest(packets[:, 0], packets[:, 1], rng)
    stakes = np.zeros((rows, 4), dtype=np.int64)
    stakes[:, 0] = 100
    stakes[:, 2] = 100 * np.where(np.arange(rows) < n_rounds, seen, plain)
    plays = Plays.of(
        rows,
        Vocabularies(players=tuple(f"p{i}" for i in range(n)), rules=(sheet.name,)),
        player=np.repeat(np.arange(n), n_rounds),
        round=np.arange(rows),
        time=np.tile(np.arange(n_rounds), n),
        rules=0,
        stakes=stakes,
        cards=packets[:, 0],
        dealer_cards=packets[:, 1],
    )
    return on_tables(plays, sheet)


def test_a_flat_log_is_judged_grows_and_is_reported(floor, tmp_path, run_json, run):
    first = floor.time < floor.time.min() + 75 * 60_000_000
    path = write_csv(floor.take(first), tmp_path / "night.csv")
    words = ["detect", str(path), "--state", str(tmp_path / "watch")]
    half = run_json(*words)
    assert [player["rounds"] for player in half["players"]] == [75] * 10
    later = "".join(
        write_csv(floor.take(~first), tmp_path / "later.csv").read_text().splitlines(True)[1:]
    )
    with path.open("a") as file:
        file.write(later)
    whole = run_json(*words, "--report", str(tmp_path / "report"))
    assert [player["rounds"] for player in whole["players"]] == [150] * 10
    assert {p["player"] for p in whole["players"] if p["listed"]} == {"p0"}
    assert {p["player"] for p in whole["players"] if p["alarm"]} == {"p0"}
    assert whole["players"][0]["explanations"]["dealer's card seen"] > 0.9
    assert (whole["alpha"], whole["fdr"]) == (1e-3, 0.05)
    assert whole["data_quality"]["counts"]["kept"] == 1_500
    assert (tmp_path / "report" / "report.html").exists()
    assert json.loads((tmp_path / "report" / "verdicts.json").read_text()) == whole
    printed = run(*words).stdout
    assert "p0: The stakes carried information about cards not yet dealt, at e-value 10^" in printed
    assert "cheat" not in printed


def test_verdicts_are_compared_with_the_labels_of_a_simulated_log(floor, tmp_path, run_json, run):
    path = write_csv(floor, tmp_path / "night.csv")
    labels = tmp_path / "labels.csv"
    kinds = {f"p{i}": "hole_carder" if i in {0, 7} else "" for i in range(10)}  # p7 stakes blindly
    lines = [f"{name},{attack}" for name, attack in kinds.items()]
    labels.write_text("\n".join(["player,attack", *lines, "absent,"]) + "\n")
    words = ["detect", str(path), "--labels", str(labels)]
    found = run_json(*words)["labels"]
    right = {"named": 1, "right": 1, "attackers": 2, "false_share": 0.0, "power": 0.5}
    assert found == {"listed": right, "alarm": right}
    printed = run(*words).stdout
    assert "listed 1, of 2 attackers 1: 0.000 of those named are honest, power 0.500" in printed
    kinds["p0"], kinds["p7"] = "", ""
    labels.write_text("\n".join(["player,attack", *(f"{n},{a}" for n, a in kinds.items())]))
    nobody = run_json(*words)["labels"]["listed"]
    assert nobody == {"named": 1, "right": 0, "attackers": 0, "false_share": 1.0, "power": None}


def test_labels_of_another_log_are_refused(floor, tmp_path, refused):
    path = write_csv(floor.take(slice(20)), tmp_path / "few.csv")
    labels = tmp_path / "labels.csv"
    words = ["detect", str(path), "--labels", str(labels)]
    assert "cannot read the labels" in refused(*words)
    labels.write_text("a,b\n1,2\n")
    assert "has no columns 'player' and 'attack', got a, b" in refused(*words)
    labels.write_text("player,attack\nzoe,\n")
    assert "1 players of the log have no label ('p0')" in refused(*words)


def test_bad_input_is_refused_before_anything_is_written(floor, tmp_path, refused):
    path = write_csv(floor.take(slice(20)), tmp_path / "few.csv")
    state = tmp_path / "state"
    assert "no log" in refused("detect", str(tmp_path / "none.csv"), "--state", str(state))
    assert "alpha is above 0" in refused("detect", str(path), "--alpha", "2")
    assert "fdr is above 0" in refused("detect", str(path), "--fdr", "0")
    assert "is a file" in refused("detect", str(path), "--state", str(path))
    assert "cannot read the groups" in refused("detect", str(path), "--groups", str(state))
    assert "no play log's store" in refused("detect", str(tmp_path))
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n")
    assert "error: " in refused("detect", str(tmp_path / "bad.csv"))
    assert not state.exists()


def test_a_store_without_rows_is_told_as_one(floor, tmp_path, refused, run_json):
    path = write_csv(floor.take(slice(20)), tmp_path / "few.csv")
    store = str(tmp_path / "plays")
    run_json("log", "import", str(path), "--store", store)
    assert run_json("log", "retain", store, "--from", "9000-01-01")["dropped"] == 20
    assert "holds no rows: niulab log import" in refused("detect", store)


def test_a_sheet_that_an_import_declared_is_given_again(floor, tmp_path, refused, run_json):
    path = write_csv(floor, tmp_path / "night.csv")
    path.write_text(path.read_text().replace("single-double-super", "house"))
    store = str(tmp_path / "plays")
    run_json("log", "import", str(path), "--store", store, "--sheet", "house=single-double-super")
    assert "'house' was declared by the import" in refused("detect", store)
    judged = run_json("detect", store, "--rules", "single-double-super")
    assert len(judged["players"]) == len(floor.texts.players)
