"""Rows of text into plays: what cannot be is quarantined with a reason, what is odd is flagged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, tzinfo
from itertools import permutations
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from niulab.engine.cards import RANKS
from niulab.engine.rules import RuleSet, load_rules, shipped_names
from niulab.errors import PlayLogError
from niulab.evaluation.playlog.chunk import Chunk, Quarantined, ReadOptions, Start
from niulab.evaluation.playlog.flat import CODES, HANDS, TIMES
from niulab.evaluation.playlog.plays import (
    BOXES,
    NO_CARD,
    NO_CODE,
    NO_TIME,
    Flag,
    Plays,
    Vocabularies,
)
from niulab.evaluation.playlog.reading import Rows, read_rows
from niulab.evaluation.playlog.replay import replayed
from niulab.evaluation.playlog.rounds import clock_steps_back, find_repeats, flag_rounds
from niulab.evaluation.playlog.text.fields import (
    Read,
    read_codes,
    read_hands,
    read_numbers,
    read_times,
)
from niulab.evaluation.playlog.text.kernels import EMPTY

__all__ = ["looks_sorted", "read_plays", "sheets_of"]

_MOST_SEAT = 126
_FEWEST_SORTED = 20  # hands in a row that chance sorts once in 120 each
_HEAD = 200  # hands that are looked at before all others
_NOT_VOID = {"", "0", "false", "no"}


def read_plays(
    path: Path | str,
    *,
    options: ReadOptions | None = None,
    careful: bool = False,
    start: Start | None = None,
) -> Iterator[Chunk]:
    """Plays of a flat log, chunk by chunk, with every line accounted for (see ``Chunk``).

    ``careful`` reads line by line even where the file is clean, with the same rows. ``start``: a
    span to read; chunks are those of the whole file if it begins where one of them does. Raises
    PlayLogError for a file that cannot be opened, is no play log, or options that cannot be.
    """
    options = options or ReadOptions()
    _verify_options(options)
    checker = _Checker(options, is_sorted=start is not None and start.is_sorted)
    pieces = read_rows(Path(path), options, careful=careful, start=start)
    with ThreadPoolExecutor(1) as reader:  # reads on while this chunk is checked
        coming = reader.submit(next, pieces, None)
        while (rows := coming.result()) is not None:
            coming = reader.submit(next, pieces, None)
            yield checker.chunk(rows)


def _verify_options(options: ReadOptions) -> None:
    """Raise PlayLogError for options that cannot be."""
    _zone(options.zone)
    if options.rows < 1:
        raise PlayLogError(f"chunks of {options.rows} rows: write 1 or more")
    ids = options.card_ids
    if ids and sorted(ids.suits.upper()) != sorted("DCHS"):
        raise PlayLogError(f"suits '{ids.suits}': write each of D, C, H, S once, as DCHS")


def sheets_of(names: Sequence[str], options: ReadOptions) -> list[RuleSet | None]:
    """The sheet of each name a log gives, None for names nobody declared or ships."""
    shipped = {name.casefold(): name for name in shipped_names()}
    declared = {name.casefold(): rules for name, rules in options.rules.items()}
    if options.default_rules is not None:
        declared.setdefault(options.default_rules.name.casefold(), options.default_rules)
    sheets: list[RuleSet | None] = []
    for name in names:
        key = name.casefold()
        if key in declared:
            sheets.append(declared[key])
        else:
            sheets.append(load_rules(shipped[key]) if key in shipped else None)
    return sheets


def _zone(name: str) -> tzinfo:
    if name == "UTC":
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise PlayLogError(f"no time zone '{name}'; write an IANA name as Europe/Lisbon") from None


class _Columns:
    """Columns of rows as values, and which rows cannot be kept and why."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.n = len(rows.lines)
        self.reasons: dict[int, str] = {}

    def text(self, name: str) -> Any:
        column = self.rows.columns.get(name)
        if column is None:
            return pa.DictionaryArray.from_arrays(
                pa.array(np.zeros(self.n, np.int32)), pa.array([""], pa.string())
            )
        return column

    def is_given(self, name: str) -> bool:
        return name in self.rows.columns

    def keep(self, read: Read) -> NDArray[Any]:
        for row, reason in read.faults.items():
            self.reasons.setdefault(row, reason)
        return read.values

    def number(self, name: str, *, least: int | None = None) -> NDArray[np.int64]:
        """Whole numbers, EMPTY where a field is empty."""
        if not self.is_given(name):
            return np.full(self.n, EMPTY)
        values = self.keep(read_numbers(self.text(name), name))
        if least is not None:
            self.refuse((values < least) & (values != EMPTY), f"{name} is negative")
        return values

    def cents(self, name: str, *, least: int | None = None, empty: int = 0) -> NDArray[np.int64]:
        """Numbers with another value where a field is empty."""
        values = self.number(name, least=least)
        return np.where(values == EMPTY, empty, values)

    def refuse(self, rows: NDArray[np.bool_], reason: str) -> None:
        for row in np.flatnonzero(rows).tolist():
            self.reasons.setdefault(row, reason)


