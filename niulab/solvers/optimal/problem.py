"""A betting problem: which slips, from which bankroll, until when, and what the end is worth.

Objectives, in base units, with ``D`` the net since the start and ``B`` the last bankroll:

    target         P(the bankroll reaches the target)
    survival       P(not ruined in n rounds): one less the least ruin
    profit         E D
    log_wealth     E log(B + one base unit) - log(start + one base unit)
    time_at_table  E rounds played
    exponential    E (1 - exp(-a D)) / a, with a the ``risk_aversion`` per base unit
    cvar           mean of D over the worst ``1 - level`` of all sessions

A session ends at the target (if there is one), in ruin (the bankroll puts no slip in sight), at the
deadline (if there is one) or when the player leaves (if he can).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from niulab.engine.rules.model import RuleSet
from niulab.engine.wagers import (
    Slip,
    cover_from,
    exposure_cents,
    max_loss_cents,
    verify_slip,
)
from niulab.errors import ConfigError, WagerError, nearest
from niulab.solvers.joint_law import JointLaw

__all__ = ["BettingProblem", "Objective", "needed_cents"]

Objective = Literal[
    "target", "survival", "profit", "log_wealth", "time_at_table", "exponential", "cvar"
]

_MOST_EXPONENT = 300.0  # exp(300) is far from the end of float64, and of any use


@dataclass(frozen=True, kw_only=True, eq=False)
class BettingProblem:
    """Checked on the way in; raises ConfigError with every mistake.

    rules, slips: the menu, any slips the table takes; among equally good slips the first counts.
    start_cents, target_cents, n_rounds: None for no target / no deadline. can_leave: betting may
    stop before a round. risk_aversion, level: of the objectives above. law: of a round, if it is
    not that of the full shoe with both hands set best.
    """

    rules: RuleSet
    slips: tuple[Slip, ...]
    start_cents: int
    target_cents: int | None = None
    n_rounds: int | None = None
    objective: Objective = "target"
    can_leave: bool = False
    risk_aversion: float | None = None
    level: float | None = None
    law: JointLaw | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "slips", tuple(self.slips))
        mistakes = [*self._mistaken_slips()] or [*self._mistakes()]
        if mistakes:
            raise ConfigError(
                "the betting problem is wrong:\n" + "\n".join(f"  - {m}" for m in mistakes)
            )

    @property
    def ruin_cents(self) -> int:
        """The bankroll below which no slip can be placed."""
        return min(needed_cents(self.rules, slip) for slip in self.slips)

    def payoff(self, bankrolls_cents: NDArray[np.int64]) -> NDArray[np.float64]:
        """What a session that ends at each bankroll is worth, rounds played apart.

        For ``cvar`` it depends on a threshold: see ``values``.
        """
        unit = self.rules.base_unit_cents
        gains = (bankrolls_cents - self.start_cents) / unit
        if self.objective == "target":
            return (bankrolls_cents >= (self.target_cents or 0)).astype(np.float64)
        if self.objective == "survival":
            return (bankrolls_cents >= self.ruin_cents).astype(np.float64)
        if self.objective == "log_wealth":
            return np.log((bankrolls_cents + unit) / (self.start_cents + unit))
        if self.objective == "time_at_table":
            return np.zeros(len(bankrolls_cents))
        if self.objective == "exponential":
            aversion = self.risk_aversion or 0.0
            return np.asarray(-np.expm1(-aversion * gains) / aversion)
        return np.asarray(gains)

    def _mistaken_slips(self) -> Iterator[str]:
        if not self.slips:
            yield "slips is empty: give at least one slip the table takes"
        if len(set(self.slips)) < len(self.slips):
            yield "slips holds a slip twice"
        for place, slip in enumerate(self.slips):
            try:
                verify_slip(self.rules, slip)
            except WagerError as error:
                yield f"slips[{place}]: {error}"
                continue
            if max_loss_cents(self.rules, slip) > exposure_cents(self.rules, slip):
                yield (
                    f"slips[{place}]: '{slip}' can lose more than its cover, so the bankroll could "
                    "fall below 0: leave it out"
                )

    def _mistakes(self) -> Iterator[str]:
        for key in ("start_cents", "target_cents", "n_rounds"):
            value = getattr(self, key)
            is_missing = value is None and key != "start_cents"
            if not is_missing and (type(value) is not int or value < 1):
                yield f"{key} is a whole number of at least 1, got {value!r}"
                return
        if self.start_cents < self.ruin_cents:
            least = min(self.slips, key=lambda slip: needed_cents(self.rules, slip))
            yield (
                f"no affordable slip: '{least}' needs {self.ruin_cents} cents in sight, "
                f"start_cents={self.start_cents}"
            )
        if self.target_cents is not None and self.target_cents <= self.start_cents:
            yield (
                f"target_cents={self.target_cents} is above start_cents={self.start_cents}, or "
                "there is no game"
            )
        yield from self._mistaken_objective()

    def _mistaken_objective(self) -> Iterator[str]:
        known = get_args(Objective)
        if self.objective not in known:
            yield f"no objective '{self.objective}'{nearest(str(self.objective), known)}"
            return
        if self.objective == "target" and self.target_cents is None:
            yield "objective='target' needs target_cents"
        if self.objective == "survival" and self.n_rounds is None:
            yield "objective='survival' needs n_rounds: without a deadline ruin is certain"
        if self.n_rounds is None and self.target_cents is None:
            yield "without a deadline or a target the session ends in ruin: give one of the two"
        aversion, level = self.risk_aversion, self.level
        if (aversion is not None) != (self.objective == "exponential"):
            yield f"risk_aversion belongs to objective='exponential', got {aversion!r}"
        elif aversion is not None and not (
            0 < aversion * self.start_cents / self.rules.base_unit_cents < _MOST_EXPONENT
        ):
            most = _MOST_EXPONENT * self.rules.base_unit_cents / self.start_cents
            yield f"risk_aversion is above 0 and below {most:g} a base unit here, got {aversion!r}"
        if (level is not None) != (self.objective == "cvar"):
            yield f"level belongs to objective='cvar', got {level!r}"
        elif level is not None and not (math.isfinite(level) and 0 <= level < 1):
            yield f"level is at least 0 and below 1, as .95 for the worst twentieth, got {level!r}"


def needed_cents(rules: RuleSet, slip: Slip) -> int:
    """The least bankroll with which the table takes the slip."""
    return exposure_cents(rules, cover_from(rules, slip, 0))
