"""What boxes and slips are worth: exact moments over the law of a round, as Fractions.

House edge is expected loss per initial stake, element of risk expected loss per chip moved, where
chips moved are |result before commission and half-pay|.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, sqrt

import numpy as np

from niulab.engine.ranking import all_hands, hand_weights, ranker
from niulab.engine.rules.model import RuleSet
from niulab.engine.settlement import Outcome
from niulab.engine.wagers import Slip, verify_slip
from niulab.solvers.joint_law import Cell, JointLaw, joint_law

__all__ = [
    "BoxValues",
    "SlipValues",
    "bonus_ev",
    "box_values",
    "edges_of_all",
    "player_edges",
    "slip_values",
]


@dataclass(frozen=True)
class BoxValues:
    """Exact values of one box per unit staked."""

    ev: Fraction
    variance: Fraction
    moved: Fraction

    @property
    def sd(self) -> float:
        """Standard deviation of the result."""
        return sqrt(self.variance)

    @property
    def house_edge(self) -> Fraction:
        """Expected loss per unit of initial stake."""
        return -self.ev

    @property
    def element_of_risk(self) -> Fraction:
        """Expected loss per chip moved."""
        return -self.ev / self.moved

    @property
    def n0(self) -> float:
        """Rounds after which the mean result is as large as one SD; inf for an EV of 0."""
        return _n0(self.ev, self.variance)


@dataclass(frozen=True)
class SlipValues:
    """Exact values of a slip, in cents; ``variance`` in square cents."""

    slip: Slip
    ev_cents: Fraction
    variance: Fraction
    moved_cents: Fraction

    @property
    def sd_cents(self) -> float:
        """Standard deviation of the slip's net."""
        return sqrt(self.variance)

    @property
    def house_edge(self) -> Fraction:
        """Expected loss per cent staked."""
        return -self.ev_cents / self.slip.total_cents

    @property
    def element_of_risk(self) -> Fraction:
        """Expected loss per cent moved."""
        return -self.ev_cents / self.moved_cents

    @property
    def n0(self) -> float:
        """Rounds after which the mean net is as large as one SD; inf for an EV of 0."""
        return _n0(self.ev_cents, self.variance)


def box_values(rules: RuleSet, law: JointLaw | None = None) -> dict[str, BoxValues]:
    """Exact EV, variance and chips moved of every box per unit staked, without caps or rounding."""
    law = joint_law(rules) if law is None else law
    values = {}
    for box in rules.boxes:
        results = ((cell.unit(rules, box), n) for cell, n in law.cells.items())
        ev, variance, moved = _moments(((r.net, r.moved, n) for r, n in results), law.n_deals)
        values[box] = BoxValues(ev, variance, moved)
    return values


def slip_values(rules: RuleSet, slip: Slip, law: JointLaw | None = None) -> SlipValues:
    """Exact values of a slip in cents, with its rounding, cover and caps; raises WagerError."""
    verify_slip(rules, slip)
    law = joint_law(rules) if law is None else law
    results = ((cell.settle(rules, slip), n) for cell, n in law.cells.items())
    ev, variance, moved = _moments(
        ((Fraction(s.net_cents), Fraction(s.moved_cents), n) for s, n in results), law.n_deals
    )
    return SlipValues(slip, ev, variance, moved)


def player_edges(rules: RuleSet, law: JointLaw | None = None) -> list[str]:
    """A loud sentence for every box whose EV is positive for the player.

    Without a law, a sheet on which no box can favor the player is not solved.
    """
    if law is None and not any(_may_favor_player(rules, box) for box in rules.boxes):
        return []
    return [
        f"WARNING: box '{box}' of {rules.name} pays the PLAYER {float(v.ev):+.10f} per unit staked "
        f"(EV {v.ev}): this sheet is defective or misread"
        for box, v in box_values(rules, law).items()
        if v.ev > 0
    ]


def edges_of_all(sheets: Iterable[RuleSet]) -> list[str]:
    """``player_edges`` of several sheets, those of one game once."""
    once = {rules.rules_hash: rules for rules in sheets}
    return [line for rules in once.values() for line in player_edges(rules)]


def _may_favor_player(rules: RuleSet, box: str) -> bool:
    """Whether only the law can tell on which side a box is.

    Player and dealer are exchangeable and no tie is the player's: a main box that loses at least
    what it pays, rank by rank, never favors the player. A bonus box is its mean award.
    """
    if rules.boxes[box].is_bonus:
        return bonus_ev(rules, box) > 0
    if rules.boxes[box].lose_rank != "dealer":
        return True
    return any(
        Cell(rank, 0, Outcome.WIN, events).unit(rules, box).net > loss
        for rank, loss in enumerate(rules.lose_odds(box))
        for events in range(1 << len(rules.events))
    )


def bonus_ev(rules: RuleSet, box: str, composition: Sequence[int] | None = None) -> Fraction:
    """EV per unit of a bonus box, over the player's hands from the full shoe or a composition."""
    hands = all_hands(multi=rules.deck.decks > 1)
    weights = hand_weights(hands, rules.deck.composition if composition is None else composition)
    counts = np.bincount(ranker(rules).events(hands), weights=weights)  # below 2**40: exact
    total = Fraction(0)
    for events in np.flatnonzero(counts).tolist():
        net, _ = Cell(0, 0, Outcome.LOSE, events).unit(rules, box)
        total += int(counts[events]) * net
    return total / int(weights.sum())


def _n0(mean: Fraction, variance: Fraction) -> float:
    return float(variance / mean**2) if mean else inf


def _moments(
    results: Iterable[tuple[Fraction, Fraction, int]], n_deals: int
) -> tuple[Fraction, Fraction, Fraction]:
    """Mean and variance of net, and mean of chips moved, of (net, moved, count).

    Equal results are counted together first: adding integers costs far less than fractions do.
    """
    counts: dict[tuple[int, int, int, int], int] = {}
    for net, chips, n in results:
        key = net.numerator, net.denominator, chips.numerator, chips.denominator
        counts[key] = counts.get(key, 0) + n
    first = second = moved = Fraction(0)
    for (a, b, c, d), n in counts.items():
        net, chips = Fraction(a, b), Fraction(c, d)
        first += net * n
        second += net * net * n
        moved += chips * n
    mean = first / n_deals
    return mean, second / n_deals - mean * mean, moved / n_deals
