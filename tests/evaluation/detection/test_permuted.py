"""Logs with their deals permuted: what moves, what stays, and who is accused then."""

from dataclasses import replace
from math import log

import numpy as np
import pytest
from logs_on_disk import write_csv
from table_players import seated

from niulab.errors import ConfigError, NiuLabError
from niulab.evaluation.detection.attacks.seats import table_rounds
from niulab.evaluation.detection.calibration.outcomes import permuted_of
from niulab.evaluation.detection.calibration.permuted import (
    LoggedPlays,
    LogPart,
    log_part,
    permute_deals,
    verify_log,
)
from niulab.evaluation.logged.columns import simulate_plays
from niulab.evaluation.logged.config import parse_floor, read_floor
from niulab.evaluation.logged.world import World
from niulab.evaluation.playlog.plays import Flag
from niulab.evaluation.playlog.store.folder import create_store
from niulab.evaluation.playlog.store.importing import import_log


@pytest.fixture(scope="module")
def plays():
    """A floor on which players leave, so that rounds have different numbers of seats."""
    floor = parse_floor(
        {
            "players": [
                {"kind": "bettor", "count": 9, "system": "bold", "session": 10},
                {"kind": "bettor", "count": 6},
            ],
            "rounds": 40,
            "seats": 3,
        }
    )
    return simulate_plays(floor)


def deals_of(plays):
    """By round: how many seats, and all its cards, seats in order and the dealer's last."""
    rounds = table_rounds(plays)
    found = []
    for first, end in zip(rounds.starts[:-1], rounds.starts[1:], strict=True):
        rows = rounds.rows[first:end]
        dealers = plays.dealer_cards[rows]
        assert (dealers == dealers[0]).all()
        found.append((len(rows), plays.cards[rows].tobytes() + dealers[0].tobytes()))
    return found


def test_whole_deals_change_places_and_everything_else_stays(plays):
    moved = permute_deals(plays, np.random.default_rng(0))
    before, after = deals_of(plays), deals_of(moved.plays)
    assert len({n for n, _ in before}) > 1
    assert [n for n, _ in after] == [n for n, _ in before]
    assert sorted(after) == sorted(before)
    assert sum(a == b for a, b in zip(after, before, strict=True)) < 20  # of about 200
    assert moved.n_rounds == len(before)
    for name in set(type(plays).COLUMNS) - {"cards", "dealer_cards", "shown"}:
        assert (getattr(moved.plays, name) == getattr(plays, name)).all(), name


def test_every_place_is_equally_likely(sheet):
    # 3 rounds at one table: each of the 6 orders about 1/6 of the time
    plays = seated(sheet, 1, 2, 3)
    before = [deal for _, deal in deals_of(plays)]
    counts = dict[tuple[int, ...], int]()
    rng = np.random.default_rng(1)
    for _ in range(600):
        after = [deal for _, deal in deals_of(permute_deals(plays, rng).plays)]
        order = tuple(before.index(deal) for deal in after)
        counts[order] = counts.get(order, 0) + 1
    assert len(counts) == 6
    assert sum((n - 100) ** 2 / 100 for n in counts.values()) < 20.5  # chi-square, 5 df, 0.1 %


def test_deals_that_do_not_count_keep_to_themselves(sheet):
    plays = seated(sheet, 2, 1, 4)
    flags = plays.flags.copy()
    flags[[1, 6]] = int(Flag.VOID)
    flags[3] = int(Flag.CARD_TWICE)
    plays = replace(plays, flags=flags)
    moved = permute_deals(plays, np.random.default_rng(2))
    assert moved.n_fixed == 1
    assert (moved.plays.cards[3] == plays.cards[3]).all()
    one, other = (sorted(p.cards[[1, 6]].tolist()) for p in (plays, moved.plays))
    assert one == other


@pytest.fixture(scope="module")
def cheats():
    log = LoggedPlays.of("cheats", rounds=200, seed=0)
    return [log_part(log, 0, number) for number in range(5)]


def test_nobody_knows_anything_of_permuted_deals(cheats):
    one = permuted_of((0.05, 0.01), cheats)
    assert (one.n_players, one.n_attackers, one.n_permutations) == (400, 150, 4)
    # 150 less 15 peekers, who stake flat
    assert one.accused[1] >= 130
    assert one.accused_others[0] <= 0.05 * 250 + 3 * (0.05 * 0.95 * 250) ** 0.5
    for place, alpha in enumerate((0.05, 0.01)):
        assert one.interval(place)[0] <= alpha
        assert one.most[place] <= one.alarms[place]
    # other permutations are other logs
    assert len({tuple(part.peaks) for part in cheats}) == 5


def test_counts_of_permuted_logs():
    logged = LogPart([log(30), log(200), 0.0], [True, False, False], 9, 0)
    others = [
        LogPart([log(21), 0.0, 0.0], [True, False, False], 9, 1),
        LogPart([log(150), log(21), 0.0], [True, False, False], 9, 0),
    ]
    one = permuted_of((0.05, 0.01), [logged, *others])
    assert (one.accused, one.accused_others) == ((1, 0), (1, 1))
    assert (one.alarms, one.most) == ((3, 1), (2, 1))
    assert (one.n_rounds, one.n_fixed) == (9, 1)
    assert one.interval(0)[0] < 3 / 6 < one.interval(0)[1]


def test_a_stores_log_is_judged_as_the_floor_it_came_from(tmp_path):
    floor = read_floor("small").changed(rounds=60)
    store = create_store(tmp_path / "log", buckets=2)
    import_log([write_csv(simulate_plays(floor), tmp_path / "log.csv")], store)
    log = LoggedPlays.of(str(tmp_path / "log"), rounds=None, seed=0)
    assert log.content != LoggedPlays.of("small", rounds=60, seed=0).content
    part = log_part(log, 0, 0)
    own = log_part(LoggedPlays(floor, ""), 0, 0)
    assert part.n_rounds == own.n_rounds == 60 * World(floor).seating.n_tables
    assert sorted(part.peaks) == pytest.approx(sorted(own.peaks), rel=1e-9)
    assert not any(part.is_attacker)
    moved = log_part(log, 0, 1)
    assert len(moved.peaks) == len(part.peaks)
    assert max(moved.peaks) < max(part.peaks)


def test_a_log_that_is_none_is_told(tmp_path):
    with pytest.raises(ConfigError, match="nobody"):
        verify_log("nobody")
    with pytest.raises(NiuLabError, match="store"):
        verify_log(str(tmp_path))
