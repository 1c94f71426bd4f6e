"""Scores along a shoe: blind play exactly, counters within intervals, the returns as settled."""

import numpy as np
import pytest

import niulab
from niulab.agents.base import CallableAgent
from niulab.envs.settings import make_settings
from niulab.errors import ConfigError
from niulab.evaluation.edges.shoe import evaluate_shoe, shoe_bounds, shoes, why_shoe_played
from niulab.solvers.shoes.slips import shoe_slips

SHOE = "niulab/Shoe-v0"
FEW = {"rounds": 10_400}  # 400 shoes
EVEN, BONUS = -0.0226857188, -0.0708354427


def score(agent, **words):
    return niulab.evaluate(agent, SHOE, **{**FEW, **words})


def test_blind_slips_are_worth_their_mean_in_every_round():
    """By exchangeability; the controls leave nothing to chance."""
    for index, units in ((0, 0), (6, 1), (9, 10)):
        found = score(f"flat:{index}")
        assert found.value == pytest.approx(26 * (EVEN + units * BONUS), abs=1e-7)
        assert found.half_width < 1e-9
    assert score("least-slip").value == score("flat:0").value


def test_uniform_play_is_worth_the_menus_mean_and_simulation_agrees():
    bounds = shoe_bounds(make_settings(SHOE), n_rounds=10_400)
    assert bounds.random == pytest.approx(-5.062310, abs=1e-6)
    found = score("random")
    assert abs(found.value - bounds.random) < 2 * found.half_width
    assert abs(found.normalized) < 2 * found.half_width / (bounds.optimum - bounds.random)


def test_the_optimum_is_one_and_a_count_is_between():
    best, count, least = score("optimal"), score("counter"), score("least-slip")
    assert best.normalized == pytest.approx(1)
    assert least.value < count.value < best.value
    assert not best.is_exact
    assert "each round valued exactly" in best.notes[0]


def test_values_by_composition_agree_with_what_was_settled():
    """The same bets, once by the exact means and once by the cards that came."""
    settings = make_settings(SHOE, menu=["even=100", "even=500,double=100", "even=100,super=200"])
    agent = CallableAgent(lambda seen: 1 + (seen[:, 2] > seen[:, 3]).astype(np.int64))
    found = evaluate_shoe(agent, settings, n_rounds=26_000)
    mean, half_width = map(float, found.notes[1].split(": ")[1].split(" ± "))
    assert abs(found.value - mean) < 2 * half_width
    assert found.half_width < half_width / 30
    slips = shoe_slips(settings.rules, settings.menu)
    low, high = sorted(26 * slips.fresh[1:] / 100)
    assert low < found.value < high


def test_shoes_are_the_environments():
    settings = make_settings(SHOE)
    (some,) = shoes(settings, n_shoes=3, seed=0)
    env = gym_rows(settings, some.seed)
    for index in range(settings.n_rounds):
        assert (env.shown() == env.encoding.count_left(some.left[:, index])).all()
        env.play()


def gym_rows(settings, seed):
    from niulab.envs.vector import NiuNiuVectorEnv

    class Rows(NiuNiuVectorEnv):
        def shown(self):
            return self.encoding.decode_left(self.last)

        def play(self):
            self.last = self.step(np.zeros(3, dtype=np.int64))[0]

    env = Rows(3, settings)
    env.last, _ = env.reset(seed=seed)
    return env


def test_what_has_no_values_is_simulated_and_says_so():
    words = {"bankroll_cents": 100_000, "n_rounds": 5}
    assert "over a bankroll" in why_shoe_played(make_settings(SHOE, **words))
    settings = make_settings(SHOE, bankroll_cents=100_000)
    with pytest.raises(ConfigError, match="simulate it"):
        evaluate_shoe(CallableAgent(lambda seen: seen), settings)
