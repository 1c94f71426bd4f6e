"""What a trained model says of itself: the network it is, the task it was trained on, its scores.

Plain data without torch, so that a card can be read and checked before any weight is touched.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from niulab.envs.encoding import Encoding
from niulab.envs.settings import EnvSettings, make_settings
from niulab.errors import CheckpointError, ConfigError

__all__ = [
    "CARD",
    "NETWORKS",
    "Algorithm",
    "CardNetwork",
    "LstmNetwork",
    "MlpNetwork",
    "ModelCard",
    "Network",
    "verify_fits",
    "verify_network",
]

CARD = "card.json"
"""The file's name in a model's folder."""

Algorithm = Literal[
    "ppo", "a2c", "maskable_ppo", "recurrent_ppo", "dqn", "qrdqn", "sac", "td3", "imitation"
]
Activation = Literal["sine", "relu", "silu", "tanh"]
Width = Annotated[int, Field(ge=1, le=4096)]
Frequencies = Annotated[int, Field(ge=0, le=4096)]
Bandwidth = Annotated[float, Field(gt=0)]
Widths = Annotated[tuple[Width, ...], Field(strict=False, max_length=8)]
Quantiles = Annotated[int, Field(ge=1, le=1024)]

_FREE = {
    *("encoding", "observation", "point_flags", "mask"),
    *("reward", "reward_scale", "illegal", "detector"),
}
"""Settings that change what is shown or paid for learning, not what there is to decide."""


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class CardNetwork(_Strict):
    """The order-free network of ``networks``: widths of its vectors and hidden layers.

    n_quantiles: of an action's return, for QR-DQN only (default there: 50).
    """

    kind: Literal["cards"] = "cards"
    embedding: Width = 128
    hidden: Widths = (64,)
    pair_embedding: Width = 16
    pair_hidden: Widths = (16,)
    activation: Activation = "sine"
    vectors: Literal["cards", "ranks_and_suits"] = "cards"
    products: bool = False
    critic_embedding: Width = 64
    critic_hidden: Widths = (64,)
    critic_activation: Activation = "relu"
    n_quantiles: Quantiles | None = None
    frequencies: Frequencies = 0
    bandwidth: Bandwidth = 30.0
    features: Annotated[int, Field(ge=0, le=64)] = 0


class MlpNetwork(_Strict):
    """SB3's MlpPolicy: hidden widths of the policy (or action values), and of the critic.

    n_quantiles: of an action's return, for QR-DQN only (default there: 50).
    """

    kind: Literal["mlp"] = "mlp"
    hidden: Widths = (64, 64)
    activation: Activation = "tanh"
    n_quantiles: Quantiles | None = None
    frequencies: Frequencies = 0
    bandwidth: Bandwidth = 30.0


class LstmNetwork(_Strict):
    """sb3-contrib's MlpLstmPolicy, with its names: memory first, then a perceptron."""

    kind: Literal["lstm"] = "lstm"
    hidden: Widths = (64,)
    activation: Activation = "tanh"
    lstm_hidden_size: Width = 64
    n_lstm_layers: Annotated[int, Field(ge=1, le=8)] = 1
    shared_lstm: bool = False
    enable_critic_lstm: bool = True


Network = CardNetwork | MlpNetwork | LstmNetwork
NETWORKS: dict[str, type[Network]] = {
    "cards": CardNetwork,
    "mlp": MlpNetwork,
    "lstm": LstmNetwork,
}
"""By the kind a config writes."""

_CONTINUOUS = {"sac", "td3"}
"""Algorithms whose actions are vectors of numbers."""

_DISCRETE = {"maskable_ppo", "dqn", "qrdqn", "imitation"}
"""Algorithms whose actions are indices; the others take either."""


class ModelCard(_Strict):
    """The JSON beside the weights.

    settings: the keywords of the environment, as ``EnvSettings.to_json`` gives them. encoding: name
    with version. weights_sha256: of the file of weights. scores: the last evaluation's record, or
    a published model's whole exact score. config: of the run that trained it, if one did.
    """

    format: Literal["niulab-model-v1"] = "niulab-model-v1"
    task: str
    settings: dict[str, Any]
    rules: str
    rules_hash: str
    encoding: str
    n_columns: int
    n_actions: int
    algorithm: Algorithm
    network: Network = Field(discriminator="kind")
    seed: int
    steps: int
    scores: dict[str, Any] = Field(default_factory=dict)
    config: dict[str, Any] = Field(default_factory=dict)
    versions: dict[str, str] = Field(default_factory=dict)
    weights_sha256: str = ""

    @classmethod
    def of(
        cls,
        settings: EnvSettings,
        *,
        task: str,
        algorithm: Algorithm,
        network: Network,
        seed: int,
        steps: int,
        scores: Mapping[str, Any] | None = None,
        config: Mapping[str, Any] | None = None,
        versions: Mapping[str, str] | None = None,
    ) -> ModelCard:
        """The card of a model trained on a task."""
        encoding = Encoding(settings)
        return cls(
            task=task,
            settings=settings.to_json(),
            rules=settings.rules.name,
            rules_hash=settings.rules_hash,
            encoding=encoding.name,
            n_columns=encoding.size,
            n_actions=settings.n_actions,
            algorithm=algorithm,
            network=network,
            seed=seed,
            steps=steps,
            scores=dict(scores or {}),
            config=dict(config or {}),
            versions=dict(versions or {}),
        )

    @classmethod
    def parse(cls, text: str, origin: str) -> ModelCard:
        """The card of a JSON text; CheckpointError naming ``origin`` if it is none."""
        try:
            return cls.model_validate_json(text)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"]) or "the file"
            raise CheckpointError(
                f"'{origin}' is no card of a niulab model ({where}: {first['msg']}): give the "
                "folder that a training run wrote"
            ) from None

    def env_settings(self) -> EnvSettings:
        """The settings it was trained on; CheckpointError if this version cannot make them."""
        try:
            settings = make_settings(self.task, **self.settings)
        except (ConfigError, TypeError) as error:
            raise CheckpointError(
                f"the model's task '{self.task}' cannot be made by this version: {error}"
            ) from None
        encoding = Encoding(settings)
        if (encoding.name, encoding.size) != (self.encoding, self.n_columns):
            raise CheckpointError(
                f"the model reads the encoding '{self.encoding}' with {self.n_columns} columns, "
                f"this version writes '{encoding.name}' with {encoding.size}: train it again"
            )
        if (settings.rules.name, settings.n_actions) != (self.rules, self.n_actions):
            raise CheckpointError(
                f"the model's card contradicts itself: it speaks of rules '{self.rules}' and "
                f"{self.n_actions} actions, its settings make '{settings.rules.name}' and "
                f"{settings.n_actions}: copy the model again, or train it again"
            )
        if settings.rules_hash != self.rules_hash:
            raise CheckpointError(
                f"the model was trained under rules '{self.rules}' with hash {self.rules_hash}, "
                f"this version's '{self.rules}' have {settings.rules_hash}: train it again"
            )
        return settings


