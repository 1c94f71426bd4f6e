"""A declared detector: its factors, and what a player pays it for being watched.

A detector of who looks at a card is a factor f(c | a) of the card's class c for every stake a, of
mean one under the law of the cards. To be watched costs mu ln f(c | a) a round, the mean of which
is mu times the detector's rate. Of all detectors that of the player's own law has the highest:

    max over f of  E ln f(c | a) = I(a; c),      attained by  f(c | a) = q(a | c) / r(a)

so whoever is watched by it earns E v - mu I, and the best he can do is a point of the stealth
frontier. The order does not matter (E ln f is linear in q and concave in f): one detector,
f(c | a) = exp(v(c, a) / mu) / Z_c at the frontier's price, holds everybody down to the frontier's
value, whatever he does, and makes all the frontier's stakes alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from niulab.engine.rules.model import RuleSet
from niulab.engine.wagers import Slip
from niulab.errors import ConfigError, nearest
from niulab.solvers.channels import Channel, signal_mixtures, signal_values
from niulab.solvers.limits.bettors import chance_ratios, stake_chances
from niulab.solvers.limits.information import mutual_information, verify_policy

if TYPE_CHECKING:  # SciPy's optimizers take longer to import than an environment
    from niulab.solvers.limits.frontier import FrontierPoint

__all__ = [
    "Detector",
    "WatchedBets",
    "declared_log_factors",
    "frontier_log_factors",
    "ideal_log_factors",
]

Floats = NDArray[np.float64]

_HEDGE = 1e-9
"""What an ideal detector keeps out of every bet, so that no stake it thought impossible ruins it:
its rate is lower by as much, and no log factor is below that of it."""

_MEAN_ERROR = 1e-9


@dataclass(frozen=True, kw_only=True)
class Detector:
    """A price ``mu`` of a nat, in base units, and who asks it.

    Without other keys the detector is ideal: it knows the player's own law, once it is told. sees,
    base: that of a bettor who sees the card with the one chance, and then stakes ``box`` (default:
    that which the look favors most) if it is favorable, and else with the other chance. factors:
    any other, by class of the card and slip.
    """

    mu: float
    sees: float | None = None
    base: float | None = None
    box: str | None = None
    factors: tuple[tuple[float, ...], ...] | None = None

    def __post_init__(self) -> None:
        if self.factors is not None:
            try:
                rows = tuple(tuple(float(number) for number in row) for row in self.factors)
            except (TypeError, ValueError):
                raise ConfigError(
                    f"factors is a list of numbers for each class, got {self.factors!r}"
                ) from None
            object.__setattr__(self, "factors", rows)
        if mistakes := list(self._mistakes()):
            raise ConfigError("; ".join(mistakes))

    @classmethod
    def of(cls, given: Detector | Mapping[str, Any]) -> Detector:
        """A detector of its keywords; raises ConfigError with every mistake."""
        if isinstance(given, Detector):
            return given
        known = tuple(field.name for field in fields(cls))
        mistakes = [
            f"unknown key '{key}'{nearest(str(key), known)}" for key in given if key not in known
        ]
        words = {key: value for key, value in given.items() if key in known}
        if "mu" not in words:
            mistakes.append("mu, the price of a nat in base units, is missing: write mu=0.1")
            words["mu"] = 1.0
        try:
            found = cls(**words)
        except ConfigError as error:
            mistakes.append(str(error))
        if mistakes:
            raise ConfigError("; ".join(mistakes))
        return found

    @property
    def is_ideal(self) -> bool:
        """Whether it is the best one against the player himself."""
        return self.sees is None and self.factors is None

    def to_json(self) -> dict[str, Any]:
        """The keywords of ``of``, in JSON's types."""
        record = {key: value for key, value in asdict(self).items() if value is not None}
        if self.factors is not None:
            record["factors"] = [list(row) for row in self.factors]
        return record

    def _mistakes(self) -> Sequence[str]:
        mistakes = []
        if not (_is_number(self.mu) and 0 < self.mu < np.inf):
            mistakes.append(f"mu is a finite number above 0, got {self.mu!r}")
        if (self.sees is None) != (self.base is None):
            mistakes.append("sees and base go together: give both or neither")
        for key, value in (("sees", self.sees), ("base", self.base)):
            if value is not None and not (_is_number(value) and 0 < value < 1):
                mistakes.append(
                    f"{key} is a number between 0 and 1, both left out (a factor of 0 would pay "
                    f"without bound), got {value!r}"
                )
        if not isinstance(self.box, str | None):
            mistakes.append(f"box is the name of a box, as 'super', or left out, got {self.box!r}")
        if self.box is not None and self.sees is None:
            mistakes.append("box is what the declared bettor stakes: give sees and base as well")
        if self.factors is not None and len({len(row) for row in self.factors}) != 1:
            mistakes.append("factors has rows of one length, one for each class")
        if self.factors is not None and self.sees is not None:
            mistakes.append("factors and sees declare two detectors: leave one out")
        return mistakes


