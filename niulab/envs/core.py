"""The game as a pure step on a state: no spaces, no generators, nothing that changes in place.

``Core.start`` opens an episode, ``Core.step`` plays an action and never resets. Cards come from
``engine.shoe`` by the row's seed and the round's index, so a state needs no random stream beyond
these two numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from gymnasium.error import InvalidAction
from numpy.typing import NDArray

from niulab.engine.cards import parse_hand
from niulab.engine.hands import SPLITS, Arrangement
from niulab.engine.ranking import ranker
from niulab.engine.round import Round
from niulab.engine.rules import RuleSet
from niulab.engine.settlement import Outcome, Settlement
from niulab.engine.shoe import deal_round
from niulab.engine.wagers import Slip, cover_from, exposure_cents, least_slip
from niulab.envs.encoding import BETTING, ENDED, NO_CARD, SETTING, Encoding, Sight
from niulab.envs.rewards import expected_net_cents, reward_of
from niulab.envs.settings import N_SETTINGS, EnvSettings
from niulab.errors import RoundStateError

__all__ = [
    "Core",
    "Hand",
    "Result",
    "State",
    "Transition",
    "read_deal",
    "setting_in_order",
    "settings_in_order",
]

Hand = tuple[int, ...]

_NO_HAND: Hand = (NO_CARD,) * 5
_FRONT = np.array(SPLITS)
_SPLIT_OF = np.zeros((5, 5), dtype=np.int64)
for _index, (_i, _j) in enumerate(SPLITS):
    _SPLIT_OF[_i, _j] = _SPLIT_OF[_j, _i] = _index


@dataclass(frozen=True)
class State:
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
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    @classmethod
    def from_json(cls, tree: dict[str, Any]) -> State:
        """The state of ``to_json``, lists for tuples allowed."""
        forced = tree["forced"]
        hands = {key: tuple(tree[key]) for key in ("hand", "dealer")}
        pair = None if forced is None else (tuple(forced[0]), tuple(forced[1]))
        return cls(**{**tree, **hands, "forced": pair})


@dataclass(frozen=True)
class Result:
    """The one seat's settled round: menu index of its slip, the set hands, who won, the money."""

    slip: int
    player: Arrangement
    dealer: Arrangement
    outcome: Outcome
    settlement: Settlement


@dataclass(frozen=True)
class Transition:
    """What a step brought: its reward, the round if one was settled, why the episode ended."""

    reward: float = 0.0
    result: Result | None = None
    end: str | None = None
    is_illegal: bool = False


