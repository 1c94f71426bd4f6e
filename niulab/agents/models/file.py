"""Model files: a folder of ``weights.safetensors`` and ``card.json``; nothing is unpickled.

The weights say in their header which algorithm and task they are of, so that a card cannot claim
another: several algorithms share one network.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save

from niulab.agents.models.card import CARD, ModelCard
from niulab.errors import CheckpointError

__all__ = [
    "WEIGHTS",
    "find_model",
    "load_model",
    "read_card",
    "save_model",
    "write_folder",
    "write_synced",
    "writing",
]

WEIGHTS = "weights.safetensors"

_OURS = "niulab"
_OF_A_RUN = ("final", "best")


def save_model(
    folder: Path, card: ModelCard, weights: Mapping[str, torch.Tensor], *, is_half: bool = False
) -> Path:
    """Write a model, whole or not at all; a model that stood there before is replaced.

    ``is_half`` writes numbers of 16 bits, which are read back as 32. Returns the folder.
    """
    # cloned: SB3 registers a shared extractor under three names, safetensors wants each its own
    tensors = {name: tensor.detach().clone().contiguous() for name, tensor in weights.items()}
    if is_half:
        tensors = {n: t.half() if t.is_floating_point() else t for n, t in tensors.items()}
    # one key: safetensors writes several in an order of chance, and equal models are equal bytes
    blob = save(tensors, {_OURS: json.dumps(_header(card))})
    card = card.model_copy(update={"weights_sha256": hashlib.sha256(blob).hexdigest()})
    text = card.model_dump_json(indent=2) + "\n"
    return write_folder(folder, {WEIGHTS: blob, CARD: text.encode()})


def _header(card: ModelCard) -> dict[str, str]:
    """What the weights say of themselves."""
    return {"algorithm": card.algorithm, "task": card.task}


def _read_header(blob: bytes) -> dict[str, Any]:
    """The header's words of a file that was read as safetensors; none in files of before 0.2."""
    length = int.from_bytes(blob[:8], "little")
    words: dict[str, str] = json.loads(blob[8 : 8 + length]).get("__metadata__", {})
    try:
        said: Any = json.loads(words.get(_OURS, "{}"))
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


def write_folder(folder: Path, files: Mapping[str, bytes]) -> Path:
    """Write a folder of files, whole or not at all, in place of the one that stood there.

    Raises CheckpointError if the disk is full or the place cannot be written; what stood there
    before is still there.
    """
    fresh = folder.with_name(f".{folder.name}.new")
    stale = folder.with_name(f".{folder.name}.old")
    with writing(folder):
        if stale.exists() and not folder.exists():  # killed between the two renamings below
            stale.replace(folder)
        for leftover in (fresh, stale):
            shutil.rmtree(leftover, ignore_errors=True)
        fresh.mkdir(parents=True)
        for name, content in files.items():
            write_synced(fresh / name, content)
        if folder.exists():
            folder.replace(stale)
        fresh.replace(folder)
    shutil.rmtree(stale, ignore_errors=True)
    return folder


@contextmanager
def writing(place: Path) -> Iterator[None]:
    """Turn what the disk refuses into a CheckpointError that names the place."""
    try:
        yield
    except OSError as error:
        raise CheckpointError(
            f"cannot write '{place}': {error.strerror or error}; what was saved before is whole: "
            "make room or mend the folder, then go on (niulab train ... --resume)"
        ) from error


def write_synced(file: Path, content: bytes) -> None:
    """Write a file and wait until the disk has it."""
    with file.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


def load_model(path: Path) -> tuple[ModelCard, dict[str, torch.Tensor]]:
    """Read a model's card and weights; CheckpointError for whatever is no whole model."""
    folder = find_model(path)
    card = read_card(folder)
    try:
        blob = (folder / WEIGHTS).read_bytes()
        weights = load(blob)
    except OSError as error:
        raise CheckpointError(f"cannot read '{folder / WEIGHTS}': {error.strerror}") from None
    except (SafetensorError, ValueError, KeyError) as error:
        raise CheckpointError(
            f"'{folder / WEIGHTS}' is no file of weights in the safetensors format ({error}): give "
            "the folder that a training run wrote"
        ) from None
    if hashlib.sha256(blob).hexdigest() != card.weights_sha256:
        raise CheckpointError(
            f"the weights in '{folder}' are not those its card speaks of: the folder was changed, "
            "or copied in part; copy it again"
        )
    said = _read_header(blob)
    for key, claimed in _header(card).items():
        if said.get(key, claimed) != claimed:
            raise CheckpointError(
                f"the card in '{folder}' claims {key} = '{claimed}', its weights are of "
                f"{key} = '{said[key]}': copy the whole folder again, card and weights together"
            )
    whole = {n: t.float() if t.dtype == torch.float16 else t for n, t in weights.items()}
    return card, whole


def read_card(path: Path) -> ModelCard:
    """Read and check a model's card only."""
    file = find_model(path) / CARD
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is no UTF-8 text"
        raise CheckpointError(f"cannot read '{file}': {reason}") from None
    return ModelCard.parse(text, str(file))


def find_model(path: Path) -> Path:
    """The folder of a model given by its folder, by a file in it, or by the run that trained it.

    A run stands for its final model: the best one was chosen by the score it would be judged by.
    """
    if path.name in {WEIGHTS, CARD} and path.is_file():
        return path.parent
    for folder in (path, *(path / name for name in _OF_A_RUN)):
        if (folder / CARD).is_file() and (folder / WEIGHTS).is_file():
            return folder
    what = "there is nothing" if not path.exists() else "this is no model"
    raise CheckpointError(
        f"'{path}': {what}. A model is a folder with {WEIGHTS} and {CARD}, or the folder of a run "
        "that holds one; models of other programs (.zip, .pt) are not read: that could run code"
    )
