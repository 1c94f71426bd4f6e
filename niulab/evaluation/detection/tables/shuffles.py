"""The shuffle monitor: are the cards of a table, a dealer, a shuffler dealt uniformly?

Every test of a player rests on the shuffle. A bad one breaks it for everybody at the table, so an
alarm of a player there is held back. The monitor bets, in proportion to what it has seen,

    places     that a card or rank comes too often at one place of the deal
    anywhere   that a card comes too often, or never, at all
    repeats    that a card lies where it lay in the round before at the table
    order      that a card follows the one it followed in the round before

without looking at stakes. It leaves out the hand of the player who is judged: a switcher's crime
must not hold back his own alarm.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, log
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from niulab.engine.cards import HAND_SIZE, N_CARDS
from niulab.evaluation.detection.attacks.seats import table_rounds
from niulab.evaluation.detection.features import judged
from niulab.evaluation.playlog.plays import NO_CARD, NO_CODE, Flag, Plays

__all__ = [
    "SHUFFLE_EXPLANATIONS",
    "SHUFFLE_TEXTS",
    "Deals",
    "HeldAlarm",
    "Key",
    "ShuffleState",
    "deals_of",
    "fold_deals",
    "held_alarms",
    "shuffle_monitors",
    "unmonitored",
    "worst_of",
]

Key = Literal["table", "dealer", "shuffler"]

SHUFFLE_TEXTS: Mapping[Key, str] = {
    "table": "tables", "dealer": "dealers", "shuffler": "shufflers"
}  # fmt: skip
"""Whose shuffles are monitored, and the vocabulary behind each key."""

SHUFFLE_EXPLANATIONS = ("places", "anywhere", "repeats", "order")
"""What a monitor bets on, a quarter of its weight each."""

_MOST_SEATS = 9
_N_PLACES = (_MOST_SEATS + 1) * HAND_SIZE
_ALPHAS = np.array([2.0, 20.0])
_PRIORS = np.array([20.0, 200.0])
_REPEATS = np.array([0.02, 0.2])
_ORDERS = np.array([0.02, 0.1, 0.5])

_SIZES = (_N_PLACES * 2 * len(_ALPHAS), len(_PRIORS), len(_REPEATS), len(_ORDERS))
_GROUPS = np.repeat(np.arange(len(_SIZES)), _SIZES)
_WEIGHTS = np.repeat([0.25 / size for size in _SIZES], _SIZES)

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, kw_only=True)
class ShuffleState:
    """What a monitor keeps: counts (n_places, 52) and (52,), the last deal, wealth by component.

    Folding pieces of a log one after the other gives the same bytes as folding all at once.
    """

    counts: Floats
    pooled: Floats
    last: NDArray[np.uint8]
    last_table: int
    values: Floats
    n_rounds: int = 0
    power: int = 0
    peak: float = -inf

    @classmethod
    def fresh(cls) -> ShuffleState:
        """A shuffle of which nothing has been seen."""
        return cls(
            counts=np.zeros((_N_PLACES, N_CARDS)),
            pooled=np.zeros(N_CARDS),
            last=np.full(_N_PLACES, NO_CARD, dtype=np.uint8),
            last_table=NO_CODE,
            values=np.zeros(len(_WEIGHTS)),
        )

    @property
    def log_e(self) -> float:
        """The log e-value now; ``peak`` is the largest so far."""
        return log(self._worth().sum()) + self.power * _log_unit()

    @property
    def shares(self) -> dict[str, float]:
        """Each explanation's share of the e-value now; they add up to one."""
        worth = self._worth()
        by_group = np.bincount(_GROUPS, worth) / worth.sum()
        return dict(zip(SHUFFLE_EXPLANATIONS, by_group.tolist(), strict=True))

    def _worth(self) -> Floats:
        from niulab.evaluation.detection.kernels import not_yet

        waiting = not_yet(self.n_rounds) * np.exp(-_log_unit() * self.power)
        worth: Floats = (self.values + waiting) * _WEIGHTS
        return worth


def _log_unit() -> float:
    from niulab.evaluation.detection.kernels import LOG_UNIT

    return LOG_UNIT


