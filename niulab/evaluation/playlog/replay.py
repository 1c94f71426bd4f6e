"""What the rules give for recorded cards and stakes: residuals of payments, and hands set wrong.

A hand counts as its sheet says: as set (by ``pair``) under ``as_set``, else at its best; a hand
whose pair is not recorded, and the dealer's, count at their best. Chips in a box are its stake at
the close and what changed later. Where cards shown are recorded, they are what was paid on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import floor

import numpy as np
from numpy.typing import NDArray

from niulab.engine.hands import SPLITS
from niulab.engine.ranking import ranker
from niulab.engine.rules import PLAIN_RANKS, RuleSet
from niulab.engine.settlement import Outcome, settle_box, tie_outcome, unit_result
from niulab.errors import WagerError
from niulab.evaluation.playlog.plays import BOXES, NO_CARD, NO_CODE, Flag, Plays, boxes_of
from niulab.evaluation.playlog.rounds import distinct

__all__ = ["replayed", "rules_give", "setting_costs", "would_be_nets"]

_SPLIT_OF = np.full((6, 6), -1, dtype=np.int8)
for _place, _pair in enumerate(SPLITS):
    _SPLIT_OF[_pair] = _SPLIT_OF[_pair[::-1]] = _place

_KEPT: dict[tuple[str, str], dict[tuple[int | None, ...], int]] = {}
_MOST_KEPT = 1 << 17

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
    for code in np.unique(plays.rules[counts]).tolist():
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
    own = np.sort(_paid_on(plays), axis=1)
    other = np.sort(plays.dealer_cards, axis=1)
    flags = np.zeros(len(plays), dtype=np.uint16)

    best = tables.best_ranks(own)
    set_ranks, is_foreign = _ranks_as_set(own, plays.pair, rules)
    flags[set_ranks < best] |= np.uint16(Flag.MIS_SET)
    flags[is_foreign] |= np.uint16(Flag.FOREIGN_PAIR)
    dealer_ranks = tables.best_ranks(other)
    dealer_set, dealer_foreign = _ranks_as_set(other, plays.dealer_pair, rules)
    flags[(dealer_set < dealer_ranks) | dealer_foreign] |= np.uint16(Flag.DEALER_MIS_SET)

    ranks = set_ranks.astype(np.uint8) if rules.arrangement == "as_set" else best
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
    has_shown = (plays.shown < NO_CARD).all(axis=1, keepdims=True)
    return np.where(has_shown, plays.shown, plays.cards)


def _ranks_as_set(
    hands: NDArray[np.uint8], pairs: NDArray[np.uint8], rules: RuleSet
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Ranks of ascending hands with these pairs in front (the best where none is recorded), and
    whether a pair holds a card that is not in the hand.
    """
    tables = ranker(rules)
    splits = tables.split_ranks(hands).astype(np.int64)
    ranks = splits.max(axis=1)
    size: NDArray[np.int64] = (pairs < NO_CARD).sum(axis=1)
    first = _place_in(hands, pairs[:, 0], np.full(len(hands), -1))
    second = _place_in(hands, pairs[:, 1], first)
    foreign = ((size >= 1) & (first < 0)) | ((size == 2) & (second < 0))

    two = np.flatnonzero((size == 2) & ~foreign)
    ranks[two] = splits[two, _SPLIT_OF[first[two], second[two]]]
    # One card in front is a hand set as high card: what its five cards are, or nothing.
    one = np.flatnonzero((size == 1) & ~foreign)
    least = splits[one].min(axis=1)
    of_five = [
        index
        for index, special in enumerate(rules.specials, start=len(PLAIN_RANKS))
        if not special.is_front
    ]
    ranks[one] = np.where(np.isin(least, of_five), least, 0)
    return ranks, foreign


def _place_in(
    hands: NDArray[np.uint8], cards: NDArray[np.uint8], taken: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Place of a card in each hand but for one place, -1 if it is not there."""
    is_there = hands == cards[:, None]
    rows = np.flatnonzero(taken >= 0)
    is_there[rows, taken[rows]] = False
    return np.where(is_there.any(axis=1), is_there.argmax(axis=1), -1)


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
    stakes, stake_of = distinct(chips)
    sights, sight_of = distinct(cover)
    known, place = distinct((stake_of * len(sights) + sight_of) * span + cells)
    nets = np.empty(len(known), dtype=np.int64)
    kept = _KEPT.setdefault((rules.rules_hash, box), {})
    if len(kept) > _MOST_KEPT:
        kept.clear()
    for i, key in enumerate(known.tolist()):
        amount, cell = divmod(key, span)
        stake, sight = int(stakes[amount // len(sights)]), int(sights[amount % len(sights)])
        rest, mask = divmod(cell, 1 << len(rules.events))
        rest, dealer = divmod(rest, n)
        outcome, player = divmod(rest, n)
        in_sight = None if sight < 0 else stake + sight
        case = stake, in_sight, outcome, player, dealer, mask
        if case not in kept:
            kept[case] = _net(rules, box, *case)
        nets[i] = kept[case]
    return nets[place]


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
