"""The programme against every path of small sessions, played in Fractions."""

from __future__ import annotations

import numpy as np
import pytest
from session_paths import LEFT, REACHED, RUINED, walk_paths

from niulab.engine.rules import load_rules
from niulab.engine.wagers import Slip, exposure_cents
from niulab.solvers.joint_law import joint_law
from niulab.solvers.sessions.programme import play_session
from niulab.solvers.sessions.tables import STOP, BettingTables, flat_tables

RULES = load_rules("single-double-super")
SLIPS = tuple(map(Slip.of, ("single=100", "single=200", "single=400", "single=100,double=100")))
SUPER = Slip.of("single=100,super=100")
N_LEVELS = 700


def levels_of(slips, step):
    """Whether each slip is covered at each level, bool (S, L)."""
    needs = [[exposure_cents(RULES, slip)] for slip in slips]
    return np.arange(N_LEVELS) * step >= np.array(needs)


def progression(**given):
    """Doubles after a loss, up to four units; falls back on one unit where cover binds."""
    covered = levels_of(SLIPS, 5)
    choice = np.where(covered[:3], np.arange(3)[:, None], np.where(covered[0], 0, STOP))
    return BettingTables(SLIPS, choice, np.array([[1, 0, 0], [2, 1, 0], [2, 2, 0]]), 0, 5, **given)


def by_bankroll():
    """Four units when rich, Double when poor, and home at exactly two wins of one unit."""
    covered = levels_of(SLIPS, 5)
    levels = np.arange(N_LEVELS)
    choice = np.where(levels > 210, 2, np.where(covered[3] & (levels < 150), 3, 0))
    choice[levels == 238] = STOP
    choice = np.where(covered[0], choice, STOP)
    return BettingTables(SLIPS, choice[None], np.zeros((1, 3), dtype=int), 0, 5)


def with_deadline():
    """Another slip in each round, and nothing in the last one below the start."""
    covered = levels_of(SLIPS, 5)
    rows = [np.where(covered[i], i, STOP) for i in (0, 1, 3)]
    rows[2] = np.where(np.arange(N_LEVELS) < 200, STOP, rows[2])
    clock = np.array([[1] * 3, [2] * 3, [2] * 3])
    return BettingTables(SLIPS, np.stack(rows), clock, 0, 5)


def random_bettor():
    """One of three slips, or home, drawn anew for every round."""
    covered = levels_of(SLIPS, 5)
    rows = [np.where(covered[i], i, STOP) for i in (0, 1, 3)]
    rows.append(np.full(N_LEVELS, STOP))
    return BettingTables(SLIPS, np.stack(rows), np.full((4, 3), 2), 1, 5, redraws=True)


POLICIES = {
    "flat": lambda: flat_tables(RULES, SLIPS[0], step_cents=5, n_levels=N_LEVELS),
    "flat super": lambda: flat_tables(RULES, SUPER, step_cents=5, n_levels=N_LEVELS),
    "progression": progression,
    "by bankroll": by_bankroll,
    "deadline": with_deadline,
    "random": random_bettor,
    "random progression": lambda: progression(redraws=True),
}
SESSIONS = [
    {"start_cents": 1000, "n_rounds": 3, "target_cents": None},
    {"start_cents": 1000, "n_rounds": 3, "target_cents": 1190},
    {"start_cents": 300, "n_rounds": 4, "target_cents": 500},
    {"start_cents": 1200, "n_rounds": 2, "target_cents": 1503},
]


def verify(law, walk):
    near = {"abs": law.rounding_bound, "rel": 0}
    final = dict(zip(law.bankrolls_cents.tolist(), law.final.tolist(), strict=True))
    assert {cents for cents, p in final.items() if p} == {c for c, p in walk.laws[-1].items() if p}
    for cents, p in walk.laws[-1].items():
        assert final[cents] == pytest.approx(float(p), **near)
    for reached, status in (
        (law.ruined_by, RUINED),
        (law.reached_by, REACHED),
        (law.left_by, LEFT),
    ):
        assert reached == pytest.approx([float(p) for p in walk.by[status]], **near)
    for t in range(law.n_rounds + 1):
        assert law.mean_cents[t] == pytest.approx(float(walk.mean(t)), rel=1e-12)
        for p, cents in zip(law.band_levels, law.bands[t].tolist(), strict=True):
            assert cents == walk.quantile(t, p)
    assert law.staked_cents == pytest.approx(float(walk.staked), rel=1e-12)
    assert law.moved_cents == pytest.approx(float(walk.moved), rel=1e-12)
    assert law.mean_rounds == pytest.approx(float(walk.rounds), rel=1e-12)
    second_moment = sum(cents**2 * p for cents, p in walk.laws[-1].items())
    variance = float(second_moment - walk.mean(-1) ** 2)
    assert law.sd_cents == pytest.approx(variance**0.5, rel=1e-9)
    ahead = sum(p for cents, p in walk.laws[-1].items() if cents > law.start_cents)
    assert law.p_ahead == pytest.approx(float(ahead), **near)


@pytest.mark.parametrize("session", SESSIONS, ids=str)
@pytest.mark.parametrize("name", POLICIES)
def test_programme_is_the_sum_over_all_paths(name, session):
    tables = POLICIES[name]()
    law = play_session(RULES, tables, **session)
    assert law.overflow == 0
    verify(law, walk_paths(RULES, tables, **session))


def test_programme_under_a_conditional_law():
    known = joint_law(RULES, [0] * 36 + [1] * 16)
    session = {"start_cents": 600, "n_rounds": 3, "target_cents": 900, "law": known}
    verify(
        play_session(RULES, progression(), **session), walk_paths(RULES, progression(), **session)
    )