@dataclass(frozen=True)
class HeldAlarm:
    """A player's alarm that is held back, and why."""

    player: str
    by: Key
    name: str
    log_e: float

    @property
    def reason(self) -> str:
        """One sentence for the report."""
        return (
            f"The shuffle of {self.by} {self.name} is not uniform: e-value "
            f"{_power_of_ten(self.log_e)} without the hands of {self.player}. Tests of players "
            "there prove nothing until it is."
        )


def _power_of_ten(log_e: float) -> str:
    digits = log_e / log(10)
    return f"10^{digits:.1f}" if digits >= 6 else f"{np.exp(log_e):,.0f}"


class Deals(NamedTuple):
    """Rounds in the order of time: cards by place, uint8 (n_rounds, n_places), NO_CARD where not
    known, and codes of their table, dealer and shuffler, int32 (n_rounds,).
    """

    cards: NDArray[np.uint8]
    table: NDArray[np.int32]
    dealer: NDArray[np.int32]
    shuffler: NDArray[np.int32]

    def by(self, key: Key) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """Each code of a key, ascending, and its rounds."""
        codes = getattr(self, key)
        if not len(codes):
            return
        order = np.argsort(codes, kind="stable")
        known, starts = np.unique(codes[order], return_index=True)
        for code, rows in zip(known.tolist(), np.split(order, starts[1:]), strict=True):
            if code != NO_CODE:
                yield code, rows


def shuffle_monitors(
    plays: Plays,
    *,
    by: Key = "table",
    states: Mapping[str, ShuffleState] | None = None,
    leave_out: str | None = None,
) -> dict[str, ShuffleState]:
    """Fold whole rounds into the monitor of each table, dealer or shuffler they name.

    ``states`` go on where they were left, and stay as they are. leave_out: a player whose own hands
    are not looked at. Only rounds under a sheet that deals one full deck count, whose cards are a
    deal and recorded in the order dealt; ``unmonitored`` says how many do not.
    """
    after = dict(states or {})
    deals = deals_of(plays, leave_out=leave_out)
    names = getattr(plays.texts, SHUFFLE_TEXTS[by])
    for code, rows in deals.by(by):
        before = after.get(names[code], ShuffleState.fresh())
        after[names[code]] = fold_deals(before, deals.cards[rows], deals.table[rows])
    return after


def unmonitored(
    plays: Plays,
    why: NDArray[np.integer],
    reasons: Sequence[str],
    *,
    among: NDArray[np.bool_] | None = None,
) -> dict[str, dict[str, Counter[str]]]:
    """Rounds that no monitor looks at, by key, name of the table, dealer or shuffler, and reason.

    why: place in ``reasons`` of every row, -1 where it is monitored; (n,). among: as of
    ``deals_of``.
    """
    is_out = why >= 0
    if not is_out.any():
        return {}
    rounds = table_rounds(plays)
    heads = rounds.rows[rounds.starts[:-1]]
    heads = heads[is_out[heads] if among is None else is_out[heads] & among[heads]]
    found: dict[str, dict[str, Counter[str]]] = {}
    for key, texts in SHUFFLE_TEXTS.items():
        codes, names = getattr(plays, key)[heads].astype(np.int64), getattr(plays.texts, texts)
        is_known = codes != NO_CODE
        counts = np.bincount(codes[is_known] * len(reasons) + why[heads][is_known])
        for place in np.flatnonzero(counts).tolist():
            code, reason = divmod(place, len(reasons))
            by_reason = found.setdefault(key, {}).setdefault(names[code], Counter())
            by_reason[reasons[reason]] = int(counts[place])
    return found


