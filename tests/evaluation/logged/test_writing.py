"""Labelled logs on disk: the schema, the same bytes for the same seed, whole files or none."""

import csv
import json

import pyarrow.parquet as pq
import pytest

from niulab.errors import ConfigError
from niulab.evaluation.logged.columns import simulate_plays
from niulab.evaluation.logged.config import read_floor
from niulab.evaluation.logged.seating import LABEL_COLUMNS
from niulab.evaluation.logged.writing import write_floor

CORE = [
    *("round_id", "time", "table", "dealer", "rules", "seat", "player"),
    *("single", "double", "super", "bonus", "cards", "dealer_cards", "pair"),
    *("net_single", "net_double", "net_super", "net_bonus", "bet_time", "close_time"),
]


@pytest.fixture(scope="module")
def floor():
    return read_floor("small").changed(rounds=40)


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_flat_log_holds_the_plays(floor, tmp_path):
    written = write_floor(floor, tmp_path / "log")
    rows, plays = rows_of(written.plays_path), simulate_plays(floor).by_round()
    assert written.n_rows == len(rows) == len(plays)
    assert list(rows[0])[: len(CORE)] == CORE
    by_key = {(row["round_id"], row["player"]): row for row in rows}
    for i in range(0, len(plays), 11):
        key = plays.texts.rounds[plays.round[i]], plays.texts.players[plays.player[i]]
        row = by_key[key]
        assert [int(row[box]) for box in ("single", "double", "super")] == plays.stakes[
            i, :3
        ].tolist()
        assert int(row["net_super"]) == plays.nets[i, 2]
        assert int(row["late_super"] or 0) == plays.late[i, 2]
        assert len(row["cards"].split()) == len(set(row["cards"].split())) == 5
        assert row["bet_time"] < row["close_time"] < row["time"]


def test_labels_name_every_player_once(floor, tmp_path):
    written = write_floor(floor, tmp_path)
    labels = rows_of(written.labels_path)
    assert tuple(labels[0]) == LABEL_COLUMNS
    assert [row["player"] for row in labels] == sorted({row["player"] for row in labels})
    assert len(labels) == floor.n_players == 24
    (seer,) = (row for row in labels if row["attack"] == "hole_carder")
    assert (seer["start_round"], json.loads(seer["parameters"])["place"]) == ("20", 5)
    assert {row["attack"] for row in labels if row["kind"] == "bettor"} == {""}


@pytest.mark.parametrize("log_format", ["csv", "parquet"])
def test_the_same_seed_gives_the_same_bytes(floor, tmp_path, log_format):
    one, again, other = (
        write_floor(floor.changed(seed=seed), tmp_path / name, log_format=log_format)
        for name, seed in (("one", 0), ("again", 0), ("other", 1))
    )
    assert one.plays_path.read_bytes() == again.plays_path.read_bytes()
    assert one.labels_path.read_bytes() == again.labels_path.read_bytes()
    assert one.plays_path.read_bytes() != other.plays_path.read_bytes()


def test_parquet_and_text_hold_the_same(floor, tmp_path):
    rows = rows_of(write_floor(floor, tmp_path).plays_path)
    (tmp_path / "labels.csv").unlink()
    table = pq.read_table(write_floor(floor, tmp_path, log_format="parquet").plays_path)
    for name in table.column_names:
        found = ["" if value is None else str(value) for value in table[name].to_pylist()]
        assert found == [row[name] for row in rows], name


def test_nothing_is_overwritten_or_left_half_written(floor, tmp_path, monkeypatch):
    write_floor(floor, tmp_path)
    before = (tmp_path / "plays.csv").read_bytes()
    with pytest.raises(ConfigError, match="there already"):
        write_floor(floor.changed(seed=5), tmp_path)
    assert (tmp_path / "plays.csv").read_bytes() == before

    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr("niulab.evaluation.logged.writing.labels_csv", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_floor(floor, tmp_path / "second")
    assert list((tmp_path / "second").iterdir()) == []
