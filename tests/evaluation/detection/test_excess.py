"""The confidence sequence of the excess edge: its sums, its coverage at all times, its pieces."""

from math import log

import numpy as np
import pytest
from card_players import hole_carder, honest

from niulab.errors import ConfigError
from niulab.evaluation.detection.excess import (
    ExcessStates,
    Gains,
    excess_interval,
    fold_excess,
    round_gains,
)
from niulab.evaluation.detection.features import (
    RESULT,
    SLOTS,
    card_values,
    result_law,
    slot_levels,
)
from niulab.evaluation.detection.scores import RoundStarts, round_starts

_NAMES = ("n", "sums", "above", "below")


def starts_of(n_players, n_rounds):
    """Every player as many rounds, one row each."""
    rows = np.arange(n_players * n_rounds + 1)
    players = np.arange(n_players + 1) * n_rounds
    return RoundStarts(rows, players, np.arange(n_players, dtype=np.int32))


def coin(rng, shape, chance, up, down):
    """Excess of +up with a chance, else -down."""
    excess = np.where(rng.random(shape) < chance, up, -down).ravel()
    whole = np.ones(excess.size)
    return Gains(excess, -down * whole, up * whole, whole > 0)


def one_round(gains, t, n, n_rounds):
    rows = np.arange(n) * n_rounds + t
    return Gains(*(column[rows] for column in gains))


@pytest.mark.parametrize(
    ("chance", "up", "down"),
    [(0.5, 1.0, 1.0), (0.55, 3.0, 3.0), (0.02, 49.0, 1.0), (0.98, 1.0, 49.0)],
)
def test_the_mean_leaves_the_interval_at_any_time_with_small_chance(chance, up, down):
    rng, n, n_rounds = np.random.default_rng(1), 400, 250
    gains = coin(rng, (n, n_rounds), chance, up, down)
    mean = 100 * (chance * up - (1 - chance) * down)
    states, missed = ExcessStates.fresh(n), np.zeros(n, dtype=bool)
    for t in range(n_rounds):
        states = fold_excess(states, starts_of(n, 1), one_round(gains, t, n, n_rounds))
        low, high = excess_interval(states, level=0.9).T
        missed |= (low > mean) | (high < mean)
    assert missed.mean() <= 0.1 + 3 * (0.1 * 0.9 / n) ** 0.5


def test_stakes_that_follow_the_past_and_grow_keep_the_coverage():
    # double after a loss, up to 2^6, at a fair coin: bounds are not the same in every round
    rng, n, n_rounds = np.random.default_rng(2), 400, 200
    states, missed, stakes = ExcessStates.fresh(n), np.zeros(n, dtype=bool), np.ones(n)
    for _ in range(n_rounds):
        won = rng.random(n) < 0.5
        gains = Gains(np.where(won, stakes, -stakes), -stakes, stakes, stakes > 0)
        states = fold_excess(states, starts_of(n, 1), gains)
        low, high = excess_interval(states, level=0.9).T
        missed |= (low > 0) | (high < 0)
        stakes = np.where(won, 1.0, np.minimum(2 * stakes, 64.0))
    assert missed.mean() <= 0.1 + 3 * (0.1 * 0.9 / n) ** 0.5


def test_the_interval_closes_at_the_rate_of_bernstein():
    rng, n_rounds = np.random.default_rng(3), 100_000
    gains = coin(rng, (1, n_rounds), 0.5, 1.0, 1.0)
    states = fold_excess(ExcessStates.fresh(1), starts_of(1, n_rounds), gains)
    low, high = excess_interval(states)[0] / 100
    ideal = (2 * log(40) / n_rounds) ** 0.5  # for one number of rounds, known in advance
    assert ideal < (high - low) / 2 < 1.5 * ideal


def gains_of(sheet, plays):
    starts = round_starts(plays)
    results = slot_levels(plays, [sheet])[:, SLOTS.index(RESULT)]
    return starts, round_gains(plays, starts, results, [sheet])


def test_the_excess_is_the_result_less_its_exact_mean(sheet, make_plays):
    plays = make_plays(3, 50, hole_carder(1.0))
    starts, gains = gains_of(sheet, plays)
    law = result_law(sheet)
    results = slot_levels(plays, [sheet])[:, SLOTS.index(RESULT)]
    for row in (0, 7, 149):
        stakes = {"single": 1.0, "super": plays.stakes[row, 2] / 100}
        cell = law.cells[results[row]]
        expected = sum(
            stake
            * (
                float(cell.unit(sheet, box).net)
                - law.law @ [float(c.unit(sheet, box).net) for c in law.cells]
            )
            for box, stake in stakes.items()
        )  # fmt: skip
        assert gains.excess[row] == pytest.approx(expected, abs=1e-12)
        assert gains.least[row] <= gains.excess[row] <= gains.most[row]
    assert starts.codes.tolist() == [0, 1, 2]


def test_the_edge_of_a_hole_carder_is_covered_and_seen(sheet, make_plays):
    n_rounds = 60_000
    plays = make_plays(1, n_rounds, hole_carder(1.0), seed=4)
    starts, gains = gains_of(sheet, plays)
    low, high = excess_interval(fold_excess(ExcessStates.fresh(1), starts, gains)).T
    # Super on an ace to a five beneath the dealer's card, in units per 100 rounds
    values = card_values(sheet, "super")[1]
    edge = 100 * (values - values.mean())[:20].sum() / 52
    assert edge > 5
    assert (low < edge).all()
    assert (high > edge).all()
    assert (low > 0).all()


def test_an_honest_player_has_zero_inside(sheet, make_plays):
    plays = make_plays(50, 200, honest, seed=5)
    starts, gains = gains_of(sheet, plays)
    low, high = excess_interval(fold_excess(ExcessStates.fresh(50), starts, gains)).T
    assert ((low < 0) & (high > 0)).sum() >= 47


def test_pieces_give_the_same_bytes(sheet, make_plays):
    plays = make_plays(4, 60, hole_carder(0.5), seed=6)
    whole = fold_excess(ExcessStates.fresh(4), *gains_of(sheet, plays))
    states = ExcessStates.fresh(4)
    for piece in (plays.take(plays.time < 23), plays.take(plays.time >= 23)):
        states = fold_excess(states, *gains_of(sheet, piece))
    joined = ExcessStates.join([states.take(np.arange(1)), states.take(np.arange(1, 4))])
    for name in _NAMES:
        assert getattr(joined, name).tobytes() == getattr(whole, name).tobytes()


def test_who_has_not_played_has_no_interval():
    assert excess_interval(ExcessStates.fresh(1)).tolist() == [[-np.inf, np.inf]]
    with pytest.raises(ConfigError, match="level is above 0"):
        excess_interval(ExcessStates.fresh(1), level=1.0)
