"""Importing by spans, by several workers and line by line: one store, byte for byte."""

import gzip
import random
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_logs import lines_of, make_plays, write_log

from niulab.errors import PlayLogError
from niulab.evaluation.playlog.checking import read_plays
from niulab.evaluation.playlog.chunk import ReadOptions, Start
from niulab.evaluation.playlog.flat import flat_lines
from niulab.evaluation.playlog.store import importing, staging
from niulab.evaluation.playlog.store.folder import create_store
from niulab.evaluation.playlog.store.importing import import_log
from niulab.evaluation.playlog.store.loading import player_plays, scan_buckets, scan_rounds
from niulab.evaluation.playlog.store.pieces import settling
from niulab.evaluation.playlog.store.pieces.fingerprints import fingerprint
from niulab.evaluation.playlog.text.blocks import Span
from niulab.parallel import run_tasks

PLAYS = make_plays(120)
LINES = lines_of(PLAYS)
OPTIONS = ReadOptions(rows=40)
SPICE = (
    *(b"\n", b"\r\n", b'"', b",", b"\0", b"\xff", b"x", b"-", b"\n\n", b"\xc3\xa9", b"1,5", b""),
    *(line.encode() for line in (LINES[0], LINES[7], "bad\n")),
    LINES[0].replace("time,table", "table,time").encode(),
)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    """Pieces of 80 lines; tasks of several workers one by one, the last first."""
    monkeypatch.setattr(importing, "_MOST_ROWS", 100)
    monkeypatch.setattr(importing, "_FEWEST_ROWS", 100)
    monkeypatch.setattr(staging, "_PARTS_OF_WORKER", 2)

    def backwards(function, tasks, **settings):
        outcomes = run_tasks(function, list(tasks)[::-1], engine="serial")
        return outcomes[::-1]

    monkeypatch.setattr(importing, "run_tasks", backwards)


def careful(path, options):
    return read_plays(path, options=options, careful=True)


def contents(store):
    """Every file of a store but its manifest, and what the manifest counts."""
    files = {
        str(path.relative_to(store.path)): path.read_bytes()
        for path in sorted(store.path.rglob("*"))
        if path.is_file() and path.name not in {"manifest.json", "writer.lock"}
    }
    manifest = store.manifest
    return files, manifest.counts, manifest.files, manifest.rules, manifest.sources


def imported(folder, logs, **settings):
    store = create_store(folder, buckets=4)
    try:
        import_log(logs, store, options=OPTIONS, **settings)
    except PlayLogError as error:
        return str(error)
    return contents(store)


def damaged(seed):
    """A log with wrong bytes here and there, most lines left as they are."""
    rng = random.Random(seed)  # noqa: S311 - a seeded fuzzer
    data = bytearray("".join(LINES).encode())
    for _ in range(rng.choice((1, 3, 12))):
        place = rng.randrange(len(data) + 1)
        kind = rng.randrange(4)
        if kind == 0:
            data[place:place] = rng.choice(SPICE)
        elif kind == 1:
            del data[place : place + rng.choice((1, 5, 200))]
        elif kind == 2:
            at = data.find(b"\n", place) + 1
            data[at:at] = rng.choice(SPICE)
        else:
            other = rng.randrange(len(data) + 1)
            data[place : place + 40] = data[other : other + 40]
    return bytes(data)


@given(seed=st.integers(0, 10**9))
@settings(max_examples=15, deadline=None)
def test_three_roads_to_one_store(seed, tmp_path_factory):
    folder = tmp_path_factory.mktemp("roads")
    log = folder / "log.csv"
    log.write_bytes(damaged(seed))
    one = imported(folder / "one", [log])
    assert imported(folder / "two", [log], workers=2) == one
    assert imported(folder / "careful", [log], read=careful) == one


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_three_roads_to_one_store_of_many_logs(seed, tmp_path):
    for case in range(100):
        log = tmp_path / "log.csv"
        log.write_bytes(damaged(seed * 1000 + case))
        roads = [
            imported(tmp_path / f"{case} one", [log]),
            imported(tmp_path / f"{case} two", [log], workers=2),
            imported(tmp_path / f"{case} careful", [log], read=careful),
        ]
        assert roads[0] == roads[1] == roads[2], case


def test_a_span_that_began_with_a_wrong_header_is_read_again(tmp_path):
    names = LINES[0].strip().split(",")
    turned = list(flat_lines(PLAYS, columns=names[::-1], header=False))
    lines = [*LINES[:130], ",".join(names[::-1]) + "\n", *turned[129:]]
    log = write_log(tmp_path / "turned.csv", lines)
    found = [imported(tmp_path / f"{n}", [log], workers=n) for n in (1, 2, 3)]
    assert found[0] == found[1] == found[2]
    assert (found[0][1].kept, found[0][1].headers) == (360, 1)
    assert imported(tmp_path / "careful", [log], read=careful) == found[0]


def test_spans_know_whether_hands_before_them_were_sorted(tmp_path):
    plays = make_plays(120)
    plays.cards[:] = np.sort(plays.cards, axis=1)
    plays.dealer_cards[:] = np.sort(plays.dealer_cards, axis=1)
    plays.cards[240:] = plays.cards[240]  # too few hands to tell by themselves
    plays.dealer_cards[240:] = plays.dealer_cards[240]
    log = write_log(tmp_path / "sorted.csv", lines_of(plays))
    found = [imported(tmp_path / f"{n}", [log], workers=n) for n in (1, 2)]
    assert found[0] == found[1] == imported(tmp_path / "careful", [log], read=careful)