def fold_deals(
    state: ShuffleState, deals: NDArray[np.uint8], tables: NDArray[np.int32]
) -> ShuffleState:
    """Fold rounds (n, n_places) in time, and the codes of their tables, into one monitor."""
    from niulab.evaluation.detection.tables.kernels import fold_shuffles

    if not len(deals):
        return state
    counts, pooled = state.counts.copy(), state.pooled.copy()
    last, values = state.last.copy(), state.values.copy()
    is_next = np.r_[state.last_table, tables[:-1]] == tables
    n_rounds, power, peak = fold_shuffles(
        np.ascontiguousarray(deals), is_next, _ALPHAS, _PRIORS, _REPEATS, _ORDERS, _WEIGHTS, counts,
        pooled, last, values, state.n_rounds, state.power, state.peak,
    )  # fmt: skip
    return ShuffleState(
        counts=counts, pooled=pooled, last=last, last_table=int(tables[-1]), values=values,
        n_rounds=n_rounds, power=power, peak=peak,
    )  # fmt: skip


def deals_of(
    plays: Plays, *, leave_out: str | None = None, among: NDArray[np.bool_] | None = None
) -> Deals:
    """Rounds with a card known, in the order of time and then of the codes of rounds.

    Places are those of the packets in the order dealt, by seat where it is not recorded; the
    dealer's five come last. leave_out: a player whose hands are not looked at. among: (n,), rows
    whose rounds are asked for. Only rows under a sheet of one full deck that are a deal, recorded
    in the order dealt, count.
    """
    rounds = table_rounds(plays)
    heads = rounds.rows[rounds.starts[:-1]]
    cards = np.full((len(heads), _N_PLACES), NO_CARD, dtype=np.uint8)
    counts = judged(plays) & ((plays.flags & int(Flag.NO_ORDER)) == 0) & (plays.rules != NO_CODE)
    if among is not None:
        counts &= among
    at = counts[rounds.rows]
    rows, number = rounds.rows[at], rounds.rounds[at]
    packets = np.where(plays.packet >= 0, plays.packet, plays.seat - 1).astype(np.int64)[rows]
    is_placed = (packets >= 0) & (packets < _MOST_SEATS)
    if leave_out in plays.texts.players:
        is_placed &= plays.player[rows] != plays.texts.players.index(leave_out)
    by_hand = cards.reshape(len(heads), _MOST_SEATS + 1, HAND_SIZE)
    by_hand[number, _MOST_SEATS] = plays.dealer_cards[rows]
    by_hand[number[is_placed], packets[is_placed]] = plays.cards[rows[is_placed]]
    is_dealt = np.zeros(len(heads), dtype=np.bool_)
    is_dealt[number] = (plays.dealer_cards[rows] < NO_CARD).any(axis=1)
    placed = rows[is_placed]
    is_dealt[number[is_placed]] |= (plays.cards[placed] < NO_CARD).any(axis=1)
    order = np.lexsort((plays.round[heads], plays.time[heads]))
    order = order[is_dealt[order]]
    heads = heads[order]
    return Deals(cards[order], plays.table[heads], plays.dealer[heads], plays.shuffler[heads])


def held_alarms(plays: Plays, players: Sequence[str], *, alpha: float = 1e-3) -> list[HeldAlarm]:
    """Alarms of these players that must wait, and the reason.

    A monitor of a table of theirs, or else of a dealer or a shuffler, has reached 1/alpha without
    their own hands.
    """
    held = []
    for player in players:
        if player not in plays.texts.players:
            continue
        mine = plays.player == plays.texts.players.index(player)
        for by in SHUFFLE_TEXTS:
            codes = getattr(plays, by)
            near = plays.take(np.isin(codes, np.unique(codes[mine & (codes != NO_CODE)])))
            monitors = shuffle_monitors(near, by=by, leave_out=player)
            found: dict[tuple[Key, str], float] = {
                (by, name): state.peak for name, state in monitors.items()
            }
            if worst := worst_of(player, found, alpha=alpha):
                held += worst
                break
    return held


def worst_of(
    player: str, peaks: Mapping[tuple[Key, str], float], *, alpha: float
) -> list[HeldAlarm]:
    """The alarm held back by the monitor of the largest peak; none if it is below the bar.

    peaks: largest log e-values of monitors without the player's hands, by key and name.
    """
    (by, name), peak = max(peaks.items(), key=lambda one: one[1], default=(("table", ""), -inf))
    return [HeldAlarm(player, by, name, peak)] if peak >= -log(alpha) else []
