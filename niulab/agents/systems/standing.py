"""What a bettor can know of its rows: the chips, and what the last round brought.

The environment's infos say it exactly. Where they hold nothing of a row, as in a reset of other
rows or for who asks without them, it is read off the observation. A float32 bankroll B is exact to
the cent below a target of 2^24 cents, and without a target while (B + start)^2 < 2^24 start; a
uint8 one is rough. A new episode then shows by all its rounds being left; without a deadline it
does not show. Rounds left that are neither all of them nor one less than before say that somebody
asks about a round out of its session: what came before it is unknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from niulab.agents.base import Infos, Observations
from niulab.envs.encoding import ENDED, PHASES, Encoding
from niulab.envs.settings import EnvSettings

__all__ = ["Standing", "StandingReader"]

_Cents = NDArray[np.int64]
_Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Standing:
    """Where n rows stand before a bet.

    bankrolls, rounds_left (-1: no deadline): int64 (n,). nets: int64 (n,), of the round just before
    where ``has_played``; elsewhere an episode begins. has_ended: rows that show an ended episode.
    is_unknown: rows of which nothing tells what came before.
    """

    bankrolls: _Cents
    rounds_left: _Cents
    nets: _Cents
    has_played: _Flags
    has_ended: _Flags
    is_unknown: _Flags


class StandingReader:
    """Reads the rows of one task."""

    def __init__(self, settings: EnvSettings) -> None:
        self._settings = settings
        self._encoding = Encoding(settings)
        self._fields = {field.name: field for field in self._encoding.layout}
        is_exact = self._encoding.dtype == np.float32
        self._slack = 0 if is_exact else (settings.n_rounds or 0) / 255  # of rounds left

    def read(
        self, observations: Observations, infos: Infos, before: Standing | None = None
    ) -> Standing:
        """Where the rows stand; ``before``: where they stood at the bet before, None at the first.

        Infos of another number of rows say nothing of these.
        """
        n = len(observations)
        is_told, bankrolls = _entry(infos, "bankroll_cents", n)
        rounds_left, nets = (_entry(infos, key, n)[1] for key in ("rounds_left", "last_net_cents"))
        has_played, has_ended = (_entry(infos, key, n)[0] for key in ("settlement", "end"))
        told = Standing(bankrolls, rounds_left, nets, has_played, has_ended, ~is_told)
        if is_told.all():
            return told
        seen = self._see(observations, before)
        return Standing(
            *(
                np.where(is_told, getattr(told, name), getattr(seen, name))
                for name in Standing.__dataclass_fields__
            )
        )

    def _see(self, observations: Observations, before: Standing | None) -> Standing:
        """Where the rows stand by what they show."""
        settings, shares = self._settings, self._scalar(observations, "bankroll")
        start, target = settings.bankroll_cents, settings.target_cents
        if target is None:  # B / (B + start), below 1 but for rounding
            shares = (start or 0) * shares / np.maximum(1 - shares, 1e-9)
        bankrolls = _whole(shares if target is None else target * shares)
        has_ended = self._encoding.decode_phase(observations) == PHASES[ENDED]
        left = self._rounds_left(observations)
        has_begun, follows = left == (settings.n_rounds or 0), left == -1
        if before is None:
            has_begun, nets = has_begun | follows, 0 * bankrolls
        else:
            off = np.abs(left + 1 - before.rounds_left)
            follows = follows | (off <= self._slack)
            has_begun, nets = has_begun | before.has_ended, bankrolls - before.bankrolls
        return Standing(
            bankrolls, left, nets, ~has_begun, has_ended, is_unknown=~(has_begun | follows)
        )

    def _rounds_left(self, observations: Observations) -> NDArray[np.int64]:
        """Rounds left as shown, -1 without a deadline; a single round is not shown."""
        n_rounds = self._settings.n_rounds
        if n_rounds is None or n_rounds == 1:
            return np.full(len(observations), n_rounds or -1, dtype=np.int64)
        return _whole(n_rounds * self._scalar(observations, "rounds left"))

    def _scalar(self, observations: Observations, name: str) -> NDArray[np.float64]:
        """A field of one number in [0, 1]; zeros where the task does not show it."""
        if name not in self._fields:
            return np.zeros(len(observations))
        field = self._fields[name]
        scalars: NDArray[np.float64] = observations[:, field.start] / float(field.high)
        return scalars.astype(np.float64)


def _whole(scalars: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.rint(scalars).astype(np.int64)


def _entry(infos: Infos, key: str, n: int) -> tuple[_Flags, Any]:
    """Which of n rows have an info, and the numbers under it, zeros where there are none.

    Infos of a single environment are scalars, and hold what they name.
    """
    nothing = np.zeros(n, dtype=np.bool_), np.zeros(n, dtype=np.int64)
    if key not in infos:
        return nothing
    has = np.atleast_1d(infos.get(f"_{key}", True))
    values = nothing[1] if isinstance(infos[key], dict) else np.atleast_1d(infos[key])
    return (has, values) if len(has) == len(values) == n else nothing
