"""The core's look-ups against the readable round, played by hand step for step."""

from math import log

import numpy as np
import pytest
from rows import assert_same
from strategies import PLAYABLE, overlay, set_best

from niulab.engine.cards import parse_hand
from niulab.engine.hands import SPLITS
from niulab.engine.round import Round
from niulab.envs.encoding import BETTING, ENDED, NO_CARD, SETTING, Encoding, Sight
from niulab.envs.rewards import expected_net_cents
from niulab.envs.settings import make_settings
from niulab.envs.single import NiuNiuEnv

ARRANGE, TABLE, SESSION, FLAGSHIP = (
    f"niulab/{name}-v0" for name in ("Arrange", "Table", "Session", "NiuNiu")
)
CAPPED = overlay("single-double-super", '[boxes.super.cover]\nshortfall = "cap_loss"\n')
SUITED = overlay(
    "single-double-super",
    'specials = [{ name = "small", predicate = "five_small" },'
    ' { name = "black", predicate = "all_black" }, { name = "flush", predicate = "flush" }]\n'
    "[boxes.super.win_odds]\nsmall = 11\nblack = 12\nflush = 13\n",
)
TASKS = {
    **{f"{name}, arrange": (ARRANGE, {"rules": name}) for name in PLAYABLE},
    **{f"{name}, table": (TABLE, {"rules": name}) for name in PLAYABLE},
    "flagship": (FLAGSHIP, {}),
    "session": (SESSION, {}),
    "leaving": (SESSION, {"can_leave": True, "objective": "profit", "target_cents": None}),
    "wealth": (FLAGSHIP, {"objective": "log_wealth", "card_order": "dealt"}),
    "endless": (
        SESSION,
        {"n_rounds": None, "objective": "time_at_table", "bankroll_cents": 500},
    ),
    "scaled": (ARRANGE, {"reward_scale": 0.3, "n_rounds": 4, "encoding": "ids"}),
    "dealt": (ARRANGE, {"card_order": "dealt", "observation": "uint8", "point_flags": True}),
    "dealt from six decks": (ARRANGE, {"rules": "six-deck-shoe-bonus", "card_order": "dealt"}),
    "fixed slip": (ARRANGE, {"bankroll_cents": 900, "n_rounds": None, "slip": "single=100"}),
    "mask": (FLAGSHIP, {"mask": "observation", "menu": ["single=100", "single=900"]}),
    "suited": (ARRANGE, {"rules": SUITED}),
    "suited, set best": (SESSION, {"rules": SUITED}),
    "expected": (TABLE, {"reward": "expected"}),
    "expected, set best": (
        SESSION,
        {"reward": "expected", "objective": "profit", "target_cents": None},
    ),
    "capped": (
        FLAGSHIP,
        {
            "rules": CAPPED,
            "menu": ["single=100", "single=100,super=1000", "single=100,super=200/700"],
            "n_rounds": 20,
        },
    ),
    "capped and expected": (
        FLAGSHIP,
        {
            "rules": CAPPED,
            "menu": ["single=100", "single=100,super=1000"],
            "objective": "profit",
            "target_cents": None,
            "reward": "expected",
        },
    ),
}


