"""What a file is known by, and where its pieces begin: both from one reading of its bytes."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

import numpy as np

from niulab.evaluation.playlog.chunk import ReadOptions
from niulab.evaluation.playlog.text.blocks import MOST_BLOCK_BYTES, Source

__all__ = ["Fingerprint", "fingerprint"]

_BLOCK = 1 << 22


@dataclass(frozen=True)
class Fingerprint:
    """A file's bytes and the hash of its content, and of its first bytes if asked for.

    starts: offsets of every so many lines from the first on; none for a file that can only be read
    from its beginning.
    """

    size: int
    content: str
    prefix: str = ""
    starts: tuple[int, ...] = ()


def fingerprint(
    path: Path, prefix: int = 0, *, options: ReadOptions | None = None, chunks: int = 0
) -> Fingerprint:
    """Size and hash of a file, and the hash of its first ``prefix`` bytes.

    chunks: of ``options.rows`` lines, after which a piece begins; 0 for no starts.
    """
    is_plain = options is not None and chunks > 0 and Source(path, options.encoding).is_plain()
    marks = _Marks(options.rows) if options is not None and is_plain else None
    hasher, at_prefix, size = blake2b(digest_size=20), "", 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK if size >= prefix else min(_BLOCK, prefix - size)):
            hasher.update(block)
            if marks is not None:
                marks.add(block, size)
            size += len(block)
            if size == prefix:
                at_prefix = hasher.copy().hexdigest()
    starts = marks.starts(size)[::chunks] if marks is not None else ()
    return Fingerprint(size, hasher.hexdigest(), at_prefix, starts)


class _Marks:
    """Offsets of every ``lines``-th line, found block by block."""

    def __init__(self, lines: int) -> None:
        self._lines = lines
        self._n = 0
        self._found = [0]

    def add(self, block: bytes, offset: int) -> None:
        n = block.count(b"\n")
        first = self._lines - self._n % self._lines - 1  # the next end that is a mark
        self._n += n
        if first < n:
            ends = np.flatnonzero(np.frombuffer(block, np.uint8) == ord("\n"))
            self._found += (ends[first :: self._lines] + offset + 1).tolist()

    def starts(self, size: int) -> tuple[int, ...]:
        """Where chunks begin; none if some are of so many bytes that a reader cuts them."""
        found = [start for start in self._found if start < size or start == 0]
        if max(np.diff([*found, size])) > MOST_BLOCK_BYTES - 2 * _BLOCK:
            return ()
        return tuple(found)
