"""What is kept of tables: shuffle monitors, and what rows were found to be."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np

from niulab.errors import PlayLogError
from niulab.evaluation.detection.monitoring.audits import Audits
from niulab.evaluation.detection.tables.shuffles import SHUFFLE_TEXTS, ShuffleState

__all__ = ["TableStates"]

_NUMBERS = ("n_rounds", "power", "peak", "last_table")


@dataclass(eq=False)
class TableStates:
    """What is kept beside the players: monitors by key and name, and audits of all rows.

    tables: names by the codes that monitors remember.
    """

    monitors: dict[str, dict[str, ShuffleState]] = field(
        default_factory=lambda: {key: {} for key in SHUFFLE_TEXTS}
    )
    tables: tuple[str, ...] = ()
    audits: Audits = field(default_factory=Audits)

    def as_bytes(self) -> tuple[bytes, bytes]:
        """Arrays and JSON, the contents of two files."""
        arrays, plain = {}, dict[str, Any]()
        for key, by_name in self.monitors.items():
            for place, (name, state) in enumerate(sorted(by_name.items())):
                label = f"{key}.{place}"
                plain[label] = [name, *(getattr(state, each) for each in _NUMBERS)]
                for each in fields(state):
                    if each.name not in _NUMBERS:
                        arrays[f"{label}.{each.name}"] = getattr(state, each.name)
        content = {"monitors": plain, "tables": self.tables, "audits": vars(self.audits)}
        stream = io.BytesIO()
        np.savez(stream, **arrays)
        return stream.getvalue(), json.dumps(content).encode()

    @classmethod
    def read(cls, arrays_path: Path, plain_path: Path) -> TableStates:
        """Raises PlayLogError for files that are none."""
        try:
            content = json.loads(plain_path.read_bytes())
            states = cls(tables=tuple(content["tables"]), audits=Audits.of(content["audits"]))
            with np.load(arrays_path, allow_pickle=False) as arrays:
                for label, (name, *numbers) in content["monitors"].items():
                    columns = {
                        each.name: arrays[f"{label}.{each.name}"]
                        for each in fields(ShuffleState)
                        if each.name not in _NUMBERS
                    }
                    state = ShuffleState(**columns, **dict(zip(_NUMBERS, numbers, strict=True)))
                    states.monitors[label.partition(".")[0]][name] = state
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise PlayLogError(
                f"{plain_path}: no states of tables ({error}); begin again with a new --state"
            ) from error
        return states
