"""The game of a task that draws its sheet: every round is a step of the core of that one sheet."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from gymnasium.error import InvalidAction
from numpy.typing import NDArray

from niulab.envs.encoding import BETTING, ENDED, Sight
from niulab.envs.seat.core import Core, Legal, State, Transition, legal_actions
from niulab.envs.settings import EnvSettings
from niulab.envs.sheets.drawing import Sheets

__all__ = ["SheetCore", "core_of"]


_MOST_DRAWS = 64


def core_of(settings: EnvSettings) -> Core:
    """The core of a task, whether it draws sheets or not."""
    return Core(settings) if settings.sheets is None else SheetCore(settings)


class SheetCore(Core):
    """The rules of a task with ``sheets``; a state says by seed and round which is in force.

    Where the rules are hidden the mask shows every slip as legal, as it would name sheets else; a
    slip that the sheet does not take counts as illegal once it is bet.
    """

    def __init__(self, settings: EnvSettings) -> None:
        super().__init__(settings)
        self.sheets = sheets = Sheets(settings.every_sheet, settings.menu)
        alone = replace(settings, sheets=None, rules_visible=True)
        self._cores = [
            Core(replace(alone, rules=rules, menu=menu), self._ahead)
            for rules, menu in zip(sheets.rules, sheets.menus, strict=True)
        ]
        shown = sheets.takes if settings.rules_visible else np.ones_like(sheets.takes)
        self._bets_by_sheet = [legal_actions(flags.copy()) for flags in shown]
        self._draw = lru_cache(_MOST_DRAWS)(sheets.draw)  # a round is asked about several times
        self._codes: NDArray[Any] | None = None
        if self.encoding.terms:
            every = Sight(sheets=np.arange(len(sheets.rules)))
            self._codes = self.encoding.encode_field("terms", every)

    def sheet(self, state: State) -> int:
        """The number of the sheet in force."""
        return self._draw(state.seed, state.round_index)

    def legal(self, state: State) -> Legal:
        if state.phase == BETTING:
            return self._bets_by_sheet[self.sheet(state)]
        return super().legal(state)

    def observe(self, state: State) -> NDArray[Any]:
        observation = super().observe(state)
        if self._codes is None:
            return observation
        return np.concatenate((observation, self._codes[self.sheet(state)]))

    def settings_at(self, state: State, *, is_settled: bool = False) -> EnvSettings:
        if not (is_settled or self.settings.rules_visible):
            return self.settings
        index = state.round_index - (is_settled and state.phase != ENDED)
        return self._cores[self.sheets.draw(state.seed, index)].settings

    def _play(self, state: State, action: int) -> tuple[State, Transition]:
        number = self.sheet(state)
        if self.sheets.takes[number, action]:
            return self._cores[number].step(state, action)
        if self.settings.illegal == "raise":
            raise InvalidAction(
                f"action {action} is illegal here: '{self.sheets.rules[number].name}' does not "
                f"take the slip '{self.settings.menu[action]}'"
            )
        following, transition = self._cores[number].step(state, 0)
        return following, transition._replace(is_illegal=True)
