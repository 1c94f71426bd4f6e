"""The money half of the schema: boxes, odds, commission, cover and awards.

Odds are x to 1, stake not included; money is in integer cents; rates are exact fractions written as
``"1/20"`` or decimals in quotes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    field_validator,
    model_validator,
)

from niulab.engine.specials import PREDICATES
from niulab.errors import nearest

__all__ = [
    "BASE_ODDS",
    "Award",
    "Box",
    "Cents",
    "Commission",
    "Cover",
    "ExactRate",
    "Frozen",
    "Odds",
    "odds_by_rank",
]

BASE_ODDS = "default"
"""The key of an odds table that fills the ranks it does not name."""

_LARGEST_RATE = 10**18
_RATE = re.compile(r"[+-]?[0-9]+(\.[0-9]+|/[0-9]+)?")
_NAME = r"^[a-z][a-z0-9_]*$"


def _to_fraction(value: object) -> Fraction:
    if isinstance(value, Fraction):
        return value
    if isinstance(value, bool) or not isinstance(value, int | str):
        message = f"write an exact rate as text ('1/20' or '0.05') or a whole number, got {value!r}"
        raise ValueError(message)
    # no exponents: Fraction("1e-999999999") would write out a thousand million digits
    if isinstance(value, str) and not _RATE.fullmatch(value.strip()):
        message = f"'{value}' is no exact number; write it as '1/20' or '0.05'"
        raise ValueError(message)
    try:
        rate = Fraction(value)
    except (ValueError, ZeroDivisionError):  # thousands of digits, or none below the line
        message = f"'{value}' is no exact number; write it as '1/20' or '0.05'"
        raise ValueError(message) from None
    if max(abs(rate.numerator), rate.denominator) > _LARGEST_RATE:
        message = "write an exact rate with at most 18 digits above and below the line"
        raise ValueError(message)
    return rate


ExactRate = Annotated[Fraction, BeforeValidator(_to_fraction), PlainSerializer(str)]
Cents = Annotated[int, Field(strict=True, gt=0, le=10**12)]
Odds = Annotated[int, Field(strict=True, gt=0, le=10_000)]


class Frozen(BaseModel):
    """A piece of a rule set: immutable, and no key it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Pydantic's copy, without what was computed and kept of the original, as its hashes."""
        copy = super().model_copy(update=update, deep=deep)
        for name in set(vars(copy)) - set(type(self).model_fields):
            del vars(copy)[name]
        return copy


class Commission(Frozen):
    """A share of winnings the house keeps, from ``least_odds`` on."""

    rate: ExactRate = Fraction(0)
    least_odds: Odds = 1
    rounding: Literal["exact", "floor", "half_up", "house"] = "exact"

    @field_validator("rate")
    @classmethod
    def _is_share(cls, value: Fraction) -> Fraction:
        if not 0 <= value < 1:
            message = f"a commission rate lies in [0, 1), got {value}"
            raise ValueError(message)
        return value


class Cover(Frozen):
    """Chips in sight against a multiplied loss.

    ``multiple`` x stake is needed in addition to the stake, or in all if ``counts_stake``;
    never more than ``max_cents``. On a shortfall the slip is refused, or the loss is capped at
    what is in sight.
    """

    multiple: Annotated[int, Field(strict=True, ge=0, le=10_000)] = 0
    counts_stake: Annotated[bool, Field(strict=True)] = False
    max_cents: Cents | None = None
    shortfall: Literal["refuse", "cap_loss"] = "refuse"


class Award(Frozen):
    """Odds a box pays on a five-card predicate of the player's hand."""

    name: Annotated[str, Field(pattern=_NAME)]
    predicate: str
    odds: Odds

    @field_validator("predicate")
    @classmethod
    def _predicate_exists(cls, value: str) -> str:
        if value not in PREDICATES:
            message = f"no five-card predicate '{value}'{nearest(value, PREDICATES)}"
            raise ValueError(message)
        return value


