"""Streams rounds and averages them: cells are counted, and everything follows from counts.

Both hands are best set. The same seed gives the same totals for any number of threads, and whether
or not the run was interrupted. Nothing is averaged in floating point before the last division.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import lcm, sqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from niulab.engine.batch import BatchEngine, Tally
from niulab.engine.rules import RuleSet, load_rules
from niulab.engine.settlement import Outcome, unit_result
from niulab.engine.wagers import Slip, least_slip
from niulab.errors import CheckpointError, ConfigError
from niulab.evaluation.statistics import Estimate, normal_quantile
from niulab.evaluation.streaming.checkpoint import Progress, read_progress, write_progress
from niulab.seeding import ALGORITHM_VERSION, stream_seed
from niulab.solvers.joint_law import JointLaw, joint_law, tie_outcomes
from niulab.solvers.values import box_values, player_edges, slip_values

__all__ = ["Compared", "Frequency", "StreamedScore", "simulate_stream"]

_MOST_ROUNDS = 10**15
"""About a year of one core; counts stay far inside int64."""

_FIRST_PIECE, _PIECE_SECONDS, _SAVE_SECONDS = 1 << 16, 0.5, 1.0


@dataclass(frozen=True)
class Compared:
    """A simulated mean per seat and round, with its interval, beside the exact one."""

    estimate: Estimate
    exact: Fraction

    @property
    def is_inside(self) -> bool:
        """Whether the interval holds the exact value; one in twenty does not at level 0.95."""
        return self.estimate.covers(float(self.exact))


@dataclass(frozen=True)
class Frequency:
    """How often the seats' rounds ended in one way, beside its exact probability."""

    count: int
    share: float
    exact: Fraction


@dataclass(frozen=True)
class StreamedScore:
    """A streamed simulation beside the exact solution; boxes per unit staked, the slip in cents.

    ``seconds`` and ``rounds_per_second`` are of this call, without compilation; ``n_resumed``
    rounds were read from the checkpoint.
    """

    rules: RuleSet
    slip: Slip
    n_seats: int
    seed: int
    n_rounds: int
    n_resumed: int
    seconds: float
    boxes: Mapping[str, Compared]
    slip_cents: Compared
    outcomes: Mapping[Outcome, Frequency]
    warnings: tuple[str, ...]

    @property
    def rounds_per_second(self) -> float | None:
        """None where the checkpoint held all rounds already."""
        n = self.n_rounds - self.n_resumed
        return n / self.seconds if n and self.seconds > 0 else None


