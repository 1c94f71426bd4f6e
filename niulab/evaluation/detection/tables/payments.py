"""Payments against the rules, and chips in sight against what the sheet asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from niulab.engine.rules import RuleSet
from niulab.engine.rules.cover import full_in_sight_cents
from niulab.evaluation.detection.tables.texts import text_of
from niulab.evaluation.playlog.plays import BOXES, Flag, Plays, boxes_of

__all__ = ["Mispay", "ShortCover", "mispays", "short_covers"]


@dataclass(frozen=True)
class Mispay:
    """One payment that is not what the rules give, in cents; ``residual`` is in whose favor."""

    round: str
    table: str
    dealer: str
    seat: int
    player: str
    box: str
    paid: int
    due: int

    @property
    def residual(self) -> int:
        """Paid less due: above 0 the player has it."""
        return self.paid - self.due


@dataclass(frozen=True)
class ShortCover:
    """A stake with fewer chips beside it than the sheet asks for, in cents.

    spared: what the player lost less than the rules give, 0 if nothing.
    """

    round: str
    seat: int
    player: str
    box: str
    stake: int
    cover: int
    needed: int
    spared: int


def mispays(plays: Plays, sheets: Sequence[RuleSet]) -> list[Mispay]:
    """Every payment whose residual is not 0, in the order of the rows.

    Residuals are those of the rows: what was paid less what the rules give for the recorded cards.
    """
    found = []
    for row, column in np.argwhere(plays.residuals != 0).tolist():
        paid = int(plays.nets[row, column])
        found.append(
            Mispay(
                round=text_of(plays.texts.rounds, plays.round[row]),
                table=text_of(plays.texts.tables, plays.table[row]),
                dealer=text_of(plays.texts.dealers, plays.dealer[row]),
                seat=int(plays.seat[row]),
                player=text_of(plays.texts.players, plays.player[row]),
                box=_box(sheets, int(plays.rules[row]), column),
                paid=paid,
                due=paid - int(plays.residuals[row, column]),
            )
        )
    return found


def short_covers(plays: Plays, sheets: Sequence[RuleSet]) -> list[ShortCover]:
    """Stakes on Double and Super whose recorded cover is less than the sheet asks for.

    Cover is what lies beside the stake. Void rounds do not count.
    """
    found = []
    is_played = (plays.flags & int(Flag.VOID)) == 0
    for code, rules in enumerate(sheets):
        for column, box in enumerate(boxes_of(rules)[1:3], start=1):
            if box is None:
                continue
            stakes, cover = plays.stakes[:, column], plays.cover[:, column - 1]
            rows = np.flatnonzero(is_played & (plays.rules == code) & (stakes > 0) & (cover >= 0))
            amounts, place = np.unique(stakes[rows], return_inverse=True)
            terms = rules.boxes[box]
            asked = np.array(
                [full_in_sight_cents(terms, stake) - stake for stake in amounts.tolist()],
                dtype=np.int64,
            )
            needed = asked[place]
            for row, least in zip(rows.tolist(), needed.tolist(), strict=True):
                if cover[row] < least:
                    found.append((row, column, box, least))
    found.sort()
    return [
        ShortCover(
            round=text_of(plays.texts.rounds, plays.round[row]),
            seat=int(plays.seat[row]),
            player=text_of(plays.texts.players, plays.player[row]),
            box=box,
            stake=int(plays.stakes[row, column]),
            cover=int(plays.cover[row, column - 1]),
            needed=least,
            spared=max(int(plays.residuals[row, column]), 0) if plays.nets[row, column] < 0 else 0,
        )
        for row, column, box, least in found
    ]


def _box(sheets: Sequence[RuleSet], code: int, column: int) -> str:
    box = boxes_of(sheets[code])[column] if 0 <= code < len(sheets) else None
    return box or BOXES[column]