class _Checker:
    """Turns rows into chunks; remembers whether hands were sorted for the last, short chunk."""

    def __init__(self, options: ReadOptions, *, is_sorted: bool = False) -> None:
        self.options = options
        self.zone = _zone(options.zone)
        self.is_sorted = is_sorted
        self.order: bool | None = None  # of the chunk at hand

    def chunk(self, rows: Rows) -> Chunk:
        """One chunk: read, quarantine, drop repeats, replay, flag."""
        columns = _Columns(rows)
        plays, has_net, sheets = self._plays(columns)
        good = np.ones(columns.n, dtype=np.bool_)
        good[list(columns.reasons)] = False
        kept = np.flatnonzero(good)
        bad = np.flatnonzero(~good)
        reasons = [columns.reasons[row] for row in bad.tolist()]

        if len(bad):
            plays = plays.take(kept)
        repeats = find_repeats(plays)
        for row in repeats.differing.tolist():
            first = rows.lines[kept[repeats.first_of[row]]]
            reasons.append(f"differs from line {first}: the same round, seat and player")
        bad = np.concatenate([bad, kept[repeats.differing]])
        lines = rows.lines[bad]
        quarantined = [
            *rows.quarantined,
            *(
                Quarantined(line, reason, text)
                for line, reason, text in zip(
                    lines.tolist(), reasons, rows.texts_of(lines), strict=True
                )
            ),
        ]
        final = kept[repeats.keep]
        if not repeats.keep.all():
            plays = plays.take(repeats.keep)
        plays = flag_rounds(plays, sheets)
        plays = _compact(replayed(plays, sheets, has_net[final]))
        self._warn(rows, plays)
        return Chunk(
            plays=plays,
            lines=rows.lines[final],
            n_read=rows.n_read,
            n_duplicates=len(repeats.identical),
            n_blank=rows.n_blank,
            n_headers=rows.n_headers,
            quarantined=sorted(quarantined, key=lambda one: one.line),
            warnings=rows.warnings,
            next_line=rows.block.first_line + rows.block.n_lines,
            layout=rows.layout,
            order=self.order,
        )

    def _plays(self, columns: _Columns) -> tuple[Plays, NDArray[np.bool_], list[RuleSet | None]]:
        """All rows, those that cannot be kept among them; recorded nets (n, 4); sheets by code."""
        arrays: dict[str, Any] = {}
        texts: dict[str, tuple[str, ...]] = {}
        for name, column in CODES.items():
            if columns.is_given(name):
                arrays[column], texts[Plays.CODES[column]] = read_codes(columns.text(name))
        for name, what in (("round_id", "round id"), ("player", "player")):
            columns.refuse(arrays[CODES[name]] == NO_CODE, f"no {what}")
        sheets, known = self._sheets(arrays, texts)
        flags = np.where(known, 0, int(Flag.UNKNOWN_RULES)).astype(np.uint16)
        self._seats(columns, arrays, sheets)

        for name in TIMES:
            if columns.is_given(name):
                arrays[name] = columns.keep(read_times(columns.text(name), name, self.zone))
        for name, (column, counts) in HANDS.items():
            if columns.is_given(name):
                text = columns.text(name)
                arrays[column] = columns.keep(read_hands(text, name, counts, self.options.card_ids))
        has_net = self._money(columns, arrays)
        lacks = ((arrays["stakes"] + arrays["late"] > 0) & ~has_net).any(axis=1)
        flags[lacks] |= np.uint16(Flag.NO_NET)
        if "void" in arrays:
            is_not = [text.casefold() in _NOT_VOID for text in texts["voids"]]
            arrays["void"] = np.where(
                np.append(is_not, True)[arrays["void"]], NO_CODE, arrays["void"]
            )
            flags[arrays["void"] != NO_CODE] |= np.uint16(Flag.VOID)
        if self._hides_order(arrays):
            flags |= np.uint16(Flag.NO_ORDER)
        plays = Plays.of(columns.n, Vocabularies(**texts), flags=flags, **arrays)
        return plays, has_net, sheets

    def _sheets(
        self, arrays: dict[str, Any], texts: dict[str, tuple[str, ...]]
    ) -> tuple[list[RuleSet | None], NDArray[np.bool_]]:
        """Sheets by code, the default's put where none is named, and which rows have one."""
        default = self.options.default_rules
        if default is not None and (arrays["rules"] == NO_CODE).any():
            if default.name not in texts["rules"]:
                texts["rules"] = (*texts["rules"], default.name)
            code = texts["rules"].index(default.name)
            arrays["rules"] = np.where(arrays["rules"] == NO_CODE, code, arrays["rules"])
        sheets = sheets_of(texts["rules"], self.options)
        known = np.array([*(sheet is not None for sheet in sheets), False])[arrays["rules"]]
        return sheets, known

    def _seats(
        self, columns: _Columns, arrays: dict[str, Any], sheets: Sequence[RuleSet | None]
    ) -> None:
        """Seats and first seats, within the table of the sheet where it is known."""
        most = np.array([*(s.table.max_seats if s else _MOST_SEAT for s in sheets), _MOST_SEAT])
        limit = np.minimum(most, _MOST_SEAT)[arrays["rules"]]
        for name in ("seat", "first_seat"):
            seat = columns.number(name)
            is_empty = seat == EMPTY
            wrong = ((seat < 1) | (seat > limit)) & ~is_empty
            for row in np.flatnonzero(wrong).tolist():
                columns.reasons.setdefault(
                    row, f"no such seat: {name} {seat[row]} of 1 .. {limit[row]}"
                )
            arrays[name] = np.where(wrong | is_empty, 0, seat)

    def _money(self, columns: _Columns, arrays: dict[str, Any]) -> NDArray[np.bool_]:
        """Stakes, late changes, nets, cover and promo; returns which nets are recorded (n, 4)."""
        arrays["stakes"] = np.stack([columns.cents(box, least=0) for box in BOXES], axis=1)
        arrays["late"] = np.stack([columns.cents(f"late_{box}") for box in BOXES], axis=1)
        after = arrays["stakes"] + arrays["late"]
        for place, box in enumerate(BOXES):
            columns.refuse(after[:, place] < 0, f"late_{box} takes more than {box} holds")
        nets = np.stack([columns.number(f"net_{box}") for box in BOXES], axis=1)
        has_net: NDArray[np.bool_] = nets != EMPTY
        arrays["nets"] = np.where(has_net, nets, 0)
        arrays["cover"] = np.stack(
            [columns.cents(f"cover_{box}", least=0, empty=-1) for box in BOXES[1:3]], axis=1
        )
        arrays["promo"] = columns.cents("promo")
        return has_net

    def _hides_order(self, arrays: dict[str, Any]) -> bool:
        """Whether the cards do not stand in the order dealt: declared, or hands are all sorted."""
        if self.options.in_deal_order is not None:
            self.order = not self.options.in_deal_order
            return self.order
        self.order = None
        for column in ("cards", "dealer_cards"):
            is_sorted = looks_sorted(arrays[column])
            if is_sorted is None:
                continue
            self.order = self.is_sorted = is_sorted
            if is_sorted:
                return True
        return self.is_sorted

    def _warn(self, rows: Rows, plays: Plays) -> None:
        sentences = {
            Flag.NO_ORDER: "rows whose cards are sorted, so that the order dealt is not known",
            Flag.UNKNOWN_RULES: "rows whose sheet is not known: declare it",
            Flag.NO_NET: "rows without all their payments",
            Flag.CARD_TWICE: "rows of rounds in which a card lies twice",
        }
        counts = {s: int((plays.flags & int(f) != 0).sum()) for f, s in sentences.items()}
        counts["rows without a time"] = int((plays.time == NO_TIME).sum())
        counts["rows without a seat"] = int((plays.seat == 0).sum())
        counts["times that go back between rounds of a table"] = clock_steps_back(plays)
        for sentence, times in counts.items():
            if times:
                rows.warn(sentence, times)


