"""Portfolios: the components a player is watched with, their published weights, their tables.

A component bets on one explanation: an attack, the feature of the deal it would have to know, the
stake score it would show in, and how strongly. Weights are positive and add up to one, so the
portfolio's wealth is the weighted sum of its components', and a component of weight w finds its own
attack at most ln(1/w)/I rounds later than alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from niulab.engine.cards import HAND_SIZE, N_CARDS, RANKS
from niulab.engine.rules import RuleSet
from niulab.engine.wagers import Slip, verify_slip
from niulab.errors import ConfigError
from niulab.evaluation.detection.attacks.slips import SLIP_RATES, slip_table
from niulab.evaluation.detection.factors import likelihood_table, tilt_table, verify_means
from niulab.evaluation.detection.features import (
    CARD_SLOTS,
    LOW_SLOTS,
    SLOTS,
    card_law,
    card_values,
    low_law,
    top_box,
    verify_one_deck,
)
from niulab.evaluation.detection.scores import N_MAIN, SCORES, Z_GRID
from niulab.evaluation.playlog.plays import boxes_of

__all__ = [
    "Block",
    "Component",
    "Portfolio",
    "declared_portfolio",
    "portfolio_of_block",
    "seen_blocks",
    "tilt_block",
    "weighted",
]

Floats = NDArray[np.float64]

_THETAS = (0.3, 1.0, 3.0)
_RATES = np.array([[0.9, 0.4], [0.7, 0.1], [0.5, 0.25], [0.25, 0.15], [0.2, 0.3]])
"""Chances to see a card, and to stake the top box without having seen it.

Where 5 of 13 ranks are good, one of them or of ``SLIP_RATES`` keeps 89 % of the information of
every bettor who sees a quarter of the cards or more and hides up to a fifth of his stakes either
way.
"""

_SEEN = ("own card seen", "dealer's card seen")


@dataclass(frozen=True)
class Component:
    """One explanation; ``strength`` is a tilt's theta or the bettor's rates as text."""

    attack: str
    feature: str
    slot: str
    score: str
    strength: str
    weight: float = 0.0

    @property
    def name(self) -> str:
        return f"{self.attack}: {self.feature} at {self.slot}, by {self.score}, {self.strength}"


@dataclass(frozen=True, eq=False)
class Block:
    """Components that share a stake score and a slot.

    tables: by sheet, float64 (n_bins, n_levels, k), or None where the sheet has no such slot; empty
    for factors that are given row by row. laws: by sheet, (n_levels,).
    """

    components: tuple[Component, ...]
    tables: tuple[Floats | None, ...] = ()
    laws: tuple[Floats | None, ...] = ()

    @property
    def is_given(self) -> bool:
        """Whether the factors come with the rows."""
        return not self.tables


@dataclass(frozen=True, eq=False)
class Portfolio:
    """Blocks over some sheets; raises ConfigError for factors without mean one or bad weights.

    low: cents on each main box, (N_MAIN,), of a seat that raises none, by which the first rounds of
    a player are measured; None for the least that a sheet takes.
    """

    sheets: tuple[RuleSet, ...]
    blocks: tuple[Block, ...]
    name: str = "full"
    low: Floats | None = None
    attacks: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        for block in self.blocks:
            for table, law in zip(block.tables, block.laws, strict=True):
                if table is not None and law is not None:
                    verify_means(table, law, what=block.components[0].name)
        total = float(self.weights.sum())
        if not (self.weights > 0).all() or abs(total - 1) > 1e-9:
            raise ConfigError(
                f"the weights of a portfolio are above 0 and add up to 1, got a sum of {total}"
            )
        names = dict.fromkeys(component.attack for component in self.components)
        object.__setattr__(self, "attacks", tuple(names))

    @cached_property
    def components(self) -> tuple[Component, ...]:
        """All of them, in the order of a state's numbers."""
        return tuple(component for block in self.blocks for component in block.components)

    @cached_property
    def weights(self) -> Floats:
        """Published weights, (n_components,)."""
        return np.array([component.weight for component in self.components])

    @cached_property
    def groups(self) -> NDArray[np.int64]:
        """The place of each component's attack in ``attacks``."""
        places = {name: place for place, name in enumerate(self.attacks)}
        return np.array([places[component.attack] for component in self.components])

    @cached_property
    def layout(self) -> tuple[NDArray[np.int64], NDArray[np.int64], Floats]:
        """``blocks``, ``offsets`` and ``tables`` as ``kernels.fold_rounds`` takes them.

        Equal tables, as those of one feature at every place of the deal, are there once, so that
        they stay in the processor's cache.
        """
        known: dict[tuple[tuple[int, ...], bytes], int] = {}
        rows, flat, first, size = [], list[Floats](), 0, 0
        offsets = np.full((max(len(self.sheets), 1), len(self.blocks)), -1, dtype=np.int64)
        for number, block in enumerate(self.blocks):
            k = len(block.components)
            head = block.components[0]
            score = -1 if block.is_given else SCORES.index(head.score)
            slot = -1 if block.is_given else SLOTS.index(head.slot)
            n_levels = n_bins = 0
            for sheet, table in enumerate(block.tables):
                if table is not None:
                    n_bins, n_levels = table.shape[:2]
                    key = table.shape, table.tobytes()
                    if key not in known:
                        known[key] = size
                        flat.append(np.ascontiguousarray(table).ravel())
                        size += table.size
                    offsets[sheet, number] = known[key]
            if len({t.shape for t in block.tables if t is not None}) > 1:
                raise ConfigError(
                    f"the sheets give the slot '{head.slot}' different numbers of levels: judge "
                    "their rounds apart"
                )
            rows.append((score, slot, n_bins, n_levels, k, first))
            first += k
        tables = np.concatenate(flat) if flat else np.zeros(0)
        return np.array(rows, dtype=np.int64).reshape(-1, 6), offsets, tables

    @cached_property
    def slots(self) -> frozenset[str]:
        """Slots that tables are looked up by."""
        return frozenset(b.components[0].slot for b in self.blocks if not b.is_given)

    @property
    def n_given(self) -> int:
        """Columns of factors that come with the rows."""
        return sum(len(block.components) for block in self.blocks if block.is_given)

    def weight_of(self, attack: str) -> float:
        """The weights of an attack's components together."""
        return sum(c.weight for c in self.components if c.attack == attack)


