"""Policies for Stable-Baselines3 and sb3-contrib, and trained ones as agents.

The card networks of ``networks`` stand here in the clothes of SB3's policies; a plain perceptron
is SB3's own ``MlpPolicy``. A policy is rebuilt from its model card, then given its weights.
"""

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
from stable_baselines3.common.policies import ActorCriticPolicy, BasePolicy
from stable_baselines3.common.type_aliases import PyTorchObs, Schedule
from stable_baselines3.dqn.policies import DQNPolicy, QNetwork
from torch import nn

from niulab.agents.base import Actions, Agent, Infos, Masks, Observations
from niulab.agents.models.card import (
    Algorithm,
    CardNetwork,
    ModelCard,
    Network,
    verify_fits,
    verify_network,
)
from niulab.agents.models.file import load_model
from niulab.agents.models.networks import ACTIVATIONS, CardLayout, SplitActorCritic, SplitQNetwork
from niulab.envs.encoding import Encoding
from niulab.envs.settings import EnvSettings
from niulab.errors import CheckpointError, ConfigError

__all__ = [
    "MaskableSplitPolicy",
    "PolicyRecipe",
    "Sb3Agent",
    "Sb3StochasticAgent",
    "SplitPolicy",
    "SplitQPolicy",
    "agent_of",
    "build_policy",
    "load_agent",
    "one_thread",
    "policy_recipe",
]


# ---------------------------------------------------------------- policies


class SplitPolicy(ActorCriticPolicy):
    """The card network for PPO and A2C; ``network`` holds the keywords of ``SplitActorCritic``."""

    def __init__(self, *args: Any, network: Mapping[str, Any], **keywords: Any) -> None:
        self._network = network
        super().__init__(*args, **keywords)

    def _build(self, lr_schedule: Schedule) -> None:
        _dress(self, self._network, lr_schedule)


class MaskableSplitPolicy(MaskableActorCriticPolicy):
    """The card network for MaskablePPO."""

    def __init__(self, *args: Any, network: Mapping[str, Any], **keywords: Any) -> None:
        self._network = network
        super().__init__(*args, **keywords)

    def _build(self, lr_schedule: Schedule) -> None:
        _dress(self, self._network, lr_schedule)


def _dress(policy: Any, network: Mapping[str, Any], lr_schedule: Schedule) -> None:
    """What ``ActorCriticPolicy._build`` makes: the network gives logits and value as they are."""
    policy.mlp_extractor = SplitActorCritic(**network)
    policy.action_net = nn.Identity()
    policy.value_net = nn.Identity()
    policy.optimizer = policy.optimizer_class(
        policy.parameters(), lr=lr_schedule(1), **policy.optimizer_kwargs
    )


class SplitQPolicy(DQNPolicy):
    """The card network for DQN."""

    def __init__(self, *args: Any, network: Mapping[str, Any], **keywords: Any) -> None:
        self._network = network
        super().__init__(*args, **keywords)

    def make_q_net(self) -> QNetwork:
        keywords = self._update_features_extractor(self.net_args, features_extractor=None)
        result = _SplitQ(network=self._network, **keywords)
        return result.to(self.device)


class _SplitQ(QNetwork):
    def __init__(self, *, network: Mapping[str, Any], **keywords: Any) -> None:
        super().__init__(**{**keywords, "net_arch": []})
        self.q_net = SplitQNetwork(**network)  # type: ignore[assignment]  # SB3 only calls it

    def forward(self, obs: PyTorchObs) -> torch.Tensor:
        result: torch.Tensor = self.q_net(self.extract_features(obs, self.features_extractor))
        return result


# ---------------------------------------------------------------- recipes


@dataclass(frozen=True)
class PolicyRecipe:
    """A policy class and its keywords, as SB3's algorithms take them."""

    policy_class: type[BasePolicy]
    keywords: dict[str, Any]


_MLP: dict[str, type[BasePolicy]] = {
    "ppo": ActorCriticPolicy,
    "a2c": ActorCriticPolicy,
    "maskable_ppo": MaskableActorCriticPolicy,
    "dqn": DQNPolicy,
}
_CARDS: dict[str, type[BasePolicy]] = {
    "ppo": SplitPolicy,
    "a2c": SplitPolicy,
    "maskable_ppo": MaskableSplitPolicy,
    "dqn": SplitQPolicy,
}


def policy_recipe(algorithm: Algorithm, network: Network, settings: EnvSettings) -> PolicyRecipe:
    """How to build a network's policy for a task; ConfigError if the two do not go together."""
    verify_network(network, settings)
    if isinstance(network, CardNetwork):
        encoding = Encoding(settings)
        words = network.model_dump(exclude={"kind"}) | {
            "layout": CardLayout.of(encoding),
            "highs": encoding.space.high.tolist(),
            "n_actions": settings.n_actions,
            "has_repeats": settings.rules.deck.decks > 1,
        }
        return PolicyRecipe(_CARDS[algorithm], {"network": words})
    widths: Any = list(network.hidden)
    if algorithm != "dqn":
        widths = {"pi": widths, "vf": widths}
    words = {"net_arch": widths, "activation_fn": ACTIVATIONS[network.activation]}
    return PolicyRecipe(_MLP[algorithm], words)


def build_policy(algorithm: Algorithm, network: Network, settings: EnvSettings) -> BasePolicy:
    """An untrained policy outside any algorithm."""
    recipe = policy_recipe(algorithm, network, settings)
    space, actions = Encoding(settings).space, spaces.Discrete(settings.n_actions)
    policy_class: Any = recipe.policy_class
    policy: BasePolicy = policy_class(space, actions, lambda _: 0.0, **recipe.keywords)
    policy.set_training_mode(False)
    return policy


# ---------------------------------------------------------------- agents


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
        if isinstance(self.policy, DQNPolicy):
            values: torch.Tensor = policy.q_net(observations)
            return values
        logits: torch.Tensor = policy.get_distribution(observations).distribution.logits
        return logits


class Sb3StochasticAgent(Sb3Agent):
    """A policy that also says with which probabilities it would act."""

    def probabilities(self, observations: Observations, masks: Masks) -> NDArray[np.floating]:
        with one_thread(), torch.no_grad():
            logits = self._logits(self._read(observations), masks)
            result: NDArray[np.floating] = logits.double().softmax(dim=1).numpy()
        return result


def agent_of(
    policy: BasePolicy,
    trained: EnvSettings,
    settings: EnvSettings | None = None,
    name: str = "model",
) -> Agent:
    """The agent of a policy: with probabilities, unless it is one of action values."""
    kind = Sb3Agent if isinstance(policy, DQNPolicy) else Sb3StochasticAgent
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
