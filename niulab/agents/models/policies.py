"""Policies for Stable-Baselines3 and sb3-contrib, built from a network and a task.

The card networks of ``networks`` stand here in the clothes of SB3's policies; a plain perceptron
is SB3's own ``MlpPolicy``, one with a memory sb3-contrib's ``MlpLstmPolicy``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from gymnasium import spaces
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from sb3_contrib.common.recurrent.policies import RecurrentActorCriticPolicy
from sb3_contrib.qrdqn.policies import QRDQNPolicy, QuantileNetwork
from stable_baselines3.common.policies import ActorCriticPolicy, BasePolicy
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from stable_baselines3.common.type_aliases import PyTorchObs, Schedule
from stable_baselines3.dqn.policies import DQNPolicy, QNetwork
from stable_baselines3.sac.policies import SACPolicy
from stable_baselines3.td3.policies import TD3Policy
from torch import nn

from niulab.agents.models.card import Algorithm, Network, verify_network
from niulab.agents.models.layers import ACTIVATIONS, Waves
from niulab.agents.models.networks import (
    CardLayout,
    SplitActorCritic,
    SplitQNetwork,
    SplitQuantileNetwork,
)
from niulab.envs.encoding import Encoding
from niulab.envs.settings import EnvSettings
from niulab.envs.stakes.space import action_space

__all__ = [
    "MaskableSplitPolicy",
    "PolicyRecipe",
    "SplitPolicy",
    "SplitQPolicy",
    "SplitQuantilePolicy",
    "WaveExtractor",
    "build_policy",
    "policy_recipe",
]

_N_QUANTILES = 50


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


class SplitQuantilePolicy(QRDQNPolicy):
    """The card network for QR-DQN."""

    def __init__(self, *args: Any, network: Mapping[str, Any], **keywords: Any) -> None:
        self._network = network
        super().__init__(*args, **keywords)

    def make_quantile_net(self) -> QuantileNetwork:
        keywords = self._update_features_extractor(self.net_args, features_extractor=None)
        result = _SplitQuantiles(network=self._network, **keywords)
        return result.to(self.device)


class _SplitQuantiles(QuantileNetwork):
    def __init__(self, *, network: Mapping[str, Any], **keywords: Any) -> None:
        super().__init__(**{**keywords, "net_arch": []})
        self.quantile_net = SplitQuantileNetwork(  # type: ignore[assignment]  # only called
            n_quantiles=self.n_quantiles, **network
        )

    def forward(self, obs: PyTorchObs) -> torch.Tensor:
        features = self.extract_features(obs, self.features_extractor)
        result: torch.Tensor = self.quantile_net(features)
        return result


class WaveExtractor(BaseFeaturesExtractor):
    """``Waves`` of the flat observation, before SB3's perceptron."""

    def __init__(self, space: spaces.Box, frequencies: int, bandwidth: float) -> None:
        n_in = spaces.flatdim(space)
        super().__init__(space, n_in + frequencies)
        self.waves = Waves(n_in, frequencies, bandwidth)

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.waves(observations.flatten(1))
        return result


# ---------------------------------------------------------------- recipes


@dataclass(frozen=True)
class PolicyRecipe:
    """A policy class and its keywords, as SB3's algorithms take them."""

    policy_class: type[BasePolicy]
    keywords: dict[str, Any]


_PERCEPTRONS: dict[Algorithm, type[BasePolicy]] = {
    "ppo": ActorCriticPolicy,
    "a2c": ActorCriticPolicy,
    "imitation": ActorCriticPolicy,
    "maskable_ppo": MaskableActorCriticPolicy,
    "recurrent_ppo": RecurrentActorCriticPolicy,
    "dqn": DQNPolicy,
    "qrdqn": QRDQNPolicy,
    "sac": SACPolicy,
    "td3": TD3Policy,
}
_CARDS: dict[Algorithm, type[BasePolicy]] = {
    "ppo": SplitPolicy,
    "a2c": SplitPolicy,
    "imitation": SplitPolicy,
    "maskable_ppo": MaskableSplitPolicy,
    "dqn": SplitQPolicy,
    "qrdqn": SplitQuantilePolicy,
}
_OF_VALUES = {"dqn", "qrdqn", "sac", "td3"}
"""Algorithms whose perceptrons have one list of widths."""


def policy_recipe(algorithm: Algorithm, network: Network, settings: EnvSettings) -> PolicyRecipe:
    """How to build a network's policy for a task; ConfigError if they do not go together."""
    verify_network(network, settings, algorithm)
    words: dict[str, Any]
    if network.kind == "cards":
        encoding = Encoding(settings)
        shape = network.model_dump(exclude={"kind", "n_quantiles"}) | {
            "layout": CardLayout.of(encoding),
            "highs": encoding.space.high.tolist(),
            "n_actions": settings.n_actions,
            "has_repeats": settings.rules.deck.decks > 1,
        }
        policy_class, words = _CARDS[algorithm], {"network": shape}
    else:
        widths: Any = list(network.hidden)
        if algorithm not in _OF_VALUES:
            widths = {"pi": widths, "vf": widths}
        words = {"net_arch": widths, "activation_fn": ACTIVATIONS[network.activation]}
        policy_class = _PERCEPTRONS[algorithm]
    if network.kind == "mlp" and network.frequencies:
        shape = {"frequencies": network.frequencies, "bandwidth": network.bandwidth}
        words |= {"features_extractor_class": WaveExtractor, "features_extractor_kwargs": shape}
    if network.kind == "lstm":
        words |= network.model_dump(exclude={"kind", "hidden", "activation"})
    elif algorithm == "qrdqn":
        words["n_quantiles"] = network.n_quantiles or _N_QUANTILES
    return PolicyRecipe(policy_class, words)


def build_policy(algorithm: Algorithm, network: Network, settings: EnvSettings) -> BasePolicy:
    """An untrained policy outside any algorithm."""
    recipe = policy_recipe(algorithm, network, settings)
    space, actions = Encoding(settings).space, action_space(settings)
    policy_class: Any = recipe.policy_class
    policy: BasePolicy = policy_class(space, actions, lambda _: 0.0, **recipe.keywords)
    policy.set_training_mode(False)
    return policy
