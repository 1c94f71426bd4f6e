"""What is kept of the players of one bucket, and the file it lies in."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from niulab.errors import PlayLogError
from niulab.evaluation.detection.excess import ExcessStates
from niulab.evaluation.detection.fold import PlayerStates
from niulab.evaluation.detection.portfolio import Portfolio
from niulab.evaluation.playlog.plays import NO_TIME

__all__ = ["N_POINTS", "People"]

N_POINTS = 64
"""Points kept of each player's trajectory."""


@dataclass(frozen=True, eq=False, kw_only=True)
class People:
    """P players by name: their wealth, excess, money, and the way of their e-value.

    nets: int64 (P,), cents over all boxes. last_rounds: uint64 (P,), a hash of the last round that
    was folded, 0 for none. paths: float64 (P, N_POINTS), log e-values after every ``stride``-th
    round, nan beyond the last; strides: int64 (P,). last_times, at_last, ties: int64 (P,), the time
    of the last round, rounds at that time, and rounds beside another at their time.
    """

    names: tuple[str, ...]
    states: PlayerStates
    excess: ExcessStates
    nets: NDArray[np.int64]
    last_rounds: NDArray[np.uint64]
    paths: NDArray[np.float64]
    strides: NDArray[np.int64]
    last_times: NDArray[np.int64]
    at_last: NDArray[np.int64]
    ties: NDArray[np.int64]

    @classmethod
    def fresh(cls, names: Sequence[str], portfolio: Portfolio) -> People:
        """Players of whom nothing is known."""
        n = len(names)
        return cls(
            names=tuple(names),
            states=PlayerStates.fresh(n, portfolio),
            excess=ExcessStates.fresh(n),
            nets=np.zeros(n, dtype=np.int64),
            last_rounds=np.zeros(n, dtype=np.uint64),
            paths=np.full((n, N_POINTS), np.nan),
            strides=np.ones(n, dtype=np.int64),
            last_times=np.full(n, NO_TIME, dtype=np.int64),
            at_last=np.zeros(n, dtype=np.int64),
            ties=np.zeros(n, dtype=np.int64),
        )

    def __len__(self) -> int:
        return len(self.names)

    def with_names(self, names: Sequence[str], portfolio: Portfolio) -> People:
        """These players and, after them, fresh ones for names that are new."""
        known = set(self.names)
        new = [name for name in names if name not in known]
        return People.join([self, People.fresh(new, portfolio)]) if new else self

    def codes_of(self, names: Sequence[str]) -> NDArray[np.int32]:
        """The places of names that are here, (len(names),)."""
        places = {name: place for place, name in enumerate(self.names)}
        return np.array([places[name] for name in names], dtype=np.int32)

    @staticmethod
    def join(parts: Sequence[People]) -> People:
        """Players of several pieces, one after the other; no player may be in two."""
        return People(
            names=tuple(name for part in parts for name in part.names),
            states=PlayerStates.join([part.states for part in parts]),
            excess=ExcessStates.join([part.excess for part in parts]),
            **{name: np.concatenate([getattr(part, name) for part in parts]) for name in _PLAIN},
        )

    def as_bytes(self) -> bytes:
        """A file's content; equal states make equal bytes."""
        columns = {name: getattr(self, name) for name in _PLAIN}
        for prefix, part in (("states", self.states), ("excess", self.excess)):
            columns |= {f"{prefix}.{f.name}": getattr(part, f.name) for f in fields(part)}
        text = json.dumps(self.names, ensure_ascii=False).encode("utf-8", "surrogatepass")
        stream = io.BytesIO()
        np.savez(stream, names=np.frombuffer(text, dtype=np.uint8), **columns)
        return stream.getvalue()

    @classmethod
    def read(cls, path: Path) -> People:
        """Raises PlayLogError for a file that is none."""
        try:
            with np.load(path, allow_pickle=False) as file:
                columns: dict[str, Any] = dict(file)
            text = columns.pop("names").tobytes().decode("utf-8", "surrogatepass")
            parts = {
                prefix: {
                    name.removeprefix(f"{prefix}."): columns[name]
                    for name in columns
                    if name.startswith(f"{prefix}.")
                }
                for prefix in ("states", "excess")
            }
            return cls(
                names=tuple(json.loads(text)),
                states=PlayerStates(**parts["states"]),
                excess=ExcessStates(**parts["excess"]),
                **{name: columns[name] for name in _PLAIN},
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise PlayLogError(
                f"{path}: no states of players ({error}); begin again with a new --state"
            ) from error


_PLAIN = ("nets", "last_rounds", "paths", "strides", "last_times", "at_last", "ties")
