"""Rounds called off: after the cards are exposed they break the law that every test rests on.

Two tests a player: are more of his rounds called off than the bound allows, and would he have lost
the ones that were? Who calls a round off without knowing its end calls off wins and losses alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import log

import numpy as np
from numpy.typing import NDArray

from niulab.engine.rules import RuleSet
from niulab.engine.settlement import Outcome
from niulab.evaluation.detection.features import result_cells, result_law
from niulab.evaluation.detection.tables.rates import rate_log_e
from niulab.evaluation.detection.tables.texts import text_of
from niulab.evaluation.playlog.plays import NO_CARD, NO_CODE, Flag, Plays
from niulab.evaluation.playlog.replay import would_be_nets

__all__ = ["VoidSeat", "Voids", "loss_factors", "player_voids", "void_seats"]

_SURE = np.array([0.3, 0.9])
"""How often a round is called off because it would be lost."""

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Voids:
    """A player's rounds, how many were called off, how many of these with both hands exposed, and
    how many of these he would have lost; largest log e-values along each.

    would_be_cents: what all his seats of rounds called off would have won or lost, as far as their
    cards tell.
    """

    player: str
    rounds: int
    voids: int
    exposed: int
    would_lose: int
    would_be_cents: int
    log_e_rate: float
    log_e_losses: float


@dataclass(frozen=True)
class VoidSeat:
    """A seat of a round called off, and why; cents staked, and what the round would have paid him:
    net, None where the cards do not tell.
    """

    round: str
    table: str
    dealer: str
    seat: int
    player: str
    reason: str
    stake_cents: int
    would_be_cents: int | None


def void_seats(plays: Plays, sheets: Sequence[RuleSet]) -> list[VoidSeat]:
    """Every staked seat of a round called off, in the order of the rows."""
    rows = plays.take(((plays.flags & int(Flag.VOID)) != 0) & plays.is_staked)
    nets, known = would_be_nets(rows, sheets)
    stakes = (rows.stakes + rows.late).sum(axis=1)
    return [
        VoidSeat(
            round=text_of(rows.texts.rounds, rows.round[row]),
            table=text_of(rows.texts.tables, rows.table[row]),
            dealer=text_of(rows.texts.dealers, rows.dealer[row]),
            seat=int(rows.seat[row]),
            player=text_of(rows.texts.players, rows.player[row]),
            reason=text_of(rows.texts.voids, rows.void[row]),
            stake_cents=int(stakes[row]),
            would_be_cents=int(nets[row].sum()) if known[row] else None,
        )
        for row in range(len(rows))
    ]


def loss_factors(rules: RuleSet) -> Floats:
    """Factors of a voided round that would not and would have been lost, (2, k), of mean one."""
    known = result_law(rules)
    is_loss = np.array([cell.outcome == Outcome.LOSE for cell in known.cells])
    chance = float(known.law @ is_loss)
    factors: Floats = np.stack([1 - _SURE, 1 - _SURE + _SURE / chance])
    return factors


def player_voids(plays: Plays, sheets: Sequence[RuleSet], *, bound: float) -> list[Voids]:
    """Every player with a round called off, by name. bound: the share of rounds that may be.

    Raises ConfigError for a bound that is no rate.
    """
    rows = plays.take(plays.player != NO_CODE).by_player()
    is_void = (rows.flags & int(Flag.VOID)) != 0
    steps = _loss_steps(rows, sheets, is_void)
    would_be = np.zeros(len(rows), dtype=np.int64)
    would_be[is_void] = would_be_nets(rows.take(is_void), sheets)[0].sum(axis=1)
    found = []
    codes = np.unique(rows.player[is_void]).astype(np.int64)
    edges = np.searchsorted(rows.player, np.stack([codes, codes + 1]))
    for code, low, high in zip(codes.tolist(), *edges.tolist(), strict=True):
        mine = np.arange(low, high)
        numbers = rows.round[mine]
        # seats of one round share the dealer: the first seat stands for it
        first = mine[np.r_[True, numbers[1:] != numbers[:-1]]]
        tested = first[np.isfinite(steps[first, 0])]
        paths = [
            list(accumulate(steps[tested, k].tolist(), initial=0.0)) for k in range(len(_SURE))
        ]
        mixed = [np.logaddexp.reduce(path) - log(len(_SURE)) for path in zip(*paths, strict=True)]
        found.append(
            Voids(
                player=rows.texts.players[code],
                rounds=len(first),
                voids=int(is_void[first].sum()),
                exposed=len(tested),
                would_lose=int((steps[tested, 0] > 0).sum()),
                would_be_cents=int(would_be[mine].sum()),
                log_e_rate=rate_log_e(is_void[first], bound),
                log_e_losses=float(max(mixed)),
            )
        )
    return sorted(found, key=lambda one: one.player)


def _loss_steps(plays: Plays, sheets: Sequence[RuleSet], is_void: NDArray[np.bool_]) -> Floats:
    """Log factors (n, k) of voided rows with both hands known; NaN on other rows."""
    steps = np.full((len(plays), len(_SURE)), np.nan)
    exposed = is_void & ((plays.flags & int(Flag.CARD_TWICE | Flag.UNKNOWN_RULES)) == 0)
    exposed &= (plays.cards < NO_CARD).all(axis=1) & (plays.dealer_cards < NO_CARD).all(axis=1)
    for code, rules in enumerate(sheets):
        rows = np.flatnonzero(exposed & (plays.rules == code))
        if not len(rows):
            continue
        cells = result_cells(rules, plays.cards[rows], plays.dealer_cards[rows])
        is_loss = np.array([c.outcome == Outcome.LOSE for c in result_law(rules).cells])[cells]
        steps[rows] = np.log(loss_factors(rules))[is_loss.astype(np.int64)]
    return steps
