"""Problems that are none say what to write instead."""

import pytest
from strategies import PLAYABLE

from niulab.engine.wagers import Slip
from niulab.errors import ConfigError
from niulab.solvers.optimal.problem import BettingProblem, needed_cents
from niulab.solvers.optimal.values import solve_betting

RULES = PLAYABLE["single-double-super"]
LEAST = Slip.of("single=100")


def problem(**words):
    given = {"rules": RULES, "slips": (LEAST,), "start_cents": 2000, "target_cents": 4000}
    return BettingProblem(**(given | words))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"slips": ()}, "slips is empty"),
        ({"slips": (LEAST, LEAST)}, "twice"),
        ({"slips": (Slip.of("single=110"),)}, r"slips\[0\].*multiples of 20"),
        ({"slips": (Slip.of("double=100"),)}, r"slips\[0\].*required box 'single'"),
        ({"start_cents": 80}, "no affordable slip.*needs 100"),
        ({"start_cents": 0}, "start_cents is a whole number"),
        ({"target_cents": 2000}, "above start_cents"),
        ({"target_cents": 1500}, "above start_cents"),
        ({"target_cents": None}, "needs target_cents"),
        ({"n_rounds": 0}, "n_rounds is a whole number"),
        ({"objective": "survive", "n_rounds": 3}, "survival"),
        ({"objective": "survival"}, "needs n_rounds"),
        ({"objective": "profit", "target_cents": None}, "give one of the two"),
        ({"objective": "exponential"}, "risk_aversion"),
        ({"objective": "exponential", "risk_aversion": 100.0}, "below 15"),
        ({"risk_aversion": 0.1}, "belongs to objective='exponential'"),
        ({"objective": "cvar", "level": 1.0}, "below 1"),
        ({"objective": "cvar"}, "level belongs to"),
    ],
    ids=str,
)
def test_a_wrong_problem_is_refused(words, message):
    with pytest.raises(ConfigError, match=message):
        problem(**words)


def test_a_lattice_beyond_memory_names_its_size():
    asked = problem(target_cents=None, n_rounds=100_000, objective="profit")
    with pytest.raises(
        ConfigError, match=r"100,000 x 1,90\d,\d+ bankrolls of 5 cents need .* bytes"
    ):
        solve_betting(asked)


def test_ruin_is_where_no_slip_can_be_placed():
    slips = (Slip.of("single=200"), Slip.of("single=100,double=100"))
    assert problem(slips=slips).ruin_cents == 200
    assert needed_cents(RULES, slips[1]) == 500
