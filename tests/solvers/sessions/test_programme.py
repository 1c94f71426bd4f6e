"""The forward programme against figures at hand, the FFT law and its own conservation laws."""

from __future__ import annotations

import numpy as np
import pytest

from niulab.engine.rules import check_rules, load_rules
from niulab.engine.wagers import Slip
from niulab.errors import ConfigError
from niulab.solvers.joint_law import joint_law
from niulab.solvers.sessions import layout
from niulab.solvers.sessions.flat import flat_law
from niulab.solvers.sessions.net_law import net_law
from niulab.solvers.sessions.programme import play_session, session_lattice
from niulab.solvers.sessions.tables import STOP, BettingTables, flat_tables

RULES = load_rules("single-double-super")
SINGLE = Slip.of("single=100")
WITH_SUPER = Slip.of("single=100,super=100")

FEW_CARDS = [0] * 36 + [1] * 16
"""A shoe of 16 cards, whose law takes no time."""


def flat(slip, start, target=None, **given):
    step, n_levels = session_lattice(RULES, [slip], start, target, **given)
    return flat_tables(RULES, slip, step_cents=step, n_levels=n_levels)


def test_doubling_twenty_units_on_flat_singles():
    tables = flat(SINGLE, 2000, 4000)
    law = play_session(RULES, tables, start_cents=2000, n_rounds=20_000, target_cents=4000)
    assert law.p_target == pytest.approx(0.2496239, abs=5e-8)
    assert law.p_target + law.p_ruin == pytest.approx(1, abs=law.rounding_bound)
    assert law.left_by[-1] == law.overflow == 0


def test_sixty_rounds_of_single_and_super_far_from_ruin():
    start = 100_000
    tables = flat(WITH_SUPER, start, n_rounds=60)
    law = play_session(RULES, tables, start_cents=start, n_rounds=60)
    assert law.ev_cents == pytest.approx(-992, abs=0.5)
    assert law.sd_cents == pytest.approx(5635, abs=5)
    assert law.p_ahead == pytest.approx(0.430, abs=5e-4)
    low, high = law.bands[-1, [0, -1]] - start
    assert (low, high) == (-10_270, 8_275)
    assert [law.quantile(p) for p in law.band_levels] == law.bands[-1].tolist()
    assert 0 < law.overflow < 1e-12
    assert law.staked_cents == pytest.approx(60 * 200)
    assert law.moved_cents == pytest.approx(60 * (1 + 5.7766842) * 100)


@pytest.mark.parametrize("slip", [SINGLE, WITH_SUPER, Slip.of("single=500,double=100")])
def test_flat_play_far_from_ruin_has_the_law_of_the_fourier_transform(slip):
    n_rounds, start = 40, 200_000
    law = play_session(
        RULES, flat(slip, start, n_rounds=n_rounds), start_cents=start, n_rounds=n_rounds
    )
    second = flat_law(net_law(RULES, slip), n_rounds)
    here = dict(zip((law.bankrolls_cents - start).tolist(), law.final.tolist(), strict=True))
    there = dict(zip(second.nets.tolist(), second.probabilities.tolist(), strict=True))
    bound = law.rounding_bound + second.rounding_bound + law.overflow
    assert max(abs(here.get(net, 0.0) - there.get(net, 0.0)) for net in here | there) <= bound
    assert law.cvar_cents(0.9) == pytest.approx(second.cvar_cents(0.9), rel=1e-9)


def test_ruin_on_the_way_is_more_than_a_low_bankroll_at_the_end():
    """With chips to fall back on below the table's minimum, paths return; a session does not."""
    n_rounds, start = 40, 500
    law = play_session(
        RULES, flat(SINGLE, start, n_rounds=n_rounds), start_cents=start, n_rounds=n_rounds
    )
    free = flat_law(net_law(RULES, SINGLE), n_rounds)
    at_the_end = float(free.probabilities[free.nets < 100 - start].sum())
    assert law.p_ruin > 1.5 * at_the_end
    assert law.p_ruin == law.final[law.bankrolls_cents < 100].sum()
    assert (np.diff(law.ruined_by) >= 0).all()


