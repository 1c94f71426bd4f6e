"""Those who see a card before they stake: hole-carders, edge sorters, colluders, steerers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from niulab.agents.advantage.config import Colluders, SightConfig, Steerer, high_slip, low_slip
from niulab.agents.advantage.crowd import Attackers, Block, Cents, Seats
from niulab.agents.advantage.worth import (
    BoxWorths,
    Plan,
    best_plan,
    box_worths,
    plan_edge,
    plan_information,
)
from niulab.engine.cards import HAND_SIZE
from niulab.engine.rules import RuleSet
from niulab.solvers.channels import Signals
from niulab.solvers.information import value_given_card

__all__ = [
    "Seers",
    "Steerers",
    "Team",
    "seen_edge",
    "seen_information",
    "seen_plan",
    "steered_edge",
]

_COVERS, _BLIND = range(2)


def seen_plan(rules: RuleSet, config: SightConfig) -> Plan:
    """The best slip by signal that a config's spread allows."""
    worths = _worths(rules, config)
    return best_plan(rules, worths, low_slip(rules, config), high_slip(rules, config))


def seen_edge(rules: RuleSet, config: SightConfig) -> Fraction:
    """Mean cents a round and staker, exactly, stops apart."""
    return plan_edge(
        _worths(rules, config),
        seen_plan(rules, config),
        cover_bet=config.cover_bet,
        hold_back=config.hold_back,
    )


def seen_information(rules: RuleSet, config: SightConfig) -> float:
    """Nats a round that its stakes tell of the card it looks at, one player's stakes of a team."""
    return plan_information(
        _worths(rules, config),
        _bidding(rules, config) if isinstance(config, Steerer) else seen_plan(rules, config),
        config.channel,
        cover_bet=config.cover_bet,
        hold_back=config.hold_back,
    )


class Seers(Attackers):
    """Play the best slip for what they see; before the start as high as often, but blindly."""

    def __init__(self, rules: RuleSet, seats: Seats, config: SightConfig) -> None:
        super().__init__(rules, seats, config)
        self.sight = config
        self.plan = self._plan()
        self._signals = Signals(rules, config.channel)
        favorable, worths = self.plan.is_favorable, _worths(rules, config)
        seen = float(sum(c for c, f in zip(worths.chances, favorable, strict=True) if f))
        self.high_rate = seen * (1 - config.hold_back) + (1 - seen) * config.cover_bet
        self._menu = np.vstack([self.plan.slips, self.plan.low, self.plan.cover])
        self._low = len(self.plan.slips)
        self._choices = np.empty((0, 0), dtype=np.int64)

    def _plan(self) -> Plan:
        return seen_plan(self.rules, self.sight)

    def look(self, block: Block) -> None:
        super().look(block)
        choices, cover, low = self._chosen(self._seen(block)), len(self._menu) - 1, self._low
        blind = np.where(self.chances(_BLIND) < self.high_rate, cover, low)
        self._choices = np.where(block.rounds < self.config.start, blind, choices)

    def _seen(self, block: Block) -> NDArray[np.int64]:
        """Signals (n, k) of a block."""
        tables, seers = self.seats.tables, self._seers()
        n, k = len(self.seats), len(block.rounds)
        place = self.sight.seen_place
        hand = self._seen_hand() if place < HAND_SIZE else block.packets.shape[2] - 1
        cards = block.packets[tables, :, hand, place % HAND_SIZE]
        rows = np.repeat(seers, k), np.tile(block.rounds, n)
        signals = self._signals.draw_rows(*rows, cards.ravel())
        return signals.reshape(n, k)

    def _chosen(self, signals: NDArray[np.int64]) -> NDArray[np.int64]:
        """Places (n, k) in the menu: a signal's slip, the low one or, last, the cover play."""
        u, low = self.chances(_COVERS), self._low
        return np.where(
            self.plan.is_favorable[signals],
            np.where(u < self.sight.hold_back, low, signals),
            np.where(u < self.sight.cover_bet, low + 1, low),
        )

    def bets(self) -> Cents:
        slips: Cents = self._menu[self._choices[:, self.now]]
        return slips

    def _seers(self) -> NDArray[np.uint64]:
        """Whose eyes each player sees with, by seed."""
        return self.seats.seeds

    def _seen_hand(self) -> NDArray[np.int64] | int:
        """The packet whose card is seen, where it is no card of the dealer's."""
        return self.seats.places


class Team(Seers):
    """Teams of a peeker, their first, and stakers, who act on what he sees; he stakes low."""

    def __init__(self, rules: RuleSet, seats: Seats, config: Colluders) -> None:
        self._first = np.arange(len(seats)) // config.team * config.team
        super().__init__(rules, seats, config)
        self._is_peeker = self._first == np.arange(len(seats))

    def bets(self) -> Cents:
        slips = super().bets()
        slips[self._is_peeker] = self.plan.low
        return slips

    def _seers(self) -> NDArray[np.uint64]:
        seers: NDArray[np.uint64] = self.seats.seeds[self._first]
        return seers


class Steerers(Seers):
    """Bid for the first packet when a card of it favors them; otherwise stake low."""

    sight: Steerer

    def _plan(self) -> Plan:
        return _bidding(self.rules, self.sight)

    def _seen_hand(self) -> int:
        return 0


def _bidding(rules: RuleSet, config: Steerer) -> Plan:
    """The plan of a steerer: the bid on the required box comes with every favorable slip."""
    plan = seen_plan(rules, config)
    worths = _worths(rules, config)
    required = plan.boxes.index(rules.required_box or "")
    unstaked = (Fraction(0),) * len(worths.chances)
    rows = [[float(v) for v in worths.values.get(box, unstaked)] for box in plan.boxes]
    values = np.array(rows).T
    bidding = plan.slips.copy()
    bidding[:, required] = config.bid
    is_worth = (bidding * values).sum(axis=1) > values @ plan.low
    slips = np.where(is_worth[:, None], bidding, plan.low)
    gains = ((slips - plan.low) * values).sum(axis=1)
    return replace(plan, slips=slips, cover=slips[int(gains.argmax())])


def steered_edge(rules: RuleSet, config: Steerer, *, takes_packet_low: bool = False) -> Fraction:
    """Mean cents a round of a steerer whose bid always takes the packet, without noise or cover.

    Without a bid somebody else takes the first packet (or he, if ``takes_packet_low``): then the
    card he saw lies in no hand of his round, whose law follows from the mean over all places.
    """
    plan, worths = _bidding(rules, config), _worths(rules, config)
    classes = tuple(config.channel.values(rules).values())
    n, total = sum(rules.deck.composition), Fraction(0)
    sees = Fraction(str(config.see_rate))
    for place, (ids, chance) in enumerate(zip(classes, worths.card_chances, strict=True)):
        slip = plan.slips[place] if plan.is_favorable[place] else plan.low
        for box, cents in zip(plan.boxes, slip.tolist(), strict=True):
            if not cents:
                continue
            value = worths.card[box][place]
            if not plan.is_favorable[place] and not takes_packet_low:
                dealers = value_given_card(rules, box, ids, "dealer")
                rest = n * worths.blind[box] - HAND_SIZE * (value + dealers)
                value = rest / (n - 2 * HAND_SIZE)
            total += chance * sees * cents * value
    blind = zip(plan.boxes, plan.low.tolist(), strict=True)
    return total + (1 - sees) * sum((c * worths.blind[b] for b, c in blind if c), Fraction(0))


def _worths(rules: RuleSet, config: SightConfig) -> BoxWorths:
    """Worths of the boxes that a config may stake."""
    return box_worths(rules, config.channel, high_slip(rules, config).boxes)
