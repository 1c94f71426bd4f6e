"""Rows of consecutive lines as text, or as what their plainest fields say."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from niulab.evaluation.playlog.chunk import Quarantined
from niulab.evaluation.playlog.text.blocks import Block, line_text
from niulab.evaluation.playlog.text.layout import Layout

__all__ = ["Plain", "Rows", "shown"]

_SHOWN = 4096  # bytes of a line that are kept in the quarantine


@dataclass(frozen=True, eq=False)
class Plain:
    """A column of numbers, times or hands whose fields were all read as their lines were split.

    values: int64 (n,) with ``kernels.EMPTY`` for an empty field, or uint8 (n, 5).
    """

    values: NDArray[Any]


@dataclass(eq=False)
class Rows:
    """Rows of consecutive lines.

    columns: by name, ``Plain`` or Arrow arrays of strings or dictionaries of strings, all of one
    length; lines: int64 (n,). layout: after these lines. Counts and warnings as in ``Chunk``.
    """

    columns: dict[str, Any]
    lines: NDArray[np.int64]
    block: Block
    n_read: int
    n_blank: int = 0
    n_headers: int = 0
    quarantined: list[Quarantined] = field(default_factory=list)
    warnings: dict[str, int] = field(default_factory=dict)
    layout: Layout | None = None

    def texts_of(self, lines: NDArray[np.int64]) -> list[str]:
        """Some lines as they stand in the source, without their ends, cut if they are long."""
        if not len(lines):
            return []
        raw = self.block.data.split(b"\n")
        return [shown(raw[line - self.block.first_line]) for line in lines.tolist()]

    def warn(self, sentence: str, times: int = 1) -> None:
        self.warnings[sentence] = self.warnings.get(sentence, 0) + times


def shown(line: bytes) -> str:
    """A line as the quarantine shows it."""
    return line_text(line[:_SHOWN].removesuffix(b"\r"))[0]