def simulate_stream(
    rules: str | Path | RuleSet,
    slip: str | Slip | None = None,
    *,
    n_rounds: int,
    n_seats: int = 1,
    threads: int = 1,
    seed: int = 0,
    level: float = 0.95,
    checkpoint: Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> StreamedScore:
    """Play ``n_rounds`` rounds of ``n_seats`` seats that all place the slip (default: the least).

    With a ``checkpoint`` the totals are kept in that file every second and at the end, and a
    run that finds it goes on from there, if need be to more rounds. Raises WagerError,
    ConfigError or CheckpointError.
    """
    rule_set = load_rules(rules)
    stakes = least_slip(rule_set) if slip is None else Slip.of(slip)
    engine = BatchEngine(rule_set, n_seats)
    values = _Values.of(engine, stakes)
    _verify_counts(engine, n_rounds, threads)
    z = normal_quantile(level)
    play = _Play(engine, values.table, stream_seed(seed, "simulate"), threads)
    identity = {
        "rules": rule_set.name,
        "rules_hash": rule_set.rules_hash,
        "slip": str(stakes),
        "seats": n_seats,
        "seed": seed,
        "deals": ALGORITHM_VERSION,
    }
    begun = Progress(0, {}, (0,) * values.table.shape[-1])
    if checkpoint is not None:
        begun = read_progress(checkpoint, identity=identity) or begun
        if begun.n_rounds > n_rounds:
            raise CheckpointError(
                f"the checkpoint '{checkpoint}' holds {begun.n_rounds} rounds already, more than "
                f"the {n_rounds} asked for: ask for as many, or choose another file"
            )
        write_progress(checkpoint, begun, identity=identity)  # one that cannot be is told now
    play(0, engine.rounds_per_shoe)  # compiles
    start = time.perf_counter()
    whole = _stream(
        play,
        begun,
        n_rounds // engine.rounds_per_shoe * engine.rounds_per_shoe,
        lambda done: progress(done, n_rounds) if progress is not None else None,
        _Saver(checkpoint, identity),
    )
    total = _plus(whole, play(whole.n_rounds, n_rounds - whole.n_rounds), n_rounds)
    seconds = time.perf_counter() - start
    law = joint_law(rule_set)
    estimates = _estimates(engine, values, whole, total, level=level, z=z)
    exact = {box: value.ev for box, value in box_values(rule_set, law).items()}
    return StreamedScore(
        rules=rule_set,
        slip=stakes,
        n_seats=n_seats,
        seed=seed,
        n_rounds=n_rounds,
        n_resumed=begun.n_rounds,
        seconds=seconds,
        boxes={box: Compared(estimates[box], exact[box]) for box in exact},
        slip_cents=Compared(estimates[_SLIP], slip_values(rule_set, stakes, law).ev_cents),
        outcomes=_frequencies(total, law, n_rounds * n_seats),
        warnings=tuple(player_edges(rule_set, law)),
    )


def _verify_counts(engine: BatchEngine, n_rounds: int, threads: int) -> None:
    per_shoe = engine.rounds_per_shoe
    if n_rounds < 2 * per_shoe:
        unit = "rounds" if per_shoe == 1 else f"rounds, two shoes of this sheet ({2 * per_shoe})"
        raise ConfigError(f"an interval needs at least 2 {unit}, got {n_rounds}")
    if n_rounds > _MOST_ROUNDS:
        raise ConfigError(f"at most {_MOST_ROUNDS} rounds can be counted, got {n_rounds}")
    if threads < 1:
        raise ConfigError(f"a simulation needs at least 1 thread, got {threads}: write 1")


# ---------------------------------------------------------------- what is averaged

_SLIP = "slip"


class _Values(NamedTuple):
    """What a seat wins in each cell, as integers: the slip in cents, boxes in parts of a unit.

    table: int64 (verdict, rank, rank, events, q); value q is worth ``table[..., q] / parts[q]``.
    """

    names: tuple[str, ...]
    table: NDArray[np.int64]
    parts: tuple[int, ...]

    @classmethod
    def of(cls, engine: BatchEngine, slip: Slip) -> _Values:
        """Raises WagerError for a slip the table must refuse."""
        rules, nets = engine.rules, engine.nets(slip)[0]
        ties = tie_outcomes(rules)
        tables, parts = [nets], [1]
        for box in rules.boxes:
            units = [
                unit_result(
                    rules,
                    box,
                    outcome=ties[player] if verdict == Outcome.PUSH else Outcome(verdict),
                    player_rank=player,
                    dealer_rank=dealer,
                    events=events,
                ).net
                for verdict, player, dealer, events in np.ndindex(nets.shape)
            ]
            part = lcm(*(unit.denominator for unit in units))
            numerators = [int(unit * part) for unit in units]
            tables.append(np.array(numerators, dtype=np.int64).reshape(nets.shape))
            parts.append(part)
        return cls((_SLIP, *rules.boxes), np.stack(tables, axis=-1), tuple(parts))


def _estimates(
    engine: BatchEngine,
    values: _Values,
    whole: Progress,
    total: Progress,
    *,
    level: float,
    z: float,
) -> dict[str, Estimate]:
    """Means over all rounds; the variance is that of the totals of whole shoes, over all seats."""
    n_shoes = whole.n_rounds // engine.rounds_per_shoe
    estimates = {}
    for q, (name, part) in enumerate(zip(values.names, values.parts, strict=True)):
        table = values.table[..., q]
        # Seats of a round share the dealer and rounds of a shoe its cards, so shoes are resampled.
        shoes = _sum(whole, table)
        variance = (whole.squares[q] - Fraction(shoes**2, n_shoes)) / (n_shoes - 1)
        n = Fraction(total.n_rounds, engine.rounds_per_shoe)
        scale = part * engine.n_seats * engine.rounds_per_shoe
        estimates[name] = Estimate(
            mean=float(Fraction(_sum(total, table), total.n_rounds * engine.n_seats * part)),
            half_width=z * sqrt(variance / n) / scale,
            level=level,
            n_rounds=total.n_rounds,
        )
    return estimates


def _sum(progress: Progress, table: NDArray[np.int64]) -> int:
    return sum(n * int(table[cell]) for cell, n in progress.cells.items())


def _frequencies(total: Progress, law: JointLaw, n: int) -> dict[Outcome, Frequency]:
    ties = tie_outcomes(law.rules)
    counts: Counter[Outcome] = Counter()
    for (verdict, player, *_), seen in total.cells.items():
        counts[ties[player] if verdict == Outcome.PUSH else Outcome(verdict)] += seen
    return {
        outcome: Frequency(counts[outcome], counts[outcome] / n, law.probability(outcome))
        for outcome in (Outcome.WIN, Outcome.LOSE, Outcome.PUSH)
    }


# ---------------------------------------------------------------- the stream


@dataclass(frozen=True)
class _Play:
    """Tallies rounds ``first`` to ``first + n`` of the one row of this simulation."""

    engine: BatchEngine
    values: NDArray[np.int64]
    row_seed: int
    threads: int

    def __call__(self, first: int, n: int) -> Tally:
        return self.engine.tally(self.row_seed, first, n, self.values, threads=self.threads)


@dataclass(frozen=True)
class _Saver:
    path: Path | None
    identity: Mapping[str, Any]

    def __call__(self, progress: Progress) -> None:
        if self.path is not None:
            write_progress(self.path, progress, identity=self.identity)


def _stream(
    play: _Play,
    begun: Progress,
    n_rounds: int,
    report: Callable[[int], None],
    save: Callable[[Progress], None],
) -> Progress:
    """Go on to ``n_rounds``, both ends whole shoes, in pieces of half a second."""
    per_shoe = play.engine.rounds_per_shoe
    done, size = begun, _FIRST_PIECE
    saved_at = time.perf_counter()
    report(done.n_rounds)
    try:
        while done.n_rounds < n_rounds:
            start = time.perf_counter()
            n = min(size // per_shoe * per_shoe, n_rounds - done.n_rounds)
            done = _plus(done, play(done.n_rounds, n), done.n_rounds + n)
            now = time.perf_counter()
            size = max(_FIRST_PIECE, int(n / max(now - start, 1e-6) * _PIECE_SECONDS))
            report(done.n_rounds)
            if now - saved_at > _SAVE_SECONDS:
                save(done)
                saved_at = now
    finally:  # an interrupt loses the piece it falls into, no more
        if done is not begun:
            save(done)
    return done


def _plus(progress: Progress, tally: Tally, n_rounds: int) -> Progress:
    """A new object: an interrupt finds the old totals or the new ones."""
    counts = tally.counts.sum(axis=0)
    seen = np.nonzero(counts)
    cells = Counter(progress.cells)
    for place, n in zip(np.transpose(seen).tolist(), counts[seen].tolist(), strict=True):
        cells[tuple(place)] += n
    squares = (a + b for a, b in zip(progress.squares, tally.squares, strict=True))
    return Progress(n_rounds, cells, tuple(squares))
