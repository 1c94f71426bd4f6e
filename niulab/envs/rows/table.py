"""The core's step over many rows at once: state arrays, betting, setting and settling.

What ``core.Core`` does to one ``State``, a ``Table`` does to n of them in place, whatever phase
each row is in. Cards and cents come from its ``Croupier``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from niulab.engine.hands import SPLITS
from niulab.engine.shoe import rounds_per_shoe
from niulab.envs.encoding import BETTING, ENDED, NO_CARD, SETTING, Encoding, Sight
from niulab.envs.rewards import rewards_of
from niulab.envs.rows.croupier import NET, Croupier
from niulab.envs.rows.expectations import Expectations
from niulab.envs.rows.masks import LegalActions
from niulab.envs.rows.shoe_rows import ShoeRows
from niulab.envs.settings import EnvSettings
from niulab.envs.sheets.croupier import SheetCroupier
from niulab.envs.sheets.drawing import Sheets
from niulab.envs.watch import Watch
from niulab.solvers.channels import Signals

__all__ = ["END_NAMES", "LIMIT", "N_ROUNDS", "Moves", "Rows", "Table", "some_rows"]

Rows: TypeAlias = NDArray[np.intp] | slice
"""Some rows: their numbers, or ``slice(None)`` for all of them, which copies nothing."""

END_NAMES = np.array(
    [None, "target", "ruin", "n_rounds", "left", "max_episode_steps"], dtype=object
)
"""What ``info["end"]`` says, by the codes of ``Moves.ends``; 0 is no end."""

_NONE, _TARGET, _RUIN, N_ROUNDS, _LEFT, LIMIT = range(6)

_ALL = slice(None)
_SPLITS = np.array(SPLITS)
_NOBODY = np.zeros(0, dtype=np.bool_)


@dataclass(eq=False)
class Moves:
    """What one step brought each row.

    rewards: float64 (n,). ends: int8 (n,), codes of END_NAMES. illegal: bool (n,), actions that
    were replaced, None without any. settled: the columns of the rounds settled in the k rows
    ``settled_rows`` (``Croupier.settle``), with their slips int64 and the stakes bool (k,) on each
    box, and dealers' hands uint8 (k, 5); None for none.
    """

    rewards: NDArray[np.float64]
    ends: NDArray[np.int8]
    illegal: NDArray[np.bool_] | None = None
    settled: NDArray[np.int64] | None = None
    settled_rows: Rows = field(default_factory=lambda: _ALL)
    slips: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    staked: dict[str, NDArray[np.bool_]] = field(default_factory=dict)
    dealers: NDArray[np.uint8] = field(default_factory=lambda: np.empty((0, 5), dtype=np.uint8))


class Table:
    """n rows of one task.

    Arrays of the state, each with a row per environment: seeds uint64, rounds int64, phases int8,
    slips int64 (-1 before the bet), hands and dealers uint8 (n, 5), bankrolls, rounds_left (-1
    without a deadline), last_nets and n_steps int64; forced uint8 (n, 2, 5) hands to be dealt
    first in each episode of the rows that are ``is_forced``, and still to come in those that are
    ``is_pending``. masks: bool (n, n_actions), the legal actions, or (n, 0) under continuous
    stakes. signals: int64 (n,), what the channel shows of the round at hand; sheets: int64 (n,),
    the sheet it is played under; no part of the state, from which they follow. allowed: the actions
    that may be played; these are the masks, unless the masks must not tell which sheet is in force.
    """

    STATE = (
        "seeds",
        "rounds",
        "phases",
        "slips",
        "hands",
        "dealers",
        "bankrolls",
        "rounds_left",
        "last_nets",
        "n_steps",
        "forced",
        "is_forced",
        "is_pending",
    )

    def __init__(self, settings: EnvSettings, n: int) -> None:
        self.settings = settings
        self.n = n
        self.seeds = np.zeros(n, dtype=np.uint64)
        self.rounds = np.zeros(n, dtype=np.int64)
        self.phases = np.full(n, ENDED, dtype=np.int8)
        self.slips = np.full(n, -1, dtype=np.int64)
        self.hands = np.full((n, 5), NO_CARD, dtype=np.uint8)
        self.dealers = np.full((n, 5), NO_CARD, dtype=np.uint8)
        self.bankrolls = np.zeros(n, dtype=np.int64)
        self.rounds_left = np.full(n, settings.n_rounds or -1, dtype=np.int64)
        self.last_nets = np.zeros(n, dtype=np.int64)
        self.n_steps = np.zeros(n, dtype=np.int64)
        self.forced = np.full((n, 2, 5), NO_CARD, dtype=np.uint8)
        self.is_forced = np.zeros(n, dtype=np.bool_)
        self.is_pending = np.zeros(n, dtype=np.bool_)
        self._has_masks = settings.stakes == "menu"
        width = settings.n_actions if self._has_masks else 0
        self.masks = np.ones((n, width), dtype=np.bool_)
        channel = settings.channel
        self._channel = None if channel is None else Signals(settings.rules, channel)
        self.signals = np.zeros(n, dtype=np.int64)
        self.watch = None if settings.detector is None else Watch(settings)
        self._values_seen = np.zeros(n, dtype=np.int64)
        self.sheets = np.zeros(n, dtype=np.int64)
        self._shoe = None if settings.shoe is None else ShoeRows(Encoding(settings), n)
        self._croupier = Croupier(settings.rules, settings.menu)
        self._sheets: Sheets | None = None
        self.allowed = self.masks
        if settings.sheets is not None:
            self._sheets = Sheets(settings.sheets, settings.menu)
            self._croupiers = SheetCroupier(self._sheets)
            if not settings.rules_visible:
                self.allowed = np.ones_like(self.masks)
        self._is_expected = (
            settings.reward == "expected" and settings.rules.dealer_opens == "after_players"
        )
        self._expectations = Expectations(settings, self._croupier)
        self._legal = LegalActions(settings)

    # ------------------------------------------------------------ acts

    def start(self, rows: Rows) -> None:
        """Open an episode in some rows with the round they stand at; where the shoe is shown, with
        the next round that opens one.
        """
        settings = self.settings
        if self._shoe is not None:
            per_shoe = rounds_per_shoe(settings.rules, 2)
            self.rounds[rows] = -(-self.rounds[rows] // per_shoe) * per_shoe
            self._shoe.open(rows)
        self.bankrolls[rows] = settings.bankroll_cents or 0
        self.rounds_left[rows] = settings.n_rounds or -1
        self.last_nets[rows] = 0
        self.n_steps[rows] = 0
        self.is_pending[rows] = self.is_forced[rows]
        self._open_round(rows)

    def step(self, actions: NDArray[np.int64], rows: Rows) -> Moves:
        """Play the legal actions (n,) of some rows; the others' are not looked at."""
        moves = Moves(np.zeros(self.n), np.zeros(self.n, dtype=np.int8))
        self.n_steps[rows] += 1
        betting = some_rows(self.phases == BETTING, among=rows)
        setting = some_rows(self.phases == SETTING, among=rows)
        if betting is not None:
            self._bet(betting, actions[betting], moves)
        if setting is not None:
            hands, dealers = self.hands[setting], self.dealers[setting]
            hands, chosen = self._in_order(hands, actions[setting])
            self._settle(setting, hands, dealers, chosen, moves)
        return moves

    def is_uniform(self) -> bool:
        """Whether every row is about to set the hand of its one round, with no deal forced on it.

        As long as no row is reset from outside this holds again after ``settle_all`` and
        ``deal_all``, in tasks of one round without chips or bets.
        """
        is_last = self.rounds_left == 1
        return bool(((self.phases == SETTING) & is_last & ~self.is_forced).all())

    def settle_all(
        self, actions: NDArray[np.int64], columns: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Settle the last round of every row: rewards (n,), and the rest in ``columns``.

        The table is left as it was. columns: int64 (k, n), those of ``Croupier.settle``.
        """
        hands, chosen = self._in_order(self.hands, actions)
        worths: NDArray[Any] = self._croupier.settle(hands, self.dealers, chosen, out=columns)[NET]
        if self._is_expected:
            worths = self._expectations.of(hands, chosen, self.slips, None)
        return rewards_of(
            self.settings, nets=worths, bankrolls=self.bankrolls, has_reached_target=_NOBODY
        )

    def deal_all(self) -> NDArray[np.uint8]:
        """Open every row's next episode, of one round; returns the dealers' last hands (n, 5)."""
        self.rounds += 1
        last = self.dealers
        self.hands, self.dealers = self._deal(_ALL)
        return last

    def sight(self) -> Sight:
        """What the players see."""
        signals = None
        if self._channel is not None:
            signals = np.where(self.phases == BETTING, self.signals, self._channel.nothing)
        money = self.bankrolls, self.rounds_left
        shoe = None if self._shoe is None else self._shoe.seen
        shown = self.hands, self.dealers, self.phases, self.slips
        return Sight(*shown, *money, signals, self.sheets, shoe)

    @property
    def is_free(self) -> bool:
        """Whether every action is always legal."""
        return self._legal.is_free and (self._sheets is None or self._croupiers.is_free)

    @property
    def boxes(self) -> tuple[str, ...]:
        """The boxes that some slip stakes."""
        return tuple(self._croupier.boxes) if self._sheets is None else self._croupiers.boxes

    def refresh_masks(self) -> None:
        """Bring ``masks`` up to date, in place."""
        if self._has_masks:
            self._legal.write(self.phases, self.bankrolls, self.masks)
        if self._sheets is not None:
            self._croupiers.write_masks(self.phases, self.sheets, self.allowed)

    def covered(self) -> NDArray[np.bool_]:
        """The legal actions by index, bool (n, n_actions), fresh."""
        masks = np.ones((self.n, self.settings.n_actions), dtype=np.bool_)
        self._legal.write(self.phases, self.bankrolls, masks)
        return masks

    def to_json(self) -> dict[str, list[Any]]:
        """The state as JSON can hold it."""
        return {name: getattr(self, name).tolist() for name in self.STATE}

    def from_json(self, tree: Mapping[str, list[Any]]) -> None:
        """Take over the state of ``to_json``."""
        for name in self.STATE:
            getattr(self, name)[...] = np.array(tree[name], dtype=getattr(self, name).dtype)
        self._look(_ALL)
        if self._shoe is not None:
            self._shoe.restore(self.seeds, self.rounds, self.slips >= 0)

    # ------------------------------------------------------------ one round

    def _deal(self, rows: Rows) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """The rounds at hand: the players' hands as they are shown, the dealers' in order."""
        as_dealt = self.settings.sets_hand and self.settings.card_order == "dealt"
        hands, dealers = self._croupier.deal(self.seeds[rows], self.rounds[rows], as_dealt=as_dealt)
        if np.count_nonzero(self.is_pending):
            pending = self.is_pending[rows]
            forced = self.forced[rows][pending]
            hands[pending] = forced[:, 0] if as_dealt else np.sort(forced[:, 0], axis=1)
            dealers[pending] = np.sort(forced[:, 1], axis=1)
            self.is_pending[rows] = False
        return hands, dealers

    def _open_round(self, rows: Rows) -> None:
        """Go on to a bet, or to the hand to be set where the slip is fixed."""
        if not self.settings.bets:
            self._show(rows, slips=0)
            return
        self.phases[rows] = BETTING
        self.slips[rows] = -1
        if self.settings.sets_hand:  # else no hand is ever shown
            self.hands[rows] = NO_CARD
            self.dealers[rows] = NO_CARD
        self._look(rows)

    def _look(self, rows: Rows) -> None:
        """Draw the sheet of the round at hand, and what the channel shows of it."""
        if self._sheets is None and self._channel is None:
            return
        seeds, rounds = self.seeds[rows], self.rounds[rows]
        if self._sheets is not None:
            self.sheets[rows] = self._sheets.draw_rows(seeds, rounds)
        if self._channel is None:
            return
        cards = self._croupier.first_cards(seeds, rounds)[:, self._channel.packet]
        pending = self.is_pending[rows]
        cards = np.where(pending, self.forced[rows][:, self._channel.packet, 0], cards)
        self.signals[rows] = self._channel.draw_rows(seeds, rounds, cards)
        if self.watch is not None:
            self._values_seen[rows] = self._channel.values_of(cards)

    def _show(self, rows: Rows, slips: NDArray[np.int64] | int) -> None:
        """Deal the hands that the players of some rows are to set."""
        self.hands[rows], self.dealers[rows] = self._deal(rows)
        self.slips[rows] = slips
        self.phases[rows] = SETTING

    def _bet(self, rows: Rows, actions: NDArray[np.int64], moves: Moves) -> None:
        if self.settings.can_leave:
            leaves = actions == self.settings.leave_action
            if leaves.any():
                numbers = np.arange(self.n)[rows]
                moves.ends[numbers[leaves]] = _LEFT
                self.phases[numbers[leaves]] = ENDED
                if leaves.all():
                    return
                rows, actions = numbers[~leaves], actions[~leaves]
        if self.settings.sets_hand:
            self._show(rows, actions)
            return
        hands, dealers = self._deal(rows)
        self.slips[rows] = actions
        self._settle(rows, hands, dealers, None, moves)

    def _in_order(
        self, hands: NDArray[np.uint8], actions: NDArray[np.int64]
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Shown hands in ascending order, and the settings there of the same cards."""
        if self.settings.card_order == "sorted":
            return hands, actions
        from niulab.envs.rows.kernels import order_rows

        ordered, chosen = np.empty_like(hands), np.empty_like(actions)
        order_rows(hands, actions, _SPLITS, ordered, chosen)
        return ordered, chosen

    def _settle(
        self,
        rows: Rows,
        hands: NDArray[np.uint8],
        dealers: NDArray[np.uint8],
        chosen: NDArray[np.int64] | None,
        moves: Moves,
    ) -> None:
        """Settle the ascending hands of some rows; those whose episode goes on open a round."""
        settings = self.settings
        if self._shoe is not None:
            self._shoe.take(rows, hands, dealers)
        slips = self.slips[rows].copy()
        before = self.bankrolls[rows].copy()
        has_chips = settings.bankroll_cents is not None
        money = (slips if settings.bets else None, before if has_chips else None)
        if self._sheets is None:
            settled = self._croupier.settle(hands, dealers, chosen, *money)
            staked = self._croupier.staked(slips)
        else:
            sheets = self.sheets[rows]
            settled = self._croupiers.settle(hands, dealers, slips, sheets)
            staked = self._croupiers.staked(slips, sheets)
        nets = settled[NET]
        worths: NDArray[Any] = nets
        if self._is_expected:
            worths = self._expectations.of(hands, chosen, slips, money[1])
        after = before + nets
        self.bankrolls[rows] = after
        self.last_nets[rows] = nets
        if settings.n_rounds is not None:
            self.rounds_left[rows] -= 1
        ends = self._ends(after, self.rounds_left[rows])
        moves.ends[rows] = ends
        moves.rewards[rows] = rewards_of(
            settings, nets=worths, bankrolls=before, has_reached_target=ends == _TARGET
        )
        if self.watch is not None:
            moves.rewards[rows] -= self.watch.prices[self._values_seen[rows], slips]
        moves.settled, moves.settled_rows = settled, rows
        moves.slips, moves.staked = slips, staked
        moves.dealers = dealers.copy()
        self.phases[rows] = ENDED
        going_on = some_rows(ends == _NONE)
        if going_on is not None:
            rows = rows if isinstance(going_on, slice) else np.arange(self.n)[rows][going_on]
            self.rounds[rows] += 1
            self._open_round(rows)

    def _ends(
        self, bankrolls: NDArray[np.int64], rounds_left: NDArray[np.int64]
    ) -> NDArray[np.int8]:
        settings = self.settings
        ends = np.zeros(len(bankrolls), dtype=np.int8)
        if settings.n_rounds is not None:
            ends[rounds_left == 0] = N_ROUNDS
        if settings.bankroll_cents is not None:
            ends[bankrolls < self._legal.needs[0]] = _RUIN
        if settings.target_cents is not None:
            ends[bankrolls >= settings.target_cents] = _TARGET
        return ends


def some_rows(flags: NDArray[np.bool_], among: Rows = _ALL) -> Rows | None:
    """The rows whose flag is set, all of them as a slice, None if there are none.

    ``among`` narrows them down to some rows.
    """
    if not isinstance(among, slice):
        rows = among[flags[among]]
        return rows if len(rows) else None
    n_set = np.count_nonzero(flags)
    if n_set == len(flags):
        return among
    return np.flatnonzero(flags) if n_set else None
