"""Trained policies of Stable-Baselines3 as agents, and model files as policies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from sb3_contrib.common.recurrent.policies import RecurrentActorCriticPolicy
from sb3_contrib.qrdqn.policies import QRDQNPolicy
from stable_baselines3.common.policies import BasePolicy
from stable_baselines3.dqn.policies import DQNPolicy

from niulab.agents.base import Actions, Agent, Infos, Masks, Observations
from niulab.agents.models.card import ModelCard, verify_fits
from niulab.agents.models.file import load_model
from niulab.agents.models.policies import build_policy
from niulab.envs.encoding import Encoding
from niulab.envs.settings import EnvSettings
from niulab.errors import CheckpointError, ConfigError

__all__ = [
    "LstmState",
    "Sb3Agent",
    "Sb3RecurrentAgent",
    "Sb3StochasticAgent",
    "Sb3VectorAgent",
    "agent_of",
    "load_agent",
    "one_thread",
]


@contextmanager
def one_thread() -> Iterator[None]:
    """Let torch use one thread meanwhile: on busy cores more are many times slower."""
    n_before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(n_before)


class Sb3Agent:
    """A policy as an agent: its likeliest (or most valuable) action.

    trained: the settings whose observations the policy reads; settings: those of the task it plays.
    A hand shown in another encoding is written anew in the policy's own. Masks are applied where
    the policy was trained with them.
    """

    def __init__(
        self,
        policy: BasePolicy,
        trained: EnvSettings,
        settings: EnvSettings | None = None,
        name: str = "model",
    ) -> None:
        self.name = name
        self.policy = policy
        self.settings = settings or trained
        self._own = Encoding(trained)
        self._shown = Encoding(self.settings)
        self._is_foreign = self._own.name != self._shown.name
        self._is_maskable = isinstance(policy, MaskableActorCriticPolicy)

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
        return self._actions(self._read(observations), masks), state

    def set_hands(self, hands: NDArray[np.uint8]) -> Actions:
        """Settings of ascending hands at a fixed slip, with no dealer's card in sight."""
        masks = np.ones((len(hands), self.settings.n_actions), dtype=np.bool_)
        return self._actions(self._own.encode_hands(hands), masks)

    def _read(self, observations: Observations) -> Observations:
        if not self._is_foreign:
            return observations
        shown = self._shown
        return self._own.encode_hands(
            shown.decode_hands(observations), shown.decode_dealer(observations)
        )

    def _actions(self, observations: Observations, masks: Masks) -> Actions:
        with one_thread(), torch.no_grad():
            result: Actions = self._logits(observations, masks).argmax(dim=1).numpy()
        return result

    def _logits(self, observations: Observations, masks: Masks) -> torch.Tensor:
        tensor = torch.as_tensor(observations, device=self.policy.device)
        logits = self._scores(tensor).cpu()
        if self._is_maskable:
            logits = logits.masked_fill(~torch.from_numpy(masks), -torch.inf)
        return logits

    def _scores(self, observations: torch.Tensor) -> torch.Tensor:
        policy: Any = self.policy
        scores: torch.Tensor
        if isinstance(self.policy, DQNPolicy):
            scores = policy.q_net(observations)
        elif isinstance(self.policy, QRDQNPolicy):
            scores = policy.quantile_net(observations).mean(dim=1)
        else:
            scores = policy.get_distribution(observations).distribution.logits
        return scores


class Sb3StochasticAgent(Sb3Agent):
    """A policy that also says with which probabilities it would act."""

    def probabilities(self, observations: Observations, masks: Masks) -> NDArray[np.floating]:
        with one_thread(), torch.no_grad():
            logits = self._logits(self._read(observations), masks)
            result: NDArray[np.floating] = logits.double().softmax(dim=1).numpy()
        return result


class Sb3VectorAgent(Sb3Agent):
    """A policy of continuous stakes: its mean vector, float32 (n, n_boxes) in [-1, 1]."""

    def act(
        self,
        observations: Observations,
        masks: Masks,
        infos: Infos,
        state: Any,
        rng: np.random.Generator,
    ) -> tuple[NDArray[Any], Any]:
        policy: Any = self.policy  # its own scale is that of the space
        with one_thread(), torch.no_grad():
            seen = torch.as_tensor(self._read(observations), device=policy.device)
            vectors: torch.Tensor = policy._predict(seen, deterministic=True)  # noqa: SLF001
            result: NDArray[Any] = vectors.clamp(-1, 1).cpu().numpy()
        return result, state


