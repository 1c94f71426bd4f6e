"""Honest players at many tables: any betting system, with or without bets on the side.

They know nothing of the cards to come. Their chips last for a session of ``session`` rounds; who is
ruined or leaves is gone until the next one, which begins with fresh chips and a fresh memory.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from niulab.agents.advantage.config import PlayerConfig, Share
from niulab.agents.advantage.crowd import Block, Cents, Crowd, Seats, cents_by_box
from niulab.agents.systems.catalog import make_system
from niulab.agents.systems.sitting import Sitting
from niulab.agents.systems.system import LEAVE
from niulab.engine.rules import RuleSet
from niulab.engine.wagers import Slip, exposure_cents, least_slip, verify_slip
from niulab.errors import ConfigError, NiuLabError

__all__ = ["Bettor", "Bettors"]

_MEMORIES, _SIDES = 2, 3
_MOST_UNITS = 1000


class Bettor(PlayerConfig):
    """Plays a betting system; ``side`` is staked besides by chance, or when behind or ahead.

    base_slip: what the system multiplies, by default the required box. chips, target: base units.
    side: a slip of optional boxes. side_rate: chance to stake it where ``side_when`` allows.
    """

    kind: Literal["bettor"] = "bettor"
    system: str = "flat"
    base_slip: str | None = None
    chips: Annotated[int, Field(ge=1)] = 1000
    target: Annotated[int, Field(ge=1)] = 1500
    session: Annotated[int, Field(ge=1)] = 500
    side: str | None = None
    side_rate: Share = 1.0
    side_when: Literal["always", "behind", "ahead", "lost", "won"] = "always"

    def sitting(self, rules: RuleSet) -> Sitting:
        """Where it sits; raises WagerError or ConfigError."""
        unit = rules.base_unit_cents
        return Sitting.at(
            rules,
            self.base_slip,
            start_cents=self.chips * unit,
            target_cents=self.target * unit,
        )

    def side_slip(self, rules: RuleSet) -> Slip:
        """What it stakes on the side; raises WagerError, ConfigError."""
        slip = Slip.of(self.side or "single=0")
        if rules.required_box in slip.boxes:
            raise ConfigError(
                f"side '{self.side}' names the required box: write optional boxes, as 'super=100'"
            )
        return slip

    def mistakes(self, rules: RuleSet) -> list[str]:
        found = []
        try:
            sitting, system = self.sitting(rules), make_system(self.system)
            system.verify(sitting)
            side = self.side_slip(rules)
            if side.stakes:
                both = dict(sitting.base_slip.stakes)
                for box, cents in side.stakes:
                    both[box] = both.get(box, 0) + cents
                verify_slip(rules, Slip.of(both))
        except NiuLabError as error:
            found.append(str(error))
        if self.target <= self.chips:
            found.append(f"target {self.target} is not above chips {self.chips}: raise it")
        return found


class Bettors(Crowd):
    """A crowd of one system: memories, chips and where they last stood."""

    def __init__(self, rules: RuleSet, seats: Seats, config: Bettor) -> None:
        super().__init__(rules, seats)
        self.config = config
        self.system = make_system(config.system)
        self.sitting = config.sitting(rules)
        self._base = cents_by_box(rules, self.sitting.base_slip)
        self._least = cents_by_box(rules, least_slip(rules))
        self._side = cents_by_box(rules, config.side_slip(rules))
        self._side_needs = exposure_cents(rules, config.side_slip(rules))
        self._memories = np.zeros(len(seats), dtype=np.int64)
        self._start = self.sitting.start_cents or 0
        self._chips = np.full(len(seats), self._start, dtype=np.int64)
        self._last = np.zeros(len(seats), dtype=np.int64)
        self._needs = _needs(self.sitting)
        self._drawn: NDArray[np.float64] | None = None

    def look(self, block: Block) -> None:
        super().look(block)
        self._drawn = self.chances(_MEMORIES) if self.system.redraws else None
        if self._side.any():
            self._sides = self.chances(_SIDES) < self.config.side_rate

    def begin(self, k: int) -> None:
        super().begin(k)
        if self._round % self.config.session == 0:
            self._memories[:], self._last[:] = 0, 0
            self._chips[:] = self._start
            self.is_present[:] = True
        if self._drawn is not None:
            n = len(self.system.automaton)
            self._memories = (self._drawn[:, k] * n).astype(np.int64)
        units = self.system.automaton.units[self._memories]
        self._wanted = self.system.wanted(self.sitting, units, self._chips)
        self.is_present &= (self._wanted != LEAVE) & (self._chips >= self._needs[-1])

    def bets(self) -> Cents:
        covered = np.searchsorted(self._needs[:-1], self._chips, side="right")
        units = np.minimum(np.maximum(self._wanted, 0), covered)
        slips: Cents = units[:, None] * self._base
        slips[units == 0] = self._least
        if self._side.any():
            can = self._chips >= self._needs[units - 1] + self._side_needs
            is_staked = self._sides[:, self.now] & self._feels & can
            slips += np.where(is_staked[:, None], self._side, 0)
        return slips

    def settled(self, nets: Cents) -> None:
        self._last = nets
        self._chips = self._chips + nets
        self._memories = np.where(
            self.is_present, self.system.automaton.after(self._memories, nets), self._memories
        )

    @property
    def _feels(self) -> NDArray[np.bool_]:
        moods: dict[str, NDArray[np.bool_]] = {
            "always": np.ones(len(self._last), dtype=np.bool_),
            "behind": self._chips < self._start,
            "ahead": self._chips > self._start,
            "lost": self._last < 0,
            "won": self._last > 0,
        }
        return moods[self.config.side_when]


_NEEDS: dict[tuple[str, Slip], Cents] = {}


def _needs(sitting: Sitting) -> Cents:
    """Chips that 1, 2, ... base slips need, ascending, and last those of the least slip; kept."""
    key = sitting.rules.rules_hash, sitting.base_slip
    if key not in _NEEDS:
        most = min(sitting.most_units, _MOST_UNITS)
        needs = [sitting.needs_cents(units) for units in (*range(1, most + 1), 0)]
        _NEEDS[key] = np.array(needs, dtype=np.int64)
    return _NEEDS[key]