class Box(Frozen):
    """Where a stake goes, and what it pays and loses.

    A main box pays ``win_odds`` of the player's rank and loses ``lose_odds`` of the ``lose_rank``
    hand; ``hand_pays`` overrides the winning odds for hands that satisfy a predicate. A bonus box
    (``awards``) looks at the player's five cards alone. Odds tables name ranks; ``default`` fills
    the others. ``lose_odds = "mirror"`` copies ``win_odds``.
    """

    title: str = ""
    required: Annotated[bool, Field(strict=True)] = False
    minimum_cents: Cents = 20
    maximum_cents: Cents = 10_000_000
    win_odds: dict[str, Odds] = Field(default_factory=dict)
    lose_odds: dict[str, Odds] | Literal["mirror"] = "mirror"
    lose_rank: Literal["dealer", "player"] = "dealer"
    commission: Commission = Commission()
    half_pay: tuple[str, ...] = ()
    hand_pays: tuple[Award, ...] = ()
    cover: Cover = Cover()
    max_win_cents: Cents | None = None
    max_loss_cents: Cents | None = None
    awards: tuple[Award, ...] = ()
    overlap: Literal["highest", "all"] = "highest"

    @property
    def is_bonus(self) -> bool:
        """Whether the box is settled on the player's five cards alone."""
        return bool(self.awards)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.minimum_cents > self.maximum_cents:
            message = (
                f"minimum_cents {self.minimum_cents} exceeds maximum_cents {self.maximum_cents}"
            )
            raise ValueError(message)
        if self.is_bonus and self._main_keys():
            message = (
                "a box with awards is a bonus box, optional and settled on the player's cards"
                f" alone: drop {', '.join(self._main_keys())}"
            )
            raise ValueError(message)
        if not self.is_bonus and not self.win_odds:
            message = "a main box needs win_odds (for every rank, or with 'default')"
            raise ValueError(message)
        if not self.is_bonus and self.overlap != "highest":
            message = "overlap says how awards add up, and a main box has none: drop overlap"
            raise ValueError(message)
        if len(set(self.half_pay)) < len(self.half_pay):
            message = f"half_pay names each rank once, got {', '.join(self.half_pay)}"
            raise ValueError(message)
        for key in ("awards", "hand_pays"):
            for what in ("name", "predicate"):
                given = [getattr(award, what) for award in getattr(self, key)]
                twice = sorted({value for value in given if given.count(value) > 1})
                if twice:
                    message = f"{key} gives the {what} '{twice[0]}' twice"
                    raise ValueError(message)
        return self

    def _main_keys(self) -> list[str]:
        """The keys given that only a main box has."""
        given = {
            "win_odds": bool(self.win_odds),
            "lose_odds": self.lose_odds != "mirror",
            "lose_rank": self.lose_rank != "dealer",
            "hand_pays": bool(self.hand_pays),
            "half_pay": bool(self.half_pay),
            "required": self.required,
        }
        return [key for key, is_given in given.items() if is_given]

    def tree(self, ranks: tuple[str, ...]) -> dict[str, Any]:
        """The box as a plain tree without titles, its odds written out for every rank."""
        tree = self.model_dump(mode="json", exclude={"title"})
        for key in ("awards", "hand_pays"):
            tree[key] = {award.predicate: award.odds for award in getattr(self, key)}
        tree["half_pay"] = sorted(self.half_pay, key=ranks.index)
        if self.is_bonus:
            return {k: v for k, v in tree.items() if k not in {"win_odds", "lose_odds"}}
        losses = self.win_odds if self.lose_odds == "mirror" else self.lose_odds
        tree["win_odds"] = dict(zip(ranks, odds_by_rank(self.win_odds, ranks), strict=True))
        tree["lose_odds"] = dict(zip(ranks, odds_by_rank(losses, ranks), strict=True))
        return tree


def odds_by_rank(table: dict[str, int], ranks: tuple[str, ...]) -> tuple[int, ...]:
    """Odds of every rank, those not named at ``default``."""
    return tuple(table[rank] if rank in table else table.get(BASE_ODDS, 0) for rank in ranks)
