"""Players who stake high by chance: any policy of two slips, and those on the stealth frontier, the
most profit at each amount told to a log of the cards.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from niulab.agents.advantage.config import (
    FrontierPlayer,
    RatedPlayer,
    SightConfig,
    high_slip,
    low_slip,
)
from niulab.agents.advantage.crowd import Seats, cents_by_box
from niulab.agents.advantage.sight import Seers
from niulab.agents.advantage.worth import Plan, box_worths
from niulab.engine.rules import RuleSet
from niulab.solvers.limits.frontier import FrontierPoint, frontier_point

__all__ = ["RatedSeers", "hidden_edge", "hidden_point"]

_HIGHS = 0


class RatedSeers(Seers):
    """Stake high with the chance that their config, or the frontier, gives what they see."""

    def __init__(self, rules: RuleSet, seats: Seats, config: FrontierPlayer | RatedPlayer) -> None:
        self._rates = np.array(_rates(rules, config))
        super().__init__(rules, seats, config)
        self.high_rate = float(_chances(rules, config) @ self._rates)

    def _plan(self) -> Plan:
        low = cents_by_box(self.rules, low_slip(self.rules, self.sight))
        high = cents_by_box(self.rules, high_slip(self.rules, self.sight))
        n = len(self._rates) + 1  # the last signal, which never comes, is that of nothing
        return Plan(self.boxes, low, np.tile(low, (n, 1)), high)

    def _chosen(self, signals: NDArray[np.int64]) -> NDArray[np.int64]:
        rates = np.append(self._rates, 0.0)
        return self._low + (self.chances(_HIGHS) < rates[signals])


def hidden_point(rules: RuleSet, config: FrontierPlayer) -> FrontierPoint:
    """The point of a price: chances to stake low and high by class; profit in base units."""
    return frontier_point(
        _chances(rules, config), _gains(rules, config).astype(np.float64), config.mu
    )


def hidden_edge(rules: RuleSet, config: FrontierPlayer | RatedPlayer) -> Fraction:
    """Mean cents a round, exactly for the policy as it is computed."""
    low = low_slip(rules, config)
    worths = box_worths(rules, config.channel, high_slip(rules, config).boxes)
    total = sum((cents * worths.blind[box] for box, cents in low.stakes), Fraction(0))
    rates = _rates(rules, config)
    gains = _gains(rules, config)[:, 1].tolist()
    for chance, rate, gain in zip(worths.card_chances, rates, gains, strict=True):
        total += chance * Fraction(rate) * gain * rules.base_unit_cents
    return total


def _rates(rules: RuleSet, config: FrontierPlayer | RatedPlayer) -> list[float]:
    """Chances of the high slip by class."""
    if isinstance(config, RatedPlayer):
        return [*config.rates]
    rates: list[float] = hidden_point(rules, config).policy[:, 1].tolist()
    return rates


def _chances(rules: RuleSet, config: SightConfig) -> NDArray[np.float64]:
    worths = box_worths(rules, config.channel, high_slip(rules, config).boxes)
    return np.array([float(chance) for chance in worths.card_chances])


def _gains(rules: RuleSet, config: SightConfig) -> NDArray[np.object_]:
    """Exact mean gain in base units over the low slip, by class, of the low and the high slip."""
    low, high = low_slip(rules, config), high_slip(rules, config)
    worths = box_worths(rules, config.channel, high.boxes)
    more = [(box, cents - low.stake(box)) for box, cents in high.stakes]
    rows = [
        [
            Fraction(0),
            sum((cents * worths.card[box][place] for box, cents in more), Fraction(0))
            / rules.base_unit_cents,
        ]
        for place in range(len(worths.card_chances))
    ]
    return np.array(rows, dtype=object)
