"""The ingredients of the proofs: the weights that bound play, and two-sided iteration itself."""

import numpy as np
import pytest
from strategies import PLAYABLE

from niulab.engine.wagers import Slip
from niulab.envs.settings.menus import default_menu
from niulab.errors import ConfigError
from niulab.solvers.optimal.kernels import best_plays
from niulab.solvers.optimal.plays import make_plays
from niulab.solvers.optimal.recursion import (
    Game,
    policy_values,
    solve_endless,
    stopping_weights,
)

SHEETS = ("single-double-super", "even-double-super-bonus-literal-note")


def target_game(name, start=600, target=1200, **words):
    rules = PLAYABLE[name]
    plays = make_plays(rules, default_menu(rules), start, target)
    n_levels = target // plays.step_cents
    payoff = (np.arange(n_levels + plays.reach) >= n_levels).astype(float)
    return Game(plays, payoff, n_levels, start // plays.step_cents, **words)


def mean_after(plays, play, after, levels):
    places = slice(plays.first[play], plays.first[play + 1])
    pairs = zip(plays.jumps[places], plays.chances[places], strict=True)
    return sum(p * after[levels + jump] for jump, p in pairs)


@pytest.mark.parametrize("name", SHEETS)
def test_weights_lose_at_least_one_a_round_under_every_slip(name):
    """On a sheet that favors the player, too: luck ends every session at one end or the other."""
    game = target_game(name)
    weights = stopping_weights(game)
    # at the ends 0 is the least they may be: the worst case of the inequality needs them whole
    levels = np.arange(len(game.payoff))
    ratio = (weights[101] - weights[100]) / (weights[100] - weights[99])
    slope = (weights[101] - weights[100]) / (ratio**101 - ratio**100)
    whole = weights[100] + slope * (ratio**levels - ratio**100)
    assert whole[: game.n_levels] == pytest.approx(weights, rel=1e-6, abs=1e-3)
    assert whole.min() >= -1e-6 * weights.max()
    for play, begin in enumerate(game.plays.begin):
        playing = np.arange(begin, game.n_levels)
        assert (mean_after(game.plays, play, whole, playing) <= whole[playing] - 1 + 1e-4).all()


@pytest.mark.parametrize("name", SHEETS)
def test_iteration_from_both_sides_closes_in_on_the_bounds(name):
    """The textbook's road, slow and by itself a proof: up from nothing, down from certainty."""
    game = target_game(name)
    solved = solve_endless(game, 1e-9)
    ruined = game.plays.ruin_level
    low, high = game.payoff.copy(), np.ones(len(game.payoff))
    high[:ruined] = 0
    choice = np.empty(game.n_levels, dtype=np.int32)
    value = np.empty(game.n_levels)
    for _ in range(1500):
        for side in (low, high):
            best_plays(side, game.payoff, 0.0, False, 0.0, *game.plays.arrays, value, choice)
            side[: game.n_levels] = value
    assert (high - low).max() < 1e-9
    assert (solved.low[0] <= high[: game.n_levels] + 1e-13).all()
    assert (solved.high[0] >= low[: game.n_levels] - 1e-13).all()
    assert (solved.high - solved.low).max() < 1e-9


def test_a_policy_s_values_solve_its_equations():
    game = target_game("single-double-super")
    choice = np.where(np.arange(game.n_levels) < 20, -1, 0).astype(np.int32)[None]
    values = policy_values(game, choice)[0]
    after = np.concatenate([values, game.payoff[game.n_levels :]])
    playing = np.arange(20, game.n_levels)
    assert mean_after(game.plays, 0, after, playing) == pytest.approx(values[20:], abs=1e-13)


def test_a_slip_that_never_moves_money_never_ends():
    rules = PLAYABLE["single-double-super"]
    plays = make_plays(rules, [Slip.of("single=100")], 600, 1200)
    still = type(plays)(**{**vars(plays), "jumps": np.zeros_like(plays.jumps)})
    game = Game(still, np.ones(241), 240, 120)
    with pytest.raises(ConfigError, match="never ends"):
        stopping_weights(game)


def test_a_finer_lattice_is_taken_and_a_coarser_refused():
    rules = PLAYABLE["single-double-super"]
    slips = default_menu(rules)
    fine = make_plays(rules, slips, 600, step_cents=1)
    assert fine.step_cents == 1
    assert (fine.jumps == 5 * make_plays(rules, slips, 600).jumps).all()
    with pytest.raises(ConfigError, match="divides 5"):
        make_plays(rules, slips, 600, step_cents=10)
