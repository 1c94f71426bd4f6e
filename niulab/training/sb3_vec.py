"""Our batched environments as Stable-Baselines3 takes them: a ``VecEnv`` with a state.

SB3 knows single environments in a row and its own batches, not Gymnasium's ``VectorEnv``; this is
the adapter between the two. It reports finished episodes itself, so ``rollout/ep_rew_mean`` needs
no Monitor, and gives its whole state, streams and open episodes included, as JSON can hold it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast, overload

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray
from stable_baselines3.common.vec_env import VecEnv
from stable_baselines3.common.vec_env.base_vec_env import VecEnvIndices, VecEnvStepReturn

from niulab.envs.settings import EnvSettings
from niulab.envs.vector import NiuNiuVectorEnv
from niulab.errors import ConfigError

__all__ = ["Episodes", "RowInfos", "Sb3Vec", "make_sb3_vec"]


def make_sb3_vec(n_envs: int, settings: EnvSettings) -> Sb3Vec:
    """``n_envs`` rows of a task."""
    return Sb3Vec(NiuNiuVectorEnv(n_envs, settings))


@dataclass(frozen=True, eq=False)
class Episodes:
    """Episodes that ended in one step; each array has an entry for every row of the batch.

    has_ended: bool (n,). returns: float64 (n,). lengths: int64 (n,). is_cut: bool (n,), whether the
    step limit alone ended it. final_obs: as the batch gives them. seconds: since training began.
    """

    has_ended: NDArray[np.bool_]
    returns: NDArray[np.float64]
    lengths: NDArray[np.int64]
    is_cut: NDArray[np.bool_]
    final_obs: Any
    seconds: float

    @cached_property
    def _columns(self) -> tuple[list[Any], ...]:
        columns = (self.has_ended, self.returns, self.lengths, self.is_cut)
        return tuple(column.tolist() for column in columns)

    def infos(self, rows: Iterable[int]) -> Iterator[dict[str, Any]]:
        """What SB3 reads of some rows: empty dicts where the episode goes on."""
        has_ended, returns, lengths, is_cut = self._columns
        final, seconds = self.final_obs, self.seconds
        for row in rows:
            if not has_ended[row]:
                yield {}
                continue
            yield {
                "episode": {"r": returns[row], "l": lengths[row], "t": seconds},
                "terminal_observation": {key: part[row] for key, part in final.items()}
                if isinstance(final, dict)
                else final[row],
                "TimeLimit.truncated": is_cut[row],
            }


class RowInfos(Sequence[dict[str, Any]]):
    """The infos of one step, a dict per row, each made when it is first asked for and then kept."""

    def __init__(self, n: int, episodes: Episodes | None = None) -> None:
        self._episodes = episodes
        self._rows: list[Any] = [None] * n  # None: not made yet

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, index: slice) -> list[dict[str, Any]]: ...

    def __getitem__(self, index: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        if isinstance(index, slice):
            return [self[row] for row in range(*index.indices(len(self)))]
        if self._rows[index] is None:
            self._make([index])
        info: dict[str, Any] = self._rows[index]
        return info

    def __iter__(self) -> Iterator[dict[str, Any]]:
        self._make([row for row, info in enumerate(self._rows) if info is None])
        return iter(self._rows)

    def _make(self, rows: list[int]) -> None:
        infos = ({} for _ in rows) if self._episodes is None else self._episodes.infos(rows)
        for row, info in zip(rows, infos, strict=True):
            self._rows[row] = info


class Sb3Vec(VecEnv):
    """A batch in SB3's words; the batch itself is ``env``.

    Infos are kept cheap: a row that ended has ``episode``, ``terminal_observation`` and
    ``TimeLimit.truncated``, any other has none, and a dict is made only if someone reads it. All
    rows' settlements are arrays in ``last_infos``, as the batch gave them. Of methods, rows have
    ``action_masks`` only.
    """

    def __init__(self, env: NiuNiuVectorEnv) -> None:
        if env.metadata["autoreset_mode"] is not AutoresetMode.SAME_STEP:
            raise ConfigError("SB3 resets rows in the step that ends them: make the batch SameStep")
        if not env.copy:
            raise ConfigError(
                "SB3 reads observations after the next step: make the batch copy=True"
            )
        self.env = env
        self.last_infos: dict[str, Any] = {}
        self._actions: NDArray[Any] = np.empty(0)
        self._returns = np.zeros(env.num_envs)
        self._lengths = np.zeros(env.num_envs, dtype=np.int64)
        self._began = time.perf_counter()
        super().__init__(env.num_envs, env.single_observation_space, env.single_action_space)

    def reset(self) -> NDArray[Any]:
        """Open every row's next episode, or the first of the seeds given before."""
        is_seeded = any(seed is not None for seed in self._seeds)
        observations, self.last_infos = self.env.reset(seed=self._seeds if is_seeded else None)
        self._reset_seeds()
        self._returns[:] = 0
        self._lengths[:] = 0
        result: NDArray[Any] = observations
        return result

    def step_async(self, actions: NDArray[Any]) -> None:
        self._actions = actions

    def step_wait(self) -> VecEnvStepReturn:
        observations, rewards, terminated, truncated, infos = self.env.step(self._actions)
        self.last_infos = infos
        self._returns += rewards
        self._lengths += 1
        dones = terminated | truncated
        episodes = None
        if dones.any():
            episodes = Episodes(
                has_ended=dones.copy(),
                returns=self._returns,
                lengths=self._lengths,
                is_cut=truncated & ~terminated,
                final_obs=infos["final_obs"],
                seconds=round(time.perf_counter() - self._began, 6),
            )
            self._returns = np.where(dones, 0.0, self._returns)  # the infos keep the old arrays
            self._lengths = np.where(dones, 0, self._lengths)
        rows = cast("list[dict[str, Any]]", RowInfos(self.num_envs, episodes))
        return observations, rewards.astype(np.float32), dones, rows

    def action_masks(self) -> NDArray[np.bool_]:
        """Legal actions of all rows, bool (n, n_actions)."""
        return self.env.action_masks()

    def get_state(self) -> dict[str, Any]:
        """All that fixes the future, and the episodes under way, as JSON can hold it."""
        return {
            "env": self.env.get_state(),
            "returns": self._returns.tolist(),
            "lengths": self._lengths.tolist(),
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Go on from a state of ``get_state``."""
        self.env.set_state(state["env"])
        self._returns[:] = state["returns"]
        self._lengths[:] = state["lengths"]

    # ------------------------------------------------------------ SB3's words for rows

    def get_attr(self, attr_name: str, indices: VecEnvIndices = None) -> list[Any]:
        """The batch's attribute, once for each row asked about."""
        value = getattr(self.env, attr_name)
        return [value for _ in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: VecEnvIndices = None) -> None:
        """Set an attribute of the batch, which is that of all rows."""
        if {*self._get_indices(indices)} != {*range(self.num_envs)}:
            raise ValueError(
                f"rows of a batch share the attribute '{attr_name}': set it for all of them "
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
        """``action_masks`` of the rows asked about; all masks are made at once."""
        if method_name != "action_masks":
            raise AttributeError(
                f"rows of a batch have no method '{method_name}', only action_masks: ask the batch "
                "itself (.env)"
            )
        masks = list(self.action_masks())
        return masks if indices is None else [masks[row] for row in self._get_indices(indices)]

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
