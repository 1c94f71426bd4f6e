"""The single environment: Gymnasium's reset and step around the core, its state and its words."""

from __future__ import annotations

import operator
import sys
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, SupportsFloat

import gymnasium
import numpy as np
from gymnasium import logger, spaces
from gymnasium.error import InvalidAction, ResetNeeded
from gymnasium.utils import RecordConstructorArgs
from numpy.typing import NDArray

from niulab.engine.rules import RuleSet
from niulab.envs.encoding import ENDED, Encoding
from niulab.envs.render import render_text
from niulab.envs.seat.core import Hand, State, Transition, read_deal
from niulab.envs.seat.referee import Ruling
from niulab.envs.settings import EnvSettings, make_settings
from niulab.envs.sheets.core import core_of
from niulab.envs.stakes.mapping import StakeMap, read_vectors
from niulab.envs.stakes.space import action_space
from niulab.envs.watch import restore, state_of, watch_of
from niulab.errors import ConfigError
from niulab.seeding import entropy_seed

__all__ = ["NamedTruncation", "NiuNiuEnv"]

_STATE_VERSION = 1
_SEED_MASK = (1 << 64) - 1
_BYTE = np.dtype(np.uint8)

_int64 = lru_cache(1 << 12)(np.int64)  # numbers never change, and most come again