# ---------------------------------------------------------------- what is watched for


def seen_blocks(sheets: Sequence[RuleSet], *, ordered: bool = True) -> Iterator[Block]:
    """Own and dealer's cards, by place or, where the order is not recorded, by count.

    Raises ConfigError for a sheet that is not dealt from one full deck.
    """
    for rules in sheets:
        verify_one_deck(rules)
    yield from _card_blocks(sheets) if ordered else _low_blocks(sheets)


def declared_portfolio(
    rules: RuleSet,
    *,
    place: int,
    box: str | Sequence[str],
    low: str | None = None,
    rates: Floats | None = None,
) -> Portfolio:
    """Who sees the card at one place of the deal and raises the boxes that it favors.

    place: 0-4 the player's own cards, 5-9 the dealer's. box: those he may raise, one or several of
    the main boxes. low: what he stakes otherwise, as "single=300"; by default the least that the
    sheet takes. rates: (n, 2), chances to see the card and to hide it; by default a mixture. Raises
    ConfigError for a place that is none, or boxes that no card there favors, and WagerError for a
    slip that is none.
    """
    verify_one_deck(rules)
    if not 0 <= place < len(CARD_SLOTS):
        raise ConfigError(f"place is 0 to {len(CARD_SLOTS) - 1}, got {place}")
    whose = int(place >= HAND_SIZE)
    favors = _favored_boxes(rules, whose)
    known = {
        name: 1 << column
        for column, name in enumerate(boxes_of(rules)[:N_MAIN])
        if name is not None and favors[:, column].any()
    }
    names = (box,) if isinstance(box, str) else tuple(box)
    if not names or not set(names) <= set(known):
        raise ConfigError(
            f"boxes of a declared attack are some of {', '.join(known) or 'none'}, those of "
            f"'{rules.name}' that a card at place {place} favors: got {', '.join(names) or 'none'}"
        )
    mask = sum(known[name] for name in set(names))
    block = _declared_block(rules, place, SLIP_RATES if rates is None else rates, mask)
    return portfolio_of_block(rules, block, low=_low(rules, low))


def portfolio_of_block(rules: RuleSet, block: Block, *, low: Floats | None = None) -> Portfolio:
    """A declared attack: the block's components, all of one attack, with all the weight."""
    weights = {block.components[0].attack: 1.0}
    return Portfolio((rules,), tuple(weighted([block], weights)), "declared", low)


def _low(rules: RuleSet, text: str | None) -> Floats | None:
    """Cents on each main box of a slip; raises WagerError."""
    if text is None:
        return None
    slip = Slip.of(text)
    verify_slip(rules, slip)
    columns = boxes_of(rules)[:N_MAIN]
    return np.array([float(slip.stake(box)) if box is not None else 0.0 for box in columns])


def weighted(blocks: Sequence[Block], attacks: Mapping[str, float]) -> Iterator[Block]:
    """The blocks with the weight of each attack spread evenly over its components."""
    counts: dict[str, int] = {}
    for block in blocks:
        for component in block.components:
            counts[component.attack] = counts.get(component.attack, 0) + 1
    total = sum(attacks[attack] for attack in counts)
    for block in blocks:
        components = tuple(
            replace(c, weight=attacks[c.attack] / total / counts[c.attack])
            for c in block.components
        )
        yield replace(block, components=components)


def _favors(rules: RuleSet, whose: int, column: int) -> Floats:
    """Values of cards for a column of BOXES, (52,)."""
    box = boxes_of(rules)[column]
    return card_values(rules, box)[whose] if box is not None else np.zeros(N_CARDS)


