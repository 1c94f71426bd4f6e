"""Exact scores of a bet after a look that a detector watches: profit, nats told, and the frontier.

A policy is asked for the chance of every slip at every signal, and its probabilities are what is
scored: against a detector a mix of stakes beats every fixed choice. The law of its stakes given
the card follows without sampling, and with it its information and any detector's rate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from niulab.agents.base import Agent, StochasticAgent
from niulab.engine.wagers import Slip
from niulab.envs.settings import EnvSettings
from niulab.envs.watch import watched_bets
from niulab.errors import ConfigError
from niulab.evaluation.edges.looks import (
    Looks,
    bet_dependence,
    peek_looks,
    score_looks,
    slip_shares,
)
from niulab.evaluation.score import Bounds, RoundScore
from niulab.solvers.channels import Channel, SignalValues
from niulab.solvers.limits.detector import (
    Detector,
    WatchedBets,
    declared_log_factors,
    ideal_log_factors,
)

__all__ = ["StealthScore", "policy_of", "score_watched", "settings_as_watched", "stealth_bounds"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class StealthScore(RoundScore):
    """A round's score under a detector: ``value`` is profit less mu times the detector's rate.

    profit: base units a round, exact. information: nats a round that the slips tell a log of the
    card. rate: nats a round by which the task's detector grows, the information if it is ideal.
    frontier: the largest profit of a policy that tells no more. All but the profit are floats,
    exact up to rounding.
    """

    mu: float
    profit: Fraction
    information: float
    rate: float
    frontier: float

    @property
    def gap(self) -> float:
        """What the frontier earns more at this information."""
        return self.frontier - float(self.profit)

    def to_record(self) -> dict[str, Any]:
        return super().to_record() | self._figures()

    def to_dict(self) -> dict[str, Any]:
        return super().to_dict() | self._figures()

    def _figures(self) -> dict[str, float]:
        return {
            "mu": self.mu,
            "profit": float(self.profit),
            "information": self.information,
            "detector_rate": self.rate,
            "frontier_profit": self.frontier,
            "frontier_gap": self.gap,
        }


def score_watched(
    agent: Agent,
    settings: EnvSettings,
    looks: Looks,
    values: SignalValues,
    **words: Any,
) -> StealthScore:
    """The exact score of a policy on a task with a detector; words as of ``score_looks``."""
    detector, bets = _detector(settings), watched_bets(settings)
    words["stochastic"] = words.get("stochastic", False) or isinstance(agent, StochasticAgent)
    plain = score_looks(agent, settings, looks, values, bounds=stealth_bounds(settings), **words)
    policy = _as_policy(agent, looks, bets, stochastic=words["stochastic"])
    information = bets.information(policy)
    rate = information
    if not detector.is_ideal:
        rate = bets.log_rate(policy, declared_log_factors(bets, detector))
    value = float(plain.value) - detector.mu * rate
    frontier = bets.frontier_at(information).profit
    optimum = plain.bounds.optimum
    told = f"{information:.6f} nats a round told to a log of the card"
    notes = (
        f"profit {float(plain.value):+.6f} base units a round, {told}",
        f"the frontier earns {frontier:+.6f} for as many nats",
        f"value: profit less {detector.mu:g} times {rate:.6f}, the detector's nats a round",
    )
    words_of = {key: getattr(plain, key) for key in RoundScore.__dataclass_fields__}
    return StealthScore(
        **words_of
        | {
            "value": value,
            "betting_regret": (0.0 if optimum is None else float(optimum)) - value,
            "notes": (*plain.notes, *notes),
        },
        mu=detector.mu,
        profit=Fraction(plain.value),
        information=information,
        rate=rate,
        frontier=frontier,
    )


def stealth_bounds(settings: EnvSettings) -> Bounds:
    """The best blind slip and the best policy under the task's detector, base units."""
    detector, bets = _detector(settings), watched_bets(settings)
    if detector.is_ideal:
        floor, optimum, gap = _ideal_bounds(bets, detector.mu)
    else:
        gains = bets.gains(detector.mu, declared_log_factors(bets, detector))
        floor, gap = float((bets.chances @ gains).max()), 0.0
        optimum = float(bets.chances @ gains.max(axis=1))
    return Bounds(random=floor, optimum=optimum, gap=gap, floor="best blind slip")


_Ideal = tuple[float, float, float]
_IDEAL: dict[tuple[str, Channel, tuple[Slip, ...], float], _Ideal] = {}
_MOST_KEPT = 256


def _ideal_bounds(bets: WatchedBets, mu: float) -> _Ideal:
    """Floor, optimum and gap; who plays blindly tells an ideal detector nothing. Kept."""
    key = bets.rules.rules_hash, bets.channel, bets.menu, mu
    if key not in _IDEAL:
        while len(_IDEAL) >= _MOST_KEPT:
            _IDEAL.pop(next(iter(_IDEAL)))
        point, blind = bets.frontier(mu), float((bets.chances @ bets.values).max())
        _IDEAL[key] = blind, point.value, point.gap
    return _IDEAL[key]


def settings_as_watched(agent: Agent, settings: EnvSettings) -> EnvSettings:
    """The task with the detector that knows this agent, where it is ideal; else as it is.

    An environment cannot ask for the law of who plays in it. Raises ConfigError as ``policy_of``.
    """
    detector = settings.detector
    if detector is None or not detector.is_ideal:
        return settings
    factors = np.exp(ideal_log_factors(watched_bets(settings), policy_of(agent, settings)))
    return replace(settings, detector=Detector(mu=detector.mu, factors=tuple(map(tuple, factors))))


def policy_of(agent: Agent, settings: EnvSettings) -> Floats:
    """An agent's chances of every slip by signal, (n_signals, n_slips), to 2**-24.

    Signals that do not occur have the least slip. Raises ConfigError for an agent that gives no
    probabilities and does not bet one slip for each signal.
    """
    looks = peek_looks(settings)
    is_stochastic = isinstance(agent, StochasticAgent)
    if not is_stochastic and (why := bet_dependence(agent, looks)) is not None:
        raise ConfigError(
            f"an ideal detector knows the law of the bets, and '{agent.name}' does not give it: "
            f"{why}; give it a method probabilities(observations, masks), or declare a detector"
        )
    return _as_policy(agent, looks, watched_bets(settings), stochastic=is_stochastic)


def _as_policy(agent: Agent, looks: Looks, bets: WatchedBets, *, stochastic: bool) -> Floats:
    shares, _ = slip_shares(agent, looks, stochastic=stochastic)
    policy = np.zeros((len(bets.chances), len(bets.menu)))
    policy[:, 0] = 1.0
    for signal, row in shares.items():
        policy[signal] = 0.0
        for index, share in row.items():
            policy[signal, index] = float(share)
    return policy


def _detector(settings: EnvSettings) -> Detector:
    if settings.detector is None:
        raise ConfigError("nobody watches this task: give detector={'mu': 0.1}")
    return settings.detector
