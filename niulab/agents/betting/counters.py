"""Bettors who count cards along a shoe: the exact optimum, and a linear count as players keep one.

Where the task shows the cards of the last round only, they remember what has left the shoe; an
observation without cards says that it is new.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from niulab.agents.base import Actions, Infos, Masks, Observations
from niulab.envs.encoding import NO_CARD, Encoding
from niulab.envs.settings import EnvSettings
from niulab.errors import ConfigError, RulesError
from niulab.solvers.shoes.classes import event_classes
from niulab.solvers.shoes.slips import ShoeSlips, shoe_slips

__all__ = ["LinearCounter", "OptimalCounter"]


class _Counter:
    """Knows the cards left in the shoe, int64 (n, 52), before each bet."""

    def __init__(self, settings: EnvSettings, name: str) -> None:
        if settings.shoe is None:
            raise ConfigError(
                f"'{name}' counts the cards of a shoe, this task has shoe=None: use niulab/Shoe-v0"
            )
        if settings.objective != "profit" or settings.bankroll_cents is not None:
            raise ConfigError(
                f"'{name}' plays for profit without a bankroll; this task has objective="
                f"'{settings.objective}' and bankroll_cents={settings.bankroll_cents}"
            )
        self.name = name
        self._settings = settings
        self._encoding = Encoding(settings)
        self._full = np.array(settings.rules.deck.composition, dtype=np.int64)

    @cached_property
    def _slips(self) -> ShoeSlips:
        try:
            return shoe_slips(self._settings.rules, self._settings.menu)
        except RulesError as error:
            raise ConfigError(f"'{self.name}' has no values to bet on: {error}") from error

    def initial_state(self, n: int) -> NDArray[np.int64] | None:
        """The full shoe, where it has to be remembered."""
        return np.repeat(self._full[None], n, axis=0) if self._settings.shoe == "cards" else None

    def act(
        self,
        observations: Observations,
        masks: Masks,
        infos: Infos,
        state: Any,
        rng: np.random.Generator,
    ) -> tuple[Actions, Any]:
        if self._settings.shoe == "cards":
            left = state = self._remember(state, self._encoding.decode_last_cards(observations))
        else:
            columns = self._encoding.decode_left(observations)
            left = np.zeros((len(columns), len(self._full)), dtype=np.int64)
            # which cards of a column are left is not known, and changes no event
            first = np.unique(self._encoding.column_of_card, return_index=True)[1]
            left[:, first] = columns
        actions = np.zeros(len(left), dtype=np.int64)
        is_on = left.sum(axis=1) >= 10
        if is_on.any():
            actions[is_on] = self._choose(left[is_on])
        return actions, state

    def _remember(self, left: NDArray[np.int64], cards: NDArray[np.uint8]) -> NDArray[np.int64]:
        is_new = (cards == NO_CARD).all(axis=1)
        left = np.where(is_new[:, None], self._full, left)
        rows = np.flatnonzero(~is_new)
        np.subtract.at(left, (rows[:, None], cards[rows]), 1)
        return left

    def _choose(self, left: NDArray[np.int64]) -> Actions:
        raise NotImplementedError


class OptimalCounter(_Counter):
    """Bets the slip of the greatest exact mean, given the cards left; the first of equals.

    The choice of a slip changes no card, so the best slip of every round is the best play of the
    shoe. Raises ConfigError where the task does not show enough to tell which slip is best.
    """

    def __init__(self, settings: EnvSettings, name: str = "optimal") -> None:
        super().__init__(settings, name)

    def _choose(self, left: NDArray[np.int64]) -> Actions:
        if self._settings.shoe == "classes" and not self._slips.shares_main:
            raise ConfigError(
                "which main stakes are best depends on cards that shoe='classes' does not show: "
                "give shoe='counts', or a menu of one main stake"
            )
        return self._slips.best(left)


class LinearCounter(_Counter):
    """Adds up the effects of the cards removed, and bets the slip that this count likes best.

    The estimate of a slip is its mean from the full shoe plus, for each card that is out, what its
    removal from the full shoe changes, times (cards of the full shoe less one) / (cards left).
    Griffin, The Theory of Blackjack, chapter 3.
    """

    def __init__(self, settings: EnvSettings, name: str = "counter") -> None:
        super().__init__(settings, name)

    @cached_property
    def _effects(self) -> NDArray[np.float64]:
        """By slip and class, (slips, classes), in cents."""
        names = event_classes(self._settings.rules).names
        return np.array(
            [[float(row.get(name, 0)) for name in names] for row in self._slips.removals]
        )

    def _choose(self, left: NDArray[np.int64]) -> Actions:
        classes = event_classes(self._settings.rules)
        out = classes.count(self._full[None]) - classes.count(left)
        scale = (self._full.sum() - 1) / left.sum(axis=1)
        estimates = self._slips.fresh + scale[:, None] * (out @ self._effects.T)
        best: Actions = estimates.argmax(axis=1).astype(np.int64)
        return best
