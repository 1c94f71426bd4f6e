"""Streams: hashed per purpose, counter-based words equal in both forms, no seed shares a row."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from niulab.seeding import (
    WORD_BITS,
    entropy_seed,
    generator,
    mix64,
    round_word,
    round_words,
    stream_seed,
)

U64 = st.integers(0, 2**64 - 1)


def test_the_finalizer_is_splitmix64s():
    # First outputs of SplitMix64 from state 0 (the generator's published test vector).
    golden = 0x9E3779B97F4A7C15
    assert mix64(golden) == 0xE220A8397B1DCDAF
    assert mix64(2 * golden) == 0x6E789E6AA1B965F4


def test_a_config_seed_is_hashed_for_each_purpose():
    purposes = ["deal", "exploration", "bootstrap"]
    seeds = {stream_seed(seed, purpose) for seed in range(1000) for purpose in purposes}
    assert len(seeds) == 3000
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert stream_seed(0, "deal") == stream_seed(0, "deal")


def test_runs_with_neighboring_seeds_share_no_rows():
    rows = [stream_seed(seed, "deal") + row for seed in range(50) for row in range(4096)]
    assert len(set(rows)) == len(rows)


def test_generators_repeat_and_differ_by_purpose():
    first, again = generator(7, "x").integers(0, 2**60, 8), generator(7, "x").integers(0, 2**60, 8)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, generator(7, "y").integers(0, 2**60, 8))


def test_entropy_seeds_have_63_bits_and_differ():
    seeds = {entropy_seed() for _ in range(100)}
    assert len(seeds) == 100
    assert max(seeds) < 2**63


@given(
    rows=st.lists(st.tuples(U64, st.integers(0, 2**62)), min_size=1, max_size=8),
    group=st.integers(0, 70),
    attempt=st.integers(0, 5),
)
def test_words_of_rows_equal_single_words(rows, group, attempt):
    seeds = np.array([seed for seed, _ in rows], dtype=np.uint64)
    counters = np.array([counter for _, counter in rows], dtype=np.int64)
    words = round_words(seeds, counters, group, attempt)
    assert words.tolist() == [round_word(s, c, group, attempt) for s, c in rows]
    assert int(words.max()) < 2**WORD_BITS


@pytest.mark.parametrize("axis", ["seed", "counter", "group", "attempt"])
def test_words_differ_along_every_axis(axis):
    base = {"seed": 3, "counter": 5, "group": 1, "attempt": 0}
    words = {round_word(**{**base, axis: value}) for value in range(2000)}
    assert len(words) == 2000


def test_the_bits_of_words_are_balanced():
    words = round_words(np.arange(50_000, dtype=np.uint64), np.zeros(50_000, dtype=np.int64))
    shares = [float((words >> np.uint64(bit) & np.uint64(1)).mean()) for bit in range(WORD_BITS)]
    assert max(abs(share - 0.5) for share in shares) < 4 / (2 * 50_000**0.5)
