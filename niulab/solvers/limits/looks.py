"""A look at one card as a problem of the limits: what boxes are worth, and what a log shows of it.

A log that keeps the order of dealing (``position``) shows the card's class, whatever the player saw
of it; one that keeps hands without order (``hand``) how many of each class the hand holds; one that
keeps results (``results``) who won with which rank.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import comb
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from niulab.engine.cards import HAND_SIZE
from niulab.engine.ranking import all_hands, hand_weights, ranker
from niulab.engine.rules.model import RuleSet
from niulab.engine.settlement import Outcome
from niulab.errors import ConfigError, nearest
from niulab.solvers.channels import NOTHING, Channel
from niulab.solvers.information import Position, law_given_card
from niulab.solvers.joint_law import Cell, JointLaw
from niulab.solvers.limits.curve import point_at
from niulab.solvers.limits.frontier import FrontierPoint
from niulab.solvers.limits.logs import MOST_CLASSES, hand_log, result_log
from niulab.solvers.values import box_values

__all__ = ["LOGS", "Log", "Look", "frontier_policy", "look_at", "without_bonus"]

Floats = NDArray[np.float64]

Log = Literal["position", "hand", "results"]
LOGS: tuple[Log, ...] = get_args(Log)

_LOOKS: dict[tuple[str, str, str | tuple[str, ...]], Look] = {}


@dataclass(frozen=True, eq=False)
class Look:
    """One card's classes, as they are.

    names, sizes, chances (k,): of each class, its cards in the shoe and its share of them. laws: of
    the round given each, without bonus boxes. evs: exact, per unit, by box and class. blind: by
    box, without a look.
    """

    rules: RuleSet
    channel: Channel
    names: tuple[str, ...]
    sizes: tuple[int, ...]
    laws: tuple[JointLaw, ...]
    evs: dict[str, tuple[Fraction, ...]]
    blind: dict[str, Fraction]

    @cached_property
    def chances(self) -> Floats:
        shares: Floats = np.array(self.sizes) / sum(self.sizes)
        return shares

    @property
    def signals(self) -> tuple[str, ...]:
        """What may be shown: the classes, and nothing."""
        return (*self.names, NOTHING)

    def shown(self, see_rate: float = 1.0, noise: float = 0.0) -> Floats:
        """P(class and signal), (k, k + 1), of a channel with this see-rate and noise."""
        k = len(self.names)
        given = see_rate * ((1 - noise) * np.eye(k) + noise / k)
        joint: Floats = self.chances[:, None] * np.hstack([given, np.full((k, 1), 1 - see_rate)])
        return joint

    def values(self, box: str) -> Floats:
        """Mean result of a unit on a box by class, (k,); raises ConfigError for no such box."""
        if box not in self.evs:
            raise ConfigError(f"'{self.rules.name}' has no box '{box}'{nearest(box, self.evs)}")
        return np.array([float(ev) for ev in self.evs[box]])

    @cached_property
    def best_box(self) -> str:
        """The box, no bonus, on which a unit staked only when a card favors it earns most."""
        boxes = [box for box, terms in self.rules.boxes.items() if not terms.is_bonus]
        return max(boxes, key=lambda box: float(self.chances @ np.maximum(self.values(box), 0)))

    def has_log(self, log: Log) -> bool:
        """Whether ``kept`` answers; it counts no hands of more than 20 classes."""
        return log != "hand" or len(self.names) <= MOST_CLASSES

    def kept(self, log: Log) -> Floats:
        """What a log keeps of a card: its law by class, (k, n_logged).

        Raises ConfigError for hands of too many classes.
        """
        if log not in LOGS:
            raise ConfigError(f"log is one of {', '.join(LOGS)}, got {log!r}{nearest(log, LOGS)}")
        if log not in self._kept:
            make: dict[Log, Callable[[], Floats]] = {
                "position": lambda: np.eye(len(self.names)),
                "hand": lambda: hand_log(self.sizes),
                "results": lambda: result_log(self.laws),
            }
            self._kept[log] = make[log]()
        return self._kept[log]

    @cached_property
    def _kept(self) -> dict[Log, Floats]:
        return {}


def look_at(rules: RuleSet, channel: Channel) -> Look:
    """The look of a channel, see-rate and noise apart; kept.

    About 10 ms for a class of whole ranks, half a second for others, once the sheet is counted.
    """
    key = rules.rules_hash, channel.position, channel.shows
    if key not in _LOOKS:
        classes, copies = channel.values(rules), rules.deck.composition
        plain = without_bonus(rules)
        laws = tuple(law_given_card(plain, ids, channel.position) for ids in classes.values())
        evs = {
            box: tuple(
                _bonus_mean(rules, box, ids, channel.position)
                if terms.is_bonus
                else box_values(plain, law)[box].ev
                for ids, law in zip(classes.values(), laws, strict=True)
            )
            for box, terms in rules.boxes.items()
        }
        sizes = tuple(sum(copies[card] for card in ids) for ids in classes.values())
        total = sum(sizes)
        blind = {
            box: sum((n * ev for n, ev in zip(sizes, row, strict=True)), Fraction(0)) / total
            for box, row in evs.items()
        }
        _LOOKS[key] = Look(rules, channel, tuple(classes), sizes, laws, evs, blind)
    return _LOOKS[key]


def frontier_policy(
    rules: RuleSet,
    channel: Channel,
    mu: float,
    *,
    box: str | None = None,
    log: Log = "position",
) -> FrontierPoint:
    """The policy of the frontier at a price: nothing or a unit on a box, by signal.

    Its ``policy[s, 1]`` is the chance to stake when signal s is shown, numbered as in
    ``solvers.channels.Signals`` (the last is nothing). mu: base units per nat. box: by default the
    one that the look favors most; the required box beside it is not counted. log: what is kept.
    """
    look = look_at(rules, channel)
    column = look.values(look.best_box if box is None else box)
    joint = look.shown(channel.see_rate, channel.noise)
    chances = joint.sum(axis=0)
    # a signal that never occurs tells of a card what is known anyway
    cards = np.where(chances > 0, joint / np.where(chances > 0, chances, 1), look.chances[:, None])
    values = np.stack([np.zeros(len(chances)), column @ cards], axis=1)
    is_plain = log == "position" and channel.is_clear
    return point_at(chances, values, mu, None if is_plain else cards.T @ look.kept(log))


def without_bonus(rules: RuleSet) -> RuleSet:
    """The sheet with its main boxes only."""
    boxes = {name: box for name, box in rules.boxes.items() if not box.is_bonus}
    return rules if len(boxes) == len(rules.boxes) else rules.model_copy(update={"boxes": boxes})


_BONUS: dict[tuple[str, str], tuple[list[Fraction], list[Fraction]]] = {}


def _bonus_mean(rules: RuleSet, box: str, ids: tuple[int, ...], position: Position) -> Fraction:
    """EV per unit of a bonus box given a card of the player's or the dealer's hand."""
    key, copies = (rules.rules_hash, box), rules.deck.composition
    if key not in _BONUS:
        _BONUS[key] = _bonus_by_card(rules, box)
    means = _BONUS[key][0 if position == "own" else 1]
    total = sum((copies[card] * means[card] for card in ids), Fraction(0))
    return total / sum(copies[card] for card in ids)


def _bonus_by_card(rules: RuleSet, box: str) -> tuple[list[Fraction], list[Fraction]]:
    """By card id, in the own and in the dealer's hand: one pass over the hands that earn an award.

    A hand shows a card in as many places as it holds it, and leaves a copy of it to the dealer in
    as many ways as copies are left. Hands without an award are all others.
    """
    copies, hands = rules.deck.composition, all_hands(multi=rules.deck.decks > 1)
    events = ranker(rules).events(hands)
    rows = np.flatnonzero(events)
    hands, weights, events = hands[rows], hand_weights(hands[rows], copies), events[rows]
    masks = [0, *np.flatnonzero(np.bincount(events)).tolist()]
    nets = [Cell(0, 0, Outcome.LOSE, mask).unit(rules, box).net for mask in masks]
    n, n_hands = sum(copies), comb(sum(copies), HAND_SIZE)
    own, dealer = list[Fraction](), list[Fraction]()
    for card, n_copies in enumerate(copies):
        held = (hands == card).sum(axis=1)
        n_held = n_copies * comb(n - 1, HAND_SIZE - 1)
        for side, times, in_all in (
            (own, held, n_held),
            (dealer, n_copies - held, n_copies * n_hands - n_held),
        ):
            counts = np.bincount(events, weights=weights * times, minlength=1)  # exact: < 2**45
            met = [int(counts[mask]) for mask in masks[1:]]
            met.insert(0, in_all - sum(met))
            total = sum((m * net for m, net in zip(met, nets, strict=True)), Fraction(0))
            side.append(total / max(in_all, 1))
    return own, dealer
