"""Where a system is played: the table, the slip it multiplies, its bankroll and its goal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from math import lcm
from typing import Self

import numpy as np
from numpy.typing import NDArray

from niulab.engine.rules import RuleSet
from niulab.engine.wagers import (
    Slip,
    can_place,
    cover_from,
    exposure_cents,
    least_slip,
    stake_step_cents,
    verify_slip,
)
from niulab.errors import ConfigError
from niulab.solvers.sessions.net_law import NetLaw, net_law

__all__ = ["Sitting", "default_base_slip"]


@dataclass(frozen=True, eq=False)
class Sitting:
    """One evening at one table; ``start_cents`` is None where nobody counts chips."""

    rules: RuleSet
    base_slip: Slip
    start_cents: int | None = None
    target_cents: int | None = None

    @classmethod
    def at(
        cls,
        rules: RuleSet,
        base_slip: Slip | str | None = None,
        *,
        start_cents: int | None = None,
        target_cents: int | None = None,
    ) -> Self:
        """A sitting with the default base slip, or a given one that the table takes."""
        slip = default_base_slip(rules) if base_slip is None else Slip.of(base_slip)
        verify_slip(rules, slip)
        return cls(rules, slip, start_cents, target_cents)

    def multiple(self, units: int) -> Slip:
        """The base slip ``units`` times over, chips in sight included."""
        slip = self.base_slip
        in_sight = None if slip.in_sight is None else _times(slip.in_sight, units)
        return Slip(_times(slip.stakes, units), in_sight)

    def units_of(self, slip: Slip) -> int | None:
        """How many base slips a slip is, or None if it is no multiple."""
        units = slip.total_cents // self.base_slip.total_cents
        return units if units and self.multiple(units) == slip else None

    def multiples_on(self, menu: Iterable[Slip]) -> NDArray[np.int64]:
        """Which multiples of the base slip a menu offers, ascending; ConfigError if none."""
        found = {units for slip in menu if (units := self.units_of(slip)) is not None}
        if not found:
            raise ConfigError(
                f"the menu has no multiple of the base slip '{self.base_slip}': give menu='grid', "
                "or a base_slip that is on the menu"
            )
        return np.array(sorted(found), dtype=np.int64)

    @cached_property
    def most_units(self) -> int:
        """The largest multiple within the maximum of every box."""
        boxes = self.rules.boxes
        return min(boxes[box].maximum_cents // stake for box, stake in self.base_slip.stakes)

    def needs_cents(self, units: int) -> int:
        """Chips in sight without which the table takes no ``units`` base slips; 0: its least slip.

        Where short cover caps losses these are the stakes, elsewhere stakes and cover.
        """
        slip = self.multiple(units) if units else least_slip(self.rules)
        return exposure_cents(self.rules, cover_from(self.rules, slip, 0))

    @cached_property
    def law(self) -> NetLaw:
        """The law of the base slip's net."""
        return net_law(self.rules, self.base_slip)

    @cached_property
    def least_win_cents(self) -> int:
        """The smallest net above zero of the base slip."""
        nets = self.law.nets
        return int(nets[nets > 0][0])

    @cached_property
    def kelly_rate(self) -> float:
        """Base slips per cent of bankroll that maximize E log(wealth), 0 without an edge.

        At most what cover lets a bankroll stake. Kelly (1956), "A new interpretation of information
        rate"; the derivative of the growth is bisected, the sign of the edge is exact.
        """
        law = self.law
        if law.ev_cents <= 0:
            return 0.0
        nets: NDArray[np.float64] = law.nets.astype(np.float64)
        low, high = 0.0, 1 / self.needs_cents(1)
        while low < (middle := (low + high) / 2) < high:
            slope = float(law.probabilities @ (nets / (1 + middle * nets)))
            low, high = (middle, high) if slope > 0 else (low, middle)
        return low


def default_base_slip(rules: RuleSet) -> Slip:
    """The required box at the least multiple of a base unit that the table takes; where its limits
    hold none, the least slip.
    """
    least = least_slip(rules)
    ((box, minimum),) = least.stakes
    unit = lcm(rules.base_unit_cents, rules.table.chip_unit_cents, stake_step_cents(rules, box))
    slip = Slip(((box, -(-minimum // unit) * unit),))
    return slip if can_place(rules, slip) else least


def _times(amounts: tuple[tuple[str, int], ...], units: int) -> tuple[tuple[str, int], ...]:
    if units < 1:
        raise ConfigError(f"a slip is multiplied by 1 or more, got {units}")
    return tuple((box, units * cents) for box, cents in amounts)
