"""The agent protocol and the wrappers that turn other people's policies into agents.

An agent answers many rows at once. It sees what the environment shows and nothing else; agents that
look at cards decode them from the observation (``agents/baselines.py``).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from niulab.errors import ConfigError

if TYPE_CHECKING:
    from niulab.solvers.sessions.tables import BettingTables

__all__ = [
    "Actions",
    "Agent",
    "Answers",
    "CallableAgent",
    "FiniteMemoryBettor",
    "HandSetter",
    "Infos",
    "Masks",
    "Observations",
    "PredictAgent",
    "RememberingAgent",
    "SamplingAgent",
    "StochasticAgent",
    "as_actions",
    "as_answers",
    "as_stochastic",
    "drawn_actions",
]

Observations = NDArray[Any]
Masks = NDArray[np.bool_]
Actions = NDArray[np.int64]
Answers = NDArray[Any]
"""Actions, or under continuous stakes vectors: floats (n, n_boxes)."""
Infos = Mapping[str, Any]


@runtime_checkable
class Agent(Protocol):
    """Who decides.

    observations: (n, ...) as the environment encodes them. masks: bool (n, n_actions), True where
    legal. infos: the environment's info of these rows, possibly empty. state: whatever
    ``initial_state(n)`` or the last ``act`` returned. rng: the only source of chance an agent may
    use. ``act`` returns int64 (n,), or vectors (n, n_boxes) where stakes are continuous, and the
    next state; masks then say which slips of the menu the chips cover.
    """

    @property
    def name(self) -> str: ...

    def initial_state(self, n: int) -> Any: ...

    def act(
        self,
        observations: Observations,
        masks: Masks,
        infos: Infos,
        state: Any,
        rng: np.random.Generator,
    ) -> tuple[Answers, Any]: ...


@runtime_checkable
class StochasticAgent(Agent, Protocol):
    """An agent that can say with which probabilities it acts."""

    def probabilities(self, observations: Observations, masks: Masks) -> NDArray[np.floating]:
        """Probability of each action, (n, n_actions); rows add to 1, illegal actions have 0."""
        ...


@runtime_checkable
class HandSetter(Agent, Protocol):
    """An agent that can be asked about hands directly, which spares encoding millions of them.

    Exact evaluation uses it, after checking on a sample that ``act`` answers the same.
    """

    def set_hands(self, hands: NDArray[np.uint8]) -> Actions:
        """Settings of hands (n, 5) of ascending card ids, int64 (n,)."""
        ...


@runtime_checkable
class RememberingAgent(Agent, Protocol):
    """An agent that can say whether it has a memory, so that nobody takes it for a table."""

    @property
    def remembers(self) -> bool:
        """Whether its answers hang on what it saw before, or on chance, besides what it is shown.

        True is believed without asking: exact evaluation then follows the memory or simulates.
        """
        ...


@runtime_checkable
class FiniteMemoryBettor(RememberingAgent, Protocol):
    """A bettor whose finite memory is known, so that exact evaluation can follow it."""

    def tables(self, *, step_cents: int, n_levels: int) -> BettingTables:
        """Its bets in the task it was made for, by memory and bankroll level."""
        ...


class CallableAgent:
    """An agent around a function ``f(observations)`` or ``f(observations, masks)``."""

    def __init__(self, function: Callable[..., Any], name: str | None = None) -> None:
        self.name = name or str(getattr(function, "__name__", type(function).__name__))
        self._function = function
        self._wants_masks = _n_positional(function) >= 2

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
        answer = (
            self._function(observations, masks)
            if self._wants_masks
            else self._function(observations)
        )
        return as_answers(answer, len(observations), self.name), state


class PredictAgent:
    """An agent around any object with SB3's ``predict(observation, state, episode_start, ...)``.

    Masks are handed over where ``predict`` takes ``action_masks``, as sb3-contrib's does.
    """

    def __init__(self, model: Any, name: str | None = None, *, deterministic: bool = True) -> None:
        self.name = name or type(model).__name__
        self._model = model
        self._deterministic = deterministic
        self._known = set(inspect.signature(model.predict).parameters)
        spaces = getattr(getattr(model, "observation_space", None), "spaces", {})
        self._wants_dict = "action_mask" in spaces  # trained with mask="observation"

    def initial_state(self, n: int) -> None:
        """SB3's word for a fresh recurrent state is None."""

    def act(
        self,
        observations: Observations,
        masks: Masks,
        infos: Infos,
        state: Any,
        rng: np.random.Generator,
    ) -> tuple[Answers, Any]:
        words: dict[str, Any] = {}
        if "deterministic" in self._known:
            words["deterministic"] = self._deterministic
        if "action_masks" in self._known:
            words["action_masks"] = masks
        if "state" in self._known and state is not None:
            words["state"] = state
        seen: Any = observations
        if self._wants_dict:
            seen = {"observation": observations, "action_mask": masks.astype(np.int8)}
        try:
            answer = self._model.predict(seen, **words)
        except (ValueError, AssertionError) as error:
            # SB3 meets a foreign observation with a ValueError about shapes or an AssertionError
            raise ConfigError(
                f"'{self.name}' does not take observations of shape {observations.shape[1:]} and "
                f"type {observations.dtype} ({error}): evaluate it on the task it was trained on"
            ) from error
        actions, state = answer if isinstance(answer, tuple) else (answer, None)
        return as_answers(actions, len(observations), self.name), state


