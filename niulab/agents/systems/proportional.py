"""Systems whose stake follows from the bankroll alone."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from niulab.agents.systems.sitting import Sitting
from niulab.agents.systems.system import AFFORDS_LESS, LEAVE, BettingSystem
from niulab.errors import ConfigError

__all__ = ["Bold", "Kelly", "Percentage", "Timid", "bold", "kelly", "percentage", "timid"]

_Cents = NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True)
class Percentage(BettingSystem):
    """Stakes a fixed share of the bankroll, rounded down to whole base slips."""

    NEEDS: ClassVar[tuple[str, ...]] = ("start_cents",)

    share: Fraction

    def wanted(self, sitting: Sitting, units: _Cents, bankrolls: _Cents) -> _Cents:
        one = self.share.denominator * sitting.base_slip.total_cents
        return np.broadcast_arrays(bankrolls * self.share.numerator // one, units)[0]


@dataclass(frozen=True, eq=False, kw_only=True)
class Kelly(BettingSystem):
    """Stakes a fraction of what maximizes E log(bankroll), rounded down to whole base slips."""

    NEEDS: ClassVar[tuple[str, ...]] = ("start_cents",)

    fraction: Fraction

    def wanted(self, sitting: Sitting, units: _Cents, bankrolls: _Cents) -> _Cents:
        rate = float(self.fraction) * sitting.kelly_rate
        return np.broadcast_arrays(np.floor(rate * bankrolls).astype(np.int64), units)[0]


@dataclass(frozen=True, eq=False, kw_only=True)
class Bold(BettingSystem):
    """Stakes all it has, but no more than what reaches the target with the base slip's least win.

    Dubins and Savage, "How to Gamble If You Must" (1965).
    """

    NEEDS: ClassVar[tuple[str, ...]] = ("start_cents", "target_cents")

    def wanted(self, sitting: Sitting, units: _Cents, bankrolls: _Cents) -> _Cents:
        missing = _missing_cents(sitting, bankrolls)
        asked = -(-missing // sitting.least_win_cents)
        return np.broadcast_arrays(np.where(missing > 0, asked, LEAVE), units)[0]


@dataclass(frozen=True, eq=False, kw_only=True)
class Timid(BettingSystem):
    """Stakes one base slip until the target is reached."""

    NEEDS: ClassVar[tuple[str, ...]] = ("start_cents", "target_cents")

    def wanted(self, sitting: Sitting, units: _Cents, bankrolls: _Cents) -> _Cents:
        return np.where(_missing_cents(sitting, bankrolls) > 0, units, LEAVE)


def percentage(percent: Fraction = Fraction(5)) -> Percentage:
    """``percent`` of the bankroll, all boxes together, without their cover."""
    if not 0 < percent <= 100:
        raise ConfigError(f"a percentage lies above 0 and up to 100, got {percent}: write 5 or 2.5")
    return Percentage(
        name="percentage",
        summary=f"stakes {_text(percent)} % of the bankroll, in whole base slips",
        fallback=f"A share below one base slip becomes the table's least slip. {AFFORDS_LESS}",
        share=percent / 100,
    )


def kelly(fraction: Fraction = Fraction(1)) -> Kelly:
    """``fraction`` of the Kelly stake, by the exact law of the base slip's net."""
    if not 0 < fraction <= 2:
        raise ConfigError(
            f"a Kelly fraction lies above 0 and up to 2, got {fraction}: write 1 or 0.5"
        )
    return Kelly(
        name="kelly",
        summary=f"stakes {_text(fraction)} of the Kelly share of the base slip",
        fallback="Without an edge the Kelly stake is zero, and like every share below one base "
        f"slip it becomes the table's least slip. {AFFORDS_LESS}",
        fraction=fraction,
    )


def bold() -> Bold:
    """Bold play towards the task's target."""
    return Bold(
        name="bold",
        summary="stakes all it has, at most what reaches the target with the base slip's least "
        "win after commission",
        fallback=f"At the target it leaves; where it may not, it bets the least slip. "
        f"{AFFORDS_LESS}",
    )


def timid() -> Timid:
    """Timid play towards the task's target."""
    return Timid(
        name="timid",
        summary="stakes one base slip until the target is reached",
        fallback=f"At the target it leaves; where it may not, it bets the least slip. "
        f"{AFFORDS_LESS}",
    )


def _missing_cents(sitting: Sitting, bankrolls: _Cents) -> _Cents:
    if sitting.target_cents is None:
        raise ConfigError("bold and timid play head for a target: give target_cents")
    return sitting.target_cents - bankrolls


def _text(number: Fraction) -> str:
    return f"{float(number):g}"