@dataclass(frozen=True, eq=False)
class WatchedBets:
    """One round's bet after a look, in a log that keeps the class of the card.

    Signals are numbered as in ``solvers.channels.Signals``, classes as its values. A policy is
    (n_signals, n_slips), the chance of each slip by signal; a table of log factors is
    (n_classes, n_slips).
    """

    rules: RuleSet
    channel: Channel
    menu: tuple[Slip, ...]

    @cached_property
    def card_chances(self) -> Floats:
        """Law of the classes, (n_classes,)."""
        copies = np.array(self.rules.deck.composition)
        classes = self.channel.values(self.rules).values()
        shares: Floats = np.array([copies[list(ids)].sum() for ids in classes]) / copies.sum()
        return shares

    @cached_property
    def chances(self) -> Floats:
        """Law of the signals, (n_signals,)."""
        return np.array([float(one.chance) for one in self._mixtures])

    @cached_property
    def cards(self) -> Floats:
        """Law of the class given the signal, (n_signals, n_classes)."""
        k = len(self.card_chances)
        shares = np.array([float(one.share) for one in self._mixtures])
        own = np.eye(k + 1, k)
        law: Floats = shares[:, None] * own + (1 - shares)[:, None] * self.card_chances
        return law

    @cached_property
    def values(self) -> Floats:
        """Mean net in base units by signal and slip, (n_signals, n_slips)."""
        found = signal_values(self.rules, self.channel, self.menu)
        nets = [
            [float(net / self.rules.base_unit_cents) for net in row] for row in found.nets_cents
        ]
        return np.array(nets)

    def by_card(self, policy: Floats) -> Floats:
        """Chance of each slip by class of the card, (n_classes, n_slips)."""
        verify_policy(self.chances, policy)
        joint = self.cards * self.chances[:, None]
        law: Floats = joint.T @ policy / self.card_chances[:, None]
        return law

    def profit(self, policy: Floats) -> float:
        """Mean net of a round in base units."""
        verify_policy(self.chances, policy)
        return float(self.chances @ (policy * self.values).sum(axis=1))

    def information(self, policy: Floats) -> float:
        """Nats a round that the slips tell of the card's class."""
        return mutual_information(self.chances, policy, self.cards)

    def log_rate(self, policy: Floats, log_factors: Floats) -> float:
        """Mean log factor of a round: the rate at which a detector's wealth grows, in nats."""
        verify_policy(self.chances, policy)
        return float(self.chances @ (policy * (self.cards @ log_factors)).sum(axis=1))

    def gains(self, mu: float, log_factors: Floats) -> Floats:
        """Mean net less mu times the mean log factor, by signal and slip."""
        gains: Floats = self.values - mu * (self.cards @ log_factors)
        return gains

    def best_reply(self, mu: float, log_factors: Floats) -> NDArray[np.int64]:
        """The slip of the greatest gain by signal, the first of equals; exact but for rounding."""
        slips: NDArray[np.int64] = self.gains(mu, log_factors).argmax(axis=1)
        return slips

    def frontier(self, mu: float) -> FrontierPoint:
        """The best policy against the ideal detector at a price."""
        from niulab.solvers.limits.curve import point_at

        return point_at(self.chances, self.values, mu, self._logged)

    def frontier_at(self, information: float) -> FrontierPoint:
        """The largest profit of a policy that tells no more."""
        from niulab.solvers.limits.curve import point_of_information

        return point_of_information(self.chances, self.values, information, self._logged)

    @property
    def _logged(self) -> Floats | None:
        return None if self.channel.is_clear else self.cards

    @cached_property
    def _mixtures(self) -> tuple[Any, ...]:
        return signal_mixtures(self.rules, self.channel)


