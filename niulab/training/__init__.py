"""How agents learn: strict configs, run folders, exact resume; the loop itself is SB3's."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from niulab.training.config import TrainConfig, parse_train, read_train
    from niulab.training.run import RunResult, train

__all__ = ["RunResult", "TrainConfig", "parse_train", "read_train", "train"]

_ROOMS = {
    "RunResult": "run",
    "TrainConfig": "config",
    "parse_train": "config",
    "read_train": "config",
    "train": "run",
}


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:  # reading a config must not wait for torch
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f"{__name__}.{_ROOMS[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
