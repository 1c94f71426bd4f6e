"""Settlement: outcome, ranks and stakes into integer cents; knows no cards and no random numbers.

Payments that leave a fraction of a cent are rounded in the rules file's way: ``exact`` refuses the
stake (see ``wagers.stake_step_cents``), ``floor`` pays the whole cents below, ``half_up`` pays the
nearest cent and gives halves to the player, ``house`` rounds in the house's favor. Only payments to
players can leave fractions, so ``house`` pays what ``floor`` pays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from fractions import Fraction
from functools import cached_property
from math import floor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from niulab.engine.rules.cover import loss_cents
from niulab.engine.rules.model import Order, RuleSet
from niulab.engine.rules.odds import lose_odds, win_terms
from niulab.engine.wagers import Slip, stake_step_cents, terms_of
from niulab.errors import WagerError

__all__ = [
    "BoxResult",
    "Outcome",
    "Settlement",
    "UnitResult",
    "moved_table",
    "net_table",
    "settle",
    "settle_box",
    "tie_outcome",
    "unit_result",
]


class Outcome(IntEnum):
    """How the main boxes end for the player."""

    LOSE = 0
    PUSH = 1
    WIN = 2


@dataclass(frozen=True)
class BoxResult:
    """One settled box in cents.

    ``gross_cents`` is signed and counts before commission and half-pay, after the table's caps;
    ``commission_cents`` holds all the house keeps of a win, half-pay and rounding included.
    """

    box: str
    stake_cents: int
    gross_cents: int
    commission_cents: int

    @property
    def net_cents(self) -> int:
        """What the player's chips change by."""
        return self.gross_cents - self.commission_cents

    @property
    def moved_cents(self) -> int:
        """Chips moved: the size of the result before commission and half-pay."""
        return abs(self.gross_cents)


@dataclass(frozen=True)
class Settlement:
    """One seat's settled slip: results in settlement order, bonus boxes first."""

    results: tuple[BoxResult, ...]

    @cached_property
    def net_by_box(self) -> dict[str, int]:
        """Net cents of each staked box."""
        return {result.box: result.net_cents for result in self.results}

    @property
    def net_cents(self) -> int:
        """What the seat's chips change by."""
        return sum(result.net_cents for result in self.results)

    @property
    def moved_cents(self) -> int:
        """Chips moved on all boxes."""
        return sum(result.moved_cents for result in self.results)


class UnitResult(NamedTuple):
    """Exact result per unit staked: no rounding, no caps."""

    net: Fraction
    moved: Fraction


def tie_outcome(order: Order, rank_index: int) -> Outcome:
    """How a round ends between two hands of one rank that the tie-break leaves equal."""
    mode = order.tie_break
    if rank_index == 0 and order.high_card_tie_break is not None:
        mode = order.high_card_tie_break
    winner = mode if mode in {"push", "dealer"} else order.exact_ties
    return Outcome.PUSH if winner == "push" else Outcome.LOSE


def settle_box(
    rules: RuleSet,
    box: str,
    stake_cents: int,
    *,
    outcome: Outcome,
    player_rank: int,
    dealer_rank: int,
    events: int = 0,
    in_sight_cents: int | None = None,
) -> BoxResult:
    """Settle one stake; ranks are indices into ``rules.ranks``, ``events`` the player's event mask.

    ``in_sight_cents`` caps a loss under short cover. Raises WagerError if the rounding is ``exact``
    and the stake leaves a fraction of a cent.
    """
    is_bonus = terms_of(rules, box).is_bonus
    if not is_bonus and outcome == Outcome.PUSH:
        return BoxResult(box, stake_cents, 0, 0)
    if is_bonus or outcome == Outcome.WIN:
        odds, share = win_terms(rules, box, player_rank=player_rank, events=events)
        if odds:
            return _paid(rules, box, stake_cents, odds, share)
    odds = lose_odds(rules, box, player_rank=player_rank, dealer_rank=dealer_rank)
    lost = loss_cents(rules.boxes[box], stake_cents, odds=odds, in_sight_cents=in_sight_cents)
    return BoxResult(box, stake_cents, -lost, 0)


