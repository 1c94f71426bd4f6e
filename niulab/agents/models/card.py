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
    "Algorithm",
    "CardNetwork",
    "MlpNetwork",
    "ModelCard",
    "Network",
    "verify_fits",
    "verify_network",
]

CARD = "card.json"
"""The file's name in a model's folder."""

Algorithm = Literal["ppo", "a2c", "maskable_ppo", "dqn"]
Activation = Literal["sine", "relu", "silu", "tanh"]
Width = Annotated[int, Field(ge=1, le=4096)]
Widths = Annotated[tuple[Width, ...], Field(strict=False, max_length=8)]

_FREE = {"encoding", "observation", "point_flags", "reward", "reward_scale", "illegal", "mask"}
"""Settings that change what is shown or paid for learning, not what there is to decide."""


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class CardNetwork(_Strict):
    """The order-free network of ``networks``: widths of its vectors and hidden layers."""

    kind: Literal["cards"] = "cards"
    embedding: Width = 128
    hidden: Widths = (64,)
    pair_embedding: Width = 16
    pair_hidden: Widths = (16,)
    activation: Activation = "sine"
    critic_embedding: Width = 64
    critic_hidden: Widths = (64,)
    critic_activation: Activation = "relu"


class MlpNetwork(_Strict):
    """SB3's MlpPolicy: hidden widths of the policy (or action values), and of the critic."""

    kind: Literal["mlp"] = "mlp"
    hidden: Widths = (64, 64)
    activation: Activation = "tanh"


Network = CardNetwork | MlpNetwork


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
    network: CardNetwork | MlpNetwork = Field(discriminator="kind")
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


def verify_network(network: Network, settings: EnvSettings) -> None:
    """Raise ConfigError for a network that cannot see what a task shows."""
    if network.kind == "cards" and not settings.sets_hand:
        raise ConfigError(
            "kind 'cards' sets hands, this task shows none (decisions='bet'): write kind = 'mlp'"
        )


def verify_fits(
    card: ModelCard, trained: EnvSettings, asked: EnvSettings, *, transfer: bool
) -> None:
    """Raise CheckpointError unless a model may play a task.

    It may play what it was trained on, and with ``transfer`` all that has its actions and sights.
    """
    if (trained.decisions, trained.n_actions) != (asked.decisions, asked.n_actions):
        raise CheckpointError(
            f"the model was trained for '{card.task}' (decisions='{trained.decisions}', "
            f"{trained.n_actions} actions), the task asks for decisions='{asked.decisions}' with "
            f"{asked.n_actions} actions: evaluate it on '{card.task}'"
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
    mine, theirs = trained.to_json(), asked.to_json()
    changed = [
        f"{key}={mine.get(key)!r} (the task: {theirs.get(key)!r})"
        for key in sorted({*mine, *theirs} - _FREE - {"rules"})
        if mine.get(key) != theirs.get(key)
    ]
    if changed:
        raise CheckpointError(
            f"the model was trained with {', '.join(changed)}: evaluate it there on purpose with "
            "--transfer"
        )


def _columns(settings: EnvSettings) -> list[str]:
    return [field.name for field in Encoding(settings).layout]
