"""The agents every league table starts with: from uniform play to the exact oracle."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from niulab.agents.base import Actions, Infos, Masks, Observations
from niulab.agents.by_hand import HandAgent
from niulab.engine.cards import RANKS
from niulab.engine.hands import SPLITS
from niulab.engine.ranking import hand_index, ranker
from niulab.engine.wagers import Slip
from niulab.envs.settings import EnvSettings

__all__ = [
    "FirstFoundBaseAgent",
    "GreedyPairAgent",
    "NeverClaimAgent",
    "OracleAgent",
    "RandomAgent",
]

_FRONT = np.array(SPLITS)


class RandomAgent:
    """Every legal action with equal probability, whatever is asked."""

    def __init__(self, settings: EnvSettings | None = None, name: str = "random") -> None:
        self.name = name

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
        # the highest of uniform keys over the legal actions is a uniform legal action
        keys = np.where(masks, rng.random(masks.shape), -1.0)
        return keys.argmax(axis=1).astype(np.int64), state

    def probabilities(self, observations: Observations, masks: Masks) -> NDArray[np.floating]:
        shares: NDArray[np.floating] = masks / masks.sum(axis=1, keepdims=True)
        return shares


class NeverClaimAgent(HandAgent):
    """Sets every hand as low as it goes: no base is claimed where that is possible."""

    def __init__(self, settings: EnvSettings, name: str = "never-claim") -> None:
        super().__init__(settings, name)

    def set_hands(self, hands: NDArray[np.uint8]) -> Actions:
        return _first(ranker(self.settings.rules).split_ranks(hands).argmin(axis=1))


class GreedyPairAgent(HandAgent):
    """Puts the front pair with the highest points digit in front, base or no base (0 counts 10)."""

    def __init__(self, settings: EnvSettings, name: str = "greedy-pair") -> None:
        super().__init__(settings, name)
        self._points = np.array([settings.rules.values[rank] for rank in RANKS])

    def set_hands(self, hands: NDArray[np.uint8]) -> Actions:
        digits = self._points[hands[:, _FRONT] // 4].sum(axis=2) % 10
        return _first(np.where(digits == 0, 10, digits).argmax(axis=1))


class FirstFoundBaseAgent(HandAgent):
    """Takes the first of the ten settings with a base, as a hurried player does."""

    def __init__(self, settings: EnvSettings, name: str = "first-found-base") -> None:
        super().__init__(settings, name)

    def set_hands(self, hands: NDArray[np.uint8]) -> Actions:
        return _first((ranker(self.settings.rules).split_ranks(hands) > 0).argmax(axis=1))


class OracleAgent(HandAgent):
    """Sets each hand for the greatest exact expectation, given all that the player knows.

    The table of all hands is computed on the first question. Where the dealer's hand lies open, the
    exact settled result decides, hand by hand.
    """

    def __init__(self, settings: EnvSettings, name: str = "oracle") -> None:
        super().__init__(settings, name)
        self._is_multi = settings.rules.deck.decks > 1
        # where the dealer arranges the hands, what he holds changes no setting's worth
        self._sees_dealer = settings.sees_dealer and settings.rules.arrangement == "as_set"

    def set_hands(self, hands: NDArray[np.uint8]) -> Actions:
        return self._set_at(self.settings.slip, hands)

    def _set_at(self, slip: Slip, hands: NDArray[np.uint8]) -> Actions:
        from niulab.solvers.hand_values import hand_values

        table = hand_values(self.settings.rules, slip).oracle
        return table[hand_index(hands, multi=self._is_multi)].astype(np.int64)

    def _set_observed(self, hands: NDArray[np.uint8], observations: Observations) -> Actions:
        indices = self.encoding.decode_slip(observations)
        if self._sees_dealer and (dealers := self.encoding.decode_dealer(observations)) is not None:
            return self._set_against(hands, dealers, indices)
        actions = np.zeros(len(hands), dtype=np.int64)
        for index in np.unique(indices):
            rows = indices == index
            actions[rows] = self._set_at(self.settings.menu[index], hands[rows])
        return actions

    def _set_against(
        self,
        hands: NDArray[np.uint8],
        dealers: NDArray[np.uint8],
        indices: NDArray[np.int64],
    ) -> Actions:
        from niulab.solvers.one_hand import best_setting

        rules, menu = self.settings.rules, self.settings.menu
        rows = zip(hands.tolist(), dealers.tolist(), indices.tolist(), strict=True)
        actions = [best_setting(rules, hand, menu[i], dealer) for hand, dealer, i in rows]
        return np.array(actions, dtype=np.int64)


def _first(actions: NDArray[np.integer]) -> Actions:
    """What argmin and argmax find: the first of equal settings."""
    return actions.astype(np.int64, copy=False)
