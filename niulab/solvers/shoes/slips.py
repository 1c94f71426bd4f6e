"""What slips are worth by the cards left, which is best, and what a removed card changes.

Under ``profit`` the choice of a slip changes no card, so the best play of a shoe is the best slip
of each round on its own. A main box that loses what it pays costs money from every composition,
and the more the higher its stake: of slips with the same bonus stakes only those with the smallest
costs can be best.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from niulab.engine.rules.model import RuleSet
from niulab.engine.settlement import Outcome, net_table
from niulab.engine.wagers import Slip
from niulab.errors import RulesError
from niulab.solvers.shoes.classes import event_classes
from niulab.solvers.shoes.laws import WinLaw, event_counts, hands_left, win_law

__all__ = ["ShoeSlips", "shoe_slips"]

_Line: TypeAlias = tuple[str, int, int | None]
"""A box, the stake on it and the chips in sight for it, in cents."""


class ShoeSlips:
    """Exact values of a menu by composition; made by ``shoe_slips``, which keeps it.

    Nets are in cents. A composition is a row of 52 counts, the cards left by id, ten or more.
    """

    def __init__(self, rules: RuleSet, menu: Sequence[Slip]) -> None:
        self.rules, self.menu = rules, tuple(menu)
        lines = {line: None for slip in menu for line in _lines(slip)}
        bonus = [line for line in lines if rules.boxes[line[0]].is_bonus]
        main = [line for line in lines if line not in bonus]
        self._awards = _awards(rules, bonus)
        self._costs = _costs(rules, main)
        self._bonus_in = np.array([[line in _lines(slip) for line in bonus] for slip in menu])
        self._main_in = np.array([[line in _lines(slip) for line in main] for slip in menu])

    @cached_property
    def _law(self) -> WinLaw:
        return win_law(self.rules)

    @cached_property
    def full(self) -> NDArray[np.int64]:
        """The full shoe, (1, 52)."""
        return np.array([self.rules.deck.composition], dtype=np.int64)

    @cached_property
    def fresh_bonus(self) -> NDArray[np.float64]:
        """Mean net of each slip's bonus stakes from the full shoe, (slips,)."""
        nets: NDArray[np.float64] = self.bonus_nets(self.full)[0]
        return nets

    @cached_property
    def fresh_main(self) -> NDArray[np.float64]:
        """Mean net of each slip's main stakes from the full shoe, (slips,)."""
        nets: NDArray[np.float64] = self.main_nets(self.full)[0]
        return nets

    @property
    def fresh(self) -> NDArray[np.float64]:
        """Mean net of each slip from the full shoe, (slips,).

        Before a card is dealt the cards of any round are as likely as those of the first, so these
        are the slips' means in every round of a shoe.
        """
        return self.fresh_bonus + self.fresh_main

    @cached_property
    def can_be_best(self) -> NDArray[np.intp]:
        """Slips that no other with the same bonus stakes is at least as good as, in every shoe."""
        costs = self._main_in.astype(np.int64) @ self._costs
        kept: list[int] = []
        for place in range(len(self.menu)):
            same = [i for i in range(len(self.menu)) if self._same_bonus(i, place) and i != place]
            is_beaten = any(
                (costs[i] >= costs[place]).all() and ((costs[i] != costs[place]).any() or i < place)
                for i in same
            )
            if not is_beaten:
                kept.append(place)
        return np.array(kept)

    def _same_bonus(self, one: int, other: int) -> bool:
        return bool((self._bonus_in[one] == self._bonus_in[other]).all())

    def bonus_nets(self, left: NDArray[np.integer]) -> NDArray[np.float64]:
        """Expected net of the bonus stakes of each slip, (n, slips); exact but for one rounding."""
        counts = event_counts(self.rules, left)
        nets = counts @ self._awards.T  # below 2**63: 1e11 hands, 1e6 cents
        means = nets / hands_left(left)[:, None]
        found: NDArray[np.float64] = means @ self._bonus_in.T.astype(np.float64)
        return found

    def main_nets(self, left: NDArray[np.integer]) -> NDArray[np.float64]:
        """Expected net of the main stakes of each slip, (n, slips): about 1 ms a row."""
        costs = self._main_in.astype(np.float64) @ self._costs
        found: NDArray[np.float64] = self._law.wins(left) @ costs.T
        return found

    def nets(self, left: NDArray[np.integer]) -> NDArray[np.float64]:
        """Expected net of each slip, (n, slips)."""
        return self.bonus_nets(left) + self.main_nets(left)

    def best(self, left: NDArray[np.integer]) -> NDArray[np.int64]:
        """The slip of the greatest expected net, (n,); the first of equals."""
        nets = self.bonus_nets(left)[:, self.can_be_best]
        if not self.shares_main:
            nets = nets + self.main_nets(left)[:, self.can_be_best]
        best: NDArray[np.int64] = self.can_be_best[nets.argmax(axis=1)].astype(np.int64)
        return best

    @cached_property
    def shares_main(self) -> bool:
        """Whether all slips that can be best have the same main stakes, so that these cancel."""
        rows = self._main_in[self.can_be_best]
        return bool((rows == rows[0]).all())

    def has_main_of(self, slip: int) -> NDArray[np.bool_]:
        """Which slips have the main stakes of ``slip``, (slips,)."""
        same: NDArray[np.bool_] = (self._main_in == self._main_in[slip]).all(axis=1)
        return same

    @cached_property
    def removals(self) -> tuple[dict[str, Fraction], ...]:
        """For each slip, by class: what one card less of it adds to the net of its bonus stakes."""
        classes = event_classes(self.rules)
        full = self.full[0]
        result: list[dict[str, Fraction]] = [{} for _ in self.menu]
        before = self._exact_bonus(full)
        for number, name in enumerate(classes.names):
            left = full.copy()
            held = np.flatnonzero((classes.class_of == number) & (full > 0))
            if not len(held):
                continue
            left[held[0]] -= 1
            for effects, was, now in zip(result, before, self._exact_bonus(left), strict=True):
                effects[name] = now - was
        return tuple(result)

    def _exact_bonus(self, left: NDArray[np.int64]) -> list[Fraction]:
        nets = (event_counts(self.rules, left[None]) @ self._awards.T)[0]
        hands = int(hands_left(left[None])[0])
        return [
            Fraction(sum(int(net) for net, has in zip(nets, row, strict=True) if has), hands)
            for row in self._bonus_in
        ]


