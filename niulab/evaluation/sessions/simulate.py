"""Sessions simulated by the million: policies play the same rounds, and differences are paired.

Rounds are dealt by the engine, keyed by (session, round), once for all policies. All that is summed
is integers, so the same seed gives the same figures for any number of threads.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from niulab.engine.rules import RuleSet
from niulab.errors import ConfigError, nearest
from niulab.evaluation.sessions.play import Policies, Sessions, row_seed_of
from niulab.evaluation.sessions.results import (
    PairedDifference,
    SessionSimulation,
    Share,
    SimulatedPolicy,
)
from niulab.evaluation.statistics import Estimate, normal_quantile
from niulab.solvers.sessions.tables import BettingTables

__all__ = ["sample_paths", "simulate_sessions"]

_CHUNK = 4096
_BLOCK_ROUNDS = 1 << 16
"""Rounds dealt at a time: their cells stay in the cache until all policies have played them."""


def simulate_sessions(
    rules: RuleSet,
    tables_by_name: Mapping[str, BettingTables],
    *,
    start_cents: int,
    n_rounds: int,
    n_sessions: int,
    target_cents: int | None = None,
    seed: int = 0,
    threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
    level: float = 0.95,
    baseline: str | None = None,
) -> SessionSimulation:
    """Play every policy's tables through the same ``n_sessions`` sessions.

    Sessions end as in ``play_session``: with ruin or the target on the way, STOP, or the deadline.
    ``baseline``: what differences are taken to (default: the first policy). Raises ConfigError.
    """
    names = tuple(tables_by_name)
    if not names:
        raise ConfigError("tables_by_name is empty: give at least one policy, as {'flat': tables}")
    base = names[0] if baseline is None else baseline
    if base not in tables_by_name:
        raise ConfigError(f"no policy '{base}' to compare with{nearest(base, names)}")
    if n_sessions < 2 or n_rounds < 0 or threads < 1:
        raise ConfigError(
            "a simulation needs at least 2 sessions, 0 rounds and 1 thread, got "
            f"n_sessions={n_sessions}, n_rounds={n_rounds} and threads={threads}"
        )
    z = normal_quantile(level)
    play = _Play(
        Policies.of(rules, list(tables_by_name.values()), start_cents, target_cents),
        base=names.index(base),
        seed=seed,
        n_rounds=n_rounds,
    )
    play(0, 1)  # compiles
    begun = time.perf_counter()
    total = _add_up(play, n_sessions, threads, progress)
    seconds = time.perf_counter() - begun
    estimates = _Estimates(n_sessions, level, z)
    return SessionSimulation(
        rules=rules,
        start_cents=start_cents,
        target_cents=target_cents,
        n_rounds=n_rounds,
        n_sessions=n_sessions,
        seed=seed,
        row_seed=row_seed_of(seed),
        baseline=base,
        policies={name: estimates.score(total, p, play.policies) for p, name in enumerate(names)},
        differences={
            name: estimates.difference(total, p) for p, name in enumerate(names) if name != base
        },
        seconds=seconds,
    )


def sample_paths(
    rules: RuleSet,
    tables: BettingTables,
    *,
    start_cents: int,
    n_rounds: int,
    n_sessions: int,
    target_cents: int | None = None,
    seed: int = 0,
) -> NDArray[np.int64]:
    """Bankrolls in cents, int64 (n_sessions, n_rounds + 1), of the first sessions that
    ``simulate_sessions`` plays with this seed; one that is over stays where it ended.
    """
    if n_sessions < 1 or n_rounds < 0:
        raise ConfigError(
            f"paths need at least 1 session and 0 rounds, got n_sessions={n_sessions} and "
            f"n_rounds={n_rounds}"
        )
    policies = Policies.of(rules, [tables], start_cents, target_cents)
    sessions = Sessions(policies, 0, n_sessions, seed=seed)
    paths = np.empty((n_sessions, n_rounds + 1), dtype=np.int64)
    paths[:, 0] = start_cents
    for played in range(1, n_rounds + 1):
        sessions.advance(1)
        paths[:, played] = sessions.bankrolls_cents[:, 0]
    return paths


# ---------------------------------------------------------------- exact sums


class _Totals(NamedTuple):
    """Exact sums over sessions, Python integers in object arrays.

    values, squares, differences, difference_squares: (P, 7), in the order of the places below;
    placed (S,).
    """

    values: NDArray[np.object_]
    squares: NDArray[np.object_]
    differences: NDArray[np.object_]
    difference_squares: NDArray[np.object_]
    placed: NDArray[np.object_]


_RESULT, _RUIN, _TARGET, _OVERFLOW, _LEFT, _AHEAD, _ROUNDS = range(7)


@dataclass(frozen=True, eq=False)
class _Play:
    """Plays sessions ``first`` to ``first + n`` and sums them up."""

    policies: Policies
    base: int
    seed: int
    n_rounds: int

    def __call__(self, first: int, n: int) -> _Totals:
        sessions = Sessions(self.policies, first, n, seed=self.seed)
        while sessions.done < self.n_rounds and sessions.n_playing:
            size = max(_BLOCK_ROUNDS // sessions.n_playing, 1)
            sessions.advance(min(size, self.n_rounds - sessions.done))
        results = sessions.bankrolls_cents - self.policies.start_cents
        is_at_top = sessions.have_ended("top")
        has_target = self.policies.target_cents is not None
        seen = np.stack(
            [
                results,
                sessions.have_ended("ruin"),
                is_at_top & has_target,
                is_at_top & (not has_target),
                sessions.have_ended("left"),
                results > 0,
                sessions.played,
            ],
            axis=-1,
        )
        apart = seen - seen[:, [self.base]]
        return _Totals(
            seen.sum(axis=0).astype(object),
            _square_sum(seen),
            apart.sum(axis=0).astype(object),
            _square_sum(apart),
            sessions.placed.astype(object),
        )


def _add_up(
    play: _Play, n_sessions: int, threads: int, progress: Callable[[int, int], None] | None
) -> _Totals:
    def play_from(start: int) -> _Totals:
        return play(start, min(_CHUNK, n_sessions - start))

    total: _Totals | None = None
    with ThreadPoolExecutor(threads) as pool:
        starts = range(0, n_sessions, _CHUNK)
        run: Any = map if threads == 1 else partial(_map_ahead, pool, 2 * threads)
        for start, part in zip(starts, run(play_from, starts), strict=True):
            pairs = part if total is None else map(np.add, total, part)
            total = _Totals(*pairs)
            if progress is not None:
                progress(min(start + _CHUNK, n_sessions), n_sessions)
    if total is None:
        raise ConfigError("no session was played: ask for at least 2")
    return total


def _map_ahead(
    pool: ThreadPoolExecutor, n_ahead: int, play: Callable[[int], _Totals], starts: Iterable[int]
) -> Iterator[_Totals]:
    """``pool.map`` that never has more than ``n_ahead`` calls waiting, however many there are."""
    waiting: deque[Future[_Totals]] = deque()
    for start in starts:
        waiting.append(pool.submit(play, start))
        if len(waiting) == n_ahead:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


def _square_sum(values: NDArray[np.int64]) -> NDArray[np.object_]:
    """Exact sums of squares over the first axis."""
    largest = int(np.abs(values).max(initial=0))
    exact = values if largest**2 * len(values) < 1 << 62 else values.astype(object)
    return np.asarray((exact * exact).sum(axis=0), dtype=object)


@dataclass(frozen=True)
class _Estimates:
    """Means and their intervals from exact sums over n sessions."""

    n: int
    level: float
    z: float

    def mean(self, value: int, square: int, *, plus: int = 0) -> Estimate:
        variance = (Fraction(square) - Fraction(value) ** 2 / self.n) / (self.n - 1)
        return Estimate(
            mean=float(plus + Fraction(value, self.n)),
            half_width=self.z * sqrt(variance / self.n),
            level=self.level,
            n_rounds=self.n,
        )

    def share(self, count: int) -> Share:
        return Share(int(count), self.n, self.level)

    def score(self, total: _Totals, p: int, policies: Policies) -> SimulatedPolicy:
        values, squares = total.values[p], total.squares[p]
        slips = policies.tables[p].slips
        placed = total.placed[policies.slips_of(p)]
        staked = sum(n * slip.total_cents for n, slip in zip(placed, slips, strict=True))
        return SimulatedPolicy(
            final_cents=self.mean(values[_RESULT], squares[_RESULT], plus=policies.start_cents),
            ruin=self.share(values[_RUIN]),
            target=self.share(values[_TARGET]),
            ahead=self.share(values[_AHEAD]),
            left=self.share(values[_LEFT]),
            overflow=self.share(values[_OVERFLOW]),
            rounds=self.mean(values[_ROUNDS], squares[_ROUNDS]),
            staked_cents=float(Fraction(staked, self.n)),
        )

    def difference(self, total: _Totals, p: int) -> PairedDifference:
        values, squares = total.differences[p], total.difference_squares[p]
        return PairedDifference(
            final_cents=self.mean(values[_RESULT], squares[_RESULT]),
            ruin=self.mean(values[_RUIN], squares[_RUIN]),
            target=self.mean(values[_TARGET], squares[_TARGET]),
            ahead=self.mean(values[_AHEAD], squares[_AHEAD]),
        )
