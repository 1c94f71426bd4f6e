"""The fold against a slow one, in pieces, on threads, and what it finds."""

from dataclasses import replace
from itertools import pairwise
from math import log

import numpy as np
import pytest
from card_players import hole_carder, honest
from interrupts import interrupt_at

from niulab.errors import ConfigError
from niulab.evaluation.detection.features import SLOTS, least_stakes, slot_levels
from niulab.evaluation.detection.fold import PlayerStates, fold, log_e_values, shares_now
from niulab.evaluation.detection.portfolio import declared_portfolio
from niulab.evaluation.detection.scores import (
    N_STATISTICS,
    RAISED_DIGITS,
    SCORES,
    Z_GRID,
    round_starts,
    score_bins,
)
from niulab.evaluation.playlog.plays import Flag, Plays


def slow_slip(stakes, t):
    """The bin of ``slip`` in round t of stakes (n, 4) under a sheet whose Single is 100 or more.

    A box that has varied is raised above the mean of its stakes before; in the first three rounds
    one that has not is raised where it takes more than it must.
    """
    code = 27 * int(stakes[t, 2] > 0)
    for box, least in enumerate((100, 0, 0)):
        past, now = stakes[:t, box].tolist(), int(stakes[t, box])
        if len({*past, now}) > 1:
            digit = 2 if now > sum(past) / t else 1
        else:
            digit = 2 if now > least and t < 3 else 0
        code += digit * 3**box
    return code


def slow_log_e(portfolio, plays, sheet):
    """One player's log e-value, component by component in logarithms, from the definitions."""
    levels = slot_levels(plays, [sheet])
    totals = np.log1p(plays.stakes.sum(axis=1) / 100)
    shares = plays.stakes[:, 2] / plays.stakes.sum(axis=1)
    logs = []
    for block in portfolio.blocks:
        slot = SLOTS.index(block.components[0].slot)
        score = block.components[0].score
        for k, component in enumerate(block.components):
            by_start = []  # log of the wealth of each start so far
            for t in range(len(plays)):
                if score in {"total", "share"}:
                    x = totals if score == "total" else shares
                    past = x[:t]
                    spread = ((past - past.mean()) ** 2).sum() if t else 0.0
                    sd = ((spread + 4e-3) / (t + 4)) ** 0.5
                    z = (x[t] - past.mean()) / sd if t else 0.0
                    b = int(np.rint((np.clip(z, -3, 3) + 3) * (len(Z_GRID) - 1) / 6))
                else:
                    assert score == "slip"
                    b = slow_slip(plays.stakes, t)
                f = log(max(block.tables[0][b, levels[t, slot], k], 1e-300))
                by_start = [one + f for one in (*by_start, 0.0)]
            left = [1.0, *(0.5 * log(10) / log(t + 9) for t in range(1, len(plays) + 1))]
            starts = [a - b for a, b in pairwise(left)]
            value = sum(a * np.exp(one) for a, one in zip(starts, by_start, strict=True))
            logs.append(component.weight * (value + left[-1]))
    return log(sum(logs))


def test_the_fold_is_the_definition(sheet, full, make_plays):
    plays = make_plays(2, 12, hole_carder(1.0), seed=5)
    folded = fold(full, PlayerStates.fresh(2, full), plays)
    found = log_e_values(full, folded.states)
    for player in range(2):
        expected = slow_log_e(full, plays.take(plays.player == player), sheet)
        assert found[player] == pytest.approx(expected, rel=1e-9)
    assert folded.log_es[11] == pytest.approx(found[0], rel=1e-12)


