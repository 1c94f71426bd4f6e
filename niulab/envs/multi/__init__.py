"""Several seats at one table, in PettingZoo's words: ``parallel_env("niulab/NiuNiu-v0")``.

PettingZoo is an extra (``pip install 'niulab[multi]'``) and is imported when a table is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from niulab.envs.settings import EnvSettings
from niulab.errors import MissingExtraError

if TYPE_CHECKING:
    from niulab.envs.multi.parallel import NiuNiuParallelEnv

__all__ = ["parallel_env"]


def parallel_env(
    preset: str | EnvSettings = "niulab/NiuNiu-v0",
    *,
    n_seats: int = 3,
    max_cycles: int | None = None,
    render_mode: str | None = None,
    **keywords: Any,
) -> NiuNiuParallelEnv:
    """A PettingZoo ``ParallelEnv`` of ``n_seats`` seats and one dealer.

    ``preset`` and ``keywords`` are those of the single environment, the same for every seat;
    ``max_cycles`` steps truncate an episode. Raises ConfigError for settings that no table of
    several seats can have, MissingExtraError without PettingZoo.
    """
    try:
        from niulab.envs.multi.parallel import NiuNiuParallelEnv
    except ModuleNotFoundError as error:
        if str(error.name).partition(".")[0] != "pettingzoo":
            raise
        raise MissingExtraError(
            "several seats need PettingZoo, which is not installed: pip install 'niulab[multi]'"
        ) from None
    return NiuNiuParallelEnv(
        preset, n_seats=n_seats, max_cycles=max_cycles, render_mode=render_mode, **keywords
    )
