"""Simulated sessions: the programme's figures, the environment's rounds, paired differences."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from niulab.engine.batch import BatchEngine
from niulab.engine.rules import load_rules
from niulab.engine.wagers import Slip, exposure_cents
from niulab.envs.vector import NiuNiuVectorEnv
from niulab.errors import ConfigError
from niulab.evaluation.sessions import simulate
from niulab.evaluation.sessions.results import Share
from niulab.evaluation.sessions.simulate import sample_paths, simulate_sessions
from niulab.evaluation.statistics import wilson_interval
from niulab.seeding import round_word, stream_seed
from niulab.solvers.sessions.programme import play_session
from niulab.solvers.sessions.tables import STOP, BettingTables, flat_tables

RULES = load_rules("single-double-super")
SLIPS = tuple(map(Slip.of, ("single=100", "single=200", "single=100,double=100")))
N_LEVELS = 900
SESSION = {"start_cents": 2000, "n_rounds": 30, "target_cents": 3000}
FALSE_ALARM = 1 - 1e-6  # level of the intervals that must hold the exact values


def flat(slip=SLIPS[0], n_levels=N_LEVELS):
    return flat_tables(RULES, slip, step_cents=5, n_levels=n_levels)


def progression(**given):
    """A unit more after a loss, Double after two; one unit where cover binds, home at 2,500."""
    levels = np.arange(N_LEVELS)
    needs = np.array([[exposure_cents(RULES, slip)] for slip in SLIPS])
    choice = np.where(levels * 5 >= needs, np.arange(3)[:, None], np.where(levels >= 20, 0, STOP))
    choice[:, 500:] = STOP
    return BettingTables(SLIPS, choice, np.array([[1, 0, 0], [2, 1, 0], [2, 2, 1]]), 0, 5, **given)


POLICIES = {
    "flat": flat(),
    "progression": progression(),
    "random": progression(redraws=True),
    "super": flat(Slip.of("single=100,super=100")),
}


def figures(result):
    return result.policies, result.differences


def test_programme_lies_in_the_intervals():
    """40 figures at a false alarm of 1e-6 each; the seed is fixed."""
    result = simulate_sessions(
        RULES, POLICIES, **SESSION, n_sessions=20_000, seed=5, level=FALSE_ALARM
    )
    laws = {name: play_session(RULES, t, **SESSION) for name, t in POLICIES.items()}
    for name, law in laws.items():
        score = result.policies[name]
        assert score.final_cents.covers(law.mean_cents[-1])
        assert score.ruin.covers(law.p_ruin)
        assert score.target.covers(law.p_target)
        assert score.left.covers(law.left_by[-1])
        assert score.ahead.covers(law.p_ahead)
        assert score.rounds.covers(law.mean_rounds)
        assert score.staked_cents == pytest.approx(law.staked_cents, rel=0.02)
        assert score.overflow.count == 0
    for name, apart in result.differences.items():
        one, other = laws[name], laws["flat"]
        assert apart.final_cents.covers(one.ev_cents - other.ev_cents)
        assert apart.ruin.covers(one.p_ruin - other.p_ruin)
        assert apart.target.covers(one.p_target - other.p_target)
        assert apart.ahead.covers(one.p_ahead - other.p_ahead)


def test_same_figures_for_any_chunk_block_and_threads(monkeypatch):
    arguments = {**SESSION, "n_sessions": 500, "seed": 1}
    seen = []
    once = simulate_sessions(
        RULES, POLICIES, **arguments, progress=lambda done, total: seen.append((done, total))
    )
    assert seen == [(500, 500)]
    monkeypatch.setattr(simulate, "_CHUNK", 37)
    monkeypatch.setattr(simulate, "_BLOCK_ROUNDS", 101)
    again = simulate_sessions(RULES, POLICIES, **arguments, threads=3)
    assert figures(again) == figures(once)


def test_policies_do_not_disturb_each_other():
    arguments = {**SESSION, "n_sessions": 300, "seed": 2}
    together = simulate_sessions(RULES, POLICIES, **arguments)
    for name, tables in POLICIES.items():
        alone = simulate_sessions(RULES, {name: tables}, **arguments)
        assert alone.policies[name] == together.policies[name]
        assert alone.differences == {}


def by_hand(tables, seed, n):
    """(last bankroll, how it ended, rounds) of n sessions played in the environment."""
    menu = list(dict.fromkeys([SLIPS[0], *tables.slips]))  # an environment offers the least one
    env = NiuNiuVectorEnv(
        n,
        "niulab/Session-v0",
        menu=menu,
        bankroll_cents=SESSION["start_cents"],
        target_cents=SESSION["target_cents"],
        n_rounds=SESSION["n_rounds"],
        can_leave=True,
        autoreset_mode="NextStep",
    )
    _, infos = env.reset(seed=seed)
    draw_seed = stream_seed(SEED, "evaluation/sessions/draws")
    memories, bankrolls = [tables.initial] * n, infos["bankroll_cents"].copy()
    ends, played = [None] * n, [0] * n
    while None in ends:
        actions = np.zeros(n, dtype=np.int64)
        for i in range(n):
            if tables.redraws:
                word = round_word(draw_seed + i, played[i]) >> 26
                memories[i] = word * len(tables.choice) >> 32
            choice = int(tables.choice[memories[i], bankrolls[i] // tables.step_cents])
            leaves = choice == STOP
            actions[i] = len(menu) if leaves else menu.index(tables.slips[choice])
            assert ends[i] is not None or env.action_masks()[i, actions[i]]
        _, _, terminated, _, infos = env.step(actions)
        for i in range(n):
            if ends[i] is not None:
                continue
            net = int(infos["bankroll_cents"][i]) - int(bankrolls[i])
            bankrolls[i] += net
            played[i] += int(actions[i] != len(menu))
            memories[i] = int(tables.next[memories[i], (net > 0) - (net < 0) + 1])
            if terminated[i]:
                ends[i] = infos["end"][i]
    return list(zip(bankrolls.tolist(), ends, played, strict=True))


SEED = 11


@pytest.mark.parametrize("name", POLICIES)
def test_sessions_are_those_of_the_environment_bit_for_bit(name):
    n, tables = 40, POLICIES[name]
    result = simulate_sessions(RULES, {name: tables}, **SESSION, n_sessions=n, seed=SEED)
    sessions = by_hand(tables, result.row_seed, n)
    assert len({end for _, end, _ in sessions}) > 1
    for k in (2, 3, 7, 20, n):  # prefixes: the same sessions in the same places
        score = simulate_sessions(
            RULES, {name: tables}, **SESSION, n_sessions=k, seed=SEED
        ).policies[name]
        finals = [bankroll for bankroll, _, _ in sessions[:k]]
        ends = [end for _, end, _ in sessions[:k]]
        assert score.final_cents.mean == float(Fraction(sum(finals), k))
        assert score.final_cents.half_width == pytest.approx(
            1.959964 * np.std(finals, ddof=1) / k**0.5, rel=1e-6, abs=1e-9
        )
        assert score.ruin.count == ends.count("ruin")
        assert score.target.count == ends.count("target")
        assert score.left.count == ends.count("left")
        assert score.ahead.count == sum(cents > 2000 for cents in finals)
        assert score.rounds.mean == float(Fraction(sum(t for _, _, t in sessions[:k]), k))


def test_ruin_counts_on_the_way():
    """No chips after ruin: a simulation that looks at the last bankroll of free play sees less."""
    arguments = {"start_cents": 500, "n_rounds": 40, "n_sessions": 4000}
    score = simulate_sessions(RULES, {"flat": flat()}, **arguments).policies["flat"]
    seeds = stream_seed(0, "evaluation/sessions") + np.arange(4000, dtype=np.uint64)
    nets = BatchEngine(RULES).play(SLIPS[0], np.repeat(seeds, 40), np.tile(np.arange(40), 4000))
    paths = 500 + nets.reshape(4000, 40).cumsum(axis=1)
    assert score.ruin.count == (paths < 100).any(axis=1).sum()
    assert score.ruin.count > 1.5 * (paths[:, -1] < 100).sum()


def test_differences_are_paired():
    """Two units win and lose twice what one does: the pair knows, independent runs would not."""
    pair = {"one": flat(), "two": flat(SLIPS[1])}
    result = simulate_sessions(
        RULES, pair, start_cents=2000, n_rounds=5, n_sessions=2000, baseline="one"
    )
    one, two = (result.policies[name].final_cents for name in pair)
    apart = result.differences["two"].final_cents
    assert apart.mean == pytest.approx(two.mean - one.mean, rel=1e-12)
    assert apart.half_width == pytest.approx(one.half_width, rel=1e-12)
    assert result.differences.keys() == {"two"}
    back = simulate_sessions(
        RULES, pair, start_cents=2000, n_rounds=5, n_sessions=2000, baseline="two"
    )
    assert back.differences["one"].final_cents.mean == -apart.mean


def test_shares_have_the_interval_of_wilson():
    share = Share(3, 40, 0.9)
    assert (share.low, share.high) == wilson_interval(3, 40, level=0.9)
    assert share.mean == 3 / 40
    assert share.covers(0.1)
    assert not share.covers(0.5)


def test_the_top_of_a_lattice_without_a_target_ends_a_session():
    low = flat(n_levels=450)
    session = {"start_cents": 2000, "n_rounds": 60}
    score = simulate_sessions(
        RULES, {"low": low}, **session, n_sessions=4000, level=FALSE_ALARM
    ).policies["low"]
    law = play_session(RULES, low, **session)
    assert score.overflow.count > 0
    assert score.overflow.covers(law.overflow)
    assert score.target.count == 0


def test_rounds_are_dealt_only_to_sessions_that_go_on(monkeypatch):
    dealt = []
    cells = BatchEngine.cells

    def counted(self, seeds, rounds):
        dealt.append(len(seeds))
        return cells(self, seeds, rounds)

    monkeypatch.setattr(BatchEngine, "cells", counted)
    monkeypatch.setattr(simulate, "_BLOCK_ROUNDS", 1)
    short = {"short": flat()}
    result = simulate_sessions(RULES, short, start_cents=300, n_rounds=300, n_sessions=100)
    warm_up = dealt.index(100)
    rounds = result.policies["short"].rounds.mean * 100
    assert sum(dealt[warm_up:]) == pytest.approx(rounds, abs=1e-9)
    assert rounds < 0.3 * 300 * 100


@pytest.mark.parametrize("name", ["progression", "random"])
def test_sample_paths_are_those_of_the_simulation(name):
    n, tables = 60, POLICIES[name]
    score = simulate_sessions(RULES, {name: tables}, **SESSION, n_sessions=n, seed=3)
    paths = sample_paths(RULES, tables, **SESSION, n_sessions=n, seed=3)
    assert paths.shape == (n, 31)
    assert (paths[:, 0] == 2000).all()
    assert score.policies[name].final_cents.mean == float(Fraction(int(paths[:, -1].sum()), n))
    # what has ended stays where it is; 2,500 cents are this policy's way home
    has_ended = (paths < 100) | (paths >= 3000) | (paths >= 2500)
    for path, over in zip(paths, has_ended, strict=True):
        if over.any():
            assert (path[over.argmax() :] == path[over.argmax()]).all()
    over = sample_paths(RULES, tables, start_cents=50, n_rounds=2, n_sessions=2)
    assert over.tolist() == [[50] * 3] * 2
    with pytest.raises(ConfigError, match="got n_sessions=0"):
        sample_paths(RULES, tables, **SESSION, n_sessions=0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tables_by_name": {}}, "give at least one policy"),
        ({"baseline": "flta"}, "no policy 'flta' to compare with; did you mean 'flat'"),
        ({"n_sessions": 1}, "at least 2 sessions, 0 rounds and 1 thread, got n_sessions=1"),
        ({"threads": 0}, "threads=0"),
        ({"level": 95}, "a confidence level lies between 0 and 1"),
        ({"start_cents": 2001}, "no multiple of the tables' step_cents=5"),
        ({"target_cents": 4501}, "need n_levels=901"),
    ],
)
def test_what_cannot_be_simulated_is_refused(changes, message):
    given = {"tables_by_name": {"flat": flat()}, **SESSION, "n_sessions": 10}
    with pytest.raises(ConfigError, match=message):
        simulate_sessions(RULES, **(given | changes))
