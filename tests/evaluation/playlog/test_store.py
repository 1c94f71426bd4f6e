"""The store: what goes in comes out, once, whatever happens meanwhile."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict, replace

import numpy as np
import pyarrow.parquet as pq
import pytest
from made_logs import SEATS, lines_of, make_plays, write_log

from niulab.errors import PlayLogError
from niulab.evaluation.playlog.chunk import ReadOptions
from niulab.evaluation.playlog.flat import flat_lines
from niulab.evaluation.playlog.plays import NO_TIME, Flag
from niulab.evaluation.playlog.quarantine import read_quarantine
from niulab.evaluation.playlog.store import importing, merging
from niulab.evaluation.playlog.store.columns import plays_of
from niulab.evaluation.playlog.store.exporting import export_log
from niulab.evaluation.playlog.store.folder import create_store, open_store
from niulab.evaluation.playlog.store.importing import check_log, import_log
from niulab.evaluation.playlog.store.loading import player_plays, scan_buckets, scan_rounds
from niulab.evaluation.playlog.store.pieces.held import held_of, plays_arrays

SMALL = ReadOptions(rows=100)


@pytest.fixture
def store(tmp_path):
    return create_store(tmp_path / "store", buckets=4)


@pytest.fixture
def log(tmp_path):
    return write_log(tmp_path / "log.csv", lines_of(make_plays(120)))


def rows_in(store):
    """Every row as its flat line, sorted."""
    return sorted(
        line for part in scan_buckets(store) for line in flat_lines(part.plays, header=False)
    )


def all_plays(store):
    [plays] = list(scan_rounds(store, months=store.manifest.months[:1]))
    return plays


# ---------------------------------------------------------------- values


def test_plays_survive_arrow():
    plays = make_plays(20)
    plays.cards[3] = 52
    plays.time[4] = NO_TIME
    plays.dealer[5] = -1
    back = plays_of(plays_arrays(held_of([plays])))
    assert back.texts.players == plays.texts.players
    for name in plays.COLUMNS:
        assert np.array_equal(getattr(back, name), getattr(plays, name)), name


def test_a_log_comes_out_as_it_went_in(store, log):
    lines = log.read_text().splitlines(keepends=True)
    imported = import_log([log], store, options=SMALL)
    assert asdict(imported.counts) == {
        "read": 360, "kept": 360, "duplicates": 0, "quarantined": 0, "blank": 0, "headers": 0,
        "late": 0,
    }  # fmt: skip
    assert rows_in(store) == sorted(lines[1:])
    assert store.manifest.months == ["2025-12", "2026-01"]
    assert open_store(store.path).manifest == store.manifest
    rounds = [pq.read_table(path, partitioning=None) for path in store.files("rounds")]
    assert sum(map(len, rounds)) == 120
    hashes = {text for table in rounds for text in table["rules_hash"].to_pylist()}
    assert hashes == {store.manifest.rules["single-double-super"]}


def test_buckets_hold_whole_players_in_the_order_of_time(store, log):
    import_log([log], store, options=SMALL)
    seen = set()
    for part in scan_buckets(store):
        players = {part.plays.texts.players[code] for code in np.unique(part.plays.player)}
        assert not players & seen
        seen |= players
        keys = list(zip(part.plays.player.tolist(), part.plays.time.tolist(), strict=True))
        assert keys == sorted(keys)
    assert len(seen) == 9
    by_month = list(scan_buckets(store, by_month=True))
    assert {part.month for part in by_month} == {"2025-12", "2026-01"}
    assert sum(len(part.plays) for part in by_month) == 360


def test_rounds_come_whole_and_by_table(store, log):
    import_log([log], store, options=SMALL)
    seen = []
    for plays in scan_rounds(store, rows=50):
        ids = [plays.texts.rounds[code] for code in plays.round.tolist()]
        assert all(ids.count(name) == SEATS for name in set(ids))
        seen += ids
    assert seen == sorted(seen)
    assert len(seen) == 360


def test_one_player_alone(store, log):
    import_log([log], store, options=SMALL)
    plays = player_plays(store, "Guest 4")
    want = sum("Guest 4" in line for line in log.read_text().splitlines())
    assert len(plays) == want > 0
    assert (np.diff(plays.time) > 0).all()
    assert len(player_plays(store, "nobody")) == 0


def test_round_trip_through_an_export(store, log, tmp_path):
    import_log([log], store, options=SMALL)
    for name in ("out.csv", "out.jsonl.gz"):
        assert export_log(store, tmp_path / name) == 360
        again = create_store(tmp_path / f"again {name}", buckets=4)
        import_log([tmp_path / name], again)
        assert rows_in(again) == rows_in(store)
    with pytest.raises(PlayLogError, match=r"ends in \.csv"):
        export_log(store, tmp_path / "out.xlsx")


# ---------------------------------------------------------------- rows that come again, or apart


def test_rows_that_come_again_count_once(store, log, tmp_path):
    lines = log.read_text().splitlines(keepends=True)
    changed = lines[7].replace("Ana", "Bo") if "Ana" in lines[7] else lines[7].replace("Bo", "Ana")
    second = write_log(tmp_path / "more.csv", [lines[0], *lines[1:40], changed, "\n", "bad\n"])
    first = import_log([log, second], store, options=SMALL)
    assert first.counts.is_balanced
    assert (first.counts.read, first.counts.kept) == (402, 360)
    assert (first.counts.duplicates, first.counts.quarantined) == (39, 2)
    assert rows_in(store) == sorted(lines[1:])
    reasons = {(name, row.line): row.reason for name, row in read_quarantine(first.quarantine)}
    assert reasons["more.csv", 41].startswith("differs from line 8")
    assert set(reasons) == {("more.csv", 41), ("more.csv", 43)}


def test_rows_known_from_an_earlier_import_count_once(store, log, tmp_path):
    lines = log.read_text().splitlines(keepends=True)
    half = write_log(tmp_path / "half.csv", lines[:200])
    import_log([half], store, options=SMALL)
    second = import_log([log], store, options=SMALL)
    assert second.counts.is_balanced
    assert (second.counts.kept, second.counts.duplicates) == (360 - 199, 199)
    assert rows_in(store) == sorted(lines[1:])
    new = sum(len(part.plays) for part in scan_buckets(store, after=1))
    assert new == 360 - 199
    rounds = sum(pq.read_metadata(path).num_rows for path in store.files("rounds"))
    assert rounds == 120


def test_the_same_file_is_passed_over_and_a_grown_one_read_on(store, log):
    lines = log.read_text().splitlines(keepends=True)
    write_log(log, [*lines[:250], lines[250][:20]])  # cut within a line
    first = import_log([log], store, options=SMALL)
    assert (first.counts.kept, first.counts.quarantined) == (249, 1)
    again = import_log([log], store, options=SMALL)
    assert (again.version, again.known) == (None, (str(log),))
    write_log(log, lines)
    third = import_log([log], store, options=SMALL)
    assert third.counts.is_balanced
    assert third.counts.read < 200  # chunks that were read before are passed over
    assert third.counts.kept == 360 - 249
    assert rows_in(store) == sorted(lines[1:])


@pytest.mark.parametrize("is_cut", [False, True])
def test_dealer_cards_of_some_rows_reach_the_others(store, tmp_path, monkeypatch, is_cut):
    if is_cut:  # into seven sorts
        monkeypatch.setattr(merging, "_ROWS_OF_SORT", 1)
        monkeypatch.setattr(importing, "_MOST_ROWS", 30)
        monkeypatch.setattr(importing, "_FEWEST_ROWS", 30)
    plays = make_plays(60)
    whole = lines_of(plays)
    bare = plays.dealer_cards.copy()
    bare[np.arange(len(plays)) % SEATS != 2] = 52
    lines = lines_of(replace(plays, dealer_cards=bare))
    order = [0, *range(1, 181, 3), *range(2, 181, 3), *range(3, 181, 3)]  # rounds torn apart
    log = write_log(tmp_path / "torn.csv", [lines[place] for place in order])
    counts = import_log([log], store, options=SMALL).counts
    assert counts.kept == 180
    assert rows_in(store) == sorted(whole[1:])
    plays = next(scan_rounds(store))
    assert not plays.residuals.any()
    assert not (plays.flags & int(Flag.RESIDUAL)).any()


def test_a_card_that_lies_in_two_chunks_is_flagged(store, tmp_path):
    plays = make_plays(60)
    plays.cards[7, 0] = plays.cards[6, 0]  # rows 6, 7, 8 are the third round
    lines = lines_of(plays)
    order = [0, *range(1, 181, 3), *range(2, 181, 3), *range(3, 181, 3)]
    log = write_log(tmp_path / "torn.csv", [lines[place] for place in order])
    import_log([log], store, options=SMALL)
    flagged = [
        part.plays.texts.rounds[code]
        for part in scan_buckets(store)
        for code in part.plays.round[(part.plays.flags & int(Flag.CARD_TWICE)) != 0]
    ]
    assert flagged == ["R00002"] * 3


def test_rows_older_than_what_a_player_has_are_late(store, tmp_path):
    plays = make_plays(100)
    lines = lines_of(plays)
    late = write_log(tmp_path / "late.csv", [lines[0], *lines[1:91]])
    import_log([write_log(tmp_path / "a.csv", [lines[0], *lines[91:]])], store, options=SMALL)
    counts = import_log([late], store, options=SMALL).counts
    assert counts.late == 90
    fresh = next(iter(scan_buckets(store, after=1))).plays
    assert ((fresh.flags & int(Flag.LATE_ROW)) != 0).all()
    assert store.manifest.counts.late == 90


# ---------------------------------------------------------------- one writer, kills, strange files


def test_a_second_writer_is_refused(store, log):
    with store.writing(), pytest.raises(PlayLogError, match=f"process {os.getpid()} writes"):
        import_log([log], open_store(store.path))
    assert import_log([log], store).counts.kept == 360


def test_files_that_the_manifest_does_not_name_do_not_count(store, log):
    import_log([log], store, options=SMALL)
    before = rows_in(store)
    [first, *_] = store.files("plays")
    stray = first.with_name("v000009.parquet")
    stray.write_bytes(first.read_bytes())
    assert rows_in(store) == before
    import_log([log], store)
    assert not stray.exists()
    assert rows_in(store) == before


KILLED = """
import os, signal, sys
from pathlib import Path
from niulab.evaluation.playlog.checking import read_plays
from niulab.evaluation.playlog.chunk import ReadOptions
from niulab.evaluation.playlog.store import importing, merging, staging
from niulab.evaluation.playlog.store.folder import Store, create_store

