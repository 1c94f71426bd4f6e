"""The schema of a rule set: frozen pydantic models, checked as a whole, compared by hash.

Nothing here ranks or solves; a rule set is data. ``boxes`` holds what concerns money.
"""

from __future__ import annotations

import hashlib
import json
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from niulab.engine.cards import HAND_SIZE, RANKS
from niulab.engine.rules.boxes import (
    BASE_ODDS,
    Award,
    Box,
    Cents,
    Commission,
    Cover,
    ExactRate,
    Frozen,
    odds_by_rank,
)
from niulab.engine.specials import FRONT_PREDICATES, PREDICATES
from niulab.errors import nearest

__all__ = [
    "PLAIN_RANKS",
    "Award",
    "Base",
    "Box",
    "Commission",
    "Cover",
    "Deck",
    "Order",
    "RuleSet",
    "Special",
    "Table",
    "TieBreak",
]

PLAIN_RANKS = ("high_card", *(f"niu_{digit}" for digit in range(1, 10)), "niu_niu")
BOX_NAMES = ("single", "even", "equal", "double", "super", "bonus")
MAX_EVENTS = 8  # an event mask is one byte


class Deck(Frozen):
    """What the shoe holds and when it is shuffled."""

    decks: Annotated[int, Field(strict=True, ge=1, le=8)] = 1
    removed_ranks: tuple[str, ...] = ()
    reshuffle: Literal["every_round", "penetration"] = "every_round"
    penetration: ExactRate | None = None

    @field_validator("removed_ranks")
    @classmethod
    def _ranks_exist(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for rank in value:
            if rank not in RANKS:
                message = f"removed_ranks holds '{rank}'{nearest(rank, RANKS)}"
                raise ValueError(message)
        return tuple(sorted(set(value), key=RANKS.index))

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.reshuffle == "penetration") != (self.penetration is not None):
            message = "penetration is given exactly when reshuffle = 'penetration'"
            raise ValueError(message)
        if self.penetration is not None and not 0 < self.penetration <= 1:
            message = f"penetration lies in (0, 1], got {self.penetration}"
            raise ValueError(message)
        return self

    @cached_property
    def composition(self) -> tuple[int, ...]:
        """How often the full shoe holds each card id 0..51."""
        removed = {RANKS.index(rank) for rank in self.removed_ranks}
        return tuple(0 if card // 4 in removed else self.decks for card in range(52))

    @property
    def n_cards(self) -> int:
        """Cards in the full shoe."""
        return sum(self.composition)


class Base(Frozen):
    """What three cards must be to qualify as a base (a niu)."""

    multiple_of: Annotated[int, Field(strict=True, ge=2, le=30)] = 10
    three_of_a_kind: Annotated[bool, Field(strict=True)] = False


class Special(Frozen):
    """A rank above Niu Niu.

    Five-card specials hold however the hand is set; a front predicate needs a qualifying base and a
    front that satisfies it.
    """

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    predicate: str

    @field_validator("predicate")
    @classmethod
    def _predicate_exists(cls, value: str) -> str:
        known = {*PREDICATES, *FRONT_PREDICATES}
        if value not in known:
            message = f"no predicate '{value}'{nearest(value, known)}"
            raise ValueError(message)
        return value

    @property
    def is_front(self) -> bool:
        """Whether the predicate looks at the two front cards of a set hand."""
        return self.predicate in FRONT_PREDICATES


TieBreak = Literal[
    "high_card_then_suit", "suit_first", "card_by_card", "pairs_then_cards", "push", "dealer"
]


class Order(Frozen):
    """How two hands of equal rank are compared.

    ``suits`` lists the suits from highest to lowest, or is empty where suits never decide.
    ``tie_break`` applies to all ranks, ``high_card_tie_break`` (if given) to high-card hands:
    ``high_card_then_suit`` takes the highest of all five cards, then its suit; ``suit_first`` that
    card's suit, then its rank; ``card_by_card`` all five from the highest, each by rank and suit;
    ``pairs_then_cards`` the number of pairs, the pairs from the highest, then the cards by rank;
    ``push`` and ``dealer`` compare nothing. ``exact_ties`` says whom two hands favor that a
    comparison leaves equal.
    """

    ace: Literal["low", "high"] = "low"
    suits: str = "SHCD"
    tie_break: TieBreak = "high_card_then_suit"
    high_card_tie_break: TieBreak | None = None
    exact_ties: Literal["push", "dealer"] = "push"

    @field_validator("suits")
    @classmethod
    def _suits_once(cls, value: str) -> str:
        if value and sorted(value) != sorted("SHCD"):
            message = f"suits lists each of S, H, C, D once from highest to lowest, got '{value}'"
            raise ValueError(message)
        return value

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        compares = {self.tie_break, self.high_card_tie_break or self.tie_break} - {"push", "dealer"}
        if self.exact_ties == "dealer" and not compares:
            message = (
                "exact_ties = 'dealer' needs a tie_break that compares; or set tie_break = 'dealer'"
            )
            raise ValueError(message)
        if "suit_first" in compares and not self.suits:
            message = "tie_break = 'suit_first' needs an order of suits, as suits = 'SHCD'"
            raise ValueError(message)
        return self

    def mode_of(self, rank_index: int) -> TieBreak:
        """The tie-break of a rank."""
        if rank_index == 0 and self.high_card_tie_break is not None:
            return self.high_card_tie_break
        return self.tie_break


class Table(Frozen):
    """The table: seats, chip unit and how dealing and settling go round."""

    max_seats: Annotated[int, Field(strict=True, ge=1, le=9)] = 9
    chip_unit_cents: Cents = 20
    first_packet: Literal["marked_position", "largest_required_stake"] = "marked_position"
    settlement_order: Literal["dealer_right_to_left"] = "dealer_right_to_left"


class RuleSet(Frozen):
    """One published text (or one reading of it), settled."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]
    title: str
    source: str
    note: str = ""
    extends: str | None = None
    base_unit_cents: Cents = 100
    deck: Deck = Deck()
    values: dict[str, Annotated[int, Field(strict=True, ge=0, le=30)]] = Field(
        default_factory=lambda: {rank: min(i + 1, 10) for i, rank in enumerate(RANKS)}
    )
    base: Base = Base()
    specials: tuple[Special, ...] = ()
    order: Order = Order()
    arrangement: Literal["as_set", "dealer_corrects", "automatic"] = "as_set"
    dealer_opens: Literal["before_players", "after_players"] = "after_players"
    table: Table = Table()
    boxes: dict[str, Box] = Field(default_factory=dict)

    @field_validator("values")
    @classmethod
    def _values_of_ranks(cls, value: dict[str, int]) -> dict[str, int]:
        if set(value) != set(RANKS):
            message = f"values gives the points of each rank {' '.join(RANKS)}, got {sorted(value)}"
            raise ValueError(message)
        return {rank: value[rank] for rank in RANKS}

    @field_validator("boxes")
    @classmethod
    def _box_names(cls, value: dict[str, Box]) -> dict[str, Box]:
        for name in value:
            if name not in BOX_NAMES:
                message = f"no box '{name}'{nearest(name, BOX_NAMES)}"
                raise ValueError(message)
        required = [name for name, box in value.items() if box.required]
        if value and len(required) != 1:
            message = f"exactly one box is required to join a round, got {required or 'none'}"
            raise ValueError(message)
        return value

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        problems = []
        names = [special.name for special in self.specials]
        if len({*names, *PLAIN_RANKS}) != len(names) + len(PLAIN_RANKS):
            problems.append(
                f"specials need distinct names other than the plain ranks, got {', '.join(names)}"
            )
        n_needed = HAND_SIZE * (self.table.max_seats + 1)
        if self.deck.n_cards < 2 * HAND_SIZE:
            problems.append(
                f"a round needs {2 * HAND_SIZE} cards, the shoe holds {self.deck.n_cards}: take"
                " ranks out of deck.removed_ranks"
            )
        elif n_needed > self.deck.n_cards:
            problems.append(
                f"{self.table.max_seats} seats and the dealer need {n_needed} cards, the shoe holds"
                f" {self.deck.n_cards}: lower table.max_seats"
            )
        if len(self.events) > MAX_EVENTS:
            problems.append(
                f"awards and hand_pays use {len(self.events)} predicates: at most {MAX_EVENTS}"
            )
        for name, box in self.boxes.items():
            problems += self._problems_of(name, box)
        if problems:
            raise ValueError("\n".join(problems))
        return self

    def _problems_of(self, name: str, box: Box) -> list[str]:
        problems = []
        tables = {} if box.is_bonus else {"win_odds": box.win_odds}
        if not box.is_bonus and box.lose_odds != "mirror":
            tables["lose_odds"] = box.lose_odds
        for key, table in tables.items():
            where, known = f"boxes.{name}.{key}", {*self.ranks, BASE_ODDS}
            problems += [
                f"{where} names rank '{rank}'{nearest(rank, known)}"
                for rank in table
                if rank not in known
            ]
            missing = [rank for rank in self.ranks if rank not in table]
            if missing and BASE_ODDS not in table:
                problems.append(f"{where} gives no odds for {', '.join(missing)} and no 'default'")
        problems += [
            f"boxes.{name}.half_pay names rank '{rank}'{nearest(rank, self.ranks)}"
            for rank in box.half_pay
            if rank not in self.ranks
        ]
        unit = self.table.chip_unit_cents
        problems += [
            f"boxes.{name}.{key} = {getattr(box, key)} is no multiple of the chip unit {unit}"
            for key in ("minimum_cents", "maximum_cents")
            if getattr(box, key) % unit
        ]
        return problems

    @cached_property
    def ranks(self) -> tuple[str, ...]:
        """Names of the ranks from lowest to highest."""
        return (*PLAIN_RANKS, *(special.name for special in self.specials))

    @cached_property
    def required_box(self) -> str | None:
        """The box every slip must stake, or None for a ranking-only file."""
        return next((name for name, box in self.boxes.items() if box.required), None)

    @property
    def is_ranking_only(self) -> bool:
        """Whether the file ranks hands without offering a bet."""
        return not self.boxes

    @cached_property
    def events(self) -> tuple[str, ...]:
        """Five-card predicates on which some box pays; bit i of an event mask is ``events[i]``."""
        found: dict[str, None] = {}
        for box in self.boxes.values():
            found |= dict.fromkeys(award.predicate for award in (*box.awards, *box.hand_pays))
        return tuple(found)

    def win_odds(self, box: str) -> tuple[int, ...]:
        """Winning odds of a main box by rank index."""
        return odds_by_rank(self.boxes[box].win_odds, self.ranks)

    def lose_odds(self, box: str) -> tuple[int, ...]:
        """Losing odds of a main box by rank index."""
        table = self.boxes[box].lose_odds
        return self.win_odds(box) if table == "mirror" else odds_by_rank(table, self.ranks)

    @cached_property
    def tree(self) -> dict[str, Any]:
        """The game alone as a plain tree, odds written out: equal trees are the same game."""
        identity = {"name", "title", "source", "note", "extends", "specials", "boxes"}
        tree = self.model_dump(mode="json", exclude=identity)
        tree["specials"] = [f"{special.name} ({special.predicate})" for special in self.specials]
        tree["boxes"] = {name: box.tree(self.ranks) for name, box in self.boxes.items()}
        return tree

    @cached_property
    def rules_hash(self) -> str:
        """16 hex digits that change exactly when the game or its money changes."""
        return _digest(self.tree)

    @cached_property
    def ranking_hash(self) -> str:
        """16 hex digits of what decides ranks, ties, events and the full shoe, not of the odds."""
        return _digest([*self._counted, self.events])

    @cached_property
    def counting_hash(self) -> str:
        """16 hex digits of what decides ranks, ties and the full shoe, whatever boxes pay on."""
        return _digest(self._counted)

    @property
    def _counted(self) -> list[Any]:
        keys = ("values", "base", "specials", "order")
        return [{key: self.tree[key] for key in keys}, [self.deck.decks, self.deck.removed_ranks]]


def _digest(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
