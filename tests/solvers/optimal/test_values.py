"""Figures of the literature of this game, and the promises a solution makes about itself."""

import time

import numpy as np
import pytest
from strategies import PLAYABLE, overlay

from niulab.engine.wagers import Slip
from niulab.envs.settings import make_settings
from niulab.envs.settings.menus import default_menu
from niulab.errors import ConfigError
from niulab.solvers.optimal.problem import BettingProblem
from niulab.solvers.optimal.values import solve_betting, value_of_tables
from niulab.solvers.sessions.programme import play_session
from niulab.solvers.sessions.tables import STOP, BettingTables, verify_tables

RULES = PLAYABLE["single-double-super"]
MENU = default_menu(RULES)
WHOLE_UNITS = tuple(Slip.of({"single": 100 * units}) for units in range(1, 41))
CAP = """
[boxes.double]
cover = {{ multiple = 3, shortfall = "cap_loss" }}
""".replace("{{", "{").replace("}}", "}")


def problem(**words):
    return BettingProblem(**({"rules": RULES, "slips": MENU, "start_cents": 2000} | words))


def doubling(slips, **words):
    return problem(slips=slips, target_cents=4000, **words)


def bankroll_tables(slips, choose, step=5, n_levels=800):
    """A policy of the bankroll: ``choose(cents)`` gives an index into slips or STOP."""
    row = [choose(level * step) for level in range(n_levels)]
    return BettingTables(
        slips=slips,
        choice=np.array([row], dtype=np.int32),
        next=np.zeros((1, 3), dtype=np.int32),
        initial=0,
        step_cents=step,
    )


