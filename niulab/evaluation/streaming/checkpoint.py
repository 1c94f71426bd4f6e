"""The file that a streamed simulation leaves on its way: whole or not at all, exact integers only.

It holds the counts of the rounds before ``n_rounds``, a whole number of shoes, so that going on
from it gives the totals of a run that was never stopped.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from niulab.errors import CheckpointError

__all__ = ["Progress", "read_progress", "write_progress"]

_FORMAT = "niulab-simulation-v1"
_TOTALS = ("rounds", "cells", "squares")

Cell = tuple[int, ...]


class Progress(NamedTuple):
    """Totals of the rounds done: occurrences of (verdict, player's rank, dealer's rank, events),
    over all seats, and the exact squares of ``BatchEngine.tally``.
    """

    n_rounds: int
    cells: Mapping[Cell, int]
    squares: tuple[int, ...]


def write_progress(path: Path, progress: Progress, *, identity: Mapping[str, Any]) -> None:
    """Replace the file; ``identity`` is all that decides which rounds are dealt and counted."""
    record = {
        "format": _FORMAT,
        **identity,
        "rounds": progress.n_rounds,
        "cells": [[*cell, n] for cell, n in sorted(progress.cells.items())],
        "squares": list(progress.squares),
    }
    text = json.dumps({**record, "digest": _digest(record)})
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with draft.open("w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(path)
    except OSError as error:
        raise CheckpointError(
            f"cannot write the checkpoint '{path}': {error.strerror}; choose another file"
        ) from error
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def read_progress(path: Path, *, identity: Mapping[str, Any]) -> Progress | None:
    """The totals to go on from, or None where there is no file.

    Raises CheckpointError for a damaged file, or one of another simulation, naming what differs.
    """
    try:
        text = path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        raise _damaged(path, "it is no text") from error
    except OSError as error:
        raise CheckpointError(
            f"cannot read the checkpoint '{path}': {error.strerror}; choose another file"
        ) from error
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _damaged(path, "it is no JSON") from error
    if not isinstance(record, dict) or record.get("format") != _FORMAT:
        raise CheckpointError(
            f"'{path}' is no checkpoint of 'niulab simulate' ({_FORMAT}); choose another file"
        )
    digest = record.pop("digest", None)
    if digest != _digest(record):
        raise _damaged(path, "its digest does not fit its figures")
    differences = [
        f"{key} is {record.get(key)} there and {value} here"
        for key, value in identity.items()
        if record.get(key) != value
    ]
    if differences:
        raise CheckpointError(
            f"the checkpoint '{path}' is of another simulation: {', '.join(differences)}; "
            "ask for the same again or choose another file"
        )
    try:
        cells = {tuple(cell): n for *cell, n in record["cells"]}
        return Progress(record["rounds"], cells, tuple(record["squares"]))
    except (KeyError, TypeError, ValueError) as error:
        raise _damaged(path, f"one of {', '.join(_TOTALS)} is missing") from error


def _damaged(path: Path, why: str) -> CheckpointError:
    return CheckpointError(
        f"the checkpoint '{path}' is damaged: {why}; delete it to start again, or choose another"
    )


def _digest(record: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(record, sort_keys=True).encode()).hexdigest()