@dataclass(frozen=True, eq=False)
class LstmState:
    """What n rows remember: hidden and cell states of the policy's LSTM, (layers, n, width)."""

    hidden: torch.Tensor
    cell: torch.Tensor


class Sb3RecurrentAgent(Sb3Agent):
    """A policy with a memory: its likeliest action given all it saw in the episode.

    Each row has a memory of its own, which begins at zero and begins anew where the infos say that
    the last step ended an episode (``_final_obs``), as in SB3.
    """

    policy: RecurrentActorCriticPolicy

    @property
    def remembers(self) -> bool:
        return True

    def initial_state(self, n: int) -> LstmState:  # type: ignore[override]  # the others have none
        """Zeros."""
        layers, _, width = self.policy.lstm_hidden_state_shape
        zeros = torch.zeros((layers, n, width), device=self.policy.device)
        return LstmState(zeros, zeros)

    def act(
        self,
        observations: Observations,
        masks: Masks,
        infos: Infos,
        state: Any,
        rng: np.random.Generator,
    ) -> tuple[Actions, LstmState]:
        n = len(observations)
        if state is not None and state.hidden.shape[1] != n:
            raise ConfigError(
                f"'{self.name}' remembers {state.hidden.shape[1]} rows and was asked about {n}: "
                f"begin with initial_state({n})"
            )
        begins = np.asarray(infos.get("_final_obs", np.zeros(n, dtype=np.bool_)))
        return self._step(self._read(observations), state or self.initial_state(n), begins)

    def set_hands(self, hands: NDArray[np.uint8]) -> Actions:
        """Settings of hands that are the first thing an episode shows."""
        n = len(hands)
        begins = np.zeros(n, dtype=np.bool_)
        return self._step(self._own.encode_hands(hands), self.initial_state(n), begins)[0]

    def _step(
        self, observations: Observations, state: LstmState, begins: NDArray[np.bool_]
    ) -> tuple[Actions, LstmState]:
        device = self.policy.device
        with one_thread(), torch.no_grad():
            found, (hidden, cell) = self.policy.get_distribution(
                torch.as_tensor(observations, device=device),
                (state.hidden, state.cell),
                torch.as_tensor(begins, dtype=torch.float32, device=device),
            )
            actions: Actions = found.mode().cpu().numpy()
        return actions, LstmState(hidden, cell)


def agent_of(
    policy: BasePolicy,
    trained: EnvSettings,
    settings: EnvSettings | None = None,
    name: str = "model",
) -> Agent:
    """The agent of a policy: one with probabilities, unless the policy has a memory or gives action
    values or vectors.
    """
    kind: type[Sb3Agent] = Sb3StochasticAgent
    if isinstance(policy, RecurrentActorCriticPolicy):
        kind = Sb3RecurrentAgent
    elif isinstance(policy.action_space, spaces.Box):
        kind = Sb3VectorAgent
    elif isinstance(policy, DQNPolicy | QRDQNPolicy):
        kind = Sb3Agent
    return kind(policy, trained, settings, name)


def load_agent(
    path: Path, settings: EnvSettings, *, transfer: bool = False, name: str | None = None
) -> Agent:
    """Load a model file as an agent for a task.

    Raises CheckpointError if it is none, or was trained on another task or rule set and
    ``transfer`` does not allow that.
    """
    card, weights = load_model(path)
    trained = card.env_settings()
    verify_fits(card, trained, settings, transfer=transfer)
    try:
        policy = build_policy(card.algorithm, card.network, trained)
        _verify_numbers(weights, policy.state_dict())
        policy.load_state_dict(weights)
    except (ConfigError, RuntimeError) as error:
        raise CheckpointError(
            f"the weights in '{path}' do not fit the network on its card: {error}"
        ) from None
    return agent_of(policy, trained, settings, name or _name(card))


def _verify_numbers(weights: Mapping[str, torch.Tensor], own: Mapping[str, torch.Tensor]) -> None:
    """Raise ConfigError for weights that torch would take and then choke on."""
    for name, tensor in weights.items():
        if name in own and tensor.dtype != own[name].dtype:
            raise ConfigError(f"{name} holds {tensor.dtype}, the network {own[name].dtype}")
        if not bool(tensor.isfinite().all()):
            raise ConfigError(f"{name} holds NaN or infinity: the run that wrote it broke down")


def _name(card: ModelCard) -> str:
    return f"{card.algorithm}-{card.network.kind}-{card.seed}"
