"""Those who need no card: friends of a dealer who mispays, and exploiters of a bad sheet."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from niulab.agents.advantage.config import Beneficiary, Exploiter, high_slip, low_slip
from niulab.agents.advantage.crowd import Attackers, Block, Cents, Seats, cents_by_box
from niulab.engine.rules import RuleSet
from niulab.engine.rules.cover import least_in_sight_cents
from niulab.engine.wagers import Slip, verify_slip
from niulab.solvers.joint_law import joint_law

__all__ = ["Beneficiaries", "Exploiters", "exploited_edge", "exploiting_slip", "mispaid_edge"]

_MISPAYS = 0


class Beneficiaries(Attackers):
    """Stake flat; now and then their table's first dealer pays a win twice or spares a loss."""

    pays_otherwise = True

    def __init__(self, rules: RuleSet, seats: Seats, config: Beneficiary) -> None:
        super().__init__(rules, seats, config)
        self._rate = config.rate
        self._required = self.boxes.index(rules.required_box or "")
        self._friends: np.ndarray | None = None

    def look(self, block: Block) -> None:
        super().look(block)
        dealers = block.dealers[self.seats.tables]
        if self._friends is None:
            self._friends = dealers[:, 0]
        is_friend = dealers == self._friends[:, None]
        self._is_mispaid = (self.chances(_MISPAYS) < self._rate) & is_friend

    def mispaid(self, nets: Cents) -> Cents | None:
        extra = np.zeros_like(nets)
        required = np.abs(nets[:, self._required])
        extra[:, self._required] = np.where(self._is_mispaid[:, self.now], required, 0)
        return self.of_attack(extra)


class Exploiters(Attackers):
    """Stake every round each box that the sheet, or short cover, turns in their favor."""

    def __init__(self, rules: RuleSet, seats: Seats, config: Exploiter) -> None:
        super().__init__(rules, seats, config)
        slip = exploiting_slip(rules, config)
        self.high = cents_by_box(rules, slip)
        self._sights = cents_by_box(rules, dict(slip.in_sight or ()))

    def bets(self) -> Cents:
        slip = self.high if self.has_started else self.low
        return np.tile(slip, (len(self.seats), 1))

    def sights(self) -> Cents | None:
        if not self._sights.any() or not self.has_started:
            return None
        return np.tile(self._sights, (len(self.seats), 1))


def exploiting_slip(rules: RuleSet, config: Exploiter) -> Slip:
    """The slip of the greatest exact mean without a look, its chips in sight declared.

    Every box is staked at its high or its low stake, with its full cover or with the least that
    the table insists on.
    """
    low, high = low_slip(rules, config), high_slip(rules, config)
    stakes, sights = dict[str, int](), dict[str, int]()
    for box, terms in rules.boxes.items():
        choices: list[tuple[int, int | None]] = [(low.stake(box), None), (high.stake(box), None)]
        if terms.cover.shortfall == "cap_loss":
            choices += [(cents, least_in_sight_cents(terms, cents)) for cents, _ in choices]
        cents, sight = max(
            (choice for choice in choices if choice[0] or not terms.required),
            key=lambda choice: _box_mean(rules, box, *choice),
        )
        stakes[box] = cents
        if sight and cents:
            sights[box] = sight
    slip = Slip(tuple(stakes.items()), tuple(sights.items()))
    verify_slip(rules, slip)
    return slip


def exploited_edge(rules: RuleSet, config: Exploiter) -> Fraction:
    """Mean cents a round of ``exploiting_slip``, exactly."""
    slip = exploiting_slip(rules, config)
    return sum(
        (_box_mean(rules, box, cents, slip.sight(box)) for box, cents in slip.stakes), Fraction(0)
    )


def mispaid_edge(rules: RuleSet, config: Beneficiary) -> Fraction:
    """Mean cents a round at a table where the friend always deals, exactly."""
    slip, rate, law = high_slip(rules, config), Fraction(str(config.rate)), joint_law(rules)
    total = Fraction(0)
    for cell, n in law.cells.items():
        nets = cell.settle(rules, slip).net_by_box
        total += n * (sum(nets.values()) + rate * abs(nets[rules.required_box or ""]))
    return total / law.n_deals


def _box_mean(rules: RuleSet, box: str, cents: int, sight: int | None) -> Fraction:
    if not cents:
        return Fraction(0)
    law, slip = joint_law(rules), Slip(((box, cents),), ((box, sight),) if sight else None)
    total = sum(n * cell.settle(rules, slip).net_cents for cell, n in law.cells.items())
    return Fraction(total, law.n_deals)
