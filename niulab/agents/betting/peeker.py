"""Bettors that play the exact optimum of one look: the best slip for each signal, by Bayes; and,
where an ideal detector watches, the mix of slips of the stealth frontier.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from niulab.agents.base import Actions, Infos, Masks, Observations, drawn_actions
from niulab.envs.encoding import Encoding
from niulab.envs.settings import EnvSettings
from niulab.envs.watch import watched_bets
from niulab.errors import ConfigError
from niulab.solvers.channels import signal_values
from niulab.solvers.limits.detector import declared_log_factors

__all__ = ["FrontierPeeker", "OptimalPeeker"]


class OptimalPeeker:
    """Bets the slip of the greatest exact mean, given what the channel shows, less what a declared
    detector takes.

    The values are computed on the first question. Raises ConfigError for a task without a channel
    and for one whose optimum looks further than the round at hand.
    """

    def __init__(self, settings: EnvSettings, name: str = "optimal") -> None:
        if settings.channel is None:
            raise ConfigError(
                "the optimal peeker bets on what a channel shows, this task has channel=None: use "
                "niulab/Peek-v0"
            )
        is_profit = settings.objective == "profit" and settings.bankroll_cents is None
        if not is_profit or settings.can_leave:
            raise ConfigError(
                "with a channel the optimum is offered for objective='profit', without a bankroll "
                f"and can_leave; this task has objective='{settings.objective}', bankroll_cents="
                f"{settings.bankroll_cents} and can_leave={settings.can_leave}"
            )
        self.name = name
        self._settings = settings
        self._encoding = Encoding(settings)

    @cached_property
    def _slips(self) -> Actions:
        """The best slip by signal."""
        channel = self._settings.channel
        if channel is None:
            raise ConfigError("the optimal peeker needs a task with a channel")
        detector = self._settings.detector
        if detector is not None:
            bets = watched_bets(self._settings)
            return bets.best_reply(detector.mu, declared_log_factors(bets, detector))
        found = signal_values(self._settings.rules, channel, self._settings.menu)
        return np.array(found.best, dtype=np.int64)

    def initial_state(self, n: int) -> None:
        """Nothing is remembered."""

    def act(
        self,
        observations: Observations,
        masks: Masks,
        infos: Infos,
        state: Any,
        rng: np.random.Generator,
    ) -> tuple[Actions, Any]:
        """The best slip by row; that of the signal nothing where the episode has ended."""
        actions: Actions = self._slips[self._encoding.decode_signal(observations)]
        return actions, state


class FrontierPeeker:
    """Bets by the chances of the stealth frontier's point at the price of the task's detector.

    ``probabilities`` are the chances, ``act`` draws from them. Raises ConfigError for a task that
    no ideal detector watches.
    """

    def __init__(self, settings: EnvSettings, name: str = "optimal") -> None:
        if settings.detector is None or not settings.detector.is_ideal:
            raise ConfigError(
                "the frontier is the optimum under an ideal detector: give detector={'mu': 0.1}"
            )
        self.name = name
        self._mu = settings.detector.mu
        self._bets = watched_bets(settings)
        self._encoding = Encoding(settings)

    @cached_property
    def _policy(self) -> NDArray[np.float64]:
        """Chances by signal and slip."""
        policy: NDArray[np.float64] = self._bets.frontier(self._mu).policy
        return policy

    def initial_state(self, n: int) -> None:
        """Nothing is remembered."""

    def act(
        self,
        observations: Observations,
        masks: Masks,
        infos: Infos,
        state: Any,
        rng: np.random.Generator,
    ) -> tuple[Actions, Any]:
        """Slips drawn by their chances."""
        return drawn_actions(self.probabilities(observations, masks), rng), state

    def probabilities(self, observations: Observations, masks: Masks) -> NDArray[np.floating]:
        return self._policy[self._encoding.decode_signal(observations)]