def test_boxes_are_raised_above_their_own_mean_so_far(sheet, make_plays):
    n, n_rounds = 40, 30
    plays = make_plays(n, n_rounds, honest, seed=9)
    rng = np.random.default_rng(9)
    stakes = np.zeros((n * n_rounds, 4), dtype=np.int64)
    stakes[:, 0] = 100 + 20 * rng.integers(0, 3, len(stakes))
    stakes[:, 1] = 300 * rng.integers(0, 2, len(stakes))
    stakes[:, 2] = 100  # staked in every round
    flat = np.repeat(np.arange(n) % 4, n_rounds)
    stakes[flat == 1, 0] = 100
    stakes[flat == 2, 0] = 500
    stakes[flat == 3, :3] = [100, 0, 0]
    plays = replace(plays, stakes=stakes)
    statistics = np.zeros((n, N_STATISTICS))
    found = []
    for piece in (plays.take(plays.time < 11), plays.take(plays.time >= 11)):
        starts = round_starts(piece)
        bins, statistics = score_bins(
            piece,
            starts,
            statistics,
            base_units=np.array([100.0]),
            top_boxes=np.array([2]),
            least=np.array([least_stakes(sheet)]),
        )
        found.append(bins[:, SCORES.index("slip")].reshape(n, -1))
    expected = [
        [slow_slip(plays.stakes[plays.player == k], t) for t in range(n_rounds)] for k in range(n)
    ]
    assert np.concatenate(found, axis=1).tolist() == expected
    met = set(np.concatenate(found, axis=1).ravel().tolist())
    assert {0, 27 + 26} <= met  # nothing ever varied, and everything raised
    assert len(met) >= 12
    # bins and their digits are one numbering
    for code, digits in enumerate(RAISED_DIGITS.tolist()):
        assert code == sum(digit * 3**box for box, digit in enumerate(digits))


def test_seats_of_one_player_are_measured_by_seat(sheet, make_plays):
    plays = make_plays(1, 12, honest, seed=4)
    stakes = plays.stakes.copy()
    stakes[:, 0] = 100 + 400 * (np.arange(12) % 3 == 1)
    plays = replace(plays, stakes=stakes)
    twice = Plays.join([plays, plays]).by_player()
    numbers = []
    for rows in (plays, twice):
        starts = round_starts(rows)
        bins = score_bins(
            rows,
            starts,
            np.zeros((1, N_STATISTICS)),
            base_units=np.array([100.0]),
            top_boxes=np.array([2]),
            least=np.array([[100.0, 0.0, 0.0]]),
        ).bins
        numbers.append(bins[starts.rounds[:-1], SCORES.index("slip")].tolist())
    assert numbers[0] == numbers[1]
    assert 2 in numbers[0]


def test_pieces_and_threads_give_the_same_bytes(full, make_plays):
    plays = make_plays(6, 40, hole_carder(0.5), seed=1)
    whole = fold(full, PlayerStates.fresh(6, full), plays).states
    first = plays.time < 17
    states = PlayerStates.fresh(6, full)
    for piece in (plays.take(first), plays.take(~first)):
        states = fold(full, states, piece, threads=2).states
    for name in ("values", "powers", "n_rounds", "statistics", "peaks", "alarms", "shares"):
        assert getattr(states, name).tobytes() == getattr(whole, name).tobytes(), name


def test_players_of_two_pieces_join(full, make_plays):
    plays = make_plays(6, 10, honest)
    whole = fold(full, PlayerStates.fresh(6, full), plays).states
    parts = []
    for players in (np.arange(2), np.arange(2, 6)):
        part = plays.take(np.isin(plays.player, players))
        parts.append(fold(full, PlayerStates.fresh(6, full), part).states.take(players))
    assert PlayerStates.join(parts).values.tobytes() == whole.values.tobytes()


def test_large_wealth_keeps_its_logarithm(sheet, make_plays):
    sees_all = np.array([[1.0, 0.001]])
    portfolio = declared_portfolio(sheet, place=5, box="super", rates=sees_all)
    plays = make_plays(1, 2_000, hole_carder(1.0), seed=2)
    folded = fold(portfolio, PlayerStates.fresh(1, portfolio), plays)
    assert folded.states.powers[0] >= 3
    assert log_e_values(portfolio, folded.states)[0] == pytest.approx(folded.log_es[-1], rel=1e-12)
    # every round of who always sees the card is worth the entropy of his stake, .666 nats
    assert folded.log_es[-1] / 2_000 == pytest.approx(0.6663, abs=0.05)


def test_rows_without_levels_change_nothing(full, make_plays):
    plays = make_plays(1, 30, hole_carder(1.0), seed=3)
    blank = Plays.of(
        30,
        plays.texts,
        **{
            name: getattr(plays, name)
            for name in ("player", "round", "time", "rules", "stakes", "cards", "dealer_cards")
        },
        flags=int(Flag.CARD_TWICE),
    )
    folded = fold(full, PlayerStates.fresh(1, full), blank)
    assert folded.log_es == pytest.approx(np.zeros(30), abs=1e-12)