def test_two_processes_share_one_file(tmp_path, monkeypatch):
    monkeypatch.setattr(importing, "run_tasks", run_tasks)
    log = tmp_path / "log.csv"
    log.write_bytes(damaged(3))
    assert imported(tmp_path / "two", [log], workers=2) == imported(tmp_path / "one", [log])


def test_spans_begin_at_lines(tmp_path):
    log = write_log(tmp_path / "log.csv", ["\n", *LINES])
    data = log.read_bytes()
    found = fingerprint(log, options=OPTIONS, chunks=2)
    assert len(found.starts) == 5
    for place, start in enumerate(found.starts):
        assert data[:start].count(b"\n") == 80 * place
        assert start == 0 or data[start - 1 : start] == b"\n"
    whole = list(read_plays(log, options=OPTIONS))
    layout = whole[3].layout
    span = Span(found.starts[2], found.starts[3], 161)
    some = list(read_plays(log, options=OPTIONS, start=Start(span, layout)))
    assert [chunk.next_line for chunk in some] == [201, 241]
    for one, other in zip(some, whole[4:6], strict=True):
        assert np.array_equal(one.lines, other.lines)
        assert list(flat_lines(one.plays)) == list(flat_lines(other.plays))


@pytest.mark.parametrize("how", ["utf-16", "cr", "gzip", "long lines"])
def test_files_that_can_only_be_read_from_their_beginning(how, tmp_path, monkeypatch):
    text = "".join(LINES)
    data = {
        "utf-16": text.encode("utf-16"),
        "cr": text.replace("\n", "\r").encode(),
        "gzip": gzip.compress(text.encode()),
        "long lines": text.encode(),
    }[how]
    if how == "long lines":
        module = fingerprint.__globals__
        monkeypatch.setitem(module, "MOST_BLOCK_BYTES", 2 * module["_BLOCK"] + 100)
    log = tmp_path / "log"
    log.write_bytes(data)
    assert fingerprint(log, options=OPTIONS, chunks=2).starts == ()
    files, counts, *_ = imported(tmp_path / "odd", [log], workers=2)
    write_log(tmp_path / "plain.csv", LINES)
    assert counts.kept == 360
    assert files == imported(tmp_path / "plain", [tmp_path / "plain.csv"])[0]


def test_an_import_goes_on_at_the_piece_that_is_missing(tmp_path, monkeypatch):
    log = write_log(tmp_path / "log.csv", [*LINES, "bad\n", *LINES[1:50]])
    whole = imported(tmp_path / "whole", [log])
    store = create_store(tmp_path / "killed", buckets=4)
    write = staging._write

    def dying(task, chunks, place, *rest, **settings):
        if place == 3:
            raise KeyboardInterrupt
        write(task, chunks, place, *rest, **settings)

    monkeypatch.setattr(staging, "_write", dying)
    with pytest.raises(KeyboardInterrupt):
        import_log([log], store, options=OPTIONS)
    monkeypatch.setattr(staging, "_write", write)
    begun = []
    read = staging.read_plays

    def watched(path, *, options, start) -> Iterator:
        begun.append((start.span.start, start.span.first_line))
        return read(path, options=options, start=start)

    monkeypatch.setattr(staging, "read_plays", watched)
    import_log([log], store, options=OPTIONS)
    assert begun == [(len("".join(LINES[:240])), 241)]
    assert contents(store) == whole


def test_a_bucket_of_more_rows_than_may_be_in_hand(tmp_path, monkeypatch):
    log = write_log(tmp_path / "log.csv", LINES)
    whole = imported(tmp_path / "whole", [log])
    units = settling._units
    monkeypatch.setattr(settling, "_units", lambda pieces, _rows: units(pieces, 1))
    write = settling._Writer.write
    ranges = []

    def with_few(writer, unit):
        few = replace(writer, rows=7)
        ranges.append(len(few._ranges(unit)))
        return write(few, unit)

    monkeypatch.setattr(settling._Writer, "write", with_few)
    store = create_store(tmp_path / "parts", buckets=4)
    import_log([log], store, options=OPTIONS)
    assert contents(store) == whole
    assert max(ranges) >= 3


def test_rows_of_one_time_are_in_one_order(tmp_path):
    plays = make_plays(120)
    plays.time[:] = plays.time[0]
    lines = lines_of(plays)
    shuffled = [lines[0], *random.Random(1).sample(lines[1:], len(lines) - 1)]  # noqa: S311 - seeded
    logs = [write_log(tmp_path / "a.csv", lines), write_log(tmp_path / "b.csv", shuffled)]
    one, two = (imported(tmp_path / log.stem, [log]) for log in logs)
    assert one[1] == two[1]
    assert one[0] == two[0]


def test_files_of_an_older_program_are_read_beside_new_ones(tmp_path):
    """They named the zone of times as the database did, and held texts without dictionaries."""
    logs = [
        write_log(tmp_path / "a.csv", LINES[:200]),
        write_log(tmp_path / "b.csv", [LINES[0], *LINES[200:]]),
    ]
    store = create_store(tmp_path / "store", buckets=4)
    import_log([logs[0]], store, options=OPTIONS)
    for path in store.files("plays"):
        table = pq.read_table(path, partitioning=None)
        for name in ("time", "bet_time", "close_time"):
            place = table.column_names.index(name)
            old = table[name].cast(pa.timestamp("us", tz="Etc/UTC"))
            table = table.set_column(place, name, old)
        pq.write_table(table, path, compression="zstd")
    import_log([logs[1]], store, options=OPTIONS)
    found = [line for part in scan_buckets(store) for line in flat_lines(part.plays, header=False)]
    assert sorted(found) == sorted(LINES[1:])
    assert len(player_plays(store, "Guest 4")) == sum("Guest 4" in line for line in LINES)
    assert sum(len(plays) for plays in scan_rounds(store)) == 360
