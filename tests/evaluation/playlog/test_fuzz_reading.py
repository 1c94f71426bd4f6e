"""Whatever the bytes: no crash, no hang, every line accounted for; both roads give one result."""

import gzip
import random
import time

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mutated_logs import CSV, SEEDS, mutated
from play_logs import accounted

from niulab.errors import PlayLogError
from niulab.evaluation.playlog.checking import read_plays
from niulab.evaluation.playlog.chunk import CardIds, ReadOptions
from niulab.evaluation.playlog.flat import CORE
from niulab.evaluation.playlog.plays import Plays


def zstd(data):
    return pa.compress(data, "zstd", asbytes=True) if data else b""


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
