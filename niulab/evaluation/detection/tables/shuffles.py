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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf, log
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from niulab.engine.cards import HAND_SIZE, N_CARDS
from niulab.evaluation.detection.attacks.seats import table_rounds
from niulab.evaluation.detection.features import judged
from niulab.evaluation.playlog.plays import NO_CARD, NO_CODE, Flag, Plays

__all__ = [
    "SHUFFLE_EXPLANATIONS",
    "HeldAlarm",
    "Key",
    "ShuffleState",
    "held_alarms",
    "shuffle_monitors",
    "unmonitored",
]

Key = Literal["table", "dealer", "shuffler"]

_KEYS: tuple[Key, ...] = ("table", "dealer", "shuffler")
_TEXTS = {"table": "tables", "dealer": "dealers", "shuffler": "shufflers"}

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
    deals, heads = _deals(plays, leave_out)
    codes = getattr(heads, by)
    for code in np.unique(codes[codes != NO_CODE]).tolist():
        name = getattr(plays.texts, _TEXTS[by])[code]
        rows = np.flatnonzero(codes == code)
        after[name] = _folded(after.get(name, ShuffleState.fresh()), deals[rows], heads.table[rows])
    return after


def unmonitored(
    plays: Plays, why: NDArray[np.integer], reasons: Sequence[str], *, by: Key = "table"
) -> dict[str, Counter[str]]:
    """Rounds that no monitor of the tables, dealers or shufflers looks at, by name and reason.

    why: place in ``reasons`` of every row, -1 where it is monitored; (n,).
    """
    rounds = table_rounds(plays)
    heads = rounds.rows[rounds.starts[:-1]]
    codes, names = getattr(plays, by)[heads].astype(np.int64), getattr(plays.texts, _TEXTS[by])
    is_out = (why[heads] >= 0) & (codes != NO_CODE)
    counts = np.bincount(codes[is_out] * len(reasons) + why[heads][is_out])
    found: dict[str, Counter[str]] = {}
    for place in np.flatnonzero(counts).tolist():
        code, reason = divmod(place, len(reasons))
        found.setdefault(names[code], Counter())[reasons[reason]] = int(counts[place])
    return found


def _folded(
    state: ShuffleState, deals: NDArray[np.uint8], tables: NDArray[np.int32]
) -> ShuffleState:
    from niulab.evaluation.detection.tables.kernels import fold_shuffles

    counts, pooled = state.counts.copy(), state.pooled.copy()
    last, values = state.last.copy(), state.values.copy()
    is_next = np.r_[state.last_table, tables[:-1]] == tables
    n_rounds, power, peak = fold_shuffles(
        deals, is_next, _ALPHAS, _PRIORS, _REPEATS, _ORDERS, _WEIGHTS, counts, pooled, last, values,
        state.n_rounds, state.power, state.peak,
    )  # fmt: skip
    return ShuffleState(
        counts=counts, pooled=pooled, last=last, last_table=int(tables[-1]), values=values,
        n_rounds=n_rounds, power=power, peak=peak,
    )  # fmt: skip


def _deals(plays: Plays, leave_out: str | None) -> tuple[NDArray[np.uint8], Plays]:
    """Cards by round and place (n_rounds, n_places), in time, and the first row of every round.

    Places are those of the packets in the order dealt, by seat where it is not recorded; the
    dealer's five come last.
    """
    rounds = table_rounds(plays)
    heads = plays.take(rounds.rows[rounds.starts[:-1]])
    deals = np.full((len(heads), _N_PLACES), NO_CARD, dtype=np.uint8)
    counts = judged(plays) & ((plays.flags & int(Flag.NO_ORDER)) == 0) & (plays.rules != NO_CODE)
    rows, number = rounds.rows[counts[rounds.rows]], rounds.rounds[counts[rounds.rows]]
    if leave_out in plays.texts.players:
        is_other = plays.player[rows] != plays.texts.players.index(leave_out)
    else:
        is_other = np.ones(len(rows), dtype=np.bool_)
    packets = np.where(plays.packet >= 0, plays.packet, plays.seat - 1).astype(np.int64)[rows]
    is_placed = (packets >= 0) & (packets < _MOST_SEATS)
    for k in range(HAND_SIZE):
        deals[number, _N_PLACES - HAND_SIZE + k] = plays.dealer_cards[rows, k]
        at = is_placed & is_other
        deals[number[at], packets[at] * HAND_SIZE + k] = plays.cards[rows[at], k]
    order = np.lexsort((heads.round, heads.time))
    is_dealt = (deals[order] < NO_CARD).any(axis=1)
    return deals[order][is_dealt], heads.take(order[is_dealt])


def held_alarms(plays: Plays, players: Sequence[str], *, alpha: float = 1e-3) -> list[HeldAlarm]:
    """Alarms of these players that must wait, with the reason that weighs most.

    A monitor of a table, dealer or shuffler of theirs, without their own hands, has reached
    1/alpha.
    """
    held = []
    for player in players:
        if player not in plays.texts.players:
            continue
        mine = plays.player == plays.texts.players.index(player)
        worst: HeldAlarm | None = None
        for by in _KEYS:
            codes = getattr(plays, by)
            near = plays.take(np.isin(codes, np.unique(codes[mine & (codes != NO_CODE)])))
            for name, state in shuffle_monitors(near, by=by, leave_out=player).items():
                if state.peak >= -log(alpha) and (worst is None or state.peak > worst.log_e):
                    worst = HeldAlarm(player, by, name, state.peak)
        if worst is not None:
            held.append(worst)
    return held
