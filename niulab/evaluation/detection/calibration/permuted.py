"""Logs with their deals permuted: the stakes stay, so nobody's stakes know anything of the cards.

The deals of all tables are laid anew over the rounds of the same sheet and number of seats, in
random order. Whatever was staked, and for what reason, each deal is then as likely as any other of
its kind to come next: alarms are false, and at most alpha of the players may be accused, cheats
included. This needs deals that are those of a full deck as a whole: in a log of hands that players
have exchanged, hands are too good wherever they lie.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from niulab.evaluation.detection.attacks.seats import table_rounds
from niulab.evaluation.detection.calibration.watching import watch_for
from niulab.evaluation.detection.fold import PlayerStates, fold
from niulab.evaluation.detection.monitoring.sources import (
    fingerprint_of,
    is_ordered,
    sheets_of_store,
)
from niulab.evaluation.detection.portfolio import Portfolio
from niulab.evaluation.detection.watch import given_factors, watch_portfolio
from niulab.evaluation.logged.columns import simulate_plays
from niulab.evaluation.logged.config import FloorConfig, read_floor
from niulab.evaluation.logged.seating import seat_players
from niulab.evaluation.playlog.plays import Flag, Plays
from niulab.evaluation.playlog.store.folder import open_store
from niulab.evaluation.playlog.store.loading import scan_rounds
from niulab.evaluation.playlog.vocabulary import Lexicon
from niulab.seeding import generator, stream_seed

__all__ = ["LogPart", "LoggedPlays", "Permutation", "log_part", "permute_deals", "verify_log"]

_OF_THE_DEAL = int(Flag.CARD_TWICE | Flag.VOID | Flag.UNKNOWN_RULES | Flag.NO_ORDER)


@dataclass(frozen=True)
class LogPart:
    """Largest log e-values of all players with a stake, and who of them is labelled an attacker.

    n_fixed: rounds, of n_rounds, that kept their deal because there is no other of their kind.
    """

    peaks: list[float]
    is_attacker: list[bool]
    n_rounds: int
    n_fixed: int


@dataclass(frozen=True)
class Permutation:
    """Plays whose deals lie elsewhere."""

    plays: Plays
    n_rounds: int
    n_fixed: int


@dataclass(frozen=True, eq=False)
class LoggedPlays:
    """Where plays come from: a floor that is simulated, or the folder of a store.

    content: what tells it from others.
    """

    source: FloorConfig | Path
    content: str

    @classmethod
    def of(cls, log: str, *, rounds: int | None, seed: int) -> LoggedPlays:
        """By name: a store's folder, or a file of players; raises ConfigError, PlayLogError."""
        if Path(log).is_dir():
            store = open_store(log)
            return cls(Path(log), fingerprint_of(store, store.manifest.version))
        seed = stream_seed(seed, "detection/log")
        floor = read_floor(log).changed(rounds=rounds, seed=seed)
        players = [[one.kind, one.count, one.parameters] for one in floor.players]
        told = [floor.rules.rules_hash, floor.rounds, floor.seed, floor.seats, players]
        return cls(floor, json.dumps(told))

    def read(self) -> tuple[Plays, Portfolio, NDArray[np.bool_]]:
        """All plays by table and round, what watches them, and which players are attackers."""
        if isinstance(self.source, FloorConfig):
            plays = simulate_plays(self.source, pairs=False, rounds_named=False)
            labels = seat_players(self.source).labels
            is_attacker = np.array([bool(label.attack) for label in labels])
            return plays.by_round(), watch_for(self.source.rules, seats=True), is_attacker
        store = open_store(self.source)
        sheets, lexicon = sheets_of_store(store), Lexicon()
        parts = [lexicon.recode(sheets.recode(piece)) for piece in scan_rounds(store)]
        plays = Plays.join([replace(part, texts=lexicon.texts) for part in parts])
        portfolio = watch_portfolio(sheets.rules, ordered=is_ordered(store))
        return plays, portfolio, np.zeros(len(plays.texts.players), dtype=np.bool_)


def verify_log(log: str) -> None:
    """Raise ConfigError or PlayLogError unless a name leads to plays."""
    LoggedPlays.of(log, rounds=None, seed=0)


def log_part(log: LoggedPlays, seed: int, number: int) -> LogPart:
    """Judge every player of a log as it is (number 0), or in one of its permutations."""
    plays, portfolio, is_attacker = log.read()
    n_rounds = n_fixed = 0
    if number == 0:
        n_rounds = len(table_rounds(plays).starts) - 1
    else:
        permutation = permute_deals(plays, generator(seed, f"detection/permuted/{number}"))
        plays, n_rounds, n_fixed = permutation.plays, permutation.n_rounds, permutation.n_fixed
    given = given_factors(portfolio, plays)
    # as in judging a log: rows that came late and those without a stake are left out
    counts = (plays.flags & int(Flag.LATE_ROW)) == 0
    counts &= plays.is_staked | (plays.late != 0).any(axis=1)
    rows = np.flatnonzero(counts)
    rows = rows[
        np.lexsort((plays.seat[rows], plays.round[rows], plays.time[rows], plays.player[rows]))
    ]
    states = PlayerStates.fresh(len(plays.texts.players), portfolio)
    states = fold(portfolio, states, plays.take(rows), given=given[rows]).states
    played = np.flatnonzero(states.n_rounds > 0)
    return LogPart(
        peaks=np.maximum(states.peaks[played], 0.0).tolist(),
        is_attacker=is_attacker[played].tolist(),
        n_rounds=n_rounds,
        n_fixed=n_fixed,
    )


def permute_deals(plays: Plays, rng: np.random.Generator) -> Permutation:
    """Lay the cards of whole rounds on other rounds of the same sheet and number of seats.

    Rounds that are void, of unknown cards or order change places among themselves. Seats take the
    packets in their order; everything else of a row stays.
    """
    rounds = table_rounds(plays)
    firsts, n_rounds = rounds.starts[:-1], len(rounds.starts) - 1
    if not n_rounds:
        return Permutation(plays, 0, 0)
    sizes = np.diff(rounds.starts)
    flags = np.bitwise_or.reduceat(plays.flags[rounds.rows] & _OF_THE_DEAL, firsts)
    kinds = np.stack([plays.rules[rounds.rows[firsts]], sizes, flags.astype(np.int64)], axis=1)
    _, kind = np.unique(kinds, axis=0, return_inverse=True)
    kind, source, n_fixed = kind.ravel(), np.arange(n_rounds), 0
    for number in range(int(kind.max()) + 1):
        mine = np.flatnonzero(kind == number)
        source[mine] = rng.permutation(mine)
        n_fixed += int(len(mine) == 1)
    place = np.arange(len(rounds.rows)) - np.repeat(firsts, sizes)
    lying = rounds.rows[np.repeat(firsts[source], sizes) + place]
    columns: dict[str, Any] = {}
    for name in ("cards", "dealer_cards", "shown"):
        column = getattr(plays, name).copy()
        column[rounds.rows] = getattr(plays, name)[lying]
        columns[name] = column
    return Permutation(replace(plays, **columns), n_rounds, n_fixed)