_KEPT: dict[tuple[str, tuple[Slip, ...]], ShoeSlips] = {}


def shoe_slips(rules: RuleSet, menu: tuple[Slip, ...]) -> ShoeSlips:
    """The values of a menu's slips by composition; raises RulesError without a short form."""
    key = (rules.rules_hash, menu)
    if key not in _KEPT:
        _KEPT[key] = ShoeSlips(rules, menu)
    return _KEPT[key]


def _lines(slip: Slip) -> list[_Line]:
    return [(box, cents, slip.sight(box)) for box, cents in slip.stakes]


def _net_table(rules: RuleSet, line: _Line) -> NDArray[np.int64]:
    box, cents, sight = line
    return net_table(rules, Slip(((box, cents),), None if sight is None else ((box, sight),)))


def _awards(rules: RuleSet, lines: Sequence[_Line]) -> NDArray[np.int64]:
    """Net cents of bonus stakes by event mask, (lines, masks)."""
    tables = [_net_table(rules, line)[Outcome.LOSE, 0, 0] for line in lines]
    return np.array(tables, dtype=np.int64).reshape(len(lines), 1 << len(rules.events))


def _costs(rules: RuleSet, lines: Sequence[_Line]) -> NDArray[np.int64]:
    """Cents that main stakes gain by a win with a rank and lose to it, together: (lines, ranks)."""
    costs = np.zeros((len(lines), len(rules.ranks)), dtype=np.int64)
    for row, line in zip(costs, lines, strict=True):
        table = _net_table(rules, line)
        won, lost = table[Outcome.WIN, :, 0], table[Outcome.LOSE, 0, :, 0]
        if rules.boxes[line[0]].lose_rank != "dealer" or (won != won[:, :1]).any():
            raise RulesError(
                f"box '{line[0]}' of '{rules.name}' does not lose by the dealer's rank and win by "
                "the player's alone: its value by composition has no short form"
            )
        row[:] = won[:, 0] + lost
    return costs
