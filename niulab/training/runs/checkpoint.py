"""The whole state of a run between two rollouts, written without pickle and read back bit for bit.

A checkpoint is a folder ``step-000000401408`` with ``tensors.safetensors`` (weights, optimizers,
last observations and LSTM states, torch's generator), ``state.json`` (counters, the other
generators, the environment) and, where there is one and if asked for,
``replay_buffer.safetensors``. It appears whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
import random  # noqa: TID251  only its state is kept, nothing is drawn
import shutil
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from sb3_contrib.common.recurrent.type_aliases import RNNStates
from stable_baselines3.common.base_class import BaseAlgorithm

from niulab.agents.models.file import write_folder
from niulab.errors import CheckpointError
from niulab.training.sb3_vec import Sb3Vec

__all__ = [
    "Checkpoint",
    "find_checkpoint",
    "kept_generators",
    "prune_checkpoints",
    "restore",
    "write_checkpoint",
]

_FORMAT = "niulab-checkpoint-v2"
_TENSORS, _STATE, _BUFFER = "tensors.safetensors", "state.json", "replay_buffer.safetensors"
_COUNTERS = (
    "num_timesteps",
    "_episode_num",
    "_n_updates",
    "_n_calls",
    "_current_progress_remaining",
    "exploration_rate",
)
_LAST = ("_last_obs", "_last_episode_starts")
_WINDOW = "_stats_window_size"
_OPTIMIZERS = (
    "policy.optimizer",
    "actor.optimizer",  # SAC and TD3 have two, SAC one more for its temperature
    "critic.optimizer",
    "ent_coef_optimizer",
)
_TEMPERATURE = "log_ent_coef"
_LSTM = "_last_lstm_states"
_BUFFER_ARRAYS = ("observations", "next_observations", "actions", "rewards", "dones", "timeouts")


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint on disk: its step, its folder and the bytes of each component."""

    step: int
    folder: Path
    n_bytes: Mapping[str, int]


# ---------------------------------------------------------------- writing


def write_checkpoint(
    folder: Path,
    model: BaseAlgorithm,
    env: Sb3Vec,
    *,
    notes: Mapping[str, Any],
    replay_buffer: bool,
) -> Checkpoint:
    """Write the state of a run under ``folder``; ``notes`` are the caller's own, JSON-able."""
    tensors, groups = _tensors(model)
    state: dict[str, Any] = {
        "format": _FORMAT,
        "notes": dict(notes),
        "counters": {key: getattr(model, key) for key in _COUNTERS if hasattr(model, key)},
        "optimizers": groups,
        "generators": _generators(),
        "action_space": model.action_space.np_random.bit_generator.state,
        "env": env.get_state(),
    }
    files = {_TENSORS: save(tensors)}
    buffer = getattr(model, "replay_buffer", None)
    if buffer is not None and replay_buffer:
        state["replay_buffer"] = {"pos": buffer.pos, "full": buffer.full}
        n_filled = buffer.buffer_size if buffer.full else buffer.pos
        arrays = {key: torch.from_numpy(getattr(buffer, key)[:n_filled]) for key in _BUFFER_ARRAYS}
        files[_BUFFER] = save({key: array.contiguous() for key, array in arrays.items()})
    state["sha256"] = {name: hashlib.sha256(blob).hexdigest() for name, blob in files.items()}
    files[_STATE] = json.dumps(state, allow_nan=False).encode()
    step = model.num_timesteps
    path = write_folder(folder / f"step-{step:012d}", files)
    return Checkpoint(step, path, {name: len(blob) for name, blob in files.items()})


def prune_checkpoints(folder: Path, *, keep: int) -> None:
    """Delete all but the last ``keep`` checkpoints."""
    for old in _steps(folder)[:-keep]:
        shutil.rmtree(old, ignore_errors=True)


