"""Streamed simulations: intervals of dependent seats and rounds, exact totals, checkpoints."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

from niulab.engine.batch import BatchEngine
from niulab.engine.rules import load_rules
from niulab.engine.settlement import Outcome
from niulab.engine.wagers import Slip
from niulab.errors import CheckpointError, ConfigError, RoundStateError, WagerError
from niulab.evaluation.statistics import mean_interval
from niulab.evaluation.streaming import run as streaming
from niulab.evaluation.streaming import simulate_stream
from niulab.seeding import stream_seed
from niulab.solvers.values import slip_values

SDS = "single-double-super"
BONUS = "even-double-super-bonus"
SIX_DECKS = "six-deck-shoe-bonus"
SLIP = "single=100,super=40"
FALSE_ALARM = 1 - 1e-6  # level of the intervals that must hold the exact values


def totals(score):
    """All figures that must not depend on threads or interruptions."""
    boxes = {box: compared.estimate for box, compared in score.boxes.items()}
    return score.n_rounds, boxes, score.slip_cents, score.outcomes


def played(name: str, slip: str, n_rounds: int, n_seats: int) -> np.ndarray:
    """Net cents (n_rounds, n_seats) of the very rounds of seed 3, one by one."""
    seeds = np.full(n_rounds, stream_seed(3, "simulate"), dtype=np.uint64)
    return BatchEngine(load_rules(name), n_seats).play(Slip.of(slip), seeds, np.arange(n_rounds))


@pytest.mark.parametrize(
    ("name", "n_seats"), [(SDS, 1), (BONUS, 4), ("ngau-ngau-hong-kong", 9), (SIX_DECKS, 2)]
)
def test_intervals_hold_the_exact_values(name, n_seats):
    """Up to five intervals of a false-alarm rate of 1e-6 each."""
    score = simulate_stream(name, n_rounds=200_003, n_seats=n_seats, seed=1, level=FALSE_ALARM)
    for compared in (*score.boxes.values(), score.slip_cents):
        assert compared.is_inside
        assert compared.estimate.half_width > 0
        assert compared.estimate.n_rounds == 200_003
    shares = [frequency.share for frequency in score.outcomes.values()]
    assert sum(shares) == pytest.approx(1)
    for frequency in score.outcomes.values():  # seats correlate, at most fully
        assert abs(frequency.share - frequency.exact) < 4.9 * 0.5 / 200_003**0.5
    assert sum(frequency.count for frequency in score.outcomes.values()) == 200_003 * n_seats


def test_an_interval_misses_as_often_as_it_says():
    """Of 100 runs of 3 seats at 80 %, 20 should miss; below 1e-6 that 42 or fewer than 3 do."""
    options = {"n_rounds": 2000, "n_seats": 3, "level": 0.8}
    scores = (simulate_stream(SDS, SLIP, seed=seed, **options) for seed in range(100))
    misses = sum(not score.slip_cents.is_inside for score in scores)
    assert 3 <= misses < 42


@pytest.mark.parametrize("n_seats", [1, 3])
def test_the_interval_is_that_of_the_totals_of_single_rounds(n_seats):
    score = simulate_stream(SDS, SLIP, n_rounds=5000, n_seats=n_seats, seed=3)
    direct = mean_interval(played(SDS, SLIP, 5000, n_seats).mean(axis=1))
    assert score.slip_cents.estimate.mean == pytest.approx(direct.mean, rel=1e-12)
    assert score.slip_cents.estimate.half_width == pytest.approx(direct.half_width, rel=1e-12)
    assert score.slip_cents.exact == slip_values(load_rules(SDS), Slip.of(SLIP)).ev_cents


def test_seats_share_the_dealer_so_their_interval_is_wider_than_that_of_independent_ones():
    score = simulate_stream(SDS, "single=100", n_rounds=200_000, n_seats=9, seed=3)
    one = simulate_stream(SDS, "single=100", n_rounds=200_000, seed=3)
    ratio = score.slip_cents.estimate.half_width / one.slip_cents.estimate.half_width
    assert ratio == pytest.approx(((1 + 8 / 3) / 9) ** 0.5, rel=0.02)  # correlation 1/3


def test_a_shoe_of_several_rounds_is_one_observation():
    slip, n_seats = "even=100,bonus=20", 2
    per_shoe = BatchEngine(load_rules(SIX_DECKS), n_seats).rounds_per_shoe
    assert per_shoe > 1
    n_rounds = 300 * per_shoe + 5
    score = simulate_stream(SIX_DECKS, slip, n_rounds=n_rounds, n_seats=n_seats, seed=3)
    nets = played(SIX_DECKS, slip, n_rounds, n_seats)
    shoes = nets[: 300 * per_shoe].reshape(300, -1).mean(axis=1)
    direct = mean_interval(shoes)
    assert score.slip_cents.estimate.mean == pytest.approx(nets.mean(), rel=1e-12)
    scale = (300 * per_shoe / n_rounds) ** 0.5  # rounds of the open shoe count for the mean
    assert score.slip_cents.estimate.half_width == pytest.approx(direct.half_width * scale)


@pytest.mark.parametrize(("n_seats", "stake"), [(1, 10_000_000), (9, 10_000_000)])
def test_squares_are_exact_at_the_largest_stakes(n_seats, stake):
    engine = BatchEngine(load_rules(SDS), n_seats)
    slip = Slip.of({"single": stake, "super": stake})
    tally = engine.tally(5, 0, 20_000, engine.nets(slip)[0][..., None])
    nets = engine.play(slip, np.full(20_000, 5, dtype=np.uint64), np.arange(20_000))
    assert tally.squares == [sum(total**2 for total in nets.sum(axis=1).tolist())]
    assert (tally.counts == engine.count(5, 0, 20_000)).all()


def test_what_could_not_be_squared_exactly_is_refused():
    engine = BatchEngine(load_rules(SDS), 4)
    values = np.full((*engine.nets(Slip.of(SLIP)).shape[1:], 1), 1 << 40)
    with pytest.raises(WagerError, match="write stakes 2 times smaller"):
        engine.tally(0, 0, 10, values)
    shoe = BatchEngine(load_rules(SIX_DECKS))
    values = shoe.nets(Slip.of("even=100"))[0][..., None]
    with pytest.raises(RoundStateError, match="write a multiple"):
        shoe.tally(0, 3, 10, values)


@pytest.mark.parametrize(("name", "n_seats"), [(SDS, 1), (BONUS, 3), (SIX_DECKS, 1)])
def test_totals_do_not_depend_on_threads_pieces_or_resumption(tmp_path, monkeypatch, name, n_seats):
    options = {"n_seats": n_seats, "seed": 7}
    whole = simulate_stream(name, n_rounds=300_007, **options)
    assert totals(simulate_stream(name, n_rounds=300_007, threads=2, **options)) == totals(whole)
    path = tmp_path / "below" / "totals.json"
    simulate_stream(name, n_rounds=100_003, checkpoint=path, **options)
    monkeypatch.setattr(streaming, "_FIRST_PIECE", 12_345)
    monkeypatch.setattr(streaming, "_PIECE_SECONDS", 0)
    resumed = simulate_stream(name, n_rounds=300_007, threads=2, checkpoint=path, **options)
    assert 99_900 < resumed.n_resumed <= 100_003
    assert totals(resumed) == totals(whole)
    again = simulate_stream(name, n_rounds=300_007, checkpoint=path, **options)
    assert totals(again) == totals(whole)
    assert [file.name for file in path.parent.iterdir()] == ["totals.json"]


def test_an_interrupt_keeps_the_pieces_that_are_done(tmp_path, monkeypatch):
    monkeypatch.setattr(streaming, "_PIECE_SECONDS", 0)  # pieces of 65,536 rounds
    path = tmp_path / "totals.json"

    def interrupt(done, total):
        assert total == 500_000
        if done > 150_000:
            raise KeyboardInterrupt

    options = {"n_rounds": 500_000, "checkpoint": path}
    with pytest.raises(KeyboardInterrupt):
        simulate_stream(SDS, SLIP, progress=interrupt, **options)
    assert json.loads(path.read_text())["rounds"] == 3 * 65_536
    resumed = simulate_stream(SDS, SLIP, **options)
    assert resumed.n_resumed == 3 * 65_536
    assert totals(resumed) == totals(simulate_stream(SDS, SLIP, n_rounds=500_000))


def test_a_finished_run_is_read_and_its_rate_is_unknown(tmp_path):
    options = {"n_rounds": 50_000, "checkpoint": tmp_path / "totals.json"}
    first, second = simulate_stream(SDS, **options), simulate_stream(SDS, **options)
    assert (first.n_resumed, second.n_resumed) == (0, 50_000)
    assert first.rounds_per_second > 0
    assert second.rounds_per_second is None
    assert totals(first) == totals(second)


def test_the_checkpoint_holds_exact_counts_of_cells(tmp_path):
    path = tmp_path / "totals.json"
    score = simulate_stream(BONUS, n_rounds=20_000, n_seats=2, seed=3, checkpoint=path)
    record = json.loads(path.read_text())
    engine = BatchEngine(load_rules(BONUS), 2)
    counts = engine.count(stream_seed(3, "simulate"), 0, 20_000).sum(axis=0)
    assert record["cells"] == [
        [*cell, n]
        for cell, n in zip(np.argwhere(counts).tolist(), counts[counts > 0].tolist(), strict=True)
    ]
    assert (record["rules_hash"], record["seats"], record["seed"]) == (
        score.rules.rules_hash,
        2,
        3,
    )


OTHERS = {
    "slip": ({"slip": "single=120"}, "slip is single=100 there and single=120 here"),
    "seed": ({"seed": 1}, "seed is 0 there and 1 here"),
    "seats": ({"n_seats": 2}, "seats is 1 there and 2 here"),
    "rules": ({"rules": "ngau-ngau-hong-kong"}, "rules_hash is 7d76c5e2082a6388 there"),
    "fewer rounds": ({"n_rounds": 1000}, "holds 20000 rounds already, more than the 1000"),
}


@pytest.mark.parametrize(("changed", "part"), OTHERS.values(), ids=OTHERS)
def test_a_checkpoint_of_another_simulation_is_refused(tmp_path, changed, part):
    path = tmp_path / "totals.json"
    options = {"rules": SDS, "slip": "single=100", "n_rounds": 20_000, "checkpoint": path}
    simulate_stream(**options)
    before = path.read_bytes()
    with pytest.raises(CheckpointError, match=part):
        simulate_stream(**{**options, **changed})
    assert path.read_bytes() == before


DAMAGES = {
    "cut short": (lambda raw: raw[:-40], "is damaged: it is no JSON"),
    "a digit changed": (lambda raw: raw.replace(b'"rounds": 2', b'"rounds": 3'), "its digest"),
    "bytes": (lambda raw: b"\xff\xfe" + raw, "it is no text"),
    "empty": (lambda _: b"", "it is no JSON"),
    "another program's": (lambda _: b'{"rounds": 5}', "is no checkpoint of 'niulab simulate'"),
    "a list": (lambda _: b"[]", "is no checkpoint of 'niulab simulate'"),
    "nested beyond reason": (lambda _: b"[" * 100_000, "it is no JSON"),
}


@pytest.mark.parametrize(("damage", "part"), DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_checkpoint_is_refused_and_left_as_it_is(tmp_path, damage, part):
    path = tmp_path / "totals.json"
    simulate_stream(SDS, n_rounds=20_000, checkpoint=path)
    path.write_bytes(damage(path.read_bytes()))
    before = path.read_bytes()
    with pytest.raises(CheckpointError, match=part):
        simulate_stream(SDS, n_rounds=20_000, checkpoint=path)
    assert path.read_bytes() == before


def test_a_checkpoint_that_cannot_be_written_is_told_before_the_first_round(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match="choose another file"):
        simulate_stream(SDS, n_rounds=10**15, checkpoint=tmp_path / "file" / "totals.json")
    with pytest.raises(CheckpointError, match="choose another file"):
        simulate_stream(SDS, n_rounds=10**15, checkpoint=tmp_path)


@pytest.mark.parametrize(
    ("changed", "error", "part"),
    [
        ({"n_rounds": 1}, ConfigError, "at least 2 rounds, got 1"),
        ({"rules": SIX_DECKS, "n_rounds": 31}, ConfigError, r"two shoes of this sheet \(32\)"),
        ({"n_rounds": 10**16}, ConfigError, "at most 1000000000000000 rounds"),
        ({"threads": 0}, ConfigError, "at least 1 thread, got 0"),
        ({"n_seats": 10}, WagerError, "1 to 9 seats, got 10"),
        ({"rules": "bomb-room"}, WagerError, "ranks hands and offers no bets"),
        ({"slip": "super=40"}, WagerError, "lacks the required box"),
        ({"level": 1}, ConfigError, "between 0 and 1"),
    ],
)
def test_bad_arguments(changed, error, part):
    with pytest.raises(error, match=part):
        simulate_stream(**{"rules": SDS, "n_rounds": 1000, **changed})


def test_exact_values_and_warnings_of_a_sheet_that_pays_the_player():
    score = simulate_stream("even-double-super-bonus-literal-note", n_rounds=10_000)
    assert score.boxes["super"].exact == Fraction(4590028421549, 9966615258600)
    assert score.warnings[0].startswith("WARNING: box 'super'")
    assert list(score.outcomes) == [Outcome.WIN, Outcome.LOSE, Outcome.PUSH]
