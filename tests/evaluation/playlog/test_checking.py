"""Rows into plays: what is quarantined and why, what is dropped and counted, what is flagged."""

import numpy as np
import pytest
from play_logs import accounted

from niulab.engine.cards import card_text, parse_cards
from niulab.engine.rules import load_rules
from niulab.evaluation.playlog.checking import looks_sorted, read_plays
from niulab.evaluation.playlog.chunk import Quarantined, ReadOptions
from niulab.evaluation.playlog.flat import COLUMNS
from niulab.evaluation.playlog.plays import NO_CARD, NO_TIME, Flag
from niulab.evaluation.playlog.quarantine import QuarantineFile, read_quarantine

# Niu 7 (10 J Q | 3 4) against high card: single wins 1:1 less 5 %, double 2:1 less 5 %, super 7:1.
GOOD = {
    "round_id": "r1",
    "time": "2024-03-01T12:00:00Z",
    "table": "T1",
    "dealer": "D1",
    "rules": "single-double-super",
    "seat": "1",
    "player": "ann",
    "single": "2000",
    "double": "1000",
    "super": "1000",
    "cards": "10S JD QC 3H 4H",
    "dealer_cards": "AS 2D 4C 6H 8D",
    "pair": "3H 4H",
    "net_single": "1900",
    "net_double": "1900",
    "net_super": "6650",
}


def read(path, *changes, **options):
    """One chunk of rows that differ from the good one as told."""
    rows = [GOOD | change for change in changes]
    lines = [";".join(COLUMNS), *(";".join(row.get(name, "") for name in COLUMNS) for row in rows)]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    chunks = accounted(read_plays(path, options=ReadOptions(**options)))
    [chunk] = chunks
    return chunk


@pytest.fixture
def log(tmp_path):
    return tmp_path / "log.csv"


def flags_of(chunk):
    return [Flag(int(flag)) for flag in chunk.plays.flags]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"round_id": ""}, "no round id"),
        ({"player": "  "}, "no player"),
        ({"seat": "12"}, "no such seat: seat 12 of 1 .. 9"),
        ({"seat": "127"}, "no such seat: seat 127 of 1 .. 9"),
        ({"seat": "0"}, "no such seat: seat 0 of 1 .. 9"),
        ({"seat": "five"}, "seat 'five' is no whole number"),
        ({"single": "-5"}, "single is negative"),
        ({"single": "12.50"}, "single '12.50' is no whole number (cents)"),
        ({"single": "1,00"}, "single '1,00' is no whole number (cents)"),
        ({"single": "1e3"}, "single '1e3' is no whole number (cents)"),
        ({"single": "0x10"}, "single '0x10' is no whole number (cents)"),
        ({"single": "9999999999999999999"}, "is no whole number (cents)"),
        ({"net_super": "much"}, "net_super 'much' is no whole number (cents)"),
        ({"late_single": "-2001"}, "late_single takes more than single holds"),
        ({"cover_super": "-1"}, "cover_super is negative"),
        ({"time": "yesterday"}, "time 'yesterday' is no ISO-8601 time"),
        ({"time": "1709294400"}, "is no ISO-8601 time"),
        ({"cards": "10S JD QC 3H"}, "cards: 4 card(s), wanted 5"),
        ({"cards": "10S JD QC 3H 4H 5H"}, "cards: 6 card(s), wanted 5"),
        ({"dealer_cards": "AS 2D 4C 6H 8X"}, "dealer_cards: no such card: '8X'"),
        ({"cards": "1 2 3 4 5"}, "cards: '1' is a number for a card: declare"),
        ({"pair": "3H 4H 5H"}, "pair: 3 card(s), wanted 1 or 2"),
    ],
)
def test_what_cannot_be_is_quarantined_with_line_and_reason(log, change, reason):
    chunk = read(log, {"player": "bob", "seat": "2"}, change, {"round_id": "r2"})
    [row] = chunk.quarantined
    assert row.line == 3
    assert reason in row.reason
    assert row.text == log.read_text("utf-8").splitlines()[2]
    assert chunk.lines.tolist() == [2, 4]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *((text, 2000) for text in ("2,000", "2 000", "2\u202f000", "2'000", "+2000", "2000.0")),
        *(("1.234.567", 1234567), ("007", 7), ("", 0), (" 5 ", 5)),
    ],
)
def test_numbers_as_people_write_them(log, text, value):
    chunk = read(log, {"single": text})
    assert chunk.quarantined == []
    assert chunk.plays.stakes[0, 0] == value


