"""The game as a pure step on a state: no spaces, no generators, nothing that changes in place.

``Core.start`` opens an episode, ``Core.step`` plays an action and never resets. Cards come from
``engine.shoe`` by the row's seed and the round's index, so a state needs no random stream beyond
these two numbers. What a core keeps besides its settings are caches: they make steps fast and
change no result.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from gymnasium.error import InvalidAction
from numpy.typing import NDArray

from niulab.engine.cards import parse_hand
from niulab.engine.hands import SPLITS, Arrangement, arrange, best_arrangement
from niulab.engine.ranking import ranker
from niulab.engine.round import Round
from niulab.engine.rules import RuleSet
from niulab.engine.shoe import deal_round
from niulab.engine.wagers import cover_from, exposure_cents, least_slip
from niulab.envs.encoding import BETTING, ENDED, NO_CARD, SETTING, Encoding
from niulab.envs.rewards import expected_net_cents, reward_of
from niulab.envs.seat.ahead import DealsAhead
from niulab.envs.seat.referee import Referee, Ruling
from niulab.envs.seat.row_encoder import RowEncoder
from niulab.envs.seat.shoe_sight import ShoeSight, first_of_shoe
from niulab.envs.settings import N_SETTINGS, EnvSettings
from niulab.envs.watch import Watch
from niulab.errors import ConfigError

__all__ = [
    "Core",
    "Hand",
    "Legal",
    "State",
    "Transition",
    "legal_actions",
    "read_deal",
    "setting_in_order",
    "settings_in_order",
    "verify_shoe_deals",
]

Hand = tuple[int, ...]

_make = tuple.__new__  # of named tuples, in a third of the time that their own takes
_MOST_MASKS = 256
_NO_HAND: Hand = (NO_CARD,) * 5
_FRONT = np.array(SPLITS)
_SPLIT_OF = np.zeros((5, 5), dtype=np.int64)
for _index, (_i, _j) in enumerate(SPLITS):
    _SPLIT_OF[_i, _j] = _SPLIT_OF[_j, _i] = _index


class State(NamedTuple):
    """Where an episode stands.

    seed, round_index: of the round at hand, dealt or not. phase: BETTING, SETTING or ENDED. slip:
    menu index at stake, -1 before the bet. hand: in the order shown; dealer: ascending; NO_CARD
    before the deal. bankroll_cents: without a bankroll, the net since the start. rounds_left: None
    without a deadline. forced: hands to be dealt instead of the shoe's in the next deal.
    """

    seed: int
    round_index: int
    phase: int
    slip: int
    hand: Hand
    dealer: Hand
    bankroll_cents: int
    rounds_left: int | None
    last_net_cents: int = 0
    forced: tuple[Hand, Hand] | None = None

    def to_json(self) -> dict[str, Any]:
        """The state as JSON can hold it."""
        return self._asdict()

    @classmethod
    def from_json(cls, tree: dict[str, Any]) -> State:
        """The state of ``to_json``, lists for tuples allowed."""
        forced = tree["forced"]
        hands = {key: tuple(tree[key]) for key in ("hand", "dealer")}
        pair = None if forced is None else (tuple(forced[0]), tuple(forced[1]))
        return cls(**{**tree, **hands, "forced": pair})


class Transition(NamedTuple):
    """What a step brought: its reward, why the episode ended, and the round if one was settled.

    ruling: None if no round was. hand, dealer: in ascending order. setting: of ``hand``, None where
    nobody set it and it counted at its best.
    """

    reward: float = 0.0
    end: str | None = None
    ruling: Ruling | None = None
    hand: Hand = _NO_HAND
    setting: int | None = None
    dealer: Hand = _NO_HAND
    is_illegal: bool = False

    def arrangements(self, rules: RuleSet) -> tuple[Arrangement, Arrangement]:
        """The hands as they were compared, the player's first."""
        if self.setting is None or rules.arrangement != "as_set":
            player = best_arrangement(self.hand, rules)
        else:
            player = arrange(self.hand, SPLITS[self.setting], rules)
        return player, best_arrangement(self.dealer, rules)


