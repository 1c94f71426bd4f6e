"""What is judged: a store's versions one by one, its sheets, and whether it records the order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from niulab.engine.cards import HAND_SIZE
from niulab.engine.rules import RuleSet
from niulab.errors import ConfigError, PlayLogError
from niulab.evaluation.detection.features import verify_one_deck
from niulab.evaluation.playlog.checking import looks_sorted, sheets_of
from niulab.evaluation.playlog.chunk import ReadOptions
from niulab.evaluation.playlog.plays import NO_CODE, Flag, Plays
from niulab.evaluation.playlog.store.folder import Store

__all__ = [
    "Sheets",
    "are_among",
    "column_hashes",
    "fingerprint_of",
    "is_ordered",
    "new_round_keys",
    "round_hashes",
    "sheets_of_store",
    "versions_after",
    "without_order",
]

_SAMPLE = 1_000


@dataclass(frozen=True, eq=False)
class Sheets:
    """Sheets that can be judged, and where each of the store's codes of rules leads.

    places: int32 (n_codes + 1,), NO_CODE for a sheet that is not known or not dealt from one full
    deck, and at the end for rows that name none. left_out: names of those sheets and why.
    """

    rules: tuple[RuleSet, ...]
    places: NDArray[np.int32]
    left_out: Mapping[str, str]

    def why_unmonitored(self, plays: Plays) -> tuple[NDArray[np.int64], list[str]]:
        """Why shuffles of the store's rows cannot be looked at: places (n,) in a list of reasons,
        -1 where they can.
        """
        names = plays.texts.rules
        reasons = [f"the sheet '{name}' {self.left_out.get(name, '')}" for name in names]
        reasons += ["no sheet is named", "cards are not recorded in the order dealt"]
        why = np.where((plays.flags & int(Flag.NO_ORDER)) != 0, len(names) + 1, -1)
        is_out = self.places[plays.rules] == NO_CODE
        return np.where(is_out, plays.rules % (len(names) + 1), why).astype(np.int64), reasons

    def recode(self, plays: Plays) -> Plays:
        """Rows of the store with codes of ``rules``."""
        return replace(
            plays,
            rules=self.places[plays.rules],
            texts=replace(plays.texts, rules=tuple(rules.name for rules in self.rules)),
        )


def sheets_of_store(store: Store, declared: Sequence[RuleSet] = ()) -> Sheets:
    """The sheets of a store's rows. Raises ConfigError if none of them can be judged."""
    names = list(store.manifest.rules)
    options = ReadOptions(rules={rules.name: rules for rules in declared})
    rules, left_out = list[RuleSet](), dict[str, str]()
    places = np.full(len(names) + 1, NO_CODE, dtype=np.int32)
    by_hash = {each.rules_hash: each for each in declared}
    for code, (name, found) in enumerate(zip(names, sheets_of(names, options), strict=True)):
        sheet = found or by_hash.get(store.manifest.rules[name])
        reason = _why_not(sheet, store.manifest.rules[name])
        if sheet is None or reason:
            left_out[name] = reason
        else:
            places[code] = len(rules)
            rules.append(sheet)
    if not rules:
        reasons = "; ".join(f"'{name}' {reason}" for name, reason in left_out.items())
        raise ConfigError(
            f"no rules to judge the log by ({reasons or 'its rows name none'}): name the sheet "
            "with --rules, or import the log with --rules or --sheet NAME=RULES"
        )
    return Sheets(tuple(rules), places, left_out)


def _why_not(sheet: RuleSet | None, stored_hash: str) -> str:
    if sheet is None and stored_hash:
        return f"was declared by the import (hash {stored_hash}): give the same sheet with --rules"
    if sheet is None:
        return "is not known: --rules takes a file of that name"
    if stored_hash and sheet.rules_hash != stored_hash:
        return "is not the sheet of that name that the log was imported with"
    try:
        verify_one_deck(sheet)
    except ConfigError:
        return "is not dealt from one full deck every round"
    return ""


def versions_after(store: Store, after: int) -> list[int]:
    """Versions with rows that were committed later, in order.

    Raises PlayLogError if rows that were read before have changed since.
    """
    manifest = store.manifest
    if after > manifest.version:
        raise PlayLogError(
            f"the log in '{store.path}' is at version {manifest.version}, and the state has read "
            f"{after}: it is another log, or an older copy; begin with a new --state"
        )
    if 0 < after < manifest.rewritten:
        raise PlayLogError(
            f"rows of the log in '{store.path}' were rewritten at version {manifest.rewritten}, "
            f"after the state had read version {after}: begin with a new --state"
        )
    return sorted({file.version for file in manifest.of("plays", after=after)})


