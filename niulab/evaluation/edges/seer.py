"""The seer: who knows one card before the stakes go in, and stakes by Kelly what it is worth."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf

import numpy as np
from numpy.typing import NDArray

from niulab.engine.cards import RANKS
from niulab.engine.rules.model import RuleSet
from niulab.errors import CardError
from niulab.solvers.information import Position, card_class, law_given_card
from niulab.solvers.joint_law import JointLaw, joint_law
from niulab.solvers.optimal.kelly import KellyPlan, KellySlip, kelly_plan, kelly_slip
from niulab.solvers.values import box_values

__all__ = [
    "BlindSheet",
    "GridStakes",
    "SeenCard",
    "Seer",
    "look_blind",
    "make_seer",
    "split_shoe",
]

Floats = NDArray[np.float64]

_REST = "any other"


@dataclass(frozen=True)
class GridStakes:
    """The best slip from a bankroll: of who may sit out, and of who must join the round."""

    bankroll_cents: int
    free: KellySlip
    forced: KellySlip

    def slip(self, *, must_play: bool) -> KellySlip:
        """Either."""
        return self.forced if must_play else self.free


@dataclass(frozen=True, eq=False)
class SeenCard:
    """Kelly's answer to a card of one class, which is seen with ``chance``.

    evs: exact, per unit, by box. stakes: by bankroll.
    """

    card: str
    chance: Fraction
    evs: dict[str, Fraction]
    plan: KellyPlan
    stakes: tuple[GridStakes, ...]


@dataclass(frozen=True, eq=False)
class Seer:
    """Sees the class of one card in one position, each with its frequency.

    seen: the classes; their chances add up to 1. unseen: stakes without information, by bankroll.
    Growth is the mean of log(bankroll after / before) of a round.
    """

    position: Position
    bankrolls_cents: tuple[int, ...]
    seen: tuple[SeenCard, ...]
    unseen: tuple[GridStakes, ...]

    @property
    def whose(self) -> str:
        """The card's owner, as an adjective."""
        return "own" if self.position == "own" else "dealer's"

    @property
    def growth(self) -> float:
        """With stakes of any size, or none."""
        return sum(float(one.chance) * one.plan.growth for one in self.seen)

    def curve(self, multiples: Sequence[float] | Floats) -> Floats:
        """Growth with all of Kelly's stakes multiplied; nan where they are not covered."""
        curves = np.array([one.plan.growth_at(multiples) for one in self.seen])
        growth: Floats = np.array([float(one.chance) for one in self.seen]) @ curves
        return growth

    def grid_growth(
        self, bankroll_cents: int, *, see_rate: float = 1.0, must_play: bool = False
    ) -> float:
        """Growth of the next round on the chip grid, if the card is seen with chance ``see_rate``
        and otherwise nothing.
        """
        place = self.bankrolls_cents.index(bankroll_cents)
        seen = sum(
            float(one.chance) * one.stakes[place].slip(must_play=must_play).growth
            for one in self.seen
        )
        unseen = self.unseen[place].slip(must_play=must_play).growth
        parts = ((see_rate, seen), (1 - see_rate, unseen))
        return sum(chance * growth for chance, growth in parts if chance)

    def break_even_rate(self, bankroll_cents: int) -> float | None:
        """The see rate from which who must join every round grows; None if none is enough."""
        unseen = self.grid_growth(bankroll_cents, see_rate=0.0, must_play=True)
        seen = self.grid_growth(bankroll_cents, must_play=True)
        if unseen >= 0:
            return 0.0
        return None if seen <= 0 or unseen == -inf else unseen / (unseen - seen)


@dataclass(frozen=True, eq=False)
class BlindSheet:
    """A sheet played without information; evs: exact, per unit, by box."""

    rules: RuleSet
    evs: dict[str, Fraction]
    plan: KellyPlan

    @property
    def favors_player(self) -> bool:
        """Whether some box does, exactly: if and only if there is something to stake."""
        return max(self.evs.values()) > 0


def make_seer(
    rules: RuleSet,
    position: Position,
    classes: Mapping[str, Sequence[int]],
    bankrolls_cents: Sequence[int],
    *,
    tell: Callable[[str], None] | None = None,
) -> Seer:
    """Solve every class (see ``solvers.optimal.kelly``); ``tell`` hears which one begins.

    About half a second a class, and once for each card of it where the dealer's card meets a bonus
    box.
    """
    copies, seen = rules.deck.composition, []
    for card, ids in classes.items():
        if tell is not None:
            tell(f"{position} {card}")
        law = law_given_card(rules, ids, position)
        seen.append(
            SeenCard(
                card=card,
                chance=Fraction(sum(copies[i] for i in ids), sum(copies)),
                evs=_exact_evs(law),
                plan=kelly_plan(law),
                stakes=_stakes(law, bankrolls_cents),
            )
        )
    unseen = _stakes(joint_law(rules), bankrolls_cents)
    return Seer(position, tuple(bankrolls_cents), tuple(seen), unseen)


def split_shoe(rules: RuleSet, cards: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """Card ids by class, each card of the shoe in one: of what is left out, or of every rank.

    Raises CardError for a class that is none, is not in the shoe or overlaps one before it.
    """
    held = {i for i, copies in enumerate(rules.deck.composition) if copies}
    found: dict[str, tuple[int, ...]] = {}
    left = set(held)
    for card in cards or RANKS:
        ids = held.intersection(card_class(card))
        if cards and not ids <= left:
            message = f"{card!r} shares cards with one before it: write classes that do not overlap"
            raise CardError(message)
        if cards and not ids:
            raise CardError(f"the shoe of {rules.name} holds no {card!r}: leave it out")
        left -= ids
        found[card] = tuple(sorted(ids))
    return {card: ids for card, ids in {**found, _REST: tuple(sorted(left))}.items() if ids}


def look_blind(rules: RuleSet) -> BlindSheet:
    """What a sheet is worth without information."""
    law = joint_law(rules)
    return BlindSheet(rules, _exact_evs(law), kelly_plan(law))


def _exact_evs(law: JointLaw) -> dict[str, Fraction]:
    return {box: values.ev for box, values in box_values(law.rules, law).items()}


def _stakes(law: JointLaw, bankrolls_cents: Sequence[int]) -> tuple[GridStakes, ...]:
    stakes = []
    for cents in bankrolls_cents:
        free = kelly_slip(law, cents)
        forced = kelly_slip(law, cents, must_play=True) if free.slip is None else free
        stakes.append(GridStakes(cents, free, forced))
    return tuple(stakes)
