"""One round with a bet, exact: the value of the slips and of the settings at them."""

from fractions import Fraction

import numpy as np
import pytest
from strategies import overlay

from niulab.agents.base import CallableAgent
from niulab.agents.registry import make_agent
from niulab.engine.rules import load_rules
from niulab.engine.wagers import Slip
from niulab.envs.settings import make_settings
from niulab.errors import ConfigError
from niulab.evaluation.rounds import evaluate_round, round_bounds, why_round_simulated
from niulab.evaluation.simulate import simulate
from niulab.solvers.values import slip_values

MENU = ["single=100", "single=100,super=100"]


@pytest.fixture(scope="module")
def table():
    return make_settings("niulab/Table-v0", menu=MENU)


def value(slip, rules="single-double-super"):
    return slip_values(load_rules(rules), Slip.parse(slip)).ev_cents / 100


def test_the_least_slip_set_best_is_the_optimum(table):
    score = evaluate_round(make_agent("least-slip+oracle", table), table)
    assert score.value == score.bounds.optimum == Fraction(-1, 40)
    assert score.slips == {"single=100": 1}
    assert score.betting_regret == score.setting_regret == 0
    assert score.win_probability == Fraction(1, 2)
    assert score.normalized == 1


def test_uniform_play_is_the_lower_bound_and_its_regret_is_split(table):
    score = evaluate_round(make_agent("random", table), table)
    assert score.source == "probabilities"
    assert score.value == score.bounds.random
    assert score.normalized == 0
    assert set(score.slips.values()) == {Fraction(1, 2)}
    assert score.betting_regret == (value(MENU[0]) - value(MENU[1])) / 2
    assert score.value + score.betting_regret + score.setting_regret == score.bounds.optimum
    seen = simulate(make_agent("random", table), table, n_rounds=20_000).estimate
    assert abs(seen.mean - float(score.value)) < 2.3 * seen.half_width


def test_a_task_that_only_bets_is_worth_its_slips():
    settings = make_settings(
        "niulab/Session-v0",
        n_rounds=1,
        bankroll_cents=None,
        target_cents=None,
        objective="profit",
        menu=MENU,
    )
    score = evaluate_round(make_agent("flat:1", settings), settings)
    assert score.value == value(MENU[1])
    assert score.setting_regret == 0
    assert score.bounds.random == (value(MENU[0]) + value(MENU[1])) / 2


def test_a_defective_sheet_shows_in_the_optimum():
    text = 'arrangement = "dealer_corrects"\n[boxes.super]\nlose_odds = { default = 1 }\n'
    rules = overlay("single-double-super", text)
    settings = make_settings("niulab/Table-v0", rules=rules, menu=MENU)
    bounds = round_bounds(settings)
    assert bounds.optimum == value(MENU[1], rules) > 0
    score = evaluate_round(make_agent("least-slip", settings), settings)
    assert score.betting_regret == bounds.optimum - Fraction(-1, 40)
    assert "setting costs nothing" in score.notes[0]


def test_an_illegal_bet_becomes_the_least_slip(table):
    def bet_nine_then_set_three(observations, masks):
        return np.where(masks[:, 9], 3, 9)

    agent = CallableAgent(bet_nine_then_set_three)
    score = evaluate_round(agent, table)
    assert score.slips == {"single=100": 1}
    assert score.n_illegal == 1


def test_bets_by_chance_without_probabilities_are_simulated(table):
    class Gambler:
        name = "gambler"

        def initial_state(self, n):
            return None

        def act(self, observations, masks, infos, state, rng):
            return rng.integers(2, size=len(observations)), state

    assert "bets by chance" in why_round_simulated(Gambler(), table)
    with pytest.raises(ConfigError, match="'gambler' has no exact score: it bets by chance"):
        evaluate_round(Gambler(), table)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ({"n_rounds": 3}, "whole sessions"),
        ({"bankroll_cents": 5000}, "whole sessions"),
        ({"can_leave": True}, "may leave"),
        ({"card_order": "dealt"}, "120 orders"),
        (
            {"rules": overlay("single-double-super", 'dealer_opens = "before_players"\n')},
            "the dealer's open hand",
        ),
    ],
)
def test_what_is_not_exact_yet_says_so(words, reason):
    settings = make_settings("niulab/Table-v0", **words)
    assert reason in why_round_simulated(make_agent("least-slip", settings), settings)
