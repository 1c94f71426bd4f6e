"""What a policy is worth: exact values, simulated cross-checks, leagues and their reports.

Nothing here trains or loads a network: agents come in as objects.
"""

from __future__ import annotations

from niulab.evaluation.benchmark import (
    Entrant,
    League,
    LeagueRow,
    Provenance,
    benchmark,
    evaluate,
    known_bounds,
    score_agent,
)
from niulab.evaluation.config import BenchmarkConfig, TrainRow, parse_benchmark, read_benchmark
from niulab.evaluation.curves import Curve, read_curve
from niulab.evaluation.exact import actions_of, evaluate_arrangement
from niulab.evaluation.score import (
    ArrangementScore,
    Bounds,
    RankRegret,
    RoundScore,
    SessionScore,
    SimulatedScore,
)
from niulab.evaluation.statistics import Estimate
from niulab.evaluation.streaming import StreamedScore, simulate_stream

__all__ = [
    "ArrangementScore",
    "BenchmarkConfig",
    "Bounds",
    "Curve",
    "Entrant",
    "Estimate",
    "League",
    "LeagueRow",
    "Provenance",
    "RankRegret",
    "RoundScore",
    "SessionScore",
    "SimulatedScore",
    "StreamedScore",
    "TrainRow",
    "actions_of",
    "benchmark",
    "evaluate",
    "evaluate_arrangement",
    "known_bounds",
    "parse_benchmark",
    "read_benchmark",
    "read_curve",
    "score_agent",
    "simulate_stream",
]
