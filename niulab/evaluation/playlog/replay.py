"""What the rules give for recorded cards and stakes: residuals of payments, and hands set wrong.

A hand counts as its sheet says: as set (by ``pair``) under ``as_set``, else at its best; a hand
whose pair is not recorded, and the dealer's, count at their best. Chips in a box are its stake at
the close and what changed later. Where cards shown are recorded, they are what was paid on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import floor
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from niulab.engine.hands import SPLITS
from niulab.engine.ranking import ranker
from niulab.engine.rules import PLAIN_RANKS, RuleSet
from niulab.engine.settlement import Outcome, settle_box, tie_outcome, unit_result
from niulab.errors import WagerError
from niulab.evaluation.playlog.kernels import pair_splits, sorted_hands
from niulab.evaluation.playlog.plays import BOXES, NO_CARD, NO_CODE, Flag, Plays, boxes_of
from niulab.evaluation.playlog.rounds import distinct

__all__ = ["replayed", "rules_give", "setting_costs", "would_be_nets"]

_SPLIT_OF = np.full((6, 6), -1, dtype=np.int8)
for _place, _pair in enumerate(SPLITS):
    _SPLIT_OF[_pair] = _SPLIT_OF[_pair[::-1]] = _place

_MOST_KEPT = 1 << 17
_ONE_CARD, _FOREIGN = -2, -3  # of ``pair_splits``

_NOT_REPLAYED = Flag.VOID | Flag.CARD_TWICE | Flag.UNKNOWN_RULES


def replayed(
    plays: Plays, sheets: Sequence[RuleSet | None], has_net: NDArray[np.bool_] | None = None
) -> Plays:
    """The rows with ``residuals`` and the flags that follow from recomputing them.

    sheets: by code of a row's rules. has_net: (n, 4), whether a payment is recorded; None: on rows
    without ``Flag.NO_NET`` all are, on others those that are not zero. A void round gives stakes
    back, so any net is a residual; rows with a card twice, unknown rules or without both hands
    have no residuals.
    """
    if has_net is None:
        lacks = (plays.flags & int(Flag.NO_NET)) != 0
        has_net = ~lacks[:, None] | (plays.nets != 0)
    stale = Flag.RESIDUAL | Flag.MIS_SET | Flag.DEALER_MIS_SET | Flag.FOREIGN_PAIR
    flags = plays.flags & np.uint16(~int(stale) & 0xFFFF)
    residuals = np.zeros_like(plays.residuals)
    is_void = (flags & int(Flag.VOID)) != 0
    residuals[is_void] = plays.nets[is_void]
    hands = _paid_on(plays)
    counts = (flags & int(_NOT_REPLAYED)) == 0
    counts &= (hands < NO_CARD).all(axis=1) & (plays.dealer_cards < NO_CARD).all(axis=1)
    used = np.bincount(plays.rules[counts] - NO_CODE)
    for code in (np.flatnonzero(used) + NO_CODE).tolist():
        rules = None if code == NO_CODE else sheets[code]
        if rules is None:
            continue
        rows = np.flatnonzero(counts & (plays.rules == code))
        given, found = rules_give(plays if len(rows) == len(plays) else plays.take(rows), rules)
        flags[rows] |= found
        known = (found & int(Flag.FOREIGN_PAIR)) == 0
        residuals[rows[known]] = plays.nets[rows[known]] - given[known]
    residuals[~has_net] = 0
    flags[(residuals != 0).any(axis=1)] |= np.uint16(Flag.RESIDUAL)
    return replace(plays, residuals=residuals, flags=flags)


def rules_give(plays: Plays, rules: RuleSet) -> tuple[NDArray[np.int64], NDArray[np.uint16]]:
    """Net cents by BOXES (n, 4) of rows of one sheet with all cards, and flags of set hands (n,).

    A box the sheet does not have gives nothing.
    """
    tables = ranker(rules)
    own = sorted_hands(_paid_on(plays))
    other = sorted_hands(plays.dealer_cards)
    flags = np.zeros(len(plays), dtype=np.uint16)

    best = tables.best_ranks(own)
    set_ranks, is_foreign = _ranks_as_set(own, plays.pair, best, rules)
    flags[set_ranks < best] |= np.uint16(Flag.MIS_SET)
    flags[is_foreign] |= np.uint16(Flag.FOREIGN_PAIR)
    dealer_ranks = tables.best_ranks(other)
    dealer_set, dealer_foreign = _ranks_as_set(other, plays.dealer_pair, dealer_ranks, rules)
    flags[(dealer_set < dealer_ranks) | dealer_foreign] |= np.uint16(Flag.DEALER_MIS_SET)

    ranks = set_ranks if rules.arrangement == "as_set" else best
    outcomes = _outcomes(rules, own, ranks, other, dealer_ranks)
    events = tables.events(own)
    chips = plays.stakes + plays.late
    nets = np.zeros((len(plays), len(BOXES)), dtype=np.int64)
    for column, box in enumerate(boxes_of(rules)):
        rows = np.flatnonzero(chips[:, column] > 0)
        if box is None or not len(rows):
            continue
        cover = plays.cover[rows, column - 1] if column in {1, 2} else np.full(len(rows), -1)
        nets[rows, column] = _box_nets(
            rules, box, chips[rows, column], cover, outcomes[rows], ranks[rows],
            dealer_ranks[rows], events[rows],
        )  # fmt: skip
    return nets, flags


def setting_costs(plays: Plays, sheets: Sequence[RuleSet]) -> NDArray[np.int64]:
    """Cents (n,) that the rules give a best hand more than the hand as set; 0 on rows without
    ``Flag.MIS_SET``, or without their sheet.

    Exact, with cover, caps and rounding; what was paid in fact plays no part. A sheet that counts
    every hand at its best makes no setting cost anything.
    """
    costs = np.zeros(len(plays), dtype=np.int64)
    is_wrong = (plays.flags & int(Flag.MIS_SET)) != 0
    for code, rules in enumerate(sheets):
        rows = np.flatnonzero(is_wrong & (plays.rules == code))
        if rules.arrangement != "as_set" or not len(rows):
            continue
        as_set = plays.take(rows)
        best = replace(as_set, pair=np.full_like(as_set.pair, NO_CARD))
        costs[rows] = (rules_give(best, rules)[0] - rules_give(as_set, rules)[0]).sum(axis=1)
    return costs


def would_be_nets(
    plays: Plays, sheets: Sequence[RuleSet]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Net cents by BOXES (n, 4) that the rules give for the cards recorded, void or not, and
    whether cards and sheet tell, (n,); 0 where they do not.
    """
    nets = np.zeros((len(plays), len(BOXES)), dtype=np.int64)
    known = (plays.flags & int(Flag.CARD_TWICE | Flag.UNKNOWN_RULES)) == 0
    known &= (_paid_on(plays) < NO_CARD).all(axis=1) & (plays.dealer_cards < NO_CARD).all(axis=1)
    known &= plays.rules != NO_CODE
    for code, rules in enumerate(sheets):
        rows = np.flatnonzero(known & (plays.rules == code))
        if not len(rows):
            continue
        given, flags = rules_give(plays.take(rows), rules)
        is_told = (flags & int(Flag.FOREIGN_PAIR)) == 0
        nets[rows[is_told]] = given[is_told]
        known[rows[~is_told]] = False
    return nets, known