def test_a_minus_sign_is_a_minus(log):
    chunk = read(log, {"net_single": "\N{MINUS SIGN}1,900"})
    assert chunk.plays.nets[0, 0] == -1900


@pytest.mark.parametrize(
    ("text", "zone", "micros"),
    [
        ("2024-03-01T12:00:00Z", "Asia/Macau", 1709294400_000_000),
        ("2024-03-01 12:00:00", "UTC", 1709294400_000_000),
        ("2024-03-01T20:00:00", "Asia/Macau", 1709294400_000_000),
        ("2024-03-01T13:00:00.25+01:00", "UTC", 1709294400_250_000),
        ("20240301T120000Z", "UTC", 1709294400_000_000),
        ("2024-07-01T12:00", "Europe/Lisbon", 1719831600_000_000),
        ("", "UTC", NO_TIME),
    ],
)
def test_times_with_and_without_a_zone(log, text, zone, micros):
    chunk = read(log, {"time": text}, {"round_id": "r0"}, zone=zone)
    assert chunk.plays.time[0] == micros
    assert chunk.plays.time[1] == 1709294400_000_000


@pytest.mark.parametrize(
    "text",
    [
        "1969-12-31T23:59:59.999999Z",
        "1677-01-01T00:00:00Z",
        "9999-12-31T23:59:59Z",
        "0000-01-01T00:00:00Z",
        "0001-01-01T00:00:00Z",
        "2023-02-29T00:00:00Z",
        "2024-01-01T23:59:60Z",
        "2024-01-01T24:00:00Z",
        "2024-01-01 00:00:00.1Z",
    ],
)
def test_a_time_is_read_alike_whatever_stands_beside_it(log, text):
    alone = read(log, {"time": text})
    beside = read(log, {"time": text}, {"time": "2024-03-01T13:00+01:00", "round_id": "r2"})
    assert alone.quarantined == beside.quarantined
    assert alone.plays.time.tolist() == beside.plays.time.tolist()[:-1]


def test_identical_rows_are_dropped_and_counted_and_differing_ones_quarantined(log):
    chunk = read(
        log, {}, {}, {"single": "4000"}, {"player": "bob"}, {}, {"time": "2024-03-01 12:00Z"}
    )
    assert chunk.n_duplicates == 3
    assert chunk.lines.tolist() == [2, 5]
    assert [(row.line, row.reason) for row in chunk.quarantined] == [
        (4, "differs from line 2: the same round, seat and player")
    ]


def test_a_round_id_may_come_back_at_another_table(log):
    chunk = read(log, {}, {"table": "T2"})
    assert (len(chunk.plays), chunk.n_duplicates) == (2, 0)


def test_a_good_row_has_no_flags_and_no_residual(log):
    chunk = read(log, {})
    assert flags_of(chunk) == [Flag(0)]
    assert chunk.plays.residuals.tolist() == [[0, 0, 0, 0]]
    assert chunk.warnings == {}


def test_payments_off_the_rules_are_kept_as_residuals(log):
    chunk = read(log, {"net_super": "7000"}, {"round_id": "r2", "net_single": "-2000"})
    assert chunk.quarantined == []
    assert flags_of(chunk) == [Flag.RESIDUAL, Flag.RESIDUAL]
    assert chunk.plays.residuals.tolist() == [[0, 0, 350, 0], [-3900, 0, 0, 0]]


