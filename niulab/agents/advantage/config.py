"""What each kind of advantage player is told: frozen models, strict, every mistake at once.

Slips are texts as ``"single=100,super=100"``. ``low`` is what a player stakes when nothing favors
it, ``high`` the most it stakes on each box when that box does; together they are its spread.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from niulab.agents.systems.sitting import default_base_slip
from niulab.engine.cards import HAND_SIZE
from niulab.engine.rules import RuleSet
from niulab.engine.wagers import Slip, largest_stake, verify_slip
from niulab.errors import ConfigError, NiuLabError, explained
from niulab.solvers.channels import Channel

__all__ = [
    "LIMITS",
    "AttackConfig",
    "Beneficiary",
    "CardSwitcher",
    "Colluders",
    "EdgeSorter",
    "Exploiter",
    "FrontierPlayer",
    "HoldOut",
    "HoleCarder",
    "LatePlayer",
    "PlacedSight",
    "PlayerConfig",
    "RatedPlayer",
    "SightConfig",
    "Steerer",
    "high_slip",
    "low_slip",
]

Share = Annotated[float, Field(ge=0, le=1, strict=False)]
Units = Annotated[float, Field(gt=0, strict=False)]
Count = Annotated[int, Field(ge=1, le=1_000_000)]

Shows = str | Annotated[tuple[str, ...], Field(strict=False)]

LIMITS = "limits"
"""Written for ``high``: as much as the table takes on every box."""


class PlayerConfig(BaseModel):
    """A kind of player, ``count`` times over.

    Raises ConfigError with every mistake.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    kind: str
    count: Count = 1

    def __init__(self, /, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            known = type(self).model_fields
            raise ConfigError(
                "; ".join(
                    explained(item, ".".join(map(str, item["loc"])), known)
                    for item in error.errors()
                )
            ) from None

    @property
    def attack(self) -> str:
        """What a detector should name; empty for honest players."""
        return ""

    @property
    def team(self) -> int:
        """Players that sit side by side and are counted as one."""
        return 1

    def mistakes(self, rules: RuleSet) -> list[str]:
        """What makes it unplayable under a sheet."""
        return []

    @property
    def parameters(self) -> dict[str, Any]:
        """The keys that were given or that differ from nothing, for labels."""
        return self.model_dump(mode="json", exclude={"kind", "count"}, exclude_none=True)


class AttackConfig(PlayerConfig):
    """What all attackers share.

    start: the round before which it plays like itself but blindly. win_goal, loss_limit: base units
    won or lost since, and most_rounds: rounds since, after which it leaves for good.
    """

    low: str | None = None
    start: Annotated[int, Field(ge=0)] = 0
    win_goal: Units | None = None
    loss_limit: Units | None = None
    most_rounds: Count | None = None

    @property
    def attack(self) -> str:
        return self.kind

    def mistakes(self, rules: RuleSet) -> list[str]:
        found = []
        for make in (low_slip, high_slip):
            try:
                make(rules, self)
            except NiuLabError as error:
                found.append(str(error))
        return found


class SightConfig(AttackConfig):
    """Sees something of one card before the stakes go in.

    shows: "rank", "card", "color", "suit" or classes of cards. see_rate: chance to see it. noise:
    chance that what is seen is drawn at random. cover_bet: chance of a high slip when nothing
    favors it. hold_back: chance of the low slip when something does.
    """

    high: str | None = None
    shows: Shows = "rank"
    see_rate: Share = 1.0
    noise: Share = 0.0
    cover_bet: Share = 0.0
    hold_back: Share = 0.0

    @property
    def seen_place(self) -> int:
        """The place of the deal that is seen: 0-4 of the hand, 5-9 of the dealer's."""
        return 0

    @property
    def channel(self) -> Channel:
        """The look at the card; raises ConfigError."""
        whose: Literal["own", "dealer"] = "own" if self.seen_place < HAND_SIZE else "dealer"
        return Channel(position=whose, shows=self.shows, see_rate=self.see_rate, noise=self.noise)

    @property
    def errs_by_chance(self) -> bool:
        """Whether he may miss or misread the card, or stake against what he sees."""
        return self.see_rate != 1 or any((self.noise, self.cover_bet, self.hold_back))

    def mistakes(self, rules: RuleSet) -> list[str]:
        found = super().mistakes(rules)
        try:
            self.channel.values(rules)
        except ConfigError as error:
            found.append(str(error))
        steers = rules.table.first_packet != "marked_position"
        if self.seen_place < HAND_SIZE and steers and not isinstance(self, Steerer):
            found.append(
                f"under '{rules.name}' the stakes decide who gets which packet, so nobody sees his "
                "own card before them: take place 5 to 9, or kind 'steerer'"
            )
        return found


class PlacedSight(SightConfig):
    """Sees the card at one place of the deal, by default the dealer's first."""

    place: Annotated[int, Field(ge=0, le=9)] = 5

    @property
    def seen_place(self) -> int:
        return self.place


class HoleCarder(PlacedSight):
    """Sees a card as it is dealt."""

    kind: Literal["hole_carder"] = "hole_carder"


class EdgeSorter(PlacedSight):
    """Tells classes of cards by their backs."""

    kind: Literal["edge_sorter"] = "edge_sorter"
    shows: Shows = ("A 2 3 4 5",)


class Colluders(PlacedSight):
    """A peeker who stakes flat and passes a card of the dealer's to the others of his team."""

    kind: Literal["colluders"] = "colluders"
    place: Annotated[int, Field(ge=5, le=9)] = 5
    stakers: Annotated[int, Field(ge=1, le=8)] = 2

    @property
    def team(self) -> int:
        return 1 + self.stakers


class FrontierPlayer(PlacedSight):
    """Sees a card and hides it as well as can be: a point of the stealth frontier.

    mu: what a nat of information costs it, in base units. It stakes high or low, by chance.
    """

    kind: Literal["frontier"] = "frontier"
    mu: Annotated[float, Field(gt=0, strict=False)] = 0.05

    def mistakes(self, rules: RuleSet) -> list[str]:
        found = super().mistakes(rules)
        if self.errs_by_chance:
            found.append(
                "a point of the frontier is for who sees the card: leave see_rate, noise, "
                "cover_bet and hold_back out"
            )
        return found


class RatedPlayer(PlacedSight):
    """Sees a card and stakes high with a chance by its class: any policy of two slips.

    rates: the chance of the high slip by class, in the order of ``shows``.
    """

    kind: Literal["rated"] = "rated"
    rates: Annotated[tuple[Share, ...], Field(strict=False, min_length=1)]

    def mistakes(self, rules: RuleSet) -> list[str]:
        found = super().mistakes(rules)
        if self.errs_by_chance:
            found.append("rates say it all: leave see_rate, noise, cover_bet and hold_back out")
        if not found and len(self.rates) != (k := len(self.channel.values(rules))):
            found.append(f"rates has a chance for each of {k} classes, got {len(self.rates)}")
        return found


class Steerer(PlacedSight):
    """Knows a card of the first packet and bids for it with the largest required stake.

    bid: what it stakes on the required box for the packet, in cents.
    """

    kind: Literal["steerer"] = "steerer"
    place: Annotated[int, Field(ge=0, le=4)] = 0
    bid: Annotated[int, Field(gt=0)] = 5000

    def mistakes(self, rules: RuleSet) -> list[str]:
        found = super().mistakes(rules)
        if rules.table.first_packet != "largest_required_stake":
            found.append(
                f"under '{rules.name}' packets go round from the marked position: a steerer needs "
                "a sheet with first_packet = 'largest_required_stake'"
            )
            return found
        try:
            verify_slip(rules, Slip.of({rules.required_box or "": self.bid}))
        except NiuLabError as error:
            found.append(f"bid: {error}")
        return found


class LatePlayer(AttackConfig):
    """Changes its stakes after the close, once it knows the result.

    post_rate: chance to add ``post`` cents to a box that has won. pinch_rate: chance to take back
    what lies on an optional box that has lost. ``high`` is what it stakes in time.
    """

    kind: Literal["late_player"] = "late_player"
    high: str | None = None
    post: Annotated[int, Field(gt=0)] = 500
    post_rate: Share = 0.0
    pinch_rate: Share = 0.0

    @property
    def attack(self) -> str:
        return "late_stakes"

    def mistakes(self, rules: RuleSet) -> list[str]:
        found = super().mistakes(rules)
        if not found:
            raised = {box: cents + self.post for box, cents in high_slip(rules, self).stakes}
            try:
                verify_slip(rules, Slip.of(raised))
            except NiuLabError as error:
                found.append(f"post: {error}")
        if self.post_rate == self.pinch_rate == 0:
            found.append("post_rate and pinch_rate are both 0: give one of them")
        return found


class Beneficiary(AttackConfig):
    """Is paid too much by a dealer who is his friend: the first dealer of his table.

    rate: chance that the required box is mispaid: a win is paid twice, a loss is not collected.
    """

    kind: Literal["beneficiary"] = "beneficiary"
    high: str | None = None
    rate: Share = 0.1

    @property
    def attack(self) -> str:
        return "mispays"


class Exploiter(AttackConfig):
    """Stakes every round what the sheet itself makes favorable, at short cover if that pays.

    He knows no card: under the tests' hypothesis he is honest.
    """

    kind: Literal["exploiter"] = "exploiter"
    high: str | None = None

    @property
    def attack(self) -> str:
        return ""


class CardSwitcher(AttackConfig):
    """Swaps one card with a partner beside him where that makes his own hand highest.

    rate: chance to try. The log shows the hands as they lie after it.
    """

    kind: Literal["card_switcher"] = "card_switcher"
    high: str | None = None
    rate: Share = 1.0

    @property
    def attack(self) -> str:
        return "card_switching"

    @property
    def team(self) -> int:
        return 2


class HoldOut(AttackConfig):
    """Has a card up his sleeve, kept back from an earlier deck, and plays it for one of his own.

    rate: chance to do so where it raises his hand. The card it replaces goes up the sleeve.
    """

    kind: Literal["hold_out"] = "hold_out"
    high: str | None = None
    rate: Share = 1.0

    @property
    def attack(self) -> str:
        return "holding_out"


def low_slip(rules: RuleSet, config: AttackConfig) -> Slip:
    """What it stakes when nothing favors it; raises WagerError."""
    slip = default_base_slip(rules) if config.low is None else Slip.of(config.low)
    verify_slip(rules, slip)
    return slip


def high_slip(rules: RuleSet, config: AttackConfig) -> Slip:
    """The most it stakes on every box: by default a base unit on each box that is no bonus.

    Boxes of the low slip that it does not name keep their stakes. Raises WagerError.
    """
    text, low = getattr(config, "high", None), low_slip(rules, config)
    if text == LIMITS:
        stakes = {box: largest_stake(rules, low, box) for box in rules.boxes}
    elif text is None:
        unit = default_base_slip(rules).total_cents
        stakes = {box: unit for box, terms in rules.boxes.items() if not terms.is_bonus}
    else:
        stakes = dict(Slip.of(text).stakes)
    slip = Slip.of(dict(low.stakes) | stakes)
    verify_slip(rules, slip)
    return slip
