"""Tables that are costly to compute, kept on disk from one process to the next.

They lie in the folder that ``NIULAB_CACHE`` names, or else in ``niulab`` below the user's cache
folder; with ``NIULAB_CACHE`` set to nothing none are read or written. Any file may be deleted at
any time. A folder that cannot be written, a file that is damaged or not ours: none is an error, the
table is then computed, and written if that is possible.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

__all__ = ["FORMAT", "folder", "load", "save"]

FORMAT = 1
"""Raised when what a table means changes: files of other formats are written anew."""


def folder() -> Path | None:
    """Where tables are kept, whether or not it exists yet; None where they are not kept."""
    named = os.environ.get("NIULAB_CACHE")
    try:
        if named is not None:
            return Path(named).expanduser() if named else None
        home = Path.home()
    except RuntimeError:  # a user without a home
        return None
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = home / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    return base / "niulab"


def load(name: str) -> dict[str, NDArray[Any]] | None:
    """The arrays saved under a name, or None if there are none that can be trusted."""
    from safetensors import SafetensorError, safe_open

    where = folder()
    if where is None:
        return None
    try:
        with safe_open(_file(where, name), framework="numpy") as file:
            arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118, no dict
            is_ours = file.metadata() == _about(name, arrays)
    except (OSError, SafetensorError):
        return None
    return arrays if is_ours else None


def save(name: str, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Keep arrays under a name; readers and other writers never see a part of them."""
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    where = folder()
    if where is None:
        return
    try:
        where.mkdir(parents=True, exist_ok=True)
        handle, written = tempfile.mkstemp(dir=where, prefix=f"{name}-", suffix=".part")
        os.close(handle)
        try:
            save_file(dict(arrays), written, metadata=_about(name, arrays))
            Path(written).replace(_file(where, name))
        finally:
            Path(written).unlink(missing_ok=True)
    except (OSError, SafetensorError):
        return


def _file(where: Path, name: str) -> Path:
    return where / f"{name}.safetensors"


def _about(name: str, arrays: Mapping[str, NDArray[Any]]) -> dict[str, str]:
    """What the head of a file says: the format, its name, and a checksum of every array."""
    sums = {
        f"crc32 of {key}": f"{crc32(np.ascontiguousarray(array).data):08x}"
        for key, array in arrays.items()
    }
    return {"format": f"niulab {FORMAT}", "name": name, **sums}
