"""Samples over the limit: rounds of ``Peek`` that no learner can do without, and who needs more.

For each signal s the slips of the menu are arms with exact laws of the net. A learner takes each
signal's slips for unrelated arms of unknown odds on known payments, and its policy is to have the
normalized score z or more with probability 1 - delta at least. Then, for each signal, its slip must
be within epsilon = (1 - z) (optimum - floor) / p(s) of the best: a best-arm problem of its own
(``statistics.best_arm``) of time T*(s). Signals come with probability p(s), whatever the learner
does, so that of n rounds it can count on n p(s) at s, and needs

    n >= kl(delta, 1 - delta) max over s of T*(s) / p(s).

It is a limit of learning from settled nets of the own bet; for z < 1 it holds as delta goes to 0. A
network that shares what it learned between signals or slips may get below it, and exact rewards
(``reward="expected"``) have no luck to average out: there a sample per slip and signal tells all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from niulab.envs.settings import EnvSettings
from niulab.errors import ConfigError
from niulab.evaluation.curves import THRESHOLDS, Curve
from niulab.evaluation.statistics.best_arm import Arm, best_arm, confidence_cost
from niulab.evaluation.statistics.efficiency import median_steps
from niulab.solvers.channels import SignalMixture, signal_mixtures
from niulab.solvers.information import law_given_card
from niulab.solvers.sessions.net_law import NetLaw, net_law

__all__ = [
    "SampleLimit",
    "SamplesOverLimit",
    "SignalLimit",
    "sample_limits",
    "samples_over_limit",
    "why_no_sample_limit",
]


@dataclass(frozen=True)
class SignalLimit:
    """One signal as a best-arm problem: its probability, the slip easiest to name and T* in own
    samples.

    samples: rounds of the game below which no slip for this signal can be named.
    """

    signal: str
    chance: float
    named: str
    time: float
    samples: float


@dataclass(frozen=True)
class SampleLimit:
    """The limit of a normalized score at a probability of error ``delta``, and every signal's part.

    tolerance: base units by which a policy of that score may fall short of the optimum.
    """

    score: float
    delta: float
    tolerance: float
    signals: tuple[SignalLimit, ...]

    @property
    def hardest(self) -> SignalLimit:
        """The signal that decides."""
        return max(self.signals, key=lambda signal: signal.samples)

    @property
    def samples(self) -> float:
        """Rounds of the game in all."""
        return self.hardest.samples

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> SampleLimit:
        """The limit that ``to_dict`` wrote down."""
        rows: list[dict[str, Any]] = [
            {key: inf if value is None else value for key, value in row.items()}
            for row in record["signals"]
        ]
        signals = tuple(SignalLimit(**row) for row in rows)
        return cls(record["score"], record["delta"], record["tolerance"], signals)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON; None where two slips are best alike and no number of rounds tells."""
        return {
            "score": self.score,
            "delta": self.delta,
            "tolerance": self.tolerance,
            "samples": _finite(self.samples),
            "signals": [
                {
                    "signal": one.signal,
                    "chance": one.chance,
                    "named": one.named,
                    "time": _finite(one.time),
                    "samples": _finite(one.samples),
                }
                for one in self.signals
            ],
        }


@dataclass(frozen=True)
class SamplesOverLimit:
    """Median samples after which runs have a normalized score, and their ratio to the limit.

    Both are infinite where fewer than half of the ``n_runs`` got there within their budgets.
    """

    score: float
    median: float
    ratio: float
    n_reached: int
    n_runs: int


def why_no_sample_limit(settings: EnvSettings) -> str | None:
    """Why a task has no such limit, or None if it has one."""
    if settings.channel is None:
        return "the task has no channel: with millions of hands a network generalizes"
    if settings.n_rounds != 1 or settings.bankroll_cents is not None or settings.can_leave:
        return "only a single round without leaving is a best-arm problem"
    if settings.reward == "expected":
        return "exact rewards have no luck to average out"
    return None


def sample_limits(
    settings: EnvSettings, scores: Sequence[float] = (*THRESHOLDS, 1.0), *, delta: float = 0.05
) -> tuple[SampleLimit, ...]:
    """The limits of normalized scores on a task with a look, 1 being the optimum itself.

    Raises ConfigError, with the reason, where there is none. Takes about a second for every signal.
    """
    reason = why_no_sample_limit(settings)
    if reason is not None or settings.channel is None:
        raise ConfigError(f"the task has no limit of samples: {reason}; use niulab/Peek-v0")
    if wrong := [score for score in scores if not score <= 1]:
        raise ConfigError(f"normalized scores are at most 1, got {wrong}")
    cost, unit = confidence_cost(delta), settings.rules.base_unit_cents
    blind = [net_law(settings.rules, slip) for slip in settings.menu]
    mixtures = [
        mixture for mixture in signal_mixtures(settings.rules, settings.channel) if mixture.chance
    ]
    arms = [_arms(settings, mixture, blind) for mixture in mixtures]
    best = [
        float(mixture.chance) * max(arm.mean for arm in row)
        for mixture, row in zip(mixtures, arms, strict=True)
    ]
    reach = sum(best) - float(max(law.ev_cents for law in blind))  # from the floor to the optimum
    found = []
    for score in scores:
        signals = []
        for mixture, row in zip(mixtures, arms, strict=True):
            chance = float(mixture.chance)
            limit = best_arm(row, tolerance=(1 - score) * reach / chance)
            signals.append(
                SignalLimit(
                    signal=mixture.name,
                    chance=chance,
                    named=str(settings.menu[limit.index]),
                    time=limit.time,
                    samples=cost * limit.time / chance,
                )
            )
        found.append(SampleLimit(score, delta, (1 - score) * reach / unit, tuple(signals)))
    return tuple(found)


def samples_over_limit(curves: Sequence[Curve], limit: SampleLimit) -> SamplesOverLimit:
    """Of the runs of one task: each counts from the first evaluation that shows the score."""
    steps = [curve.steps_to(limit.score) for curve in curves]
    median = median_steps([inf if step is None else step for step in steps])
    return SamplesOverLimit(
        score=limit.score,
        median=median,
        ratio=median / limit.samples if limit.samples else inf,
        n_reached=len(steps) - steps.count(None),
        n_runs=len(steps),
    )


def _arms(settings: EnvSettings, mixture: SignalMixture, blind: Sequence[NetLaw]) -> list[Arm]:
    """The law of each slip's net, given a signal."""
    rules, channel = settings.rules, settings.channel
    if mixture.cards is None or channel is None:
        return [Arm(law.nets, law.probabilities) for law in blind]
    law = law_given_card(rules, mixture.cards, channel.position)
    seen = [net_law(rules, slip, law) for slip in settings.menu]
    share = float(mixture.share)
    return [_mixed(mine, other, share) for mine, other in zip(seen, blind, strict=True)]


def _mixed(seen: NetLaw, blind: NetLaw, share: float) -> Arm:
    nets: NDArray[np.int64] = np.union1d(seen.nets, blind.nets)
    chances = np.zeros(len(nets))
    chances[np.searchsorted(nets, seen.nets)] += share * seen.probabilities
    chances[np.searchsorted(nets, blind.nets)] += (1 - share) * blind.probabilities
    occurs = chances > 0
    return Arm(nets[occurs], chances[occurs])


def _finite(number: float) -> float | None:
    return None if number == inf else number
