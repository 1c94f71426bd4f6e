"""Simulated scores: play the environment itself and give the mean with its interval.

It is the honest answer where no exact one exists, and the second road beside it where one does. The
unit that is averaged is the episode: rounds of one session or seats of one round are dependent.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from niulab.agents.base import Actions, Agent, as_actions
from niulab.engine.ranking import ranker
from niulab.engine.shoe import deal_rounds
from niulab.engine.wagers import cover_from, exposure_cents
from niulab.envs.batch import ArrangeVectorEnv
from niulab.envs.encoding import BETTING, ENDED, NO_CARD, SETTING, Encoding, Sight
from niulab.envs.rewards import rewards_of
from niulab.envs.settings import N_SETTINGS, EnvSettings
from niulab.envs.settling import Settler, positions_in_order
from niulab.errors import ConfigError
from niulab.evaluation.score import UNITS, Bounds, SimulatedScore
from niulab.evaluation.statistics import mean_interval
from niulab.seeding import generator, stream_seed

__all__ = ["simulate"]

_ROWS = 4096
_GOES_ON = ""
_MOST_STEPS = 100_000
_TOO_LONG = f"an episode lasts longer than {_MOST_STEPS} steps: give the task n_rounds, a deadline"


def simulate(
    agent: Agent,
    settings: EnvSettings,
    *,
    n_rounds: int = 200_000,
    seed: int = 0,
    level: float = 0.95,
    task: str = "niulab/Arrange-v0",
    bounds: Bounds | None = None,
    notes: Sequence[str] = (),
    progress: Callable[[int, int], None] | None = None,
) -> SimulatedScore:
    """Mean return of ``n_rounds`` episodes (rounds, for one-round tasks), settled and unscaled.

    The same seed deals the same cards to every agent, so a league compares them on equal hands.
    """
    if n_rounds < 2:
        raise ConfigError(f"an interval needs at least 2 rounds, got {n_rounds}")
    plain = replace(settings, reward="settled", reward_scale=1.0, mask="info")
    play = _player_of(agent, plain)
    returns = np.empty(n_rounds)
    row_seed = stream_seed(seed, "evaluation/simulate")
    rng = generator(seed, "evaluation/simulate/agent")
    for start in range(0, n_rounds, _ROWS):
        rows = slice(start, min(start + _ROWS, n_rounds))
        returns[rows] = play(row_seed + start, rows.stop - start, rng)
        if progress is not None:
            progress(rows.stop, n_rounds)
    return SimulatedScore(
        agent=agent.name,
        task=task,
        rules=settings.rules.name,
        rules_hash=settings.rules.rules_hash,
        estimate=mean_interval(returns, level=level),
        seed=seed,
        n_illegal=play.n_illegal,
        bounds=bounds or Bounds(random=None, optimum=None),
        ends=dict(sorted(play.ends.items())),
        notes=tuple(notes),
        unit=UNITS[settings.objective],
    )


def _player_of(agent: Agent, settings: EnvSettings) -> _Player:
    if not settings.bets and settings.n_rounds == 1 and settings.bankroll_cents is None:
        return _ArrangePlayer(agent, settings)
    return _BatchPlayer(agent, settings)


class _Player:
    """Plays episodes of one task: called with a seed, it returns the returns of n of them."""

    def __init__(self, agent: Agent, settings: EnvSettings) -> None:
        self.agent = agent
        self.settings = settings
        self.ends: Counter[str] = Counter()
        self.n_illegal = 0

    @abstractmethod
    def __call__(self, seed: int, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Returns (n,) of the episodes of seeds ``seed`` to ``seed + n - 1``, from round 0."""

    def legal(self, actions: Actions, masks: NDArray[np.bool_]) -> Actions:
        """Actions with illegal ones replaced by action 0, the environment's rule, and counted."""
        is_known = (actions >= 0) & (actions < masks.shape[1])
        known = np.where(is_known, actions, 0)
        is_legal = is_known & masks[np.arange(len(actions)), known]
        self.n_illegal += int(np.count_nonzero(~is_legal))
        return np.where(is_legal, known, 0)


