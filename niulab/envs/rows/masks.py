"""Which actions are legal in many rows at once: whole mask rows looked up by phase and chips."""

from __future__ import annotations

from math import gcd

import numpy as np
from numpy.typing import NDArray

from niulab.engine.wagers import cover_from, exposure_cents
from niulab.envs.encoding import BETTING, SETTING
from niulab.envs.settings import N_SETTINGS, EnvSettings

__all__ = ["LegalActions"]

_MOST_ENTRIES = 1 << 22


class LegalActions:
    """The masks of one task.

    needs: int64 (slips,), the chips from which on a slip can be placed. is_free: whether every
    action is always legal. The table of masks has a
    line for every number of whole ``_step`` chips up to the dearest slip, then one for setting and
    one for the end; beyond ``_MOST_ENTRIES`` the chips are compared with every slip instead.
    """

    def __init__(self, settings: EnvSettings) -> None:
        self._settings = settings
        rules, menu = settings.rules, settings.menu
        self.needs = np.array([exposure_cents(rules, cover_from(rules, slip, 0)) for slip in menu])
        self._step = gcd(*self.needs.tolist())
        has_chips = settings.bets and settings.bankroll_cents is not None
        self._top = int(self.needs.max()) // self._step if has_chips else 0
        self._has_chips = has_chips
        n_entries = (self._top + 3) * settings.n_actions
        self._is_listed = not has_chips or n_entries <= _MOST_ENTRIES
        top = self._top if self._is_listed else 0
        chips = np.arange(top + 1) * self._step if has_chips else self.needs.max()[None]
        lines = np.ones((top + 3, settings.n_actions), dtype=np.bool_)
        if settings.bets:
            lines[: top + 1] = self._of_bets(chips)
        lines[top + SETTING, N_SETTINGS:] = False  # and the line top + ENDED is all ones
        self._lines = lines
        self.is_free = bool(lines.all())

    def write(
        self, phases: NDArray[np.int8], bankrolls: NDArray[np.int64], masks: NDArray[np.bool_]
    ) -> None:
        """Write the masks of n rows to ``masks``, bool (n, n_actions)."""
        if self.is_free:
            return
        top = len(self._lines) - 3
        betting = phases == BETTING
        level: NDArray[np.int64] = top + phases.astype(np.int64)
        if self._has_chips and self._is_listed:
            level = np.where(betting, np.minimum(bankrolls // self._step, top), level)
        np.take(self._lines, level, axis=0, out=masks, mode="clip")
        if not self._is_listed:
            masks[betting] = self._of_bets(bankrolls[betting])

    def _of_bets(self, chips: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Masks before a bet, by the chips in sight (n,)."""
        settings = self._settings
        n_bets = len(settings.menu) + settings.can_leave
        masks = np.zeros((len(chips), settings.n_actions), dtype=np.bool_)
        masks[:, : len(settings.menu)] = self.needs <= chips[:, None]
        masks[:, len(settings.menu) : n_bets] = True
        return masks
