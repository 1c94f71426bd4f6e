import pytest
from strategies import PLAYABLE, overlay

from niulab.engine.wagers import Slip
from niulab.envs.settings.menus import default_menu
from niulab.solvers.optimal.problem import BettingProblem
from niulab.solvers.optimal.setting import is_highest_setting_best, keeps_highest_setting
from niulab.solvers.optimal.values import solve_betting

RULES = PLAYABLE["single-double-super"]
LOSES_BY_OWN_RANK = """
[boxes.double]
lose_rank = "player"
"""


@pytest.mark.parametrize("name", sorted(PLAYABLE))
def test_on_shipped_sheets_the_highest_setting_is_best(name):
    rules = PLAYABLE[name]
    assert is_highest_setting_best(rules, default_menu(rules))


def test_a_box_that_loses_by_the_own_rank_makes_setting_a_bankroll_matter():
    rules = overlay("single-double-super", LOSES_BY_OWN_RANK)
    assert not is_highest_setting_best(rules, [Slip.of("single=100,double=100")])
    assert is_highest_setting_best(rules, [Slip.of("single=100")])
    automatic = overlay("bull-bull-live", LOSES_BY_OWN_RANK)
    assert is_highest_setting_best(automatic, [Slip.of("equal=100,double=100")])


def test_a_win_that_pays_less_at_a_higher_rank():
    rules = overlay("single-double-super", "[boxes.double.win_odds]\nniu_6 = 5\n")
    assert not is_highest_setting_best(rules, [Slip.of("single=100,double=100")])


@pytest.mark.parametrize(
    ("words", "holds"),
    [
        ({"objective": "target", "n_rounds": 6}, True),
        ({"objective": "target"}, True),
        ({"objective": "profit", "n_rounds": 6}, True),
        ({"objective": "log_wealth", "n_rounds": 6, "target_cents": None}, True),
        ({"objective": "time_at_table", "n_rounds": 6}, False),
        ({"objective": "time_at_table", "n_rounds": 20, "target_cents": None}, True),
    ],
    ids=str,
)
def test_only_time_at_the_table_can_fear_a_win(words, holds):
    given = {"rules": RULES, "slips": default_menu(RULES), "start_cents": 2000}
    problem = BettingProblem(**(given | {"target_cents": 4000} | words))
    assert keeps_highest_setting(solve_betting(problem)) is holds


def test_a_profit_may_fear_a_bankroll_that_must_play_on():
    """Values that do not rise everywhere: ruin with 95 cents spares a loss that 100 cents face."""
    problem = BettingProblem(
        rules=RULES, slips=default_menu(RULES), start_cents=500, n_rounds=12, objective="profit"
    )
    solution = solve_betting(problem)
    assert solution.high[6, 20] < solution.low[6, 19]
    assert keeps_highest_setting(solution)
