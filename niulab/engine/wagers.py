"""Slips: what a seat stakes on which box, and whether the table takes it.

All money is integer cents. A stake needs chips in sight against multiplied losses (cover); the
covers of several boxes add up, and a slip the bankroll cannot cover is refused with the largest
stake that would be accepted.
"""

from __future__ import annotations

import operator
import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import lcm
from typing import Self, SupportsIndex

from niulab.engine.rules.cover import (
    cover_cents,
    full_in_sight_cents,
    least_in_sight_cents,
    loss_cents,
)
from niulab.engine.rules.model import BOX_NAMES, Box, RuleSet
from niulab.engine.rules.odds import possible_wins
from niulab.errors import WagerError, nearest

__all__ = [
    "Slip",
    "can_place",
    "cover_from",
    "exposure_cents",
    "largest_stake",
    "least_slip",
    "max_loss_cents",
    "stake_step_cents",
    "terms_of",
    "verify_slip",
]

_PART = re.compile(r"([a-z][a-z_]*) *= *([0-9]{1,15})(?: */ *([0-9]{1,15}))?")
_HOW = "write whole cents as 'single=100,super=40'"


@dataclass(frozen=True)
class Slip:
    """A seat's stakes in cents by box, in box order, without zeros.

    ``in_sight`` is needed only where short cover caps a loss: all chips in sight for a box, the
    stake among them. A box it does not name has its full cover.
    """

    stakes: tuple[tuple[str, int], ...]
    in_sight: tuple[tuple[str, int], ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "stakes", _normalized(self.stakes, "stake"))
        in_sight = _normalized(self.in_sight or (), "amount in sight")
        object.__setattr__(self, "in_sight", in_sight or None)
        for box, cents in in_sight:
            if cents < self.stake(box) or not self.stake(box):
                message = (
                    f"{box} has {cents} cents in sight for a stake of {self.stake(box)}: chips in "
                    "sight count the stake, so name a staked box and at least its stake"
                )
                raise WagerError(message)

    @classmethod
    def of(cls, stakes: Slip | Mapping[str, SupportsIndex] | str) -> Self:
        """Return the slip of a text, a mapping from box to cents, or a slip.

        Raises WagerError for anything but whole, non-negative cents.
        """
        if isinstance(stakes, Slip):
            return cls(stakes.stakes, stakes.in_sight)
        if isinstance(stakes, str):
            return cls.parse(stakes)
        if isinstance(stakes, Mapping):
            return cls(tuple((box, _cents(box, cents)) for box, cents in stakes.items()))
        message = f"{stakes!r} is no slip; {_HOW} or give a mapping from box to cents"
        raise WagerError(message)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read ``"single=100,super=40"``; ``super=40/200`` puts 200 cents in sight for super."""
        stakes: list[tuple[str, int]] = []
        in_sight: list[tuple[str, int]] = []
        for part in text.lower().split(","):
            match = _PART.fullmatch(part.strip())
            if not match:
                raise WagerError(f"'{part.strip()}' in slip '{text}' is no stake; {_HOW}")
            box, stake, sight = match.groups()
            stakes.append((box, int(stake)))
            if sight is not None:
                in_sight.append((box, int(sight)))
        return cls(tuple(stakes), tuple(in_sight))

    def stake(self, box: str) -> int:
        """Cents staked on a box, 0 if none."""
        return dict(self.stakes).get(box, 0)

    def sight(self, box: str) -> int | None:
        """Cents declared in sight for a box, or None for its full cover."""
        return dict(self.in_sight or ()).get(box)

    @property
    def total_cents(self) -> int:
        """All stakes together, without cover."""
        return sum(cents for _, cents in self.stakes)

    @property
    def boxes(self) -> tuple[str, ...]:
        """The staked boxes."""
        return tuple(box for box, _ in self.stakes)

    def __str__(self) -> str:
        sights = {box: f"/{cents}" for box, cents in self.in_sight or ()}
        return ",".join(f"{box}={cents}{sights.get(box, '')}" for box, cents in self.stakes)


def least_slip(rules: RuleSet) -> Slip:
    """The required box at the least stake the table takes."""
    _verify_offers_bets(rules, "the least slip")
    box = rules.required_box or ""
    stakes = _legal_stakes(rules, box)
    if not stakes:
        message = (
            f"'{rules.name}' takes no {box} stake: no multiple of {stakes.step} cents in its limits"
        )
        raise WagerError(message)
    return Slip(((box, stakes[0]),))


def terms_of(rules: RuleSet, box: str) -> Box:
    """The terms of a box; raises WagerError, with the nearest name, where the table has none."""
    if box not in rules.boxes:
        message = f"'{rules.name}' has no box '{box}'{nearest(box, rules.boxes)}"
        raise WagerError(message)
    return rules.boxes[box]


def stake_step_cents(rules: RuleSet, box: str) -> int:
    """Least step of stakes whose every payment is whole cents; 1 where payments are rounded."""
    if terms_of(rules, box).commission.rounding != "exact":
        return 1
    key = (rules.rules_hash, box)
    if key not in _STEPS:
        wins = possible_wins(rules, box)
        _STEPS[key] = lcm(*((win.odds * win.share).denominator for win in wins))
    return _STEPS[key]


_STEPS: dict[tuple[str, str], int] = {}


def verify_slip(rules: RuleSet, slip: Slip, bankroll_cents: int | None = None) -> None:
    """Raise WagerError, with the remedy, for a slip the table must refuse.

    Without a bankroll only the table's own limits count.
    """
    _verify_offers_bets(rules, f"slip '{slip}'")
    for box in slip.boxes:
        terms_of(rules, box)
    required = rules.required_box
    if required and not slip.stake(required):
        minimum = rules.boxes[required].minimum_cents
        message = (
            f"slip '{slip}' lacks the required box '{required}': "
            f"add {required}={minimum} or more to join the round"
        )
        raise WagerError(message)
    for box, stake in slip.stakes:
        _verify_stake(rules, box, stake)
        _verify_in_sight(rules, slip, box)
    if bankroll_cents is not None:
        _verify_cover(rules, slip, bankroll_cents)


def can_place(rules: RuleSet, slip: Slip, bankroll_cents: int | None = None) -> bool:
    """Say whether ``verify_slip`` accepts."""
    try:
        verify_slip(rules, slip, bankroll_cents)
    except WagerError:
        return False
    return True


def exposure_cents(rules: RuleSet, slip: Slip) -> int:
    """Chips in sight in all: stakes plus cover, or what the slip declares in sight."""
    return sum(_in_sight(rules, slip, box) for box in slip.boxes)


def max_loss_cents(rules: RuleSet, slip: Slip) -> int:
    """The most a slip can lose in one round."""
    by_dealer, by_player, flat = [0] * len(rules.ranks), [0] * len(rules.ranks), 0
    for box, stake in slip.stakes:
        terms, sight = rules.boxes[box], slip.sight(box)
        if terms.is_bonus:
            flat += loss_cents(terms, stake, odds=1, in_sight_cents=sight)
            continue
        losses = by_dealer if terms.lose_rank == "dealer" else by_player
        for rank, odds in enumerate(rules.lose_odds(box)):
            losses[rank] += loss_cents(terms, stake, odds=odds, in_sight_cents=sight)
    return max(by_dealer) + max(by_player) + flat


def largest_stake(rules: RuleSet, slip: Slip, box: str, bankroll_cents: int | None = None) -> int:
    """Largest stake on ``box`` that the table takes with the slip's other boxes as they are.

    0 if it takes none. The rest of the slip need not be legal by itself.
    """
    stakes = _legal_stakes(rules, box)
    if bankroll_cents is None:
        return stakes[-1] if stakes else 0
    others = sum(_needed(rules, slip, other) for other in slip.boxes if other != box)
    terms, declared = rules.boxes[box], slip.sight(box) or 0
    n_covered = bisect_right(
        stakes,
        bankroll_cents - others,
        key=lambda stake: max(least_in_sight_cents(terms, stake), declared),
    )
    return stakes[n_covered - 1] if n_covered else 0


def cover_from(rules: RuleSet, slip: Slip, bankroll_cents: int) -> Slip:
    """The slip with what the bankroll can put in sight, box by box, where short cover caps losses.

    Boxes whose full cover fits stay undeclared; a rule set without such boxes returns the slip.
    """
    left = bankroll_cents - sum(_needed(rules, slip, box) for box in slip.boxes)
    declared = dict(slip.in_sight or ())
    for box, stake in slip.stakes:
        terms = rules.boxes[box]
        if box in declared or terms.cover.shortfall == "refuse":
            continue
        missing = full_in_sight_cents(terms, stake) - stake
        if missing > left:
            declared[box] = stake + max(left, 0)
        left -= min(missing, max(left, 0))
    return Slip(slip.stakes, tuple(declared.items()))


def _cents(box: str, cents: SupportsIndex) -> int:
    try:
        whole = operator.index(cents)
    except TypeError:
        raise WagerError(f"{box}={cents!r} is no whole number of cents; {_HOW}") from None
    if isinstance(cents, bool):
        raise WagerError(f"{box}={cents!r} is no stake; {_HOW}")
    return whole


def _normalized(entries: Iterable[tuple[str, int]], what: str) -> tuple[tuple[str, int], ...]:
    """Entries in box order without zeros; refuses duplicates and negative or broken numbers."""
    found: dict[str, int] = {}
    for box, cents in entries:
        if box in found:
            raise WagerError(f"box '{box}' has two {what}s; write each box once, as their sum")
        found[box] = _cents(box, cents)
        if found[box] < 0:
            raise WagerError(f"{box}={cents} is negative; a {what} is 0 cents or more")
    order = {box: place for place, box in enumerate(BOX_NAMES)}
    boxes = sorted(found, key=lambda box: (order.get(box, len(order)), box))
    return tuple((box, found[box]) for box in boxes if found[box])


def _verify_offers_bets(rules: RuleSet, what: str) -> None:
    if rules.is_ranking_only:
        message = (
            f"'{rules.name}' ranks hands and offers no bets, got {what}; "
            "choose a rule set with boxes, as 'single-double-super'"
        )
        raise WagerError(message)


def _legal_stakes(rules: RuleSet, box: str) -> range:
    """Stakes the table takes on a box, bankroll apart."""
    terms = terms_of(rules, box)
    unit = lcm(rules.table.chip_unit_cents, stake_step_cents(rules, box))
    return range(-(-terms.minimum_cents // unit) * unit, terms.maximum_cents + 1, unit)


def _verify_stake(rules: RuleSet, box: str, stake: int) -> None:
    terms, legal = rules.boxes[box], _legal_stakes(rules, box)
    if stake in legal:
        return
    chip, step = rules.table.chip_unit_cents, stake_step_cents(rules, box)
    below = stake - stake % legal.step
    near = [whole for whole in (below, below + legal.step) if whole in legal]
    if stake < terms.minimum_cents:
        reason = f"is below the box's minimum of {terms.minimum_cents} cents"
        near = list(legal[:1])
    elif stake > terms.maximum_cents:
        reason = f"is above the box's maximum of {terms.maximum_cents} cents"
        near = list(legal[-1:])
    elif stake % step:
        reason = (
            f"would leave a fraction of a cent {_fraction_cause(terms)}: "
            f"stakes are multiples of {step} cents"
        )
    else:
        reason = f"is no multiple of the chip unit: stakes are multiples of {chip} cents"
    remedy = f"write {' or '.join(map(str, near))}" if near else "leave the box off"
    raise WagerError(f"{box.upper()} {stake} {reason}; {remedy}")


def _fraction_cause(terms: Box) -> str:
    causes = []
    if terms.commission.rate:
        causes.append(f"at {float(100 * terms.commission.rate):g} % commission")
    if terms.half_pay:
        causes.append("when half is paid")
    return " or ".join(causes)


def _verify_in_sight(rules: RuleSet, slip: Slip, box: str) -> None:
    terms, sight = rules.boxes[box], slip.sight(box)
    full = full_in_sight_cents(terms, slip.stake(box))
    if sight is not None and terms.cover.shortfall == "refuse" and sight < full:
        message = (
            f"{box.upper()} {slip.stake(box)} needs {full} cents in sight in all, the slip "
            f"declares {sight}: '{rules.name}' takes no short cover, so "
            f"write {box}={slip.stake(box)}"
        )
        raise WagerError(message)


def _in_sight(rules: RuleSet, slip: Slip, box: str) -> int:
    sight = slip.sight(box)
    return full_in_sight_cents(rules.boxes[box], slip.stake(box)) if sight is None else sight


def _needed(rules: RuleSet, slip: Slip, box: str) -> int:
    return max(least_in_sight_cents(rules.boxes[box], slip.stake(box)), slip.sight(box) or 0)


def _verify_cover(rules: RuleSet, slip: Slip, bankroll: int) -> None:
    """Blame the box with the largest need whose stake alone can mend the slip."""
    needs = {box: _needed(rules, slip, box) for box in slip.boxes}
    total = sum(needs.values())
    if total <= bankroll:
        return
    for box in sorted(needs, key=lambda box: -needs[box]):
        left = bankroll - (total - needs[box])
        largest = largest_stake(rules, slip, box, bankroll)
        if largest or (left >= 0 and box != rules.required_box):
            remedy = (
                f"the largest stake accepted is {largest} cents"
                if largest
                else f"no {box} stake is accepted, leave the box off"
            )
            raise WagerError(f"{_shortfall(rules.boxes[box], box, slip, left)}; {remedy}")
    required = rules.required_box or ""
    largest = largest_stake(rules, Slip(((required, 1),)), required, bankroll)
    remedy = (
        f"with {required} alone the largest stake accepted is {largest} cents"
        if largest
        else f"the least slip is '{least_slip(rules)}'"
    )
    raise WagerError(f"slip '{slip}' needs {total} cents in sight in all, has {bankroll}; {remedy}")


def _shortfall(terms: Box, box: str, slip: Slip, left: int) -> str:
    stake = slip.stake(box)
    cover = cover_cents(terms, stake)
    text = f"{box.upper()} {stake}"
    if slip.sight(box):
        return f"{text} has {slip.sight(box)} cents declared in sight, has {left}"
    if least_in_sight_cents(terms, stake) == stake:
        return f"{text} exceeds the {left} cents that are left for it"
    reason = f"{terms.cover.multiple} x stake"
    if cover < terms.cover.multiple * stake:
        reason = "the table's maximum"
    if terms.cover.counts_stake:
        return f"{text} needs {cover} cents in sight in all ({reason}), has {left}"
    return f"{text} needs {cover} cents of cover ({reason}), has {max(left - stake, 0)}"
