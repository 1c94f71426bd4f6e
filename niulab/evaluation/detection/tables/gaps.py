"""Is a log complete? Gaps in the numbers of its rounds; a log selected by outcome proves nothing.

Round ids that end in digits are read as a prefix and a number. Tables that take their numbers from
one counter are judged together.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from niulab.evaluation.playlog.plays import NO_CODE, Plays

__all__ = ["Numbering", "round_gaps"]

_NUMBERED = re.compile(r"(.*?)([0-9]{1,18})")
_MOST_SHOWN = 20


@dataclass(frozen=True)
class Numbering:
    """The rounds of one counter.

    tables: who takes numbers from it. missing: numbers between the first and the last that no row
    has. gaps: the first of them, as ranges (first, last). unnumbered: ids without a number.
    """

    tables: tuple[str, ...]
    prefix: str
    rounds: int
    missing: int
    gaps: tuple[tuple[int, int], ...]
    unnumbered: int

    @property
    def completeness(self) -> float:
        """Share of the numbers between first and last that are there; 0 if there are none."""
        whole = self.rounds + self.missing
        return self.rounds / whole if whole else 0.0


def round_gaps(plays: Plays) -> list[Numbering]:
    """Counters of a log and their gaps, by table; ids without a number come by table, too."""
    pairs = np.unique(np.stack([plays.table, plays.round], axis=1), axis=0)
    pairs = pairs[pairs[:, 1] != NO_CODE]
    numbers: dict[tuple[str, str], set[int]] = {}
    bare: dict[str, int] = {}
    for table, code in pairs.tolist():
        name = "" if table == NO_CODE else plays.texts.tables[table]
        match = _NUMBERED.fullmatch(plays.texts.rounds[code])
        if match is None:
            bare[name] = bare.get(name, 0) + 1
        else:
            numbers.setdefault((match[1], name), set()).add(int(match[2]))
    found = []
    for prefix in dict.fromkeys(prefix for prefix, _ in numbers):
        by_table = {name: seen for (p, name), seen in numbers.items() if p == prefix}
        if _share_a_counter(by_table):
            found.append(
                _numbering(tuple(sorted(by_table)), prefix, set().union(*by_table.values()))
            )
        else:
            found += [_numbering((name,), prefix, seen) for name, seen in by_table.items()]
    found += [Numbering((name,), "", 0, 0, (), n) for name, n in bare.items()]
    return sorted(found, key=lambda one: (one.tables, one.prefix))


def _share_a_counter(by_table: dict[str, set[int]]) -> bool:
    """Whether tables' numbers interleave without meeting, and fill each other's gaps."""
    if len(by_table) < 2:
        return False
    n = sum(map(len, by_table.values()))
    joint = set().union(*by_table.values())
    apart = sum(max(seen) - min(seen) + 1 - len(seen) for seen in by_table.values())
    together = max(joint) - min(joint) + 1 - len(joint)
    return len(joint) == n and together < apart


def _numbering(tables: tuple[str, ...], prefix: str, seen: set[int]) -> Numbering:
    ordered = np.array(sorted(seen))
    steps = np.diff(ordered)
    at = np.flatnonzero(steps > 1)
    gaps = [(int(ordered[i]) + 1, int(ordered[i + 1]) - 1) for i in at[:_MOST_SHOWN]]
    return Numbering(tables, prefix, len(seen), int((steps - 1).sum()), tuple(gaps), 0)
