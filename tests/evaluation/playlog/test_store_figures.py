"""Figures of a store, pseudonyms, retention, and memory that stays bounded."""

import hashlib
import hmac
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from datetime import date

import numpy as np
import pytest
from made_logs import SEATS, lines_of, make_plays, write_log

from niulab.errors import PlayLogError
from niulab.evaluation.playlog.chunk import ReadOptions
from niulab.evaluation.playlog.flat import flat_lines
from niulab.evaluation.playlog.plays import NO_TIME
from niulab.evaluation.playlog.store.database import memory_bytes
from niulab.evaluation.playlog.store.folder import create_store, open_store
from niulab.evaluation.playlog.store.importing import import_log
from niulab.evaluation.playlog.store.loading import scan_buckets, scan_rounds
from niulab.evaluation.playlog.store.pseudonyms import (
    drop_before,
    pseudonym,
    pseudonymize,
    read_key,
)
from niulab.evaluation.playlog.store.stats import Gap, store_stats

KEY = b"0123456789abcdef0123456789abcdef"


@pytest.fixture
def plays():
    return make_plays(120)


@pytest.fixture
def store(tmp_path, plays):
    made = create_store(tmp_path / "store", buckets=4)
    import_log([write_log(tmp_path / "log.csv", lines_of(plays))], made)
    return made


def test_stats_add_up(store, plays):
    found = store_stats(store)
    assert (found.n_plays, found.n_rounds, found.n_players) == (360, 120, 9)
    assert (found.n_tables, found.n_dealers, found.n_staked) == (1, 2, 360)
    assert list(found.stake_cents.values()) == plays.stakes.sum(axis=0).tolist()
    assert list(found.net_cents.values()) == plays.nets.sum(axis=0).tolist()
    assert set(found.residual_cents.values()) == {0}
    assert found.first_time == "2025-12-31T23:00:00Z"
    assert found.last_time == "2026-01-01T00:59:00Z"
    assert found.recorded["cards"] == found.recorded["time"] == 1.0
    assert found.recorded["bet_time"] == found.recorded["pair"] == 0.0
    assert found.rows_by_rules == {"single-double-super": 360}
    assert (found.gaps, found.missing_rounds, found.n_tied_rounds) == ([], 0, 0)


def test_missing_rounds_are_seen_in_their_numbers(tmp_path, plays):
    lines = lines_of(plays)
    without = [lines[0], *(text for text in lines[1:] if text[:6] not in {"R00030", "R00031"})]
    log = write_log(tmp_path / "log.csv", without)
    store = create_store(tmp_path / "gaps", buckets=2)
    import_log([log], store)
    found = store_stats(store)
    assert found.gaps == [Gap("T1", "R", 0, 119, 118, 2)]
    assert found.missing_rounds == 2


def test_rounds_that_no_clock_orders_are_counted(tmp_path, plays):
    time = plays.time.copy()
    time[plays.round < 20] = NO_TIME
    time[(plays.round >= 40) & (plays.round < 44)] = time[plays.round == 40][0]
    stakes = np.where((plays.round == 41)[:, None], 0, plays.stakes)
    some = replace(plays, time=time, stakes=stakes, nets=np.where(stakes > 0, plays.nets, 0))
    together = Counter(zip(some.player.tolist(), time.tolist(), strict=True))
    sat_by = Counter(
        zip(some.player[some.round == 41].tolist(), time[some.round == 41].tolist(), strict=True)
    )
    tied = sum(n for n in (together - sat_by).values() if n > 1)
    assert tied > 60
    store = create_store(tmp_path / "tied", buckets=2)
    import_log([write_log(tmp_path / "log.csv", lines_of(some))], store)
    assert store_stats(store).n_plays == 360
    assert store_stats(store).n_tied_rounds == tied