def test_payments_that_are_not_recorded_are_no_residuals(log):
    chunk = read(log, {"net_super": ""}, {"round_id": "r2", "super": "", "net_super": ""})
    assert flags_of(chunk) == [Flag.NO_NET, Flag(0)]
    assert not chunk.plays.residuals.any()
    assert chunk.warnings == {"rows without all their payments": 1}


def test_missing_dealer_cards_leave_nothing_to_recompute(log):
    chunk = read(log, {"dealer_cards": "", "net_single": "17"})
    assert flags_of(chunk) == [Flag(0)]
    assert (chunk.plays.dealer_cards == NO_CARD).all()


def test_a_mis_set_hand_is_paid_as_set(log):
    # J in front of 10: no base behind (Q + 3 + 4 = 17), so a high card, queen against eight
    chunk = read(log, {"pair": "10S JD", "net_double": "1000", "net_super": "1000"},
                 {"round_id": "r2", "pair": "QC", "net_double": "1000", "net_super": "1000"},
                 {"round_id": "r3", "dealer_cards": "10C JH QH 5C 8S", "dealer_pair": "10C 8S",
                  "net_single": "1900"})  # fmt: skip
    assert flags_of(chunk)[:2] == [Flag.MIS_SET, Flag.MIS_SET]
    assert flags_of(chunk)[2] & Flag.DEALER_MIS_SET


def test_a_corrected_mis_set_costs_nothing(log):
    rules = {"rules": "even-double-super-bonus", "pair": "10S JD", "net_single": "2000"}
    chunk = read(log, rules)
    assert flags_of(chunk) == [Flag.MIS_SET]
    assert not chunk.plays.residuals.any()


def test_a_pair_from_elsewhere_is_kept_and_flagged(log):
    chunk = read(log, {"pair": "3H 9H"}, {"round_id": "r2", "pair": "3H 3H"})
    assert flags_of(chunk) == [Flag.FOREIGN_PAIR, Flag.FOREIGN_PAIR]


def test_shown_cards_are_what_is_paid_on(log):
    chunk = read(log, {"cards": "10S JD QC 2H 2C", "pair": "3H 4H", "cards_shown": GOOD["cards"]})
    assert flags_of(chunk) == [Flag(0)]
    assert tuple(chunk.plays.shown[0]) == parse_cards(GOOD["cards"])


def test_late_chips_are_paid(log):
    chunk = read(log, {"single": "1000", "late_single": "1000"})
    assert flags_of(chunk) == [Flag(0)]
    assert chunk.plays.late[0, 0] == 1000


def test_a_void_round_gives_stakes_back(log):
    change = {"void": "exposed card"}
    nets = dict.fromkeys(("net_single", "net_double", "net_super"), "0")
    chunk = read(log, change, change | nets | {"round_id": "r2"}, {"round_id": "r3", "void": "no"})
    assert flags_of(chunk) == [Flag.VOID | Flag.RESIDUAL, Flag.VOID, Flag(0)]
    assert chunk.plays.texts.voids == ("exposed card",)


def test_sheets_unknown_mixed_declared_and_by_default(log):
    own = load_rules("single-double-super").model_copy(update={"name": "house"})
    names = ("mystery", "house", "", "Single-Double-Super")
    changes = [{"rules": name, "round_id": f"r{k}"} for k, name in enumerate(names)]
    chunk = read(log, *changes, rules={"House": own}, default_rules=own)
    assert flags_of(chunk) == [Flag.UNKNOWN_RULES, Flag(0), Flag(0), Flag(0)]
    assert chunk.plays.texts.rules == ("mystery", "house", "Single-Double-Super")
    assert chunk.plays.rules.tolist() == [0, 1, 1, 2]
    assert chunk.warnings == {"rows whose sheet is not known: declare it": 1}