def _tensors(model: BaseAlgorithm) -> tuple[dict[str, torch.Tensor], dict[str, Any]]:
    """All tensors of a run by name, and the optimizers' settings."""
    result = {f"policy/{key}": value for key, value in model.policy.state_dict().items()}
    groups = {}
    for name, optimizer in _optimizers(model).items():
        state = optimizer.state_dict()
        groups[name] = state["param_groups"]
        for index, moments in state["state"].items():
            result |= {f"optimizer/{name}/{index}/{key}": x for key, x in moments.items()}
    if getattr(model, _TEMPERATURE, None) is not None:
        result[_TEMPERATURE] = getattr(model, _TEMPERATURE)
    for index, part in enumerate(_lstm_states(model)):
        result[f"lstm/{index}"] = part
    for key in _LAST:
        if getattr(model, key) is not None:
            result[f"last/{key}"] = torch.from_numpy(np.array(getattr(model, key)))
    for key in ("r", "l", "t"):
        values = [float(episode[key]) for episode in model.ep_info_buffer or ()]
        result[f"episodes/{key}"] = torch.tensor(values, dtype=torch.float64)
    result["generator/torch"] = torch.get_rng_state()
    # cloned: SB3 registers a shared extractor under three names, safetensors wants each its own
    plain = {key: value.detach().cpu().clone().contiguous() for key, value in result.items()}
    return plain, groups


def _optimizers(model: BaseAlgorithm) -> dict[str, torch.optim.Optimizer]:
    """A model's optimizers by the path of their attribute."""
    found = {}
    for path in _OPTIMIZERS:
        owner: Any = model
        for name in path.split("."):
            owner = getattr(owner, name, None)
        if owner is not None:
            found[path] = owner
    return found


def _lstm_states(model: BaseAlgorithm) -> list[torch.Tensor]:
    """Hidden and cell states of policy and critic; empty for a model without a memory."""
    states = getattr(model, _LSTM, None)
    return [] if states is None else [*states.pi, *states.vf]


# ---------------------------------------------------------------- reading


def find_checkpoint(folder: Path) -> Path | None:
    """The latest checkpoint under ``folder``; None for a run stopped before its first."""
    return max(_steps(folder), default=None)


def restore(path: Path, model: BaseAlgorithm, env: Sb3Vec) -> dict[str, Any]:
    """Put a freshly built model and its environment into the state at ``path``.

    Global generators are set as well, so nothing may be drawn between this call and ``learn``.
    Returns the notes. Raises CheckpointError for what is no whole checkpoint of this model.
    """
    state = _read_state(path)
    tensors = _read_tensors(path, _TENSORS, state)
    try:
        _restore_buffer(path, model, state)
        _restore_model(model, state, tensors)
        env.set_state(state["env"])
    except (KeyError, RuntimeError, ValueError, TypeError) as error:
        if isinstance(error, CheckpointError):
            raise
        raise CheckpointError(
            f"the checkpoint '{path}' does not fit the model of its config ({error!r}): delete it "
            "to go on from the one before, or begin a new run"
        ) from None
    _set_generators(state["generators"], tensors["generator/torch"])
    notes: dict[str, Any] = state["notes"]
    return notes


def _restore_model(
    model: BaseAlgorithm, state: Mapping[str, Any], tensors: Mapping[str, torch.Tensor]
) -> None:
    for key, value in state["counters"].items():
        setattr(model, key, value)
    model.policy.load_state_dict(_below(tensors, "policy/"))
    for path, optimizer in _optimizers(model).items():
        moments: dict[int, dict[str, torch.Tensor]] = {}
        for name, tensor in _below(tensors, f"optimizer/{path}/").items():
            index, _, key = name.partition("/")
            moments.setdefault(int(index), {})[key] = tensor
        groups = state["optimizers"][path]
        optimizer.load_state_dict({"state": moments, "param_groups": groups})
    if getattr(model, _TEMPERATURE, None) is not None:
        getattr(model, _TEMPERATURE).data.copy_(tensors[_TEMPERATURE])
    if memory := [tensors[f"lstm/{index}"] for index, _ in enumerate(_lstm_states(model))]:
        setattr(model, _LSTM, RNNStates((memory[0], memory[1]), (memory[2], memory[3])))
    for key, tensor in _below(tensors, "last/").items():
        setattr(model, key, tensor.numpy().copy())
    window = getattr(model, _WINDOW)
    columns = [tensors[f"episodes/{key}"].tolist() for key in ("r", "l", "t")]
    episodes = [{"r": r, "l": int(l), "t": t} for r, l, t in zip(*columns, strict=True)]
    model.ep_info_buffer = deque(episodes, maxlen=window)
    model.ep_success_buffer = deque(maxlen=window)
    model.action_space.np_random.bit_generator.state = state["action_space"]


