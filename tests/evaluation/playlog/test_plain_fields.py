"""Plain fields are read as the readers of texts read them, and odd lines among plain ones count."""

import csv
import io
import json
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from play_logs import accounted, played

from niulab.engine.cards import card_text, parse_card
from niulab.evaluation.playlog.checking import read_plays
from niulab.evaluation.playlog.chunk import ReadOptions
from niulab.evaluation.playlog.flat import CORE, flat_lines
from niulab.evaluation.playlog.kernels import order_by_code, pair_splits, sorted_hands
from niulab.evaluation.playlog.rounds import distinct
from niulab.evaluation.playlog.text import clean
from niulab.evaluation.playlog.text.kernels import EMPTY, _time

PLAYS = played(40)
LINES = list(flat_lines(PLAYS, columns=CORE))


def time_of(text, *, is_utc=True):
    data = np.frombuffer(text.encode(), dtype=np.uint8)
    return _time(data, 0, len(data), is_utc)


@given(
    time=st.datetimes(datetime(1000, 1, 1), datetime(2999, 12, 31)),  # noqa: DTZ001 - zones follow
    zone=st.sampled_from(["Z", "+00:00", "+08:00", "-03:30", "+23:59"]),
    between=st.sampled_from("T "),
    n_digits=st.integers(0, 6),
)
@settings(max_examples=300)
def test_times_are_those_of_the_calendar(time, zone, between, n_digits):
    fraction = f".{time.microsecond:06}"[: n_digits + 1] if n_digits else ""
    text = f"{time:%Y-%m-%d}{between}{time:%H:%M:%S}{fraction}{zone}".rjust(19, "0")
    known = datetime.fromisoformat(text)
    micros = (known - datetime(1970, 1, 1, tzinfo=UTC)) // np.timedelta64(1, "us").item()
    assert time_of(text) == micros


@pytest.mark.parametrize(
    "text",
    [
        *("2023-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2024-04-31T00:00:00Z"),
        *("2024-13-01T00:00:00Z", "2024-00-01T00:00:00Z", "2024-01-00T00:00:00Z"),
        *("2024-01-01T24:00:00Z", "2024-01-01T00:60:00Z", "2024-01-01T00:00:60Z"),
        *("0999-01-01T00:00:00Z", "2024-01-01T00:00:00.Z", "2024-01-01T00:00:00.1234567Z"),
        *("2024-01-01t00:00:00Z", "2024-01-01T00:00:00z", "2024/01/01T00:00:00Z", "2024-01-01"),
        *("2024-01-01T00:00:00+0800", "2024-01-01T00:00:00+24:00", "2024-01-01T00:00:00 Z"),
    ],
)
def test_what_is_no_plain_time_is_left_to_others(text):
    assert time_of(text) == EMPTY


def test_times_without_a_zone_are_plain_under_utc_alone():
    assert time_of("2024-02-29 00:00:01", is_utc=True) == 1_709_164_801_000_000
    assert time_of("2024-02-29 00:00:01", is_utc=False) == EMPTY


def test_leap_days_of_four_centuries():
    days = np.arange("1599-12-01", "2001-02-01", dtype="datetime64[D]")
    for day in days[::37]:
        text = f"{day}T12:00:00Z"
        assert time_of(text) == day.astype("datetime64[us]").astype(np.int64) + 43_200_000_000


def test_the_fast_road_is_taken(tmp_path, monkeypatch):
    """Odd lines do not send a block of plain ones another way: only they are read one by one."""
    taken = []
    take = clean.Careful.take

    def counted(self, places):
        taken.append(len(places))
        take(self, places)

    monkeypatch.setattr(clean.Careful, "take", counted)
    odd = [
        "\n",
        "x,y\n",
        LINES[5].rstrip("\n") + ",,\n",  # only empty fields too many
        f'{LINES[6][0]}"{LINES[6][1:]}',  # a quote within a field
    ]
    path = tmp_path / "log.csv"
    path.write_text("".join([*LINES[:20], *odd, *LINES[20:]]), encoding="utf-8")
    [chunk] = accounted(read_plays(path))
    assert taken == [4]
    [other] = list(read_plays(path, careful=True))
    assert taken[-1] == chunk.n_read
    assert list(flat_lines(chunk.plays)) == list(flat_lines(other.plays))
    assert chunk.quarantined == other.quarantined
    assert (chunk.n_blank, chunk.n_duplicates) == (other.n_blank, other.n_duplicates) == (1, 1)
    assert chunk.lines.tolist() == other.lines.tolist()


