"""Scores of systems: exact figures against bare programmes and simulations, budgets, kept parts."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from niulab.engine.rules import load_rules
from niulab.engine.wagers import Slip
from niulab.errors import ConfigError
from niulab.evaluation.sessions import system_figures, systems
from niulab.evaluation.sessions.fan import bankroll_fan
from niulab.evaluation.sessions.kept import KeptParts
from niulab.evaluation.sessions.simulate import sample_paths, simulate_sessions
from niulab.evaluation.sessions.system_figures import SessionFigures, SystemTask, tables_of
from niulab.evaluation.sessions.systems import fits_budget, operations, score_systems
from niulab.solvers.sessions.programme import play_session
from niulab.solvers.sessions.tables import flat_tables

RULES = load_rules("single-double-super")
TASK = SystemTask(
    rules=RULES,
    base_slip=Slip.of("single=100"),
    start_cents=1500,
    target_cents=3000,
    n_rounds=50,
    seed=3,
    level=1 - 1e-6,
    n_sessions=5000,
    n_checks=4000,
    n_paths=600,
)
NAMES = ("flat", "martingale", "labouchere", "stop-loss:5:random")
SESSION = {"start_cents": 1500, "target_cents": 3000, "n_rounds": 50}


@pytest.fixture(scope="module")
def scores():
    return {score.name: score for score in score_systems(TASK, NAMES)}


def test_exact_figures_are_the_programmes(scores):
    law = play_session(
        RULES, flat_tables(RULES, TASK.base_slip, step_cents=5, n_levels=700), **SESSION
    )
    figures = scores["flat"].figures
    assert figures.ev_cents == pytest.approx(law.ev_cents, abs=1e-9)
    assert figures.p_ruin == pytest.approx(law.p_ruin, abs=1e-12)
    assert figures.p_target == pytest.approx(law.p_target, abs=1e-12)
    assert figures.quantiles_cents == tuple(law.quantile(p) - 1500 for p in (0.05, 0.5, 0.95))
    assert figures.cvar_cents == pytest.approx(law.cvar_cents(0.95), abs=1e-9)


def test_every_unit_staked_loses_the_house_edge(scores):
    """All systems, wrappers included; exact figures up to rounding."""
    for score in scores.values():
        assert score.is_exact
        lost = float(Fraction(1, 40)) * score.figures.staked_cents
        assert score.figures.ev_cents == pytest.approx(-lost, abs=1e-7)


def test_simulations_hold_every_exact_figure(scores):
    """20 figures at a false alarm of 1e-6 each; the seed is fixed."""
    for score in scores.values():
        assert score.missed(TASK.start_cents) == ()
        assert score.n_sessions == 4000


def test_a_missed_figure_is_named(scores):
    score = scores["flat"]
    wrong = replace(score, figures=replace(score.figures, p_ruin=0.9, mean_rounds=2.0))
    assert wrong.missed(TASK.start_cents) == ("ruin", "rounds")


def test_differences_are_paired_with_flat_play(scores):
    assert scores["flat"].simulated.difference is None
    tables = {name: tables_of(TASK, name) for name in ("flat", "martingale")}
    result = simulate_sessions(
        RULES, tables, **SESSION, n_sessions=4000, seed=3, level=TASK.level, baseline="flat"
    )
    paired = scores["martingale"].simulated.difference
    assert paired == result.differences["martingale"]
    exact = scores["martingale"].figures.ev_cents - scores["flat"].figures.ev_cents
    assert paired.final_cents.covers(exact)


def test_beyond_the_budget_the_simulation_counts():
    task = replace(TASK, budget=1_000_000)
    flat, labouchere = score_systems(task, ("flat", "labouchere"), threads=2)
    assert flat.is_exact
    assert not labouchere.is_exact
    assert labouchere.n_operations > 1_000_000 >= flat.n_operations
    assert (flat.n_sessions, labouchere.n_sessions) == (4000, 5000)
    (exact,) = score_systems(TASK, ("labouchere",))
    policy = labouchere.simulated.policy
    assert labouchere.figures.ev_cents == policy.final_cents.mean - 1500
    assert labouchere.figures.p_ruin == policy.ruin.mean
    assert labouchere.figures.sd_cents == pytest.approx(exact.figures.sd_cents, rel=0.05)
    assert labouchere.figures.quantiles_cents == labouchere.sampled.quantiles_cents
    assert exact.simulated.policy != policy


def test_sampled_order_statistics_are_those_of_the_paths(scores):
    paths = sample_paths(
        RULES, tables_of(TASK, "martingale"), **SESSION, n_sessions=600, seed=TASK.seed
    )
    sampled = scores["martingale"].sampled
    results = np.sort(paths[:, -1]) - 1500
    drawdowns = np.sort((np.maximum.accumulate(paths, axis=1) - paths).max(axis=1))
    assert sampled.quantiles_cents == (results[29], results[299], results[569])
    assert sampled.drawdowns_cents == (drawdowns[29], drawdowns[299], drawdowns[569])
    assert sampled.cvar_cents == pytest.approx(results[:30].mean())


def test_operations_count_memories_levels_rounds_and_nets():
    tables = tables_of(TASK, "martingale")
    assert operations(TASK, tables) == 7 * 600 * 50 * 2
    assert fits_budget(TASK, tables)
    assert not fits_budget(replace(TASK, budget=7 * 600 * 50 * 2 - 1), tables)


def test_without_a_target_the_lattice_follows_what_a_system_can_stake(monkeypatch):
    monkeypatch.setattr(system_figures, "_MOST_LEVELS", 1 << 15)
    task = replace(TASK, target_cents=None, n_rounds=20)
    tables = tables_of(task, "percentage:20")
    law = play_session(RULES, tables, start_cents=1500, n_rounds=20)
    assert law.overflow < 1e-6
    assert max(slip.total_cents for slip in tables.slips) > 10 * 1500
    assert law.ev_cents == pytest.approx(-law.staked_cents / 40, rel=1e-4)


def test_tables_of_a_long_memory_end_early_and_the_overflow_is_said(monkeypatch):
    monkeypatch.setattr(system_figures, "_MOST_LEVELS", 1000)
    task = replace(TASK, target_cents=None)
    (score,) = score_systems(task, ("contra-dalembert",))
    assert score.n_levels == 4 * 1500 // 5
    assert score.figures.overflow > 0.001
    assert score.simulated.policy.overflow.covers(score.figures.overflow)


def test_any_number_of_threads_gives_the_same_scores(scores):
    assert score_systems(TASK, NAMES, threads=3) == tuple(scores.values())


def test_kept_parts_are_not_made_again(tmp_path, monkeypatch, scores):
    seen = []
    first = score_systems(
        TASK, NAMES, kept=KeptParts(tmp_path), progress=lambda *report: seen.append(report)
    )
    assert first == tuple(scores.values())
    assert seen[-1][1] == seen[-1][2]
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)
    assert len([*tmp_path.iterdir()]) == 3 * len(NAMES)
    for name in ("exact_figures", "sample_session", "simulate_sessions"):
        monkeypatch.setattr(systems, name, None)
    assert score_systems(TASK, NAMES, kept=KeptParts(tmp_path)) == first
    with pytest.raises(TypeError):  # another seed is another simulation
        score_systems(replace(TASK, seed=4), NAMES, kept=KeptParts(tmp_path))


def test_an_interrupted_run_keeps_what_was_done(tmp_path):
    def stop(what, done, total):
        if "sessions" in what:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        score_systems(TASK, NAMES, kept=KeptParts(tmp_path), progress=stop)
    assert len([*tmp_path.iterdir()]) == 2 * len(NAMES)


def test_spoilt_files_count_as_none(tmp_path):
    kept, part = KeptParts(tmp_path), SessionFigures(*range(6), (1, 2, 3), *range(5))
    kept.save(part, {"a": 1})
    assert kept.load(SessionFigures, {"a": 1}) == part
    assert kept.load(SessionFigures, {"a": 2}) is None
    (path,) = tmp_path.iterdir()
    path.write_text(path.read_text("utf-8").replace('"a": 1', '"a": 3'), "utf-8")
    assert kept.load(SessionFigures, {"a": 1}) is None
    path.write_text("{", "utf-8")
    assert kept.load(SessionFigures, {"a": 1}) is None
    assert KeptParts(None).load(SessionFigures, {"a": 1}) is None


def test_a_session_that_cannot_be_played_is_refused_with_every_mistake():
    with pytest.raises(ConfigError) as caught:
        replace(TASK, start_cents=60, target_cents=50)
    assert "a bankroll of 60 cents cannot cover 'single=100'" in str(caught.value)
    assert "a target of 50 cents is not above" in str(caught.value)
    with pytest.raises(ConfigError, match=r"levels of 5 cents .* need at least"):
        tables_of(replace(TASK, target_cents=10**12), "flat")


def test_a_fan_is_exact_within_the_budget_and_sampled_beyond():
    fan = bankroll_fan(TASK, "martingale")
    law = play_session(RULES, tables_of(TASK, "martingale"), **SESSION)
    assert fan.is_exact
    assert np.array_equal(fan.bands, law.bands)
    assert np.array_equal(fan.mean, law.mean_cents)
    assert fan.paths.shape == (8, 51)
    assert (fan.paths[:, 0] == 1500).all()
    sampled = bankroll_fan(replace(TASK, budget=0), "martingale")
    assert not sampled.is_exact
    assert sampled.n_sessions == 2000
    assert np.array_equal(sampled.paths, fan.paths)
    assert np.abs(sampled.mean - fan.mean).max() < 120