def _restore_buffer(path: Path, model: BaseAlgorithm, state: Mapping[str, Any]) -> None:
    buffer = getattr(model, "replay_buffer", None)
    if buffer is None:
        return
    if "replay_buffer" not in state:
        raise CheckpointError(
            f"'{path}' holds no replay buffer (checkpoint.replay_buffer = false), and without it "
            "the run would forget what it has seen: begin a new run with replay_buffer = true"
        )
    arrays = _read_tensors(path, _BUFFER, state)
    for key in _BUFFER_ARRAYS:
        filled = arrays[key].numpy()
        getattr(buffer, key)[: len(filled)] = filled
    buffer.pos, buffer.full = state["replay_buffer"]["pos"], state["replay_buffer"]["full"]


def _read_state(path: Path) -> dict[str, Any]:
    try:
        state = json.loads((path / _STATE).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise CheckpointError(
            f"cannot read the checkpoint '{path}' ({error}): delete it to go on from the one before"
        ) from None
    if not isinstance(state, dict) or state.get("format") != _FORMAT:
        raise CheckpointError(
            f"'{path}' is no checkpoint of this version: delete it to go on from the one before"
        )
    return state


def _read_tensors(path: Path, name: str, state: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    try:
        blob = (path / name).read_bytes()
        tensors: dict[str, torch.Tensor] = load(blob)
    except (OSError, SafetensorError, ValueError, KeyError) as error:
        raise CheckpointError(
            f"cannot read '{path / name}' ({error}): delete the checkpoint to go on from the one "
            "before"
        ) from None
    if hashlib.sha256(blob).hexdigest() != state.get("sha256", {}).get(name):
        raise CheckpointError(
            f"'{path / name}' was changed after it was written: delete the checkpoint to go on "
            "from the one before"
        )
    return tensors


def _below(tensors: Mapping[str, torch.Tensor], prefix: str) -> dict[str, torch.Tensor]:
    return {
        name.removeprefix(prefix): value
        for name, value in tensors.items()
        if name.startswith(prefix)
    }


def _steps(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("step-*") if path.is_dir())


# ---------------------------------------------------------------- global generators


def _generators() -> dict[str, Any]:
    """States of Python's and NumPy's global generators, as JSON can hold them."""
    version, words, gauss = random.getstate()
    name, keys, place, has_gauss, cached = np.random.get_state(legacy=True)  # noqa: NPY002  for SB3, which draws from it
    return {
        "python": [version, list(words), gauss],
        "numpy": [name, np.asarray(keys).tolist(), place, has_gauss, cached],
    }


def _set_generators(states: Mapping[str, Any], of_torch: torch.Tensor) -> None:
    version, words, gauss = states["python"]
    random.setstate((version, tuple(words), gauss))
    name, keys, place, has_gauss, cached = states["numpy"]
    np.random.set_state((name, np.array(keys, dtype=np.uint32), place, has_gauss, cached))  # noqa: NPY002  for SB3, which draws from it
    torch.set_rng_state(of_torch)


@contextmanager
def kept_generators() -> Iterator[None]:
    """Give the caller's global generators back as they were."""
    states, of_torch = _generators(), torch.get_rng_state()
    try:
        yield
    finally:
        _set_generators(states, of_torch)
