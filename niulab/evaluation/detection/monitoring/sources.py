"""What is judged: a store's versions one by one, its sheets, and whether it records the order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

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
    "fingerprint_of",
    "is_ordered",
    "new_round_keys",
    "row_keys",
    "sheets_of_store",
    "version_of_store",
    "versions_after",
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
            "with --rules"
        )
    return Sheets(tuple(rules), places, left_out)


def _why_not(sheet: RuleSet | None, stored_hash: str) -> str:
    if sheet is None:
        return "is not known: declare it with --rules"
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


def version_of_store(store: Store, version: int) -> Store:
    """The store as if it held one version's rows alone."""
    files = tuple(file for file in store.manifest.files if file.version == version)
    return type(store)(store.path, replace(store.manifest, files=files, rewritten=0))


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


def row_keys(plays: Plays, *, with_player: bool = True) -> NDArray[np.uint64]:
    """A hash of each row's table, round and, if asked for, seat and player, whatever their codes.

    uint64 (n,), never 0. Two of n rows share one with a chance of n^2 / 2^65.
    """
    keys = _mixed(
        _hashes(plays.texts.tables, plays.table), _hashes(plays.texts.rounds, plays.round)
    )
    if with_player:
        keys = _mixed(keys, _hashes(plays.texts.players, plays.player))
        keys = _mixed(keys, plays.seat.astype(np.uint64))
    return np.maximum(keys, np.uint64(1))


def new_round_keys(store: Store) -> NDArray[np.uint64]:
    """Keys of the rounds of which a store's files hold the first rows, sorted.

    As ``row_keys`` without players. Of a version alone they are the rounds that no version before
    it knows.
    """
    keys = [np.empty(0, dtype=np.uint64)]
    for path in store.files("rounds"):
        for batch in pq.ParquetFile(path).iter_batches(columns=["table", "round_id"]):
            tables, rounds = (_text_hashes(batch[name]) for name in ("table", "round_id"))
            keys.append(np.maximum(_mixed(tables, rounds), np.uint64(1)))
    return np.unique(np.concatenate(keys))


def _text_hashes(column: pa.Array) -> NDArray[np.uint64]:
    coded = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    codes = coded.indices.fill_null(NO_CODE).to_numpy(zero_copy_only=False).astype(np.int32)
    return _hashes(coded.dictionary.to_pylist(), codes)


def _hashes(texts: Sequence[str], codes: NDArray[np.int32]) -> NDArray[np.uint64]:
    digests = b"".join(
        blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest() for text in texts
    )
    known = np.append(np.frombuffer(digests, dtype="<u8"), np.uint64(0))
    result: NDArray[np.uint64] = known[codes]  # the last is NO_CODE, which is -1
    return result


def _mixed(a: NDArray[np.uint64], b: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Steele, Lea and Flood's finalizer of splitmix64 over both."""
    x = a * np.uint64(0x9E3779B97F4A7C15) + b
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
