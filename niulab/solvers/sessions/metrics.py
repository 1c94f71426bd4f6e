"""What the advantage-play literature prints of a bet, from the exact law of its round.

Signs are the player's: a house edge is a negative EV, and makes DI and SCORE negative. They then
rank what bets cost for their risk; no Kelly bettor stakes on such a bet, so his fraction is 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import copysign, inf, sqrt

import numpy as np

from niulab.engine.rules.model import RuleSet
from niulab.engine.wagers import exposure_cents
from niulab.errors import ConfigError
from niulab.solvers.sessions.flat import FlatLaw, flat_law
from niulab.solvers.sessions.net_law import NetLaw

__all__ = ["SlipMetrics", "kelly_fraction", "slip_metrics"]


@dataclass(frozen=True)
class SlipMetrics:
    """The figures of one slip; money in cents, rates per round unless the name says otherwise.

    house_edge is per initial stake, element_of_risk per chip moved (|result before commission and
    half-pay|), both expected losses. desirability is DI = 1000 EV / SD and score is SCORE = DI^2,
    the gain per 100 rounds of a Kelly bettor with 10,000 units (Schlesinger, Blackjack Attack, 3rd
    ed., chapter 10); here SCORE carries the sign of EV. rounds_to_outweigh_sd is N0 = variance /
    EV^2, the rounds after which the mean is one standard deviation (Brett Harris); inf for EV 0.
    kelly_fraction is the share of the bankroll to stake in all for the greatest mean logarithm of
    it, inside the slip's cover; 0 without an edge.
    """

    law: NetLaw
    exposure_cents: int
    rounds_per_hour: float
    kelly_fraction: float

    @property
    def stake_cents(self) -> int:
        """All stakes together."""
        return self.law.slip.total_cents

    @property
    def ev_cents(self) -> Fraction:
        """Mean net, exactly."""
        return self.law.ev_cents

    @property
    def ev_cents_per_hour(self) -> float:
        """Mean net of an hour."""
        return float(self.ev_cents) * self.rounds_per_hour

    @property
    def house_edge(self) -> Fraction:
        """Expected loss per cent staked."""
        return -self.ev_cents / self.stake_cents

    @property
    def element_of_risk(self) -> Fraction:
        """Expected loss per cent moved."""
        return -self.ev_cents / self.law.moved_cents

    @property
    def sd_cents(self) -> float:
        """Standard deviation of the net."""
        return sqrt(self.law.variance)

    @property
    def skewness(self) -> float:
        """Third standardized moment."""
        return self.law.skewness

    @property
    def excess_kurtosis(self) -> float:
        """Fourth standardized moment less 3."""
        return self.law.excess_kurtosis

    @property
    def rounds_to_outweigh_sd(self) -> float:
        """N0 = variance / EV^2."""
        return float(self.law.variance / self.ev_cents**2) if self.ev_cents else inf

    @property
    def desirability(self) -> float:
        """DI = 1000 EV / SD."""
        return 1000 * float(self.ev_cents) / self.sd_cents

    @property
    def score(self) -> float:
        """SCORE = DI^2, with the sign of EV."""
        return copysign(self.desirability**2, self.desirability)

    def certainty_equivalent_cents(self, bankroll_cents: float, kelly: float = 1.0) -> float:
        """EV - variance / (2 k B): what the round is worth to one who bets ``kelly`` x Kelly."""
        if bankroll_cents <= 0 or kelly <= 0:
            message = (
                f"a certainty equivalent needs a bankroll and a Kelly share above 0, got "
                f"{bankroll_cents} cents and {kelly}"
            )
            raise ConfigError(message)
        return float(self.ev_cents) - float(self.law.variance) / (2 * kelly * bankroll_cents)

    def rounds_to_double(self, bankroll_cents: float) -> float:
        """Rounds of this slip whose mean gain is the bankroll; inf without an edge."""
        return bankroll_cents / float(self.ev_cents) if self.ev_cents > 0 else inf

    def p_ahead(self, n_rounds: int) -> float:
        """P(net > 0 after ``n_rounds`` flat rounds)."""
        return self.session(n_rounds).p_ahead

    def session(self, n_rounds: int) -> FlatLaw:
        """The law of ``n_rounds`` flat rounds: its 5-95 % band, quantiles and CVaR."""
        return flat_law(self.law, n_rounds)


def slip_metrics(rules: RuleSet, net_law: NetLaw, *, rounds_per_hour: float = 60.0) -> SlipMetrics:
    """The figures of a slip under its law, possibly a conditional one."""
    exposure = exposure_cents(rules, net_law.slip)
    return SlipMetrics(net_law, exposure, rounds_per_hour, kelly_fraction(net_law, exposure))


def kelly_fraction(net_law: NetLaw, exposure_cents: int | None = None) -> float:
    """Share of the bankroll that the slip's stakes are at the greatest mean log of the bankroll.

    The slip is scaled as a whole, as far as the bankroll covers ``exposure_cents`` (default: its
    greatest loss) times as much. 0 without an edge; it has no unit, so neither has its answer.
    """
    from scipy.optimize import brentq

    if net_law.ev_cents <= 0:
        return 0.0
    worst = -int(net_law.nets[0])
    exposure = worst if exposure_cents is None else exposure_cents
    stake = net_law.slip.total_cents
    if exposure <= 0:
        raise ConfigError(f"'{net_law.slip}' cannot lose, so it has no Kelly stake: give a cover")
    returns = net_law.nets / exposure  # per chip in sight, of which at most the bankroll can be

    def slope(share: float) -> float:
        """Of E log(1 + share x return), falling in ``share``."""
        return float((net_law.probabilities * returns / (1 + share * returns)).sum())

    if worst < exposure and slope(1.0) >= 0:
        return stake / exposure
    last = np.nextafter(1.0, 0.0)
    in_sight = brentq(slope, 0.0, float(last), rtol=1e-14) if slope(float(last)) < 0 else 1.0
    return float(in_sight) * stake / exposure
