"""The ids Gymnasium knows us by; importing this room makes nothing but the entries."""

from __future__ import annotations

import gymnasium
from gymnasium.envs.registration import WrapperSpec

__all__ = ["ENV_IDS", "register_environments"]

ENV_IDS = (
    "niulab/NiuNiu-v0",
    "niulab/Arrange-v0",
    "niulab/ArrangeHK-v0",
    "niulab/Table-v0",
    "niulab/Session-v0",
    "niulab/SessionStake-v0",
    "niulab/Peek-v0",
    "niulab/Loophole-v0",
    "niulab/Shoe-v0",
)
"""Every id, the flagship first."""


class _OfSingles(tuple[WrapperSpec, ...]):
    """Wrappers that single environments wear and the native batch does without.

    ``make_vec`` refuses a native batch whose spec has wrappers, and asks for their number. The
    batch names its truncations by itself, so the answer is none; ``make`` wears those it finds.
    """

    __slots__ = ()

    def __len__(self) -> int:
        return 0


_WRAPPERS = _OfSingles(
    [WrapperSpec("NamedTruncation", "niulab.envs.single:NamedTruncation", kwargs={})]
)


def register_environments() -> None:
    """Register every id that is not registered yet."""
    for env_id in ENV_IDS:
        if env_id not in gymnasium.registry:
            gymnasium.register(
                id=env_id,
                entry_point="niulab.envs.single:NiuNiuEnv",
                vector_entry_point="niulab.envs.vector:NiuNiuVectorEnv",
                additional_wrappers=_WRAPPERS,
                kwargs={"preset": env_id},
            )
