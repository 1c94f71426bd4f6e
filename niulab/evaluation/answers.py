"""What an agent answered, as indices into the task's actions, whatever the task asks for."""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium.error import InvalidAction
from numpy.typing import NDArray

from niulab.agents.base import Actions, as_actions
from niulab.envs.settings import EnvSettings
from niulab.envs.stakes.mapping import StakeMap, read_vectors
from niulab.errors import ConfigError

__all__ = ["AnswerReader"]


class AnswerReader:
    """Reads the answers of agents to one task."""

    def __init__(self, settings: EnvSettings) -> None:
        self._stakes = StakeMap(settings) if settings.stakes == "continuous" else None

    def actions(self, answer: Any, bankrolls: NDArray[np.int64], name: str) -> Actions:
        """Actions (n,) by index: whole numbers as they are, vectors as the slips they come to.

        Only vectors look at the bankrolls (n,). Raises ConfigError for other answers.
        """
        n = len(bankrolls)
        if self._stakes is None:
            return as_actions(answer, n, name)
        return self._stakes.slips(self._vectors(answer, n, name), bankrolls)

    def moves(
        self, answer: Any, masks: NDArray[np.bool_], name: str
    ) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """What to hand to a batch, and which rows' answers were replaced, bool (n,).

        Illegal indices are replaced by action 0, the environment's rule; no vector is illegal.
        """
        n = len(masks)
        if self._stakes is not None:
            return self._vectors(answer, n, name), np.zeros(n, dtype=np.bool_)
        actions = as_actions(answer, n, name)
        is_known = (actions >= 0) & (actions < masks.shape[1])
        known = np.where(is_known, actions, 0)
        is_legal = is_known & masks[np.arange(n), known]
        return np.where(is_legal, known, 0), ~is_legal

    def _vectors(self, answer: Any, n: int, name: str) -> NDArray[np.float64]:
        n_boxes = 0 if self._stakes is None else self._stakes.n_boxes
        try:
            return read_vectors(answer, (n, n_boxes))
        except InvalidAction as error:
            raise ConfigError(f"'{name}' gave another answer than stakes: {error}") from None
