"""Promotions: coupons by their terms and boxes, and ways through a turnover requirement."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, NamedTuple

from niulab.engine.rules.model import RuleSet
from niulab.engine.wagers import Slip
from niulab.solvers.joint_law import joint_law
from niulab.solvers.optimal.promotions import CouponValue, coupon_value
from niulab.solvers.optimal.turnover import TurnoverProblem, solve_turnover

__all__ = ["TERMS", "Coupon", "Terms", "Way", "coupons", "make_way"]

Multiples = Literal["owed", "waived"]


class Terms(NamedTuple):
    """What a coupon does: see ``solvers.optimal.promotions``."""

    kind: Literal["free_bet", "match_play"]
    life: Literal["one_shot", "until_lost"] = "one_shot"
    stake_returned: bool = False


TERMS = {
    "free bet": Terms("free_bet"),
    "free bet, stake returned": Terms("free_bet", stake_returned=True),
    "match play": Terms("match_play"),
    "chip until lost": Terms("free_bet", "until_lost"),
}
"""Common terms by name."""


@dataclass(frozen=True)
class Coupon:
    """A coupon of a face on one box, with what exceeds its face of a loss ``owed`` or ``waived``.

    value: exact, per unit of the face.
    """

    terms: str
    multiples: Multiples
    face_cents: int
    value: CouponValue

    @property
    def net_cents(self) -> Fraction:
        """What using it is worth, less what the slip that must lie beside it loses."""
        return self.face_cents * self.value.value - self.value.beside_cents


@dataclass(frozen=True)
class Way:
    """A way through a turnover requirement: a menu at its best, or one slip all along.

    price: base units paid for meeting it, beyond the bankroll; None where only the probability
    counts. low, high: proven bounds of the objective. p_met: of meeting it. cost: mean loss,
    forfeits included, in base units; nan where only the probability counts. slip: the first.
    """

    slips: tuple[Slip, ...]
    price: float | None
    low: float
    high: float
    p_met: float
    cost: float
    slip: Slip | None

    @property
    def risk(self) -> float:
        """Probability to be ruined first, and so to forfeit what is left."""
        return 1 - self.p_met

    @property
    def gap(self) -> float:
        """The distance of the bounds."""
        return self.high - self.low


def coupons(rules: RuleSet, face_cents: int) -> tuple[Coupon, ...]:
    """All terms on all boxes, under both readings of multiplied losses; exact."""
    law = joint_law(rules)
    return tuple(
        Coupon(
            terms=name,
            multiples=multiples,
            face_cents=face_cents,
            value=coupon_value(rules, box, multiples=multiples, law=law, **terms._asdict()),
        )
        for name, terms in TERMS.items()
        for box in rules.boxes
        for multiples in ("owed", "waived")
    )


def make_way(problem: TurnoverProblem) -> Way:
    """Solve a requirement and keep its figures."""
    solution = solve_turnover(problem)
    is_money = problem.objective == "value"
    return Way(
        slips=problem.slips,
        price=problem.price if is_money else None,
        low=solution.low,
        high=solution.high,
        p_met=solution.p_met,
        cost=solution.cost if is_money else float("nan"),
        slip=solution.best_slip(problem.start_cents, problem.turnover_cents),
    )
