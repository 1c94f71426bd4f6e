"""The observation of one state at a time, in a tenth of the time a batch of one takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from niulab.envs.encoding import NO_CARD, Encoding, Sight

__all__ = ["RowEncoder"]


class RowEncoder:
    """Writes the observation of one state at a time: the bytes of its fields, joined.

    ``names`` of the states' entries: hand, dealer, phase, slip, bankroll_cents and rounds_left are
    shown, and a signal and a look at the shoe that are given. A field's bytes are those of
    ``Encoding.encode``, kept by the value that the field shows.
    """

    _MOST_VALUES = 1 << 12

    def __init__(self, encoding: Encoding, names: Sequence[str]) -> None:
        self._encoding = encoding
        self._dtype = encoding.dtype
        sight = Sight(hands=np.arange(NO_CARD + 1, dtype=np.uint8)[:, None])
        self._codes = [code.tobytes() for code in encoding.encode_field("own hand", sight)]
        self._shown = shown = {field.name for field in encoding.layout}
        self._hand_place, self._dealer_place = names.index("hand"), names.index("dealer")
        self._shows_hand = "own hand" in shown
        self._shows_dealer = "dealer hand" in shown
        self._hand: Any = None
        self._dealer: Any = None
        self._bytes, self._cards = b"", np.empty(0, self._dtype)
        self._scalars: list[tuple[int, Callable[[int], bytes]]] = [
            (names.index(name), lru_cache(self._MOST_VALUES)(partial(self._bytes_of, field, key)))
            for field, name, key in (
                ("phase", "phase", "phases"),
                ("stakes", "slip", "slips"),
                ("bankroll", "bankroll_cents", "bankrolls"),
                ("rounds left", "rounds_left", "rounds_left"),
            )
            if field in shown
        ]
        n_signals = 0 if encoding.signals is None else len(encoding.signals.names)
        self._signals = [self._bytes_of("signal", "signals", one) for one in range(n_signals)]

    def encode(
        self,
        state: tuple[Any, ...],
        signal: int | None = None,
        shoe: NDArray[np.integer] | None = None,
    ) -> NDArray[Any]:
        """A fresh observation (size,); ``signal`` where the task has a channel, ``shoe`` (1, width)
        where it shows the shoe.
        """
        hand, dealer = state[self._hand_place], state[self._dealer_place]
        if hand is not self._hand or dealer is not self._dealer:
            self._show(hand, dealer)
        if not self._scalars:
            return self._cards.copy()
        parts = [self._bytes]
        for place, bytes_of in self._scalars:
            parts.append(bytes_of(state[place]))
        if signal is not None:
            parts.append(self._signals[signal])
        if shoe is not None:  # too many values to keep
            field = "last cards" if "last cards" in self._shown else "cards left"
            parts.append(self._encoding.encode_field(field, Sight(shoe=shoe)).tobytes())
        return np.frombuffer(b"".join(parts), self._dtype).copy()

    def _show(self, hand: tuple[int, ...], dealer: tuple[int, ...]) -> None:
        """Keep what the cards look like: most are shown twice or more in a row."""
        self._hand, self._dealer = hand, dealer
        codes, blob = self._codes, b""
        if self._shows_hand:
            a, b, c, d, e = hand
            blob = b"".join((codes[a], codes[b], codes[c], codes[d], codes[e]))
        if self._shows_dealer:
            blob += b"".join([codes[card] for card in dealer])
        self._bytes = blob
        if not self._scalars:
            self._cards = np.frombuffer(blob, self._dtype)

    def _bytes_of(self, field: str, key: str, value: int) -> bytes:
        sight = Sight(**{key: np.array([value])})
        return self._encoding.encode_field(field, sight).tobytes()
