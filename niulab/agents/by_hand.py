"""Agents that set hands by their cards: decoding, order of showing and tables of actions.

A subclass answers for hands in ascending card ids only; this room turns what an environment shows
into such hands and the answer back into the positions shown.
"""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from niulab.agents.base import Actions, Infos, Masks, Observations
from niulab.engine.ranking import hand_index, n_hands
from niulab.envs.encoding import PHASES, SETTING, Encoding
from niulab.envs.seat.core import settings_in_order
from niulab.envs.settings import N_SETTINGS, EnvSettings
from niulab.errors import ConfigError

__all__ = ["HandAgent", "TableAgent", "read_table"]


class HandAgent:
    """Base of the agents that set a hand by its five cards; bets the least slip where asked."""

    def __init__(self, settings: EnvSettings, name: str) -> None:
        self.name = name
        self.settings = settings
        self.encoding = Encoding(settings)

    @abstractmethod
    def set_hands(self, hands: NDArray[np.uint8]) -> Actions:
        """Settings of hands (n, 5) of ascending card ids, int64 (n,)."""

    def initial_state(self, n: int) -> Any:
        """Nothing is remembered."""

    def act(
        self,
        observations: Observations,
        masks: Masks,
        infos: Infos,
        state: Any,
        rng: np.random.Generator,
    ) -> tuple[Actions, Any]:
        if not self.settings.bets:
            return self._set_shown(observations), state
        actions = np.zeros(len(observations), dtype=np.int64)
        rows = np.flatnonzero(self.encoding.decode_phase(observations) == PHASES[SETTING])
        if len(rows):
            actions[rows] = self._set_shown(observations[rows])
        return actions, state

    def _set_shown(self, observations: Observations) -> Actions:
        shown = self.encoding.decode_hands(observations)
        if self.settings.card_order == "sorted":  # by ascending ids, that is
            return self._set_observed(shown, observations)
        order = np.argsort(shown, axis=1, kind="stable")
        hands = np.take_along_axis(shown, order, axis=1)
        actions = self._set_observed(hands, observations)
        return settings_in_order(actions, order)  # back to where the cards were shown

    def _set_observed(self, hands: NDArray[np.uint8], observations: Observations) -> Actions:
        """Settings of ascending hands that came with these observations."""
        return self.set_hands(hands)


class TableAgent(HandAgent):
    """An agent that looks its setting up in a table of actions, one per row of ``all_hands``."""

    def __init__(self, actions: Any, settings: EnvSettings, name: str = "table") -> None:
        super().__init__(settings, name)
        self._is_multi = settings.rules.deck.decks > 1
        self.actions = _verify_table(actions, n_hands(multi=self._is_multi), name)

    def set_hands(self, hands: NDArray[np.uint8]) -> Actions:
        return self.actions[hand_index(hands, multi=self._is_multi)].astype(np.int64)


def read_table(path: Path, settings: EnvSettings) -> TableAgent:
    """Read a table of actions from a ``.npy`` file; raises ConfigError if it is none."""
    try:
        # the format itself: ``load`` would open archives of arrays (.npz) and pickles as well
        with path.open("rb") as stream:
            actions = np.lib.format.read_array(stream, allow_pickle=False)
    except (OSError, ValueError, EOFError, MemoryError) as error:  # a header can lie of its size
        reason = (
            getattr(error, "strerror", None) or "it is no array of numbers in NumPy's .npy format"
        )
        raise ConfigError(
            f"cannot read the table of actions '{path}': {reason}; write one with numpy.save"
        ) from None
    return TableAgent(actions, settings, name=path.name)


def _verify_table(actions: Any, n: int, name: str) -> NDArray[np.uint8]:
    table = np.asarray(actions)
    if table.shape != (n,):
        raise ConfigError(
            f"the table '{name}' has shape {table.shape}: give one action for each of the "
            f"{n:,} hands of niulab.engine.ranking.all_hands, shape ({n},)"
        )
    if not np.issubdtype(table.dtype, np.integer):
        raise ConfigError(
            f"the table '{name}' holds {table.dtype}: give whole numbers from 0 to 9 (uint8)"
        )
    if int(table.min()) < 0 or int(table.max()) >= N_SETTINGS:
        row = int(np.flatnonzero((table < 0) | (table >= N_SETTINGS))[0])
        raise ConfigError(
            f"the table '{name}' holds action {int(table[row])} in row {row}: "
            f"actions run from 0 to {N_SETTINGS - 1}, one per pair of front cards"
        )
    return table.astype(np.uint8)
