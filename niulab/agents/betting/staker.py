"""Bettors at tasks with continuous stakes: slips of the grid as the vectors that come to them.

A bettor that chooses among the slips of ``settings.menu`` by index plays such a task inside a
``Staker``, which knows the bankroll and answers with a vector for each index.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from niulab.agents.base import (
    Agent,
    Answers,
    FiniteMemoryBettor,
    Infos,
    Masks,
    Observations,
    as_actions,
)
from niulab.agents.systems.standing import StandingReader
from niulab.envs.settings import EnvSettings
from niulab.envs.stakes.mapping import StakeMap

if TYPE_CHECKING:
    from niulab.solvers.sessions.tables import BettingTables

__all__ = ["RandomStaker", "RememberingStaker", "Staker", "staked"]


class Staker:
    """Answers with the vectors (n, n_boxes) of the slips that ``bettor`` chooses by index."""

    def __init__(self, bettor: Agent, settings: EnvSettings) -> None:
        self.name = bettor.name
        self.bettor = bettor
        self._stakes = StakeMap(settings)
        self._reader = StandingReader(settings)

    def initial_state(self, n: int) -> Any:
        return self.bettor.initial_state(n)

    def act(
        self,
        observations: Observations,
        masks: Masks,
        infos: Infos,
        state: Any,
        rng: np.random.Generator,
    ) -> tuple[Answers, Any]:
        answer, state = self.bettor.act(observations, masks, infos, state, rng)
        slips = as_actions(answer, len(observations), self.name)
        bankrolls = self._reader.read(observations, infos).bankrolls
        return self._stakes.vectors(slips, bankrolls), state


class RememberingStaker(Staker):
    """A staker around a bettor whose finite memory is known."""

    bettor: FiniteMemoryBettor

    @property
    def remembers(self) -> bool:
        """Whether its bets hang on the rounds before, or on chance, besides what it is shown."""
        return self.bettor.remembers

    def tables(self, *, step_cents: int, n_levels: int) -> BettingTables:
        """Its bets in the task it was made for, by memory and bankroll level."""
        return self.bettor.tables(step_cents=step_cents, n_levels=n_levels)


class RandomStaker:
    """Stakes drawn uniformly from the box, whatever is asked."""

    def __init__(self, settings: EnvSettings, name: str = "random") -> None:
        self.name = name
        self._stakes = StakeMap(settings)
        self._reader = StandingReader(settings)

    def initial_state(self, n: int) -> None:
        """Nothing is remembered."""

    def act(
        self,
        observations: Observations,
        masks: Masks,
        infos: Infos,
        state: Any,
        rng: np.random.Generator,
    ) -> tuple[Answers, Any]:
        shape = len(observations), self._stakes.n_boxes
        return rng.uniform(-1, 1, shape).astype(np.float32), state

    def probabilities(self, observations: Observations, masks: Masks) -> NDArray[np.floating]:
        """Of the slips that the vectors come to, (n, n_slips)."""
        return self._stakes.shares(self._reader.read(observations, {}).bankrolls)


def staked(agent: Agent, settings: EnvSettings) -> Agent:
    """An agent that answers as the task asks, of one that chooses slips by index."""
    if settings.stakes == "menu":
        return agent
    if isinstance(agent, FiniteMemoryBettor):
        return RememberingStaker(agent, settings)
    return Staker(agent, settings)
