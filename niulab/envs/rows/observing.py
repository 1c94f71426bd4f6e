"""The observations of many rows, written to arrays that are the caller's or the same every time."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from niulab.engine.cards import HAND_SIZE, N_CARDS
from niulab.envs.encoding import PHASES, Encoding, Sight
from niulab.envs.rows.recycling import Recycler

__all__ = ["Observer"]

_CARDS = {"own hand": "hands", "dealer hand": "dealers"}
_NUMBERED = {"phase": "phases", "stakes": "slips", "signal": "signals"}
_SHOE = {"last cards", "cards left"}
_MADE_WHEN_NEEDED = ("_spots", "_codes", "_terms")


class Observer:
    """Writes what ``Encoding.encode`` gives for n rows, column by column and flag by flag.

    With ``copy`` an array is the caller's; without, there is one for observations and one for final
    observations.
    """

    def __init__(self, encoding: Encoding, n: int, *, copy: bool) -> None:
        self._encoding = encoding
        self._has_flags = encoding.settings.encoding == "flags"
        self._arrays = Recycler((n, encoding.size), encoding.dtype)
        self._kept = None if copy else (self._arrays.take(), self._arrays.take())

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key not in _MADE_WHEN_NEEDED}

    def observe(self, sight: Sight, *, is_final: bool = False) -> NDArray[Any]:
        """Observations (n, size) of what the players see."""
        out = self._arrays.take() if self._kept is None else self._kept[int(is_final)]
        if self._has_flags:
            out.fill(0)
        for field in self._encoding.layout:
            name, columns = field.name, range(field.start, field.stop)
            if name in _CARDS:
                cards = getattr(sight, _CARDS[name])
                if self._has_flags:
                    self._set_flags(cards, name, out)
                else:
                    out[:, field.start : field.stop] = cards  # an id is its own code
            elif name in _NUMBERED:
                number = getattr(sight, _NUMBERED[name])
                for column, codes in zip(columns, self._codes[name], strict=True):
                    out[:, column] = codes[number]
            elif name == "terms":  # too many columns to go through one by one
                out[:, field.start : field.stop] = self._terms[sight.sheets]
            elif name in _SHOE:
                out[:, field.start : field.stop] = self._encoding.encode_field(name, sight)
            else:
                values = self._encoding.encode_field(name, sight)
                for column, of_column in zip(columns, values.T, strict=True):
                    out[:, column] = of_column
        return out

    def _set_flags(self, cards: NDArray[np.uint8], name: str, out: NDArray[Any]) -> None:
        from niulab.envs.rows.kernels import write_flags

        write_flags(cards, self._spots[name], out)

    @cached_property
    def _spots(self) -> dict[str, NDArray[np.uint16]]:
        """Columns of a card's flags: uint16 (5, 52, flags), by its place in the hand and its id."""
        same = np.repeat(np.arange(N_CARDS, dtype=np.uint8)[:, None], HAND_SIZE, axis=1)
        observations = self._encoding.encode_hands(same, same)
        found = {}
        for field in self._encoding.layout:
            if field.name in _CARDS:
                flags = observations[:, field.start : field.stop]
                spots = field.start + np.nonzero(flags)[1].reshape(N_CARDS, HAND_SIZE, -1)
                found[field.name] = spots.transpose(1, 0, 2).astype(np.uint16, order="C")
        return found

    @cached_property
    def _terms(self) -> NDArray[Any]:
        """The terms of each sheet: (sheets, columns)."""
        n_sheets = len(self._encoding.settings.every_sheet)
        return self._encoding.encode_field("terms", Sight(sheets=np.arange(n_sheets)))

    @cached_property
    def _codes(self) -> dict[str, NDArray[Any]]:
        """Each column of a field that shows one of few numbers, by that number: (columns, m)."""
        n_slips = len(self._encoding.settings.menu)
        signals = self._encoding.signals
        numbers = Sight(
            phases=np.arange(len(PHASES)),
            slips=np.append(np.arange(n_slips), -1),  # so that -1 finds its own code, the last
            signals=None if signals is None else np.arange(len(signals.names)),
        )
        return {
            field.name: np.ascontiguousarray(self._encoding.encode_field(field.name, numbers).T)
            for field in self._encoding.layout
            if field.name in _NUMBERED
        }
