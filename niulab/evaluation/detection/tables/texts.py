"""The text behind a code of a play log."""

from __future__ import annotations

from collections.abc import Sequence

from niulab.evaluation.playlog.plays import NO_CODE

__all__ = ["text_of"]


def text_of(texts: Sequence[str], code: int) -> str:
    """The text at a place of a vocabulary, "" where it is not recorded."""
    return "" if code == NO_CODE or not texts else texts[code]
