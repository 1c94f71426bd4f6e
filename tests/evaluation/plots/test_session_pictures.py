"""Pictures of sessions, targets and ruin: the same bytes every time, at the edges of their data."""

from dataclasses import replace

import numpy as np
import pytest

from niulab.engine.rules import load_rules
from niulab.engine.wagers import Slip
from niulab.evaluation.plots.ruins import goal_curves, ruin_curves
from niulab.evaluation.plots.sessions import draw_fan, session_league
from niulab.evaluation.plots.targets import best_stakes, chance_curves, deadline_map
from niulab.evaluation.sessions.fan import bankroll_fan
from niulab.evaluation.sessions.ruins import slip_ruin
from niulab.evaluation.sessions.system_figures import SystemTask
from niulab.evaluation.sessions.systems import score_systems

RULES = load_rules("single-double-super")
TASK = SystemTask(
    rules=RULES,
    base_slip=Slip.of("single=100"),
    start_cents=500,
    n_rounds=5,
    target_cents=700,
    n_sessions=50,
    n_checks=20,
    n_paths=20,
)
LEVELS = np.linspace(0, 4, 41)


def draw_league():
    scores = score_systems(TASK, ("flat", "paroli"))
    (simulated,) = score_systems(replace(TASK, budget=0), ("martingale",))
    return session_league((*scores, simulated), baseline="flat", unit_cents=100)


def draw_fans(budget):
    return draw_fan(bankroll_fan(replace(TASK, budget=budget), "paroli"), unit_cents=100)


def make_ruin():
    return slip_ruin(
        RULES,
        Slip.of("single=100"),
        bankrolls_cents=(50, 300, 500),
        rounds=(5, 9),
        target_cents=600,
        n_sessions=20,
        n_endless=20,
    )


def draw_ruin():
    ruin = make_ruin()
    shown = [ruin.place(300), ruin.place(500)]
    return ruin_curves(ruin.curve, ruin.at_end, ruin.simulated, shown=shown, unit_cents=100)


def draw_goal():
    goal = make_ruin().goal
    share, _ = goal.simulated[300]
    return goal_curves(replace(goal, simulated={300: (share, 5)}), unit_cents=100)


def draw_chances(least):
    best = LEVELS / 4
    return chance_curves(LEVELS, {"optimum": best, "bold": best - least}, start=2.0)


def draw_stakes(n_boxes):
    stakes = np.where(LEVELS < 1, np.nan, np.floor(LEVELS))
    return best_stakes(
        LEVELS, dict.fromkeys(("single", "double", "super")[:n_boxes], (stakes, stakes))
    )


def draw_map(n_rounds, n_levels=41):
    levels = np.linspace(0, 4, n_levels) if n_levels > 1 else np.zeros(1)
    rows = np.arange(1, n_rounds + 1)[:, None]
    return deadline_map(levels, np.floor(levels) + 0 * rows, levels * rows / (4 * n_rounds))


PICTURES = {
    "league": draw_league,
    "exact fan": lambda: draw_fans(10**9),
    "sampled fan": lambda: draw_fans(0),
    "ruin": draw_ruin,
    "goal": draw_goal,
    "chances": lambda: draw_chances(0.01),
    "chances without a difference": lambda: draw_chances(0.0),
    "stakes": lambda: draw_stakes(1),
    "stakes of three boxes": lambda: draw_stakes(3),
    "map": lambda: draw_map(6),
    "map of one round": lambda: draw_map(1),
    "map of one bankroll": lambda: draw_map(3, 1),
}


@pytest.mark.parametrize("draw", PICTURES.values(), ids=PICTURES)
def test_pictures_are_pngs_and_the_same_every_time(draw):
    png = draw()
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    assert len(png) > 5_000
    assert draw() == png