class Core:
    """The rules of one task, ready to step."""

    def __init__(self, settings: EnvSettings) -> None:
        self.settings = settings
        self.encoding = Encoding(settings)
        # a slip can be placed as soon as this many cents are in sight
        self._needs = np.array(
            [
                exposure_cents(settings.rules, cover_from(settings.rules, s, 0))
                for s in settings.menu
            ]
        )

    def start(
        self, seed: int, round_index: int = 0, forced: tuple[Hand, Hand] | None = None
    ) -> State:
        """The first state of an episode that begins with round ``round_index`` of ``seed``.

        ``forced`` hands (``read_deal``) are dealt in that round.
        """
        state = State(
            seed=seed,
            round_index=round_index,
            phase=BETTING,
            slip=-1,
            hand=_NO_HAND,
            dealer=_NO_HAND,
            bankroll_cents=self.settings.bankroll_cents or 0,
            rounds_left=self.settings.n_rounds,
            forced=forced,
        )
        return state if self.settings.bets else self._deal(state, 0)

    def step(self, state: State, action: int) -> tuple[State, Transition]:
        """Play an action of the space; a masked one is replaced by action 0, or refused."""
        if state.phase == ENDED:
            raise InvalidAction("the episode has ended: start another one")
        if not 0 <= action < self.settings.n_actions:
            raise InvalidAction(
                f"action {action} is none: actions are 0 to {self.settings.n_actions - 1}"
            )
        is_illegal = not self.mask(state)[action]
        if is_illegal:
            if self.settings.illegal == "raise":
                legal = np.flatnonzero(self.mask(state)).tolist()
                raise InvalidAction(f"action {action} is illegal here: choose among {legal}")
            action = 0
        following, transition = self._play(state, action)
        return following, replace(transition, is_illegal=is_illegal) if is_illegal else transition

    def _play(self, state: State, action: int) -> tuple[State, Transition]:
        if state.phase == SETTING:
            return self._settle(state, setting_in_order(state.hand, action))
        if action == self.settings.leave_action:
            return replace(state, phase=ENDED), Transition(end="left")
        dealt = self._deal(state, action)
        if self.settings.sets_hand:
            return dealt, Transition()
        return self._settle(dealt, self._strongest(dealt.hand))

    def mask(self, state: State) -> NDArray[np.bool_]:
        """Legal actions, bool (n_actions,); all of them once the episode has ended."""
        settings = self.settings
        legal = np.ones(settings.n_actions, dtype=np.bool_)
        if state.phase == SETTING:
            legal[N_SETTINGS:] = False
        elif state.phase == BETTING:
            legal[len(settings.menu) + settings.can_leave :] = False
            if settings.bankroll_cents is not None:
                legal[: len(settings.menu)] = self._needs <= state.bankroll_cents
        return legal

    def observe(self, state: State) -> NDArray[Any]:
        """The observation of a state, a fresh array."""
        sight = Sight(
            hands=np.array([state.hand], dtype=np.uint8),
            dealers=np.array([state.dealer], dtype=np.uint8),
            phases=np.array([state.phase]),
            slips=np.array([state.slip]),
            bankrolls=np.array([state.bankroll_cents]),
            rounds_left=np.array([state.rounds_left or 0]),
        )
        return self.encoding.encode(sight).reshape(-1)

    # ------------------------------------------------------------ one round

    def _deal(self, state: State, slip: int) -> State:
        if state.forced is not None:
            hand, dealer = state.forced
        else:
            hand, dealer = deal_round(self.settings.rules, state.seed, state.round_index, 2)
        shown = tuple(sorted(hand)) if self.settings.card_order == "sorted" else tuple(hand)
        return replace(
            state,
            phase=SETTING,
            slip=slip,
            hand=shown,
            dealer=tuple(sorted(dealer)),
            forced=None,
        )

    def _strongest(self, hand: Hand) -> int:
        """The setting of the highest rank, which is the strongest: the tie-break is the hand's."""
        ascending = np.array([sorted(hand)], dtype=np.uint8)
        return int(ranker(self.settings.rules).split_ranks(ascending).argmax())

    def _settle(self, state: State, setting: int) -> tuple[State, Transition]:
        """Settle the round with the ``setting`` of the hand in ascending order."""
        settings, rules = self.settings, self.settings.rules
        bankrolls = None if settings.bankroll_cents is None else [state.bankroll_cents]
        table = Round.open(rules, bankrolls_cents=bankrolls).place(1, settings.menu[state.slip])
        table = table.deal([state.hand, state.dealer])
        if rules.arrangement != "automatic":
            table = table.set(1, setting)
        result = _read_result(table.settle(), state.slip)
        net = result.settlement.net_cents
        bankroll = state.bankroll_cents + net
        left = None if state.rounds_left is None else state.rounds_left - 1
        end = self._end(bankroll, left)
        worth: float = net
        if settings.reward == "expected" and rules.dealer_opens == "after_players":
            cards = np.array(sorted(state.hand), dtype=np.uint8)
            worth = expected_net_cents(rules, table.slips[0] or Slip(()), cards, setting)
        reward = reward_of(settings, net_cents=worth, bankroll_cents=state.bankroll_cents, end=end)
        following = replace(
            state,
            bankroll_cents=bankroll,
            rounds_left=left,
            last_net_cents=net,
            phase=ENDED,
        )
        if end is None:
            following = self._next_round(following)
        return following, Transition(reward, result, end)

    def _next_round(self, state: State) -> State:
        betting = replace(
            state,
            round_index=state.round_index + 1,
            phase=BETTING,
            slip=-1,
            hand=_NO_HAND,
            dealer=_NO_HAND,
        )
        return betting if self.settings.bets else self._deal(betting, 0)

    def _end(self, bankroll_cents: int, rounds_left: int | None) -> str | None:
        settings = self.settings
        if settings.target_cents is not None and bankroll_cents >= settings.target_cents:
            return "target"
        if settings.bankroll_cents is not None and bankroll_cents < self._needs[0]:
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


def _read_result(table: Round, slip: int) -> Result:
    (player,), dealer = table.arrangements, table.dealer_arrangement
    (outcome,), (settlement,) = table.outcomes, table.settlements
    if player is None or dealer is None or outcome is None or settlement is None:
        raise RoundStateError("the round of the one seat is not settled: settle it first")
    return Result(slip, player, dealer, outcome, settlement)


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