def drawn_actions(probabilities: NDArray[np.floating], rng: np.random.Generator) -> Actions:
    """One action a row, drawn by the row's probabilities (n, n_actions); int64 (n,)."""
    ladder = probabilities.cumsum(axis=1)
    keys = rng.random(len(ladder)) * ladder[:, -1]
    actions: Actions = (keys[:, None] >= ladder).sum(axis=1).clip(max=ladder.shape[1] - 1)
    return actions


class SamplingAgent:
    """A stochastic agent that acts by its probabilities instead of its likeliest action."""

    def __init__(self, agent: StochasticAgent, name: str | None = None) -> None:
        self.name = name or agent.name
        self._agent = agent

    def initial_state(self, n: int) -> Any:
        return self._agent.initial_state(n)

    def act(
        self,
        observations: Observations,
        masks: Masks,
        infos: Infos,
        state: Any,
        rng: np.random.Generator,
    ) -> tuple[Answers, Any]:
        return drawn_actions(self.probabilities(observations, masks), rng), state

    def probabilities(self, observations: Observations, masks: Masks) -> NDArray[np.floating]:
        return self._agent.probabilities(observations, masks)


def as_stochastic(agent: Agent) -> StochasticAgent:
    """The agent, if it says with which probabilities it acts; raises ConfigError if not."""
    if not isinstance(agent, StochasticAgent):
        raise ConfigError(
            f"'{agent.name}' gives no probabilities: evaluate its argmax, or give it a method "
            "probabilities(observations, masks)"
        )
    return agent


def as_actions(answer: Any, n: int, name: str) -> Actions:
    """Check that an answer is one whole number per row and return it as int64 (n,).

    Range is the environment's affair: it replaces an illegal action by action 0 and says so.
    """
    actions = np.asarray(answer)
    if actions.shape == (n, 1):
        actions = actions[:, 0]
    if actions.shape != (n,) or not np.issubdtype(actions.dtype, np.integer):
        raise ConfigError(
            f"'{name}' answered {n} observations with shape {actions.shape} and type "
            f"{actions.dtype}: return one integer action per row, shape ({n},)"
        )
    return actions.astype(np.int64)


def as_answers(answer: Any, n: int, name: str) -> Answers:
    """``as_actions``, but vectors of numbers, float (n, boxes), pass as they are.

    Whether the task asks for vectors is known to who reads the answers.
    """
    given = np.asarray(answer)
    if given.ndim == 2 and len(given) == n and np.issubdtype(given.dtype, np.floating):
        return given
    return as_actions(given, n, name)


def _n_positional(function: Callable[..., Any]) -> int:
    """How many positional arguments a function can take without defaults in the way."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # some builtins have no signature
        return 1
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(p.kind in kinds and p.default is inspect.Parameter.empty for p in parameters)