def _paid_on(plays: Plays) -> NDArray[np.uint8]:
    """The cards shown where all are recorded, else the cards dealt."""
    if (plays.shown[:, 0] == NO_CARD).all():
        return plays.cards
    has_shown = (plays.shown < NO_CARD).all(axis=1, keepdims=True)
    return np.where(has_shown, plays.shown, plays.cards)


def _ranks_as_set(
    hands: NDArray[np.uint8], pairs: NDArray[np.uint8], best: NDArray[np.uint8], rules: RuleSet
) -> tuple[NDArray[np.uint8], NDArray[np.bool_]]:
    """Ranks of ascending hands with these pairs in front (the best where none is recorded), and
    whether a pair holds a card that is not in the hand.
    """
    split = np.empty(len(hands), dtype=np.int8)
    pair_splits(hands, pairs, NO_CARD, _SPLIT_OF, split)
    ranks = best.copy()
    two = np.flatnonzero(split >= 0)
    if not len(two) and not (split == _ONE_CARD).any():
        return ranks, split == _FOREIGN
    splits = ranker(rules).split_ranks(hands)
    ranks[two] = splits[two, split[two]]
    # One card in front is a hand set as high card: what its five cards are, or nothing.
    one = np.flatnonzero(split == _ONE_CARD)
    least = splits[one].min(axis=1)
    of_five = [
        index
        for index, special in enumerate(rules.specials, start=len(PLAIN_RANKS))
        if not special.is_front
    ]
    ranks[one] = np.where(np.isin(least, of_five), least, 0)
    return ranks, split == _FOREIGN


def _outcomes(
    rules: RuleSet,
    own: NDArray[np.uint8],
    ranks: NDArray[np.uint8],
    other: NDArray[np.uint8],
    dealer_ranks: NDArray[np.uint8],
) -> NDArray[np.int64]:
    tables = ranker(rules)
    keys, dealer_keys = tables.tie_keys(own, ranks), tables.tie_keys(other, dealer_ranks)
    ties = np.array([int(tie_outcome(rules.order, r)) for r in range(len(rules.ranks))])[ranks]
    won, lost = int(Outcome.WIN), int(Outcome.LOSE)
    by_key = np.where(keys > dealer_keys, won, np.where(keys < dealer_keys, lost, ties))
    return np.where(ranks > dealer_ranks, won, np.where(ranks < dealer_ranks, lost, by_key))


