"""What the best setting of a hand would have been, and what another one costs."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from niulab.envs.seat.core import State
    from niulab.envs.settings import EnvSettings

__all__ = ["Advice", "advise"]


@dataclass(frozen=True)
class Advice:
    """best: the two front cards of the best setting. regret_cents: what the chosen one is expected
    to cost beside it, given all that the player knew, exact.
    """

    best: tuple[int, int]
    regret_cents: Fraction


def advise(settings: EnvSettings, state: State, action: int) -> Advice:
    """Compare a setting of the hand on the table with the best one for the slip at stake."""
    from niulab.engine.hands import SPLITS, arrangements, best_arrangement
    from niulab.envs.seat.core import setting_in_order
    from niulab.solvers.one_hand import best_setting, hand_report, settle_hands

    rules, slip, hand = settings.rules, settings.menu[state.slip], sorted(state.hand)
    chosen = setting_in_order(state.hand, action)
    if settings.sees_dealer and rules.arrangement == "as_set":  # the deal is known: no expectation
        best = best_setting(rules, hand, slip, state.dealer)
        dealer, sets = best_arrangement(state.dealer, rules), arrangements(hand, rules)
        nets = [
            settle_hands(rules, slip, sets[setting], dealer).net_cents for setting in (best, chosen)
        ]
        regret = Fraction(nets[0] - nets[1])
    else:
        chips = None if settings.bankroll_cents is None else state.bankroll_cents
        report = hand_report(rules, hand, slip, bankroll_cents=chips)
        best = report.best.action
        regret = report.best.ev_cents - report.settings[chosen].ev_cents
    first, second = SPLITS[best]
    return Advice((hand[first], hand[second]), regret)
