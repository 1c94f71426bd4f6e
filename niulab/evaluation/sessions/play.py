"""Sessions in progress: rounds dealt by the engine, once for all policies that play them.

Round t of session i is round t of row seed ``row_seed_of(seed) + i``, as in an environment that is
reset with that seed. A policy that draws its memory takes it from a stream of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from niulab.engine.batch import BatchEngine
from niulab.engine.rules import RuleSet
from niulab.seeding import round_words, stream_seed
from niulab.solvers.sessions.net_law import net_law
from niulab.solvers.sessions.tables import (
    BettingTables,
    ruin_cents,
    verify_start,
    verify_step,
    verify_tables,
)

__all__ = ["Policies", "Sessions", "row_seed_of"]

# of ``kernels``, which are not imported to compile nothing
_PLAYING = 0
_ENDS = {"ruin": 1, "top": 2, "left": 3}
_SLIPS, _BOTTOM, _TOP, _DRAWS = 2, 4, 5, 6  # places in ``offsets``


def row_seed_of(seed: int) -> int:
    """The row seed of session 0."""
    return stream_seed(seed, "evaluation/sessions")


@dataclass(frozen=True, eq=False)
class Policies:
    """The tables of P policies end to end, as ``kernels.play_block`` takes them."""

    engine: BatchEngine
    tables: tuple[BettingTables, ...]
    class_of: NDArray[np.int64]
    choices: NDArray[np.int32]
    followings: NDArray[np.int32]
    offsets: NDArray[np.int64]
    nets: NDArray[np.int64]
    start_cents: int
    target_cents: int | None

    @classmethod
    def of(
        cls,
        rules: RuleSet,
        tables: Sequence[BettingTables],
        start_cents: int,
        target_cents: int | None,
    ) -> Policies:
        """Check the tables and lay them out; raises ConfigError."""
        engine, rows, offsets = BatchEngine(rules), [], []
        choice_at = next_at = slip_at = 0
        for policy in tables:
            verify_start(policy, start_cents, target_cents)
            verify_tables(rules, policy)
            verify_step(policy, [net_law(rules, slip) for slip in policy.slips])
            step = policy.step_cents
            top = policy.n_levels if target_cents is None else -(-target_cents // step)
            bottom = -(-ruin_cents(rules) // step)
            counts = policy.n_levels, bottom, top, int(policy.redraws), policy.n_memories
            offsets.append((choice_at, next_at, slip_at, *counts))
            choice_at += policy.choice.size
            next_at += policy.next.size
            slip_at += len(policy.slips)
            # cells that no deal ends in may miss the lattice
            rows += [engine.nets(slip).ravel() // step for slip in policy.slips]
        nets, class_of = np.unique(np.stack(rows), axis=1, return_inverse=True)
        return cls(
            engine=engine,
            tables=tuple(tables),
            class_of=class_of.reshape(-1).astype(np.int64),
            choices=np.concatenate([policy.choice.ravel() for policy in tables]),
            followings=np.concatenate([policy.next.ravel() for policy in tables]),
            offsets=np.array(offsets, dtype=np.int64),
            nets=np.ascontiguousarray(nets),
            start_cents=start_cents,
            target_cents=target_cents,
        )

    @property
    def steps(self) -> NDArray[np.int64]:
        """Cents of a level, by policy."""
        return np.array([policy.step_cents for policy in self.tables], dtype=np.int64)

    def slips_of(self, p: int) -> slice:
        """Where policy p's slips lie among those of all."""
        first = int(self.offsets[p, _SLIPS])
        return slice(first, first + len(self.tables[p].slips))


class Sessions:
    """Sessions ``first`` to ``first + n`` of a seed under every policy.

    levels, memories, played (rounds): int64 (n, P). placed: int64 (S,), how often each slip of all
    policies was placed. done: rounds dealt.
    """

    def __init__(self, policies: Policies, first: int, n: int, *, seed: int) -> None:
        self.policies = policies
        self.levels = np.tile(policies.start_cents // policies.steps, (n, 1))
        self.memories = np.tile([t.initial for t in policies.tables], (n, 1)).astype(np.int64)
        self.played = np.zeros_like(self.levels)
        self.placed = np.zeros(len(policies.nets), dtype=np.int64)
        self.done = 0
        self._ends = np.full(self.levels.shape, _PLAYING, dtype=np.int64)
        self._ends[self.levels < policies.offsets[:, _BOTTOM]] = _ENDS["ruin"]
        self._ends[self.levels >= policies.offsets[:, _TOP]] = _ENDS["top"]
        self._row = np.uint64(row_seed_of(seed) + first)
        self._draw_row = np.uint64(stream_seed(seed, "evaluation/sessions/draws") + first)

    @property
    def bankrolls_cents(self) -> NDArray[np.int64]:
        """Now, or where the session ended; int64 (n, P)."""
        return self.levels * self.policies.steps

    @property
    def n_playing(self) -> int:
        """Sessions that some policy still plays."""
        return int((self._ends == _PLAYING).any(axis=1).sum())

    def have_ended(self, how: Literal["ruin", "top", "left"]) -> NDArray[np.bool_]:
        """Which ended so, bool (n, P); "top" is the target, or the last level without one."""
        return np.equal(self._ends, _ENDS[how])

    def advance(self, size: int) -> None:
        """Deal ``size`` more rounds to the sessions that are still played, and play them."""
        from niulab.evaluation.sessions.kernels import play_block

        policies = self.policies
        sessions = np.flatnonzero((self._ends == _PLAYING).any(axis=1))
        if not len(sessions):
            return
        rounds = np.tile(np.arange(self.done, self.done + size), len(sessions))
        rows = np.repeat(sessions, size).astype(np.uint64)
        cells = policies.engine.cells(rows + self._row, rounds)
        drawn = slice(len(rows) if policies.offsets[:, _DRAWS].any() else 0)
        words = round_words(rows[drawn] + self._draw_row, rounds[drawn])
        play_block(
            cells.reshape(len(sessions), -1),
            policies.class_of,
            words.reshape(len(sessions), -1),
            sessions,
            policies.choices,
            policies.followings,
            policies.offsets,
            policies.nets,
            self.levels,
            self.memories,
            self._ends,
            self.played,
            self.placed,
        )
        self.done += size
