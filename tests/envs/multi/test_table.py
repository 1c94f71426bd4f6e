"""The table's rounds beside the engine's: packets, settlements, bankrolls, and a seat's law."""

import numpy as np
import pytest

from niulab.agents.registry import make_agent
from niulab.engine.batch import BatchEngine
from niulab.engine.hands import SPLITS, arrange
from niulab.engine.round import Round
from niulab.engine.rules import load_rules
from niulab.engine.wagers import least_slip
from niulab.envs.multi import parallel_env
from niulab.envs.rewards import expected_net_cents
from niulab.seeding import generator
from niulab.solvers.values import slip_values

CENTS = 100


@pytest.mark.parametrize(
    ("rules", "decisions"),
    [
        ("single-double-super", "bet_and_set"),
        ("single-double-super", "bet"),
        ("even-double-super-bonus", "bet_and_set"),
        ("even-double-super-bonus", "bet"),
        ("equal-double-cambodia", "bet"),
    ],
)
def test_sessions_are_the_engines_rounds_card_by_card(rules, decisions):
    """A second road: ``Round`` with its own bankrolls, seats that ended staking nothing."""
    env = parallel_env(
        "niulab/NiuNiu-v0",
        n_seats=4,
        rules=rules,
        decisions=decisions,
        n_rounds=8,
        can_leave=True,
        card_order="dealt",
    )
    rng, ends = np.random.default_rng(3), set()
    for seed in range(12):
        env.reset(seed=seed)
        bankrolls = [env.settings.bankroll_cents] * 4
        for index in range(8):
            bets = {agent: drawn(env.action_masks(agent), rng) for agent in env.agents}
            told = env.step(bets)
            stakes = {a: bet for a, bet in bets.items() if bet != env.settings.leave_action}
            assert {a for a in bets if told[4][a].get("end") == "left"} == set(bets) - set(stakes)
            if not stakes:
                break
            play = Round.open(env.settings.rules, 4, bankrolls)
            for agent, bet in stakes.items():
                play = play.place(seat_of(agent), env.settings.menu[bet])
            play = play.deal(seed=seed, round_index=index)
            chosen = None
            if decisions == "bet_and_set":
                assert_hands_are_shown(env, play, told[0])
                chosen = {agent: int(rng.integers(10)) for agent in stakes}
                told = env.step(chosen)
            play = set_all(play, chosen).settle()
            bankrolls = list(play.bankrolls_after_cents)
            for agent in stakes:
                info, settlement = told[4][agent], play.settlements[seat_of(agent) - 1]
                assert info["settlement"]["net_cents"] == settlement.net_cents
                assert info["settlement"]["dealer_cards"].tolist() == sorted(play.dealer_packet)
                assert info["bankroll_cents"] == bankrolls[seat_of(agent) - 1]
                ends.add(info.get("end"))
            if not env.agents:
                break
    assert {"ruin", "n_rounds", None} <= ends  # seats ended in rounds that others outlasted


def drawn(mask, rng):
    return int(rng.choice(np.flatnonzero(mask)))


def seat_of(agent):
    return int(agent.removeprefix("seat_"))


def assert_hands_are_shown(env, play, observations):
    for seat, packet in zip(play.packet_seats, play.packets, strict=True):
        shown = env.encoding.decode_hands(observations[f"seat_{seat}"][None])[0]
        assert shown.tolist() == list(packet)


def set_all(play, chosen):
    """The round with every hand set, as chosen by packet positions, or else at its strongest."""
    if play.rules.arrangement != "as_set":
        return play
    for seat, packet in zip(play.packet_seats, play.packets, strict=True):
        hand = play.hand(seat)
        if chosen is None:
            pair = max(SPLITS, key=lambda pair: arrange(hand, pair, play.rules).strength)
        else:
            pair = [hand.index(packet[place]) for place in SPLITS[chosen[f"seat_{seat}"]]]
        play = play.set(seat, pair)
    return play