class Legal(NamedTuple):
    """Legal actions, three times: bool and int8 (n_actions,), read-only, and bytes of 0 and 1."""

    flags: NDArray[np.bool_]
    numbers: NDArray[np.int8]
    allows: bytes


class Core:
    """The rules of one task, ready to step; cores of one shoe may share the deals they keep."""

    def __init__(self, settings: EnvSettings, ahead: DealsAhead | None = None) -> None:
        rules = settings.rules
        self.settings = settings
        self.encoding = Encoding(settings)
        self._signals = self.encoding.signals
        self._shoe = None if settings.shoe is None else ShoeSight(self.encoding)
        # a slip can be placed as soon as this many cents are in sight
        needs = [exposure_cents(rules, cover_from(rules, slip, 0)) for slip in settings.menu]
        self._needs = np.array(needs)
        self._least_need = needs[0]
        self._levels = sorted(set(needs))
        # settings are asked for these in every step, and some are properties of properties
        self._n_actions = settings.n_actions
        self._bets, self._sets_hand = settings.bets, settings.sets_hand
        self._leave_action = settings.leave_action
        self._is_sorted = settings.card_order == "sorted"
        self._has_chips = settings.bankroll_cents is not None
        self._start_cents, self._n_rounds = settings.bankroll_cents or 0, settings.n_rounds
        self._target = settings.target_cents
        self._is_expected = settings.reward == "expected" and rules.dealer_opens == "after_players"
        self._ahead = ahead or DealsAhead(rules, as_dealt=not self._is_sorted)
        self.watch = None if settings.detector is None else Watch(settings)
        self._row = RowEncoder(self.encoding, State._fields)
        self._bets_from = lru_cache(_MOST_MASKS)(self._legal_bets)
        ones = np.ones(self._n_actions, dtype=np.bool_)
        self._all = legal_actions(ones)
        self._all_settings = legal_actions(np.arange(self._n_actions) < N_SETTINGS)

    def __reduce__(self) -> tuple[Any, ...]:
        # copies start with empty caches, and with what their detector was told
        return type(self), (self.settings,), {"watch": self.watch}

    @cached_property
    def _referee(self) -> Referee:
        return Referee(self.settings.rules, self.settings.menu)

    def start(
        self, seed: int, round_index: int = 0, forced: tuple[Hand, Hand] | None = None
    ) -> State:
        """The first state of an episode that begins with round ``round_index`` of ``seed``.

        ``forced`` hands (``read_deal``) are dealt in that round. Where the shoe is shown the
        episode begins with the next round that opens one.
        """
        if self._shoe is not None:
            round_index = first_of_shoe(self.settings.rules, round_index)
            verify_shoe_deals(self.settings, is_forced=forced is not None)
        return self._open_round(seed, round_index, self._start_cents, self._n_rounds, 0, forced)

    def with_hands(self, state: State, hand: Hand, dealer: Hand) -> State:
        """The state with these hands dealt, in the order dealt, in place of those that lie."""
        shown, opposite = self._dealt(state.seed, state.round_index, (hand, dealer))
        return state._replace(hand=shown, dealer=opposite)

    def step(self, state: State, action: int) -> tuple[State, Transition]:
        """Play an action of the space; a masked one is replaced by action 0, or refused."""
        if state.phase == ENDED:
            raise InvalidAction("the episode has ended: start another one")
        if not 0 <= action < self._n_actions:
            raise InvalidAction(f"action {action} is none: actions are 0 to {self._n_actions - 1}")
        if self.legal(state).allows[action]:
            return self._play(state, action)
        if self.settings.illegal == "raise":
            legal = np.flatnonzero(self.legal(state).flags).tolist()
            raise InvalidAction(f"action {action} is illegal here: choose among {legal}")
        following, transition = self._play(state, 0)
        return following, transition._replace(is_illegal=True)

    def _play(self, state: State, action: int) -> tuple[State, Transition]:
        if state.phase == SETTING:
            if not self._is_sorted:
                action = setting_in_order(state.hand, action)
            return self._settle(state, action)
        if action == self._leave_action:
            return state._replace(phase=ENDED), Transition(end="left")
        dealt = self._deal(state, action)
        if self._sets_hand:
            return dealt, Transition()
        following, transition = self._settle(dealt, None)
        if self.watch is None:
            return following, transition
        return following, self._priced(transition, state, action, self.watch)

    def mask(self, state: State) -> NDArray[np.bool_]:
        """Legal actions, bool (n_actions,); all of them once the episode has ended."""
        return self.legal(state).flags.copy()

    def legal(self, state: State) -> Legal:
        """The actions of ``mask``, in arrays that all who ask share."""
        if state.phase == BETTING:
            if self._has_chips:
                return self._bets_from(bisect_right(self._levels, state.bankroll_cents))
            return self._bets_from(len(self._levels))
        return self._all_settings if state.phase == SETTING else self._all

    def _legal_bets(self, n_levels: int) -> Legal:
        """Legal actions before a bet of whoever has the chips for the lowest levels of need."""
        n_slips, settings = len(self._needs), self.settings
        flags = np.zeros(self._n_actions, dtype=np.bool_)
        flags[n_slips : n_slips + settings.can_leave] = True
        if n_levels:
            flags[:n_slips] = self._needs <= self._levels[n_levels - 1]
        return legal_actions(flags)

    def observe(self, state: State) -> NDArray[Any]:
        """The observation of a state, a fresh array."""
        if self._signals is None:
            if self._shoe is None:
                return self._row.encode(state)
            is_dealt = state.slip >= 0
            seen = self._shoe.look(state.seed, state.round_index, is_dealt=is_dealt)
            return self._row.encode(state, None, seen)
        return self._row.encode(state, self.signal(state))

    def signal(self, state: State) -> int | None:
        """The number of the channel's signal: nothing unless a bet is due; None without a channel.

        It is no part of the state, which holds no card before the bet, but follows from it.
        """
        signals = self._signals
        if signals is None:
            return None
        if state.phase != BETTING:
            return signals.nothing
        return signals.draw(state.seed, state.round_index, self._first_card(state, signals.packet))

    def _first_card(self, state: State, packet: int) -> int:
        packets = state.forced or deal_round(self.settings.rules, state.seed, state.round_index, 2)
        return int(packets[packet][0])

    def settings_at(self, state: State, *, is_settled: bool = False) -> EnvSettings:
        """The settings with the sheet known to be in force, or with the last settled round's."""
        return self.settings

    # ------------------------------------------------------------ one round

    def _priced(self, transition: Transition, bet: State, slip: int, watch: Watch) -> Transition:
        """The transition of a bet less what the detector takes for it."""
        card = self._first_card(bet, watch.signals.packet)
        value = watch.signals.values_of(np.array(card))
        return transition._replace(reward=transition.reward - float(watch.prices[value, slip]))

    def _open_round(
        self,
        seed: int,
        index: int,
        bankroll: int,
        left: int | None,
        net: int,
        forced: tuple[Hand, Hand] | None,
    ) -> State:
        """Go on to a bet, or to the hand to be set where the slip is fixed."""
        if self._bets:
            phase, slip, hand, dealer = BETTING, -1, _NO_HAND, _NO_HAND
        else:
            phase, slip = SETTING, 0
            hand, dealer = self._dealt(seed, index, forced)
            forced = None
        return _make(State, (seed, index, phase, slip, hand, dealer, bankroll, left, net, forced))

    def _deal(self, state: State, slip: int) -> State:
        seed, index, _, _, _, _, bankroll, left, net, forced = state
        hand, dealer = self._dealt(seed, index, forced)
        return _make(State, (seed, index, SETTING, slip, hand, dealer, bankroll, left, net, None))

    def _dealt(self, seed: int, index: int, forced: tuple[Hand, Hand] | None) -> tuple[Hand, Hand]:
        """The player's hand as it is shown, and the dealer's in ascending order."""
        if forced is None:
            return self._ahead.deal(seed, index)
        hand, dealer = forced
        return tuple(sorted(hand)) if self._is_sorted else hand, tuple(sorted(dealer))

    def _settle(self, state: State, setting: int | None) -> tuple[State, Transition]:
        """Settle the round with a setting of the hand in ascending order, None for the best one."""
        seed, index, _, slip, shown, dealer, bankroll, left, _, _ = state
        hand = shown if self._is_sorted else tuple(sorted(shown))
        chips = bankroll if self._has_chips else None
        ruling = self._referee.rule(hand, setting, dealer, slip=slip, bankroll_cents=chips)
        net = ruling.net_cents
        after = bankroll + net
        left = None if left is None else left - 1
        end = self._end(after, left)
        worth = self._expected(hand, setting, slip, chips) if self._is_expected else net
        reward = reward_of(self.settings, net_cents=worth, bankroll_cents=bankroll, end=end)
        transition = _make(Transition, (reward, end, ruling, hand, setting, dealer, False))
        if end is None:
            return self._open_round(seed, index + 1, after, left, net, None), transition
        ended = (seed, index, ENDED, slip, shown, dealer, after, left, net, None)
        return _make(State, ended), transition

    def _expected(self, hand: Hand, setting: int | None, slip: int, chips: int | None) -> float:
        """Expected net cents of what the chips can stake of a slip, dealer unseen."""
        rules, staked = self.settings.rules, self.settings.menu[slip]
        if chips is not None:
            staked = cover_from(rules, staked, chips)
        cards = np.array(hand, dtype=np.uint8)
        if setting is None:  # the highest rank is the strongest: the tie-break is the hand's
            setting = int(ranker(rules).split_ranks(cards[None]).argmax())
        return expected_net_cents(rules, staked, cards, setting)

    def _end(self, bankroll_cents: int, rounds_left: int | None) -> str | None:
        if self._target is not None and bankroll_cents >= self._target:
            return "target"
        if self._has_chips and bankroll_cents < self._least_need:
            return "ruin"
        return "n_rounds" if rounds_left == 0 else None


