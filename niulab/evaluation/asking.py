"""Asking an agent about every hand, and finding out whether its answers make a table at all.

A table assumes that a setting depends on the hand (and the slip) only. That is checked on a sample
of hands, which are asked twice, with other chance and memory, and once more in another order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from niulab.agents.base import (
    Actions,
    Agent,
    FiniteMemoryBettor,
    HandSetter,
    RememberingAgent,
    as_actions,
    as_stochastic,
)
from niulab.agents.betting.bettors import BetAndSetAgent
from niulab.envs.encoding import Encoding
from niulab.envs.settings import N_SETTINGS, EnvSettings
from niulab.errors import ConfigError
from niulab.seeding import generator
from niulab.solvers.matchups import Matchups, matchups
from niulab.solvers.policy_law import (
    RESOLUTION,
    OptionWeights,
    chosen_weights,
    option_weights,
    quantized,
)

__all__ = [
    "HandAsker",
    "Progress",
    "asked_actions",
    "asked_weights",
    "probabilities_of",
    "why_hands_simulated",
    "why_memory_simulated",
]

Progress = Callable[[int, int], None]
"""Called with hands done and hands in all."""

_SAMPLE = 2048
_TOLERATED = 1 / 1000
"""Share of sampled hands whose rank may change with their place in the batch: sums of floats depend
on it, so that a network close to a tie may answer either way."""


class HandAsker:
    """Asks an agent about hands as the environment would show them, at one slip of the menu.

    setter: who sets, the agent itself or the part of it that does.
    Bankroll and rounds left are those of a first round, unless given.
    """

    def __init__(
        self,
        agent: Agent,
        settings: EnvSettings,
        *,
        slip: int = 0,
        bankroll_cents: int | None = None,
        rounds_left: int | None = None,
    ) -> None:
        self.agent = agent
        self.setter = agent.setter if isinstance(agent, BetAndSetAgent) else agent
        self.settings = settings
        self.table = matchups(settings.rules)
        self._shown: dict[str, Any] = {
            "slip": slip,
            "bankroll_cents": bankroll_cents,
            "rounds_left": rounds_left,
        }
        self._encoding = Encoding(settings)

    def ask(self, hands: NDArray[np.uint8], state: Any, *, seed: int = 0) -> tuple[Actions, Any]:
        """Answers to ascending hands (n, 5), illegal ones included, and the agent's next state."""
        observations, masks = self._show(hands)
        rng = generator(seed, "evaluation/agent")
        actions, state = self.agent.act(observations, masks, {}, state, rng)
        return as_actions(actions, len(hands), self.agent.name), state

    def actions(self, hands: NDArray[np.uint8]) -> Actions:
        """Answers of a fresh agent."""
        return self.ask(hands, self.agent.initial_state(len(hands)))[0]

    def probabilities(self, hands: NDArray[np.uint8]) -> NDArray[np.floating]:
        """Probabilities of the ten settings (n, 10)."""
        return probabilities_of(self.agent, *self._show(hands))[:, :N_SETTINGS]

    def find_dependence(self, *, seed: int = 0) -> str | None:
        """What the settings depend on besides hand and slip, judged by a sample, or None."""
        rng = generator(seed, "evaluation/check")
        dealt = np.flatnonzero(self.table.weights)
        rows = np.sort(rng.choice(dealt, size=min(_SAMPLE, len(dealt)), replace=False))
        hands = self.table.hands[rows]
        first, state = self.ask(hands, self.agent.initial_state(len(rows)), seed=seed)
        again, _ = self.ask(hands, state, seed=seed + 1)
        n_changed = int((first != again).sum())
        if n_changed:
            return (
                "it answers by chance or memory: asked twice, it set "
                f"{n_changed} of {len(rows)} sampled hands otherwise"
            )
        order = rng.permutation(len(rows))
        moved = self.actions(hands[order])
        n_changed = self._n_ranked_otherwise(rows[order], first[order], moved)
        if n_changed > _TOLERATED * len(rows):
            return (
                "its answer depends on a hand's place in the batch, "
                f"for {n_changed} of {len(rows)} sampled hands"
            )
        return None

    def can_set_directly(self) -> bool:
        """Whether ``set_hands`` exists and sets a sample to the ranks that ``act`` sets it to."""
        is_alone = not self.settings.bets or self.setter is not self.agent
        if not is_alone or not isinstance(self.setter, HandSetter):
            return False
        rng = generator(0, "evaluation/direct")
        n = len(self.table.hands)
        rows = np.sort(rng.choice(n, size=min(_SAMPLE, n), replace=False))
        hands = self.table.hands[rows]
        direct = as_actions(self.setter.set_hands(hands), len(rows), self.agent.name)
        n_changed = self._n_ranked_otherwise(rows, self.actions(hands), direct)
        return n_changed <= _TOLERATED * len(rows)

    def _show(self, hands: NDArray[np.uint8]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        masks = np.zeros((len(hands), self.settings.n_actions), dtype=np.bool_)
        masks[:, :N_SETTINGS] = True
        return self._encoding.encode_hands(hands, **self._shown), masks

    def _n_ranked_otherwise(self, rows: NDArray[np.int64], one: Actions, other: Actions) -> int:
        options = self.table.option_of
        return int((options[rows, _legal(one)[0]] != options[rows, _legal(other)[0]]).sum())


def asked_actions(
    asker: HandAsker, *, chunk: int, progress: Progress | None = None
) -> tuple[NDArray[np.uint8], int]:
    """Legal actions by row of ``matchups(rules).hands``, and how many answers were illegal.

    Hands that the shoe cannot deal are not asked about and hold 0.
    As in the environment, an illegal answer becomes action 0, or an error under illegal="raise".
    """
    table = asker.table
    is_direct = asker.can_set_directly()
    actions = np.zeros(len(table.hands), dtype=np.uint8)
    n_illegal = 0
    for rows, done, total in _chunks(table, chunk):
        if is_direct and isinstance(asker.setter, HandSetter):
            hands = table.hands[rows]
            answer = as_actions(asker.setter.set_hands(hands), len(hands), asker.agent.name)
        else:
            answer = asker.actions(table.hands[rows])
        actions[rows], is_illegal = _legal(answer)
        n_illegal += int(np.count_nonzero(is_illegal))
        if progress is not None:
            progress(done, total)
    if n_illegal and asker.settings.illegal == "raise":
        raise ConfigError(
            f"'{asker.agent.name}' answered {n_illegal} hands with an action outside "
            f"0..{N_SETTINGS - 1}, and the task is set to illegal='raise'"
        )
    return actions, n_illegal


def asked_weights(
    asker: HandAsker, *, chunk: int, stochastic: bool, progress: Progress | None = None
) -> tuple[OptionWeights, int]:
    """An agent's settings as weights of each hand's options, and how many answers were illegal."""
    table = asker.table
    if not stochastic:
        actions, n_illegal = asked_actions(asker, chunk=chunk, progress=progress)
        return chosen_weights(table, actions), n_illegal
    weights: NDArray[np.int32] = np.zeros(table.options.shape, dtype=np.int32)
    weights[:, 0] = RESOLUTION
    for rows, done, total in _chunks(table, chunk):
        whole = quantized(asker.probabilities(table.hands[rows]))
        weights[rows] = option_weights(table.option_of[rows], whole, weights.shape[1])
        if progress is not None:
            progress(done, total)
    return OptionWeights(weights, RESOLUTION), 0


def _chunks(table: Matchups, chunk: int) -> Iterator[tuple[slice | NDArray[np.int64], int, int]]:
    """Rows of the hands that the shoe can deal, piece by piece: rows, hands done, hands in all."""
    dealt = np.flatnonzero(table.weights)
    total, are_all = len(dealt), len(dealt) == len(table.weights)
    for start in range(0, total, chunk):
        end = min(start + chunk, total)
        yield slice(start, end) if are_all else dealt[start:end], end, total


def why_hands_simulated(settings: EnvSettings) -> str | None:
    """What a player sees besides one hand in order where setting it counts, or None."""
    if not settings.sets_hand or settings.rules.arrangement != "as_set":
        return None  # whatever it sees, setting is free
    if settings.card_order == "dealt":
        return "cards are shown as dealt, 120 orders for each hand"
    if settings.sees_dealer:
        return "the dealer's open hand is part of what the player sees"
    return None


def why_memory_simulated(agent: Agent) -> str | None:
    """Why an agent that says it remembers, without tables of its memory, makes no table; or None.

    It is not asked: a sample of answers could miss what a long memory does.
    """
    if isinstance(agent, FiniteMemoryBettor) or not isinstance(agent, RememberingAgent):
        return None
    return "it remembers what it saw before" if agent.remembers else None


def probabilities_of(
    agent: Agent, observations: NDArray[Any], masks: NDArray[np.bool_]
) -> NDArray[np.floating]:
    """An agent's probabilities, checked for shape; ConfigError if it gives none."""
    rows = np.asarray(as_stochastic(agent).probabilities(observations, masks))
    if rows.shape != masks.shape:
        raise ConfigError(
            f"'{agent.name}' gives probabilities of shape {rows.shape} for {len(masks)} rows: "
            f"give shape {masks.shape}"
        )
    return rows


def _legal(actions: Actions) -> tuple[Actions, NDArray[np.bool_]]:
    """Actions with the illegal ones replaced by action 0, and which were."""
    is_illegal = (actions < 0) | (actions >= N_SETTINGS)
    return np.where(is_illegal, 0, actions), is_illegal
