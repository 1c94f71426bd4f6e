"""Model files and Stable-Baselines3's ``model.zip``, to and fro.

SB3 keeps what is no weight as pickles, and unpickling runs whatever code a file names. So our own
programs never open such a file unless told to; what they take in becomes a model file without.
"""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from stable_baselines3.common.base_class import BaseAlgorithm
from stable_baselines3.common.off_policy_algorithm import OffPolicyAlgorithm
from stable_baselines3.common.save_util import load_from_zip_file

from niulab.agents.models.card import CardNetwork, MlpNetwork, ModelCard, Network
from niulab.agents.models.file import load_model, save_model
from niulab.agents.models.layers import ACTIVATIONS
from niulab.agents.models.policies import build_policy, policy_recipe
from niulab.agents.models.sb3 import agent_of, one_thread
from niulab.envs.encoding import Encoding
from niulab.envs.settings import EnvSettings
from niulab.errors import CheckpointError, ConfigError
from niulab.seeding import generator
from niulab.training.algorithms import algorithm_class
from niulab.training.runs.checkpoint import kept_generators
from niulab.training.runs.run_folder import package_versions
from niulab.training.sb3_vec import make_sb3_vec

__all__ = ["export_zip", "import_zip"]

_N_SAMPLES = 256
_KINDS: Mapping[str, tuple[str, ...]] = {
    "maskable_ppo": ("MaskableActorCriticPolicy", "MaskableMultiInputActorCriticPolicy"),
    "dqn": ("DQNPolicy",),
    "qrdqn": ("QRDQNPolicy",),
    "ppo": ("ActorCriticPolicy",),
}
"""Policy classes by algorithm; PPO's are A2C's too."""

_QUANTILES = 200
"""What QR-DQN takes where its keywords name no number."""


# ---------------------------------------------------------------- out


def export_zip(source: Path, file: Path) -> ModelCard:
    """Write the model at ``source`` as a zip that SB3's ``load`` opens.

    ``PPO.load`` (or the class of another algorithm's name) then plays it; what imitation learned is
    a policy of PPO's. Perceptrons need SB3 alone, card networks an importable niulab. SB3's default
    hyperparameters stand in it. An existing file is refused.
    """
    card, weights = load_model(source)
    if file.exists():
        raise ConfigError(f"'{file}' exists already: name a file that does not")
    settings = card.env_settings()
    algorithm = "ppo" if card.algorithm == "imitation" else card.algorithm
    recipe = policy_recipe(algorithm, card.network, settings)
    words: dict[str, Any] = {"policy_kwargs": recipe.keywords, "seed": None, "device": "cpu"}
    make: Any = algorithm_class(algorithm)
    if issubclass(make, OffPolicyAlgorithm):
        words["buffer_size"] = 1_000  # it is allocated; whoever trains on makes a larger one
    with kept_generators():
        model: BaseAlgorithm = make(recipe.policy_class, make_sb3_vec(1, settings), **words)
        try:
            model.policy.load_state_dict(weights)
        except RuntimeError as error:
            raise CheckpointError(
                f"the weights in '{source}' do not fit the network on its card: {error}"
            ) from None
    model.num_timesteps = card.steps
    model.seed = card.seed
    file.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=file.parent, prefix=".export-") as place:
        fresh = Path(place) / "model.zip"
        model.save(fresh)
        fresh.replace(file)
    return card


# ---------------------------------------------------------------- in


def import_zip(
    file: Path, folder: Path, settings: EnvSettings, *, task: str, allow_pickle: bool = False
) -> ModelCard:
    """Turn an SB3 zip of a policy for ``settings`` into a model file in ``folder``.

    Loading it runs the code it names, so it is refused without ``allow_pickle`` and must be your
    own. What is written plays as SB3 plays it, which is checked on sampled observations. Raises
    CheckpointError for a file that is none, reads another task, or holds another kind of network.
    """
    if not allow_pickle:
        raise CheckpointError(
            f"'{file}' is not opened: SB3 keeps pickles in its zips, and loading a pickle runs the "
            "code it names. If the file is your own, say so with --allow-pickle"
        )
    if folder.exists():
        raise ConfigError(f"'{folder}' exists already: name a folder that does not")
    data, weights = _load(file)
    algorithm = _algorithm(data, file)
    network = _network(data, file)
    _verify_spaces(data, settings, task, file)
    try:
        policy: Any = build_policy(algorithm, network, settings)
        policy.load_state_dict(weights)
    except (ConfigError, RuntimeError) as error:
        raise _foreign(file, f"its weights are not those of such a network ({error})") from None
    card = ModelCard.of(
        settings,
        task=task,
        algorithm=algorithm,
        network=network,
        seed=int(data.get("seed") or 0),
        steps=int(data.get("num_timesteps") or 0),
        versions=package_versions(),
    )
    _verify_actions(file, policy, settings, algorithm)
    save_model(folder, card, weights)
    return card