def test_mean_is_that_of_every_slip_placed():
    """Wald: the expected result is the sum of the expected results of what was placed."""
    tables = flat(SINGLE, 1000, 1600)
    law = play_session(RULES, tables, start_cents=1000, n_rounds=50, target_cents=1600)
    ev = float(net_law(RULES, SINGLE).ev_cents)
    assert law.ev_cents == pytest.approx(law.mean_rounds * ev, rel=1e-10)
    assert law.mean_cents[0] == 1000
    assert law.final.sum() == pytest.approx(1, abs=law.rounding_bound)


def test_a_win_past_the_target_stays_where_it_lands():
    slip = Slip.of("single=1000")
    tables = flat(slip, 1000, 1100)
    law = play_session(RULES, tables, start_cents=1000, n_rounds=1, target_cents=1100)
    assert dict(zip(law.bankrolls_cents.tolist(), law.final.tolist(), strict=True))[1950] > 0
    assert law.reached_by.tolist() == [0.0, law.final[law.bankrolls_cents == 1950].sum()]


def test_sessions_that_are_over_before_they_begin():
    tables = flat(SINGLE, 2000, 4000)
    ruined = play_session(RULES, tables, start_cents=50, n_rounds=3, target_cents=4000)
    assert ruined.ruined_by.tolist() == [1.0] * 4
    assert ruined.mean_rounds == 0
    reached = play_session(RULES, tables, start_cents=4000, n_rounds=3, target_cents=4000)
    assert reached.reached_by.tolist() == [1.0] * 4
    none = play_session(RULES, tables, start_cents=2000, n_rounds=0)
    assert none.mean_cents.tolist() == [2000.0]
    assert none.bands.tolist() == [[2000] * 5]


def test_mass_that_leaves_the_top_is_reported_and_bounds_the_error():
    small = flat_tables(RULES, SINGLE, step_cents=5, n_levels=240)
    large = flat_tables(RULES, SINGLE, step_cents=5, n_levels=2000)
    cut = play_session(RULES, small, start_cents=600, n_rounds=30)
    full = play_session(RULES, large, start_cents=600, n_rounds=30)
    assert 0.01 < cut.overflow < 0.5
    assert full.overflow == 0
    assert abs(cut.p_ruin - full.p_ruin) <= cut.overflow
    assert cut.reached_by.tolist() == [0.0] * 31


def test_a_loss_can_pass_the_cover_where_the_sheet_asks_for_too_little():
    tree = RULES.model_dump(mode="json")
    tree["boxes"]["super"]["cover"]["multiple"] = 1
    rules = check_rules(tree, origin="a sheet with too little cover")
    tables = flat_tables(rules, WITH_SUPER, step_cents=5, n_levels=2000)
    law = play_session(rules, tables, start_cents=300, n_rounds=1)
    worst = int(net_law(rules, WITH_SUPER).nets[0])
    assert 300 + worst < 0
    assert law.bankrolls_cents[np.flatnonzero(law.final)[0]] == 300 + worst
    assert law.ev_cents == pytest.approx(float(net_law(rules, WITH_SUPER).ev_cents))


def test_information_changes_the_law_of_every_round():
    known = joint_law(RULES, FEW_CARDS)
    tables = flat(SINGLE, 1000, 1500)
    law = play_session(RULES, tables, start_cents=1000, n_rounds=1, target_cents=1500, law=known)
    assert law.ev_cents == pytest.approx(float(net_law(RULES, SINGLE, known).ev_cents))


