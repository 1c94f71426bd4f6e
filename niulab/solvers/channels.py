"""What a player is shown of one card before the bet, how it is drawn, and what it tells exactly.

A channel looks at the first card dealt to one hand and shows a value of it: one of a partition of
the shoe's cards. It may show nothing, or a value drawn at random instead. The draws are functions
of the row's seed and the round, from words that no deal uses. With q the share of a value's cards,
k values, noise e and E the mean of a slip's net without a look, a value that is shown is worth

    ((1 - e) q E[net | value] + e / k E) / ((1 - e) q + e / k)

by Bayes' rule, as the q E[net | value] of all values add up to E.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from niulab.engine.cards import N_CARDS, RANKS, SUITS, card_text
from niulab.engine.rules.model import RuleSet
from niulab.engine.settlement import Outcome
from niulab.engine.wagers import Slip
from niulab.errors import CardError, ConfigError, nearest
from niulab.seeding import WORD_BITS, round_word, round_words
from niulab.solvers.information import Position, card_class, law_given_card
from niulab.solvers.joint_law import joint_law
from niulab.solvers.values import slip_values

__all__ = [
    "NOTHING",
    "Channel",
    "SignalMixture",
    "SignalValues",
    "Signals",
    "signal_mixtures",
    "signal_values",
]

NOTHING = "nothing"
"""The name of the last signal: no value was shown."""

_REST = "any other"
_KINDS = {
    "rank": RANKS,
    "card": tuple(card_text(card) for card in range(N_CARDS)),
    "color": ("red", "black"),
    "suit": SUITS,
}
_SEES, _ERRS, _SHOWS = range(1 << 16, (1 << 16) + 3)
"""Groups of words: no shoe is so large that its own reach as far."""


@dataclass(frozen=True, kw_only=True)
class Channel:
    """A look at card 0, as dealt, of one hand.

    position: whose card. shows: "rank", "card", "color", "suit", or classes of cards as
    ``card_class`` reads them, as ("A 2 3", "J Q K"); what is in none of them is "any other".
    see_rate: probability that a value is shown, else nothing. noise: probability that the value
    shown is drawn uniformly from all values instead of being the card's own.
    """

    position: Position = "own"
    shows: str | tuple[str, ...] = "rank"
    see_rate: float = 1.0
    noise: float = 0.0

    def __post_init__(self) -> None:
        if isinstance(self.shows, list):  # as JSON and TOML give it
            object.__setattr__(self, "shows", tuple(self.shows))
        if mistakes := list(self._mistakes()):
            raise ConfigError("; ".join(mistakes))

    @property
    def is_clear(self) -> bool:
        """Whether the card's own value is always shown."""
        return self.see_rate == 1 and not self.noise

    @classmethod
    def of(cls, given: Channel | Mapping[str, Any]) -> Channel:
        """A channel of its keywords; raises ConfigError with every mistake."""
        if isinstance(given, Channel):
            return given
        known = tuple(field.name for field in fields(cls))
        mistakes = [
            f"unknown key '{key}'{nearest(str(key), known)}" for key in given if key not in known
        ]
        try:
            found = cls(**{key: value for key, value in given.items() if key in known})
        except ConfigError as error:
            mistakes.append(str(error))
        if mistakes:
            raise ConfigError("; ".join(mistakes))
        return found

    def to_json(self) -> dict[str, Any]:
        """The keywords of ``of``, in JSON's types."""
        shows = self.shows if isinstance(self.shows, str) else list(self.shows)
        return asdict(self) | {"shows": shows}

    def values(self, rules: RuleSet) -> dict[str, tuple[int, ...]]:
        """What can be shown: names, and the cards of the shoe that each stands for.

        Raises ConfigError for classes that overlap, hold no card of the shoe, or name none.
        """
        held = {card for card, copies in enumerate(rules.deck.composition) if copies}
        if isinstance(self.shows, str):
            classes = {name: held.intersection(card_class(name)) for name in _KINDS[self.shows]}
            return {name: tuple(sorted(ids)) for name, ids in classes.items() if ids}
        found: dict[str, tuple[int, ...]] = {}
        left = set(held)
        for name in self.shows:
            try:
                ids = held.intersection(card_class(name))
            except CardError as error:
                raise ConfigError(str(error)) from None
            if not ids or not ids <= left:
                wrong = "shares cards with one before it" if ids else "has no card in the shoe"
                raise ConfigError(
                    f"the class '{name}' {wrong}: write classes that hold cards of "
                    f"'{rules.name}' and do not overlap"
                )
            left -= ids
            found[name] = tuple(sorted(ids))
        return found | ({_REST: tuple(sorted(left))} if left else {})

    def _mistakes(self) -> Sequence[str]:
        mistakes, shows = [], self.shows
        if self.position not in get_args(Position):
            mistakes.append(f"position is 'own' or 'dealer', got {self.position!r}")
        if isinstance(shows, str) and shows not in _KINDS:
            kinds = ", ".join(f"'{kind}'" for kind in _KINDS)
            mistakes.append(
                f"shows is one of {kinds}, or a list of classes, got {shows!r}"
                + nearest(shows, _KINDS)
            )
        is_list = isinstance(shows, tuple) and all(isinstance(one, str) for one in shows)
        if not isinstance(shows, str) and not (is_list and shows):
            mistakes.append(f"shows takes a kind or a list of classes as 'J Q K', got {shows!r}")
        if not (_is_share(self.see_rate) and self.see_rate > 0):
            mistakes.append(f"see_rate is a number above 0, at most 1, got {self.see_rate!r}")
        if not _is_share(self.noise):
            mistakes.append(f"noise is a number from 0 to 1, got {self.noise!r}")
        return mistakes