def _load(file: Path) -> tuple[dict[str, Any], dict[str, torch.Tensor]]:
    if not zipfile.is_zipfile(file):
        what = "there is no such file" if not file.exists() else "it is no zip archive"
        raise CheckpointError(f"cannot read '{file}': {what}; give the model.zip that SB3 wrote")
    try:
        data, found, _ = load_from_zip_file(file, device="cpu")
    except Exception as error:  # whatever the code in a pickle raises
        raise CheckpointError(f"SB3 cannot load '{file}': {error!r}") from error
    params: Mapping[str, Any] = found
    if data is None or "policy" not in params or "policy_class" not in data:
        raise CheckpointError(f"'{file}' is no model of SB3: it holds no policy")
    return data, params["policy"]


def _algorithm(data: Mapping[str, Any], file: Path) -> Any:
    names = [base.__name__ for base in data["policy_class"].__mro__]
    for algorithm, known in _KINDS.items():
        if any(name in known for name in names):
            return "a2c" if algorithm == "ppo" and "n_epochs" not in data else algorithm
    raise _foreign(file, f"its policy is a {names[0]}, of none of {', '.join(_KINDS)} or a2c")


def _network(data: Mapping[str, Any], file: Path) -> Network:
    """The network on the card, from SB3's keywords; CheckpointError for what a card cannot say."""
    words = data.get("policy_kwargs") or {}
    algorithm = _algorithm(data, file)
    quantiles = {"n_quantiles": words.get("n_quantiles", _QUANTILES)}
    if "network" in words:
        given = words["network"] | quantiles if algorithm == "qrdqn" else words["network"]
        return CardNetwork(**{key: given[key] for key in CardNetwork.model_fields if key in given})
    widths = words.get("net_arch", [64, 64])
    if isinstance(widths, Mapping):
        if widths.get("pi") != widths.get("vf"):
            raise _foreign(file, f"net_arch = {widths} gives policy and critic different widths")
        widths = widths.get("pi", [])
    default = "relu" if algorithm in {"dqn", "qrdqn"} else "tanh"
    chosen = words.get("activation_fn", ACTIVATIONS[default])
    names = [name for name, kind in ACTIVATIONS.items() if kind is chosen]
    if not names:
        raise _foreign(file, f"its activation is {chosen}")
    more = dict(words.get("features_extractor_kwargs", {}))
    if algorithm == "qrdqn":
        more |= quantiles
    return MlpNetwork(hidden=tuple(widths), activation=names[0], **more)  # type: ignore[arg-type]  # known names


def _verify_spaces(data: Mapping[str, Any], settings: EnvSettings, task: str, file: Path) -> None:
    own, found = Encoding(settings).space, data.get("observation_space")
    n_found = getattr(data.get("action_space"), "n", None)
    if own != found or n_found != settings.n_actions:
        raise _foreign(
            file,
            f"it reads {found} and has {n_found} actions; '{task}' as asked for shows {own} and "
            f"has {settings.n_actions}: give the task and settings (--set encoding=ids) it learned",
        )


def _verify_actions(file: Path, policy: Any, settings: EnvSettings, algorithm: str) -> None:
    """Raise CheckpointError unless SB3's own model answers as the one we wrote."""
    with kept_generators(), one_thread():
        model: Any = algorithm_class(algorithm).load(file, device="cpu")
        space = deepcopy(Encoding(settings).space)
        space.seed(0)
        seen = np.stack([space.sample() for _ in range(_N_SAMPLES)])
        theirs, _ = model.predict(seen, deterministic=True)
    masks = np.ones((_N_SAMPLES, settings.n_actions), dtype=np.bool_)
    rng = generator(0, "training/import")
    ours, _ = agent_of(policy, settings).act(seen, masks, {}, None, rng)
    if not np.array_equal(ours, theirs):
        raise _foreign(file, "SB3 plays it otherwise than its card would say")


def _foreign(file: Path, what: str) -> CheckpointError:
    return CheckpointError(
        f"'{file}' cannot be kept as a model file: {what}. From Python it can still be scored, "
        "with the load of its own class: niulab.evaluate(PPO.load(path), env_id)"
    )
