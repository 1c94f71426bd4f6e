"""Cards shown that are not the cards dealt, where a log records both."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from niulab.engine.cards import card_text
from niulab.evaluation.detection.attacks.seats import table_rounds
from niulab.evaluation.detection.tables.texts import text_of
from niulab.evaluation.playlog.plays import NO_CARD, Flag, Plays

__all__ = ["OtherCards", "other_cards"]


@dataclass(frozen=True)
class OtherCards:
    """A hand shown with other cards than were dealt to its seat.

    missing, strange: cards dealt and not shown, shown and not dealt. dealt_to: the seats of the
    round that the strange cards were dealt to, 0 for the dealer; in no seat: they came from
    elsewhere.
    """

    round: str
    table: str
    seat: int
    player: str
    missing: tuple[str, ...]
    strange: tuple[str, ...]
    dealt_to: tuple[int, ...]


def other_cards(plays: Plays) -> list[OtherCards]:
    """Every such hand, in the order of the rows; void rounds do not count."""
    is_both = ((plays.shown < NO_CARD) & (plays.cards < NO_CARD)).all(axis=1)
    is_both &= (plays.flags & int(Flag.VOID)) == 0
    if not is_both.any():
        return []
    differ = (np.sort(plays.shown, axis=1) != np.sort(plays.cards, axis=1)).any(axis=1)
    rounds = table_rounds(plays)
    place_of = np.argsort(rounds.rows)
    found = []
    for row in np.flatnonzero(is_both & differ).tolist():
        dealt, shown = set(plays.cards[row].tolist()), set(plays.shown[row].tolist())
        strange = shown - dealt
        number = int(np.searchsorted(rounds.starts, place_of[row], side="right")) - 1
        beside = rounds.rows[slice(*rounds.starts[number : number + 2])]
        dealt_to = [int(plays.seat[k]) for k in beside if strange & set(plays.cards[k].tolist())]
        if strange & set(plays.dealer_cards[row].tolist()):
            dealt_to.append(0)
        found.append(
            OtherCards(
                round=text_of(plays.texts.rounds, plays.round[row]),
                table=text_of(plays.texts.tables, plays.table[row]),
                seat=int(plays.seat[row]),
                player=text_of(plays.texts.players, plays.player[row]),
                missing=tuple(card_text(card) for card in sorted(dealt - shown)),
                strange=tuple(card_text(card) for card in sorted(strange)),
                dealt_to=tuple(sorted(dealt_to)),
            )
        )
    return found
