"""Texts and their codes, growing: one lexicon for the chunks of a log, or of several logs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from niulab.evaluation.playlog.plays import NO_CODE, Plays, Vocabularies

__all__ = ["Lexicon", "Vocabulary"]


class Vocabulary:
    """Texts in the order first met; a text's code is its place."""

    def __init__(self, texts: Sequence[str] = ()) -> None:
        self._codes = {text: code for code, text in enumerate(texts)}

    def __len__(self) -> int:
        return len(self._codes)

    @property
    def texts(self) -> tuple[str, ...]:
        """All texts by code."""
        return tuple(self._codes)

    def code(self, text: str) -> int:
        """The code of a text, a new one if it was not met before."""
        return self._codes.setdefault(text, len(self._codes))

    def codes(self, texts: Sequence[str]) -> NDArray[np.int32]:
        """Codes of several texts, int32 (n,)."""
        return np.fromiter((self.code(text) for text in texts), np.int32, len(texts))


class Lexicon:
    """A vocabulary for each kind of text of ``Plays``."""

    def __init__(self, texts: Vocabularies | None = None) -> None:
        start = texts or Vocabularies()
        self._by_kind = {
            kind.name: Vocabulary(getattr(start, kind.name)) for kind in fields(Vocabularies)
        }

    def __getitem__(self, kind: str) -> Vocabulary:
        return self._by_kind[kind]

    @property
    def texts(self) -> Vocabularies:
        """All texts met so far."""
        return Vocabularies(**{kind: known.texts for kind, known in self._by_kind.items()})

    def recode(self, plays: Plays) -> Plays:
        """The same rows with codes of this lexicon, which learns their texts.

        Making ``texts`` costs time in proportion to all texts known: recode large pieces.
        """
        columns: dict[str, Any] = {}
        for column, kind in Plays.CODES.items():
            codes = getattr(plays, column)
            new = np.append(self[kind].codes(getattr(plays.texts, kind)), np.int32(NO_CODE))
            columns[column] = new[codes]  # the last is NO_CODE, which is -1
        return replace(plays, texts=self.texts, **columns)
