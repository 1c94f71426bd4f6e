"""What a reader of a flat play log is told, and what it hands over: one chunk of rows at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from niulab.engine.rules import RuleSet
from niulab.evaluation.playlog.plays import Plays
from niulab.evaluation.playlog.text.blocks import Span
from niulab.evaluation.playlog.text.layout import Layout

__all__ = ["CardIds", "Chunk", "Quarantined", "ReadOptions", "Start"]


@dataclass(frozen=True)
class CardIds:
    """What numbers 0 .. 51 in place of cards mean: ranks A, 2, ... K and suits in a declared order.

    ``by`` "rank": number = 4 x rank + suit; "suit": number = 13 x suit + rank. ``first`` is the
    number of the first card.
    """

    suits: str = "DCHS"
    by: Literal["rank", "suit"] = "rank"
    first: int = 0


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """How to read a flat log; what is None is found from the file.

    zone: IANA name of the zone of times written without one. card_ids: what numeric cards mean;
    None refuses them. rules: sheets by the name the log gives them, beside the shipped ones;
    default_rules: the sheet of rows that name none. in_deal_order: whether cards stand in the order
    dealt; None looks at them (hands that are all sorted are not). rows: most rows of a chunk.
    """

    separator: str | None = None
    encoding: str | None = None
    zone: str = "UTC"
    card_ids: CardIds | None = None
    rules: Mapping[str, RuleSet] = field(default_factory=dict)
    default_rules: RuleSet | None = None
    in_deal_order: bool | None = None
    rows: int = 100_000


@dataclass(frozen=True)
class Start:
    """Where to begin within a file, and what is known there: the layout, and whether hands before
    it were sorted.
    """

    span: Span
    layout: Layout | None = None
    is_sorted: bool = False


@dataclass(frozen=True)
class Quarantined:
    """A row that was not kept: its line in the source (1 is the first), why, and its text.

    ``text`` is cut at a few thousand characters.
    """

    line: int
    reason: str
    text: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Chunk:
    """Some consecutive lines of a flat log, each accounted for.

    Always: n_read = len(plays) + n_duplicates + len(quarantined) + n_blank + n_headers, and the
    lines of a file but its first header add up to the sum of n_read.

    plays: rows kept, in file order, with vocabularies of **this chunk alone** (so that memory stays
    bounded; see ``vocabulary.Lexicon`` for codes shared by all chunks). lines: int64 (n,), the line
    of each kept row. n_duplicates: rows equal to an earlier row of this chunk (same table, round,
    seat and player), dropped; rows that come again in a later chunk are the store's to find
    (``rounds.find_repeats``), as are cards that lie twice in rounds spread over chunks
    (``rounds.flag_rounds``). n_headers: header lines repeated inside the file. warnings: sentences
    on what was found, without figures, and how often, so that chunks add up. next_line:
    the line after the chunk's last. layout: of the lines that follow. order: whether the chunk's
    own hands are sorted; None where they cannot tell, and those before it are believed.
    """

    plays: Plays
    lines: NDArray[np.int64]
    n_read: int
    n_duplicates: int
    n_blank: int
    n_headers: int
    quarantined: list[Quarantined]
    warnings: dict[str, int]
    next_line: int
    layout: Layout | None = None
    order: bool | None = None
