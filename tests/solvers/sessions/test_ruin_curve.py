"""Ruin round by round: along the path, for all starts at once."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest

from niulab.engine.batch import BatchEngine
from niulab.engine.rules import load_rules
from niulab.engine.wagers import Slip, exposure_cents
from niulab.errors import ConfigError
from niulab.solvers.sessions.barriers import flat_barriers, ruin_curve
from niulab.solvers.sessions.flat import flat_law
from niulab.solvers.sessions.net_law import net_law
from niulab.solvers.sessions.programme import play_session
from niulab.solvers.sessions.tables import flat_tables

RULES = load_rules()
SINGLE = net_law(RULES, Slip.of("single=100"))
BOTH = net_law(RULES, Slip.of("single=100,super=100"))


def forward_in_fractions(law, start, ruin_below, n_rounds, target=None):
    """P(ruined by round r), r = 0 .. n_rounds, playing on from every bankroll there is."""
    alive, ruined, found = {start: Fraction(1)}, Fraction(0), []
    if start < ruin_below:
        alive, ruined = {}, Fraction(1)
    for _ in range(n_rounds):
        found.append(ruined)
        following = defaultdict(Fraction)
        for bankroll, p in alive.items():
            for net, n in zip(law.nets.tolist(), law.counts, strict=True):
                after = bankroll + net
                if after < ruin_below:
                    ruined += p * Fraction(n, law.n_deals)
                elif target is None or after < target:
                    following[after] += p * Fraction(n, law.n_deals)
        alive = following
    return [*found, ruined]


@pytest.mark.parametrize(
    ("text", "starts", "n_rounds", "target"),
    [
        ("single=100", [95, 100, 300, 500, 1000], 12, None),
        ("single=100", [100, 300, 900], 12, 600),
        ("single=100,double=100", [500, 1100, 2000], 7, None),
        ("single=100,super=100", [1195, 1200, 2000, 3500], 4, None),
        ("single=100,super=100", [1200, 2000], 4, 3000),
    ],
)
def test_it_is_the_forward_programme_in_fractions(text, starts, n_rounds, target):
    law = net_law(RULES, Slip.of(text))
    ruin_below = exposure_cents(RULES, law.slip)
    curve = ruin_curve(RULES, law, starts, range(n_rounds + 1), target_cents=target)
    for row, start in enumerate(starts):
        beyond = target is not None and start >= target
        exact = [Fraction(0)] * (n_rounds + 1)
        if not beyond:
            exact = forward_in_fractions(law, start, ruin_below, n_rounds, target)
        low = np.array([float(p) for p in exact])
        assert (curve.ruined[row] <= low + curve.rounding_bound).all()
        assert (low <= curve.ruined[row] + curve.overflow[row] + curve.rounding_bound).all()


def test_ruin_is_counted_along_the_path_and_not_only_at_the_horizon():
    """Others count who is below the line at the end (AttackingOrDefending PR#14)."""
    n_rounds, start = 60, 6000
    curve = ruin_curve(RULES, BOTH, [start], [n_rounds])
    law = flat_law(BOTH, n_rounds)
    at_the_horizon = float(law.probabilities[law.nets < 1200 - start].sum())
    assert curve.ruined[0, 0] > 1.3 * at_the_horizon


def test_ruin_grows_with_rounds_and_falls_with_the_bankroll():
    curve = ruin_curve(RULES, BOTH, range(1200, 20000, 400), range(0, 301, 10))
    assert (np.diff(curve.ruined, axis=1) >= 0).all()
    assert (np.diff(curve.ruined, axis=0) <= 0).all()
    assert curve.ruined[:, 0].tolist() == [0] * len(curve.starts_cents)
    assert curve.overflow.max() <= 1e-9
    assert curve.rounding_bound < 1e-11


def test_a_coarser_tolerance_stays_inside_its_word():
    fine = ruin_curve(RULES, BOTH, [3000, 9000], [400], tolerance=1e-12)
    coarse = ruin_curve(RULES, BOTH, [3000, 9000], [400], tolerance=1e-2)
    lost = fine.ruined - coarse.ruined
    assert (lost >= -coarse.rounding_bound).all()
    assert (lost <= coarse.overflow[:, None] + coarse.rounding_bound).all()
    assert coarse.overflow.max() > 1e-6


def test_with_a_target_it_ends_at_the_banded_solution():
    curve = ruin_curve(RULES, BOTH, [2500, 5000], [4000], target_cents=8000)
    play = flat_barriers(RULES, BOTH, 5000, 8000)
    exact = [1 - play.goal_from(start) for start in (2500, 5000)]
    assert curve.ruined[:, 0] == pytest.approx(exact, abs=1e-9)


@pytest.mark.parametrize("text", ["single=100", "single=100,super=100"])
def test_it_is_the_programme_of_flat_tables(text):
    """Who stops below the slip's cover is ruined for this slip, if not for the least one."""
    slip, start, n_rounds = Slip.of(text), 2500, 150
    tables = flat_tables(RULES, slip, step_cents=5, n_levels=20_000)
    session = play_session(RULES, tables, start_cents=start, n_rounds=n_rounds)
    curve = ruin_curve(RULES, net_law(RULES, slip), [start], range(n_rounds))
    over = (session.ruined_by + session.left_by)[:n_rounds]
    np.testing.assert_allclose(curve.ruined[0], over, atol=session.overflow + 1e-9)


def test_it_has_no_unit():
    ten = net_law(RULES, Slip.of("single=1000,super=1000"))
    small = ruin_curve(RULES, BOTH, [2000, 5000], [10, 200])
    big = ruin_curve(RULES, ten, [20000, 50000], [10, 200])
    np.testing.assert_allclose(big.ruined, small.ruined, atol=2e-9)
    np.testing.assert_allclose(big.diffusion, small.diffusion, rtol=1e-12)


def test_the_diffusion_is_close_where_steps_are_small():
    curve = ruin_curve(RULES, SINGLE, [3000, 6000, 12000], [0, 1000, 4000])
    assert curve.diffusion.shape == curve.ruined.shape == (3, 3)
    assert curve.diffusion[:, 0].tolist() == [0, 0, 0]
    np.testing.assert_allclose(curve.diffusion, curve.ruined, atol=0.02)
    below = ruin_curve(RULES, SINGLE, [50, 100], [0, 5])
    assert below.ruined[0].tolist() == below.diffusion[0].tolist() == [1, 1]


def test_starts_off_each_others_lattice_share_a_finer_one():
    curve = ruin_curve(RULES, SINGLE, [1000, 1003], [300])
    for row, start in enumerate((1000, 1003)):
        alone = ruin_curve(RULES, SINGLE, [start], [300])
        assert curve.ruined[row] == pytest.approx(alone.ruined[0], abs=1e-9)


@pytest.mark.parametrize("rounds", [[], [5, 3], [-1, 2]])
def test_rounds_ascend(rounds):
    with pytest.raises(ConfigError, match="rounds from 0 upwards"):
        ruin_curve(RULES, SINGLE, [1000], rounds)


def test_dealt_sessions_are_ruined_as_often():
    start, n, n_rounds = 4000, 4000, 60
    rounds = np.arange(n * n_rounds)
    nets = BatchEngine(RULES).play(BOTH.slip, np.full(len(rounds), 5, np.uint64), rounds)
    paths = start + nets.reshape(n, n_rounds).cumsum(axis=1)
    is_ruined = np.logical_or.accumulate(paths < 1200, axis=1)
    curve = ruin_curve(RULES, BOTH, [start], range(1, n_rounds + 1))
    p = curve.ruined[0]
    half_width = 4.5 * np.sqrt(p * (1 - p) / n) + 1 / n
    assert (np.abs(is_ruined.mean(axis=0) - p) <= half_width).all()
