"""Detection: the fold of players' rounds into every component of the full portfolio.

The rounds are dealt by the engine to players who stake the box of the highest odds at random. Their
e-values are checked against the fold in pure NumPy, one round after the other, before any speed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from measure import Meter
from numpy.typing import NDArray

from niulab.engine.batch import BatchEngine
from niulab.engine.rules import load_rules
from niulab.evaluation.detection.excess import ExcessStates, fold_excess, round_gains
from niulab.evaluation.detection.features import SLOTS, least_stakes, slot_levels, top_box
from niulab.evaluation.detection.fold import PlayerStates, fold
from niulab.evaluation.detection.kernels import fold_rounds, not_yet
from niulab.evaluation.detection.portfolio import Portfolio
from niulab.evaluation.detection.scores import SCORES, Scores, round_starts, score_bins
from niulab.evaluation.detection.watch import given_factors, watch_portfolio
from niulab.evaluation.playlog.plays import Plays, Vocabularies
from niulab.seeding import generator

__all__ = ["FOLD", "KERNEL", "NUMPY", "measure_detection"]

KERNEL = "detection: fold kernel, full portfolio"
NUMPY = "detection: the same in NumPy, round by round"
FOLD = "detection: player-rounds, features to verdict's states"

_RULES = "single-double-super"
_N_PLAYERS, _N_ROUNDS = 200, 200
_BAR = 700.0  # of log e-values: nobody reaches it


@dataclass(frozen=True, eq=False)
class _Case:
    portfolio: Portfolio
    plays: Plays
    levels: NDArray[np.int16]
    scores: Scores
    given: NDArray[np.float64]


def measure_detection(meter: Meter) -> None:
    """The kernel alone in component updates, NumPy beside it, and all work on a player's rounds."""
    case = _case()
    n, k = len(case.plays), len(case.portfolio.components)
    few = np.arange(_N_ROUNDS)  # of the first player
    expected, (_, found) = _numpy_fold(case, few), _kernel(case)
    if not np.allclose(found[few], expected, rtol=1e-9):
        message = "the fold and its definition in NumPy differ"
        raise AssertionError(message)
    meter.rate(KERNEL, lambda: _kernel(case), n * k, unit="updates", batch=_N_PLAYERS)
    meter.rate(NUMPY, lambda: _numpy_fold(case, few), len(few) * k, unit="updates")
    meter.rate(FOLD, lambda: _judge(case), n, unit="player-rounds", batch=_N_PLAYERS)


def _case() -> _Case:
    rules = load_rules(_RULES)
    portfolio = watch_portfolio([rules])
    n = _N_PLAYERS * _N_ROUNDS
    packets = BatchEngine(rules).deal(np.arange(n, dtype=np.uint64), np.zeros(n, dtype=np.int64))
    stakes = np.zeros((n, 4), dtype=np.int64)
    stakes[:, 0] = 100
    stakes[:, top_box(rules)] = 100 * (generator(0, "benchmarks/detection").random(n) < 0.4)
    plays = Plays.of(
        n,
        Vocabularies(players=tuple(f"p{i}" for i in range(_N_PLAYERS)), rules=(rules.name,)),
        player=np.repeat(np.arange(_N_PLAYERS), _N_ROUNDS),
        round=np.arange(n),
        time=np.tile(np.arange(_N_ROUNDS), _N_PLAYERS),
        rules=0,
        stakes=stakes,
        cards=packets[:, 0],
        dealer_cards=packets[:, 1],
    )
    starts = round_starts(plays)
    fresh = PlayerStates.fresh(_N_PLAYERS, portfolio)
    scores = score_bins(
        plays, starts, fresh.statistics, base_units=np.array([float(rules.base_unit_cents)]),
        top_boxes=np.array([top_box(rules)]), least=np.array([least_stakes(rules)]),
    )  # fmt: skip
    levels = slot_levels(plays, [rules], portfolio.slots)
    return _Case(portfolio, plays, levels, scores, given_factors(portfolio, plays))


def _kernel(case: _Case) -> tuple[PlayerStates, NDArray[np.float64]]:
    states = PlayerStates.fresh(_N_PLAYERS, case.portfolio)
    starts, n = round_starts(case.plays), len(case.plays)
    log_es = np.empty(n)
    blocks, offsets, tables = case.portfolio.layout
    fold_rounds(
        starts.players, starts.rounds, case.plays.rules, case.scores.bins, case.levels, np.ones(n),
        case.given, blocks, offsets, tables, case.portfolio.weights, case.portfolio.groups, _BAR,
        states.values, states.powers, states.n_rounds, states.peaks, states.alarms, states.shares,
        log_es,
    )  # fmt: skip
    return states, log_es


def _numpy_fold(case: _Case, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Log e-values of one player's rows, a vector operation a round."""
    values = np.zeros(len(case.portfolio.components))
    log_es = np.empty(len(rows))
    for t, row in enumerate(rows.tolist(), start=1):
        parts, column = [], 0
        for block in case.portfolio.blocks:
            head, k = block.components[0], len(block.components)
            if block.is_given:
                parts.append(case.given[row, column : column + k])
                column += k
                continue
            level = case.levels[row, SLOTS.index(head.slot)]
            table = block.tables[0]
            if level < 0 or table is None:
                parts.append(np.ones(k))
            else:
                parts.append(table[case.scores.bins[row, SCORES.index(head.score)], level])
        values = (values + not_yet(t - 1) - not_yet(t)) * np.concatenate(parts)
        log_es[t - 1] = np.log(case.portfolio.weights @ values + not_yet(t))
    return log_es


def _judge(case: _Case) -> ExcessStates:
    portfolio, plays = case.portfolio, case.plays
    fresh = PlayerStates.fresh(_N_PLAYERS, portfolio)
    folded = fold(portfolio, fresh, plays, given=given_factors(portfolio, plays))
    gains = round_gains(plays, folded.starts, folded.results, portfolio.sheets)
    return fold_excess(ExcessStates.fresh(_N_PLAYERS), folded.starts, gains)