class _ArrangePlayer(_Player):
    """One round of setting hands in each row of the native batch."""

    def __call__(self, seed: int, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        env = ArrangeVectorEnv(n, self.settings)
        observations, infos = env.reset(seed=seed)
        masks, state = env.action_masks(), self.agent.initial_state(n)
        answer, _ = self.agent.act(observations, masks, infos, state, rng)
        actions = self.legal(as_actions(answer, n, self.agent.name), masks)
        _, rewards, _, _, _ = env.step(actions)
        self.ends["n_rounds"] += n
        return rewards


class _BatchPlayer(_Player):
    """The episodes of ``envs.core``, all rows in one phase and settled at once."""

    def __init__(self, agent: Agent, settings: EnvSettings) -> None:
        super().__init__(agent, settings)
        self._encoding = Encoding(settings)
        rules, menu = settings.rules, settings.menu
        self._settler = Settler(rules, menu)
        self._needs = np.array([exposure_cents(rules, cover_from(rules, s, 0)) for s in menu])

    def __call__(self, seed: int, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        table = _Rows.start(self.settings, seed, n)
        memory: Any = self.agent.initial_state(n)
        if not self.settings.bets:
            table.deal(np.arange(n), np.zeros(n, dtype=np.int64))
        for _ in range(_MOST_STEPS):
            rows = np.flatnonzero(table.phases != ENDED)
            if not len(rows):
                return table.returns
            masks = self._masks(table)
            answer, memory = self.agent.act(
                self._encoding.encode(table.sight()), masks, {}, memory, rng
            )
            actions = as_actions(answer, n, self.agent.name)[rows]
            actions = self.legal(actions, masks[rows])
            if table.phases[rows[0]] == BETTING:
                rows, actions = self._leave(table, rows, actions)
                table.deal(rows, actions)
                if self.settings.sets_hand:
                    continue
                hands, _ = table.in_order(rows)
                actions = ranker(self.settings.rules).split_ranks(hands).argmax(axis=1)
            else:
                _, places = table.in_order(rows)
                actions = positions_in_order(actions, places)
            self._settle(table, rows, actions)
        raise ConfigError(_TOO_LONG)

    def _masks(self, table: _Rows) -> NDArray[np.bool_]:
        settings = self.settings
        masks = np.ones((len(table.phases), settings.n_actions), dtype=np.bool_)
        masks[table.phases == SETTING, N_SETTINGS:] = False
        betting = np.flatnonzero(table.phases == BETTING)
        masks[betting, len(settings.menu) + settings.can_leave :] = False
        if settings.bankroll_cents is not None:
            affordable = self._needs <= table.bankrolls[betting, None]
            masks[betting, : len(settings.menu)] = affordable
        return masks

    def _leave(
        self, table: _Rows, rows: NDArray[np.int64], actions: Actions
    ) -> tuple[NDArray[np.int64], Actions]:
        """End the episodes of players who leave; the others' rows and bets."""
        leaves = actions == self.settings.leave_action
        table.phases[rows[leaves]] = ENDED
        self.ends.update(["left"] * int(np.count_nonzero(leaves)))
        return rows[~leaves], actions[~leaves]

    def _settle(self, table: _Rows, rows: NDArray[np.int64], actions: Actions) -> None:
        """Settle the rows' hands, set in ascending order, and open their next rounds."""
        hands, _ = table.in_order(rows)
        before = table.bankrolls[rows]
        in_sight = None if self.settings.bankroll_cents is None else before
        nets = self._settler.settle(
            hands, table.dealers[rows], actions, table.slips[rows], in_sight
        ).net_cents
        table.bankrolls[rows] += nets
        table.rounds_left[rows] -= 1
        ends = self._ends_of(table.bankrolls[rows], table.rounds_left[rows])
        table.returns[rows] += rewards_of(
            self.settings, nets=nets, bankrolls=before, has_reached_target=ends == "target"
        )
        is_over = ends != _GOES_ON
        self.ends.update(ends[is_over].tolist())
        table.phases[rows[is_over]] = ENDED
        table.open_round(rows[~is_over])

    def _ends_of(
        self, bankrolls: NDArray[np.int64], rounds_left: NDArray[np.int64]
    ) -> NDArray[np.str_]:
        """Why each episode ended; the reach of the target comes before ruin and the deadline."""
        settings = self.settings
        ends = np.full(len(bankrolls), _GOES_ON, dtype="U8")
        if settings.n_rounds is not None:
            ends[rounds_left == 0] = "n_rounds"
        if settings.bankroll_cents is not None:
            ends[bankrolls < self._needs[0]] = "ruin"
        if settings.target_cents is not None:
            ends[bankrolls >= settings.target_cents] = "target"
        return ends


@dataclass
class _Rows:
    """The tables of one batch: what ``envs.core.State`` holds, as arrays."""

    settings: EnvSettings
    seeds: NDArray[np.uint64]
    round_indices: NDArray[np.int64]
    phases: NDArray[np.int64]
    slips: NDArray[np.int64]
    hands: NDArray[np.uint8]
    dealers: NDArray[np.uint8]
    bankrolls: NDArray[np.int64]
    rounds_left: NDArray[np.int64]
    returns: NDArray[np.float64]

    @classmethod
    def start(cls, settings: EnvSettings, seed: int, n: int) -> Self:
        """N episodes before their first bet."""
        return cls(
            settings=settings,
            seeds=np.array([(seed + row) % (1 << 64) for row in range(n)], dtype=np.uint64),
            round_indices=np.zeros(n, dtype=np.int64),
            phases=np.full(n, BETTING),
            slips=np.full(n, -1),
            hands=np.full((n, 5), NO_CARD, dtype=np.uint8),
            dealers=np.full((n, 5), NO_CARD, dtype=np.uint8),
            bankrolls=np.full(n, settings.bankroll_cents or 0),
            rounds_left=np.full(n, settings.n_rounds or 0),
            returns=np.zeros(n),
        )

    def sight(self) -> Sight:
        """What the players see."""
        return Sight(
            self.hands, self.dealers, self.phases, self.slips, self.bankrolls, self.rounds_left
        )

    def deal(self, rows: NDArray[np.int64], slips: Actions) -> None:
        """Deal the round of some rows, with these slips at stake."""
        packets = deal_rounds(self.settings.rules, self.seeds[rows], self.round_indices[rows], 2)
        own = packets[:, 0]
        is_sorted = self.settings.card_order == "sorted"
        self.hands[rows] = np.sort(own, axis=1) if is_sorted else own
        self.dealers[rows] = np.sort(packets[:, 1], axis=1)
        self.slips[rows] = slips
        self.phases[rows] = SETTING

    def open_round(self, rows: NDArray[np.int64]) -> None:
        """Go on to the next round of some rows."""
        self.round_indices[rows] += 1
        if not self.settings.bets:
            self.deal(rows, np.zeros(len(rows), dtype=np.int64))
            return
        self.phases[rows], self.slips[rows] = BETTING, -1
        self.hands[rows] = self.dealers[rows] = NO_CARD

    def in_order(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.uint8], NDArray[np.intp]]:
        """Hands in ascending order, and the place there of each shown card."""
        order = np.argsort(self.hands[rows], axis=1, kind="stable")
        return np.take_along_axis(self.hands[rows], order, axis=1), np.argsort(order, axis=1)