def test_two_seats_of_one_player_are_one_factor(full, make_plays):
    plays = make_plays(1, 20, hole_carder(1.0), seed=4)
    twice = Plays.join([plays, plays]).by_player()
    once = fold(full, PlayerStates.fresh(1, full), plays).states
    both = fold(full, PlayerStates.fresh(1, full), twice).states
    assert both.n_rounds[0] == 20
    # the same seat twice: the mean of two equal factors, at twice the stake
    assert log_e_values(full, both)[0] == pytest.approx(log_e_values(full, once)[0], abs=0.5)


def test_false_alarms_stay_below_alpha(full, make_plays):
    plays = make_plays(1_000, 100, honest, seed=6)
    states = fold(full, PlayerStates.fresh(1_000, full), plays, alpha=0.05).states
    # 1,000 players: three standard errors of .05 are .021
    assert np.mean(states.peaks >= log(20)) <= 0.05 + 0.021
    assert np.mean(states.alarms > 0) == np.mean(states.peaks >= log(20))


@pytest.mark.parametrize(("see_rate", "information"), [(1.0, 0.66628), (0.5, 0.12761)])
def test_a_declared_attack_is_found_near_the_limit(sheet, make_plays, see_rate, information):
    portfolio = declared_portfolio(sheet, place=5, box="super")
    n, n_rounds = 200, 300
    plays = make_plays(n, n_rounds, hole_carder(see_rate), seed=7)
    states = fold(portfolio, PlayerStates.fresh(n, portfolio), plays, alpha=1e-3).states
    assert (states.alarms > 0).all()
    limit = log(1_000) / information  # detection.md: 10 rounds where the card is always seen
    assert states.alarms.mean() <= 1.5 * limit


def test_attribution_names_the_card_that_was_seen(full, make_plays):
    plays = make_plays(50, 60, hole_carder(1.0), seed=8)
    states = fold(full, PlayerStates.fresh(50, full), plays).states
    assert (states.alarms > 0).all()
    named = np.array(full.attacks)[states.shares.argmax(axis=1)]
    assert (named == "dealer's card seen").mean() >= 0.9
    assert states.shares.sum(axis=1) == pytest.approx(np.ones(50), rel=1e-9)
    assert shares_now(full, states).sum(axis=1) == pytest.approx(np.ones(50), rel=1e-9)


def test_alpha_is_checked(full, make_plays):
    with pytest.raises(ConfigError, match="alpha is above 0"):
        fold(full, PlayerStates.fresh(1, full), make_plays(1, 1, honest), alpha=1.0)


def test_rounds_of_two_tables_with_one_id_are_two_rounds(full, make_plays):
    plays = make_plays(1, 40, hole_carder(1.0), seed=2)
    pairs = replace(plays, table=(np.arange(40) % 2).astype(np.int32), round=plays.round // 2)
    pairs = replace(pairs, texts=replace(plays.texts, tables=("T1", "T2")))
    apart = fold(full, PlayerStates.fresh(1, full), plays)
    folded = fold(full, PlayerStates.fresh(1, full), pairs)
    assert folded.states.n_rounds[0] == 40
    assert np.array_equal(folded.log_es, apart.log_es)
    seats = fold(full, PlayerStates.fresh(1, full), replace(pairs, table=plays.table))
    assert seats.states.n_rounds[0] == 20  # at one table they are two seats of a round


def test_an_interrupt_is_heard_between_pieces_and_pieces_change_nothing(
    full, make_plays, monkeypatch
):
    from niulab.evaluation.detection import fold as room
    from niulab.evaluation.detection import kernels

    rows = make_plays(12, 40, honest, seed=8).by_player()
    fresh = PlayerStates.fresh(12, full)
    whole = fold(full, fresh, rows)
    monkeypatch.setattr(room, "_MOST_ROUNDS", 80)  # two players
    in_pieces = fold(full, fresh, rows)
    assert in_pieces.states.values.tobytes() == whole.states.values.tobytes()
    assert in_pieces.log_es.tobytes() == whole.log_es.tobytes()
    calls = interrupt_at(monkeypatch, kernels, "fold_rounds", 2)
    with pytest.raises(KeyboardInterrupt):
        fold(full, fresh, rows)
    assert len(calls) == 2  # of six
