"""The folder of a store: opening, one writer at a time, commits, and files that nobody names."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from niulab.errors import NiuLabError, PlayLogError
from niulab.evaluation.playlog.store.manifest import Manifest

__all__ = [
    "DEFAULT_BUCKETS",
    "MOST_BUCKETS",
    "Store",
    "begin_store",
    "create_store",
    "locked",
    "open_store",
]

DEFAULT_BUCKETS = 64
MOST_BUCKETS = 128
_MANIFEST = "manifest.json"
_LOCK = "writer.lock"
_BEYOND = 1 << 20
_TABLES = ("plays", "rounds", "players", "quarantine")


class Store:
    """A folder with a manifest; only files that the manifest names belong to the log.

    ``manifest`` is the state at the time of opening or of the last commit through this object.
    """

    def __init__(self, path: Path, manifest: Manifest) -> None:
        self.path = path
        self.manifest = manifest

    @property
    def staging(self) -> Path:
        """Where an import that has not been committed keeps its pieces."""
        return self.path / "staging"

    def files(self, table: str, *, after: int = 0) -> list[Path]:
        """Paths of a table's files, committed after a version."""
        return [self.path / f.path for f in self.manifest.of(table, after=after)]

    def commit(self, manifest: Manifest) -> None:
        """Make a manifest the state of the store; what it does not name is no longer there."""
        manifest.write(self.path / _MANIFEST)
        self.manifest = manifest

    def clean(self) -> None:
        """Delete files that the manifest does not name; for the writer alone."""
        named = {self.path / f.path for f in self.manifest.files}
        for table in _TABLES:
            for path in sorted((self.path / table).rglob("*"), reverse=True):
                if path.is_dir():
                    with suppress(OSError):  # something lies in it
                        path.rmdir()
                elif path not in named:
                    path.unlink()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Be the only writer; reads the manifest again and cleans up after a writer that died.

        Raises PlayLogError while another process writes.
        """
        with locked(self.path / _LOCK, doing=f"writes to the store in '{self.path}'"):
            self.manifest = Manifest.read(self.path / _MANIFEST)
            self.clean()
            yield


def open_store(path: Path | str) -> Store:
    """The store in a folder. Raises PlayLogError where there is none."""
    folder = Path(path)
    if not (folder / _MANIFEST).is_file():
        raise PlayLogError(
            f"no play log's store in '{folder}': make one with niulab log import FILES --store "
            f"{folder}"
        )
    return Store(folder, Manifest.read(folder / _MANIFEST))


def create_store(path: Path | str, *, buckets: int | None = None) -> Store:
    """The store in a folder, a new one if there is none.

    buckets: in how many parts the players are split, by hash (default 64); fixed at the beginning.
    Raises PlayLogError for a number that cannot be or is not the store's, and for a folder in which
    something else lies.
    """
    folder = Path(path)
    if buckets is not None and not 1 <= buckets <= MOST_BUCKETS:
        raise PlayLogError(f"a store has 1 to {MOST_BUCKETS} buckets, got {buckets}: write 64")
    if (folder / _MANIFEST).is_file():
        store = open_store(folder)
        if buckets not in {None, store.manifest.buckets}:
            raise PlayLogError(
                f"the store in '{folder}' has {store.manifest.buckets} buckets, not {buckets}: "
                "leave the number out"
            )
        return store
    if folder.exists() and not folder.is_dir():
        raise PlayLogError(f"'{folder}' is a file: give the folder of a store")
    if folder.is_dir() and any(folder.iterdir()):
        raise PlayLogError(
            f"'{folder}' holds other files and no store: give a folder that is new or empty"
        )
    folder.mkdir(parents=True, exist_ok=True)
    store = Store(folder, Manifest(buckets=buckets or DEFAULT_BUCKETS))
    store.commit(store.manifest)
    return store


@contextmanager
def begin_store(path: Path | str, *, buckets: int | None = None) -> Iterator[Store]:
    """The store of ``create_store``; a new one goes again if what it was made for is refused.

    What a kill leaves stays, so that the same command can go on. Raises as ``create_store``.
    """
    folder = Path(path)
    is_new = not (folder / _MANIFEST).is_file()
    made = [each for each in (folder, *folder.parents) if not each.exists()]
    store = create_store(folder, buckets=buckets)
    try:
        yield store
    except NiuLabError:
        if is_new:
            _take_back(store, made)
        raise


def _take_back(store: Store, made: Sequence[Path]) -> None:
    """Delete a store without a version, and the folders made for it if nothing lies in them."""
    with suppress(PlayLogError), store.writing():  # else it is another's by now
        if store.manifest.version == 0:
            for path in store.path.iterdir():
                if path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink(missing_ok=True)
    for folder in made:
        with suppress(OSError):
            folder.rmdir()


@contextmanager
def locked(path: Path, *, doing: str) -> Iterator[None]:
    """Hold a lock file; the system lets go of it when its holder ends, however it ends.

    doing: what its holder does, as a part of a sentence. Raises PlayLogError while another process
    holds it.
    """
    with path.open("a+") as file:
        try:
            _hold(file)
        except OSError:
            file.seek(0)
            raise PlayLogError(
                f"process {file.read().strip() or '?'} {doing}: wait until it ends"
            ) from None
        file.truncate(0)
        file.write(str(os.getpid()))
        file.flush()
        yield


def _hold(file: IO[str]) -> None:
    if sys.platform == "win32":
        import msvcrt

        file.seek(_BEYOND)  # the number at the beginning stays readable
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        file.seek(0)
    else:
        import fcntl

        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
