"""The bettor that reads the sheet: the best slip for the terms it is shown, exactly."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from niulab.agents.base import Actions, Infos, Masks, Observations
from niulab.envs.encoding import Encoding
from niulab.envs.settings import EnvSettings
from niulab.envs.sheets.values import sheet_values
from niulab.errors import ConfigError

__all__ = ["OptimalReader"]


class OptimalReader:
    """Bets the slip of the greatest exact mean under the sheet whose terms are shown.

    Where the rules are hidden it bets the best blind slip, and no bettor does better: sheets are
    drawn anew for every round. The values are computed on the first question. Raises ConfigError
    for a task that draws no sheets.
    """

    def __init__(self, settings: EnvSettings, name: str = "optimal") -> None:
        if settings.sheets is None:
            raise ConfigError(
                "the optimal reader bets on the sheet drawn for a round, this task has sheets=None:"
                " use niulab/Loophole-v0"
            )
        self.name = name
        self._settings = settings
        self._encoding = Encoding(settings)

    @cached_property
    def _slips(self) -> Actions:
        """The best slip by sheet; one for all where the rules are hidden."""
        values = sheet_values(self._settings)
        if self._settings.rules_visible:
            return np.array(values.best, dtype=np.int64)
        return np.array([values.blind_cents.index(max(values.blind_cents))], dtype=np.int64)

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
        """The best slip by row."""
        if self._settings.rules_visible:
            return self._slips[self._encoding.decode_sheet(observations)], state
        return np.repeat(self._slips, len(observations)), state
