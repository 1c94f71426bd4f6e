"""Gymnasium's words around a round: ``gymnasium.make("niulab.envs:niulab/Arrange-v0")``.

The classes are imported when they are first asked for, so that ``import niulab`` stays light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from niulab.envs.registration import ENV_IDS

if TYPE_CHECKING:
    from niulab.envs.checker import check_environment
    from niulab.envs.settings import EnvSettings, make_settings
    from niulab.envs.single import NiuNiuEnv
    from niulab.envs.vector import NiuNiuVectorEnv

__all__ = [
    "ENV_IDS",
    "EnvSettings",
    "NiuNiuEnv",
    "NiuNiuVectorEnv",
    "check_environment",
    "make_settings",
]

_ROOMS = {
    "EnvSettings": "settings",
    "NiuNiuEnv": "single",
    "NiuNiuVectorEnv": "vector",
    "check_environment": "checker",
    "make_settings": "settings",
}


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    return getattr(import_module(f"{__name__}.{_ROOMS[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
