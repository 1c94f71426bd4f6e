"""Pieces of the study: some players each, played and judged block by block in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray

from niulab.agents.advantage.config import AttackConfig
from niulab.engine.rules import RuleSet
from niulab.evaluation.detection.calibration.luck import Luck
from niulab.evaluation.detection.fold import PlayerStates, fold, log_e_values
from niulab.evaluation.detection.lists import e_bh
from niulab.evaluation.detection.portfolio import Portfolio, declared_portfolio
from niulab.evaluation.detection.watch import given_factors, watch_portfolio
from niulab.evaluation.logged.columns import simulate_blocks
from niulab.evaluation.logged.config import FloorConfig
from niulab.evaluation.logged.seating import seat_players
from niulab.evaluation.playlog.plays import Plays

__all__ = [
    "AttackPart",
    "FloorPart",
    "HonestPart",
    "ScorePart",
    "attack_part",
    "declared_for",
    "floor_part",
    "honest_part",
    "score_part",
    "watch_for",
]

_SOON = 32  # rounds of a block where everybody may be found early
_FLOOR_BLOCK = 64


@dataclass(frozen=True)
class HonestPart:
    """Honest players: the largest log e-value of each, the largest z and the last, and rows."""

    peaks: list[float]
    largest_z: list[float]
    last_z: list[float]
    n_rows: int


@dataclass(frozen=True)
class AttackPart:
    """Attackers: rounds from the start to the alarm of both portfolios, and cents won in them.

    0 rounds: no alarm; below 0: before the start. named: the attack named first at the full
    portfolio's alarm. declared: empty where there is none.
    """

    declared: list[int]
    full: list[int]
    won_cents: list[int]
    named: list[str]


@dataclass(frozen=True)
class ScorePart:
    """Scores of players at each horizon, (n_horizons, n): log e-values, and z of the results."""

    log_es: list[list[float]]
    zs: list[list[float]]


@dataclass(frozen=True)
class FloorPart:
    """A floor listed: players, attackers, listed, honest among them; and alarms of the honest.

    n_early: honest players whose e-value ever reached 20. named: attackers whose true attack has
    the largest share.
    """

    n_players: int
    n_attackers: int
    n_listed: int
    n_false: int
    n_early: int


_PORTFOLIOS: dict[tuple[str, str, int], Portfolio] = {}


def watch_for(rules: RuleSet, *, seats: bool) -> Portfolio:
    """The portfolio that judges a log of a sheet; kept."""
    key = rules.rules_hash, "watch", int(seats)
    if key not in _PORTFOLIOS:
        _PORTFOLIOS[key] = watch_portfolio([rules], seats=seats)
    return _PORTFOLIOS[key]


def declared_for(rules: RuleSet, place: int, boxes: tuple[str, ...]) -> Portfolio:
    """The declared attack on one place and some boxes; kept."""
    key = rules.rules_hash, " ".join(("declared", *boxes)), place
    if key not in _PORTFOLIOS:
        _PORTFOLIOS[key] = declared_portfolio(rules, place=place, box=boxes)
    return _PORTFOLIOS[key]


def _blocks(floor: FloorConfig, size: int | None = None) -> Iterator[Plays]:
    return simulate_blocks(floor, pairs=False, rounds_named=False, block_rounds=size)


def honest_part(floor: FloorConfig, z_from: int) -> HonestPart:
    """Fold honest players, each alone at a table."""
    portfolio = watch_for(floor.rules, seats=False)
    states = PlayerStates.fresh(floor.n_players, portfolio)
    luck, n_rows = Luck(floor.rules, floor.n_players, first=z_from), 0
    for plays in _blocks(floor):
        states = fold(portfolio, states, plays).states
        luck.see(plays)
        n_rows += len(plays)
    # who never sat down has no peak
    peaks = np.maximum(states.peaks, 0.0)
    return HonestPart(peaks.tolist(), luck.largest.tolist(), luck.now.tolist(), n_rows)


def attack_part(
    floor: FloorConfig,
    attacker: AttackConfig,
    *,
    declared: tuple[int, tuple[str, ...]] | None,
    alpha: float,
) -> AttackPart:
    """Play attackers, each alone at a table, until all are found or the rounds are over.

    declared: place and boxes of the declared attack, None where nothing is declared.
    """
    full, n = watch_for(floor.rules, seats=False), floor.n_players
    portfolios = [full] if declared is None else [full, declared_for(floor.rules, *declared)]
    states = [PlayerStates.fresh(n, portfolio) for portfolio in portfolios]
    won, done = np.zeros(n, dtype=np.int64), 0
    for plays in _blocks(floor, _SOON):
        before = states[0].alarms > 0
        states = [
            fold(portfolio, state, plays, alpha=alpha).states
            for portfolio, state in zip(portfolios, states, strict=True)
        ]
        nets = plays.nets.sum(axis=1).reshape(n, -1)
        rounds = done + 1 + np.arange(nets.shape[1])
        alarms = np.where(states[0].alarms > 0, states[0].alarms, np.iinfo(np.int64).max)
        is_counted = (rounds > attacker.start) & (rounds <= alarms[:, None]) & ~before[:, None]
        won += np.where(is_counted, nets, 0).sum(axis=1)
        done += nets.shape[1]
        if all((state.alarms > 0).all() for state in states):
            break
    delays = [
        np.where(
            state.alarms > attacker.start,
            state.alarms - attacker.start,
            np.where(state.alarms > 0, -1, 0),
        ).tolist()
        for state in states
    ]
    names = np.array(full.attacks)[states[0].shares.argmax(axis=1)]
    return AttackPart(
        declared=delays[1] if declared is not None else [],
        full=delays[0],
        won_cents=won.tolist(),
        named=np.where(states[0].alarms > 0, names, "").tolist(),
    )


def score_part(floor: FloorConfig, horizons: tuple[int, ...]) -> ScorePart:
    """Fold players alone at a table, and note their scores at each horizon."""
    portfolio, n = watch_for(floor.rules, seats=False), floor.n_players
    states, luck = PlayerStates.fresh(n, portfolio), Luck(floor.rules, n, first=1)
    ahead, log_es, zs = list(horizons), list[list[float]](), list[list[float]]()
    for done, plays in enumerate(_blocks(floor, 1), 1):
        states = fold(portfolio, states, plays).states
        luck.see(plays)
        if done == ahead[0]:
            log_es.append(log_e_values(portfolio, states).tolist())
            zs.append(luck.now.tolist())
            ahead.pop(0)
            if not ahead:
                break
    return ScorePart(log_es, zs)


def floor_part(floor: FloorConfig, fdr: float) -> FloorPart:
    """Judge every player of a floor of tables, and list them."""
    portfolio = watch_for(floor.rules, seats=True)
    states = PlayerStates.fresh(floor.n_players, portfolio)
    for plays in _blocks(floor, _FLOOR_BLOCK):
        states = fold(portfolio, states, plays, given=given_factors(portfolio, plays)).states
    is_attacker = np.array([bool(label.attack) for label in seat_players(floor).labels])
    listed: NDArray[np.bool_] = e_bh(log_e_values(portfolio, states), fdr)
    return FloorPart(
        n_players=floor.n_players,
        n_attackers=int(is_attacker.sum()),
        n_listed=int(listed.sum()),
        n_false=int((listed & ~is_attacker).sum()),
        n_early=int((~is_attacker & (states.peaks >= log(20))).sum()),
    )