class Signals:
    """The signals of a channel under a sheet, by number: its values, and last ``nothing``.

    Probabilities of the draws are the channel's to within 2**-52.
    """

    def __init__(self, rules: RuleSet, channel: Channel) -> None:
        self.channel = channel
        self.values = channel.values(rules)
        self.names = (*self.values, NOTHING)
        self.nothing = len(self.values)
        self.packet = 0 if channel.position == "own" else 1
        self._value_of = np.zeros(N_CARDS, dtype=np.int64)
        for number, ids in enumerate(self.values.values()):
            self._value_of[list(ids)] = number
        self._sees_below = _threshold(channel.see_rate)
        self._errs_below = _threshold(channel.noise)

    def values_of(self, cards: NDArray[np.uint8]) -> NDArray[np.int64]:
        """The value that each card is one of, whatever is shown of it, by number."""
        values: NDArray[np.int64] = self._value_of[cards]
        return values

    def draw(self, seed: int, round_index: int, card: int) -> int:
        """The signal of a round whose card is known to be ``card``."""
        if not _happens(self._sees_below, seed, round_index, _SEES):
            return self.nothing
        if _happens(self._errs_below, seed, round_index, _ERRS):
            return (round_word(seed, round_index, _SHOWS) * self.nothing) >> WORD_BITS
        return int(self._value_of[card])

    def draw_rows(
        self, seeds: NDArray[np.uint64], rounds: NDArray[np.int64], cards: NDArray[np.uint8]
    ) -> NDArray[np.int64]:
        """``draw`` of n rows (n,)."""
        signals: NDArray[np.int64] = self._value_of[cards]
        if self._errs_below:
            errs = round_words(seeds, rounds, _ERRS) < np.uint64(self._errs_below)
            words = round_words(seeds, rounds, _SHOWS) * np.uint64(self.nothing)
            shown = (words >> np.uint64(WORD_BITS)).astype(np.int64)  # 58 and 6 bits at most
            signals = np.where(errs, shown, signals)
        if self._sees_below < 1 << WORD_BITS:
            sees = round_words(seeds, rounds, _SEES) < np.uint64(self._sees_below)
            signals = np.where(sees, signals, self.nothing)
        return signals


