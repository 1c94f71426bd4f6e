"""Names of players and dealers replaced by keyed hashes, and rounds dropped after their time."""

from __future__ import annotations

import hmac
import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from niulab.errors import PlayLogError
from niulab.evaluation.playlog.chunk import Chunk, ReadOptions
from niulab.evaluation.playlog.plays import Plays
from niulab.evaluation.playlog.store.database import DEFAULT_MEMORY
from niulab.evaluation.playlog.store.folder import Store, open_store
from niulab.evaluation.playlog.store.importing import Imported, import_log
from niulab.evaluation.playlog.store.loading import scan_rounds
from niulab.evaluation.playlog.store.manifest import StoredFile
from niulab.evaluation.playlog.store.pieces.settling import stored_file

__all__ = ["KEY_VARIABLE", "drop_before", "pseudonym", "pseudonymize", "read_key"]

KEY_VARIABLE = "NIULAB_LOG_KEY"
_LEAST_KEY = 16
_HEX_DIGITS = 24  # 96 bits: two of a billion names agree with chance 1e-11


def read_key(path: Path | None) -> bytes:
    """The key in a file, or in the variable NIULAB_LOG_KEY where no file is given.

    Raises PlayLogError for a key under 16 bytes and for a file that others may read.
    """
    if path is None:
        key = os.environ.get(KEY_VARIABLE, "").encode()
        where = f"the variable {KEY_VARIABLE}"
        if not key:
            raise PlayLogError(f"no key: give --key-file, or set {KEY_VARIABLE}")
    else:
        where = f"the key file {path}"
        if os.name == "posix" and stat.S_IMODE(path.stat().st_mode) & 0o077:
            raise PlayLogError(f"{where} can be read by others: chmod 600 {path}")
        key = path.read_bytes().strip()
    if len(key) < _LEAST_KEY:
        raise PlayLogError(
            f"{where} holds {len(key)} bytes, a key has {_LEAST_KEY} or more: "
            "make one with openssl rand -hex 32"
        )
    return key


def pseudonym(key: bytes, kind: str, name: str) -> str:
    """HMAC-SHA256 of a name under a key, as ``player-`` and 24 hexadecimal digits (96 bits).

    The same name has the same pseudonym under the same key; kinds have nothing to do with each
    other.
    """
    message = f"{kind}\0{name}".encode("utf-8", "surrogatepass")
    return f"{kind}-{hmac.digest(key, message, 'sha256').hex()[:_HEX_DIGITS]}"


def pseudonymize(store: Store, out: Store, key: bytes, *, memory: str = DEFAULT_MEMORY) -> Imported:
    """Write a store's rows to an empty one with pseudonyms of players and dealers.

    Rows are sorted and split anew, so neither order nor bucket tells of a name. The quarantine,
    whose rows are text as it came, stays behind; tables, round ids and times go along.
    """
    if out.manifest.version:
        raise PlayLogError(f"the store in '{out.path}' is not empty: give a new folder")
    shutil.rmtree(out.staging, ignore_errors=True)  # of a try with another key, perhaps
    reader = _Reader(key, memory)
    result = import_log([store.path / "manifest.json"], out, memory=memory, read=reader)
    with out.writing():
        manifest = out.manifest
        sources = [replace(source, path=store.path.name) for source in manifest.sources]
        out.commit(
            replace(
                manifest,
                sources=tuple(sources),
                rules=store.manifest.rules,
                warnings=store.manifest.warnings,
                pseudonymous=True,
            )
        )
    return result


@dataclass(frozen=True)
class _Reader:
    """Reads a store, round by round, as an import wants it."""

    key: bytes
    memory: str

    def __call__(self, path: Path, options: ReadOptions) -> Iterable[Chunk]:
        return self._chunks(open_store(path.parent), options.rows)

    def _chunks(self, store: Store, rows: int) -> Iterator[Chunk]:
        line = 1
        for plays in scan_rounds(store, rows=rows, memory=self.memory):
            n = len(plays)
            yield Chunk(
                plays=self._renamed(plays),
                lines=np.arange(line, line + n, dtype=np.int64),
                n_read=n,
                n_duplicates=0,
                n_blank=0,
                n_headers=0,
                quarantined=[],
                warnings={},
                next_line=line + n,
            )
            line += n

    def _renamed(self, plays: Plays) -> Plays:
        texts = replace(
            plays.texts,
            players=self._pseudonyms("player", plays.texts.players),
            dealers=self._pseudonyms("dealer", plays.texts.dealers),
        )
        return replace(plays, texts=texts)

    def _pseudonyms(self, kind: str, names: Sequence[str]) -> tuple[str, ...]:
        return tuple(pseudonym(self.key, kind, name) for name in names)


def drop_before(store: Store, day: date) -> int:
    """Drop all rows of rounds before a day (UTC), at once; returns how many rows went.

    Players of whom nothing is left go, and so do all quarantine files, for the text of a row that
    was not kept has no time. Rows without a time stay. Who reads only what is new must begin again.
    """
    bar = np.datetime64(day.isoformat(), "us")
    with store.writing():
        manifest = store.manifest
        version = manifest.version + 1
        files: list[StoredFile] = []
        gone = 0
        for file in manifest.files:
            if file.table == "quarantine":
                continue
            left = _left(store, file, bar, version)
            gone += (file.n_rows - (left.n_rows if left else 0)) * (file.table == "plays")
            if left is not None:
                files.append(left)
        if gone == 0:
            return 0
        rewritten = replace(manifest, version=version, files=tuple(files), rewritten=version)
        store.commit(rewritten)
        store.clean()
    return gone


def _left(store: Store, file: StoredFile, bar: np.datetime64, version: int) -> StoredFile | None:
    """The file, rewritten without rows before a time; None if nothing is left."""
    month = str(bar.astype("datetime64[M]"))
    if file.month == "unknown" or (file.month and file.month > month):
        return file
    if file.month and file.month < month:
        return None
    path = store.path / file.path
    table = pq.read_table(path, partitioning=None)
    times = table["last_time" if file.table == "players" else "time"]
    is_late = pc.or_kleene(
        pc.greater_equal(times, pc.cast(bar.item(), times.type)), times.is_null()
    )
    kept = table.filter(is_late)
    if len(kept) == len(table):
        return file
    if not len(kept):
        return None
    name = f"{path.stem}-r{version:06}.parquet"
    pq.write_table(kept, path.with_name(name), compression="zstd")
    relative = f"{Path(file.path).parent.as_posix()}/{name}"
    return stored_file(
        store, relative, file.table, file.version, month=file.month, bucket=file.bucket
    )
