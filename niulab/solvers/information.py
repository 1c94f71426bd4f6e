"""What a box is worth once one card is known before the stake goes in: exact, by position.

Own card: the mean of the hand values over the hands that hold it. Dealer's card: the same from the
dealer's side, over the dealer's hands that hold it.
"""

from __future__ import annotations

from fractions import Fraction
from math import lcm
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from niulab.engine.cards import RANKS, Card
from niulab.engine.rules.model import RuleSet
from niulab.engine.settlement import Outcome
from niulab.errors import RulesError, nearest
from niulab.solvers.hand_values import option_values
from niulab.solvers.joint_law import Cell, tie_outcomes
from niulab.solvers.matchups import Matchups, exact_dot, matchups
from niulab.solvers.values import bonus_ev

__all__ = ["value_given_card"]


def value_given_card(
    rules: RuleSet, box: str, card: str | int, position: Literal["own", "dealer"] = "own"
) -> Fraction:
    """EV per unit of ``box`` given that one card of the player's / the dealer's hand is known.

    ``card`` is a card (``"KS"``, an id) or a rank (``"K"``: the mean over its suits). Both hands
    are set best. Raises RulesError for an unknown box, and for a dealer's card with a main box that
    pays on the player's five cards beyond their rank (``hand_pays``).
    """
    if box not in rules.boxes:
        message = f"no box '{box}' in {rules.name}{nearest(box, rules.boxes)}"
        raise RulesError(message)
    if isinstance(card, str) and card.upper() in RANKS:
        ids = [4 * RANKS.index(card.upper()) + suit for suit in range(4)]
    else:
        ids = [Card.of(card).id]
    if position == "dealer" and rules.boxes[box].is_bonus:
        return sum((_bonus_without(rules, box, card_id) for card_id in ids), Fraction(0)) / len(ids)
    table = matchups(rules)
    nets, scale = _unit_nets(rules, box)
    if position == "own":
        values = option_values(rules, nets, table, 0, ties=tie_outcomes(rules))
    else:
        values = _dealer_values(rules, box, nets, table)
    # a hand holds a card m times in m of its five (exchangeable) places
    places = np.isin(table.hands, ids).sum(axis=1)
    weights = table.weights * places
    return Fraction(exact_dot(weights, values), int(weights.sum()) * table.n_opponents * scale)


def _unit_nets(rules: RuleSet, box: str) -> tuple[NDArray[np.int64], int]:
    """A ``net_table`` of one unit in ``box``, in the least common fraction of a unit."""
    n_ranks, n_masks = len(rules.ranks), 1 << len(rules.events)
    nets = {
        (o, p, d, e): Cell(p, d, o, e).unit(rules, box).net
        for o in Outcome
        for p in range(n_ranks)
        for d in range(n_ranks)
        for e in range(n_masks)
    }
    scale = lcm(*(net.denominator for net in nets.values()))
    table = np.zeros((len(Outcome), n_ranks, n_ranks, n_masks), dtype=np.int64)
    for cell, net in nets.items():
        table[cell] = int(net * scale)
    return table, scale


def _dealer_values(
    rules: RuleSet, box: str, nets: NDArray[np.int64], table: Matchups
) -> NDArray[np.int64]:
    """The player's net as seen from each dealer's hand: the seats of the net table swapped."""
    if rules.boxes[box].hand_pays:
        message = (
            f"box '{box}' of {rules.name} pays on the player's five cards beyond their rank: "
            "its value given a dealer's card is not offered; ask for an own card"
        )
        raise RulesError(message)
    opposite = {Outcome.WIN: Outcome.LOSE, Outcome.PUSH: Outcome.PUSH, Outcome.LOSE: Outcome.WIN}
    swapped = np.empty_like(nets)
    for outcome, seen in opposite.items():
        swapped[seen] = nets[outcome].transpose(1, 0, 2)
    return option_values(
        rules, swapped, table, 0, ties=[opposite[tie] for tie in tie_outcomes(rules)]
    )


def _bonus_without(rules: RuleSet, box: str, card_id: int) -> Fraction:
    """EV of a bonus box when one copy of a card lies in the dealer's hand."""
    copies = list(rules.deck.composition)
    copies[card_id] -= 1
    return bonus_ev(rules, box, copies)
