"""Cards: the ids 0..51, their ranks, suits and points, and the notations people write them in.

``id = 4 * rank + suit`` with ranks A, 2, ..., 10, J, Q, K = 0..12 and suits D, C, H, S = 0..3, so a
higher id is the higher card under the most common order (king high, ace low, spades highest).
A shoe of several decks holds each id several times.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple, SupportsIndex

from niulab.errors import CardError, nearest

__all__ = [
    "HAND_SIZE",
    "N_CARDS",
    "RANKS",
    "SUITS",
    "Card",
    "card_text",
    "parse_card",
    "parse_cards",
    "parse_hand",
]

RANKS = ("A", "2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K")
SUITS = "DCHS"
N_CARDS = 52
HAND_SIZE = 5

_SYMBOLS = {"♦": "D", "♢": "D", "♣": "C", "♧": "C", "♥": "H", "♡": "H", "♠": "S", "♤": "S"}
_RANK_OF = {text: index for index, text in enumerate(RANKS)} | {"T": 9, "1": 0}
_RANK_PATTERN = r"(10|[2-9]|[ATJQK]|1)"
_RANK_FIRST = re.compile(rf"^{_RANK_PATTERN}([DCHS])$")
_SUIT_FIRST = re.compile(rf"^([DCHS]){_RANK_PATTERN}$")


class Card(NamedTuple):
    """One card; ``rank`` 0..12 (ace..king), ``suit`` 0..3 (diamonds, clubs, hearts, spades)."""

    rank: int
    suit: int

    @property
    def id(self) -> int:
        """The id 0..51."""
        return 4 * self.rank + self.suit

    @classmethod
    def of(cls, card: SupportsIndex | str | Card) -> Card:
        """Return the card of an id, a text or a card."""
        if isinstance(card, Card):
            return card
        try:
            card_id = parse_card(card) if isinstance(card, str) else operator.index(card)
        except TypeError:
            message = f"{card!r} is no card; write a text as KS or 10D, or an id from 0 to 51"
            raise CardError(message) from None
        if not 0 <= card_id < N_CARDS:
            message = f"card id {card_id} is none: ids run from 0 (AD) to {N_CARDS - 1} (KS)"
            raise CardError(message)
        return cls(*divmod(card_id, 4))

    def __str__(self) -> str:
        return f"{RANKS[self.rank]}{SUITS[self.suit]}"


def card_text(card_id: int) -> str:
    """Print a card id as ``10D``, ``KS``."""
    return f"{RANKS[card_id // 4]}{SUITS[card_id % 4]}"


def parse_card(text: str) -> int:
    """Read one card: ``TS``, ``10S``, ``♠10``, ``S10``, upper or lower case; returns its id.

    Raises CardError for anything else.
    """
    clean = text.strip().upper().replace("\N{VARIATION SELECTOR-16}", "")
    for symbol, letter in _SYMBOLS.items():
        clean = clean.replace(symbol, letter)
    if match := _RANK_FIRST.match(clean):
        rank, suit = match.groups()
    elif match := _SUIT_FIRST.match(clean):
        suit, rank = match.groups()
    else:
        hint = nearest(clean, (f"{r}{s}" for r in RANKS for s in SUITS)) if len(clean) > 1 else ""
        hint = hint if "did you mean" in hint else ""
        message = (
            f"'{text}' is no card{hint}; write rank then suit, as KS, 10D, TD or ♠10 "
            "(ranks A 2-10 J Q K, suits S H C D)"
        )
        raise CardError(message)
    return 4 * _RANK_OF[rank] + SUITS.index(suit)


def parse_cards(text: str) -> tuple[int, ...]:
    """Read cards separated by spaces or commas; returns their ids in the order written."""
    return tuple(parse_card(part) for part in re.split(r"[\s,;]+", text.strip()) if part)


def parse_hand(
    hand: str | Iterable[SupportsIndex | str | Card], *, copies: int = 1, seen: Sequence[int] = ()
) -> tuple[int, ...]:
    """Read a hand of exactly five cards; returns their ids in the order written.

    ``copies`` is how often one card can occur (the number of decks); ``seen`` are cards already on
    the table. Raises CardError for a wrong count or a card that occurs too often.
    """
    cards = parse_cards(hand) if isinstance(hand, str) else tuple(Card.of(c).id for c in hand)
    if len(cards) != HAND_SIZE:
        message = (
            f"a hand has {HAND_SIZE} cards, got {len(cards)}: write all five, as 'KS QH 10D AC 7S'"
        )
        raise CardError(message)
    table = (*seen, *cards)
    for card in cards:
        if table.count(card) > copies:
            times = "twice" if copies == 1 else f"more than {copies} times"
            message = (
                f"{card_text(card)} is dealt {times}: {copies} deck(s) hold it {copies} time(s)"
            )
            raise CardError(message)
    return cards
