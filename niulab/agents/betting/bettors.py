"""Agents that bet: simple rules over a menu, and how a bettor and a setter share a task."""

from __future__ import annotations

from typing import Any

import numpy as np

from niulab.agents.base import Actions, Agent, Infos, Masks, Observations
from niulab.envs.encoding import BETTING, PHASES, Encoding
from niulab.envs.settings import EnvSettings
from niulab.errors import ConfigError

__all__ = ["BetAndSetAgent", "FlatBettor", "LeastSlipBettor", "flat_bettor"]


class FlatBettor:
    """Bets one slip of the menu every round, and the least one whenever the mask forbids it."""

    def __init__(self, index: int, name: str | None = None) -> None:
        self.name = name or f"flat:{index}"
        self._index = index

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
        return np.where(masks[:, self._index], self._index, 0).astype(np.int64), state


class LeastSlipBettor(FlatBettor):
    """Bets the least legal slip every round, the best simple rule where every box costs."""

    def __init__(self, name: str = "least-slip") -> None:
        super().__init__(0, name)


def flat_bettor(which: str, settings: EnvSettings) -> FlatBettor:
    """The flat bettor of a menu index, ``"3"``, or of a slip on the menu, ``"single=100"``."""
    menu = settings.menu
    texts = [str(slip) for slip in menu]
    if which in texts:
        return FlatBettor(texts.index(which), name=f"flat:{which}")
    if which.isdecimal() and int(which) < len(menu):
        return FlatBettor(int(which))
    raise ConfigError(
        f"the menu has no slip '{which}': write flat:0 ... flat:{len(menu) - 1}, "
        f"or one of its slips as flat:{texts[-1]}"
    )


class BetAndSetAgent:
    """Asks one agent in the betting phase and another in the setting phase.

    Its state is the pair of both agents' states; each sees only the rows of its own phase, so both
    must be free of memory (``initial_state`` returns None) where rows are in different phases.
    """

    def __init__(
        self, bettor: Agent, setter: Agent, settings: EnvSettings, name: str | None = None
    ) -> None:
        self.name = name or f"{bettor.name}+{setter.name}"
        self.bettor = bettor
        self.setter = setter
        self._encoding = Encoding(settings)

    def initial_state(self, n: int) -> Any:
        return self.bettor.initial_state(n), self.setter.initial_state(n)

    def act(
        self,
        observations: Observations,
        masks: Masks,
        infos: Infos,
        state: Any,
        rng: np.random.Generator,
    ) -> tuple[Actions, Any]:
        is_bet = self._encoding.decode_phase(observations) == PHASES[BETTING]
        actions = np.zeros(len(observations), dtype=np.int64)
        states = list(state)
        for place, (agent, rows) in enumerate(((self.bettor, is_bet), (self.setter, ~is_bet))):
            if rows.any():
                actions[rows], states[place] = agent.act(
                    observations[rows], masks[rows], infos, states[place], rng
                )
        return actions, tuple(states)
