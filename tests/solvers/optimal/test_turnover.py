"""Turnover requirements in Fractions, and where they are sure to be met."""

from fractions import Fraction
from functools import cache

import pytest
from strategies import PLAYABLE

from niulab.engine.wagers import Slip, exposure_cents
from niulab.envs.settings.menus import default_menu
from niulab.errors import ConfigError
from niulab.solvers.joint_law import joint_law
from niulab.solvers.optimal.turnover import (
    TurnoverProblem,
    least_cost_per_handle,
    solve_turnover,
)

RULES = PLAYABLE["single-double-super"]
MENU = default_menu(RULES)
SLIPS = tuple(Slip.of(t) for t in ("single=100", "single=200", "single=100,double=100"))


def requirement(start_cents, turnover_cents, slips=SLIPS, **words):
    return TurnoverProblem(
        rules=RULES, slips=slips, start_cents=start_cents, turnover_cents=turnover_cents, **words
    )


@pytest.mark.parametrize(
    "words", [{}, {"price": 3.0}, {"objective": "probability"}], ids=["value", "price", "p"]
)
def test_all_ways_through_in_fractions(words):
    start, turnover = 200, 500
    law = joint_law(RULES)
    nets = []
    for slip in SLIPS:
        found = {}
        for cell, n in law.cells.items():
            net = cell.settle(RULES, slip).net_cents
            found[net] = found.get(net, 0) + Fraction(n, law.n_deals)
        nets.append((slip.total_cents, exposure_cents(RULES, slip), found))

    @cache
    def value(cents, left):
        if left <= 0:
            if "objective" in words:
                return Fraction(1)
            return Fraction(cents, 100) + Fraction(words.get("price", 0))
        return max(
            (
                sum(p * value(cents + net, left - total) for net, p in law.items())
                for total, need, law in nets
                if need <= cents
            ),
            default=Fraction(0),
        )

    solution = solve_turnover(requirement(start, turnover, **words))
    assert solution.gap < 1e-9
    assert solution.low <= value(start, turnover) <= solution.high
    told = solution.p_met if "objective" in words else solution.mean_out
    told += words.get("price", 0) * solution.p_met
    assert told == pytest.approx(solution.value, abs=1e-9)


def test_a_deep_purse_pays_the_least_edge_and_no_more():
    """Ruin is out of reach: 10 units through Single cost a quarter of a unit."""
    solution = solve_turnover(requirement(5_000, 1_000, MENU))
    slip, edge = least_cost_per_handle(RULES, MENU)
    assert (slip, edge) == (MENU[0], Fraction(1, 40))
    assert solution.cost == pytest.approx(10 / 40, abs=1e-9)
    assert solution.p_met == pytest.approx(1, abs=1e-12)


def test_a_price_on_meeting_it_buys_safety():
    """The figures of 20 units that must be staked twenty times over."""
    bold, careful, safest = (
        solve_turnover(requirement(2_000, 40_000, MENU, **words))
        for words in ({}, {"price": 20.0}, {"objective": "probability"})
    )
    assert bold.p_met < careful.p_met < safest.p_met
    assert bold.cost < careful.cost < safest.cost
    assert bold.value == pytest.approx(16.2372443, abs=1e-7)
    assert safest.value == pytest.approx(0.5168242, abs=1e-7)
    assert bold.best_slip(2_000, 40_000) == Slip.of("single=1000")
    assert safest.best_slip(2_000, 40_000) == MENU[0]
    assert bold.best_slip(2_000, 0) is None
    assert bold.best_slip(50, 100) is None


def test_requirements_that_are_none_are_refused():
    with pytest.raises(ConfigError, match="turnover_cents"):
        requirement(2_000, 0)
    with pytest.raises(ConfigError, match="no affordable slip"):
        requirement(50, 1_000)
    with pytest.raises(ConfigError, match="price"):
        requirement(2_000, 1_000, objective="probability", price=1.0)
    with pytest.raises(ConfigError, match="at most 500"):
        solve_turnover(requirement(200, 500)).best_slip(200, 600)


@pytest.mark.parametrize("turnover_cents", [1_000_000_000, 1_000_000_007, (1 << 63) - 1])
def test_a_turnover_too_large_is_refused_before_its_rows_are_made(turnover_cents):
    with pytest.raises(ConfigError, match=r"need [0-9,]+ bytes, .*: ask for a smaller turnover"):
        solve_turnover(requirement(5_000, turnover_cents))


def test_rough_bounds_hold_the_value():
    """Ruin spares what is still to be lost: a purse can be worth more than its way without ruin."""
    fine = solve_turnover(requirement(600, 20_000, MENU))
    rough = solve_turnover(requirement(600, 20_000, MENU), tolerance=10.0)
    assert rough.gap > 1e-6
    assert rough.low <= fine.low
    assert fine.high <= rough.high
    assert fine.value > 6 - 200 / 40
