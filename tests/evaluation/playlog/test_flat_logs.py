"""The flat play log: plays into text and back, whatever the file went through in between."""

import gzip

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from play_logs import accounted, played

from niulab.engine.cards import RANKS, SUITS
from niulab.errors import PlayLogError
from niulab.evaluation.playlog.checking import read_plays
from niulab.evaluation.playlog.chunk import CardIds, ReadOptions
from niulab.evaluation.playlog.flat import COLUMNS, CORE, OPTIONAL, flat_lines
from niulab.evaluation.playlog.plays import Flag, Plays
from niulab.evaluation.playlog.text.blocks import Source
from niulab.evaluation.playlog.vocabulary import Lexicon

SHEETS = ("single-double-super", "even-double-super-bonus", "bull-bull-live")
PLAYS = played(30, sheets=SHEETS)
TEXT = "".join(flat_lines(PLAYS))


def values(plays):
    """Columns with texts in place of codes."""
    known = {name: getattr(plays, name) for name in Plays.COLUMNS}
    for name, kind in Plays.CODES.items():
        known[name] = np.array([*getattr(plays.texts, kind), ""], object)[known[name]]
    return known


def assert_same(plays, others, *, but=("flags", "residuals", "packet")):
    one, other = values(plays), values(others)
    for name in Plays.COLUMNS:
        if name not in but:
            assert np.array_equal(one[name], other[name]), name


def read(path, data, **options):
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return accounted(read_plays(path, options=ReadOptions(**options)))


def test_the_schema_is_the_published_one():
    assert ",".join(CORE) == (
        "round_id,time,table,dealer,rules,seat,player,single,double,super,bonus,cards,dealer_cards,"
        "pair,net_single,net_double,net_super,net_bonus,bet_time,close_time"
    )
    assert ",".join(OPTIONAL) == (
        "cover_double,cover_super,late_single,late_double,late_super,late_bonus,dealer_pair,"
        "cards_shown,seat_order,first_seat,deal_method,shoe,shuffle_id,shuffler,void,promo"
    )


@pytest.mark.parametrize("format_", ["csv", "jsonl"])
@pytest.mark.parametrize("rows", [7, 100_000])
def test_text_and_back(tmp_path, format_, rows):
    chunks = read(tmp_path / "log", "".join(flat_lines(PLAYS, format_)), rows=rows)
    lexicon = Lexicon()
    joined = [lexicon.recode(chunk.plays) for chunk in chunks]
    whole = Plays.join([lexicon.recode(plays) for plays in joined])
    assert_same(PLAYS, whole)
    assert not (whole.flags & ~np.uint16(int(Flag.MIS_SET))).any()
    assert not whole.residuals.any()
    assert all(len(chunk.plays) <= rows for chunk in chunks)


def test_every_optional_column_comes_back(tmp_path):
    n = len(PLAYS)
    rng = np.random.default_rng(3)
    texts = {
        "shufflers": ("S1",),
        "shuffles": ("x1", "x2"),
        "shoes": ("shoe é",),
        "deal_methods": ("by hand, slow",),
        "seat_orders": ("2 3 1",),
        "voids": ("exposed card",),
    }
    full = Plays.of(
        n,
        type(PLAYS.texts)(**(vars(PLAYS.texts) | texts)),
        **{name: getattr(PLAYS, name) for name in Plays.COLUMNS}
        | {
            "shuffler": 0,
            "shuffle": rng.integers(-1, 2, n),
            "shoe": 0,
            "deal_method": rng.integers(-1, 1, n),
            "seat_order": 0,
            "void": 0,
            "flags": int(Flag.VOID),
            "shown": PLAYS.cards[:, ::-1],
            "first_seat": 2,
            "promo": rng.integers(-5, 5, n),
            "late": rng.integers(0, 3, (n, 4)),
            "cover": rng.integers(-1, 100, (n, 2)),
            "bet_time": PLAYS.time - 1_000_001,
            "close_time": PLAYS.time - 5,
        },
    )
    for format_ in ("csv", "jsonl"):
        [chunk] = read(tmp_path / "log", "".join(flat_lines(full, format_)))
        assert_same(full, chunk.plays)
        assert (chunk.plays.packet == np.array([-1, 2, 0, 1])[full.seat]).all()