def _card_features(rules: RuleSet, whose: int) -> dict[str, Floats]:
    """Scores of a card at one place, by name; the higher, the better for the player."""
    ranks = np.arange(N_CARDS) // 4
    top = _favors(rules, whose, top_box(rules))
    is_low_good = np.cov(top, ranks)[0, 1] < 0
    features = {"value on the required box": _favors(rules, whose, 0), "value on the top box": top}
    for r in range(12):
        is_low = (ranks <= r).astype(np.float64)
        word = RANKS[r] if is_low_good else RANKS[r + 1]
        name = f"rank up to {word}" if is_low_good else f"rank from {word}"
        features[name] = is_low if is_low_good else 1 - is_low
    is_black = np.isin(np.arange(N_CARDS) % 4, (1, 3)).astype(np.float64)
    features["black"], features["red"] = is_black, 1 - is_black
    return features


def tilt_block(
    attack: str,
    slot: str,
    score: str,
    by_sheet: Sequence[tuple[dict[str, Floats], Floats]],
    thetas: Sequence[float],
) -> Block:
    """Tilts of every feature; ``by_sheet`` holds the features and the law of the levels."""
    names = tuple(by_sheet[0][0])
    components = tuple(
        Component(attack, name, slot, score, f"theta {theta:g}")
        for name in names
        for theta in thetas
    )
    tables = tuple(
        np.concatenate([tilt_table(features[name], law, Z_GRID, thetas) for name in names], axis=2)
        for features, law in by_sheet
    )
    return Block(components, tables, tuple(law for _, law in by_sheet))


def _favored_boxes(rules: RuleSet, whose: int) -> NDArray[np.bool_]:
    """Which of the main boxes each card favors, (52, N_MAIN)."""
    return np.stack([_favors(rules, whose, column) > 0 for column in range(N_MAIN)], axis=1)


def _slip_block(sheets: Sequence[RuleSet], place: int) -> Block:
    """Bettors who stake the top box, or raise any boxes, when a card favors them."""
    whose = int(place >= HAND_SIZE)
    staked = [f"seen {sees:g}, else staked {base:g}" for sees, base in _RATES]
    components = (
        *_slip_components(place, "favorable on the top box", staked),
        *_slip_components(place, "the boxes favorable", _hidden(SLIP_RATES)),
    )
    law = card_law()
    tables = []
    for rules in sheets:
        favors = _favored_boxes(rules, whose)
        stakes = likelihood_table(favors[:, top_box(rules)], law, _RATES)
        raises = slip_table(favors, law, SLIP_RATES)
        tables.append(np.concatenate([np.repeat(stakes, len(raises) // 2, axis=0), raises], axis=2))
    return Block(components, tuple(tables), (law,) * len(sheets))


def _declared_block(rules: RuleSet, place: int, rates: Floats, boxes: int) -> Block:
    """Bettors who raise some boxes, a bit mask, and no others."""
    favors = _favored_boxes(rules, int(place >= HAND_SIZE))
    table = slip_table(favors, card_law(), rates, declared=boxes)
    components = _slip_components(place, "the boxes favorable", _hidden(rates))
    return Block(components, (table,), (card_law(),))


def _slip_components(place: int, feature: str, strengths: Sequence[str]) -> tuple[Component, ...]:
    whose = _SEEN[place >= HAND_SIZE]
    return tuple(Component(whose, feature, CARD_SLOTS[place], "slip", each) for each in strengths)


def _hidden(rates: Floats) -> list[str]:
    return [f"seen {sees:g}, hidden {hides:g}" for sees, hides in rates]


def _card_blocks(sheets: Sequence[RuleSet]) -> Iterator[Block]:
    by_owner = [[(_card_features(rules, w), card_law()) for rules in sheets] for w in range(2)]
    for place, slot in enumerate(CARD_SLOTS):
        whose = int(place >= HAND_SIZE)
        for score in ("total", "share"):
            yield tilt_block(_SEEN[whose], slot, score, by_owner[whose], _THETAS)
        yield _slip_block(sheets, place)


def _low_blocks(sheets: Sequence[RuleSet]) -> Iterator[Block]:
    for whose in range(2):
        for r in range(12):
            slot = LOW_SLOTS[12 * whose + r]
            is_low_good = [
                np.cov(_favors(rules, whose, top_box(rules)), np.arange(N_CARDS) // 4)[0, 1] < 0
                for rules in sheets
            ]
            count, law = np.arange(HAND_SIZE + 1.0), low_law(r)
            by_sheet = [
                (
                    {
                        f"many up to {RANKS[r]}" if good else f"few up to {RANKS[r]}": count
                        if good
                        else -count
                    },
                    law,
                )
                for good in is_low_good
            ]
            for score in ("total", "share"):
                yield tilt_block(_SEEN[whose], slot, score, by_sheet, _THETAS)
