"""Scores of bets along a shoe: the shoes are simulated, each round's value is exact.

A policy plays the environment; of each round its slip's exact mean counts, given the cards left,
and not what the cards then were. Main stakes beyond the first slip's are worth their mean from the
full shoe and a remainder, found exactly in one round of each shoe that is drawn at random; those of
the first slip, bet in every round, are worth their mean from the full shoe by exchangeability. What
a slip bet in every round is worth along the shoes drawn, less its known mean, is the control that
narrows the interval (Glasserman, Monte Carlo Methods in Financial Engineering, section 4.1).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from niulab.agents.base import Agent, as_actions
from niulab.engine.shoe import deal_rounds, rounds_per_shoe
from niulab.envs.rows.options import row_seeds
from niulab.envs.settings import EnvSettings
from niulab.envs.vector import NiuNiuVectorEnv
from niulab.errors import ConfigError, RulesError
from niulab.evaluation.asking import Progress
from niulab.evaluation.score import UNITS, Bounds, SimulatedScore
from niulab.evaluation.statistics import mean_interval
from niulab.seeding import generator, stream_seed
from niulab.solvers.shoes.slips import ShoeSlips, shoe_slips

__all__ = ["Shoes", "evaluate_shoe", "shoe_bounds", "shoes", "why_shoe_played"]

_ROWS = 1024
_N_ROUNDS = 200_000


@dataclass(frozen=True, eq=False)
class Shoes:
    """Some rows of the environment: their first seed, and what is left before each of their bets.

    left: uint8 (n, rounds, 52).
    """

    seed: int
    left: NDArray[np.uint8]


def shoes(settings: EnvSettings, *, n_shoes: int, seed: int) -> Iterator[Shoes]:
    """The first shoes of ``n_shoes`` rows, dealt as ``evaluate_shoe`` has them played."""
    rules, n_rounds = settings.rules, settings.n_rounds or rounds_per_shoe(settings.rules, 2)
    row_seed = stream_seed(seed, "evaluation/simulate")
    full = np.array(rules.deck.composition, dtype=np.int64)
    for start in range(0, n_shoes, _ROWS):
        n = min(_ROWS, n_shoes - start)
        seeds = row_seeds(row_seed + start, n)
        left = np.empty((n, n_rounds, len(full)), dtype=np.uint8)
        now = np.repeat(full[None], n, axis=0)
        for index in range(n_rounds):
            left[:, index] = now
            cards = deal_rounds(rules, seeds, np.full(n, index), 2).reshape(n, -1)
            np.subtract.at(now, (np.arange(n)[:, None], cards), 1)
        yield Shoes(row_seed + start, left)


def why_shoe_played(settings: EnvSettings) -> str | None:
    """Why rounds of a task have no exact value by composition, or None if they have one."""
    if settings.shoe is None:
        return "the task does not show its shoe"
    if settings.objective != "profit" or settings.bankroll_cents is not None:
        return "values over a bankroll along a shoe are simulated"
    if settings.can_leave:
        return "a player who may leave a shoe is simulated"
    try:
        _ = shoe_slips(settings.rules, settings.menu).fresh
    except RulesError as error:
        return str(error)
    return None


def evaluate_shoe(
    agent: Agent,
    settings: EnvSettings,
    *,
    n_rounds: int = _N_ROUNDS,
    seed: int = 0,
    level: float = 0.95,
    progress: Progress | None = None,
    task: str = "niulab/Shoe-v0",
) -> SimulatedScore:
    """Score a policy along as many shoes as ``n_rounds`` rounds take, at least two.

    The optimum it is compared with is that of the same shoes. Raises ConfigError, with the reason,
    where rounds have no exact value.
    """
    reason = why_shoe_played(settings)
    if reason is not None:
        raise ConfigError(f"'{agent.name}' has no value by composition: {reason}; simulate it")
    n_shoes = _n_shoes(settings, n_rounds)
    worths, played, n_illegal = [], [], 0
    rng = generator(seed, "evaluation/simulate/agent")
    draws = generator(seed, "evaluation/shoe")
    for some in shoes(settings, n_shoes=n_shoes, seed=seed):
        actions, returns, wrong = _play(agent, settings, some, rng)
        worths.append(_worth(settings, some, actions, draws))
        played.append(returns)
        n_illegal += wrong
        if progress is not None:
            progress(sum(map(len, played)), n_shoes)
    estimate = mean_interval(_controlled(worths), level=level)
    raw = mean_interval(np.concatenate(played), level=level)
    bounds = shoe_bounds(settings, n_rounds=n_rounds, seed=seed, level=level)
    return SimulatedScore(
        agent=agent.name,
        task=task,
        rules=settings.rules.name,
        rules_hash=settings.rules.rules_hash,
        estimate=estimate,
        seed=seed,
        n_illegal=n_illegal,
        bounds=bounds,
        ends={"n_rounds": n_shoes},
        notes=(
            f"{n_shoes:,} shoes simulated, each round valued exactly given the cards left",
            f"as settled in the environment: {raw.mean:+.4f} ± {raw.half_width:.4f}",
        ),
        unit=UNITS[settings.objective],
    )


_BOUNDS: dict[tuple[object, ...], Bounds] = {}


def shoe_bounds(
    settings: EnvSettings, *, n_rounds: int = _N_ROUNDS, seed: int = 0, level: float = 0.95
) -> Bounds:
    """Uniform play, exact by exchangeability, and the optimum: the best slip of every round, its
    mean over shoes simulated with ``gap`` as half-width; base units per shoe. None without values.
    """
    if why_shoe_played(settings) is not None:
        return Bounds(random=None, optimum=None)
    rules, menu = settings.rules, settings.menu
    key = (rules.rules_hash, menu, settings.n_rounds, n_rounds, seed, level)
    if key not in _BOUNDS:
        slips, draws = shoe_slips(rules, menu), generator(seed, "evaluation/shoe")
        per_shoe = settings.n_rounds or rounds_per_shoe(rules, 2)
        worths = []
        for some in shoes(settings, n_shoes=_n_shoes(settings, n_rounds), seed=seed):
            flat = some.left.reshape(-1, some.left.shape[2])
            actions = slips.best(flat).reshape(some.left.shape[:2])
            worths.append(_worth(settings, some, actions, draws))
        found = mean_interval(_controlled(worths), level=level)
        uniform = per_shoe * float(slips.fresh.mean()) / rules.base_unit_cents
        _BOUNDS[key] = Bounds(random=uniform, optimum=found.mean, gap=found.half_width)
    return _BOUNDS[key]


def _n_shoes(settings: EnvSettings, n_rounds: int) -> int:
    if type(n_rounds) is not int or n_rounds < 2:
        raise ConfigError(f"an interval needs at least 2 rounds, got {n_rounds!r}")
    return max(2, n_rounds // (settings.n_rounds or rounds_per_shoe(settings.rules, 2)))


def _play(
    agent: Agent, settings: EnvSettings, some: Shoes, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.float64], int]:
    """What an agent bets in every round, int64 (n, rounds), its returns (n,) as settled and how
    many answers were illegal.
    """
    n, n_rounds, _ = some.left.shape
    env = NiuNiuVectorEnv(n, replace(settings, reward_scale=1.0, mask="info"))
    observations, infos = env.reset(seed=some.seed)
    memory = agent.initial_state(n)
    actions, returns, n_illegal = np.empty((n, n_rounds), dtype=np.int64), np.zeros(n), 0
    for index in range(n_rounds):
        answer, memory = agent.act(observations, env.action_masks(), infos, memory, rng)
        chosen = as_actions(answer, n, agent.name)
        is_illegal = (chosen < 0) | (chosen >= settings.n_actions)
        n_illegal += int(is_illegal.sum())
        actions[:, index] = np.where(is_illegal, 0, chosen)
        observations, rewards, *_, infos = env.step(actions[:, index])
        returns += rewards
    return actions, returns, n_illegal


def _worth(
    settings: EnvSettings, some: Shoes, actions: NDArray[np.int64], draws: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The worth of each shoe's bets (n,), and controls (n, slips) of mean 0, both in base units."""
    slips = shoe_slips(settings.rules, settings.menu)
    n, n_rounds, width = some.left.shape
    nets = slips.bonus_nets(some.left.reshape(-1, width)).reshape(n, n_rounds, -1)
    bonus = np.take_along_axis(nets, actions[:, :, None], axis=2)[:, :, 0].sum(axis=1)
    cents = bonus + slips.fresh_main[actions].sum(axis=1)
    cents += n_rounds * _remainders(slips, some, actions, draws)
    controls = nets.sum(axis=1) - n_rounds * slips.fresh_bonus
    unit = settings.rules.base_unit_cents
    return cents / unit, controls / unit


