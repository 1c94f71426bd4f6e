"""Pieces of the study: some players each, played and judged block by block in bounded memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import log

import numpy as np
from numpy.typing import NDArray

from niulab.agents.advantage.config import AttackConfig, Colluders
from niulab.evaluation.detection.attacks.groups import Group, group_plays
from niulab.evaluation.detection.calibration.alone import alone_blocks
from niulab.evaluation.detection.calibration.watching import declared_for, full_for, watch_for
from niulab.evaluation.detection.calibration.z_scores import RunningZ
from niulab.evaluation.detection.fold import PlayerStates, fold, log_e_values
from niulab.evaluation.detection.lists import e_bh
from niulab.evaluation.detection.portfolio import Portfolio
from niulab.evaluation.detection.watch import given_factors
from niulab.evaluation.logged.columns import simulate_blocks
from niulab.evaluation.logged.config import FloorConfig
from niulab.evaluation.logged.seating import seat_players
from niulab.evaluation.playlog.plays import NO_CODE, Plays

__all__ = [
    "AttackPart",
    "FloorPart",
    "HonestPart",
    "ScorePart",
    "attack_part",
    "floor_part",
    "honest_part",
    "score_part",
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

    n_early: honest players whose e-value ever reached 20.
    """

    n_players: int
    n_attackers: int
    n_listed: int
    n_false: int
    n_early: int


def _blocks(floor: FloorConfig, size: int | None = None) -> Iterator[Plays]:
    return simulate_blocks(floor, pairs=False, rounds_named=False, block_rounds=size)


def honest_part(floor: FloorConfig, z_from: int) -> HonestPart:
    """Fold honest players, each alone at a table."""
    portfolio = watch_for(floor.rules, seats=False)
    states = PlayerStates.fresh(floor.n_players, portfolio)
    scores, n_rows = RunningZ(floor.rules, floor.n_players, first=z_from), 0
    for plays in alone_blocks(floor):
        states = fold(portfolio, states, plays).states
        scores.see(plays)
        n_rows += len(plays)
    # who never sat down has no peak
    peaks = np.maximum(states.peaks, 0.0)
    return HonestPart(peaks.tolist(), scores.largest.tolist(), scores.now.tolist(), n_rows)


def attack_part(floor: FloorConfig, attacker: AttackConfig, *, alpha: float) -> AttackPart:
    """Play attackers until all are found or the rounds are over.

    Each has a table to himself or, where the attack needs others, with them; only he is judged, or
    the whole group where they collude. Wins are those of whoever is judged.
    """
    full, declared = full_for(floor.rules, attacker), declared_for(floor.rules, attacker)
    portfolios = [full] if declared is None else [full, declared]
    judged = _Judged.of(floor, attacker)
    n = len(judged.names)
    states = [PlayerStates.fresh(n, portfolio) for portfolio in portfolios]
    won, done = np.zeros(n, dtype=np.int64), 0
    for block in _blocks(floor, _SOON):
        plays = judged.rows(block)
        before = states[0].alarms > 0
        states = [
            fold(portfolio, state, plays, alpha=alpha, given=judged.given(portfolio, block)).states
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


@dataclass(frozen=True)
class _Judged:
    """Who of a floor is judged: some players, or declared groups of them.

    players: codes of those who are judged; groups: empty where nobody is judged as one of a group.
    """

    names: tuple[str, ...]
    players: NDArray[np.int64]
    groups: tuple[Group, ...] = ()

    @classmethod
    def of(cls, floor: FloorConfig, attacker: AttackConfig) -> _Judged:
        seating = seat_players(floor)
        names = [label.player for label in seating.labels]
        kinds = [player.kind for player in floor.players]
        members = seating.crowds[kinds.index(attacker.kind)]
        teams = members.reshape(-1, attacker.team)
        if isinstance(attacker, Colluders):
            groups = tuple(
                Group(f"g{place}", tuple(names[code] for code in team))
                for place, team in enumerate(teams.tolist())
            )
            return cls(tuple(group.name for group in groups), members, groups)
        first = teams[:, 0]  # a switcher's partner gains nothing
        return cls(tuple(names[code] for code in first.tolist()), first)

    def rows(self, plays: Plays) -> Plays:
        """The rows of those who are judged, by their own codes and time."""
        if self.groups:
            return group_plays(plays, self.groups)
        if len(self.players) == len(plays.texts.players):
            return plays
        codes = np.full(len(plays.texts.players), NO_CODE, dtype=np.int32)
        codes[self.players] = np.arange(len(self.players))
        mine = plays.take(self._is_judged(plays))
        texts = replace(plays.texts, players=self.names)
        return replace(mine, player=codes[mine.player], texts=texts)

    def given(self, portfolio: Portfolio, plays: Plays) -> NDArray[np.float64] | None:
        """Factors of the judged rows that need every seat, None where there are none."""
        if not portfolio.n_given:
            return None
        return given_factors(portfolio, plays)[self._is_judged(plays)]

    def _is_judged(self, plays: Plays) -> NDArray[np.bool_]:
        return np.isin(plays.player, self.players)


def score_part(floor: FloorConfig, horizons: tuple[int, ...]) -> ScorePart:
    """Fold players alone at a table, and note their scores at each horizon."""
    portfolio, n = watch_for(floor.rules, seats=False), floor.n_players
    states, scores = PlayerStates.fresh(n, portfolio), RunningZ(floor.rules, n, first=1)
    ahead, log_es, zs = list(horizons), list[list[float]](), list[list[float]]()
    for done, plays in enumerate(alone_blocks(floor, 1), 1):
        states = fold(portfolio, states, plays).states
        scores.see(plays)
        if done == ahead[0]:
            log_es.append(log_e_values(portfolio, states).tolist())
            zs.append(scores.now.tolist())
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