class NiuNiuEnv(gymnasium.Env[Any, Any]):
    """Niu Niu Poker at one seat: bet, set five cards, settle; the ids are presets of this class.

    ``preset`` is an id or checked settings; any keyword of ``EnvSettings`` changes it. See
    docs/environments/ for each id.
    """

    metadata = {"render_modes": ["ansi", "human"], "render_fps": 1}  # noqa: RUF012, as in gym.Env

    def __init__(
        self,
        preset: str | EnvSettings = "niulab/NiuNiu-v0",
        *,
        render_mode: str | None = None,
        **keywords: Any,
    ) -> None:
        if render_mode not in {None, *self.metadata["render_modes"]}:
            raise ConfigError(f"render_mode is 'ansi', 'human' or None, got {render_mode!r}")
        self.settings = make_settings(preset, **keywords)
        self.render_mode = render_mode
        self.core = core_of(self.settings)
        self.action_space = action_space(self.settings)
        is_continuous = self.settings.stakes == "continuous"
        self._stakes = StakeMap(self.settings) if is_continuous else None
        self.observation_space: spaces.Space[Any] = self.encoding.space
        if self.settings.mask == "observation":
            mask = spaces.MultiBinary(self.settings.n_actions)
            self.observation_space = spaces.Dict(
                {"observation": self.encoding.space, "action_mask": mask}
            )
        self._state: State | None = None
        self._last: Transition | None = None
        self._has_warned = False
        self._masks_observation = self.settings.mask == "observation"

    @property
    def encoding(self) -> Encoding:
        """What the observation's numbers mean."""
        return self.core.encoding

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Open an episode with round 0 of ``seed``, or with the next round of the running stream.

        ``options={"deal": (hand, dealer)}`` deals these hands in the first round, as card texts
        ("KS QH 10D AC 7S") or ids.
        """
        forced = None if options is None else _read_deal(options, self.settings.rules)
        if seed is not None:
            super().reset(seed=seed)  # seeds Gymnasium's own generator
            state = self.core.start(seed & _SEED_MASK, 0, forced)
        elif self._state is None:
            state = self.core.start(entropy_seed(), 0, forced)
        else:
            state = self.core.start(self._state.seed, self._state.round_index + 1, forced)
        self._state, self._last = state, None
        if self.render_mode == "human":
            self.render()
        return self._observation(), self._info()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Play one action; raises InvalidAction for what is no whole number of the space, and under
        continuous stakes for what is no vector of numbers.
        """
        state = self._state
        if state is None or state.phase == ENDED:
            when = "before the first reset()" if state is None else "after the end of the episode"
            raise ResetNeeded(f"step() {when}: call reset()")
        self._state, self._last = self.core.step(state, self.read_action(action))
        if self.render_mode == "human":
            self.render()
        has_ended = self._last.end is not None
        return self._observation(), self._last.reward, has_ended, False, self._info()

    def action_masks(self) -> NDArray[np.bool_]:
        """Legal actions, bool (n_actions,), under the name sb3-contrib asks for.

        Under continuous stakes no vector is masked: these are the slips of the menu that the chips
        cover.
        """
        return self.core.mask(self._now())

    def render(self) -> str | None:
        """The table in words: returned in mode "ansi", written to stdout in mode "human"."""
        if self.render_mode is None:
            if not self._has_warned:
                self._has_warned = True
                logger.warn(
                    "render() without a render_mode: make the environment with 'ansi' or 'human'"
                )
            return None
        signals, signal = self.encoding.signals, self.core.signal(self._now())
        seen = None if signals is None or signal is None else signals.names[signal]
        now, last, core = self._now(), self._last, self.core
        played = core.settings_at(now, is_settled=True)
        text = render_text(core.settings_at(now), now, last, seen, played=played)
        if self.render_mode == "ansi":
            return text
        sys.stdout.write(text + "\n")
        return None

    def teach_detector(self, policy: NDArray[np.floating] | None) -> None:
        """Tell the task's ideal detector the player's law (``watch.Watch.learn``)."""
        watch_of(self.settings, self.core.watch).learn(policy)

    # ------------------------------------------------------------ state

    def get_state(self) -> dict[str, Any]:
        """All that fixes the future, streams included, as JSON can hold it."""
        return {
            "version": _STATE_VERSION,
            "rules_hash": self.settings.rules_hash,
            "state": self._now().to_json(),
            "np_random": self.np_random.bit_generator.state,
            **state_of(self.core.watch),
        }

    def set_state(self, state: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Go on from a state of ``get_state``; returns the observation and info there."""
        known = (_STATE_VERSION, self.settings.rules_hash)
        if (state.get("version"), state.get("rules_hash")) != known:
            raise ConfigError(
                f"this state has version {state.get('version')!r} and rules "
                f"{state.get('rules_hash')!r}, the environment {known[0]} and {known[1]!r}"
            )
        self._state, self._last = State.from_json(state["state"]), None
        restore(self.core.watch, state)
        self.np_random.bit_generator.state = state["np_random"]
        return self._observation(), self._info()

    def read_action(self, action: Any) -> int:
        """The index of an action of the space; raises InvalidAction for what is none."""
        if self._stakes is None:
            return _read_action(action)
        vectors = read_vectors(action, (self._stakes.n_boxes,))[None]
        bankroll = np.array([self._now().bankroll_cents])
        return int(self._stakes.slips(vectors, bankroll)[0])

    def _now(self) -> State:
        if self._state is None:
            raise ResetNeeded("there is no state before the first reset(): call it first")
        return self._state

    # ------------------------------------------------------------ what is handed out

    def _observation(self) -> Any:
        state = self._now()
        observation = self.core.observe(state)
        if self._masks_observation:
            mask = self.core.legal(state).numbers.copy()
            return {"observation": observation, "action_mask": mask}
        return observation

    def _info(self) -> dict[str, Any]:
        state, last = self._now(), self._last
        left = -1 if state.rounds_left is None else state.rounds_left
        info: dict[str, Any] = {}
        if self._stakes is None:
            info["action_mask"] = self.core.legal(state).numbers.copy()
        info |= {
            "bankroll_cents": _int64(state.bankroll_cents),
            "last_net_cents": _int64(state.last_net_cents),
            "rounds_left": _int64(left),
        }
        if last is None:
            return info
        if last.is_illegal:
            info["illegal_action"] = True
        if last.ruling is not None:
            info["settlement"] = _settlement_info(last.ruling, last.dealer)
        if last.end is not None:
            info["end"] = last.end
        return info


class NamedTruncation(gymnasium.Wrapper[Any, Any, Any, Any], RecordConstructorArgs):
    """Says in ``info["end"]`` that ``max_episode_steps`` ended an episode; the ids wear it."""

    def __init__(self, env: gymnasium.Env[Any, Any]) -> None:
        RecordConstructorArgs.__init__(self)
        gymnasium.Wrapper.__init__(self, env)

    def step(self, action: Any) -> tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        if truncated:
            info.setdefault("end", "max_episode_steps")
        return observation, reward, terminated, truncated, info


def _settlement_info(ruling: Ruling, dealer: Hand) -> dict[str, Any]:
    """A settled round in numbers only, so that batches stack it: enums and ranks by their index."""
    info = ruling.numbers.copy()
    info["dealer_cards"] = np.frombuffer(bytearray(dealer), _BYTE)
    info["net_by_box"] = info["net_by_box"].copy()
    return info


def _read_action(action: Any) -> int:
    """An action as a plain int, whatever wraps it; one-element arrays and floats are none."""
    try:
        return operator.index(action)
    except TypeError:
        raise InvalidAction(
            f"an action is a whole number (int, NumPy integer, 0-d integer array), got {action!r}"
        ) from None


def _read_deal(options: Mapping[str, Any], rules: RuleSet) -> tuple[Hand, Hand] | None:
    rest = dict(options)
    deal = rest.pop("deal", None)
    if rest:
        raise ConfigError(f"reset() takes the option 'deal', got {sorted(rest)}")
    return None if deal is None else read_deal(deal, rules)