def _orders() -> NDArray[np.int16]:
    """Orders that people and programs sort hands in, (k, 53): a card's place in each.

    By rank with the ace low or high, by points, by the text of the rank, and within suits in any
    order of them. Cards of one place may stand in any order.
    """
    ranks = np.arange(13)
    by_rank = [ranks, (ranks - 1) % 13, np.minimum(ranks, 9)]
    by_rank += [
        np.argsort(np.argsort(np.array(texts)))
        for texts in (RANKS, [text.replace("10", "T") for text in RANKS])
    ]
    orders = [np.arange(52), *(order.repeat(4) for order in by_rank)]
    for suits in permutations(range(4)):
        of_suit = 13 * np.tile(np.argsort(suits), 13)
        orders += [of_suit + order.repeat(4) for order in by_rank[:2]]
    return np.pad(np.array(orders, dtype=np.int16), ((0, 0), (0, 1)), constant_values=99)


_ORDERS = _orders()


def looks_sorted(hands: NDArray[np.uint8]) -> bool | None:
    """Whether hands (n, 5) of card ids are all sorted, in one of the usual orders.

    None where chance might have sorted them: fewer than 20 distinct hands.
    """
    head = hands[:_HEAD][(hands[:_HEAD] < NO_CARD).all(axis=1)]
    orders = [order for order in _ORDERS if _all_sorted(order[head])]
    if len(head) >= _FEWEST_SORTED and not orders:
        return False
    known = hands[(hands < NO_CARD).all(axis=1)]
    if len(known) < _FEWEST_SORTED:
        return None
    is_sorted = any(_all_sorted(order[known]) for order in orders)
    if is_sorted and len(np.unique(known, axis=0)) < _FEWEST_SORTED:
        return None
    return is_sorted


def _all_sorted(hands: NDArray[np.int16]) -> bool:
    steps = np.diff(hands, axis=1)
    return bool((steps >= 0).all() or (steps <= 0).all())


def _compact(plays: Plays) -> Plays:
    """The rows with vocabularies of what they use only, in order of first use."""
    columns: dict[str, Any] = {}
    texts: dict[str, tuple[str, ...]] = {}
    for column, kind in Plays.CODES.items():
        codes, known = getattr(plays, column), getattr(plays.texts, kind)
        if not known:
            continue
        used = np.zeros(len(known) + 1, dtype=np.bool_)
        used[codes] = True
        if used[:-1].all():
            columns[column], texts[kind] = codes, known
            continue
        new = np.append(np.cumsum(used[:-1]) - 1, NO_CODE).astype(np.int32)
        columns[column] = new[codes]
        texts[kind] = tuple(
            text for text, use in zip(known, used[:-1].tolist(), strict=True) if use
        )
    return replace(plays, texts=Vocabularies(**texts), **columns)