def test_ids_that_run_over_all_tables_have_no_gaps(tmp_path, plays):
    lines = lines_of(plays)
    odd = [text.replace(",T1,", ",T2,") if int(text[1:6]) % 2 else text for text in lines[1:]]
    log = write_log(tmp_path / "log.csv", [lines[0], *odd])
    store = create_store(tmp_path / "two", buckets=2)
    import_log([log], store)
    found = store_stats(store)
    assert (found.n_tables, found.missing_rounds) == (2, 0)


def test_an_empty_store_has_figures_too(tmp_path):
    found = store_stats(create_store(tmp_path / "empty"))
    assert (found.n_plays, found.n_rounds, found.first_time) == (0, 0, None)


# ---------------------------------------------------------------- pseudonyms


def test_a_pseudonym_is_the_hmac_of_its_name():
    digest = hmac.new(KEY, b"player\0Guest 7", hashlib.sha256).hexdigest()
    assert pseudonym(KEY, "player", "Guest 7") == f"player-{digest[:24]}"
    assert pseudonym(KEY, "dealer", "Guest 7")[7:] != digest[:24]


def test_pseudonyms_replace_every_name_and_nothing_else(store, tmp_path):
    out = create_store(tmp_path / "out", buckets=4)
    done = pseudonymize(store, out, KEY)
    assert done.counts.kept == 360
    renamed = {pseudonym(KEY, "player", f"Guest {code}"): f"Guest {code}" for code in range(9)}
    renamed |= {pseudonym(KEY, "dealer", name): name for name in ("Ana", "Bo")}
    lines = []
    for part in scan_buckets(out):
        for line in flat_lines(part.plays, header=False):
            fields = line.split(",")
            fields[3], fields[6] = renamed[fields[3]], renamed[fields[6]]
            lines.append(",".join(fields))
    plain = [x for part in scan_buckets(store) for x in flat_lines(part.plays, header=False)]
    assert sorted(lines) == sorted(plain)
    for path in out.path.rglob("*"):
        if path.is_file():
            assert b"Guest" not in path.read_bytes(), path
            assert str(tmp_path / "store").encode() not in path.read_bytes(), path
    residuals = [part.plays.residuals.any() for part in scan_buckets(out)]
    assert not any(residuals)
    with pytest.raises(PlayLogError, match="holds pseudonyms"):
        import_log([tmp_path / "log.csv"], out)
    with pytest.raises(PlayLogError, match="not empty"):
        pseudonymize(store, out, KEY)


@pytest.mark.skipif(os.name != "posix", reason="permissions are those of POSIX")
def test_a_key_that_others_may_read_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "key"
    path.write_bytes(KEY + b"\n")
    path.chmod(0o644)
    with pytest.raises(PlayLogError, match="chmod 600"):
        read_key(path)
    path.chmod(0o600)
    assert read_key(path) == KEY
    path.write_bytes(b"short")
    with pytest.raises(PlayLogError, match="5 bytes"):
        read_key(path)
    monkeypatch.delenv("NIULAB_LOG_KEY", raising=False)
    with pytest.raises(PlayLogError, match="no key"):
        read_key(None)
    monkeypatch.setenv("NIULAB_LOG_KEY", KEY.decode())
    assert read_key(None) == KEY


# ---------------------------------------------------------------- retention


def test_old_rounds_go_for_good(store, tmp_path):
    before = [x for part in scan_buckets(store) for x in flat_lines(part.plays, header=False)]
    version = store.manifest.version
    assert drop_before(store, date(2026, 1, 1)) == 60 * SEATS
    after = [x for part in scan_buckets(store) for x in flat_lines(part.plays, header=False)]
    assert sorted(after) == sorted(line for line in before if ",2026-01" in line)
    assert store_stats(store).n_rounds == 60
    assert store_stats(open_store(store.path)).first_time == "2026-01-01T00:00:00Z"
    with pytest.raises(PlayLogError, match="begin again"):
        next(scan_buckets(store, after=version))
    assert drop_before(store, date(2026, 1, 1)) == 0
    assert import_log([tmp_path / "log.csv"], store).version is None  # what went stays away


