"""Environments as Stable-Baselines3 takes them: a ``VecEnv`` with episode statistics and a state.

``make_sb3_vec`` puts the Arrange task on the native batch and every other task on single
environments in a row. Both report finished episodes themselves, so ``rollout/ep_rew_mean`` needs no
Monitor, and both give their whole state, streams included, as JSON can hold it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import gymnasium
import numpy as np
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv, VecEnvWrapper
from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices, VecEnvStepReturn

from niulab.envs.batch import ArrangeVectorEnv
from niulab.envs.settings import EnvSettings
from niulab.envs.single import NiuNiuEnv

__all__ = ["ArrangeSb3Vec", "EpisodeStatistics", "StatefulVec", "is_native", "make_sb3_vec"]


class StatefulVec(Protocol):
    """What checkpoints ask of a training environment beside SB3's own words."""

    def get_state(self) -> dict[str, Any]: ...

    def set_state(self, state: Mapping[str, Any]) -> None: ...


def is_native(settings: EnvSettings) -> bool:
    """Whether a task runs on the native batch: one round of setting hands."""
    is_one_round = settings.n_rounds == 1 and settings.bankroll_cents is None
    return settings.decisions == "set" and is_one_round and settings.mask == "info"


def make_sb3_vec(n_envs: int, settings: EnvSettings) -> ArrangeSb3Vec | EpisodeStatistics:
    """``n_envs`` rows of a task as a VecEnv with ``get_state`` and ``set_state``."""
    if is_native(settings):
        return ArrangeSb3Vec(ArrangeVectorEnv(n_envs, settings))

    def make() -> NiuNiuEnv:
        return NiuNiuEnv(settings)

    return EpisodeStatistics(DummyVecEnv([make] * n_envs))


class ArrangeSb3Vec(VecEnv):
    """The native Arrange batch in SB3's words.

    Every step ends every row. A row's info holds ``episode``, ``terminal_observation`` and
    ``TimeLimit.truncated`` and no more; the settlements of all rows are arrays in ``last_infos``,
    as the batch gave them. Of methods, rows have ``action_masks`` only.
    """

    def __init__(self, env: ArrangeVectorEnv) -> None:
        self.env = env
        self.last_infos: dict[str, Any] = {}
        self._actions: NDArray[Any] = np.zeros(env.num_envs, dtype=np.int64)
        self._began = time.perf_counter()
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)

    def reset(self) -> NDArray[Any]:
        """Deal every row its next round, or the first of the seeds given before."""
        is_seeded = any(seed is not None for seed in self._seeds)
        observations, self.last_infos = self.env.reset(seed=self._seeds if is_seeded else None)
        self._reset_seeds()
        return observations

    def step_async(self, actions: NDArray[Any]) -> None:
        self._actions = actions

    def step_wait(self) -> VecEnvStepReturn:
        observations, rewards, terminated, truncated, infos = self.env.step(self._actions)
        self.last_infos = infos
        rewards = rewards.astype(np.float32)
        seconds = round(time.perf_counter() - self._began, 6)
        cut = (truncated & ~terminated).tolist()
        rows = [
            {
                "episode": {"r": reward, "l": 1, "t": seconds},
                "terminal_observation": final,
                "TimeLimit.truncated": is_cut,
            }
            for reward, final, is_cut in zip(rewards.tolist(), infos["final_obs"], cut, strict=True)
        ]
        return observations, rewards, terminated | truncated, rows

    def action_masks(self) -> NDArray[np.bool_]:
        """Legal actions of all rows, bool (n, 10)."""
        return self.env.action_masks()

    def get_state(self) -> dict[str, Any]:
        return self.env.get_state()

    def set_state(self, state: Mapping[str, Any]) -> None:
        self.env.set_state(state)

    # ------------------------------------------------------------ SB3's words for rows

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """The batch's attribute, once for each row asked about."""
        value = getattr(self.env, attr_name)
        return [value for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Set an attribute of the batch, which is that of all rows."""
        if {*self._get_indices(indices)} != {*range(self.num_envs)}:
            raise ValueError(
                f"rows of a native batch share the attribute '{attr_name}': set it for all of them "
                "(indices=None)"
            )
        setattr(self.env, attr_name, value)

    def env_method(
        self,
        method_name: str,
        *method_args: Any,
        indices: VecEnvIndices = None,
        **method_kwargs: Any,
    ) -> list[Any]:
        if method_name != "action_masks":
            raise AttributeError(
                f"rows of a native batch have no method '{method_name}', only action_masks: ask "
                "the batch itself (.env)"
            )
        masks = self.action_masks()
        return [masks[row] for row in self._get_indices(indices)]

    def env_is_wrapped(
        self,
        wrapper_class: type[gymnasium.Wrapper[Any, Any, Any, Any]],
        indices: VecEnvIndices = None,
    ) -> list[bool]:
        return [False for _ in self._get_indices(indices)]

    def get_images(self) -> Sequence[NDArray[Any] | None]:
        return [None] * self.num_envs

    def close(self) -> None:
        self.env.close()


class EpisodeStatistics(VecEnvWrapper):
    """Single environments in a row, with return and length of each episode in its last info.

    Unlike Monitor, episodes under way are part of the state.
    """

    def __init__(self, venv: DummyVecEnv) -> None:
        super().__init__(venv)
        self._returns = np.zeros(venv.num_envs)
        self._lengths = np.zeros(venv.num_envs, dtype=np.int64)
        self._began = time.perf_counter()

    def reset(self) -> Any:
        self._returns[:] = 0
        self._lengths[:] = 0
        return self.venv.reset()

    def step_wait(self) -> VecEnvStepReturn:
        observations, rewards, dones, infos = self.venv.step_wait()
        self._returns += rewards
        self._lengths += 1
        for row in np.flatnonzero(dones).tolist():
            infos[row]["episode"] = {
                "r": float(self._returns[row]),
                "l": int(self._lengths[row]),
                "t": round(time.perf_counter() - self._began, 6),
            }
        self._returns[dones] = 0
        self._lengths[dones] = 0
        return observations, rewards, dones, infos

    def get_state(self) -> dict[str, Any]:
        return {
            "rows": self.venv.env_method("get_state"),
            "returns": self._returns.tolist(),
            "lengths": self._lengths.tolist(),
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        for row, of_row in enumerate(state["rows"]):
            self.venv.env_method("set_state", of_row, indices=row)
        self._returns[:] = state["returns"]
        self._lengths[:] = state["lengths"]