def fingerprint_of(store: Store, version: int) -> str:
    """What tells the log up to a version from any other."""
    sources = [source.content for source in store.manifest.sources if source.version <= version]
    return blake2b("\n".join(sources).encode(), digest_size=16).hexdigest()


def is_ordered(store: Store) -> bool:
    """Whether rows record their cards in the order dealt.

    Imports of a few hands each cannot tell; all hands of a store together may.
    """
    return all(_is_sorted(store, column) is False for column in ("cards", "dealer_cards"))


def _is_sorted(store: Store, column: str) -> bool | None:
    """Whether hands that are not known to be sorted are so all the same; None if there are none."""
    hands, has_rows = np.empty((0, HAND_SIZE), dtype=np.uint8), False
    for path in store.files("plays"):
        for batch in pq.ParquetFile(path).iter_batches(_SAMPLE, columns=["flags", column]):
            mine = (batch["flags"].to_numpy() & int(Flag.NO_ORDER)) == 0
            has_rows |= bool(mine.any())
            texts = [text for text in batch[column].filter(pa.array(mine)).to_pylist() if text]
            more = np.frombuffer(b"".join(texts), dtype=np.uint8).reshape(-1, HAND_SIZE)
            hands = np.unique(np.concatenate([hands, more]), axis=0)
            told = looks_sorted(hands)
            if told is not None:
                return told
    return False if has_rows else None


def without_order(plays: Plays) -> Plays:
    """Rows of a store whose hands are sorted, though imports were too small to tell."""
    return replace(plays, flags=plays.flags | np.uint16(Flag.NO_ORDER))


def round_hashes(plays: Plays) -> NDArray[np.uint64]:
    """A hash of each row's table and round, whatever their codes; uint64 (n,), never 0.

    Two of n rounds share one with a chance of n^2 / 2^65.
    """
    return _joined(
        _hashes(plays.texts.tables, plays.table), _hashes(plays.texts.rounds, plays.round)
    )


def column_hashes(tables: pa.ChunkedArray, rounds: pa.ChunkedArray) -> NDArray[np.uint64]:
    """``round_hashes`` of columns of tables and of ids, plain or in dictionaries."""
    return _joined(_of_column(tables), _of_column(rounds))


def new_round_keys(paths: Sequence[Path]) -> NDArray[np.uint64]:
    """Hashes of the rounds of which files of the table ``rounds`` hold the first rows, sorted.

    Those of a version alone are the rounds that no version before it knows.
    """
    keys = [np.empty(0, dtype=np.uint64)]
    for path in paths:
        for batch in pq.ParquetFile(path).iter_batches(columns=["table", "round_id"]):
            columns = (pa.chunked_array([batch[name]]) for name in ("table", "round_id"))
            keys.append(column_hashes(*columns))
    return np.sort(np.concatenate(keys))


def are_among(keys: NDArray[np.uint64], path: Path) -> NDArray[np.bool_]:
    """Whether each hash is one of those of ``new_round_keys`` in a file, (n,)."""
    known = np.load(path, mmap_mode="r")
    if not len(known):
        return np.zeros(len(keys), dtype=np.bool_)
    at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
    found: NDArray[np.bool_] = known[at] == keys
    return found


def _of_column(column: pa.ChunkedArray) -> NDArray[np.uint64]:
    parts = [np.empty(0, dtype=np.uint64)]
    for chunk in column.chunks:
        if pa.types.is_dictionary(chunk.type):
            known = np.append(_text_hashes(chunk.dictionary), np.uint64(0))
            codes = chunk.indices.fill_null(NO_CODE).to_numpy(zero_copy_only=False)
            parts.append(known[codes])  # the last is NO_CODE, which is -1
        else:
            hashes = _text_hashes(chunk)
            hashes[chunk.is_null().to_numpy(zero_copy_only=False)] = 0
            parts.append(hashes)
    return np.concatenate(parts)


def _hashes(texts: Sequence[str], codes: NDArray[np.int32]) -> NDArray[np.uint64]:
    known = np.append(_text_hashes(pa.array(texts, pa.string())), np.uint64(0))
    result: NDArray[np.uint64] = known[codes]  # the last is NO_CODE, which is -1
    return result


def _text_hashes(texts: pa.Array) -> NDArray[np.uint64]:
    from niulab.evaluation.detection.monitoring.kernels import hash_texts

    hashes = np.empty(len(texts), dtype=np.uint64)
    _, offsets, data = texts.buffers()
    if len(texts) and offsets is not None:
        ends = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
        raw = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
        hash_texts(raw, ends, hashes)
    return hashes


def _joined(a: NDArray[np.uint64], b: NDArray[np.uint64]) -> NDArray[np.uint64]:
    from niulab.evaluation.detection.monitoring.kernels import join_hashes

    hashes = np.empty(len(a), dtype=np.uint64)
    join_hashes(a, b, hashes)
    return hashes