def test_the_largest_stake_gets_the_first_packet_where_the_sheet_says_so():
    rules = load_rules("even-double-super-bonus")
    box = rules.required_box
    least = least_slip(rules).stake(box)
    env = parallel_env(
        "niulab/Table-v0",
        n_seats=3,
        rules=rules,
        card_order="dealt",
        encoding="ids",
        menu=[least_slip(rules), f"{box}={2 * least}"],
    )
    packets = BatchEngine(rules, 3).deal(np.array([9], np.uint64), np.array([0]))[0].tolist()
    env.reset(seed=9)
    told = env.step({"seat_1": 0, "seat_2": 0, "seat_3": 1})[0]
    assert [told[agent][:5].tolist() for agent in env.agents] == [packets[i] for i in (1, 2, 0)]


def test_the_dealer_gets_the_packet_after_the_last_seat_in_play():
    env = parallel_env("niulab/Session-v0", n_seats=3, can_leave=True)
    env.reset(seed=4)
    env.step({"seat_1": 0, "seat_2": env.settings.leave_action, "seat_3": 0})
    infos = env.step({"seat_1": 0, "seat_3": 0})[4]
    packets = BatchEngine(env.settings.rules, 2).deal(np.array([4], np.uint64), np.array([1]))[0]
    dealers = {tuple(info["settlement"]["dealer_cards"].tolist()) for info in infos.values()}
    assert dealers == {tuple(sorted(packets[2].tolist()))}


def test_the_oracles_nets_are_those_of_the_compiled_engine():
    """So that a seat's law is the engine's, which the next test weighs."""
    env = parallel_env("niulab/Arrange-v0", n_seats=4)
    oracle, rng = make_agent("oracle", env.settings), generator(0, "tests/oracle")
    n = 150
    seeds, rounds = np.full(n, 21, np.uint64), np.arange(n)
    expected = BatchEngine(env.settings.rules, 4).play(env.settings.slip, seeds, rounds)
    observations, infos = env.reset(seed=21)
    for row in expected:
        seen = np.stack([observations[agent] for agent in env.agents])
        masks = np.stack([infos[agent]["action_mask"] for agent in env.agents]) > 0
        actions, _ = oracle.act(seen, masks, {}, oracle.initial_state(4), rng)
        _, rewards, *_ = env.step(dict(zip(env.agents, actions, strict=True)))
        assert [round(CENTS * reward) for reward in rewards.values()] == row.tolist()
        observations, infos = env.reset()


def test_each_seats_law_is_the_one_seat_law_and_seats_correlate_through_the_dealer():
    """Of three hands each is the best as often as the others, so the nets of two seats on Single
    correlate by exactly 1/3: both win, or both lose, with chance 1/3 each.
    """
    rules = load_rules("single-double-super")
    slip, n = least_slip(rules), 1 << 18
    values = slip_values(rules, slip)
    seeds, rounds = np.full(n, 1, np.uint64), np.arange(n)
    nets = BatchEngine(rules, 3).play(slip, seeds, rounds)
    exact, sd = float(values.ev_cents), values.sd_cents
    for seat in nets.T:
        assert abs(seat.mean() - exact) < 4 * sd / np.sqrt(n)
    assert np.corrcoef(nets.T)[np.triu_indices(3, 1)] == pytest.approx(1 / 3, abs=4 / np.sqrt(n))


def test_the_expected_reward_is_that_of_the_own_hand():
    env = parallel_env("niulab/Arrange-v0", n_seats=3, reward="expected", encoding="ids")
    for seed in range(5):
        observations, _ = env.reset(seed=seed)
        _, rewards, *_ = env.step({"seat_1": 0, "seat_2": 5, "seat_3": 9})
        for agent, action in zip(rewards, (0, 5, 9), strict=True):
            net = expected_net_cents(
                env.settings.rules, env.settings.slip, observations[agent][:5], action
            )
            assert rewards[agent] == net / CENTS