def bold_single(cents):
    """Stake min(B, ceil((40 - B) / .95)) in whole units; the menu's index is the stake less one."""
    enough = -(-(4000 - cents) // 95)
    return min(cents // 100, enough) - 1 if cents >= 100 else STOP


# ---------------------------------------------------------------- 20 units to 40, no deadline


def test_bold_play_on_single():
    tables = bankroll_tables(WHOLE_UNITS, bold_single)
    value = value_of_tables(doubling(WHOLE_UNITS), tables)
    assert value == pytest.approx(0.4751743, abs=5e-8)


def test_the_best_whole_unit_stakes_on_single_beat_bold_play():
    solution = solve_betting(doubling(WHOLE_UNITS))
    assert solution.value == pytest.approx(0.4752046, abs=1e-7)
    assert solution.gap < 1e-9
    assert solution.max_gap < 1e-9


def test_flat_unit_single():
    solution = solve_betting(doubling(MENU[:1]))
    assert solution.value == pytest.approx(0.2496239, abs=5e-8)
    assert solution.gap < 1e-9


def test_the_session_task():
    settings = make_settings("niulab/Session-v0")
    solution = solve_betting(
        problem(slips=settings.menu, target_cents=settings.target_cents, n_rounds=6)
    )
    assert solution.value == pytest.approx(0.364445464, abs=1e-9)
    assert solution.gap < 1e-12


def test_bounds_are_as_narrow_as_promised_and_quick():
    words = doubling(MENU[:9])
    solve_betting(words)  # compiles
    times = []
    for _ in range(3):
        begin = time.process_time()
        solution = solve_betting(words)
        times.append(time.process_time() - begin)
    assert solution.low.shape == (1, 800)
    assert solution.gap <= 1e-9
    assert min(times) < 1.0  # about .03 s on an idle machine


# ---------------------------------------------------------------- laws


@pytest.mark.parametrize(
    "words",
    [
        {"target_cents": 4000, "n_rounds": 6},
        {"target_cents": 4000},
        {"target_cents": 4000, "can_leave": True, "objective": "log_wealth"},
        {"objective": "survival", "n_rounds": 20},
        {"objective": "profit", "n_rounds": 4},
        {"objective": "profit", "target_cents": 4000},
        {"objective": "time_at_table", "n_rounds": 30},
        {"objective": "time_at_table", "target_cents": 3000},
        {"objective": "exponential", "risk_aversion": 0.2, "n_rounds": 4},
    ],
    ids=str,
)
def test_the_policy_shown_is_worth_what_the_bounds_say(words):
    """And it is one that programmes and simulations of others accept."""
    asked = problem(**words)
    solution = solve_betting(asked)
    tables = solution.tables()
    verify_tables(RULES, tables)
    value = value_of_tables(asked, tables)
    slack = 1e-12 * max(1, abs(value))
    at_start = solution.low[0, solution.start], solution.high[0, solution.start]
    assert at_start[0] - slack <= value <= at_start[1] + slack


def test_no_policy_beats_the_optimum():
    asked = doubling(MENU, n_rounds=6)
    best = solve_betting(asked)
    tables, generator = best.tables(), np.random.default_rng(0)
    for share in (0.02, 0.2, 0.9):
        strays = (generator.random(best.choice.shape) < share) & (best.choice != STOP)
        choice = np.where(strays, 0, best.choice).astype(np.int32)
        other = BettingTables(tables.slips, choice, tables.next, 0, tables.step_cents)
        assert value_of_tables(asked, other) < best.low[0, best.start]


def test_profit_on_a_sound_sheet_is_the_least_slip_and_costs_its_edge():
    solution = solve_betting(problem(objective="profit", n_rounds=6))
    assert solution.value == pytest.approx(-6 / 40, abs=1e-9)
    assert solution.best_slip(2000, 6) == MENU[0]


def test_who_may_leave_a_sound_sheet_leaves():
    solution = solve_betting(problem(objective="profit", target_cents=4000, can_leave=True))
    assert solution.value == pytest.approx(0, abs=1e-9)
    assert solution.best_slip(2000) is None


def test_values_of_utilities_are_told_as_sure_money():
    log = solve_betting(problem(objective="log_wealth", n_rounds=5))
    exponential = solve_betting(problem(objective="exponential", risk_aversion=1e-6, n_rounds=5))
    assert exponential.certainty_equivalent == pytest.approx(-5 / 40, abs=1e-4)
    assert -0.5 < log.certainty_equivalent < -5 / 40
    with pytest.raises(ConfigError, match="no utility"):
        _ = solve_betting(problem(target_cents=4000, n_rounds=1)).certainty_equivalent


def test_of_equal_slips_the_first_is_chosen():
    """Two units from the target and one round: anything that wins two units will do as well."""
    slips = tuple(Slip.of({"single": cents}) for cents in (100, 400, 300))
    solution = solve_betting(problem(slips=slips, start_cents=2000, target_cents=2280, n_rounds=1))
    assert solution.best_index(2000, 1) == 1


def test_the_deadline_and_the_target_end_the_session():
    solution = solve_betting(doubling(MENU, n_rounds=6))
    assert solution.best_slip(4000, 3) is None
    assert solution.best_slip(2000, 0) is None
    assert solution.best_slip(95, 5) is None


@pytest.mark.parametrize(
    ("cents", "left", "words"),
    [(2001, 6, "multiples of 5"), (2000, 7, "rounds_left"), (2000, None, "rounds_left"),
     (3900, 6, "out of reach")],
)  # fmt: skip
def test_questions_off_the_map_are_refused(cents, left, words):
    solution = solve_betting(doubling(MENU, n_rounds=6))
    with pytest.raises(ConfigError, match=words):
        solution.best_slip(cents, left)


def test_short_cover_lies_differently_at_every_bankroll():
    rules = overlay("single-double-super", CAP)
    slips = (Slip.of("single=100"), Slip.of("single=100,double=100"))
    solution = solve_betting(
        BettingProblem(rules=rules, slips=slips, start_cents=300, target_cents=600, n_rounds=2)
    )
    placed = solution.best_slip(300, 2)
    assert placed == Slip.of("single=100,double=100/200")
    assert solution.best_index(300, 2) == 1
    assert (
        solution.value
        > solve_betting(
            BettingProblem(rules=RULES, slips=slips, start_cents=300, target_cents=600, n_rounds=2)
        ).value
    )


def test_tables_on_another_lattice_are_refused():
    asked = doubling(MENU, n_rounds=6)
    tables = solve_betting(asked).tables()
    rough = BettingTables(tables.slips, tables.choice, tables.next, 0, 10)
    with pytest.raises(ConfigError, match="divides 5"):
        value_of_tables(asked, rough)
    short = BettingTables(tables.slips, tables.choice[:, :700], tables.next, 0, 5)
    with pytest.raises(ConfigError, match="n_levels=800"):
        value_of_tables(asked, short)


def test_memory_follows_gains_and_losses():
    """Double after each loss, on two doublings: by hand, four ways two rounds can end."""
    slips = tuple(Slip.of({"single": 100 * units}) for units in (1, 2))
    asked = problem(slips=slips, objective="profit", n_rounds=2)
    tables = BettingTables(
        slips,
        np.array([np.zeros(4000), np.ones(4000)], dtype=np.int32),
        np.array([[1, 0, 0], [1, 1, 0]], dtype=np.int32),
        0,
        5,
    )
    assert value_of_tables(asked, tables) == pytest.approx(-1 / 40 - (1 / 40 + 2 / 40) / 2)


# ---------------------------------------------------------------- the whole law of a session


@pytest.mark.parametrize(
    ("words", "read"),
    [
        ({"target_cents": 4000}, lambda law: law.p_target),
        ({"objective": "survival"}, lambda law: 1 - law.p_ruin),
        ({"objective": "profit"}, lambda law: law.ev_cents / 100),
        ({"objective": "profit", "target_cents": 2500}, lambda law: law.ev_cents / 100),
        ({"objective": "time_at_table", "start_cents": 500}, lambda law: law.mean_rounds),
        ({"objective": "cvar", "level": 0.9}, lambda law: law.cvar_cents(0.9) / 100),
        (
            {"objective": "cvar", "level": 0.5, "target_cents": 2300},
            lambda law: law.cvar_cents(0.5) / 100,
        ),
    ],
    ids=lambda one: str(one) if isinstance(one, dict) else "",
)
def test_forward_and_backward_agree(words, read):
    """The programme of sessions walks the same policy forward through all its laws."""
    asked = problem(n_rounds=6, **words)
    solution = solve_betting(asked)
    law = play_session(
        RULES,
        solution.tables(),
        start_cents=asked.start_cents,
        n_rounds=6,
        target_cents=asked.target_cents,
    )
    assert law.overflow == 0
    assert read(law) == pytest.approx(solution.value, abs=1e-9)
