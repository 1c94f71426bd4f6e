"""Rows in hand between text and store: columns by name, those that say nothing left out.

A number is a NumPy column; cards are uint8 (n, k); a text is its code in a vocabulary, but for ids
of rounds: they hardly come twice among rows sorted by player, and are Arrow strings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from niulab.evaluation.playlog.flat import TIMES
from niulab.evaluation.playlog.plays import NO_CODE, Plays, Vocabularies
from niulab.evaluation.playlog.store.columns import (
    HANDS,
    MONEY,
    NUMBERS,
    PLAYS,
    TEXTS,
    binary_hands,
    times_of,
)

__all__ = ["CODED", "MISSING", "ROUND", "Held", "held_of", "joined", "plays_arrays"]

ROUND = "round_id"
CODED = tuple(name for name in TEXTS if name != ROUND)
"""Columns of texts that are kept as codes."""


def _missing() -> dict[str, NDArray[Any]]:
    """A row in which nothing is recorded, by column: its type, width and value."""
    empty = Plays.of(1, Vocabularies())
    found: dict[str, NDArray[Any]] = {name: getattr(empty, TEXTS[name]) for name in CODED}
    found |= {name: getattr(empty, name) for name in (*TIMES, *NUMBERS)}
    found |= {name: getattr(empty, column)[:, place] for name, (column, place) in MONEY.items()}
    found |= {name: getattr(empty, column) for name, column in HANDS.items()}
    return found


MISSING = _missing()
"""What stands for "not recorded" in each column: one row, with its type and width."""


@dataclass(frozen=True, eq=False)
class Held:
    """n rows. columns: those in which anything is recorded, and others a caller adds; texts: the
    vocabulary of each column of codes; round_ids: Arrow strings (n,).
    """

    n: int
    columns: dict[str, NDArray[Any]]
    texts: dict[str, pa.Array]
    round_ids: pa.Array

    def take(self, rows: NDArray[np.integer]) -> Held:
        """Some rows, in the order asked for."""
        columns = {name: values[rows] for name, values in self.columns.items()}
        return Held(len(rows), columns, self.texts, self.round_ids.take(pa.array(rows)))

    def column(self, name: str) -> NDArray[Any]:
        """A column, also one in which nothing is recorded."""
        if name in self.columns:
            return self.columns[name]
        return np.repeat(MISSING[name], self.n, axis=0)


def held_of(parts: Sequence[Plays]) -> Held:
    """The rows of several pieces of plays, one after the other."""
    columns: dict[str, NDArray[Any]] = {}
    texts: dict[str, pa.Array] = {}
    for name, missing in MISSING.items():
        if name in TEXTS:
            continue
        arrays = [_values(part, name) for part in parts]
        if any((array != missing).any() for array in arrays):
            columns[name] = np.concatenate(arrays)
    for name in CODED:
        known = [getattr(part.texts, Plays.CODES[TEXTS[name]]) for part in parts]
        if any(known):
            vocabulary, tables = _merged([pa.array(each, pa.string()) for each in known])
            codes = [getattr(part, TEXTS[name]) for part in parts]
            columns[name] = np.concatenate(
                [table[code] for table, code in zip(tables, codes, strict=True)]
            )
            texts[name] = vocabulary
    round_ids = pa.concat_arrays([_round_ids(part) for part in parts])
    return Held(len(round_ids), columns, texts, round_ids)


def _values(plays: Plays, name: str) -> NDArray[Any]:
    if name in MONEY:
        column, place = MONEY[name]
        values: NDArray[Any] = getattr(plays, column)[:, place]
        return values
    found: NDArray[Any] = getattr(plays, HANDS.get(name, name))
    return found


def _round_ids(plays: Plays) -> pa.Array:
    known = pa.array(plays.texts.rounds, pa.string())
    is_missing = plays.round == NO_CODE
    return known.take(pa.array(plays.round, mask=is_missing if is_missing.any() else None))


def _merged(vocabularies: Sequence[pa.Array]) -> tuple[pa.Array, list[NDArray[np.int32]]]:
    """One vocabulary, and for each of several the code there of each code (the last: NO_CODE)."""
    both = pa.concat_arrays(vocabularies).dictionary_encode()
    new = np.asarray(both.indices, dtype=np.int32)
    ends = np.cumsum([len(each) for each in vocabularies])
    starts = ends - [len(each) for each in vocabularies]
    none = np.array([NO_CODE], dtype=np.int32)
    tables = [
        np.concatenate([new[start:end], none]) for start, end in zip(starts, ends, strict=True)
    ]
    return both.dictionary, tables


def joined(parts: Sequence[Held]) -> Held:
    """Rows of several pieces, with vocabularies of what they use."""
    parts = [_compact(part) for part in parts]
    names = dict.fromkeys(name for part in parts for name in part.columns)
    columns: dict[str, NDArray[Any]] = {}
    texts: dict[str, pa.Array] = {}
    for name in names:
        arrays = [part.column(name) for part in parts]
        if name in TEXTS:
            empty = pa.array([], pa.string())
            texts[name], tables = _merged([part.texts.get(name, empty) for part in parts])
            arrays = [table[codes] for table, codes in zip(tables, arrays, strict=True)]
        columns[name] = np.concatenate(arrays)
    round_ids = pa.concat_arrays([part.round_ids for part in parts])
    return Held(len(round_ids), columns, texts, round_ids)


def _compact(held: Held) -> Held:
    columns, texts = dict(held.columns), dict(held.texts)
    for name, known in held.texts.items():
        columns[name], texts[name] = _used(columns[name], known)
    return replace(held, columns=columns, texts=texts)


def _used(codes: NDArray[np.int32], known: pa.Array) -> tuple[NDArray[np.int32], pa.Array]:
    """Codes of a vocabulary without what no row uses, and that vocabulary."""
    is_used = np.bincount(codes - NO_CODE, minlength=len(known) + 1)[1:] > 0
    if is_used.all():
        return codes, known
    new = np.append(np.cumsum(is_used, dtype=np.int32) - 1, np.int32(NO_CODE)).astype(np.int32)
    return new[codes], known.take(pa.array(np.flatnonzero(is_used)))


def plays_arrays(held: Held, low: int = 0, high: int | None = None) -> pa.Table:
    """Rows from low to high with the columns of ``PLAYS``; vocabularies hold what they use."""
    high = held.n if high is None else high
    n = high - low
    arrays: list[pa.Array] = []
    for field in PLAYS:
        name = field.name
        if name == ROUND:
            arrays.append(held.round_ids.slice(low, n))
        elif name not in held.columns:
            arrays.append(_nothing(name, n))
        else:
            values = held.columns[name][low:high]
            if name in TEXTS:
                codes, known = _used(values, held.texts[name])
                is_missing = codes == NO_CODE
                indices = pa.array(codes, mask=is_missing if is_missing.any() else None)
                arrays.append(pa.DictionaryArray.from_arrays(indices, known))
            elif name in HANDS:
                arrays.append(binary_hands(values))
            else:
                arrays.append(times_of(values) if name in TIMES else pa.array(values))
    return pa.Table.from_arrays(arrays, names=PLAYS.names)


def _nothing(name: str, n: int) -> pa.Array:
    """A column in which nothing is recorded."""
    kind = PLAYS.field(name).type
    if name in TEXTS or name in TIMES or name in HANDS:
        return pa.nulls(n, kind)
    return pa.repeat(pa.scalar(MISSING[name][0].item(), kind), n)
