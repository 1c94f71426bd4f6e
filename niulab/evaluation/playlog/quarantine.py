"""The quarantine: a file of the rows that were not kept, each with its line and the reason."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from niulab.evaluation.playlog.chunk import Quarantined

__all__ = ["QuarantineFile", "read_quarantine"]

_HEADER = ("source", "line", "reason", "text")


class QuarantineFile:
    """A CSV file of ``source,line,reason,text`` that grows; a context manager.

    Nothing is created until the first row. ``size`` is the length in bytes after the last flush, to
    which an importer that was killed can cut it back (``QuarantineFile(path, size=...)``).
    """

    def __init__(self, path: Path, *, size: int | None = None) -> None:
        self.path = path
        self.n_rows = 0
        if size is not None and path.exists():
            with path.open("r+b") as file:
                file.truncate(size)
        self._file = None if not path.exists() else path.open("a", encoding="utf-8", newline="")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def write(self, source: str, rows: Iterable[Quarantined]) -> None:
        """Add rows of a source (its file name)."""
        for row in rows:
            if self._file is None:
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._file = self.path.open("a", encoding="utf-8", newline="")
            values = source, row.line, row.reason, row.text.replace("\0", "\N{SYMBOL FOR NULL}")
            writer = csv.writer(self._file, lineterminator="\n")
            if self._file.tell() == 0:
                writer.writerow(_HEADER)
            # before Python 3.13 a carriage return alone is not quoted, and ends the row for readers
            if any("\r" in str(value) for value in values):
                writer = csv.writer(self._file, lineterminator="\n", quoting=csv.QUOTE_ALL)
            writer.writerow(values)
            self.n_rows += 1

    @property
    def size(self) -> int:
        """Bytes on disk once all rows so far are written."""
        if self._file is None:
            return 0
        self._file.flush()
        return self.path.stat().st_size

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None


def read_quarantine(path: Path) -> Iterator[tuple[str, Quarantined]]:
    """Sources and rows of a quarantine file."""
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            yield row["source"], Quarantined(int(row["line"]), row["reason"], row["text"])
