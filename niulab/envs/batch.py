"""Many Arrange environments at once: a real ``gymnasium.vector.VectorEnv`` over NumPy arrays.

Row i seeded with s plays bit for bit what the single environment seeded with s + i plays. Every
step ends an episode, and deals the row its next round (``AutoresetMode.SAME_STEP``).
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

from niulab.engine.ranking import hand_index
from niulab.engine.shoe import deal_rounds
from niulab.envs.encoding import Encoding, Sight
from niulab.envs.settings import N_SETTINGS, EnvSettings, make_settings
from niulab.envs.settling import Settled, Settler, positions_in_order
from niulab.errors import ConfigError
from niulab.seeding import entropy_seed

__all__ = ["ArrangeVectorEnv"]

_STATE_VERSION = 1
_SEED_MASK = (1 << 64) - 1


class ArrangeVectorEnv(VectorEnv[NDArray[Any], NDArray[Any], NDArray[Any]]):
    """The Arrange task for ``num_envs`` rows; keywords are those of the single environment.

    Where rows ended (all of them, every step) ``infos`` has ``final_obs``, a plain (n, d) array,
    and ``final_info`` with the settlement, each key beside its ``_key`` mask. Rewards are float64.
    """

    def __init__(
        self,
        num_envs: int = 1,
        preset: str | EnvSettings = "niulab/Arrange-v0",
        *,
        autoreset_mode: str | AutoresetMode = AutoresetMode.SAME_STEP,
        max_episode_steps: int | None = None,
        render_mode: str | None = None,
        **keywords: Any,
    ) -> None:
        self.settings = make_settings(preset, **keywords)
        _verify_native(self.settings, num_envs, AutoresetMode(autoreset_mode), render_mode)
        self.num_envs = num_envs
        self.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP, "render_modes": []}
        self.encoding = Encoding(self.settings)
        self.single_observation_space = self.encoding.space
        self.single_action_space = spaces.Discrete(N_SETTINGS)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._is_truncated = max_episode_steps == 1
        self._settler = Settler(self.settings.rules, self.settings.slip)
        self._is_reset = False
        self._seeds: NDArray[np.uint64] = np.zeros(num_envs, dtype=np.uint64)
        self._rounds: NDArray[np.int64] = np.zeros(num_envs, dtype=np.int64)
        self._shown: NDArray[np.uint8] = np.zeros((num_envs, 5), dtype=np.uint8)
        self._dealers: NDArray[np.uint8] = np.zeros((num_envs, 5), dtype=np.uint8)

    # ------------------------------------------------------------ Gymnasium's words

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[NDArray[Any], dict[str, Any]]:
        """Deal every row its next round, or round 0 of new seeds: ``seed + i``, or a list of them.

        ``options={"reset_mask": bool (n,)}`` resets only the rows it marks.
        """
        super().reset(seed=seed if isinstance(seed, int) else None)
        rows = _rows_to_reset(options, self.num_envs)
        if not self._is_reset:
            self._seeds = _consecutive(entropy_seed(), self.num_envs)
            self._rounds[:] = -1
            rows[:] = self._is_reset = True
        self._rounds[rows] += 1
        if seed is not None:
            self._reseed(seed, rows)
        self._deal()
        return self._observe(), self._infos()

    def step(
        self, actions: NDArray[Any]
    ) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Set every row's hand, settle it, and deal the next round."""
        settings = self._read_actions(actions)
        final_obs = self._observe()
        hands, places = self._in_order()
        if places is not None:
            settings = positions_in_order(settings, places)
        settled = self._settler.settle(hands, self._dealers, settings)
        rewards = self._rewards(hands, settings, settled)
        final_info = self._final_info(settled)
        self._rounds += 1
        self._deal()
        infos = self._infos()
        infos |= _masked(self.num_envs, {"final_obs": final_obs, "final_info": final_info})
        terminations = np.ones(self.num_envs, dtype=np.bool_)
        truncations = np.full(self.num_envs, self._is_truncated)
        return self._observe(), rewards, terminations, truncations, infos

    def action_masks(self) -> NDArray[np.bool_]:
        """Legal actions, bool (n, 10): every setting always is."""
        return np.ones((self.num_envs, N_SETTINGS), dtype=np.bool_)

    def get_state(self) -> dict[str, Any]:
        """What fixes all coming rounds, as JSON can hold it."""
        if not self._is_reset:
            raise ResetNeeded("there is no state before the first reset(): call it first")
        return {
            "version": _STATE_VERSION,
            "rules_hash": self.settings.rules.rules_hash,
            "seeds": self._seeds.tolist(),
            "rounds": self._rounds.tolist(),
            "np_random": self.np_random.bit_generator.state,
        }

    def set_state(self, state: Mapping[str, Any]) -> NDArray[Any]:
        """Go on from a state of ``get_state``; returns the observations there."""
        _verify_state(state, self.settings, self.num_envs)
        self._is_reset = True
        self._seeds = np.array(state["seeds"], dtype=np.uint64)
        self._rounds = np.array(state["rounds"], dtype=np.int64)
        self.np_random.bit_generator.state = state["np_random"]
        self._deal()
        return self._observe()

    # ------------------------------------------------------------ one step's parts

    def _reseed(self, seed: int | Sequence[int | None], rows: NDArray[np.bool_]) -> None:
        if isinstance(seed, int):
            given = _consecutive(seed, self.num_envs)
        else:
            if len(seed) != self.num_envs:
                raise ValueError(f"one seed per row: {self.num_envs} rows, got {len(seed)} seeds")
            if min((one for one in seed if one is not None), default=0) < 0:
                raise ValueError(f"seeds are 0 or more, got {list(seed)}")
            rows = rows & np.array([one is not None for one in seed])
            given = np.array([(one or 0) & _SEED_MASK for one in seed], dtype=np.uint64)
        self._seeds = np.where(rows, given, self._seeds)
        self._rounds[rows] = 0

    def _deal(self) -> None:
        packets = deal_rounds(self.settings.rules, self._seeds, self._rounds, 2)
        self._shown, dealers = packets[:, 0], packets[:, 1]
        if self.settings.card_order == "sorted":
            self._shown = np.sort(self._shown, axis=1)
        self._dealers = np.sort(dealers, axis=1)

    def _in_order(self) -> tuple[NDArray[np.uint8], NDArray[np.intp] | None]:
        """The hands in ascending order, and the place there of each shown card (None: the same)."""
        if self.settings.card_order == "sorted":
            return self._shown, None
        order = np.argsort(self._shown, axis=1, kind="stable")
        return np.take_along_axis(self._shown, order, axis=1), np.argsort(order, axis=1)

    def _observe(self) -> NDArray[Any]:
        return self.encoding.encode(Sight(self._shown, self._dealers))

    def _rewards(
        self, hands: NDArray[np.uint8], settings: NDArray[np.int64], settled: Settled
    ) -> NDArray[np.float64]:
        net: NDArray[Any] = settled.net_cents
        if self.settings.reward == "expected" and not self.settings.sees_dealer:
            from niulab.solvers.hand_values import hand_values

            values = hand_values(self.settings.rules, self.settings.slip)
            rows = hand_index(hands, multi=self.settings.rules.deck.decks > 1)
            options = values.option_of[rows, settings]
            net = values.numerators[rows, options] / float(values.denominator)
        return net / self.settings.rules.base_unit_cents * self.settings.reward_scale

    def _infos(self) -> dict[str, Any]:
        zeros = np.zeros(self.num_envs, dtype=np.int64)
        return _masked(
            self.num_envs,
            {
                "action_mask": np.ones((self.num_envs, N_SETTINGS), dtype=np.int8),
                "bankroll_cents": zeros,
                "last_net_cents": zeros.copy(),
                "rounds_left": np.ones(self.num_envs, dtype=np.int64),
            },
        )

    def _final_info(self, settled: Settled) -> dict[str, Any]:
        n = self.num_envs
        settlement = {
            "slip": np.zeros(n, dtype=np.int64),
            "outcome": settled.outcomes,
            "player_rank": settled.player_ranks,
            "dealer_rank": settled.dealer_ranks,
            "net_cents": settled.net_cents,
            "moved_cents": settled.moved_cents,
            "dealer_cards": self._dealers.copy(),
            "net_by_box": _masked(n, settled.net_by_box),
        }
        return _masked(
            n,
            {
                "action_mask": np.ones((n, N_SETTINGS), dtype=np.int8),
                "bankroll_cents": settled.net_cents.copy(),
                "last_net_cents": settled.net_cents.copy(),
                "rounds_left": np.zeros(n, dtype=np.int64),
                "settlement": _masked(n, settlement),
                "end": np.full(n, "n_rounds", dtype=object),
            },
        )

    def _read_actions(self, actions: NDArray[Any]) -> NDArray[np.int64]:
        if not self._is_reset:
            raise ResetNeeded("step() before the first reset(): call reset() first")
        given = np.asarray(actions)
        if given.shape != (self.num_envs,) or not np.issubdtype(given.dtype, np.integer):
            raise InvalidAction(
                f"actions are whole numbers of shape ({self.num_envs},), got {given.dtype} "
                f"of shape {given.shape}"
            )
        if given.min() < 0 or given.max() >= N_SETTINGS:
            wrong = given[(given < 0) | (given >= N_SETTINGS)][0]
            raise InvalidAction(f"action {wrong} is none: settings are 0 to {N_SETTINGS - 1}")
        return given.astype(np.int64)


