"""Simulated scores: play the environment itself and give the mean with its interval.

It is the honest answer where no exact one exists, and the second road beside it where one does. The
unit that is averaged is the episode: rounds of one session or seats of one round are dependent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from niulab.agents.base import Agent
from niulab.envs.settings import EnvSettings
from niulab.envs.vector import NiuNiuVectorEnv
from niulab.errors import ConfigError
from niulab.evaluation.answers import AnswerReader
from niulab.evaluation.score import UNITS, Bounds, SimulatedScore
from niulab.evaluation.statistics import mean_interval
from niulab.seeding import generator, stream_seed

__all__ = ["simulate"]

_ROWS = 4096
_MOST_STEPS = 100_000
"""An episode without a deadline may last for ever; one beyond this is an error, no estimate."""


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
    if type(n_rounds) is not int or n_rounds < 2:
        raise ConfigError(f"an interval needs at least 2 rounds, got {n_rounds!r}")
    if type(seed) is not int or not 0 <= seed < 1 << 63:
        raise ConfigError(f"a seed is a whole number from 0 to 2**63 - 1, got {seed!r}")
    plain = replace(settings, reward="settled", reward_scale=1.0, mask="info")
    play = _Player(agent, plain)
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
        rules=settings.rules_name,
        rules_hash=settings.rules_hash,
        estimate=mean_interval(returns, level=level),
        seed=seed,
        n_illegal=play.n_illegal,
        bounds=bounds or Bounds(random=None, optimum=None),
        ends=dict(sorted(play.ends.items())),
        notes=tuple(notes),
        unit=UNITS[settings.objective],
    )


class _Player:
    """Plays episodes of one task: called with a seed, it returns the returns of n of them."""

    def __init__(self, agent: Agent, settings: EnvSettings) -> None:
        self.agent = agent
        self.settings = settings
        self._reader = AnswerReader(settings)
        self.ends: Counter[str] = Counter()
        self.n_illegal = 0

    def __call__(self, seed: int, n: int, rng: np.random.Generator) -> NDArray[np.float64]:
        """Returns (n,) of the episodes of seeds ``seed`` to ``seed + n - 1``, from round 0."""
        env = NiuNiuVectorEnv(n, self.settings)  # rows that end early go on, unheeded
        observations, infos = env.reset(seed=seed)
        memory: Any = self.agent.initial_state(n)
        returns, is_playing = np.zeros(n), np.ones(n, dtype=np.bool_)
        for _ in range(_MOST_STEPS):
            masks = env.action_masks()
            answer, memory = self.agent.act(observations, masks, infos, memory, rng)
            actions, is_illegal = self._reader.moves(answer, masks, self.agent.name)
            self.n_illegal += int(np.count_nonzero(is_illegal & is_playing))
            observations, rewards, terminated, truncated, infos = env.step(actions)
            returns[is_playing] += rewards[is_playing]
            has_ended = (terminated | truncated) & is_playing
            if has_ended.any():
                self.ends.update(infos["final_info"]["end"][has_ended].tolist())
                is_playing &= ~has_ended
                if not is_playing.any():
                    return returns
        raise ConfigError(
            f"an episode lasts longer than {_MOST_STEPS} steps: give the task n_rounds, a deadline"
        )
