"""A system's tables: the slip at every memory and level, found again by trying at the table."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from strategies import PLAYABLE, overlay
from systems import COLUMN, largest_slip, wanted_at

from niulab.agents.systems.catalog import SYSTEMS, make_system
from niulab.agents.systems.compile import system_tables
from niulab.agents.systems.sitting import Sitting
from niulab.agents.systems.system import LEAVE
from niulab.engine.wagers import Slip
from niulab.errors import ConfigError, WagerError
from niulab.solvers.sessions.net_law import net_law
from niulab.solvers.sessions.programme import play_session
from niulab.solvers.sessions.tables import STOP, flat_tables, verify_tables

RULES = PLAYABLE["single-double-super"]
LOW = overlay("single-double-super", "[boxes.single]\nmaximum_cents = 500\n")
SHORT = overlay("single-double-super", '[boxes.super.cover]\nshortfall = "cap_loss"\n')
TABLES = {
    "plain": (RULES, None),
    "mixed": (RULES, "single=100,super=40"),
    "double": (RULES, "single=200,double=100"),
    "low maximum": (LOW, "single=200"),
    "short cover": (SHORT, "single=100,super=100"),
    "declared cover": (SHORT, "single=100,super=100/300"),
    "capped cover": (
        overlay("single-double-super", "[boxes.super.cover]\nmax_cents = 400\n"),
        "single=100,super=60",
    ),
    "high minimum": (
        overlay("single-double-super", "[boxes.single]\nminimum_cents = 300\n"),
        "single=400",
    ),
}
START, STEP, LEVELS, TARGET = 2000, 80, 56, 4000


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("text", [*SYSTEMS, "stop-loss:5:win-goal:5:martingale"])
def test_every_choice_is_the_largest_the_table_takes(text, table):
    (rules, base), system = TABLES[table], make_system(text)
    words = {"start_cents": START, "target_cents": TARGET}
    tables = system_tables(
        system, rules, base_slip=base, step_cents=STEP, n_levels=LEVELS, n_rounds=6, **words
    )
    verify_tables(rules, tables)
    sitting = Sitting.at(rules, base, **words)
    assert tables.n_levels == LEVELS
    assert set(range(len(tables.slips))) == {*np.unique(tables.choice)} - {STOP}
    memories = range(0, tables.n_memories, max(tables.n_memories // 6, 1))
    for memory, level in product(memories, range(LEVELS)):
        wanted = wanted_at(system, sitting, memory, level * STEP)
        expected = None if wanted == LEAVE else largest_slip(sitting, wanted, level * STEP)
        place = int(tables.choice[memory, level])
        assert (None if place == STOP else tables.slips[place]) == expected


def test_short_cover_makes_another_slip_at_every_level():
    tables = system_tables(
        make_system("flat"), SHORT, base_slip="single=100,super=100",
        start_cents=600, step_cents=200, n_levels=8,
    )  # fmt: skip
    lying = [None if place == STOP else str(tables.slips[place]) for place in tables.choice[0]]
    assert lying == [
        None,
        "single=100,super=100/100",
        "single=100,super=100/300",
        "single=100,super=100/500",
        "single=100,super=100/700",
        "single=100,super=100/900",
        "single=100,super=100",
        "single=100,super=100",
    ]


def test_who_may_not_leave_bets_the_least_slip():
    words = {"base_slip": "single=200", "start_cents": START, "step_cents": 100, "n_levels": 45}
    system = make_system("stop-loss:10:flat")
    gone = system_tables(system, RULES, **words)
    stays = system_tables(system, RULES, can_leave=False, **words)
    assert gone.slips == (Slip.of("single=200"),)
    assert gone.choice[0].tolist() == [STOP] * 11 + [0] * 34
    least = stays.slips.index(Slip.of("single=100"))
    assert stays.choice[0].tolist() == [STOP] + [least] * 10 + [1 - least] * 34


@pytest.mark.parametrize("text", ["labouchere", "oscar", "human", "random:max=4", "martingale"])
def test_memories_beyond_the_session_change_nothing(text):
    words = {"start_cents": START, "step_cents": 5, "n_levels": 1200}
    few = system_tables(make_system(text), RULES, n_rounds=5, **words)
    all_of_them = system_tables(make_system(text), RULES, **words)
    assert few.n_memories <= all_of_them.n_memories
    one, other = (
        play_session(RULES, tables, start_cents=START, n_rounds=5).final
        for tables in (few, all_of_them)
    )
    assert one == pytest.approx(other[: len(one)], abs=1e-15)
    assert not other[len(one) :].any()  # stakes that nobody reaches make the lattice wider


def test_flat_play_is_the_programme_s_own():
    words = {"step_cents": 5, "n_levels": 1200}
    ours = system_tables(make_system("flat"), RULES, start_cents=START, **words)
    theirs = flat_tables(RULES, Slip.of("single=100"), **words)
    assert ours.slips == theirs.slips
    assert ours.choice.tolist() == theirs.choice.tolist()


ENUMERATED = {
    "martingale": 4,
    "grand-martingale": 4,
    "paroli": 5,
    "dalembert": 6,
    "contra-dalembert": 6,
    "fibonacci": 6,
    "labouchere": 5,
    "reverse-labouchere": 5,
    "oscar": 7,
    "1-3-2-6": 6,
    "human": 6,
    "percentage:20": 5,
}


@pytest.mark.parametrize("text", ENUMERATED)
def test_a_session_on_single_is_the_sum_over_all_its_paths(text):
    """Wins and losses written out, in Fractions, without a lattice: no cap is reached."""
    system, n_rounds, start = make_system(text), ENUMERATED[text], 6000
    law = net_law(RULES, Slip.of("single=100"))
    assert law.nets.tolist() == [-100, 95]
    chances = {result: Fraction(n, law.n_deals) for result, n in zip("LW", law.counts, strict=True)}
    sitting, expected = Sitting.at(RULES, start_cents=start), dict[int, Fraction]()
    for results in product("LW", repeat=n_rounds):
        memory, bankroll, chance = 0, start, Fraction(1)
        for result in results:
            units = wanted_at(system, sitting, memory, bankroll)
            bankroll += units * (95 if result == "W" else -100)
            memory = int(system.automaton.next[memory, COLUMN[result]])
            chance *= chances[result]
        expected[bankroll] = expected.get(bankroll, Fraction(0)) + chance
    tables = system_tables(
        system, RULES, start_cents=start, step_cents=5, n_levels=3000, n_rounds=n_rounds
    )
    played = play_session(RULES, tables, start_cents=start, n_rounds=n_rounds)
    found = {
        int(cents): share
        for cents, share in zip(played.bankrolls_cents, played.final, strict=True)
        if share
    }
    assert set(found) == set(expected)
    for cents, share in found.items():
        assert share == pytest.approx(float(expected[cents]), rel=1e-13)
    mean = sum(cents * share for cents, share in expected.items())
    assert played.mean_cents[-1] == pytest.approx(float(mean), rel=1e-14)


def test_random_stakes_are_the_mean_over_all_draws():
    """Two rounds of 1 or 2 units, all 16 paths in Fractions."""
    law = net_law(RULES, Slip.of("single=100"))
    chances = dict(zip(law.nets.tolist(), law.counts, strict=True))
    expected = dict[int, Fraction]()
    for draws in product((1, 2), repeat=2):
        for nets in product(chances, repeat=2):
            end = 2000 + sum(k * net for k, net in zip(draws, nets, strict=True))
            weight = chances[nets[0]] * chances[nets[1]]
            share = Fraction(weight, 4 * law.n_deals**2)
            expected[end] = expected.get(end, Fraction(0)) + share
    tables = system_tables(
        make_system("random:max=2"), RULES, start_cents=2000, step_cents=5, n_levels=600
    )
    played = play_session(RULES, tables, start_cents=2000, n_rounds=2)
    for cents, share in zip(played.bankrolls_cents, played.final, strict=True):
        assert share == pytest.approx(float(expected.get(int(cents), 0)), abs=1e-15)


@pytest.mark.parametrize("text", [*SYSTEMS, "stop-loss:5:win-goal:5:martingale"])
def test_no_system_moves_the_edge(text):
    """Wald: what a session costs is the edge times all that was staked, whatever the system."""
    words = {"start_cents": START, "target_cents": TARGET}
    tables = system_tables(make_system(text), RULES, step_cents=5, n_levels=801, **words)
    law = play_session(RULES, tables, n_rounds=30, **words)
    edge = net_law(RULES, Slip.of("single=100")).ev_cents / 100
    assert law.staked_cents > 100
    assert law.ev_cents == pytest.approx(float(edge) * law.staked_cents, rel=1e-10)


def test_bold_play_doubles_twenty_units_as_often_as_known():
    """20 -> 40 units on whole-unit stakes: .4751743 for bold Single, min(B, ceil((40-B)/.95))."""
    words = {"start_cents": 2000, "target_cents": 4000}
    tables = system_tables(make_system("bold"), RULES, step_cents=5, n_levels=801, **words)
    law = play_session(RULES, tables, n_rounds=400, **words)
    assert law.p_target == pytest.approx(0.4751743, abs=5e-8)
    assert law.p_target + law.p_ruin == pytest.approx(1, abs=1e-9)


def test_timid_play_doubles_twenty_units_half_as_often():
    words = {"start_cents": 2000, "target_cents": 4000}
    tables = system_tables(make_system("timid"), RULES, step_cents=5, n_levels=801, **words)
    law = play_session(RULES, tables, n_rounds=12_000, **words)
    assert law.p_target == pytest.approx(0.2496239, abs=5e-8)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"step_cents": 0}, "step_cents, n_levels and n_rounds are whole numbers"),
        ({"n_levels": 0}, "step_cents, n_levels and n_rounds are whole numbers"),
        ({"n_rounds": 0}, "step_cents, n_levels and n_rounds are whole numbers"),
        ({"start_cents": 2003}, "start_cents=2003 is none of the 600 levels of 5 cents"),
        ({"start_cents": 3000}, "start_cents=3000 is none of the 600 levels of 5 cents"),
        ({}, "'bold' looks at its bankroll, and here is no target_cents"),
    ],
)
def test_what_makes_no_tables(words, message):
    words = {"start_cents": 2000, "step_cents": 5, "n_levels": 600} | words
    with pytest.raises(ConfigError, match=message):
        system_tables(make_system("bold"), RULES, **words)


def test_a_base_slip_the_table_refuses():
    with pytest.raises(WagerError, match="SINGLE 30"):
        system_tables(
            make_system("flat"), RULES, base_slip="single=30",
            start_cents=2000, step_cents=5, n_levels=600,
        )  # fmt: skip
