"""Greatest drawdowns against every path in Fractions, and against each other."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from session_paths import walk_paths

from niulab.engine.rules import load_rules
from niulab.engine.wagers import Slip
from niulab.errors import ConfigError
from niulab.solvers.sessions import layout
from niulab.solvers.sessions.drawdown import flat_drawdown, session_drawdown
from niulab.solvers.sessions.tables import STOP, BettingTables, flat_tables

RULES = load_rules("single-double-super")
SINGLE, SUPER = Slip.of("single=100"), Slip.of("single=100,super=100")


def verify(law, drawdowns):
    """Every point, between the points, the mean and the quantiles of a law of Fractions."""
    reached = Fraction(0)
    for cents, mass in sorted(drawdowns.items()):
        assert law.p_exceeds(cents - law.step_cents) == pytest.approx(float(1 - reached), abs=1e-13)
        assert law.p_exceeds(cents - 1) == law.p_exceeds(cents - law.step_cents)
        reached += mass
        assert law.p_exceeds(cents) == pytest.approx(float(1 - reached), abs=1e-13)
    mean = sum(cents * mass for cents, mass in drawdowns.items())
    assert law.mean_cents == pytest.approx(float(mean), rel=1e-11)
    assert law.probabilities.sum() == pytest.approx(1, abs=1e-13)
    for p in (Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)):
        within = [c for c in drawdowns if sum(m for d, m in drawdowns.items() if d <= c) >= p]
        assert law.quantile(float(p)) == min(within)


@pytest.mark.parametrize(("slip", "n_rounds"), [(SINGLE, 5), (SUPER, 3)])
def test_flat_drawdown_is_that_of_all_paths(slip, n_rounds):
    start = 20_000
    tables = flat_tables(RULES, slip, step_cents=5, n_levels=10_000)
    walk = walk_paths(RULES, tables, start_cents=start, n_rounds=n_rounds)
    verify(flat_drawdown(RULES, slip, n_rounds=n_rounds), walk.drawdowns)


@pytest.mark.parametrize("redraws", [False, True])
@pytest.mark.parametrize("target", [None, 800])
def test_drawdown_with_a_bankroll_is_that_of_all_paths(target, redraws):
    slips = SINGLE, Slip.of("single=200")
    choice = np.full((2, 400), STOP)
    choice[:, 20:] = 0
    choice[1, 80:] = 1
    tables = BettingTables(slips, choice, np.array([[1, 0, 0], [1, 1, 0]]), 0, 5, redraws)
    session = {"start_cents": 500, "n_rounds": 5, "target_cents": target}
    walk = walk_paths(RULES, tables, **session)
    verify(session_drawdown(RULES, tables, **session), walk.drawdowns)


def test_a_bankroll_that_never_ends_makes_no_difference():
    tables = flat_tables(RULES, SINGLE, step_cents=5, n_levels=1000)
    bound = session_drawdown(RULES, tables, start_cents=3000, n_rounds=20)
    free = flat_drawdown(RULES, SINGLE, n_rounds=20)
    for cents in (0, 95, 500, 700, 1995):
        assert bound.p_exceeds(cents) == pytest.approx(free.p_exceeds(cents), abs=1e-12)
    assert free.p_exceeds(2000) == 0
    assert free.p_exceeds(-1) == 1


def test_drawdown_grows_with_the_session():
    quantiles = [flat_drawdown(RULES, SINGLE, n_rounds=n).quantile(0.95) for n in (10, 60, 300)]
    assert quantiles == sorted(set(quantiles))
    assert quantiles[1] == 1705


def test_what_cannot_be_asked_is_refused(monkeypatch):
    law = flat_drawdown(RULES, SINGLE, n_rounds=3)
    with pytest.raises(ConfigError, match="a quantile lies between 0 and 1, got 95"):
        law.quantile(95)
    tables = flat_tables(RULES, SINGLE, step_cents=5, n_levels=1000)
    bound = session_drawdown(RULES, tables, start_cents=3000, n_rounds=20)
    monkeypatch.setattr(layout, "MOST_BYTES", 1000)
    with pytest.raises(ConfigError, match=r"1019 levels and 101 gaps are 102919 states"):
        bound.p_exceeds(500)
