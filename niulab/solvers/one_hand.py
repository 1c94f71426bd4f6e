"""Exact values of one hand by direct enumeration of every opponent's hand; compiles nothing.

It is the quick answer for a single hand and, being written apart from the sweep over all hands, the
second road to the same figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb

import numpy as np
from numpy.typing import NDArray

from niulab.engine.cards import HAND_SIZE, card_text, parse_hand
from niulab.engine.hands import KEY_SPAN, SPLITS, Arrangement, arrangements, best_arrangement
from niulab.engine.ranking import all_hands, hand_weights, ranker
from niulab.engine.round import compare, event_mask
from niulab.engine.rules.model import RuleSet
from niulab.engine.settlement import Outcome, Settlement, tie_outcome
from niulab.engine.wagers import Slip, cover_from, least_slip, verify_slip
from niulab.errors import CardError, WagerError
from niulab.solvers.joint_law import Cell

__all__ = [
    "Deal",
    "HandReport",
    "SettingValue",
    "best_setting",
    "hand_report",
    "play",
    "settle_hands",
]


@dataclass(frozen=True)
class SettingValue:
    """One of the ten settings: its split, what it ranks as and what it is worth.

    ``ev`` is exact per unit staked by box; ``ev_cents`` is that of the slip.
    """

    action: int
    arrangement: Arrangement
    win_probability: Fraction
    ev: dict[str, Fraction]
    ev_cents: Fraction


@dataclass(frozen=True)
class HandReport:
    """A hand under a slip: its ten settings and the best one for that slip."""

    rules: RuleSet
    slip: Slip | None
    cards: tuple[int, ...]
    settings: tuple[SettingValue, ...]
    best: SettingValue
    n_opponents: int


@dataclass(frozen=True)
class Deal:
    """One deal of two set hands; ``settlement`` is None on a ranking-only sheet."""

    player: Arrangement
    dealer: Arrangement
    outcome: Outcome
    settlement: Settlement | None


def hand_report(
    rules: RuleSet,
    cards: Sequence[int],
    slip: Slip | None = None,
    *,
    bankroll_cents: int | None = None,
) -> HandReport:
    """Value the ten settings of a hand (sorted ascending) against every opponent's hand.

    Under ``dealer_corrects`` and ``automatic`` every setting counts as the best one. Without a slip
    the least one decides what is best; a ranking-only file is set for the chance to win. A bankroll
    must cover the slip; where short cover caps a loss, it is what lies in sight.
    """
    hand = tuple(sorted(_dealt(rules, cards)))
    if slip is None and not rules.is_ranking_only:
        slip = least_slip(rules)
    if slip is not None:
        verify_slip(rules, slip, bankroll_cents)
        if bankroll_cents is not None:
            slip = cover_from(rules, slip, bankroll_cents)
    elif bankroll_cents is not None:
        message = f"'{rules.name}' ranks hands and offers no bets: leave the bankroll out"
        raise WagerError(message)
    counter = _Opponents(rules, hand)
    settings = []
    known: dict[int, tuple[Fraction, dict[str, Fraction], Fraction]] = {}
    top = best_arrangement(hand, rules)
    for action, arrangement in enumerate(arrangements(hand, rules)):
        counted = arrangement if rules.arrangement == "as_set" else top
        if counted.strength not in known:
            known[counted.strength] = _value(rules, slip, counted, counter)
        settings.append(SettingValue(action, arrangement, *known[counted.strength]))
    best = max(
        settings, key=lambda s: (s.ev_cents, s.win_probability, s.arrangement.strength, -s.action)
    )
    return HandReport(rules, slip, hand, tuple(settings), best, counter.n)


class _Opponents:
    """Every hand the rest of the shoe can deal, by strength."""

    def __init__(self, rules: RuleSet, hand: tuple[int, ...]) -> None:
        copies = np.array(rules.deck.composition, dtype=np.int64)
        np.subtract.at(copies, list(hand), 1)
        multi, left = rules.deck.decks > 1, np.flatnonzero(copies)
        # in colex order the hands of the n lowest cards come first: rename those to the cards left
        n = comb(len(left) + 4 * multi, HAND_SIZE)
        hands = left.astype(np.uint8)[all_hands(multi=multi)[:n]]
        table = ranker(rules)
        self._ranks: NDArray[np.uint8] = table.best_ranks(hands)
        self._keys: NDArray[np.int64] = table.tie_keys(hands, self._ranks)
        self._ways = hand_weights(hands, copies.tolist()) if multi else None
        self._n_ranks = table.n_ranks
        self.n = comb(int(copies.sum()), HAND_SIZE)

    def by_result(self, arrangement: Arrangement) -> dict[tuple[Outcome | None, int], int]:
        """Counts by (win / lose / None for an exact tie, opponent's rank)."""
        rank, key = divmod(arrangement.strength, KEY_SPAN)
        is_more = (self._ranks > rank) | ((self._ranks == rank) & (self._keys > key))
        is_equal = (self._ranks == rank) & (self._keys == key)
        found: dict[tuple[Outcome | None, int], int] = {}
        for outcome, mask in (
            (Outcome.LOSE, is_more),
            (None, is_equal),
            (Outcome.WIN, ~(is_more | is_equal)),
        ):
            ways = None if self._ways is None else self._ways[mask]
            # doubles count exactly: a shoe of eight decks deals fewer than 2**40 hands
            counts = np.bincount(self._ranks[mask], weights=ways, minlength=self._n_ranks)
            found |= {(outcome, r): int(n) for r, n in enumerate(counts) if n}
        return found


def _value(
    rules: RuleSet, slip: Slip | None, arrangement: Arrangement, opponents: _Opponents
) -> tuple[Fraction, dict[str, Fraction], Fraction]:
    events = event_mask((*arrangement.base, *arrangement.pair), rules)
    wins, ev_cents = 0, Fraction(0)
    ev = dict.fromkeys(rules.boxes, Fraction(0))
    for (result, dealer_rank), n in opponents.by_result(arrangement).items():
        outcome = tie_outcome(rules.order, dealer_rank) if result is None else result
        cell = Cell(arrangement.rank_index, dealer_rank, outcome, events)
        wins += n if outcome == Outcome.WIN else 0
        for box in ev:
            ev[box] += n * cell.unit(rules, box).net
        if slip is not None:
            ev_cents += n * cell.settle(rules, slip).net_cents
    total = opponents.n
    return (
        Fraction(wins, total),
        {box: value / total for box, value in ev.items()},
        ev_cents / total,
    )


def play(report: HandReport, dealer_cards: Sequence[int]) -> Deal:
    """Settle the reported hand against the dealer's, both best set.

    A player who sees the dealer's hand first sets his own for this deal, not for the mean of all.
    """
    rules = report.rules
    shown = _dealt(rules, dealer_cards, seen=report.cards)
    action = report.best.action
    if report.slip is not None and rules.dealer_opens == "before_players":
        action = best_setting(rules, report.cards, report.slip, shown)
    player = report.settings[action].arrangement
    if rules.arrangement != "as_set":
        player = best_arrangement(report.cards, rules)
    dealer = best_arrangement(sorted(shown), rules)
    settlement = None if report.slip is None else settle_hands(rules, report.slip, player, dealer)
    return Deal(player, dealer, compare(player, dealer, rules), settlement)


def _dealt(rules: RuleSet, cards: Sequence[int], seen: Sequence[int] = ()) -> tuple[int, ...]:
    """The hand as card ids; raises CardError for a hand that the shoe cannot deal."""
    hand = parse_hand(list(cards), copies=rules.deck.decks, seen=seen)
    for card in hand:
        if not rules.deck.composition[card]:
            removed = ", ".join(rules.deck.removed_ranks)
            message = (
                f"{card_text(card)} is not in the shoe of {rules.name}, which holds no {removed}: "
                "name another card"
            )
            raise CardError(message)
    return hand


def settle_hands(
    rules: RuleSet, slip: Slip, player: Arrangement, dealer: Arrangement
) -> Settlement:
    """Settle two set hands."""
    events = event_mask((*player.base, *player.pair), rules)
    outcome = compare(player, dealer, rules)
    return Cell(player.rank_index, dealer.rank_index, outcome, events).settle(rules, slip)


def best_setting(
    rules: RuleSet, cards: Sequence[int], slip: Slip, dealer_cards: Sequence[int] | None = None
) -> int:
    """The oracle for one hand: the setting of its ascending cards with the highest expected net.

    With the dealer's open hand known, the highest settled net of that deal. The first of equals.
    """
    if dealer_cards is None:
        return hand_report(rules, cards, slip).best.action
    hand = sorted(cards)
    dealer = best_arrangement(dealer_cards, rules)
    top = best_arrangement(hand, rules)

    def net(action: int) -> int:
        player = arrangements(hand, rules)[action] if rules.arrangement == "as_set" else top
        return settle_hands(rules, slip, player, dealer).net_cents

    return max(range(len(SPLITS)), key=lambda action: (net(action), -action))