class ByHand:
    """What the single environment promises, kept with ``Round`` and nothing of the core."""

    def __init__(self, settings, seed):
        self.settings = settings
        self.seed = seed
        self.index = -1
        self.encoding = Encoding(settings)

    def reset(self, forced=None):
        self.index += 1
        self.chips = self.settings.bankroll_cents or 0
        self.left = self.settings.n_rounds
        self.net = 0
        self.forced = forced
        self._open()
        return self._seen(), self._info()

    def step(self, action):
        mask = self.mask()
        is_illegal = not mask[action]
        result, reward, end = None, 0.0, None
        action = 0 if is_illegal else action
        if self.phase == BETTING and action == self.settings.leave_action:
            end = "left"
        elif self.phase == BETTING and self.settings.sets_hand:
            self._deal(action)
        else:
            result, reward, end = self._settle(action)
        if end:
            self.phase = ENDED
        info = self._info()
        if is_illegal:
            info["illegal_action"] = True
        if result:
            info["settlement"] = result
        if end:
            info["end"] = end
        return self._seen(), reward, end is not None, False, info

    def mask(self):
        n, settings = self.settings.n_actions, self.settings
        if self.phase == BETTING:
            open_round = Round.open(settings.rules, bankrolls_cents=self._chips())
            legal = [open_round.can_place(1, slip) for slip in settings.menu]
            legal += [True] * settings.can_leave
            return legal + [False] * (n - len(legal))
        return [place < 10 or self.phase == ENDED for place in range(n)]

    def _chips(self):
        return None if self.settings.bankroll_cents is None else [self.chips]

    def _open(self):
        self.slip, self.phase = -1, BETTING
        self.hand = self.dealer = [NO_CARD] * 5
        if not self.settings.bets:
            self._deal(0)

    def _deal(self, slip):
        self.slip, self.phase = slip, SETTING
        table = Round.open(self.settings.rules, bankrolls_cents=self._chips())
        table = table.place(1, self.settings.menu[slip])
        if self.forced is None:
            self.table = table.deal(seed=self.seed, round_index=self.index)
        else:
            self.table = table.deal(self.forced)
        self.forced = None
        self.dealer = sorted(self.table.dealer_packet)
        self.hand = list(self.table.packets[0])
        if self.settings.card_order == "sorted":
            self.hand.sort()

    def _settle(self, action):
        settings, rules = self.settings, self.settings.rules
        before = self.chips
        if settings.sets_hand:
            order = sorted(range(5), key=self.hand.__getitem__)
            setting = sorted(order.index(place) for place in SPLITS[action])
            if rules.arrangement != "automatic":
                self.table = self.table.set(1, setting)
        else:
            self._deal(action)
            self.table = set_best(self.table)
        table = self.table.settle()
        (player,), dealer, (settled,) = (
            table.arrangements,
            table.dealer_arrangement,
            table.settlements,
        )
        self.net = settled.net_cents
        self.chips += self.net
        self.left = None if self.left is None else self.left - 1
        end = self._end()
        worth = self.net
        if settings.reward == "expected" and rules.dealer_opens == "after_players":
            own = table.hand(1)
            front = tuple(sorted(own.index(card) for card in player.pair))
            cards = np.array(own, dtype=np.uint8)
            worth = expected_net_cents(rules, table.slips[0], cards, SPLITS.index(front))
        reward = {
            "profit": worth / 100,
            "target": float(end == "target"),
            "log_wealth": log(before + self.net + 100) - log(before + 100)
            if settings.bankroll_cents
            else None,
            "time_at_table": 1.0,
        }[settings.objective]
        result = {
            "slip": np.int64(self.slip),
            "outcome": np.int64(table.outcomes[0]),
            "player_rank": np.int64(player.rank_index),
            "dealer_rank": np.int64(dealer.rank_index),
            "dealer_cards": np.array(self.dealer, dtype=np.uint8),
            "net_cents": np.int64(self.net),
            "moved_cents": np.int64(settled.moved_cents),
            "net_by_box": {box: np.int64(cents) for box, cents in settled.net_by_box.items()},
        }
        if end is None:
            self.index += 1
            self._open()
        return result, reward * settings.reward_scale, end

    def _end(self):
        settings = self.settings
        if settings.target_cents and self.chips >= settings.target_cents:
            return "target"
        if settings.bankroll_cents:
            least = Round.open(settings.rules, bankrolls_cents=[max(self.chips, 0)])
            if not least.can_place(1, settings.menu[0]):
                return "ruin"
        return "n_rounds" if self.left == 0 else None

    def _seen(self):
        sight = Sight(
            np.array([self.hand], dtype=np.uint8),
            np.array([self.dealer], dtype=np.uint8),
            np.array([self.phase]),
            np.array([self.slip]),
            np.array([self.chips]),
            np.array([self.left or 0]),
        )
        seen = self.encoding.encode(sight)[0]
        if self.settings.mask == "info":
            return seen
        return {"observation": seen, "action_mask": np.array(self.mask(), dtype=np.int8)}

    def _info(self):
        return {
            "action_mask": np.array(self.mask(), dtype=np.int8),
            "bankroll_cents": np.int64(self.chips),
            "last_net_cents": np.int64(self.net),
            "rounds_left": np.int64(-1 if self.left is None else self.left),
        }


def same_types(one, other):
    if isinstance(one, dict):
        return list(one) == list(other) and all(same_types(one[k], other[k]) for k in one)
    return type(one) is type(other)


def follow(env, reference, actions):
    """Play a tape in both, from the start of an episode; whether every answer was the same."""
    for action in actions:
        ours, theirs = env.step(action), reference.step(action)
        assert_same(ours, theirs)
        assert all(map(same_types, ours, theirs))
        assert env.action_masks().tolist() == reference.mask()
        if theirs[2]:
            assert_same(env.reset(), reference.reset())


@pytest.mark.parametrize("task", TASKS)
def test_every_step_is_the_readable_rounds(task):
    env_id, keywords = TASKS[task]
    settings = make_settings(env_id, **keywords)
    env, reference = NiuNiuEnv(settings), ByHand(settings, seed=11)
    assert_same(env.reset(seed=11), reference.reset())
    tape = np.random.default_rng(5).integers(0, settings.n_actions, 120).tolist()
    follow(env, reference, tape)


def test_rounds_agree_across_the_ends_of_blocks():
    settings = make_settings(ARRANGE)
    env, reference = NiuNiuEnv(settings), ByHand(settings, seed=2**64 - 1)
    assert_same(env.reset(seed=2**64 - 1), reference.reset())
    follow(env, reference, [number * 7 % 10 for number in range(1_500)])


@pytest.mark.parametrize("rules", ["single-double-super", "even-double-super-bonus"])
@pytest.mark.parametrize("preset", [ARRANGE, TABLE, SESSION])
@pytest.mark.parametrize("card_order", ["sorted", "dealt"])
def test_forced_deals_are_the_readable_rounds(preset, rules, card_order):
    settings = make_settings(preset, rules=rules, card_order=card_order)
    env, reference = NiuNiuEnv(settings), ByHand(settings, seed=3)
    assert_same(env.reset(seed=3), reference.reset())
    for own, dealer in (
        ("KS 7S AD QH 10D", "6D 2D 5D 3D 4D"),
        ("KS QS JS 10S 5S", "KD QD JD 10D 5D"),
        ("2D 2H 2C 2S KS", "9D 3D 4D 6C 8C"),
    ):
        forced = parse_hand(own), parse_hand(dealer)
        assert_same(env.reset(options={"deal": (own, dealer)}), reference.reset(forced))
        follow(env, reference, [7, 4])


def test_a_fresh_seed_every_episode_deals_its_round_0():
    settings = make_settings(ARRANGE)
    env = NiuNiuEnv(settings)
    for seed in (4, 5, 6, 7, 7, 4, 2**63):
        reference = ByHand(settings, seed)
        assert_same(env.reset(seed=seed), reference.reset())
        follow(env, reference, [seed % 10])
