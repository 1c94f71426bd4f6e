"""A large play log made of a small one: the rounds of a simulated floor, again and again.

    niulab simulate --players floor --log floor
    python benchmarks/big_log.py floor/plays.csv big --plays 1e8
    niulab log import big/*.csv --store plays

Each repetition has ids of rounds, days and (in turn) a floor of players of its own, so that rows
differ as those of a real log do; one file a month. Bytes are patched, not written anew.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from datetime import date, timedelta
from itertools import groupby
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = ["make_log"]

_DIGITS = 5
_TIMES = ("time", "bet_time", "close_time")
_DAY = 10  # letters of 2026-01-31


def make_log(
    source: Path, folder: Path, *, plays: int, days: int = 360, floors: int = 10
) -> list[Path]:
    """Write about so many plays over so many days, a file a month; returns the files."""
    pattern = _Pattern(source)
    n_times = max(1, round(plays / pattern.n_rows))
    step = max(pattern.n_days, days // n_times)
    starts = [(pattern.first + timedelta(step * k), k) for k in range(n_times)]
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for month, group in groupby(starts, key=lambda start: f"{start[0]:%Y-%m}"):
        paths.append(folder / f"{month}.csv")
        with paths[-1].open("wb") as file:
            file.write(pattern.header)
            for _, k in group:
                for part in pattern.repeated(k, step * k, k % floors):
                    file.write(part)
    return paths


class _Pattern:
    """Rows of a log with places for a number in the ids of rounds and players, and for days."""

    def __init__(self, source: Path) -> None:
        header, *lines = source.read_bytes().splitlines(keepends=True)
        names = header.decode().strip().split(",")
        self.header = header
        self.n_rows = len(lines)
        times = [names.index(name) for name in _TIMES if name in names]
        player = names.index("player")
        dates = [line.split(b",", times[0] + 1)[times[0]][:_DAY] for line in lines]
        first = min(dates)
        self.first = date.fromisoformat(first.decode())
        self.n_days = (date.fromisoformat(max(dates).decode()) - self.first).days + 1
        self._parts = [
            _Part(lines[low : low + 100_000], names.index("round_id"), player, times, self.first)
            for low in range(0, len(lines), 100_000)
        ]

    def repeated(self, number: int, shift: int, floor: int) -> Iterator[memoryview]:
        """Bytes of all rows, some days later, with a number in their ids."""
        for part in self._parts:
            yield part.patched(number, shift, floor)


class _Part:
    def __init__(
        self, lines: list[bytes], round_: int, player: int, times: list[int], first: date
    ) -> None:
        place = b"-" + b"0" * _DIGITS
        whole: list[bytes] = []
        at = {name: [] for name in ("round", "player", "day")}
        days: list[int] = []
        start = 0
        of_day: dict[bytes, int] = {b"": 0}
        for line in lines:
            fields = line.split(b",")
            fields[round_] += place
            fields[player] += place
            place_of = start
            for column, text in enumerate(fields):
                end = place_of + len(text)
                if column == round_:
                    at["round"].append(end - _DIGITS)
                elif column == player:
                    at["player"].append(end - _DIGITS)
                elif column in times and text:
                    at["day"].append(place_of)
                    day = text[:_DAY]
                    if day not in of_day:
                        of_day[day] = (date.fromisoformat(day.decode()) - first).days
                    days.append(of_day[day])
                place_of = end + 1
            start = place_of - 1  # no separator at the end
            whole.append(b",".join(fields))
        self._bytes = np.frombuffer(b"".join(whole), np.uint8)
        self._round, self._player, self._day = (np.array(at[k], np.int64) for k in at)
        self._days = np.array(days, dtype=np.int64)
        self._first = first

    def patched(self, number: int, shift: int, floor: int) -> memoryview:
        data = self._bytes.copy()
        for places, value in ((self._round, number), (self._player, floor)):
            for k, digit in enumerate(f"{value:0{_DIGITS}}".encode()):
                data[places + k] = digit
        low = int(self._days.min(initial=0))
        texts = _day_texts(self._first, shift + low, shift + int(self._days.max(initial=0)))
        found = texts[self._days - low]
        for k in range(_DAY):
            data[self._day + k] = found[:, k]
        return memoryview(data)


def _day_texts(first: date, low: int, high: int) -> NDArray[np.uint8]:
    texts = [(first + timedelta(day)).isoformat() for day in range(low, high + 1)]
    return np.frombuffer("".join(texts).encode(), np.uint8).reshape(-1, _DAY)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("source", type=Path, help="plays.csv of a simulated floor")
    parser.add_argument("folder", type=Path, help="where the files of the months go")
    parser.add_argument("--plays", type=float, default=1e8)
    parser.add_argument("--days", type=int, default=360, help="over which they are spread")
    parser.add_argument("--floors", type=int, default=10, help="of players, in turn")
    options = parser.parse_args()
    start, cpu = time.perf_counter(), time.process_time()
    paths = make_log(
        options.source, options.folder, plays=int(options.plays), days=options.days,
        floors=options.floors,
    )  # fmt: skip
    size = sum(path.stat().st_size for path in paths)
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    print(f"{len(paths)} files, {size / 1e9:.2f} GB, {wall:.0f} s, {cpu:.0f} cpu-s")


if __name__ == "__main__":
    main()
