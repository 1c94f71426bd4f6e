"""The manifest of a play log's store: which files count, what was read, what became of it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

from niulab.errors import PlayLogError

__all__ = ["Counts", "Manifest", "Source", "StoredFile", "sync_folder", "write_atomically"]

_FORMAT = 1


@dataclass(frozen=True)
class Counts:
    """What became of every line: read = kept + duplicates + quarantined + blank + headers.

    late: rows among those kept that came after later rounds of their player.
    """

    read: int = 0
    kept: int = 0
    duplicates: int = 0
    quarantined: int = 0
    blank: int = 0
    headers: int = 0
    late: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    @property
    def is_balanced(self) -> bool:
        """Whether every line is accounted for."""
        gone = self.duplicates + self.quarantined + self.blank + self.headers
        return self.read == self.kept + gone


@dataclass(frozen=True)
class Source:
    """A file that was imported: its path as given, bytes, and the BLAKE2b hash of its content.

    lines: the line after its last. version: of the commit that holds its rows.
    """

    path: str
    size: int
    content: str
    lines: int
    version: int


@dataclass(frozen=True)
class StoredFile:
    """A file of the store: where it lies in it, and what it holds.

    month: ``2026-11``, or ``unknown`` for rows without a time. bucket: of players; -1 for rounds.
    version: of the commit that brought the rows, which a rewriting keeps.
    """

    path: str
    table: Literal["plays", "rounds", "players", "quarantine"]
    version: int
    n_rows: int
    size: int
    month: str = ""
    bucket: int = -1


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """The state of a store. version grows by one with every commit.

    rules: names of sheets and their hashes ("" for a sheet that is not known). warnings: of all
    imports, with how often. rewritten: the version of the last rewriting of rows (a retention), 0
    for none: who reads only what is new must begin again if it is later than what he has read.
    """

    version: int = 0
    buckets: int = 64
    files: tuple[StoredFile, ...] = ()
    sources: tuple[Source, ...] = ()
    counts: Counts = field(default_factory=Counts)
    rules: dict[str, str] = field(default_factory=dict)
    warnings: dict[str, int] = field(default_factory=dict)
    rewritten: int = 0
    pseudonymous: bool = False

    def of(self, table: str, *, after: int = 0) -> list[StoredFile]:
        """Files of a table that were committed after a version."""
        return [f for f in self.files if f.table == table and f.version > after]

    @property
    def months(self) -> list[str]:
        """Months in which rows lie, in order; ``unknown`` is the last."""
        return sorted({f.month for f in self.files if f.table == "plays"})

    @property
    def n_plays(self) -> int:
        """Rows of the table ``plays``."""
        return sum(f.n_rows for f in self.of("plays"))

    def write(self, path: Path) -> None:
        """Replace the file at once: a reader sees the old state or this one."""
        content = {"format": _FORMAT, **asdict(self)}
        write_atomically(path, json.dumps(content, ensure_ascii=False, indent=1).encode())

    @classmethod
    def read(cls, path: Path) -> Manifest:
        """Raises PlayLogError for a file that is none."""
        try:
            content: dict[str, Any] = json.loads(path.read_bytes())
            made_as = content.pop("format")
            if made_as != _FORMAT:
                raise PlayLogError(
                    f"{path}: a store of format {made_as}, this program reads {_FORMAT}: "
                    "import the log anew"
                )
            manifest = cls(**content)
            return replace(
                manifest,
                files=tuple(StoredFile(**each) for each in content["files"]),
                sources=tuple(Source(**each) for each in content["sources"]),
                counts=Counts(**content["counts"]),
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            if isinstance(error, PlayLogError):
                raise
            raise PlayLogError(
                f"{path}: no manifest of a play log ({error}); restore it, or import the log anew"
            ) from error


def write_atomically(path: Path, content: bytes | Iterable[bytes]) -> None:
    """Write a file that is there whole or not at all, also after the power went."""
    draft = path.with_name(f".{path.name}.draft")
    with draft.open("wb") as file:
        file.writelines([content] if isinstance(content, bytes) else content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Bring a folder's entries to the disk, where the system can."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows opens no folders
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
