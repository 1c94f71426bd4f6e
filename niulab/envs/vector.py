"""Many environments at once: a real ``gymnasium.vector.VectorEnv`` for every id.

Row i seeded with s plays bit for bit what the single environment seeded with s + i plays. The
three autoreset modes are Gymnasium's, and so is the layout of the infos (docs/environments/vector).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium import spaces
from gymnasium.error import InvalidAction, ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from niulab.envs.encoding import Encoding
from niulab.envs.rows.infos import make_infos, put, standing_of
from niulab.envs.rows.observing import Observer
from niulab.envs.rows.options import read_actions, read_options, read_seeds, row_seeds
from niulab.envs.rows.round_infos import RoundInfos
from niulab.envs.rows.table import LIMIT, Moves, Rows, Table, some_rows
from niulab.envs.seat.core import verify_shoe_deals
from niulab.envs.settings import EnvSettings, make_settings
from niulab.envs.stakes.mapping import StakeMap, read_vectors
from niulab.envs.stakes.space import action_space
from niulab.envs.watch import restore, state_of, watch_of
from niulab.errors import ConfigError, nearest
from niulab.seeding import entropy_seed

__all__ = ["NiuNiuVectorEnv"]

_STATE_VERSION = 1
_ALL = slice(None)


class NiuNiuVectorEnv(VectorEnv[Any, NDArray[Any], NDArray[Any]]):
    """``num_envs`` rows of one task; keywords are those of the single environment.

    autoreset_mode: a mode or its name ("SameStep", "NextStep", "Disabled"). max_episode_steps
    truncates, as Gymnasium's limit does in single environments. With ``copy=False`` observations,
    final observations and masks are written over by the next call. Rewards are float64.
    """

    metadata = {"render_modes": [], "autoreset_mode": AutoresetMode.SAME_STEP}  # noqa: RUF012

    def __init__(
        self,
        num_envs: int = 1,
        preset: str | EnvSettings = "niulab/NiuNiu-v0",
        *,
        autoreset_mode: str | AutoresetMode = AutoresetMode.SAME_STEP,
        max_episode_steps: int | None = None,
        render_mode: str | None = None,
        copy: bool = True,
        **keywords: Any,
    ) -> None:
        mode = _read_mode(autoreset_mode)
        self.settings = make_settings(preset, **keywords)
        _verify(num_envs, max_episode_steps, render_mode)
        self.num_envs = num_envs
        self.autoreset_mode = mode
        self.max_episode_steps = max_episode_steps
        self.copy = copy
        self.metadata = {**type(self).metadata, "autoreset_mode": mode}
        self.encoding = Encoding(self.settings)
        n_actions = self.settings.n_actions
        self.single_action_space = action_space(self.settings)
        is_continuous = self.settings.stakes == "continuous"
        self._stakes = StakeMap(self.settings) if is_continuous else None
        self.single_observation_space: spaces.Space[Any] = self.encoding.space
        if self.settings.mask == "observation":
            self.single_observation_space = spaces.Dict(
                {"observation": self.encoding.space, "action_mask": spaces.MultiBinary(n_actions)}
            )
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._table = Table(self.settings, num_envs)
        self._is_done = np.zeros(num_envs, dtype=np.bool_)
        self._is_reset = False
        self._observer = Observer(self.encoding, num_envs, copy=copy)
        self._round_infos = RoundInfos(num_envs, n_actions, self._table.boxes)
        self._has_short_episodes = (
            self.settings.decisions == "set"
            and self.settings.n_rounds == 1
            and self.settings.bankroll_cents is None
            and max_episode_steps is None
            and mode is AutoresetMode.SAME_STEP
        )
        self._is_uniform = False

    # ------------------------------------------------------------ Gymnasium's words

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Open every row's next episode, or round 0 of new seeds: ``seed + i``, or a list of them.

        Options: ``reset_mask``, a bool array, resets only the rows it marks. ``deal``, two hands,
        or ``deals``, two hands or None per row, are dealt in the first round of that row's
        episodes, after automatic resets too, until it is reset from outside again.
        """
        n, table = self.num_envs, self._table
        seeds, is_seeded = read_seeds(seed, n)
        rows, forced, is_forced = read_options(options, n, self.settings.rules)
        verify_shoe_deals(self.settings, is_forced=bool(is_forced.any()))
        super().reset(seed=int(seeds[0]) if is_seeded[0] else None)
        if not self._is_reset:
            self._is_reset = True
            table.seeds[:] = row_seeds(entropy_seed(), n)
            table.rounds[:] = -1
            rows[:] = True
        table.seeds[is_seeded & rows] = seeds[is_seeded & rows]
        table.rounds[rows] += 1
        table.rounds[is_seeded & rows] = 0
        table.is_forced[rows] = is_forced[rows]
        if forced is not None:
            table.forced[is_forced] = forced[is_forced]
        self._is_done[rows] = False
        marked = some_rows(rows)
        table.start(_ALL if marked is None else marked)
        table.refresh_masks()
        self._is_uniform = self._has_short_episodes and table.is_uniform()
        standing = standing_of(table, copy=self.copy)
        return self._observe(), make_infos(standing, standing_rows=None if rows.all() else rows)

    def step(
        self, actions: Any
    ) -> tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Play one action in every row; rows that ended before are reset in mode "NextStep"."""
        table = self._table
        chosen, illegal = self._read_actions(actions)
        if self._is_uniform:
            return self._step_whole_episodes(chosen)
        waiting = some_rows(self._is_done)
        moves = table.step(chosen, _ALL if waiting is None else np.flatnonzero(~self._is_done))
        moves.illegal = illegal
        terminated = moves.ends > 0
        truncated = np.zeros(self.num_envs, dtype=np.bool_)
        if self.max_episode_steps is not None:
            truncated = (table.n_steps >= self.max_episode_steps) & ~self._is_done
            moves.ends[truncated & ~terminated] = LIMIT
        if waiting is not None:
            self._open_next(waiting)
        table.refresh_masks()
        has_ended = terminated | truncated
        ended = some_rows(has_ended)
        if ended is not None and self.autoreset_mode is AutoresetMode.SAME_STEP:
            infos = self._reset_in_step(ended, has_ended, moves)
        else:
            infos = make_infos(standing_of(table, copy=self.copy), moves)
            self._is_done = has_ended
        return self._observe(), moves.rewards, terminated, truncated, infos

    def action_masks(self) -> NDArray[np.bool_]:
        """Legal actions, bool (n, n_actions), under the name sb3-contrib asks for.

        Under continuous stakes: the slips of the menu that each row's chips cover.
        """
        if self._stakes is not None:
            return self._table.covered()
        return self._table.masks.copy() if self.copy else self._table.masks

    def teach_detector(self, policy: NDArray[np.floating] | None) -> None:
        """Tell the task's ideal detector the player's law (``watch.Watch.learn``)."""
        watch_of(self.settings, self._table.watch).learn(policy)

    # ------------------------------------------------------------ state

    def get_state(self) -> dict[str, Any]:
        """All that fixes the future, streams included, as JSON can hold it."""
        if not self._is_reset:
            raise ResetNeeded("there is no state before the first reset(): call it first")
        return {
            "version": _STATE_VERSION,
            "rules_hash": self.settings.rules_hash,
            "autoreset_mode": self.autoreset_mode.value,
            "rows": self._table.to_json(),
            "is_done": self._is_done.tolist(),
            "np_random": self.np_random.bit_generator.state,
            **state_of(self._table.watch),
        }

    def set_state(self, state: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Go on from a state of ``get_state``; returns the observations and infos there."""
        known = (_STATE_VERSION, self.settings.rules_hash, self.autoreset_mode.value)
        given = tuple(state.get(key) for key in ("version", "rules_hash", "autoreset_mode"))
        if given != known:
            raise ConfigError(
                "this state belongs to another batch: it has version, rules_hash and "
                f"autoreset_mode {given}, the batch {known}"
            )
        if len(state["is_done"]) != self.num_envs:
            raise ConfigError(
                f"this state has {len(state['is_done'])} rows, the batch has {self.num_envs}"
            )
        self._table.from_json(state["rows"])
        restore(self._table.watch, state)
        self._table.refresh_masks()
        self._is_done = np.array(state["is_done"], dtype=np.bool_)
        self._is_reset = True
        self._is_uniform = self._has_short_episodes and self._table.is_uniform()
        self.np_random.bit_generator.state = state["np_random"]
        return self._observe(), make_infos(standing_of(self._table, copy=self.copy))

    # ------------------------------------------------------------ one step's parts

    def _read_actions(self, actions: Any) -> tuple[NDArray[np.int64], NDArray[np.bool_] | None]:
        """Actions to play, and which of them stand for masked ones."""
        if not self._is_reset:
            raise ResetNeeded("step() before the first reset(): call reset() first")
        is_waiting = bool(np.count_nonzero(self._is_done))
        if is_waiting and self.autoreset_mode is AutoresetMode.DISABLED:
            raise ResetNeeded(
                f"rows {np.flatnonzero(self._is_done)[:10].tolist()} have ended and nothing resets "
                "them in mode Disabled: call reset(options={'reset_mask': terminated | truncated})"
            )
        if self._stakes is not None:
            return self._read_stakes(actions, self._stakes), None
        chosen, masked = read_actions(
            actions,
            n_actions=self.settings.n_actions,
            masks=self._table.allowed,
            is_free=self._table.is_free,
            ignored=self._is_done if is_waiting else None,
        )
        if not len(masked):
            return chosen, None
        if self.settings.illegal == "raise":
            row = int(masked[0])
            legal = np.flatnonzero(self._table.allowed[row]).tolist()
            raise InvalidAction(
                f"action {chosen[row]} of row {row} is illegal here: choose among {legal}"
            )
        chosen[masked] = 0
        is_illegal = np.zeros(self.num_envs, dtype=np.bool_)
        is_illegal[masked] = True
        return chosen, is_illegal

    def _read_stakes(self, actions: Any, stakes: StakeMap) -> NDArray[np.int64]:
        """Slips to play; what rows that wait for their reset were given may be any numbers."""
        given = np.asarray(actions)
        if self._is_done.any() and given.shape[:1] == (self.num_envs,):
            given = given.copy()
            given[self._is_done] = 0
        vectors = read_vectors(given, (self.num_envs, stakes.n_boxes))
        return stakes.slips(vectors, self._table.bankrolls)

    def _open_next(self, rows: Rows) -> None:
        self._table.rounds[rows] += 1
        self._table.start(rows)

    def _reset_in_step(
        self, ended: Rows, has_ended: NDArray[np.bool_], moves: Moves
    ) -> dict[str, Any]:
        """Keep the last observations and infos of rows that ended, and open their next episodes."""
        are_all = isinstance(ended, slice)
        final_obs = self._observe(is_final=True)
        marked = None if are_all else has_ended
        final_info = make_infos(
            standing_of(self._table), moves, standing_rows=marked, moved_rows=marked
        )
        self._open_next(ended)
        self._table.refresh_masks()
        standing = standing_of(self._table, copy=self.copy)
        infos = make_infos(standing, None if are_all else moves, moved_rows=~has_ended)
        put(infos, "final_obs", final_obs, has_ended)
        put(infos, "final_info", final_info, has_ended)
        return infos

    def _step_whole_episodes(
        self, actions: NDArray[np.int64]
    ) -> tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """A step in which every row's episode of one round ends and the next begins.

        It gives what the general way gives, from a fraction of the arrays.
        """
        table, parts = self._table, self._round_infos.take()
        rewards = table.settle_all(actions, parts.results)
        final_obs = self._observe(is_final=True)
        dealers = table.deal_all()
        infos = self._round_infos.infos(parts, dealers, final_obs)
        if not self.copy:
            infos["action_mask"] = table.masks.view(np.int8)
        terminated = np.ones(self.num_envs, dtype=np.bool_)
        return self._observe(), rewards, terminated, np.zeros_like(terminated), infos

    def _observe(self, *, is_final: bool = False) -> Any:
        observations = self._observer.observe(self._table.sight(), is_final=is_final)
        if self.settings.mask != "observation":
            return observations
        masks = self._table.masks.view(np.int8)
        return {
            "observation": observations,
            "action_mask": masks.copy() if self.copy or is_final else masks,
        }


def _read_mode(mode: str | AutoresetMode) -> AutoresetMode:
    names = [known.value for known in AutoresetMode]
    try:
        return AutoresetMode(mode)
    except ValueError:
        hint = nearest(mode, names) if isinstance(mode, str) else ""
        raise ConfigError(
            f"autoreset_mode is one of {', '.join(names)}, got {mode!r}{hint}"
        ) from None


def _verify(num_envs: Any, max_episode_steps: Any, render_mode: str | None) -> None:
    if type(num_envs) is not int or num_envs < 1:
        raise ConfigError(f"num_envs is a whole number of at least 1, got {num_envs!r}")
    if max_episode_steps is not None and (
        type(max_episode_steps) is not int or max_episode_steps < 1
    ):
        raise ConfigError(
            f"max_episode_steps is a whole number of at least 1, or None, got {max_episode_steps!r}"
        )
    if render_mode is not None:
        raise ConfigError(
            f"the native batch does not render, got render_mode={render_mode!r}: use "
            "gymnasium.make_vec(..., vectorization_mode='sync')"
        )
