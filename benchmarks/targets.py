"""The targets: what figure must reach what."""

from __future__ import annotations

from dataclasses import dataclass

import betting
import detection
import ours
import playlog
import training
from measure import Figure

__all__ = ["LIMIT_WHEN_SET", "TARGETS", "Target"]

LIMIT_WHEN_SET = 79e6
"""Rounds per second of the limit on the machine and day on which the engine's targets were set."""


@dataclass(frozen=True)
class Target:
    """The least rate (or, with ``unit`` "s", the longest time) asked of a figure."""

    what: str
    figure: str
    least: float
    unit: str

    def is_met(self, figure: Figure) -> bool:
        return figure.value <= self.least if self.unit == "s" else figure.value >= self.least


TARGETS = (
    Target("raw engine, one seat: cells counted", ours.COUNT, 50e6, "rounds"),
    Target("raw engine, one seat: net of every round", ours.PLAY, 50e6, "rounds"),
    Target("vector env, batch 4,096, uint8 card ids", ours.VECTOR_IDS, 25e6, "steps"),
    Target("vector env, batch 4,096, float32 flags", ours.VECTOR_FLOAT32, 10e6, "steps"),
    Target("SB3 adapter, batch 2,048", ours.SB3, 2e6, "steps"),
    Target("single env, step and reset", ours.SINGLE, 150e3, "rounds"),
    Target("`niulab simulate`", ours.SIMULATE, 40e6, "rounds"),
    Target(
        "PPO with SB3's MLP on Arrange: native rows as shipped ÷ DummyVecEnv(8), batch 64 x 10",
        training.RATIO,
        25,
        "times",
    ),
    Target("all hand values, one plain deck, compiled", ours.VALUES, 1.0, "s"),
    Target("`import niulab`", ours.IMPORT, 0.5, "s"),
    Target("law of a slip after 60 flat rounds", betting.FLAT, 0.005, "s"),
    Target("law of 60 rounds with barriers on the way", betting.PROGRAMME, 0.005, "s"),
    Target(
        f"target or ruin, 800 bankrolls, 9 slips, gap at most {betting.GAP:.0e}",
        betting.TARGET,
        0.2,
        "s",
    ),
    Target("optimum of the default Session-v0", betting.SESSION, 0.2, "s"),
    Target("ruin curve, 1,000 bankrolls, 10,000 rounds", betting.RUIN, 10, "s"),
    Target("detection: component updates of the fold", detection.KERNEL, 5e8, "updates"),
    Target("detection: full portfolio, one core", detection.FOLD, 1e6, "player-rounds"),
    Target("play log: rows of plain CSV into a store, one core", playlog.IMPORT, 1.6e5, "plays"),
    Target("league of all systems, two cores, by the wall", betting.STUDY, 180, "s"),
)