def read_deal(deal: Any, rules: RuleSet) -> tuple[Hand, Hand]:
    """The player's and the dealer's hand, as card texts or ids; raises CardError for hands that one
    shoe cannot deal.
    """
    own, dealer = deal
    hand = parse_hand(own, copies=rules.deck.decks)
    pair = hand, parse_hand(dealer, copies=rules.deck.decks, seen=hand)
    Round.open(rules).place(1, least_slip(rules)).verify_deal(pair)
    return pair


def verify_shoe_deals(settings: EnvSettings, *, is_forced: bool) -> None:
    """Raise ConfigError where hands are forced on a shoe that is shown."""
    if is_forced and settings.shoe is not None:
        raise ConfigError(
            f"the task shows the shoe (shoe='{settings.shoe}'), and forced hands do not come from "
            "it: leave the deal out, or give shoe=None"
        )


def legal_actions(flags: NDArray[np.bool_]) -> Legal:
    """The actions of the flags, which it takes over."""
    flags.setflags(write=False)
    numbers = flags.astype(np.int8)
    numbers.setflags(write=False)
    return Legal(flags, numbers, flags.tobytes())


def setting_in_order(hand: Hand, setting: int) -> int:
    """The setting of the ascending hand that puts the same two shown cards in front."""
    places = sorted(range(len(hand)), key=hand.__getitem__)
    front = sorted(places.index(position) for position in SPLITS[setting])
    return SPLITS.index((front[0], front[1]))


def settings_in_order(
    settings: NDArray[np.int64], places: NDArray[np.integer]
) -> NDArray[np.int64]:
    """``setting_in_order`` of many hands; places: (n, 5), each shown card's place in order."""
    front = np.take_along_axis(places, _FRONT[settings], axis=1)
    in_order: NDArray[np.int64] = _SPLIT_OF[front[:, 0], front[:, 1]]
    return in_order
