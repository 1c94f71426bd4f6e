"""Flat logs of honest play, made for tests: cards dealt, nets as the sheet pays them."""

from dataclasses import replace

import numpy as np

from niulab.engine.rules import load_rules
from niulab.evaluation.playlog.flat import flat_lines
from niulab.evaluation.playlog.plays import Plays, Vocabularies
from niulab.evaluation.playlog.replay import rules_give

SHEET = "single-double-super"
START = 1_767_222_000_000_000  # 2025-12-31 23:00 UTC, in microseconds: logs run into a new month
SEATS = 3


def make_plays(n_rounds, *, players=9, seed=0, first=0, seconds=60, tag=""):
    """n_rounds x 3 rows of one table in the order of time; first: number of the first round."""
    rng = np.random.default_rng(seed)
    n = n_rounds * SEATS
    deals = rng.permuted(np.tile(np.arange(52, dtype=np.uint8), (n_rounds, 1)), axis=1)
    numbers = np.arange(first, first + n_rounds)
    rounds = np.repeat(np.arange(n_rounds), SEATS)
    stakes = np.zeros((n, 4), dtype=np.int64)
    stakes[:, 0] = rng.choice([1000, 2000, 5000], n)
    stakes[:, 2] = rng.choice([0, 500], n)
    seated = np.argsort(rng.random((n_rounds, players)), axis=1)[:, :SEATS]
    plays = Plays.of(
        n,
        Vocabularies(
            players=tuple(f"Guest {tag}{code}" for code in range(players)),
            tables=("T1", "T2"),
            dealers=("Ana", "Bo"),
            rounds=tuple(f"R{number:05}" for number in numbers),
            rules=(SHEET,),
        ),
        player=seated.reshape(-1),
        table=0,
        dealer=rounds % 2,
        round=rounds,
        rules=0,
        time=START + np.repeat(numbers, SEATS) * seconds * 1_000_000,
        seat=np.tile(np.arange(1, SEATS + 1), n_rounds),
        stakes=stakes,
        cards=deals[:, : 5 * SEATS].reshape(n, 5),
        dealer_cards=np.repeat(deals[:, 5 * SEATS : 5 * SEATS + 5], SEATS, axis=0),
    )
    nets, _ = rules_give(plays, load_rules(SHEET))
    plays = replace(plays, nets=nets)
    return replace(plays, **{name: getattr(plays, name).copy() for name in plays.COLUMNS})


def lines_of(plays):
    """The header and the rows of a CSV log."""
    return list(flat_lines(plays))


def write_log(path, lines):
    path.write_text("".join(lines), encoding="utf-8")
    return path
