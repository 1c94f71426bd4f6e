"""Whatever the bytes: no crash, no hang, every line accounted for; both roads give one result."""

import gzip
import random
import time

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from play_logs import accounted, played

from niulab.errors import PlayLogError
from niulab.evaluation.playlog.checking import read_plays
from niulab.evaluation.playlog.chunk import CardIds, ReadOptions
from niulab.evaluation.playlog.flat import CORE, flat_lines
from niulab.evaluation.playlog.plays import Plays

SHEETS = ("single-double-super", "even-double-super-bonus", "no-such-sheet")
PLAYS = played(12, sheets=SHEETS[:2], seed=5)
CSV = "".join(flat_lines(PLAYS)).encode()
JSONL = "".join(flat_lines(PLAYS, "jsonl")).encode()
CORE_CSV = "".join(flat_lines(PLAYS, columns=CORE)).encode()
SEEDS = (
    CSV,
    JSONL,
    CORE_CSV,
    CSV.decode().replace(",", ";").replace("\n", "\r\n").encode("utf-8-sig"),
    CORE_CSV.decode().encode("utf-16"),
    CORE_CSV + CORE_CSV,
    CSV.replace(b"p1", "José".encode("cp1252")),
)
SPICE = (
    *(b"\0", b'"', b"\n", b"\r", b"\r\n", b",", b";", b"\t", b"|", b" ", b"\n\n", b"'", b"-"),
    *(b"\xff", b"\x80", b"\xef\xbb\xbf", b"\xc2\x85", b"\xe2\x80\xa8", b"\xe2\x99\xa0", b"\\ud800"),
    *(b"1,000", b"999999999999999999999", b"1e5", b"0x1F", b"NaN", b"null", b"10S"),
    *(b"{", b"}", b"[" * 50, b"round_id", CORE_CSV.split(b"\n")[0] + b"\n"),
    *(b"9999-12-31T23:59:59-14:00", b"0001-01-01T00:00:00+14:00"),
)


def zstd(data):
    return pa.compress(data, "zstd", asbytes=True) if data else b""


def mutated(data, rng):
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5, 30))):
        place = rng.randrange(len(data) + 1)
        act = rng.randrange(6)
        if act == 0:
            data[place:place] = rng.choice(SPICE)
        elif act == 1:
            del data[place : place + rng.choice((1, 3, 100))]
        elif act == 2 and place < len(data):
            data[place] = rng.randrange(256)
        elif act == 3:
            size = rng.choice((5, 50, 500))
            data[place:place] = data[place : place + size]
        elif act == 4:
            del data[place:]
        else:
            size = rng.choice((1, 10, 200))
            other = rng.randrange(len(data) + 1)
            data[place : place + size] = data[other : other + size]
    return bytes(data)


def same_rows(one, other):
    assert one.keys() == other.keys()
    for name, values in one.items():
        assert np.array_equal(values, other[name]), name


def told(chunks):
    """All that two readings must agree on, but for warnings."""
    known = {
        name: np.concatenate([getattr(chunk.plays, name) for chunk in chunks])
        for name in Plays.COLUMNS
        if name not in Plays.CODES
    }
    for name, kind in Plays.CODES.items():
        texts = [np.array([*getattr(chunk.plays.texts, kind), ""], object) for chunk in chunks]
        known[name] = np.concatenate(
            [t[getattr(chunk.plays, name)] for t, chunk in zip(texts, chunks, strict=True)]
        )
    known["lines"] = np.concatenate([chunk.lines for chunk in chunks])
    known["quarantined"] = np.array(
        [(row.line, row.reason, row.text) for chunk in chunks for row in chunk.quarantined]
    )
    known["counts"] = np.array([(c.n_read, c.n_blank, c.n_headers, c.n_duplicates) for c in chunks])
    return known


def outcome(path, options, *, careful=False):
    """The chunks, or the message of the one error a reader may raise."""
    try:
        return accounted(read_plays(path, options=options, careful=careful)), ""
    except PlayLogError as error:
        return [], str(error)


def check(path, data, options=None):
    path.write_bytes(data)
    start = time.perf_counter()
    chunks, error = outcome(path, options)
    again, same_error = outcome(path, options, careful=True)
    assert error == same_error
    if chunks:
        same_rows(told(chunks), told(again))
    assert time.perf_counter() - start < 60
    return chunks


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz") / "log"


@given(data=st.binary(max_size=400))
@settings(max_examples=60, deadline=None)
def test_any_bytes(path, data):
    check(path, data)


@given(data=st.binary(max_size=300), rows=st.integers(1, 5))
@settings(max_examples=60, deadline=None)
def test_any_bytes_after_a_header(path, data, rows):
    chunks = check(path, CSV.split(b"\n")[0] + b"\n" + data, ReadOptions(rows=rows))
    n_lines = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
    if b"\r" not in data:
        assert sum(chunk.n_read for chunk in chunks) == n_lines


FIELDS = (
    *("", " ", "1", "-5", "1000", "1.000", "1,0", "100.0", "999", "\u20281", "x", "é", "r1", "p1"),
    *("AS KS 10D TD 9H", "♠10 S9 2c 3d 4h", "0 1 2 3 4", "AS", "AS KS", "single-double-super"),
    *("2024-03-01T10:00:00Z", "2024-03-01 10:00"),
)


@given(
    fields=st.lists(
        st.lists(st.sampled_from(FIELDS), min_size=len(CORE), max_size=len(CORE)), max_size=8
    )
)
@settings(max_examples=40, deadline=None)
def test_any_fields_of_a_clean_file(path, fields):
    lines = [";".join(CORE), *(";".join(row) for row in fields)]
    check(path, ("\n".join(lines) + "\n").encode(), ReadOptions(card_ids=CardIds()))


def fuzzed(path, seed, n):
    rng = random.Random(seed)  # noqa: S311 - a seeded fuzzer
    n_kept = 0
    for _ in range(n):
        data = mutated(rng.choice(SEEDS), rng)
        if rng.random() < 0.2:
            pack = rng.choice((lambda d: gzip.compress(d, 1, mtime=0), zstd))
            data = pack(data)
            if rng.random() < 0.5:
                data = mutated(data, rng)
        options = ReadOptions(rows=rng.choice((4, 9, 100_000, 100_000)))
        n_kept += sum(len(chunk.plays) for chunk in check(path, data, options))
    return n_kept


def test_mutations_of_good_logs(path):
    assert fuzzed(path, 1, 25) > 300


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 6))
def test_many_mutations_of_good_logs(path, seed):
    assert fuzzed(path, seed, 1_000) > 15_000
