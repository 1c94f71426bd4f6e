"""Rewards: settled nets, exact expectations, and the four objectives, against second roads."""

from math import log, sqrt

import numpy as np
import pytest
from strategies import PLAYABLE

from niulab.engine.cards import parse_hand
from niulab.engine.ranking import hand_index
from niulab.engine.wagers import Slip
from niulab.envs.single import NiuNiuEnv
from niulab.envs.vector import NiuNiuVectorEnv
from niulab.solvers.hand_values import hand_values
from niulab.solvers.one_hand import hand_report
from niulab.solvers.values import slip_values

DEALER = "2D 3D 4D 5D 6D"


def play(env, *actions, seed=0):
    """Rewards and last info of a tape of actions after a seeded reset."""
    env.reset(seed=seed)
    rewards = []
    for action in actions:
        _, reward, terminated, truncated, info = env.step(action)
        rewards.append(reward)
        if terminated or truncated:
            break
    return rewards, info


# ---------------------------------------------------------------- expected


@pytest.mark.parametrize(
    ("rules", "slip", "hand"),
    [
        ("single-double-super", "single=100", "AD 7S 10D QH KS"),
        ("single-double-super", "single=100,double=40,super=60", "AD 7S 10D QH KS"),
        ("ngau-ngau-hong-kong", "single=100", "AD AC AH 9S KS"),
        ("equal-double-cambodia", "equal=100,double=20", "2C 3S 9D 9H KS"),
    ],
)
def test_the_expected_reward_is_the_hand_value_by_enumeration(rules, slip, hand):
    env = NiuNiuEnv("niulab/Arrange-v0", rules=rules, slip=slip, reward="expected")
    report = hand_report(PLAYABLE[rules], sorted(parse_hand(hand)), Slip.parse(slip))
    for setting in report.settings:
        env.reset(options={"deal": (hand, DEALER)})
        reward = env.step(setting.action)[1]
        assert reward == pytest.approx(float(setting.ev_cents) / 100, abs=1e-13)


def test_with_the_dealers_hand_open_the_expectation_is_the_settled_net():
    kinds = {
        reward: NiuNiuEnv("niulab/Table-v0", rules="even-double-super-bonus", reward=reward)
        for reward in ("settled", "expected")
    }
    for seed in range(20):
        tapes = [play(env, 7, 3, seed=seed)[0] for env in kinds.values()]
        assert tapes[0] == tapes[1]


def test_table_expects_by_the_slip_at_stake_and_pays_nothing_for_the_bet():
    env = NiuNiuEnv("niulab/Table-v0", reward="expected")
    hand = "AD 7S 10D QH KS"
    for index, slip in enumerate(env.settings.menu[:3] + env.settings.menu[-1:]):
        bet = index if index < 3 else len(env.settings.menu) - 1
        env.reset(options={"deal": (hand, DEALER)})
        assert env.step(bet)[1] == 0.0
        best = hand_report(env.settings.rules, sorted(parse_hand(hand)), slip).best
        assert env.step(best.action)[1] == pytest.approx(float(best.ev_cents) / 100, abs=1e-13)


def test_the_expected_reward_follows_cards_as_dealt():
    settings = {"card_order": "dealt", "reward": "expected"}
    env = NiuNiuEnv("niulab/Arrange-v0", **settings)
    env.reset(options={"deal": ("KS 7S AD QH 10D", DEALER)})
    # A, 10, Q, K and 7 in ascending order stand at 2, 4, 3, 0, 1: the pair A 7 is (1, 2), action 4
    dealt = env.step(4)[1]
    plain = NiuNiuEnv("niulab/Arrange-v0", reward="expected")
    plain.reset(options={"deal": ("AD 7S 10D QH KS", DEALER)})
    assert dealt == plain.step(0)[1]


# ---------------------------------------------------------------- settled