def test_retention_within_a_month_rewrites_its_files(tmp_path):
    plays = make_plays(60, first=60, seconds=3600)  # from 2026-01-03 11:00, an hour apart
    store = create_store(tmp_path / "store", buckets=2)
    import_log([write_log(tmp_path / "log.csv", lines_of(plays))], store)
    assert drop_before(store, date(2026, 1, 4)) == 13 * SEATS
    left = np.concatenate([part.plays.time for part in scan_buckets(store)])
    assert len(left) == 47 * SEATS
    assert left.min() == np.datetime64("2026-01-04T00:00", "us").astype(np.int64)
    assert store.manifest.n_plays == 47 * SEATS
    assert sum(len(piece) for piece in scan_rounds(store)) == 47 * SEATS


# ---------------------------------------------------------------- memory


def test_memory_limits_are_sizes():
    assert memory_bytes("2GB") == 2_000_000_000
    assert memory_bytes("512 MiB") == 512 << 20
    for text in ("much", "2", "1MB", "-1GB"):
        with pytest.raises(PlayLogError, match="memory limit"):
            memory_bytes(text)


BOUNDED = """
import resource, sys
from dataclasses import replace
import numpy as np
from made_logs import make_plays
from niulab.evaluation.playlog.chunk import Chunk
from niulab.evaluation.playlog.store.folder import create_store
from niulab.evaluation.playlog.store.importing import import_log

source, folder, pieces, torn = sys.argv[1:5]
base = make_plays(3000, players=500)

def read(path, options):
    # rows of one round lie three chunks apart if torn: everything goes through the database
    for place in range(int(pieces)):
        low = place // 3 if torn == "torn" else place
        names = tuple(f"R{low:03}-{k}" for k in range(3000))
        plays = replace(base, texts=replace(base.texts, rounds=names))
        if torn == "torn":
            plays = plays.take(np.arange(len(base)) % 3 == place % 3)
        n = len(plays)
        yield Chunk(plays=plays, lines=np.arange(n) + place * n, n_read=n, n_duplicates=0,
                    n_blank=0, n_headers=0, quarantined=[], warnings={}, next_line=(place + 1) * n)

start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
done = import_log([source], create_store(folder, buckets=8), memory="128MB", read=read)
print(done.counts.kept, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - start) // 1024)
"""
BYTES_A_ROW = 260  # of these rows in Arrow
N_PIECES = 550


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read as Linux counts it")
@pytest.mark.parametrize("torn", ["whole", "torn"])
def test_a_log_ten_times_the_memory_limit_imports(torn, tmp_path):
    source = tmp_path / "log.csv"
    source.write_text("x")
    pieces = N_PIECES if torn == "whole" else 3 * N_PIECES
    script = [sys.executable, "-c", BOUNDED, source, tmp_path / "store", str(pieces), torn]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.run(
        script, env=environment, capture_output=True, encoding="utf-8", check=False
    )
    assert process.returncode == 0, process.stderr
    kept, grown = map(int, process.stdout.split())
    assert kept == N_PIECES * 9000
    assert kept * BYTES_A_ROW > 10 * 128_000_000
    assert grown < 400, f"{grown} MiB"
    assert store_stats(open_store(tmp_path / "store")).n_plays == kept


@pytest.mark.long
def test_workers_read_sources_with_the_same_result(tmp_path, plays):
    lines = lines_of(plays)
    logs = [
        write_log(tmp_path / f"{k}.csv", [lines[0], *lines[1 + 90 * k : 91 + 90 * k]])
        for k in range(4)
    ]
    one, two = (create_store(tmp_path / name, buckets=4) for name in ("one", "two"))
    import_log(logs, one, options=ReadOptions(rows=50))
    import_log(logs, two, options=ReadOptions(rows=50), workers=2)
    assert one.manifest == two.manifest
    for ours, theirs in zip(one.files("plays"), two.files("plays"), strict=True):
        assert ours.read_bytes() == theirs.read_bytes()
