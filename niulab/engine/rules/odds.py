"""What one box pays and loses per unit: odds of a hand, and the share of a win that is paid out.

Read from the rules file alone; stakes, caps and rounding belong to ``settlement``.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import NamedTuple

from niulab.engine.rules.model import Award, RuleSet

__all__ = ["Win", "lose_odds", "possible_wins", "win_terms"]


class Win(NamedTuple):
    """A win of ``odds`` to 1, of which ``share`` is paid: 19/20 at 5 % commission, 1/2 at half-pay.

    Odds 0 mean that a bonus box found no award.
    """

    odds: int
    share: Fraction


def win_terms(rules: RuleSet, box: str, *, player_rank: int, events: int = 0) -> Win:
    """Terms on which ``box`` pays a winning hand of ``player_rank`` with the event mask ``events``.

    ``hand_pays`` that hold replace the rank's odds (the highest of them); a bonus box pays its
    highest award or, with ``overlap = "all"``, all of them together.
    """
    terms = rules.boxes[box]
    if terms.is_bonus:
        found = _held(rules, terms.awards, events)
        odds = sum(found) if terms.overlap == "all" else max(found, default=0)
        return _less_commission(rules, box, odds)
    odds = max(_held(rules, terms.hand_pays, events), default=0)
    return _less_commission(rules, box, odds or rules.win_odds(box)[player_rank], player_rank)


def lose_odds(rules: RuleSet, box: str, *, player_rank: int, dealer_rank: int) -> int:
    """Odds at which ``box`` loses; a bonus box loses its stake."""
    terms = rules.boxes[box]
    if terms.is_bonus:
        return 1
    return rules.lose_odds(box)[dealer_rank if terms.lose_rank == "dealer" else player_rank]


def possible_wins(rules: RuleSet, box: str) -> frozenset[Win]:
    """Every ``Win`` the box can pay, whatever hands can reach it."""
    terms = rules.boxes[box]
    if terms.is_bonus:
        subsets = product(*((0, award.odds) for award in terms.awards))
        sums = {sum(subset) if terms.overlap == "all" else max(subset) for subset in subsets}
        return frozenset(_less_commission(rules, box, odds) for odds in sums if odds)
    special = {award.odds for award in terms.hand_pays}
    return frozenset(
        _less_commission(rules, box, odds, rank)
        for rank, plain in enumerate(rules.win_odds(box))
        for odds in {plain, *special}
    )


def _held(rules: RuleSet, awards: tuple[Award, ...], events: int) -> list[int]:
    return [a.odds for a in awards if events >> rules.events.index(a.predicate) & 1]


def _less_commission(rules: RuleSet, box: str, odds: int, rank: int | None = None) -> Win:
    terms = rules.boxes[box]
    share = Fraction(1)
    if odds >= terms.commission.least_odds:
        share -= terms.commission.rate
    if rank is not None and rules.ranks[rank] in terms.half_pay:
        share /= 2
    return Win(odds, share)