@pytest.mark.parametrize("slip", ["single=100", "single=100,super=100"])
def test_settled_rewards_average_to_the_exact_value(slip):
    n_rows, n_steps = 20_000, 15
    env = NiuNiuVectorEnv(n_rows, "niulab/Arrange-v0", slip=slip, encoding="ids")
    hands, _ = env.reset(seed=2024)
    oracle = hand_values(env.settings.rules, env.settings.slip).oracle
    total = 0.0
    for _ in range(n_steps):
        hands, rewards, *_ = env.step(oracle[hand_index(hands)])
        total += rewards.sum()
    values = slip_values(env.settings.rules, env.settings.slip)
    n = n_rows * n_steps
    half_width = 3.89 * values.sd_cents / 100 / sqrt(n)  # 99.99 %
    assert total / n == pytest.approx(float(values.ev_cents) / 100, abs=half_width)


def test_a_settled_reward_is_the_net_in_base_units():
    env = NiuNiuEnv("niulab/Table-v0")
    env.reset(options={"deal": ("10D JD QD KD KS", DEALER)})
    env.step(7)  # 100 on each box
    _, reward, terminated, _, info = env.step(9)  # any two tens in front: Niu Niu
    assert (reward, terminated) == (pytest.approx(0.95 + 2.85 + 9.5), True)
    assert {box: int(c) for box, c in info["settlement"]["net_by_box"].items()} == {
        "single": 95,
        "double": 285,
        "super": 950,
    }


def test_reward_scale_multiplies_and_cents_stay():
    plain, info = play(NiuNiuEnv("niulab/Arrange-v0"), 3, seed=5)
    scaled, scaled_info = play(NiuNiuEnv("niulab/Arrange-v0", reward_scale=0.25), 3, seed=5)
    assert scaled == [0.25 * plain[0]]
    assert scaled_info["last_net_cents"] == info["last_net_cents"] == 100 * plain[0]


# ---------------------------------------------------------------- objectives


def rollouts(env, n_episodes, seed=0):
    """Episodes of random legal bets: (rewards, infos) each."""
    env.action_space.seed(seed)
    _, info = env.reset(seed=seed)
    for _ in range(n_episodes):
        rewards, infos = [], [info]
        while True:
            action = env.action_space.sample(mask=infos[-1]["action_mask"])
            _, reward, terminated, truncated, info = env.step(action)
            rewards.append(reward)
            infos.append(info)
            if terminated or truncated:
                break
        yield rewards, infos
        _, info = env.reset()


def test_target_pays_one_on_reaching_it_and_only_then():
    ends = set()
    for rewards, infos in rollouts(NiuNiuEnv("niulab/Session-v0", n_rounds=30), 60):
        end = infos[-1]["end"]
        ends.add(end)
        assert sum(rewards[:-1]) == 0.0
        assert rewards[-1] == float(end == "target")
        assert (infos[-1]["bankroll_cents"] >= 4_000) == (end == "target")
    assert ends == {"target", "ruin", "n_rounds"}


def test_log_wealth_telescopes():
    for rewards, infos in rollouts(NiuNiuEnv("niulab/Session-v0", objective="log_wealth"), 20):
        final = infos[-1]["bankroll_cents"]
        assert sum(rewards) == pytest.approx(log((final + 100) / (2_000 + 100)))


def test_time_at_table_counts_rounds():
    env = NiuNiuEnv("niulab/Session-v0", objective="time_at_table", target_cents=None)
    for rewards, infos in rollouts(env, 20):
        assert set(rewards) == {1.0}
        assert sum(rewards) == 6 - infos[-1]["rounds_left"]


def test_profit_adds_up_to_the_bankrolls_change():
    env = NiuNiuEnv("niulab/NiuNiu-v0", objective="profit", target_cents=None)
    for rewards, infos in rollouts(env, 10):
        change = int(infos[-1]["bankroll_cents"]) - 2_000
        assert sum(rewards) == pytest.approx(change / 100)
        assert change == sum(int(i["last_net_cents"]) for i in infos if "settlement" in i)


def test_expected_session_profit_has_the_settled_profits_mean():
    """The tower property round by round: the same mean, the slip's EV, with less variance."""
    keywords = {
        "objective": "profit",
        "target_cents": None,
        "n_rounds": 60,
        "bankroll_cents": 10**6,
    }
    env = NiuNiuEnv("niulab/Session-v0", reward="expected", **keywords)
    rewards, _ = play(env, *[0] * 60, seed=3)
    assert np.std(rewards) < 0.9
    assert np.mean(rewards) == pytest.approx(-0.025, abs=3.89 * np.std(rewards) / sqrt(60))
