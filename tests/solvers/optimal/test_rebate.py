"""Rebates: against stopping in Fractions, against all pairs of quit points, and by hand."""

from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from strategies import PLAYABLE

from niulab.engine.wagers import Slip, exposure_cents
from niulab.envs.settings.menus import default_menu
from niulab.errors import ConfigError
from niulab.solvers.joint_law import joint_law
from niulab.solvers.optimal.rebate import RebateProblem, solve_rebate
from niulab.solvers.sessions.tables import verify_tables

RULES = PLAYABLE["single-double-super"]
LEAST = (Slip.of("single=100"),)
MENU = default_menu(RULES)


def offer(rebate, slips=LEAST, start_cents=2000, **words):
    return RebateProblem(rules=RULES, slips=slips, start_cents=start_cents, rebate=rebate, **words)


def test_stopping_within_three_rounds_in_fractions():
    start, share = 600, Fraction(1, 5)
    slips = [Slip.of(text) for text in ("single=100", "single=300", "single=100,double=100")]
    law = joint_law(RULES)

    def quitting_with(cents):
        return Fraction(cents - start) + share * max(start - cents, 0)

    @cache
    def value(cents, left):
        quitting = quitting_with(cents)
        if not left:
            return quitting
        playing = [
            sum(
                Fraction(n, law.n_deals)
                * value(cents + cell.settle(RULES, slip).net_cents, left - 1)
                for cell, n in law.cells.items()
            )
            for slip in slips
            if exposure_cents(RULES, slip) <= cents
        ]
        return max([quitting, *playing])

    solution = solve_rebate(offer(0.2, tuple(slips), start, n_rounds=3))
    assert solution.value == pytest.approx(float(value(start, 3)) / 100, abs=1e-10)
    assert solution.gap < 1e-9
    low = max(cents for cents in range(0, start, 5) if value(cents, 3) == quitting_with(cents))
    assert solution.quit_points(3) == (low, None)  # no round was played: no win is known yet
    assert solution.best_slip(start, 3) is not None
    assert solution.best_slip(start, 0) is None


def test_no_pair_of_quit_points_is_better():
    """Flat single bets between two absorbing bankrolls, each pair a linear system of its own."""
    start, share, step = 1000, 0.2, 5
    solution = solve_rebate(offer(share, start_cents=start))

    def worth(low, high):
        playing = np.arange(low + step, high, step)
        n = len(playing)
        matrix, right = np.eye(n), np.zeros(n)
        for net in (95, -100):
            after = playing + net
            inside = (after > low) & (after < high)
            rows = np.flatnonzero(inside)
            matrix[rows, (after[inside] - low) // step - 1] -= 0.5
            ends = after[~inside]
            right[~inside] += 0.5 * (ends - start + share * np.maximum(start - ends, 0)) / 100
        return np.linalg.solve(matrix, right)[(start - low) // step - 1]

    pairs = {
        (low, high): worth(low, high)
        for low in range(start - 300, start, 20)
        for high in range(start + step, start + 305, 20)
    }
    assert max(pairs.values()) <= solution.value + 1e-9
    assert worth(*solution.quit_points()) == pytest.approx(solution.value, abs=1e-9)
    assert solution.gap < 1e-9


def test_one_bet_breaks_even_at_a_rebate_of_twice_the_edge():
    """Half of all single bets lose: 1/20 of a loss is 1/40 of the stake, the edge."""
    even = solve_rebate(offer(0.05))
    assert even.value == pytest.approx(0, abs=1e-9)
    assert even.quit_points() is None
    assert even.best_slip(2000) is None
    assert solve_rebate(offer(0.04)).value == pytest.approx(0, abs=1e-9)
    assert solve_rebate(offer(0.06)).value > 0.004


def test_a_larger_rebate_and_a_larger_menu_are_worth_more():
    values = [solve_rebate(offer(share, MENU)).value for share in (0.05, 0.1, 0.2)]
    assert values == pytest.approx([0.0180479, 0.2786900, 1.2936166], abs=1e-7)
    assert solve_rebate(offer(0.1)).value < values[1]
    low, high = solve_rebate(offer(0.1, MENU)).quit_points()
    assert (low, high) == (1285, 2940)


def test_a_long_deadline_is_as_good_as_none():
    endless, long = solve_rebate(offer(0.1, MENU)), solve_rebate(offer(0.1, MENU, n_rounds=40))
    assert long.value == pytest.approx(endless.value, abs=1e-3)
    assert long.high[0, long.start] <= endless.high[0, endless.start]
    assert long.quit_points(20) == pytest.approx(endless.quit_points(), abs=400)


def test_the_policy_is_one_the_table_takes():
    for words in ({}, {"n_rounds": 10}):
        solution = solve_rebate(offer(0.1, MENU, **words))
        verify_tables(RULES, solution.tables())


def test_bankrolls_above_the_lattice_quit():
    solution = solve_rebate(offer(0.1, MENU))
    assert solution.best_slip(1_000_000) is None
    with pytest.raises(ConfigError, match="multiples of 5"):
        solution.best_slip(2001)


def test_offers_that_are_none_are_refused():
    with pytest.raises(ConfigError, match="above 0 and below 1"):
        offer(1.0)
    with pytest.raises(ConfigError, match="no affordable slip"):
        offer(0.1, start_cents=80)
    with pytest.raises(ConfigError, match="from 1 to 3"):
        solve_rebate(offer(0.1, n_rounds=3)).best_slip(2000, 4)
    defective = PLAYABLE["even-double-super-bonus-literal-note"]
    slips = (Slip.of("even=100"), Slip.of("even=100,super=100"))
    with pytest.raises(ConfigError, match="does not lose on average"):
        solve_rebate(RebateProblem(rules=defective, slips=slips, start_cents=2000, rebate=0.1))