def test_rounds_of_one_shoe_are_not_taken_as_independent():
    rules = load_rules("six-deck-shoe-bonus")
    slip = Slip.of("even=100")
    tables = flat_tables(rules, slip, step_cents=5, n_levels=400)
    known = joint_law(rules, FEW_CARDS)
    with pytest.raises(ConfigError, match="rounds of one shoe depend on each other"):
        play_session(rules, tables, start_cents=1000, n_rounds=3)
    law = play_session(rules, tables, start_cents=1000, n_rounds=3, law=known)
    assert law.ev_cents == pytest.approx(3 * float(net_law(rules, slip, known).ev_cents))


def test_a_lattice_without_an_end_or_beyond_memory_is_refused(monkeypatch):
    assert session_lattice(RULES, [SINGLE], 2000, 4000) == (5, 819)
    assert session_lattice(RULES, [SINGLE], 2000, None, 4000) == (5, 801)
    assert session_lattice(RULES, [SINGLE], 2002, 4000) == (1, 4095)
    with pytest.raises(ConfigError, match="needs an upper end"):
        session_lattice(RULES, [SINGLE], 2000, None)
    with pytest.raises(ConfigError, match=r"200000001 levels of 5 cents .* give a lower top_cents"):
        session_lattice(RULES, [SINGLE], 2000, 10**9, 10**9)
    monkeypatch.setattr(layout, "MOST_BYTES", 1000)
    with pytest.raises(ConfigError, match=r"1 memories of 819 levels are 819 states and need"):
        play_session(
            RULES, flat(SINGLE, 2000, 4000), start_cents=2000, n_rounds=1, target_cents=4000
        )


def test_a_policy_with_a_deadline_needs_one_row_however_many_memories():
    n_rounds, n_levels = 50, 400
    choice = np.zeros((n_rounds, n_levels), dtype=np.int32)
    choice[:, :20] = STOP
    following = np.minimum(np.arange(n_rounds) + 1, n_rounds - 1)
    clock = BettingTables((SINGLE,), choice, np.stack([following] * 3, axis=1), 0, 5)
    session = {"start_cents": 1000, "n_rounds": n_rounds, "target_cents": 1500}
    laid = layout.lay_out(RULES, clock, **session, law=None)
    assert laid.n_rows == 1
    same = flat_tables(RULES, SINGLE, step_cents=5, n_levels=n_levels)
    timed, plain = (play_session(RULES, t, **session) for t in (clock, same))
    assert timed.final.tolist() == plain.final.tolist()
    assert timed.bands.tolist() == plain.bands.tolist()


def test_bands_come_in_the_order_they_are_asked_for():
    tables, session = flat(SINGLE, 2000, 4000), {"start_cents": 2000, "n_rounds": 30}
    law = play_session(RULES, tables, **session, quantiles=(0.9, 0.1, 0.5))
    assert law.band_levels == (0.9, 0.1, 0.5)
    assert law.bands[-1].tolist() == [law.quantile(p) for p in law.band_levels]
    assert (law.bands[-1, 1], law.bands[0].tolist()) < (law.bands[-1, 0], [2000] * 3)
    assert play_session(RULES, tables, **session, quantiles=()).bands.shape == (31, 0)
    with pytest.raises(ConfigError, match="a quantile lies between 0 and 1, got 90"):
        play_session(RULES, tables, **session, quantiles=(90,))


def test_doubling_twenty_units_by_bold_play():
    """Stakes by bankroll: all of it, or the whole units that just reach 40 at 5 % commission."""
    slips = [Slip.of(f"single={100 * units}") for units in range(1, 41)]
    _, n_levels = session_lattice(RULES, slips, 2000, 4000)
    cents = np.arange(n_levels) * 5
    to_the_goal = -(-np.maximum(4000 - cents, 1) * 20 // 1900)
    units = np.minimum(cents // 100, to_the_goal)
    choice = np.where(units > 0, units - 1, STOP)
    bold = BettingTables(tuple(slips), choice[None], np.zeros((1, 3), dtype=int), 0, 5)
    law = play_session(RULES, bold, start_cents=2000, n_rounds=500, target_cents=4000)
    assert law.p_target == pytest.approx(0.4751743, abs=5e-8)
    assert law.mean_rounds < 10
