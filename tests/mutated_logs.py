"""Good play logs in several dresses, and what a fuzzer makes of them."""

from play_logs import played

from niulab.evaluation.playlog.flat import CORE, flat_lines

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
