"""The ids Gymnasium knows us by; importing this room makes nothing but the entries."""

from __future__ import annotations

import gymnasium
from gymnasium.envs.registration import WrapperSpec

__all__ = ["ENV_IDS", "register_environments"]

ENV_IDS = ("niulab/NiuNiu-v0", "niulab/Arrange-v0", "niulab/Table-v0", "niulab/Session-v0")
"""Every id, the flagship first."""

_TRUNCATION = WrapperSpec("NamedTruncation", "niulab.envs.single:NamedTruncation", {})
_NATIVE_BATCHES = {"niulab/Arrange-v0": "niulab.envs.batch:ArrangeVectorEnv"}


def register_environments() -> None:
    """Register every id that is not registered yet."""
    for env_id in ENV_IDS:
        if env_id not in gymnasium.registry:
            batch = _NATIVE_BATCHES.get(env_id)
            gymnasium.register(
                id=env_id,
                entry_point="niulab.envs.single:NiuNiuEnv",
                vector_entry_point=batch,
                # make_vec refuses wrappers around a native batch, whose rounds have one step anyway
                additional_wrappers=() if batch else (_TRUNCATION,),
                kwargs={"preset": env_id},
            )