def settle(
    rules: RuleSet,
    slip: Slip,
    *,
    outcome: Outcome,
    player_rank: int,
    dealer_rank: int,
    events: int = 0,
) -> Settlement:
    """Settle a slip, bonus boxes first, then the others in the rules' order."""
    return Settlement(
        tuple(
            settle_box(
                rules,
                box,
                slip.stake(box),
                outcome=outcome,
                player_rank=player_rank,
                dealer_rank=dealer_rank,
                events=events,
                in_sight_cents=slip.sight(box),
            )
            for box in _settlement_order(rules, slip)
        )
    )


def unit_result(
    rules: RuleSet,
    box: str,
    *,
    outcome: Outcome,
    player_rank: int,
    dealer_rank: int,
    events: int = 0,
) -> UnitResult:
    """Exact result of one unit staked on a box, without rounding or caps."""
    is_bonus = terms_of(rules, box).is_bonus
    if not is_bonus and outcome == Outcome.PUSH:
        return UnitResult(Fraction(0), Fraction(0))
    if is_bonus or outcome == Outcome.WIN:
        odds, share = win_terms(rules, box, player_rank=player_rank, events=events)
        if odds:
            return UnitResult(odds * share, Fraction(odds))
    odds = lose_odds(rules, box, player_rank=player_rank, dealer_rank=dealer_rank)
    return UnitResult(Fraction(-odds), Fraction(odds))


def net_table(rules: RuleSet, slip: Slip) -> NDArray[np.int64]:
    """Net cents of a slip in every cell: int64 (3 outcomes, R player, R dealer, 2**n_events)."""
    return _table(rules, slip, lambda result: result.net_cents)


def moved_table(rules: RuleSet, slip: Slip) -> NDArray[np.int64]:
    """Chips moved in every cell, shaped as ``net_table``."""
    return _table(rules, slip, lambda result: result.moved_cents)


def _table(rules: RuleSet, slip: Slip, value: Callable[[BoxResult], int]) -> NDArray[np.int64]:
    """Sum over boxes; a win depends on the player's hand and a loss on one rank, so few cells are
    settled and the rest is broadcast.
    """
    n_ranks, n_masks = len(rules.ranks), 1 << len(rules.events)
    table = np.zeros((len(Outcome), n_ranks, n_ranks, n_masks), dtype=np.int64)

    def cell(box: str, outcome: Outcome, player: int = 0, dealer: int = 0, events: int = 0) -> int:
        return value(
            settle_box(
                rules,
                box,
                slip.stake(box),
                outcome=outcome,
                player_rank=player,
                dealer_rank=dealer,
                events=events,
                in_sight_cents=slip.sight(box),
            )
        )

    for box in _settlement_order(rules, slip):
        if rules.boxes[box].is_bonus:
            table += np.array([cell(box, Outcome.PUSH, events=e) for e in range(n_masks)])
            continue
        masks = range(n_masks if rules.boxes[box].hand_pays else 1)  # else all are paid alike
        for rank in range(n_ranks):
            wins = [cell(box, Outcome.WIN, rank, events=e) for e in masks]
            table[Outcome.WIN, rank] += np.array(wins)
            loss = cell(box, Outcome.LOSE, rank, rank)
            if rules.boxes[box].lose_rank == "dealer":
                table[Outcome.LOSE, :, rank] += loss
            else:
                table[Outcome.LOSE, rank] += loss
    return table


def _settlement_order(rules: RuleSet, slip: Slip) -> list[str]:
    order = list(rules.boxes)
    return sorted(slip.boxes, key=lambda box: (not terms_of(rules, box).is_bonus, order.index(box)))


def _paid(rules: RuleSet, box: str, stake_cents: int, odds: int, share: Fraction) -> BoxResult:
    terms = rules.boxes[box]
    gross = stake_cents * odds
    rounding = terms.commission.rounding
    if terms.max_win_cents is not None and gross > terms.max_win_cents:
        gross = terms.max_win_cents
        # A capped win is no multiple of anything; what is left of a cent stays with the house.
        rounding = "floor" if rounding == "exact" else rounding
    exact = gross * share
    if rounding == "exact" and exact.denominator > 1:
        message = (
            f"{box.upper()} {stake_cents} wins {float(exact)} cents, a fraction the rules refuse: "
            f"stakes are multiples of {stake_step_cents(rules, box)} cents"
        )
        raise WagerError(message)
    paid = floor(exact + Fraction(1, 2)) if rounding == "half_up" else floor(exact)
    return BoxResult(box, stake_cents, gross, gross - paid)