def ideal_log_factors(bets: WatchedBets, policy: Floats) -> Floats:
    """Log factors of the detector that knows a policy, (n_classes, n_slips).

    It keeps 1e-9 of its wealth out of every bet, so they are finite; their mean under the policy is
    its information less as much.
    """
    law = bets.by_card(policy)
    means = bets.card_chances @ law
    ratios = np.where(means > 0, law / np.where(means > 0, means, 1.0), 1.0)
    logs: Floats = np.log(_HEDGE + (1 - _HEDGE) * ratios)
    return logs


def frontier_log_factors(bets: WatchedBets, mu: float) -> Floats:
    """Log factors of the detector under which nobody earns more than the frontier's value at a
    price, (n_classes, n_slips).

    exp(v / mu) / Z by class, brought up to mean one for slips that the frontier does not use.
    Raises ConfigError for a channel with noise or a see-rate: the closed form does not hold there.
    """
    if not bets.channel.is_clear:
        raise ConfigError(
            "the frontier's detector has a closed form for who sees the card as it is: leave "
            "see_rate and noise out"
        )
    values, stake_law = bets.values[: len(bets.card_chances)], bets.frontier(mu).stake_law
    scaled = (values - values.max(axis=1, keepdims=True)) / mu
    logs: Floats = scaled - np.log(np.exp(scaled) @ stake_law)[:, None]
    logs -= np.log(bets.card_chances @ np.exp(logs))
    return logs


def declared_log_factors(bets: WatchedBets, detector: Detector) -> Floats:
    """Log factors of a detector that is not ideal, (n_classes, n_slips).

    Raises ConfigError for factors that are not above 0, are not of mean one, or whose table has
    another shape, and for a box that the sheet does not have.
    """
    if detector.factors is not None:
        return _given_log_factors(bets, np.array(detector.factors))
    from niulab.solvers.limits.looks import look_at

    look = look_at(bets.rules, bets.channel)
    box = detector.box or look.best_box
    rates = np.array([[detector.sees or 0.0, detector.base or 0.0]])
    ratios = chance_ratios(stake_chances(look.values(box) > 0, rates), bets.card_chances)
    is_staked = np.array([int(slip.stake(box) > 0) for slip in bets.menu])
    logs: Floats = np.log(ratios[is_staked, :, 0].T)
    return logs


def _given_log_factors(bets: WatchedBets, factors: Floats) -> Floats:
    shape = len(bets.card_chances), len(bets.menu)
    if factors.shape != shape:
        raise ConfigError(
            f"factors has a row for each of {shape[0]} classes and in it a number for each of "
            f"{shape[1]} slips, got shape {factors.shape}"
        )
    if not (np.isfinite(factors).all() and (factors > 0).all()):
        raise ConfigError("factors are finite and above 0: one of 0 would pay without bound")
    errors = np.abs(bets.card_chances @ factors - 1)
    if errors.max() > _MEAN_ERROR:
        worst = int(errors.argmax())
        raise ConfigError(
            f"the factors of the slip '{bets.menu[worst]}' have mean "
            f"{float(bets.card_chances @ factors[:, worst]):.9g} over the cards: a factor has "
            "mean one, or honest players would pay it or be paid"
        )
    logs: Floats = np.log(factors)
    return logs


def _is_number(given: object) -> bool:
    return isinstance(given, int | float) and not isinstance(given, bool)