def _controlled(
    worths: list[tuple[NDArray[np.float64], NDArray[np.float64]]],
) -> NDArray[np.float64]:
    """The worths of all shoes, (n,), less what a linear fit to the controls explains of them."""
    values = np.concatenate([one for one, _ in worths])
    controls = np.concatenate([one for _, one in worths])
    if len(values) <= 2 * controls.shape[1]:
        return values
    slopes = np.linalg.lstsq(controls - controls.mean(axis=0), values - values.mean())[0]
    result: NDArray[np.float64] = values - controls @ slopes
    return result


def _remainders(
    slips: ShoeSlips, some: Shoes, actions: NDArray[np.int64], draws: np.random.Generator
) -> NDArray[np.float64]:
    """Main stakes beyond the first slip's, less their mean from the full shoe, in a round drawn for
    each shoe: (n,).
    """
    n, n_rounds, _ = some.left.shape
    rounds: NDArray[np.int64] = draws.integers(n_rounds, size=(n,))
    chosen = actions[np.arange(n), rounds]
    result = np.zeros(n)
    rows = np.flatnonzero(~slips.has_main_of(0)[chosen])
    if len(rows):
        nets = slips.main_nets(some.left[rows, rounds[rows]]) - slips.fresh_main
        result[rows] = nets[np.arange(len(rows)), chosen[rows]] - nets[:, 0]
    return result