DAMAGE = {
    "utf-8 with BOM": TEXT.encode("utf-8-sig"),
    "utf-16 with BOM": TEXT.encode("utf-16"),
    "utf-16 little-endian": TEXT.encode("utf-16-le"),
    "utf-16 big-endian": TEXT.encode("utf-16-be"),
    "semicolons": TEXT.replace(",", ";").encode(),
    "tabs and CRLF": TEXT.replace(",", "\t").replace("\n", "\r\n").encode(),
    "bars and CR": TEXT.replace(",", "|").replace("\n", "\r").encode(),
    "quotes": "\n".join(
        ",".join(f'"{part}"' for part in line.split(",")) for line in TEXT.splitlines()
    ).encode(),
    "empty lines": TEXT.replace("\n", "\n\n   \n").encode(),
    "headers again": b"".join(
        TEXT.split("\n")[0].encode() + b"\n" + line + b"\n"
        for line in TEXT.encode().splitlines()[1:]
    ),
    "gzip": gzip.compress(TEXT.encode()),
    "two gzip members": gzip.compress(TEXT[:1000].encode()) + gzip.compress(TEXT[1000:].encode()),
    "zstd": pa.compress(TEXT.encode(), "zstd", asbytes=True),
    "T for ten": b"",
    "no last line end": TEXT.removesuffix("\n").encode(),
    "trailing separators": TEXT.replace("\n", ",,\n").replace("promo,,", "promo").encode(),
    "padding of NULs": TEXT.replace(",T1,", ",T1\0\0,").encode(),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_real_damage_costs_nothing(tmp_path, damage):
    data = DAMAGE[damage]
    if damage == "T for ten":
        data = "\n".join(
            ",".join(
                part.replace("10", "T") if name in {"cards", "dealer_cards", "pair"} else part
                for name, part in zip(COLUMNS, line.split(","), strict=True)
            )
            for line in TEXT.splitlines()
        ).encode()
    [chunk] = read(tmp_path / "log", data)
    assert chunk.quarantined == []
    assert_same(PLAYS, chunk.plays)


def test_windows_1252_and_utf_8_lines_in_one_file(tmp_path):
    header, first = TEXT.split("\n")[:2]
    name = PLAYS.texts.players[PLAYS.player[0]]
    rows = [first.replace(f",{name},", f",José{k},") for k in range(2)]
    data = header.encode() + b"\n" + rows[0].encode("cp1252") + b"\n" + rows[1].encode() + b"\n"
    [chunk] = read(tmp_path / "log", data)
    assert chunk.plays.texts.players == ("José0", "José1")
    assert chunk.warnings["lines that are not UTF-8 were read as Windows-1252"] == 1


@pytest.mark.parametrize(
    ("notation", "card"),
    [
        ("{rank}{suit}", None),
        ("{suit}{rank}", None),
        ("{symbol}{rank}", None),
        ("{lower}", None),
        ("{id}", CardIds()),
        ("{club}", CardIds(suits="SHDC", by="suit", first=1)),
    ],
)
def test_every_notation_of_cards(tmp_path, notation, card):
    def write(id_):
        rank, suit = RANKS[id_ // 4], SUITS[id_ % 4]
        return notation.format(
            rank=rank, suit=suit, symbol=dict(zip("DCHS", "♦♣♥♠", strict=True))[suit], id=id_,
            lower=f"{rank}{suit}".lower(), club=1 + 13 * "SHDC".index(suit) + id_ // 4,
        )  # fmt: skip

    rows = [",".join(CORE)]
    for start in range(0, 50, 10):
        own, dealer = range(start, start + 5), range(start + 5, start + 10)
        texts = {"round_id": f"r{start}", "player": "p", "rules": "single-double-super",
                 "cards": " ".join(map(write, own)), "dealer_cards": " ".join(map(write, dealer)),
                 "pair": " ".join(map(write, list(own)[:2])), "single": "20"}  # fmt: skip
        rows.append(",".join(texts.get(name, "") for name in CORE))
    [chunk] = read(tmp_path / "log", "\n".join(rows), card_ids=card, in_deal_order=True)
    assert chunk.quarantined == []
    assert np.array_equal(
        np.concatenate([chunk.plays.cards, chunk.plays.dealer_cards], axis=1).ravel(), np.arange(50)
    )
    assert np.array_equal(chunk.plays.pair, chunk.plays.cards[:, :2])


def test_a_truncated_last_line_is_quarantined_and_nothing_else(tmp_path):
    [chunk] = read(tmp_path / "log", TEXT[:-60])
    [row] = chunk.quarantined
    assert row.line == len(PLAYS) + 1
    assert row.reason.startswith("cut off: ")
    assert row.text == TEXT[:-60].splitlines()[-1]
    assert len(chunk.plays) == len(PLAYS) - 1


def test_a_cut_gzip_file_keeps_the_whole_lines_before(tmp_path):
    data = gzip.compress(TEXT.encode())
    chunks = read(tmp_path / "log", data[: len(data) // 2])
    kept = sum(len(chunk.plays) for chunk in chunks)
    assert 10 < kept < len(PLAYS)
    assert_same(PLAYS.take(slice(0, kept)), chunks[0].plays)
    assert "the compressed file is damaged: nothing after it was read" in chunks[-1].warnings
    assert [row.reason for row in chunks[-1].quarantined] == [
        "cut off: the compressed file is damaged"
    ]


def test_a_line_without_end_costs_bounded_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("niulab.evaluation.playlog.text.blocks.MOST_BLOCK_BYTES", 1 << 12)
    monkeypatch.setattr("niulab.evaluation.playlog.text.blocks._PIECE", 1 << 11)
    header, first, second = TEXT.split("\n")[:3]
    data = "\n".join([header, first, "x" * 30_000, second, ""])
    chunks = read(tmp_path / "log", data)
    lines = [line for chunk in chunks for line in chunk.lines.tolist()]
    assert lines == [2, 4]
    [row] = [row for chunk in chunks for row in chunk.quarantined]
    assert (row.line, len(row.text)) == (3, 4096)
    assert "longer than" in row.reason


def test_blocks_stay_small_whatever_a_file_unpacks_to(tmp_path, monkeypatch):
    monkeypatch.setattr("niulab.evaluation.playlog.text.blocks.MOST_BLOCK_BYTES", 1 << 18)
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(b"x" * 20_000_000 + b"\n" + b"y,\n" * 2_000_000))
    blocks = [(len(b.data), b.n_lines, b.first_line) for b in Source(path).blocks(100_000)]
    assert max(size for size, _, _ in blocks) <= (1 << 18) + (1 << 16)
    assert sum(n for _, n, _ in blocks) == 2_000_001
    assert [line for _, _, line in blocks[:3]] == [1, 2, 2 + blocks[1][1]]


def test_columns_in_another_order_and_unknown_ones(tmp_path):
    order = [*CORE[::-1], "colour"]
    rows = [",".join(order)]
    for line in TEXT.splitlines()[1:]:
        row = dict(zip(COLUMNS, line.split(","), strict=True)) | {"colour": "red"}
        rows.append(",".join(row[name] for name in order))
    [chunk] = read(tmp_path / "log", "\n".join(rows) + "\n")
    assert_same(PLAYS, chunk.plays, but=("flags", "residuals", "packet", "dealer_pair"))
    assert chunk.warnings == {"column 'colour' is not of the schema: left out": 1}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (TEXT.replace("round_id", "roundid", 1), "missing column.*round_id .is it 'roundid'"),
        (TEXT.replace("round_id,", "round_id,round_id,", 1), "names round_id twice"),
        ("", "no header of a play log"),
        ("\n\n\n", "no header of a play log"),
        ("a,b\n1,2\n", "no header of a play log"),
        ('{"round_id": 1}\n', "missing column.*time"),
    ],
)
def test_a_file_that_is_no_play_log_is_one_clear_error(tmp_path, data, message):
    with pytest.raises(PlayLogError, match=message):
        read(tmp_path / "log", data)


@pytest.mark.parametrize(
    "options",
    [
        {"zone": "Mars/Base"},
        {"separator": "::"},
        {"encoding": "no-such"},
        {"encoding": "hex"},
        {"rows": 0},
        {"card_ids": CardIds(suits="DDDD")},
    ],
)
def test_options_that_cannot_be(tmp_path, options):
    with pytest.raises(PlayLogError):
        read(tmp_path / "log", TEXT, **options)


def test_a_missing_file(tmp_path):
    with pytest.raises(PlayLogError, match="cannot read"):
        list(read_plays(tmp_path / "none"))


def test_a_parquet_file_is_called_one(tmp_path):
    path = tmp_path / "plays.parquet"
    pq.write_table(pa.table({"round_id": ["r1"], "player": ["ann"]}), path)
    with pytest.raises(PlayLogError, match="a Parquet file, and a flat log is CSV or JSON Lines"):
        list(read_plays(path))
