"""Cards that lie twice in a round: by round, and by the players whose hands held them.

One full deck deals no card twice, so such a round has probability 0 under any shuffle: a card was
recorded wrongly, or came from elsewhere. Which of its hands is the strange one, the round does not
tell; it is left out of every e-value of stakes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import log

import numpy as np
from numpy.typing import NDArray

from niulab.engine.cards import card_text
from niulab.evaluation.detection.attacks.seats import table_rounds
from niulab.evaluation.detection.tables.rates import rate_factors
from niulab.evaluation.detection.tables.texts import text_of
from niulab.evaluation.playlog.plays import NO_CARD, NO_CODE, Flag, Plays
from niulab.evaluation.playlog.rounds import distinct, round_keys

__all__ = [
    "DoubledCard",
    "HeldTwice",
    "cards_twice",
    "count_held",
    "held_twice",
    "rounds_with_cards",
]


@dataclass(frozen=True)
class DoubledCard:
    """A card in several hands of a round. seats: that held it, 0 for the dealer and where no seat
    is recorded; players: of these seats.
    """

    round: str
    table: str
    card: str
    seats: tuple[int, ...]
    players: tuple[str, ...]


@dataclass(frozen=True)
class HeldTwice:
    """A player's rounds with his cards recorded, those in which he held a card that lay in another
    hand too, and which cards.

    log_e: against the bound that no more than this share of his rounds has a card of his recorded
    wrongly, or in another's hand. It reaches ln(1/alpha) with probability alpha at most while the
    bound holds. Both hands that hold a card are counted, so an honest neighbor of who held it out
    is, too.
    """

    player: str
    rounds: int
    doubled: int
    cards: Mapping[str, int]
    bound: float
    log_e: float

    def is_alarm(self, alpha: float) -> bool:
        """Whether there are too many for the bound."""
        return self.log_e >= -log(alpha)


def cards_twice(plays: Plays) -> list[DoubledCard]:
    """Every card that lies in several hands of a round, in the order of the rounds.

    Whole rounds of sheets of one full deck (others have ``NO_CODE``). A hand counts once, however
    many rows tell of it; void rounds do not count. Rounds whose rows disagree on one hand are
    flagged like these, and list no card.
    """
    is_flagged = ((plays.flags & int(Flag.CARD_TWICE)) != 0) & (plays.rules != NO_CODE)
    rows = plays.take(is_flagged & ((plays.flags & int(Flag.VOID)) == 0))
    rounds = table_rounds(rows)
    found = []
    for number in range(len(rounds.starts) - 1):
        together = rounds.rows[slice(*rounds.starts[number : number + 2])].tolist()
        holders: dict[int, dict[tuple[int, ...], list[int]]] = {}
        for row in together:
            seat, hand = int(rows.seat[row]), tuple(sorted(rows.cards[row].tolist()))
            for card in set(hand) - {NO_CARD}:
                # a seat is one holder; where none is recorded, each other hand is
                key = (seat,) if seat else hand
                holders.setdefault(card, {}).setdefault(key, []).append(row)
        head = together[0]
        for card in {*np.unique(rows.dealer_cards[together]).tolist()} - {NO_CARD}:
            holders.setdefault(card, {})[()] = []
        found += [
            DoubledCard(
                round=text_of(rows.texts.rounds, rows.round[head]),
                table=text_of(rows.texts.tables, rows.table[head]),
                card=card_text(card),
                seats=tuple(sorted(int(rows.seat[at[0]]) if at else 0 for at in by.values())),
                players=tuple(
                    sorted(
                        {
                            text_of(rows.texts.players, rows.player[row])
                            for at in by.values()
                            for row in at
                        }
                    )
                ),
            )
            for card, by in sorted(holders.items())
            if len(by) > 1
        ]
    return found


def rounds_with_cards(plays: Plays, *, among: NDArray[np.bool_] | None = None) -> Counter[str]:
    """Rounds that are not void, with a hand of his recorded, by player; sheets of one deck only.

    among: (n,), rows that are asked about.
    """
    is_known = np.logical_or.reduce([column < NO_CARD for column in plays.cards.T])
    is_known &= (plays.player != NO_CODE) & (plays.rules != NO_CODE)
    is_known &= (plays.flags & int(Flag.VOID)) == 0
    if among is not None:
        is_known &= among
    names = plays.texts.players
    keys = round_keys(plays)[is_known] * max(len(names), 1) + plays.player[is_known]
    counts = np.bincount(distinct(keys)[0] % max(len(names), 1), minlength=len(names))
    return Counter({names[k]: int(counts[k]) for k in np.flatnonzero(counts).tolist()})


def held_twice(
    rounds: Mapping[str, int],
    doubled: Mapping[str, int],
    cards: Mapping[str, Mapping[str, int]],
    *,
    bound: float,
) -> list[HeldTwice]:
    """Every player who held such a card, by name, from counts by player.

    The e-value is that of now, not the largest: it depends on how many rounds there were and not
    on their order. Raises ConfigError for a bound that is no rate.
    """
    without, with_one = np.log(rate_factors(bound))
    found = []
    for name, n in sorted(doubled.items()):
        n_rounds = max(rounds.get(name, 0), n)
        paths = (n_rounds - n) * without + n * with_one
        log_e = float(np.logaddexp.reduce(paths) - log(len(paths)))
        found.append(HeldTwice(name, n_rounds, n, dict(cards[name]), bound, log_e))
    return found


def count_held(
    found: Iterable[DoubledCard],
) -> tuple[Counter[str], dict[str, Counter[str]]]:
    """Rounds with such a card by player, and by player how often each card."""
    seen: set[tuple[str, str, str]] = set()
    cards: dict[str, Counter[str]] = {}
    for one in found:
        for player in filter(None, one.players):
            seen.add((player, one.table, one.round))
            cards.setdefault(player, Counter())[one.card] += 1
    return Counter(player for player, *_ in seen), cards
