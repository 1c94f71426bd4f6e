"""Whole rounds, table by table: shuffle monitors, audits, and factors that need every seat."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from niulab.engine.rules import RuleSet
from niulab.errors import PlayLogError
from niulab.evaluation.detection.monitoring.sources import Sheets, new_round_keys, row_keys
from niulab.evaluation.detection.portfolio import Portfolio
from niulab.evaluation.detection.tables.payments import mispays, short_covers
from niulab.evaluation.detection.tables.settings import player_settings
from niulab.evaluation.detection.tables.shown import other_cards
from niulab.evaluation.detection.tables.shuffles import (
    Key,
    ShuffleState,
    held_alarms,
    shuffle_monitors,
)
from niulab.evaluation.detection.watch import given_factors
from niulab.evaluation.playlog.plays import Flag, Plays
from niulab.evaluation.playlog.store.folder import Store
from niulab.evaluation.playlog.store.loading import scan_rounds
from niulab.evaluation.playlog.store.pieces.writing import bucket_of
from niulab.evaluation.playlog.vocabulary import Lexicon

__all__ = ["KEYS", "TableStates", "fold_tables", "held_back"]

KEYS: tuple[Key, ...] = ("table", "dealer", "shuffler")
"""Whose shuffles are monitored."""

_MOST_FINDINGS = 10_000
_NUMBERS = ("n_rounds", "power", "peak", "last_table")


@dataclass(eq=False)
class TableStates:
    """What is kept beside the players: monitors by key and name, findings and counts.

    tables: names by the codes that monitors remember. findings: of each audit, the first
    10,000; n_findings: how many there are. settings: by player, hands and hands set wrong. flags:
    rows by flag. n_rows: rows read.
    """

    monitors: dict[str, dict[str, ShuffleState]] = field(
        default_factory=lambda: {key: {} for key in KEYS}
    )
    tables: tuple[str, ...] = ()
    findings: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    n_findings: Counter[str] = field(default_factory=Counter)
    settings: dict[str, list[int]] = field(default_factory=dict)
    flags: Counter[str] = field(default_factory=Counter)
    n_rows: int = 0

    def add(self, plays: Plays, sheets: Sequence[RuleSet], is_new: NDArray[np.bool_]) -> None:
        """Whole rounds, with codes of tables that go on from ``tables``.

        is_new: (n,), whether a row's round is met for the first time: an import may bring more
        seats of a round, and a monitor that met its cards twice would find them repeated.
        """
        self.tables = plays.texts.tables
        first = plays if is_new.all() else plays.take(is_new)
        for key in KEYS:
            self.monitors[key] = shuffle_monitors(first, by=key, states=self.monitors[key])
        paid = [asdict(one) | {"residual": one.residual} for one in mispays(plays, sheets)]
        for audit, found in (
            ("mispays", paid),
            ("short_covers", [asdict(one) for one in short_covers(plays, sheets)]),
            ("other_cards", [asdict(one) for one in other_cards(plays)]),
        ):
            kept = self.findings.setdefault(audit, [])
            kept += found[: max(_MOST_FINDINGS - len(kept), 0)]
            self.n_findings[audit] += len(found)
        for one in player_settings(plays):
            hands, wrong = self.settings.get(one.player, (0, 0))
            self.settings[one.player] = [hands + one.hands, wrong + one.mis_set]
        for flag in Flag:
            self.flags[flag.name or ""] += int(((plays.flags & int(flag)) != 0).sum())
        self.n_rows += len(plays)

    def as_bytes(self) -> tuple[bytes, bytes]:
        """Arrays and JSON, the contents of two files."""
        import io

        arrays, plain = {}, dict[str, Any]()
        for key, by_name in self.monitors.items():
            for place, (name, state) in enumerate(by_name.items()):
                label = f"{key}.{place}"
                plain[label] = [name, *(getattr(state, each) for each in _NUMBERS)]
                for each in fields(state):
                    if each.name not in _NUMBERS:
                        arrays[f"{label}.{each.name}"] = getattr(state, each.name)
        content = {
            "monitors": plain,
            "tables": self.tables,
            "findings": self.findings,
            "n_findings": self.n_findings,
            "settings": self.settings,
            "flags": self.flags,
            "n_rows": self.n_rows,
        }
        stream = io.BytesIO()
        np.savez(stream, **arrays)
        return stream.getvalue(), json.dumps(content).encode()

    @classmethod
    def read(cls, arrays_path: Path, plain_path: Path) -> TableStates:
        """Raises PlayLogError for files that are none."""
        try:
            content = json.loads(plain_path.read_bytes())
            states = cls(
                tables=tuple(content["tables"]),
                findings=content["findings"],
                n_findings=Counter(content["n_findings"]),
                settings=content["settings"],
                flags=Counter(content["flags"]),
                n_rows=content["n_rows"],
            )
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


def fold_tables(
    states: TableStates,
    store: Store,
    sheets: Sheets,
    portfolio: Portfolio,
    folder: Path,
    *,
    buckets: int,
) -> dict[int, list[Path]]:
    """Fold the rounds of a store into ``states``; factors that need every seat go into a folder.

    Returns the files of factors by bucket of players; only factors other than one are kept.
    """
    files: dict[int, list[Path]] = {}
    new = new_round_keys(store)
    for number, piece in enumerate(_pieces(store, sheets, states.tables)):
        states.add(piece, portfolio.sheets, np.isin(row_keys(piece, with_player=False), new))
        given = given_factors(portfolio, piece)
        rows = np.flatnonzero((given != 1).any(axis=1))
        if not len(rows):
            continue
        keys = row_keys(piece)[rows]
        by_player = np.array([bucket_of(name, buckets) for name in piece.texts.players])
        places = by_player[piece.player[rows]]
        for bucket in np.unique(places).tolist():
            mine = places == bucket
            path = folder / f"given-{bucket:03}-{number:05}.npz"
            np.savez(path, keys=keys[mine], factors=given[rows[mine]])
            files.setdefault(bucket, []).append(path)
    return files


def _pieces(store: Store, sheets: Sheets, tables: Sequence[str]) -> Iterator[Plays]:
    """Rounds of a store with codes of sheets that are judged, and of tables that go on."""
    known = Lexicon()["tables"]
    known.codes(tables)
    for piece in scan_rounds(store):
        codes = np.append(known.codes(piece.texts.tables), np.int32(-1))
        plays = sheets.recode(piece)
        texts = replace(plays.texts, tables=known.texts)
        yield replace(plays, table=codes[plays.table].astype(np.int32), texts=texts)


def held_back(
    states: TableStates, store: Store, sheets: Sheets, players: Sequence[str], *, alpha: float
) -> Mapping[str, str]:
    """Players whose alarms wait for a shuffle, and why.

    Only where a monitor with all hands has reached an e-value of 20 are the rounds looked at again,
    without the hands of the player who is judged.
    """
    suspects = {
        key: [name for name, state in by_name.items() if state.peak >= np.log(20.0)]
        for key, by_name in states.monitors.items()
    }
    if not players or not any(suspects.values()):
        return {}
    lexicon, parts = Lexicon(), list[Plays]()
    for piece in _pieces(store, sheets, ()):
        near = np.zeros(len(piece), dtype=np.bool_)
        for key, names in suspects.items():
            texts = getattr(piece.texts, f"{key}s")
            codes = [code for code, name in enumerate(texts) if name in set(names)]
            near |= np.isin(getattr(piece, key), codes)
        if near.any():
            parts.append(lexicon.recode(piece.take(near)))
    texts = lexicon.texts
    joined = Plays.join([replace(part, texts=texts) for part in parts])
    return {one.player: one.reason for one in held_alarms(joined, players, alpha=alpha)}
