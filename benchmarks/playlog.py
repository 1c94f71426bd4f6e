"""Play logs: rows of a simulated floor read from text, and brought into a store.

The fast road is checked against the one that takes lines one by one before any speed.
"""

from __future__ import annotations

import csv
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from measure import Meter

from niulab.evaluation.logged.config import read_floor
from niulab.evaluation.logged.writing import write_floor
from niulab.evaluation.playlog.checking import read_plays
from niulab.evaluation.playlog.flat import flat_lines
from niulab.evaluation.playlog.plays import Plays
from niulab.evaluation.playlog.store.folder import create_store
from niulab.evaluation.playlog.store.importing import import_log

__all__ = ["CAREFUL", "IMPORT", "JSON", "PLAIN", "QUOTED", "measure_playlog"]

PLAIN = "play log: plain CSV, read and replayed"
QUOTED = "play log: quoted CSV, read and replayed"
JSON = "play log: JSON Lines, read and replayed"
CAREFUL = "play log: the same CSV line by line"
IMPORT = "play log: plain CSV into a store"

_N_ROUNDS = 500  # of the 200 tables of the shipped floor


def measure_playlog(meter: Meter) -> None:
    """Rows a processor second of each form of text, and of a whole import."""
    with _logs() as (folder, plain, quoted, json, n):
        few = folder / "few.csv"
        few.write_bytes(b"".join(plain.read_bytes().splitlines(keepends=True)[:5001]))
        _verify(few)
        meter.rate(PLAIN, lambda: _read(plain), n, unit="plays")
        meter.rate(QUOTED, lambda: _read(quoted), n, unit="plays")
        meter.rate(JSON, lambda: _read(json), n, unit="plays")
        meter.rate(CAREFUL, lambda: _read(few, careful=True), 5000, unit="plays")
        meter.rate(IMPORT, lambda: _import(plain, folder / "store"), n, unit="plays")


@contextmanager
def _logs() -> Iterator[tuple[Path, Path, Path, Path, int]]:
    with tempfile.TemporaryDirectory(prefix="niulab-") as name:
        folder = Path(name)
        floor = read_floor("floor").changed(rounds=_N_ROUNDS)
        logged = write_floor(floor, folder / "floor")
        plain, quoted, json = logged.plays_path, folder / "quoted.csv", folder / "plays.jsonl"
        with plain.open(newline="") as source, quoted.open("w", newline="") as file:
            csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(
                csv.reader(source)
            )
        with json.open("w", encoding="utf-8") as file:
            for chunk in read_plays(plain):
                file.writelines(flat_lines(chunk.plays, "jsonl"))
        yield folder, plain, quoted, json, logged.n_rows


def _read(path: Path, *, careful: bool = False) -> int:
    return sum(len(chunk.plays) for chunk in read_plays(path, careful=careful))


def _verify(path: Path) -> None:
    [one], [other] = list(read_plays(path)), list(read_plays(path, careful=True))
    for name in Plays.COLUMNS:
        if not np.array_equal(getattr(one.plays, name), getattr(other.plays, name)):
            message = f"the two roads of reading differ in '{name}'"
            raise AssertionError(message)


def _import(path: Path, folder: Path) -> int:
    shutil.rmtree(folder, ignore_errors=True)
    return import_log([path], create_store(folder)).counts.kept
