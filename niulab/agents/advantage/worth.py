"""What boxes are worth once a card is seen, the best slip for it, and what playing so earns: exact.

Where settlement is linear in the stake, the best slip within limits stakes every box at its most
where its mean is above zero and at its least elsewhere, box by box.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from niulab.engine.rules import RuleSet
from niulab.engine.wagers import Slip
from niulab.solvers.channels import NOTHING, Channel
from niulab.solvers.information import value_given_card
from niulab.solvers.limits.information import mutual_information
from niulab.solvers.values import box_values

__all__ = ["BoxWorths", "Plan", "best_plan", "box_worths", "plan_edge", "plan_information"]

_WORTHS: dict[tuple[str, Channel, tuple[str, ...]], BoxWorths] = {}


@dataclass(frozen=True, eq=False)
class BoxWorths:
    """Mean result of a unit on every box by signal of a channel; the last signal is ``nothing``.

    chances: of each signal. card_chances: of each class of cards, without ``nothing``. blind: by
    box, without a look. card: by box and class, such a card lying where the channel looks.
    """

    names: tuple[str, ...]
    chances: tuple[Fraction, ...]
    card_chances: tuple[Fraction, ...]
    values: Mapping[str, tuple[Fraction, ...]]
    blind: Mapping[str, Fraction]
    card: Mapping[str, tuple[Fraction, ...]]


@dataclass(frozen=True, eq=False)
class Plan:
    """Cents by box, in the sheet's order: low and cover (B,), slips by signal (n_signals, B).

    A cover play is the slip of the signal that favors the player most.
    """

    boxes: tuple[str, ...]
    low: NDArray[np.int64]
    slips: NDArray[np.int64]
    cover: NDArray[np.int64]

    @property
    def is_favorable(self) -> NDArray[np.bool_]:
        """Which signals call for more than the low slip, (n_signals,)."""
        differs: NDArray[np.bool_] = (self.slips != self.low).any(axis=1)
        return differs


def box_worths(rules: RuleSet, channel: Channel, boxes: Collection[str] | None = None) -> BoxWorths:
    """Exact worths of boxes (default: all) by signal, by Bayes' rule (see ``solvers.channels``).

    About 10 ms a box and class where it holds whole ranks, half a second elsewhere, seconds for a
    bonus box; kept.
    """
    asked = tuple(box for box in rules.boxes if boxes is None or box in boxes)
    key = rules.rules_hash, channel, asked
    if key not in _WORTHS:
        _WORTHS[key] = _box_worths(rules, channel, asked)
    return _WORTHS[key]


def _box_worths(rules: RuleSet, channel: Channel, boxes: tuple[str, ...]) -> BoxWorths:
    copies, classes = rules.deck.composition, channel.values(rules)
    sees, noise = Fraction(str(channel.see_rate)), Fraction(str(channel.noise))
    blind = {box: values.ev for box, values in box_values(rules).items() if box in boxes}
    shares = tuple(Fraction(sum(copies[i] for i in ids), sum(copies)) for ids in classes.values())
    other = noise / len(classes)
    card = {
        box: tuple(value_given_card(rules, box, ids, channel.position) for ids in classes.values())
        for box in boxes
    }
    shown = [(1 - noise) * share + other for share in shares]
    values = {
        box: (
            *(
                ((1 - noise) * share * value + other * blind[box]) / chance
                if chance
                else blind[box]
                for share, value, chance in zip(shares, card[box], shown, strict=True)
            ),
            blind[box],
        )
        for box in boxes
    }
    chances = (*(sees * chance for chance in shown), 1 - sees)
    return BoxWorths((*classes, NOTHING), chances, shares, values, blind, card)


def best_plan(rules: RuleSet, worths: BoxWorths, low: Slip, high: Slip) -> Plan:
    """The slip of the greatest exact mean for each signal, between two slips box by box.

    Boxes that neither slip stakes need no worths.
    """
    boxes = tuple(rules.boxes)
    unstaked = (Fraction(0),) * len(worths.chances)
    least = np.array([low.stake(box) for box in boxes], dtype=np.int64)
    most = np.maximum(least, [high.stake(box) for box in boxes])
    values = np.array([[float(v) for v in worths.values.get(box, unstaked)] for box in boxes]).T
    slips = np.where(values > 0, most, least)
    gains = (slips * values).sum(axis=1) - values @ least
    return Plan(boxes, least, slips, slips[int(gains.argmax())])


def plan_edge(
    worths: BoxWorths, plan: Plan, *, cover_bet: float = 0.0, hold_back: float = 0.0
) -> Fraction:
    """Mean cents a round of playing a plan, cover plays and plays held back included."""
    covers, holds = Fraction(str(cover_bet)), Fraction(str(hold_back))
    total = Fraction(0)
    for signal, chance in enumerate(worths.chances):
        if plan.is_favorable[signal]:
            mixed = ((1 - holds, plan.slips[signal]), (holds, plan.low))
        else:
            mixed = ((1 - covers, plan.low), (covers, plan.cover))
        for share, slip in mixed:
            total += chance * share * _mean(worths, plan, slip, signal)
    return total


def plan_information(
    worths: BoxWorths, plan: Plan, channel: Channel, *, cover_bet: float, hold_back: float
) -> float:
    """Nats a round that the stakes tell of the class of the card at the place looked at."""
    n = len(worths.card_chances)
    shown = (1 - channel.noise) * np.eye(n) + channel.noise / n
    signals = np.hstack([channel.see_rate * shown, np.full((n, 1), 1 - channel.see_rate)])
    menu, place = np.unique(np.vstack([plan.low, plan.cover, plan.slips]), axis=0,
                            return_inverse=True)  # fmt: skip
    place = place.reshape(-1)
    acts = np.zeros((n + 1, len(menu)))
    for signal, is_favorable in enumerate(plan.is_favorable):
        own, other, rate = (
            (place[2 + signal], place[0], hold_back)
            if is_favorable
            else (place[0], place[1], cover_bet)
        )
        acts[signal, own] += 1 - rate
        acts[signal, other] += rate
    chances = np.array([float(chance) for chance in worths.card_chances])
    return mutual_information(chances, signals @ acts)


def _mean(worths: BoxWorths, plan: Plan, slip: NDArray[np.int64], signal: int) -> Fraction:
    pairs = zip(plan.boxes, slip.tolist(), strict=True)
    return sum((cents * worths.values[box][signal] for box, cents in pairs if cents), Fraction(0))
