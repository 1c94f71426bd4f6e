"""The agent that plays a betting system in an environment that takes bets from a menu."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from niulab.agents.base import Actions, Infos, Masks, Observations
from niulab.agents.systems.compile import system_tables
from niulab.agents.systems.sitting import Sitting
from niulab.agents.systems.standing import Standing, StandingReader
from niulab.agents.systems.system import LEAVE, BettingSystem
from niulab.engine.wagers import Slip
from niulab.envs.settings import EnvSettings
from niulab.errors import ConfigError
from niulab.solvers.sessions.tables import BettingTables

__all__ = ["BettorState", "SystemBettor"]


@dataclass(frozen=True, eq=False)
class BettorState:
    """What n bettors remember: int64 (n,) memories, and where they stood when they last bet."""

    memories: NDArray[np.int64]
    standing: Standing | None = None


class SystemBettor:
    """Plays a system: wants some base slips, takes the largest legal multiple on the menu up to
    that, else slip 0.

    ``menu="grid"`` offers every multiple. The memory moves by the last round's net and begins
    afresh with every episode; see ``standing`` for how it learns of both. Asked about a round out
    of its session, it draws its memory: an answer by chance, which nobody takes for a rule of what
    is shown. A system that is done takes the leave action, or slip 0 where there is none. Raises
    ConfigError for a task without bets, one that lacks what the system looks at, and a menu without
    the base slip's multiples.
    """

    def __init__(
        self,
        system: BettingSystem,
        settings: EnvSettings,
        *,
        base_slip: Slip | str | None = None,
        name: str | None = None,
    ) -> None:
        if not settings.bets:
            raise ConfigError(
                f"'{system.name}' bets, and decisions='{settings.decisions}' leaves it no bet: use "
                "niulab/Session-v0 or another task that bets"
            )
        self.name = name or system.name
        self.system = system
        self._settings = settings
        self.sitting = Sitting.at(
            settings.rules,
            base_slip,
            start_cents=settings.bankroll_cents,
            target_cents=settings.target_cents,
        )
        system.verify(self.sitting)
        self._units = self.sitting.multiples_on(settings.menu)
        self._actions = np.array(
            [settings.menu.index(self.sitting.multiple(units)) for units in self._units.tolist()]
        )
        self._leave = 0 if settings.leave_action is None else settings.leave_action
        self._reader = StandingReader(settings)

    @property
    def remembers(self) -> bool:
        """Whether its bets hang on the rounds before, or on chance, besides what it is shown."""
        return len(self.system.automaton) > 1

    def tables(self, *, step_cents: int, n_levels: int) -> BettingTables:
        """Its bets by memory and bankroll level, for exact programmes; see ``system_tables``."""
        settings = self._settings
        return system_tables(
            self.system,
            settings.rules,
            base_slip=self.sitting.base_slip,
            start_cents=settings.bankroll_cents or 0,
            step_cents=step_cents,
            n_levels=n_levels,
            n_rounds=settings.n_rounds,
            target_cents=settings.target_cents,
            can_leave=settings.can_leave,
            menu=settings.menu,
        )

    def initial_state(self, n: int) -> BettorState:
        return BettorState(np.zeros(n, dtype=np.int64))

    def act(
        self,
        observations: Observations,
        masks: Masks,
        infos: Infos,
        state: BettorState,
        rng: np.random.Generator,
    ) -> tuple[Actions, BettorState]:
        n, memory = len(observations), self.system.automaton
        if len(state.memories) != n:
            raise ConfigError(
                f"'{self.name}' remembers {len(state.memories)} rows and was asked about {n}: a "
                "bettor with a memory needs all its rows in the betting phase at once"
            )
        standing = self._reader.read(observations, infos, state.standing)
        memories = np.where(
            standing.has_played, memory.after(state.memories, standing.nets), 0
        ).astype(np.int64)
        is_drawn = standing.is_unknown | self.system.redraws
        if is_drawn.any():
            memories = np.where(is_drawn, rng.integers(len(memory), size=n), memories)
        wanted = self.system.wanted(self.sitting, memory.units[memories], standing.bankrolls)
        return self._choose(wanted, masks), BettorState(memories, standing)

    def _choose(self, wanted: NDArray[np.int64], masks: Masks) -> Actions:
        can_bet = masks[:, self._actions] & (self._units <= wanted[:, None])
        largest = len(self._units) - 1 - can_bet[:, ::-1].argmax(axis=1)
        bets = np.where(can_bet.any(axis=1), self._actions[largest], 0)
        return np.where(wanted == LEAVE, self._leave, bets).astype(np.int64)