where, log, folder = sys.argv[1:]
kill = lambda *_a, **_k: os.kill(os.getpid(), signal.SIGKILL)

def dying(path, options):
    for place, chunk in enumerate(read_plays(path, options=options)):
        if place == 5:
            kill()
        yield chunk

read = dying if where == "reading" else None
if where == "merging":
    merging._write_rounds = kill
if where == "committing":
    keep = Path.replace
    def replace(self, to):
        if to.name == "manifest.json" and (to.parent / "staging").exists():
            kill()
        return keep(self, to)
    Path.replace = replace
if where == "cleaning":
    real = importing._drop
    importing._drop = lambda folder: kill() if folder.name == "staging" else real(folder)
importing._MOST_ROWS = 100
importing._FEWEST_ROWS = 100
store = create_store(folder, buckets=4)
importing.import_log([log], store, options=ReadOptions(rows=40), read=read)
"""


@pytest.mark.parametrize("where", ["reading", "merging", "committing", "cleaning"])
def test_a_killed_import_goes_on_to_the_same_result(where, tmp_path, log, monkeypatch):
    lines = log.read_text().splitlines(keepends=True)
    write_log(log, [*lines, *lines[1:60], "bad\n", "\n"])
    script = tmp_path / "killed.py"
    script.write_text(KILLED)
    folder = tmp_path / "killed"
    process = subprocess.run([sys.executable, script, where, log, folder], check=False)
    assert process.returncode == -signal.SIGKILL
    store = open_store(folder)
    is_done = where == "cleaning"
    assert store.manifest.version == (1 if is_done else 0)
    assert sum(len(part.plays) for part in scan_buckets(store)) == (360 if is_done else 0)
    if where == "reading":
        assert list((folder / "staging").rglob("*.json"))

    monkeypatch.setattr(importing, "_MOST_ROWS", 100)
    monkeypatch.setattr(importing, "_FEWEST_ROWS", 100)
    options = ReadOptions(rows=40)
    import_log([log], store, options=options)
    whole = create_store(tmp_path / "whole", buckets=4)
    import_log([log], whole, options=options)
    assert store.manifest == whole.manifest
    assert rows_in(store) == rows_in(whole) == sorted(lines[1:])
    assert (store.manifest.counts.duplicates, store.manifest.counts.quarantined) == (59, 1)
    for ours, theirs in zip(store.files("quarantine"), whole.files("quarantine"), strict=True):
        assert ours.read_bytes() == theirs.read_bytes()
    assert not store.staging.exists()


def test_a_broken_manifest_says_so(store):
    (store.path / "manifest.json").write_text(json.dumps({"format": 1, "buckets": []}))
    with pytest.raises(PlayLogError, match=r"manifest"):
        open_store(store.path)
    (store.path / "manifest.json").write_text("{")
    with pytest.raises(PlayLogError, match="no manifest of a play log"):
        open_store(store.path)


def test_folders_that_are_no_store(tmp_path):
    with pytest.raises(PlayLogError, match="no play log's store"):
        open_store(tmp_path)
    (tmp_path / "x").write_text("")
    with pytest.raises(PlayLogError, match="holds other files"):
        create_store(tmp_path)
    with pytest.raises(PlayLogError, match="1 to 128 buckets"):
        create_store(tmp_path / "new", buckets=129)


def test_a_source_that_is_no_log_leaves_the_store_as_it_was(store, log, tmp_path):
    bad = tmp_path / "bad.csv"
    bad.write_text("a,b\n1,2\n")
    with pytest.raises(PlayLogError, match="header"):
        import_log([log, bad], store)
    assert store.manifest.version == 0
    assert import_log([log], store).counts.kept == 360


def test_checking_counts_without_a_store(log, tmp_path):
    log.write_text(log.read_text() + "bad\n")
    out = tmp_path / "bad rows.csv"
    checked = check_log([log], quarantine=out)
    assert (checked.counts.kept, checked.counts.quarantined) == (360, 1)
    assert sum(checked.reasons.values()) == 1
    [(name, row)] = list(read_quarantine(out))
    assert (name, row.line, row.text) == ("log.csv", 362, "bad")


def test_a_full_disk_is_one_message_and_the_import_goes_on(tmp_path, monkeypatch):
    log = write_log(tmp_path / "a.csv", lines_of(make_plays(30)))
    store = create_store(tmp_path / "log")
    sql = merging._sql
    monkeypatch.setattr(merging, "_sql", lambda path: f"{sql(path)}/in/no/folder")
    with pytest.raises(PlayLogError, match=r"cannot use a file of the store.*goes on"):
        import_log([log], store)
    assert not store.manifest.files
    monkeypatch.setattr(merging, "_sql", sql)
    counts = import_log([log], open_store(tmp_path / "log")).counts
    assert counts.is_balanced
    assert counts.kept == counts.read == 30 * SEATS
