"""Tables of a policy: what is refused, and with which words."""

from __future__ import annotations

import numpy as np
import pytest

from niulab.engine.rules import load_rules
from niulab.engine.wagers import Slip, exposure_cents, least_slip
from niulab.errors import ConfigError, WagerError
from niulab.solvers.sessions.net_law import net_law
from niulab.solvers.sessions.tables import (
    STOP,
    BettingTables,
    flat_tables,
    ruin_cents,
    verify_start,
    verify_step,
    verify_tables,
)

RULES = load_rules("single-double-super")
SINGLE, DOUBLE = Slip.of("single=100"), Slip.of("single=100,double=100")


def tables(**changes):
    given = {
        "slips": (SINGLE, DOUBLE),
        "choice": np.array([[STOP, 0, 0, 0, 0, 1], [STOP, 0, 0, 0, 0, 0]]),
        "next": np.array([[0, 0, 1], [0, 1, 1]]),
        "initial": 0,
        "step_cents": 100,
    }
    return BettingTables(**given | changes)


def test_tables_hold_compact_arrays_whatever_they_are_given():
    made = tables(choice=[[0, -1]], next=[[0, 0, 0]])
    assert made.choice.dtype == made.next.dtype == np.int32
    assert made.choice.flags.c_contiguous
    assert (made.n_memories, made.n_levels) == (1, 2)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"slips": ()}, "at least one slip"),
        ({"step_cents": 0}, "step_cents is a whole number of at least 1, got 0"),
        ({"initial": 2}, "initial is a memory from 0 to 1, got 2"),
        ({"initial": -1}, "initial is a memory from 0 to 1, got -1"),
        ({"choice": np.zeros(3, dtype=int)}, "two-dimensional array of integers, got 1"),
        ({"choice": np.zeros((2, 3))}, "of float64"),
        ({"choice": np.zeros((2, 0), dtype=int)}, "both at least 1, got"),
        ({"choice": np.array([[0, 2], [0, 0]])}, r"choice\[0, 1\] is a place .* from -1 to 1, got"),
        ({"next": np.zeros((2, 2), dtype=int)}, r"here \(2, 3\)"),
        ({"next": np.array([[0, 0, 0], [0, -1, 0]])}, r"next\[1, 1\] is a memory, from 0 to 1"),
    ],
)
def test_what_is_no_policy_is_refused(changes, message):
    with pytest.raises(ConfigError, match=message):
        tables(**changes)


def test_the_first_choice_that_cover_refuses_is_named():
    verify_tables(RULES, tables())
    assert exposure_cents(RULES, DOUBLE) == 500
    short = np.array([[STOP, 0, 0, 0, 1, 1], [STOP, 0, 0, 0, 0, 0]])
    with pytest.raises(
        ConfigError, match=r"choice\[0, 4\] places 'single=100,double=100' with 400"
    ):
        verify_tables(RULES, tables(choice=short))
    with pytest.raises(ConfigError, match=r"slips\[1\]: .*lacks the required box"):
        verify_tables(RULES, tables(slips=(SINGLE, Slip.of("double=100"))))


def test_flat_tables_stop_below_stake_and_cover():
    made = flat_tables(RULES, DOUBLE, step_cents=30, n_levels=20)
    assert made.choice.tolist() == [[STOP] * 17 + [0] * 3]  # 17 * 30 is the first above 500
    with pytest.raises(WagerError, match="lacks the required box"):
        flat_tables(RULES, Slip.of("super=100"), step_cents=5, n_levels=9)
    with pytest.raises(ConfigError, match="n_levels=0"):
        flat_tables(RULES, SINGLE, step_cents=5, n_levels=0)


def test_ruin_is_what_the_environments_call_ruin():
    assert ruin_cents(RULES) == exposure_cents(RULES, least_slip(RULES)) == 100


def test_start_target_and_nets_must_lie_on_the_lattice():
    verify_start(tables(), 200, None)
    with pytest.raises(ConfigError, match="no multiple of the tables' step_cents=100"):
        verify_start(tables(), 250, None)
    with pytest.raises(ConfigError, match="need n_levels=7"):
        verify_start(tables(), 200, 601)
    with pytest.raises(ConfigError, match="from 0 to 500 cents"):
        verify_start(tables(), 600, None)
    with pytest.raises(ConfigError, match="multiples of 5 cents, which miss a lattice"):
        verify_step(tables(), [net_law(RULES, SINGLE)])
