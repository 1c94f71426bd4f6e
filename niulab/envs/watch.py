"""What a detector takes for being watched: a price on every slip by the card that was looked at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from niulab.errors import ConfigError
from niulab.solvers.channels import Signals
from niulab.solvers.limits.detector import (
    Detector,
    WatchedBets,
    declared_log_factors,
    ideal_log_factors,
)

if TYPE_CHECKING:
    from niulab.envs.settings.model import EnvSettings

__all__ = [
    "Watch",
    "contradictions_of_watch",
    "read_detector",
    "restore",
    "state_of",
    "watch_of",
    "watched_bets",
]


def watched_bets(settings: EnvSettings) -> WatchedBets:
    """The bets of a task with a channel; raises ConfigError for one without."""
    if settings.channel is None:
        raise ConfigError("nothing is seen before the bet: use niulab/Peek-v0, or give channel={}")
    return WatchedBets(settings.rules, settings.channel, settings.menu)


class Watch:
    """The detector of a task at work.

    prices: float64 (n_classes, n_slips), what a round's reward is less by class of the card and
    slip: mu times the log factor, times the scale of rewards. An ideal detector, which knows the
    player's law, takes nothing until it is told one.
    """

    def __init__(self, settings: EnvSettings) -> None:
        detector = settings.detector
        if detector is None:
            raise ConfigError("nobody watches: give detector={'mu': 0.1}")
        self.bets, self._detector = watched_bets(settings), detector
        self.signals = Signals(settings.rules, self.bets.channel)
        self._scale = detector.mu * settings.reward_scale
        self.policy: NDArray[np.float64] | None = None
        self.prices = np.zeros((len(self.bets.card_chances), len(settings.menu)))
        if not detector.is_ideal:
            self.prices = self._scale * declared_log_factors(self.bets, detector)

    @property
    def is_ideal(self) -> bool:
        """Whether it knows the player's law once it is told."""
        return self._detector.is_ideal

    def learn(self, policy: NDArray[np.floating] | None) -> None:
        """Tell an ideal detector the player's law, (n_signals, n_slips); None: forget it.

        Raises ConfigError for rows that are no laws, and where the detector is declared.
        """
        if not self._detector.is_ideal:
            raise ConfigError("a declared detector learns nothing: give detector={'mu': ...} alone")
        if policy is None:
            self.policy, self.prices = None, np.zeros_like(self.prices)
            return
        law = np.array(policy, dtype=np.float64)
        shape = len(self.bets.chances), self.prices.shape[1]
        if law.shape != shape:
            raise ConfigError(f"a policy has shape (signals, slips) {shape}, got {law.shape}")
        self.prices = self._scale * ideal_log_factors(self.bets, law)
        self.policy = law


def watch_of(settings: EnvSettings, watch: Watch | None) -> Watch:
    """The detector of a task; raises ConfigError where there is none."""
    return Watch(settings) if watch is None else watch


def state_of(watch: Watch | None) -> dict[str, Any]:
    """What an ideal detector was told, as a part of an environment's state; else nothing."""
    if watch is None or watch.policy is None:
        return {}
    return {"watched_policy": watch.policy.tolist()}


def restore(watch: Watch | None, state: Mapping[str, Any]) -> None:
    """Take over ``state_of``."""
    if watch is not None and watch.is_ideal:
        watch.learn(state.get("watched_policy"))


def read_detector(given: Any, mistakes: list[str]) -> Detector | None:
    """The detector of a setting, None for none; what is wrong is added to ``mistakes``."""
    if given is None:
        return None
    if not isinstance(given, Detector | Mapping):
        mistakes.append(f"detector takes its keywords, as {{'mu': 0.1}}, or None, got {given!r}")
        return None
    try:
        return Detector.of(given)
    except ConfigError as error:
        mistakes.append(f"detector: {error}")
        return None


def contradictions_of_watch(settings: EnvSettings) -> Iterable[str]:
    """Mistakes of a detector that is right on its own, and of the task around it."""
    detector = settings.detector
    if detector is None:
        return
    if settings.channel is None:
        yield "detector watches who looks at a card: give channel={}"
        return
    needed = {"objective": "profit", "n_rounds": 1, "bankroll_cents": None, "can_leave": False}
    for key, value in needed.items():
        got = getattr(settings, key)
        if got != value:
            yield f"detector prices one round's profit: {key}={value!r}, not {got!r}"
    if not detector.is_ideal:
        try:
            declared_log_factors(watched_bets(settings), detector)
        except ConfigError as error:
            yield f"detector: {error}"