@pytest.mark.parametrize("form", ["quoted", "json", "json without nulls", "escaped json", "spaced"])
def test_forms_of_one_log(tmp_path, form):
    names = LINES[0].strip().split(",")
    rows = [line.rstrip("\n").split(",") for line in LINES[1:]]
    if form == "quoted":
        held = io.StringIO()
        csv.writer(held, quoting=csv.QUOTE_ALL).writerows([names, *rows])
        text = held.getvalue()
    elif form == "spaced":
        text = "".join(" , ".join(row) + "\n" for row in [names, *rows])
    else:
        objects = [dict(zip(names, row, strict=True)) for row in rows]
        if form == "json without nulls":
            first, *rest = objects
            objects = [first, *({k: v for k, v in row.items() if v} for row in rest)]
        if form == "escaped json":
            for row in objects:
                row["player"] += " é"
        text = "".join(json.dumps(row) + "\n" for row in objects)
    path = tmp_path / "log"
    path.write_text(text, encoding="utf-8", newline="")
    [one], [other] = list(read_plays(path)), list(read_plays(path, careful=True))
    assert list(flat_lines(one.plays)) == list(flat_lines(other.plays))
    assert len(one.plays) == len(PLAYS)
    if form in {"quoted", "json"}:
        plain = tmp_path / "plain.csv"
        plain.write_text("".join(LINES), encoding="utf-8")
        [chunk] = list(read_plays(plain))
        assert list(flat_lines(one.plays)) == list(flat_lines(chunk.plays))


def test_cards_are_those_of_the_engine():
    ranks, suits = clean._CARD_RANKS, clean._CARD_SUITS
    for card in range(52):
        for text in {card_text(card), card_text(card).replace("10", "T"), card_text(card).lower()}:
            if not text.startswith("10"):
                assert 4 * int(ranks[ord(text[0])]) + int(suits[ord(text[1])]) == parse_card(text)
    letters = {chr(byte) for byte in range(256) if ranks[byte] < 255}
    assert letters == set("A23456789TJQKatjqk")
    assert {chr(byte) for byte in range(256) if suits[byte] < 255} == set("DCHSdchs")


def test_rows_sorted_by_code_keep_their_order():
    codes = np.array([3, 0, 3, 1, 0, 3], dtype=np.int32)
    assert order_by_code(codes, 5).tolist() == np.argsort(codes, kind="stable").tolist()


@given(values=st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 5)))
def test_distinct_values_come_in_the_order_first_met(values):
    known, places = distinct(np.array(values, dtype=np.int64))
    assert known.tolist() == list(dict.fromkeys(values))
    assert known[places].tolist() == values


def test_pairs_are_found_in_hands():
    hands = sorted_hands(np.array([[9, 3, 7, 3, 1]] * 6, dtype=np.uint8))
    assert hands[0].tolist() == [1, 3, 3, 7, 9]
    pairs = np.array([[52, 52], [3, 52], [3, 3], [9, 1], [1, 1], [8, 52]], dtype=np.uint8)
    split_of = np.arange(25).reshape(5, 5)
    found = np.empty(6, dtype=np.int8)
    pair_splits(hands, pairs, 52, split_of, found)
    assert found.tolist() == [-1, -2, split_of[1, 2], split_of[4, 0], -3, -3]


def test_rows_are_read_alike_in_blocks_of_any_size(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("".join(LINES), encoding="utf-8")
    whole = list(read_plays(path))
    for rows in (1, 7, 255, 257):
        parts = accounted(read_plays(path, options=ReadOptions(rows=rows)))
        lines = [line for chunk in parts for line in flat_lines(chunk.plays, header=False)]
        assert lines == list(flat_lines(whole[0].plays, header=False))


@pytest.mark.parametrize("name", ["round_id", "rules", "dealer_cards", "cards", "table"])
def test_objects_of_a_block_that_all_leave_out_a_core_key(tmp_path, name):
    """Nulls may be left out, as long as the first lines of the file name every core column."""
    names = LINES[0].strip().split(",")
    objects = [dict(zip(names, line.rstrip("\n").split(","), strict=True)) for line in LINES[1:]]
    for row in objects:
        row["note"] = "x"  # and a key that no schema has
    for row in objects[7:]:
        del row[name]
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in objects), encoding="utf-8")
    options = ReadOptions(rows=7)
    found = accounted(read_plays(path, options=options))
    others = accounted(read_plays(path, options=options, careful=True))
    for one, other in zip(found, others, strict=True):
        assert list(flat_lines(one.plays)) == list(flat_lines(other.plays))
        assert one.quarantined == other.quarantined
        assert one.warnings == other.warnings
        assert 0 not in one.warnings.values()
    kept = sum(len(one.plays) for one in found)
    assert kept == (7 if name == "round_id" else len(PLAYS))
