"""References for batches: single environments under hand-written autoreset rules, row by row."""

from __future__ import annotations

import numpy as np
from gymnasium import spaces

from niulab.envs.single import NiuNiuEnv


def moves(space, indices):
    """Indices 0 ... 9 as actions of a space: themselves, or vectors where stakes are continuous."""
    if isinstance(space, spaces.Discrete):
        return indices
    steps = np.asarray(indices)[..., None] * np.array([3, 5, 7, 9])[: space.shape[0]]
    return (steps % 11 / 5 - 1).astype(np.float32)


def row_of(infos, row):
    """One row's info as a single environment gives it."""
    return {
        key: row_of(value, row) if isinstance(value, dict) else value[row]
        for key, value in infos.items()
        if not key.startswith("_") and infos[f"_{key}"][row]
    }


def assert_same(ours, theirs, path=""):
    """Equal in value, through dicts and tuples; arrays in dtype too."""
    if isinstance(theirs, dict):
        assert set(ours) == set(theirs), path
        for key in theirs:
            assert_same(ours[key], theirs[key], f"{path}.{key}")
    elif isinstance(theirs, tuple):
        for place, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            assert_same(one, other, f"{path}.{place}")
    elif isinstance(theirs, np.ndarray):
        assert ours.dtype == theirs.dtype, path
        assert np.array_equal(ours, theirs), path
    else:
        assert ours == theirs, path


class RowReference:
    """One row of a batch; ``step`` returns what the batch must say of it.

    That is the observation, reward, flags and info, then the final observation and info or None.
    """

    def __init__(self, seed, *, limit=None, **task):
        self.env = NiuNiuEnv(**task)
        self.limit = limit
        self.first = self.env.reset(seed=seed)
        self.n_steps = 0
        self.has_ended = False

    def reset(self):
        self.n_steps = 0
        self.has_ended = False
        return self.env.reset()

    def play(self, action):
        seen, reward, terminated, truncated, info = self.env.step(action)
        self.n_steps += 1
        if self.limit is not None and self.n_steps >= self.limit:
            truncated = True
            info.setdefault("end", "max_episode_steps")
        self.has_ended = terminated or truncated
        return seen, reward, terminated, truncated, info


class SameStepRow(RowReference):
    """The next episode begins in the step that ended one."""

    def step(self, action):
        seen, reward, terminated, truncated, info = self.play(action)
        if not self.has_ended:
            return seen, reward, terminated, truncated, info, None
        return *self._begun(reward, terminated, truncated), (seen, info)

    def _begun(self, reward, terminated, truncated):
        seen, info = self.reset()
        return seen, reward, terminated, truncated, info


class NextStepRow(RowReference):
    """The next episode begins in a step of its own, whose action is not looked at."""

    def step(self, action):
        if self.has_ended:
            seen, info = self.reset()
            return seen, 0.0, False, False, info, None
        return *self.play(action), None


class DisabledRow(RowReference):
    """Nothing begins by itself."""

    def step(self, action):
        return *self.play(action), None


ROWS = {"SameStep": SameStepRow, "NextStep": NextStepRow, "Disabled": DisabledRow}