def _box_nets(
    rules: RuleSet,
    box: str,
    chips: NDArray[np.int64],
    cover: NDArray[np.int64],
    outcomes: NDArray[np.int64],
    ranks: NDArray[np.uint8],
    dealer_ranks: NDArray[np.uint8],
    events: NDArray[np.uint8],
) -> NDArray[np.int64]:
    """Each distinct (chips, cover, cell) is settled once."""
    terms = rules.boxes[box]
    if terms.is_bonus or terms.cover.shortfall != "cap_loss":
        cover = np.full(len(chips), -1)
    n = len(rules.ranks)
    own = ranks.astype(np.int64)
    if terms.is_bonus:
        own, outcomes = np.zeros_like(own), np.zeros_like(outcomes)
    cells = ((outcomes * n + own) * n + dealer_ranks) * (1 << len(rules.events)) + events
    span = len(Outcome) * n * n << len(rules.events)
    kept = _KEPT.setdefault((rules.rules_hash, box), _Kept())
    if kept.is_full:
        kept = _KEPT[rules.rules_hash, box] = _Kept()
    amounts = kept.amounts(chips, cover)
    known, place = distinct(amounts * span + cells)
    nets, is_new = kept.find(known)
    for i in np.flatnonzero(is_new).tolist():
        amount, cell = divmod(int(known[i]), span)
        stake, sight = kept.amount(amount)
        rest, mask = divmod(cell, 1 << len(rules.events))
        rest, dealer = divmod(rest, n)
        outcome, player = divmod(rest, n)
        in_sight = None if sight < 0 else stake + sight
        nets[i] = _net(rules, box, stake, in_sight, outcome, player, dealer, mask)
    kept.keep(known[is_new], nets[is_new])
    return nets[place]


class _Kept:
    """Nets of one box that were settled before, by amount and cell; two threads may ask at once."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._places: dict[tuple[int, int], int] = {}
        self._amounts: list[tuple[int, int]] = []
        self._nets = np.zeros((2, 0), dtype=np.int64)  # ascending keys, and the net of each

    @property
    def is_full(self) -> bool:
        return max(len(self._amounts), self._nets.shape[1]) > _MOST_KEPT

    def amounts(self, chips: NDArray[np.int64], cover: NDArray[np.int64]) -> NDArray[np.int64]:
        """A number for each row's chips and cover."""
        stakes, stake_of = distinct(chips)
        sights, sight_of = distinct(cover)
        both, place = distinct(stake_of * len(sights) + sight_of)
        numbers = np.empty(len(both), dtype=np.int64)
        for i, (stake, sight) in enumerate(
            zip(
                stakes[both // len(sights)].tolist(),
                sights[both % len(sights)].tolist(),
                strict=True,
            )
        ):
            numbers[i] = self._number(stake, sight)
        return numbers[place]

    def _number(self, stake: int, sight: int) -> int:
        with self._lock:
            found = self._places.setdefault((stake, sight), len(self._amounts))
            if found == len(self._amounts):
                self._amounts.append((stake, sight))
            return found

    def amount(self, number: int) -> tuple[int, int]:
        return self._amounts[number]

    def find(self, keys: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The net of each key, and which are not known."""
        known, nets = self._nets
        if not len(known):
            return np.zeros(len(keys), np.int64), np.ones(len(keys), np.bool_)
        place = np.minimum(np.searchsorted(known, keys), len(known) - 1)
        return nets[place], known[place] != keys

    def keep(self, keys: NDArray[np.int64], nets: NDArray[np.int64]) -> None:
        if len(keys):
            both = np.concatenate([self._nets, np.stack([keys, nets])], axis=1)
            self._nets = both[:, np.argsort(both[0])]


_KEPT: dict[tuple[str, str], _Kept] = {}


def _net(
    rules: RuleSet,
    box: str,
    stake: int,
    in_sight: int | None,
    outcome: int,
    player: int,
    dealer: int,
    events: int,
) -> int:
    cell = {"player_rank": player, "dealer_rank": dealer, "events": events}
    try:
        return settle_box(
            rules, box, stake, outcome=Outcome(outcome), in_sight_cents=in_sight, **cell
        ).net_cents
    except WagerError:  # a stake the sheet refuses: what is left of a cent stays with the house
        return floor(stake * unit_result(rules, box, outcome=Outcome(outcome), **cell).net)
