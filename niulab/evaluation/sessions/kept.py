"""Finished parts of long work, kept as JSON so that an interrupted run goes on from them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from niulab.evaluation.page import write_files

__all__ = ["KeptParts"]

_Part = TypeVar("_Part")


class KeptParts:
    """A folder with one file for each part, named by a hash of all that the part depends on.

    A file that cannot be read, or says that it depends on something else, counts as none. Without
    a folder nothing is kept.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder

    def load(self, kind: type[_Part], depends: Mapping[str, Any]) -> _Part | None:
        """The part of a dataclass ``kind``, or None where it is not kept."""
        if self._folder is None:
            return None
        try:
            record = json.loads(self._path(depends).read_text("utf-8"))
            if record["depends"] != depends:
                return None
            return TypeAdapter(kind).validate_python(record["part"])
        except (OSError, ValueError, KeyError, TypeError, ValidationError):
            return None

    def save(self, part: Any, depends: Mapping[str, Any]) -> None:
        """Keep a dataclass; ``depends`` holds what JSON holds."""
        if self._folder is not None:
            record = {"depends": depends, "part": TypeAdapter(type(part)).dump_python(part)}
            write_files({self._path(depends): json.dumps(record, indent=1) + "\n"})

    def _path(self, depends: Mapping[str, Any]) -> Path:
        digest = hashlib.sha256(json.dumps(depends, sort_keys=True).encode()).hexdigest()
        return (self._folder or Path()) / f"{digest[:20]}.json"