@dataclass(frozen=True, eq=False)
class SignalValues:
    """What slips are worth once a signal is known; ``names`` are those of ``Signals``.

    chances: probability of each signal. nets_cents: mean net by signal and slip. wins: probability
    that the hand wins, by signal. blind_cents: mean net by slip without a look. All exact.
    """

    names: tuple[str, ...]
    chances: tuple[Fraction, ...]
    nets_cents: tuple[tuple[Fraction, ...], ...]
    wins: tuple[Fraction, ...]
    blind_cents: tuple[Fraction, ...]

    @property
    def best(self) -> tuple[int, ...]:
        """The slip of the greatest mean by signal, the first of equals."""
        return tuple(nets.index(max(nets)) for nets in self.nets_cents)

    @property
    def optimum_cents(self) -> Fraction:
        """Mean net of the best slip for each signal."""
        pairs = zip(self.chances, self.nets_cents, strict=True)
        return sum((chance * max(nets) for chance, nets in pairs), Fraction(0))


@dataclass(frozen=True)
class SignalMixture:
    """What a signal says of the card looked at: with probability ``share`` it is one of ``cards``,
    else nothing is known of it; ``cards`` is None and ``share`` 0 where nothing is shown.

    chance: probability of the signal. All exact.
    """

    name: str
    chance: Fraction
    cards: tuple[int, ...] | None
    share: Fraction


def signal_mixtures(rules: RuleSet, channel: Channel) -> tuple[SignalMixture, ...]:
    """The signals of a channel, in the order of ``Signals``."""
    copies, values = rules.deck.composition, channel.values(rules)
    sees, noise = _exact(channel.see_rate), _exact(channel.noise)
    found = []
    for name, ids in values.items():
        own = (1 - noise) * Fraction(sum(copies[card] for card in ids), sum(copies))
        other = noise / len(values)
        found.append(SignalMixture(name, sees * (own + other), ids, own / (own + other)))
    return (*found, SignalMixture(NOTHING, 1 - sees, None, Fraction(0)))


def signal_values(rules: RuleSet, channel: Channel, slips: Sequence[Slip]) -> SignalValues:
    """Exact values of slips by signal, both hands set best.

    A third of a second for each value of the channel the first time, more for a dealer's card where
    a box pays on the player's five cards (``law_given_card``).
    """
    slips = tuple(slips)
    blind, blind_wins = _worth(rules, None, channel.position, slips)
    chances, nets, wins = [], [], []
    mixtures = signal_mixtures(rules, channel)
    for mixture in mixtures:
        share = mixture.share
        own_nets, own_wins = _worth(rules, mixture.cards, channel.position, slips)
        chances.append(mixture.chance)
        pairs = zip(own_nets, blind, strict=True)
        nets.append(tuple(share * mine + (1 - share) * mean for mine, mean in pairs))
        wins.append(share * own_wins + (1 - share) * blind_wins)
    return SignalValues(
        names=tuple(mixture.name for mixture in mixtures),
        chances=tuple(chances),
        nets_cents=tuple(nets),
        wins=tuple(wins),
        blind_cents=blind,
    )


_Worth = tuple[tuple[Fraction, ...], Fraction]

_WORTHS: dict[tuple[str, tuple[int, ...] | None, Position, tuple[Slip, ...]], _Worth] = {}
_MOST_KEPT = 512


def _worth(
    rules: RuleSet, ids: tuple[int, ...] | None, position: Position, slips: tuple[Slip, ...]
) -> _Worth:
    """Mean net cents of slips and the chance to win given a card of ``ids``, or none; kept."""
    key = (rules.rules_hash, ids, position, slips)
    if key not in _WORTHS:
        while len(_WORTHS) >= _MOST_KEPT:
            _WORTHS.pop(next(iter(_WORTHS)))
        law = joint_law(rules) if ids is None else law_given_card(rules, ids, position)
        nets = tuple(slip_values(rules, slip, law).ev_cents for slip in slips)
        _WORTHS[key] = nets, law.probability(Outcome.WIN)
    return _WORTHS[key]


def _is_share(given: object) -> bool:
    return isinstance(given, int | float) and not isinstance(given, bool) and 0 <= given <= 1


def _exact(number: float) -> Fraction:
    """A probability as it is written: .1 is a tenth."""
    return Fraction(str(number))


def _threshold(probability: float) -> int:
    """Words below it happen."""
    return round(_exact(probability) * (1 << WORD_BITS))


def _happens(threshold: int, seed: int, round_index: int, group: int) -> bool:
    if threshold in {0, 1 << WORD_BITS}:
        return threshold > 0
    return round_word(seed, round_index, group) < threshold
