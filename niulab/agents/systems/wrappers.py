"""Stop-loss and win-goal: a line at which any system gets up."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from niulab.agents.systems.sitting import Sitting
from niulab.agents.systems.system import LEAVE, BettingSystem
from niulab.errors import ConfigError

__all__ = ["StopLoss", "WinGoal", "stop_loss", "win_goal"]

_Cents = NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True)
class _Line(BettingSystem):
    """Plays ``inner``, as long as a line ``amount`` base units from its start lets it."""

    NEEDS: ClassVar[tuple[str, ...]] = ("start_cents",)

    inner: BettingSystem
    amount: Fraction

    def verify(self, sitting: Sitting) -> None:
        super().verify(sitting)
        self.inner.verify(sitting)


class StopLoss(_Line):
    """Leaves once it is ``amount`` base units behind its start."""

    def wanted(self, sitting: Sitting, units: _Cents, bankrolls: _Cents) -> _Cents:
        wanted = self.inner.wanted(sitting, units, bankrolls)
        line = floor((sitting.start_cents or 0) - self.amount * sitting.rules.base_unit_cents)
        return np.where(bankrolls <= line, LEAVE, wanted)


class WinGoal(_Line):
    """Leaves once it is ``amount`` base units ahead of its start."""

    def wanted(self, sitting: Sitting, units: _Cents, bankrolls: _Cents) -> _Cents:
        wanted = self.inner.wanted(sitting, units, bankrolls)
        line = ceil((sitting.start_cents or 0) + self.amount * sitting.rules.base_unit_cents)
        return np.where(bankrolls >= line, LEAVE, wanted)


def stop_loss(amount: Fraction, inner: BettingSystem) -> StopLoss:
    """``inner``, but gone once ``amount`` base units are lost."""
    return StopLoss(**_parts("stop-loss", "behind", amount, inner))


def win_goal(amount: Fraction, inner: BettingSystem) -> WinGoal:
    """``inner``, but gone once ``amount`` base units are won."""
    return WinGoal(**_parts("win-goal", "ahead of", amount, inner))


def _parts(name: str, side: str, amount: Fraction, inner: BettingSystem) -> dict[str, Any]:
    """The fields of a line drawn around a system; raises ConfigError for one at the start."""
    if amount <= 0:
        raise ConfigError(f"a line lies some base units from the start, got {amount}: write 10")
    line = f"{float(amount):g} base units {side} its start"
    return {
        "name": f"{name}:{float(amount):g}:{inner.name}",
        "summary": f"{inner.summary}; leaves at {line}",
        "fallback": (
            f"At {line} it leaves; where it may not, it bets the least slip as long as it stands "
            f"there, and its memory goes on. {inner.fallback}"
        ),
        "automaton": inner.automaton,
        "redraws": inner.redraws,
        "inner": inner,
        "amount": amount,
    }