def test_a_card_twice_in_a_round_is_kept_and_flagged(log):
    two = {"player": "bob", "seat": "2"}
    chunk = read(log, {}, two | {"cards": "10S 2H 5D 6D 7D", "pair": ""}, {"round_id": "r2"},
                 two | {"round_id": "r2", "pair": ""})  # fmt: skip
    assert [bool(flag & Flag.CARD_TWICE) for flag in flags_of(chunk)] == [True, True, True, True]
    one_seat = read(log, {}, {"player": "bob"})
    assert flags_of(one_seat) == [Flag(0), Flag(0)]  # two players on one seat share its cards


def test_sorted_hands_do_not_tell_the_order_dealt(log):
    rng = np.random.default_rng(2)
    changes = []
    for number in range(25):
        deal = rng.permutation(52)[:10]
        own, dealer = (" ".join(card_text(c) for c in cards)
                       for cards in (sorted(deal[:5]), deal[5:]))  # fmt: skip
        changes.append({"round_id": f"r{number}", "cards": own, "dealer_cards": dealer, "pair": ""})
    assert all(flag & Flag.NO_ORDER for flag in flags_of(read(log, *changes)))
    assert not any(flag & Flag.NO_ORDER for flag in flags_of(read(log, *changes[:19])))
    declared = read(log, *changes, in_deal_order=True)
    assert not any(flag & Flag.NO_ORDER for flag in flags_of(declared))
    assert flags_of(read(log, {}, in_deal_order=False)) == [Flag.NO_ORDER]


def test_clocks_that_go_back_are_counted(log):
    hours = ["12", "13", "12", "14"]
    changes = [
        {"round_id": f"r{k}", "time": f"2024-03-01T{hour}:00:00Z"} for k, hour in enumerate(hours)
    ]
    elsewhere = {"round_id": "r9", "table": "T2", "time": "2024-02-01T00:00:00Z"}
    chunk = read(log, *changes[:2], elsewhere, *changes[2:])
    assert chunk.warnings == {"times that go back between rounds of a table": 1}
    assert len(chunk.plays) == 5


def test_the_quarantine_file_keeps_source_line_reason_and_text(tmp_path):
    path = tmp_path / "deep" / "quarantine.csv"
    rows = [Quarantined(3, "no player", 'r1,"x;\t'), Quarantined(9, "é", "a\0b")]
    with QuarantineFile(path) as file:
        file.write("a.csv", [])
        assert not path.exists()
        file.write("a.csv", rows[:1])
        size = file.size
        file.write("b.csv", rows[1:])
        assert file.n_rows == 2
    assert list(read_quarantine(path)) == [
        ("a.csv", rows[0]),
        ("b.csv", Quarantined(9, "é", "a\N{SYMBOL FOR NULL}b")),
    ]
    with QuarantineFile(path, size=size) as file:
        file.write("c.csv", rows[:1])
    assert [source for source, _ in read_quarantine(path)] == ["a.csv", "c.csv"]


@pytest.mark.parametrize(
    "key",
    [
        lambda card: card,
        lambda card: -(card // 4),
        lambda card: (card // 4 - 1) % 13,  # the ace above the king
        lambda card: -((card // 4 - 1) % 13),
        lambda card: (card % 4, card // 4),
        lambda card: ("CDHS".index(card_text(card)[-1]), -((card // 4 - 1) % 13)),
        lambda card: min(card // 4, 9),  # points
        card_text,
        lambda card: card_text(card).replace("10", "T"),
    ],
)
def test_hands_in_any_usual_order_do_not_tell_the_order_dealt(key):
    rng = np.random.default_rng(4)
    dealt = np.array([rng.permutation(52)[:5] for _ in range(300)], dtype=np.uint8)
    in_order = np.array([sorted(hand, key=key) for hand in dealt.tolist()], dtype=np.uint8)
    assert looks_sorted(dealt) is False
    assert looks_sorted(in_order) is True
    assert looks_sorted(in_order[:19]) is None
    mixed = in_order.copy()
    mixed[250:] = dealt[250:]
    assert looks_sorted(mixed) is False