def verify_network(network: Network, settings: EnvSettings, algorithm: Algorithm) -> None:
    """Raise ConfigError for a network that cannot see what a task shows, or that is no network of
    the algorithm, and for an algorithm that cannot act in the task.
    """
    if algorithm in _CONTINUOUS and settings.stakes != "continuous":
        raise ConfigError(
            f"'{algorithm}' acts by vectors, this task by indices (stakes='menu'): use "
            "niulab/SessionStake-v0, or stakes='continuous'"
        )
    if algorithm in _DISCRETE and settings.stakes == "continuous":
        raise ConfigError(
            f"'{algorithm}' acts by indices, this task by vectors (stakes='continuous'): write "
            "'sac', 'td3', 'ppo', 'a2c' or 'recurrent_ppo'"
        )
    if network.kind == "cards" and not settings.sets_hand:
        raise ConfigError(
            "kind 'cards' sets hands, this task shows none (decisions='bet'): write kind = 'mlp'"
        )
    if (network.kind == "lstm") != (algorithm == "recurrent_ppo"):
        kinds = "kind = 'lstm'" if algorithm == "recurrent_ppo" else "kind = 'cards' or 'mlp'"
        raise ConfigError(f"'{algorithm}' has no network of kind '{network.kind}': write {kinds}")
    if network.kind == "cards" and algorithm in _CONTINUOUS:
        raise ConfigError(f"'{algorithm}' has no network of kind 'cards': write kind = 'mlp'")
    if network.kind == "lstm":
        if network.shared_lstm and network.enable_critic_lstm:
            raise ConfigError(
                "shared_lstm = true lets the critic use the policy's memory: write "
                "enable_critic_lstm = false beside it"
            )
    elif network.n_quantiles is not None and algorithm != "qrdqn":
        raise ConfigError(f"n_quantiles is a word of 'qrdqn', not of '{algorithm}': leave it out")


def verify_fits(
    card: ModelCard, trained: EnvSettings, asked: EnvSettings, *, transfer: bool
) -> None:
    """Raise CheckpointError unless a model may play a task.

    It may play what it was trained on, and with ``transfer`` all that has its actions and sights.
    """
    mine = (trained.decisions, trained.stakes, trained.n_actions)
    if mine != (asked.decisions, asked.stakes, asked.n_actions):
        raise CheckpointError(
            f"the model was trained for '{card.task}' (decisions='{trained.decisions}', "
            f"stakes='{trained.stakes}', {trained.n_actions} actions), the task asks for "
            f"decisions='{asked.decisions}', stakes='{asked.stakes}' with {asked.n_actions} "
            f"actions: evaluate it on '{card.task}'"
        )
    if trained.bets and Encoding(trained).name != Encoding(asked).name:
        raise CheckpointError(
            f"the model reads the encoding '{card.encoding}', the task shows "
            f"'{Encoding(asked).name}': give the task the settings it was trained with"
        )
    if _columns(trained) != _columns(asked):
        raise CheckpointError(
            f"the model sees {_columns(trained)}, the task shows {_columns(asked)}: evaluate it on "
            f"'{card.task}' under rules '{card.rules}'"
        )
    if transfer:
        return
    if card.rules_hash != asked.rules_hash:
        raise CheckpointError(
            f"the model was trained under rules '{card.rules}' ({card.rules_hash}), the task plays "
            f"'{asked.rules.name}' ({asked.rules_hash}): evaluate it there on purpose with "
            "--transfer"
        )
    old, new = trained.to_json(), asked.to_json()
    changed = [
        f"{key}={old.get(key)!r} (the task: {new.get(key)!r})"
        for key in sorted({*old, *new} - _FREE - {"rules"})
        if old.get(key) != new.get(key)
    ]
    if changed:
        raise CheckpointError(
            f"the model was trained with {', '.join(changed)}: evaluate it there on purpose with "
            "--transfer"
        )


def _columns(settings: EnvSettings) -> list[str]:
    return [field.name for field in Encoding(settings).layout]
