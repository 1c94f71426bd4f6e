"""Stop-loss and win-goal: a line at which any system gets up."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from niulab.agents.systems.sitting import Sitting
from niulab.agents.systems.system import LEAVE, BettingSystem
from niulab.errors import ConfigError

__all__ = ["StopLoss", "WinGoal", "stop_loss", "win_goal"]

_Cents = NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True)
class StopLoss(BettingSystem):
    """Leaves once it is ``amount`` base units behind its start."""

    NEEDS: ClassVar[tuple[str, ...]] = ("start_cents",)

    inner: BettingSystem
    amount: Fraction

    def wanted(self, sitting: Sitting, units: _Cents, bankrolls: _Cents) -> _Cents:
        wanted = self.inner.wanted(sitting, units, bankrolls)
        line = floor((sitting.start_cents or 0) - self.amount * sitting.rules.base_unit_cents)
        return np.where(bankrolls <= line, LEAVE, wanted)

    def verify(self, sitting: Sitting) -> None:
        super().verify(sitting)
        self.inner.verify(sitting)


@dataclass(frozen=True, eq=False, kw_only=True)
class WinGoal(BettingSystem):
    """Leaves once it is ``amount`` base units ahead of its start."""

    NEEDS: ClassVar[tuple[str, ...]] = ("start_cents",)

    inner: BettingSystem
    amount: Fraction

    def wanted(self, sitting: Sitting, units: _Cents, bankrolls: _Cents) -> _Cents:
        wanted = self.inner.wanted(sitting, units, bankrolls)
        line = ceil((sitting.start_cents or 0) + self.amount * sitting.rules.base_unit_cents)
        return np.where(bankrolls >= line, LEAVE, wanted)

    def verify(self, sitting: Sitting) -> None:
        super().verify(sitting)
        self.inner.verify(sitting)


def stop_loss(amount: Fraction, inner: BettingSystem) -> StopLoss:
    """``inner``, but gone once ``amount`` base units are lost."""
    _verify(amount)
    line = f"{float(amount):g} base units behind its start"
    return StopLoss(
        name=f"stop-loss:{float(amount):g}:{inner.name}",
        summary=f"{inner.summary}; leaves at {line}",
        fallback=_fallback(line, inner),
        automaton=inner.automaton,
        redraws=inner.redraws,
        inner=inner,
        amount=amount,
    )


def win_goal(amount: Fraction, inner: BettingSystem) -> WinGoal:
    """``inner``, but gone once ``amount`` base units are won."""
    _verify(amount)
    line = f"{float(amount):g} base units ahead of its start"
    return WinGoal(
        name=f"win-goal:{float(amount):g}:{inner.name}",
        summary=f"{inner.summary}; leaves at {line}",
        fallback=_fallback(line, inner),
        automaton=inner.automaton,
        redraws=inner.redraws,
        inner=inner,
        amount=amount,
    )


def _fallback(line: str, inner: BettingSystem) -> str:
    return (
        f"At {line} it leaves; where it may not, it bets the least slip as long as it stands "
        f"there, and its memory goes on. {inner.fallback}"
    )


def _verify(amount: Fraction) -> None:
    if amount <= 0:
        raise ConfigError(f"a line lies some base units from the start, got {amount}: write 10")
