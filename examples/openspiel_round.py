"""A round of a small deck as an OpenSpiel game, and what OpenSpiel finds its best play worth.

    pip install niulab open_spiel
    python examples/openspiel_round.py

OpenSpiel walks the tree of every deal: chance deals the player's five cards, the player bets one of
the slips and sets the hand, chance deals the dealer's. Here the deck has twelve cards, or the tree
would be too large. OpenSpiel's best response and its expected score are set beside the exact values
of ``niulab.evaluate``. They share nothing with the solver but the rule sheet: hands are arranged,
compared and settled one by one with the readable engine.
"""

from __future__ import annotations

import sys
from functools import lru_cache
from itertools import combinations

import pyspiel
from open_spiel.python.algorithms import best_response, expected_game_score
from open_spiel.python.policy import UniformRandomPolicy

import niulab
from niulab.engine.hands import SPLITS, arrange, best_arrangement
from niulab.engine.round import compare
from niulab.engine.rules import parse_rules
from niulab.engine.settlement import settle
from niulab.engine.wagers import Slip

TASK = "niulab/Table-v0"
MENU = ("single=100", "single=100,double=200")

SHEET = """
name = "twelve-cards"
title = "aces, fours and fives: the only bases are one of each"
source = "an example"
extends = "single-double-super"
deck = { removed_ranks = ["2", "3", "6", "7", "8", "9", "10", "J", "Q", "K"] }
table = { max_seats = 1 }

[boxes.double]
lose_odds = { default = 1 }
"""
"""Double loses single stakes, so that losses do not mirror wins and the least slip is not best."""


GAME = pyspiel.GameType(
    short_name="niulab_round",
    long_name="One round of Niu Niu at one seat",
    dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
    chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
    information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
    utility=pyspiel.GameType.Utility.GENERAL_SUM,
    reward_model=pyspiel.GameType.RewardModel.TERMINAL,
    max_num_players=1,
    min_num_players=1,
    provides_information_state_string=True,
    provides_information_state_tensor=False,
    provides_observation_string=True,
    provides_observation_tensor=False,
    parameter_specification={},
)


class Rounds:
    """What can be dealt and what it pays, by the readable engine."""

    def __init__(self) -> None:
        self.rules = parse_rules(SHEET)
        self.menu = [Slip.of(slip) for slip in MENU]
        self.deck = [card for card, copies in enumerate(self.rules.deck.composition) if copies]
        self.hands = list(combinations(self.deck, 5))
        self.opposite = {
            hand: list(combinations([card for card in self.deck if card not in hand], 5))
            for hand in self.hands
        }
        self.set_hand = lru_cache(None)(lambda hand, split: arrange(hand, split, self.rules))
        self.best_hand = lru_cache(None)(lambda hand: best_arrangement(hand, self.rules))

    def net(
        self, slip: int, hand: tuple[int, ...], split: int, dealer_hand: tuple[int, ...]
    ) -> float:
        """The player's net in base units."""
        player, dealer = self.set_hand(hand, SPLITS[split]), self.best_hand(dealer_hand)
        settlement = settle(
            self.rules,
            self.menu[slip],
            outcome=compare(player, dealer, self.rules),
            player_rank=player.rank_index,
            dealer_rank=dealer.rank_index,
            events=0,
        )
        return settlement.net_cents / self.rules.base_unit_cents


ROUNDS = Rounds()


class RoundGame(pyspiel.Game):
    """One seat, one round: bet, own cards, setting, the dealer's cards."""

    def __init__(self, params: dict[str, object] | None = None) -> None:
        info = pyspiel.GameInfo(
            num_distinct_actions=max(len(MENU), len(SPLITS)),
            max_chance_outcomes=len(ROUNDS.hands),
            num_players=1,
            min_utility=-100.0,
            max_utility=100.0,
            utility_sum=None,
            max_game_length=2,
        )
        super().__init__(GAME, info, params or {})

    def new_initial_state(self) -> RoundState:
        return RoundState(self)

    def make_py_observer(self, iig_obs_type: object = None, params: object = None) -> Words:
        return Words()


class Words:
    """OpenSpiel's observer of a state, in words only."""

    tensor = None

    def __init__(self) -> None:
        self.dict: dict[str, object] = {}

    def set_from(self, state: RoundState, player: int) -> None:
        """There is no tensor to be filled."""

    def string_from(self, state: RoundState, player: int) -> str:
        return state.information_state_string(player)


class RoundState(pyspiel.State):
    """Where the round stands: what was bet, dealt and set so far."""

    def __init__(self, game: RoundGame) -> None:
        super().__init__(game)
        self._slip = self._hand = self._split = self._dealer = None

    def __deepcopy__(self, memo: dict[int, object]) -> RoundState:
        twin = RoundState(self.get_game())  # else OpenSpiel makes a new game for every copy
        for action in self.history():
            twin.apply_action(action)
        return twin

    def current_player(self) -> int:
        if self._dealer is not None:
            return pyspiel.PlayerId.TERMINAL
        is_chance = self._slip is not None and (self._hand is None or self._split is not None)
        return pyspiel.PlayerId.CHANCE if is_chance else 0

    def _legal_actions(self, player: int) -> list[int]:
        return list(range(len(MENU if self._slip is None else SPLITS)))

    def chance_outcomes(self) -> list[tuple[int, float]]:
        hands = self._hands_to_come()
        return [(index, 1 / len(hands)) for index in range(len(hands))]

    def _hands_to_come(self) -> list[tuple[int, ...]]:
        return ROUNDS.hands if self._hand is None else ROUNDS.opposite[self._hand]

    def _apply_action(self, action: int) -> None:
        if self._slip is None:
            self._slip = action
        elif self._hand is None:
            self._hand = self._hands_to_come()[action]
        elif self._split is None:
            self._split = action
        else:
            self._dealer = self._hands_to_come()[action]

    def _action_to_string(self, player: int, action: int) -> str:
        if player == pyspiel.PlayerId.CHANCE:
            return f"deal {self._hands_to_come()[action]}"
        return f"bet {MENU[action]}" if self._slip is None else f"set {SPLITS[action]}"

    def is_terminal(self) -> bool:
        return self._dealer is not None

    def returns(self) -> list[float]:
        if self._dealer is None:
            return [0.0]
        return [ROUNDS.net(self._slip, self._hand, self._split, self._dealer)]

    def information_state_string(self, player: int = 0) -> str:
        """What the player knows: never the dealer's hand."""
        return f"slip {self._slip}, hand {self._hand}, setting {self._split}"

    observation_string = information_state_string

    def __str__(self) -> str:
        return f"{self.information_state_string()}, dealer {self._dealer}"


pyspiel.register_game(GAME, RoundGame)


def values(game: RoundGame) -> dict[str, float]:
    """What OpenSpiel finds uniform play and the best response worth, in base units a round."""
    uniform = UniformRandomPolicy(game)
    root = game.new_initial_state()
    response = best_response.BestResponsePolicy(game, 0, uniform, root)
    return {
        "uniform": float(expected_game_score.policy_value(root, [uniform])[0]),
        "optimum": float(response.value(root)),
    }


def main() -> None:
    theirs = values(pyspiel.load_game("niulab_round"))
    bounds = niulab.evaluate("random", TASK, rules=ROUNDS.rules, menu=MENU).bounds
    for name, ours in (("uniform", bounds.random), ("optimum", bounds.optimum)):
        sys.stdout.write(
            f"{name}: OpenSpiel {theirs[name]:.15f}, niulab {float(ours):.15f} = {ours}\n"
        )


if __name__ == "__main__":
    main()