def _masked(n: int, values: Mapping[str, Any]) -> dict[str, Any]:
    """Info entries, each with its mask: all rows have them."""
    return dict(values) | {f"_{key}": np.ones(n, dtype=np.bool_) for key in values}


def _consecutive(seed: int, n: int) -> NDArray[np.uint64]:
    """Seeds of n rows, modulo 2**64."""
    with np.errstate(over="ignore"):
        return np.uint64(seed & _SEED_MASK) + np.arange(n, dtype=np.uint64)


def _rows_to_reset(options: Mapping[str, Any] | None, n: int) -> NDArray[np.bool_]:
    rest = dict(options or {})
    rows = np.asarray(rest.pop("reset_mask", np.ones(n, dtype=np.bool_)))
    if rest:
        raise ConfigError(f"reset() of a batch takes the option 'reset_mask', got {sorted(rest)}")
    if rows.shape != (n,) or rows.dtype != np.bool_ or not rows.any():
        raise ConfigError(f"reset_mask is a bool array of shape ({n},) with a True, got {rows!r}")
    return rows.copy()


def _verify_native(
    settings: EnvSettings, n: int, mode: AutoresetMode, render_mode: str | None
) -> None:
    """Raise ConfigError, naming every reason, for what only single environments in a row can do."""
    reasons = []
    if settings.decisions != "set" or settings.n_rounds != 1 or settings.bankroll_cents is not None:
        reasons.append("the native batch plays one round of setting hands (the Arrange preset)")
    if settings.mask != "info":
        reasons.append("the native batch hands out masks in infos: mask='info'")
    if mode is not AutoresetMode.SAME_STEP:
        reasons.append(f"the native batch resets in the same step, not in mode {mode.value}")
    if render_mode is not None:
        reasons.append("the native batch does not render")
    if n < 1:
        raise ConfigError(f"num_envs is at least 1, got {n}")
    if reasons:
        raise ConfigError(
            "\n  - ".join(["this batch is not offered natively:", *reasons])
            + "\nuse gymnasium.make_vec(..., vectorization_mode='sync')"
        )


def _verify_state(state: Mapping[str, Any], settings: EnvSettings, n: int) -> None:
    if (
        state.get("version") != _STATE_VERSION
        or state.get("rules_hash") != settings.rules.rules_hash
    ):
        raise ConfigError(
            "this state belongs to another version or rule set: it has "
            f"version {state.get('version')!r} and rules_hash {state.get('rules_hash')!r}"
        )
    if len(state["seeds"]) != n:
        raise ConfigError(f"this state has {len(state['seeds'])} rows, the batch has {n}")
