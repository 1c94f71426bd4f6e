"""Checks of an environment against this package's promises, for tests and for users' variants.

They ask what Gymnasium's and SB3's checkers do not: exact types, masks, ends, streams that continue
and never repeat, and saved states with equal futures.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

__all__ = ["check_environment"]

_FAR_SEED = 1_000_003


def check_environment(env: gymnasium.Env[Any, Any], *, seed: int = 0, n_steps: int = 100) -> None:
    """Raise AssertionError with the first broken promise; the environment is reset and stepped.

    ``env`` is a ``NiuNiuEnv``, bare or in Gymnasium's wrappers.
    """
    for check in (_check_types, _check_masks, _check_streams, _check_state):
        check(env, seed, n_steps)


def _promise(holds: object, text: str) -> None:
    if not holds:
        raise AssertionError(text)


def _walk(
    env: gymnasium.Env[Any, Any],
    n_steps: int,
    look: Callable[[tuple[Any, ...]], None] | None = None,
) -> list[tuple[Any, ...]]:
    """Play random legal actions from where ``env`` is, resetting without a seed at ends."""
    steps: list[tuple[Any, ...]] = []
    for _ in range(n_steps):
        mask = None
        if isinstance(env.action_space, spaces.Discrete):
            mask = env.get_wrapper_attr("action_masks")().astype(np.int8)
        action = env.action_space.sample(mask=mask)
        step = (action, *env.step(action))
        steps.append(step)
        if look is not None:
            look(step)
        if step[3] or step[4]:
            steps.append(env.reset())
    return steps


def _replay(env: gymnasium.Env[Any, Any], seed: int, n_steps: int) -> list[tuple[Any, ...]]:
    env.action_space.seed(0)  # one tape for all seeds
    return [env.reset(seed=seed), *_walk(env, n_steps)]


def _is_same(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_is_same(one[k], other[k]) for k in one)
    if isinstance(one, list | tuple):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(_is_same(a, b) for a, b in pairs)
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    return type(one) is type(other) and bool(one == other)


def _check_types(env: gymnasium.Env[Any, Any], seed: int, n_steps: int) -> None:
    def look(step: tuple[Any, ...]) -> None:
        _, observation, reward, terminated, truncated, info = step
        _promise(observation in env.observation_space, f"{observation!r} is not in the space")
        _promise(type(reward) is float, f"a reward is a float, got {type(reward).__name__}")
        _promise(type(terminated) is bool, f"terminated is a bool, got {terminated!r}")
        _promise(type(truncated) is bool, f"truncated is a bool, got {truncated!r}")
        _promise("end" in info or not terminated, "info names the 'end' of an episode")
        _promise("end" not in info or terminated or truncated, "info has no 'end' before it")
        for key in ("bankroll_cents", "last_net_cents", "rounds_left"):
            _promise(isinstance(info[key], np.int64), f"info['{key}'] is int64, got {info[key]!r}")

    env.action_space.seed(seed)
    env.reset(seed=seed)
    _walk(env, n_steps, look)


def _check_masks(env: gymnasium.Env[Any, Any], seed: int, n_steps: int) -> None:
    if isinstance(env.action_space, spaces.Box):
        _check_stakes(env, seed, n_steps)
        return
    space: Any = env.action_space
    n_actions = int(space.n)

    def look(step: tuple[Any, ...]) -> None:
        mask: NDArray[Any] = step[5]["action_mask"]
        _promise(mask.dtype == np.int8, f"a mask in info is int8, got {mask.dtype}")
        _promise(mask.shape == (n_actions,), f"a mask has one entry per action: {mask.shape}")
        _promise(mask.any(), "a mask leaves at least one action")
        _promise(mask.all() or not step[3], "a terminal mask is all ones")
        bools = env.get_wrapper_attr("action_masks")()
        _promise(bools.dtype == np.bool_, f"action_masks() is bool, got {bools.dtype}")
        _promise((bools == mask).all(), "action_masks() equals info['action_mask']")
        _promise("illegal_action" not in step[5], "a masked action is never illegal")

    env.action_space.seed(seed)
    env.reset(seed=seed)
    _walk(env, n_steps, look)


def _check_stakes(env: gymnasium.Env[Any, Any], seed: int, n_steps: int) -> None:
    """Continuous stakes: no vector is masked, and the chips cover every slip that lies."""
    covered = [np.zeros(0, dtype=np.bool_)]

    def look(step: tuple[Any, ...]) -> None:
        info = step[5]
        _promise("action_mask" not in info, "continuous stakes have no mask")
        _promise("illegal_action" not in info, "no vector is illegal")
        _promise(covered[0][info["settlement"]["slip"]], "the chips cover the slip at stake")

    env.action_space.seed(seed)
    env.reset(seed=seed)
    for _ in range(n_steps):
        covered[0] = env.get_wrapper_attr("action_masks")()
        ((_, *_, terminated, truncated, _), *_) = _walk(env, 1, look)
        _promise(covered[0].any(), "the chips cover some slip")
        if terminated or truncated:
            env.reset()


def _check_streams(env: gymnasium.Env[Any, Any], seed: int, n_steps: int) -> None:
    first = _replay(env, seed, n_steps)
    _promise(_is_same(first, _replay(env, seed, n_steps)), "one seed and one tape give one run")
    other = _replay(env, seed + _FAR_SEED, n_steps)
    _promise(not _is_same(first, other), "another seed gives another run")
    env.reset(seed=seed)
    before = env.unwrapped.get_state()  # type: ignore[attr-defined]
    env.reset()
    after = env.unwrapped.get_state()  # type: ignore[attr-defined]
    _promise(before["state"] != after["state"], "reset() without a seed deals the next round")


def _check_state(env: gymnasium.Env[Any, Any], seed: int, n_steps: int) -> None:
    bare: Any = env.unwrapped
    env.action_space.seed(seed)
    env.reset(seed=seed)
    _walk(env, n_steps)
    saved = bare.get_state()
    copies = [deepcopy(bare), pickle.loads(pickle.dumps(bare))]  # noqa: S301, our own bytes
    bare.action_space.seed(seed)
    future = _walk(bare, n_steps)
    bare.set_state(saved)
    for copy, how in ((bare, "set_state"), (copies[0], "deepcopy"), (copies[1], "pickle")):
        copy.action_space.seed(seed)
        _promise(_is_same(future, _walk(copy, n_steps)), f"{how} keeps the future")
