"""The fold: players' states, and how rounds go into them."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from itertools import pairwise
from math import inf, log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from niulab.engine.rules import RuleSet
from niulab.errors import ConfigError
from niulab.evaluation.detection.features import RESULT, SLOTS, least_stakes, slot_levels, top_box
from niulab.evaluation.detection.portfolio import Portfolio
from niulab.evaluation.detection.scores import N_STATISTICS, RoundStarts, round_starts, score_bins
from niulab.evaluation.playlog.plays import Plays

__all__ = ["Folded", "PlayerStates", "fold", "log_e_values", "shares_now"]

Floats = NDArray[np.float64]

_MOST_ROUNDS = 1 << 18
"""A fifth of a second of the compiled fold; all rounds of one player go in one piece."""


@dataclass(frozen=True, eq=False, kw_only=True)
class PlayerStates:
    """What is kept of P players: all that later rounds need.

    values: (P, n_components) wealth in units of 1e100**power. powers, n_rounds: int64 (P,).
    statistics: (P, N_STATISTICS) of the stake scores. peaks: (P,) largest log e-value so far.
    alarms: int64 (P,), the player's round at which the bar was first reached, 0 for never. shares:
    (P, n_attacks), each attack's share of the e-value at that round.
    """

    values: Floats
    powers: NDArray[np.int64]
    n_rounds: NDArray[np.int64]
    statistics: Floats
    peaks: Floats
    alarms: NDArray[np.int64]
    shares: Floats

    @classmethod
    def fresh(cls, n_players: int, portfolio: Portfolio) -> PlayerStates:
        """Players of whom nothing is known."""
        return cls(
            values=np.zeros((n_players, len(portfolio.components))),
            powers=np.zeros(n_players, dtype=np.int64),
            n_rounds=np.zeros(n_players, dtype=np.int64),
            statistics=np.zeros((n_players, N_STATISTICS)),
            peaks=np.full(n_players, -inf),
            alarms=np.zeros(n_players, dtype=np.int64),
            shares=np.zeros((n_players, len(portfolio.attacks))),
        )

    def __len__(self) -> int:
        return len(self.powers)

    def copy(self) -> PlayerStates:
        """The same numbers in arrays of their own."""
        return PlayerStates(**{f.name: getattr(self, f.name).copy() for f in fields(self)})

    def take(self, players: NDArray[np.integer]) -> PlayerStates:
        """Some of the players, copied."""
        return PlayerStates(**{f.name: getattr(self, f.name)[players] for f in fields(self)})

    @staticmethod
    def join(parts: Sequence[PlayerStates]) -> PlayerStates:
        """Players of several pieces, one after the other; no player may be in two."""
        names = [f.name for f in fields(PlayerStates)]
        return PlayerStates(
            **{name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
        )


class Folded(NamedTuple):
    """States after some rounds, the log e-value after each of them (n_rounds,), and the place of
    each row's result in ``result_law`` (n,), -1 where it is not known.
    """

    states: PlayerStates
    starts: RoundStarts
    log_es: Floats
    results: NDArray[np.int16]


def fold(
    portfolio: Portfolio,
    states: PlayerStates,
    plays: Plays,
    *,
    alpha: float = 1e-3,
    given: Floats | None = None,
    threads: int = 1,
) -> Folded:
    """Fold rows sorted by player, time and round into the states of the players they name.

    ``states`` holds one player for each text of ``plays.texts.players`` and is left as it is; the
    sheets of the portfolio are ``plays.texts.rules``, by code. given: (n, portfolio.n_given)
    factors by row. Rows of one player and round count as one factor, weighted by stake. Folding
    pieces one after the other gives the same bytes as folding all at once.
    """
    if not 0 < alpha < 1:
        raise ConfigError(f"alpha is above 0 and below 1, got {alpha:g}: write 0.01, say")
    n_given = portfolio.n_given
    if given is None:
        given = np.ones((len(plays), n_given))
    if given.shape != (len(plays), n_given):
        raise ConfigError(f"given has shape ({len(plays)}, {n_given}), got {given.shape}")
    sheets = portfolio.sheets
    if (last := int(plays.rules.max(initial=-1))) >= len(sheets):
        raise ConfigError(
            f"a portfolio of {len(sheets)} sheets cannot judge rows of sheet number {last + 1}: "
            "make it of all sheets that the rows name"
        )
    starts = round_starts(plays)
    scores = score_bins(
        plays,
        starts,
        states.statistics[starts.codes],
        base_units=np.array([float(rules.base_unit_cents) for rules in sheets]),
        top_boxes=np.array([top_box(rules) for rules in sheets]),
        least=np.array([_least(portfolio, rules) for rules in sheets]),
    )
    levels = slot_levels(plays, sheets, portfolio.slots | {RESULT})
    weights = _seat_weights(plays, starts)
    after = states.copy()
    is_everybody = len(starts.codes) == len(after)
    mine = after if is_everybody else after.take(starts.codes)
    log_es = np.empty(len(starts.rounds) - 1)
    blocks, offsets, tables = portfolio.layout
    from niulab.evaluation.detection.kernels import fold_rounds

    def run(piece: tuple[int, int]) -> None:
        low, high = piece
        fold_rounds(
            starts.players[low : high + 1], starts.rounds, plays.rules, scores.bins, levels,
            weights, given, blocks, offsets, tables, portfolio.weights, portfolio.groups,
            -log(alpha), mine.values[low:high], mine.powers[low:high], mine.n_rounds[low:high],
            mine.peaks[low:high], mine.alarms[low:high], mine.shares[low:high], log_es,
        )  # fmt: skip

    pieces = _pieces(starts, threads)
    if threads <= 1:
        for piece in pieces:
            run(piece)
    else:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(run, pieces))
    if not is_everybody:
        for field in fields(PlayerStates):
            getattr(after, field.name)[starts.codes] = getattr(mine, field.name)
    after.statistics[starts.codes] = scores.statistics
    return Folded(after, starts, log_es, levels[:, SLOTS.index(RESULT)].copy())


def _pieces(starts: RoundStarts, threads: int) -> list[tuple[int, int]]:
    """Ranges of players with about as many rounds each: one a thread or more, and none much longer
    than ``_MOST_ROUNDS``, as Ctrl-C is only heard between two of them.
    """
    n_rounds = int(starts.players[-1])
    n_pieces = max(threads, -(-n_rounds // _MOST_ROUNDS), 1)
    cuts = np.arange(n_pieces + 1) * n_rounds // n_pieces
    edges = np.unique(np.searchsorted(starts.players, cuts)).tolist()
    return [(low, high) for low, high in pairwise(edges) if high > low]


def log_e_values(portfolio: Portfolio, states: PlayerStates) -> Floats:
    """The log e-value of every player now, (P,); 0 for who has not played."""
    from niulab.evaluation.detection.kernels import LOG_UNIT

    waiting = _waiting(states)
    totals = states.values @ portfolio.weights + waiting
    result: Floats = np.log(totals) + states.powers * LOG_UNIT
    return result


def shares_now(portfolio: Portfolio, states: PlayerStates) -> Floats:
    """Each attack's share of every player's e-value now, (P, n_attacks); rows add up to one."""
    waiting = _waiting(states)
    worth = (states.values + waiting[:, None]) * portfolio.weights
    by_attack = np.zeros((len(states), len(portfolio.attacks)))
    for place in range(len(portfolio.attacks)):
        by_attack[:, place] = worth[:, portfolio.groups == place].sum(axis=1)
    result: Floats = by_attack / by_attack.sum(axis=1, keepdims=True)
    return result


def _least(portfolio: Portfolio, rules: RuleSet) -> Floats:
    """Cents on each main box of a seat that raises none, (N_MAIN,)."""
    return least_stakes(rules) if portfolio.low is None else portfolio.low


def _waiting(states: PlayerStates) -> Floats:
    """1 - A_t, the weight of turning later, in each player's units."""
    from niulab.evaluation.detection.kernels import LOG_UNIT, not_yet

    left = np.array([not_yet(t) for t in states.n_rounds.tolist()], dtype=np.float64)
    waiting: Floats = left * np.exp(-LOG_UNIT * states.powers)
    return waiting


def _seat_weights(plays: Plays, starts: RoundStarts) -> Floats:
    """Each row's share of its player's stakes in the round, (n,); equal shares of nothing."""
    from niulab.evaluation.detection.kernels import seat_weights

    weights = np.empty(len(plays))
    seat_weights(starts.rounds, plays.stakes, weights)
    return weights
