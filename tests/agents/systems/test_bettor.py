"""The agent: in every kind of environment it does what its automaton, followed by hand, does."""

import numpy as np
import pytest
from gymnasium.vector import AutoresetMode
from strategies import overlay
from systems import largest_slip, wanted_at

from niulab.agents.base import Agent
from niulab.agents.baselines import OracleAgent
from niulab.agents.betting.bettors import BetAndSetAgent
from niulab.agents.systems.bettor import BettorState, SystemBettor
from niulab.agents.systems.catalog import SYSTEMS, make_system
from niulab.agents.systems.compile import system_tables
from niulab.agents.systems.standing import Standing
from niulab.agents.systems.system import LEAVE
from niulab.engine.wagers import exposure_cents
from niulab.envs.encoding import BETTING, Encoding, Sight
from niulab.envs.seat.core import read_deal
from niulab.envs.settings import make_settings
from niulab.envs.single import NiuNiuEnv
from niulab.envs.vector import NiuNiuVectorEnv
from niulab.errors import ConfigError
from niulab.evaluation.simulate import simulate
from niulab.solvers.sessions.programme import play_session
from niulab.solvers.sessions.tables import STOP

SESSION = "niulab/Session-v0"
SMALL = overlay(
    "single-double-super",
    "[boxes.single]\nmaximum_cents = 1000\n[boxes.double]\nmaximum_cents = 100\n"
    "[boxes.super]\nmaximum_cents = 40\n",
)
GRID = {"rules": SMALL, "menu": "grid"}
EVERY = [*SYSTEMS, "stop-loss:5:win-goal:5:martingale"]
RNG = np.random.default_rng(0)


class Follower:
    """One row's system, followed by hand from the settlements of its own environment."""

    def __init__(self, system, settings, base_slip=None):
        self.system, self.settings = system, settings
        self.sitting = SystemBettor(system, settings, base_slip=base_slip).sitting
        self.memory = 0

    def action(self, bankroll):
        wanted = wanted_at(self.system, self.sitting, self.memory, bankroll)
        if wanted == LEAVE and self.settings.can_leave:
            return self.settings.leave_action
        slip = largest_slip(self.sitting, wanted, bankroll)
        return self.settings.menu.index(slip)

    def see(self, net, *, ended):
        column = 1 + (net > 0) - (net < 0)
        self.memory = 0 if ended else int(self.system.automaton.next[self.memory, column])


# ---------------------------------------------------------------- one row


@pytest.mark.parametrize("text", [name for name in EVERY if name != "random"])
def test_in_the_single_environment(text):
    env = NiuNiuEnv(SESSION, **GRID, can_leave=True, n_rounds=12)
    agent = SystemBettor(make_system(text), env.settings)
    hand = Follower(agent.system, env.settings)
    seen, info = env.reset(seed=7)
    state, n_ended = agent.initial_state(1), 0
    for _ in range(90):
        action, state = agent.act(seen[None], env.action_masks()[None], info, state, RNG)
        assert action[0] == hand.action(int(info["bankroll_cents"]))
        seen, _, terminated, _, info = env.step(int(action[0]))
        hand.see(int(info["last_net_cents"]), ended=terminated)
        if terminated:
            seen, info = env.reset()
            n_ended += 1
    assert n_ended > 3


def test_a_martingale_s_evening_written_out():
    """Deals that lose, lose, win and win: stakes 1, 2, 4, 1 and the chips after each."""
    env = NiuNiuEnv(SESSION, **GRID, n_rounds=50)
    bad, good = "AD 2C 4H 6S 8D", "TD JC QH KS TS"
    agent = SystemBettor(make_system("martingale"), env.settings)
    seen, info = env.reset(seed=1)
    state, path = agent.initial_state(1), []
    for hand, dealer in ((bad, good), (bad, good), (good, bad), (good, bad)):
        kept = info
        env.set_state(env.get_state() | {"state": _forced(env, hand, dealer)})
        action, state = agent.act(seen[None], env.action_masks()[None], kept, state, RNG)
        seen, _, _, _, info = env.step(int(action[0]))
        path.append((str(env.settings.menu[action[0]]), int(info["bankroll_cents"])))
    assert path == [
        ("single=100", 1900),
        ("single=200", 1700),
        ("single=400", 2080),
        ("single=100", 2175),
    ]


def _forced(env, hand, dealer):
    deal = [list(cards) for cards in read_deal((hand, dealer), env.settings.rules)]
    return env.get_state()["state"] | {"forced": deal}


# ---------------------------------------------------------------- many rows


def play_batch(text, mode, *, n=6, n_steps=40, infos_told=True, base_slip=None, **task):
    """Play a batch and compare every action of every live row with its follower's."""
    env = NiuNiuVectorEnv(n, SESSION, autoreset_mode=mode, **(GRID | task))
    agent = SystemBettor(make_system(text), env.settings, base_slip=base_slip)
    hands = [Follower(agent.system, env.settings, base_slip) for _ in range(n)]
    seen, infos = env.reset(seed=3)
    bankrolls = infos["bankroll_cents"].copy()
    state, is_over, n_ended = agent.initial_state(n), np.zeros(n, dtype=bool), 0
    for _ in range(n_steps):
        told = infos if infos_told else {}
        actions, state = agent.act(seen, env.action_masks(), told, state, RNG)
        for row in np.flatnonzero(~is_over):
            assert actions[row] == hands[row].action(int(bankrolls[row]))
        was_over = is_over
        seen, _, terminated, truncated, infos = env.step(actions)
        ended = terminated | truncated
        n_ended += int(ended.sum())
        nets = infos["last_net_cents"].copy()
        bankrolls = infos["bankroll_cents"].copy()
        if mode == "SameStep" and ended.any():
            nets[ended] = infos["final_info"]["last_net_cents"][ended]
        for row, hand in enumerate(hands):
            hand.see(int(nets[row]), ended=bool(ended[row] | was_over[row]))
        if mode == "NextStep":
            is_over = ended
        elif mode == "Disabled" and ended.any():
            seen, infos = env.reset(options={"reset_mask": ended})
            bankrolls[ended] = infos["bankroll_cents"][ended]
    assert n_ended > n
    return n_ended


@pytest.mark.parametrize("mode", [mode.value for mode in AutoresetMode])
@pytest.mark.parametrize("text", ["martingale", "labouchere", "human", "percentage:20", "oscar"])
def test_the_memory_restarts_with_every_episode(text, mode):
    play_batch(text, mode)


@pytest.mark.parametrize("mode", [mode.value for mode in AutoresetMode])
def test_without_a_deadline(mode):
    words = {"n_rounds": None, "bankroll_cents": 600, "target_cents": 1000}
    play_batch("martingale", mode, **words)


@pytest.mark.parametrize("mode", [mode.value for mode in AutoresetMode])
def test_truncated_episodes(mode):
    play_batch("dalembert", mode, n_rounds=None, max_episode_steps=7)


@pytest.mark.parametrize("mode", [mode.value for mode in AutoresetMode])
@pytest.mark.parametrize("text", ["stop-loss:3:martingale", "win-goal:2:human", "bold"])
def test_leaving(text, mode):
    play_batch(text, mode, can_leave=True)


@pytest.mark.parametrize("mode", [mode.value for mode in AutoresetMode])
def test_a_mixed_base_slip(mode):
    play_batch("dalembert", mode, base_slip="single=100,double=20")


@pytest.mark.parametrize("mode", [mode.value for mode in AutoresetMode])
@pytest.mark.parametrize(
    "task",
    [
        {},
        {"n_rounds": 1, "bankroll_cents": 500, "target_cents": 600},
        {"objective": "profit", "target_cents": None},
    ],
    ids=["target", "one round", "no target"],
)
def test_without_infos_the_observation_tells(task, mode):
    play_batch("martingale", mode, infos_told=False, **task)


def test_within_a_round_that_is_bet_and_set():
    env = NiuNiuVectorEnv(5, "niulab/NiuNiu-v0")
    system = make_system("martingale:max=2")
    bettor = SystemBettor(system, env.settings)
    agent = BetAndSetAgent(bettor, OracleAgent(env.settings), env.settings)
    assert isinstance(bettor, Agent)
    hands = [Follower(system, env.settings) for _ in range(5)]
    seen, infos = env.reset(seed=3)
    state = agent.initial_state(5)
    for _ in range(30):
        bankrolls = infos["bankroll_cents"]
        bets, state = agent.act(seen, env.action_masks(), infos, state, RNG)
        for row, hand in enumerate(hands):
            assert bets[row] == hand.action(int(bankrolls[row]))
        seen, _, _, _, infos = env.step(bets)
        settings, state = agent.act(seen, env.action_masks(), infos, state, RNG)
        seen, _, ended, _, infos = env.step(settings)
        nets = infos["last_net_cents"].copy()
        if ended.any():
            nets[ended] = infos["final_info"]["last_net_cents"][ended]
        for row, hand in enumerate(hands):
            hand.see(int(nets[row]), ended=bool(ended[row]))


# ---------------------------------------------------------------- the agent and the tables


@pytest.mark.parametrize("can_leave", [True, False])
@pytest.mark.parametrize("text", EVERY)
def test_it_decides_as_the_tables_do(text, can_leave):
    """The same decision at every memory and every bankroll on the lattice."""
    settings = make_settings(SESSION, **GRID, can_leave=can_leave)
    system = make_system(text)
    agent = SystemBettor(system, settings)
    tables = system_tables(
        system,
        SMALL,
        start_cents=2000,
        target_cents=4000,
        step_cents=20,
        n_levels=200,
        can_leave=can_leave,
    )
    levels = np.arange(5, 200)  # below level 5 everyone is ruined
    bankrolls, n = 20 * levels, len(levels)
    needs = [exposure_cents(SMALL, slip) for slip in settings.menu] + [0] * can_leave
    masks = np.array(needs) <= bankrolls[:, None]
    told = {"bankroll_cents": bankrolls, "last_net_cents": 0 * bankrolls, "settlement": {}}
    infos = told | {f"_{key}": np.ones(n, dtype=bool) for key in told}
    seen = np.zeros((n, 3), dtype=np.float32)
    index = {slip: place for place, slip in enumerate(settings.menu)}
    actions_of = np.array([*(index[slip] for slip in tables.slips), settings.leave_action or 0])
    assert STOP == -1  # the last entry
    for memory in range(tables.n_memories):
        state = BettorState(np.full(n, memory))
        if system.redraws:
            wanted = system.wanted(agent.sitting, system.automaton.units[[memory]], bankrolls)
            actions = agent._choose(np.broadcast_to(wanted, n), masks)
        else:
            actions, _ = agent.act(seen, masks, infos, state, RNG)
        assert np.array_equal(actions, actions_of[tables.choice[memory, levels]])
    assert not tables.choice[:, :5].max() > STOP


def test_the_tables_of_a_short_menu():
    """Exact in the environment too: multiples that the menu lacks are staked by neither."""
    menu = ["single=100", "single=200", "single=500", "single=100,super=40"]
    settings = make_settings(SESSION, rules=SMALL, menu=menu, n_rounds=15)
    words = {"start_cents": 2000, "target_cents": 4000}
    lattice = {"step_cents": 5, "n_levels": 801, "menu": settings.menu, "can_leave": False}
    ladder = system_tables(make_system("dalembert"), SMALL, **lattice, **words)
    assert [str(slip) for slip in ladder.slips] == menu[:3]
    at_the_start = [str(ladder.slips[place]) for place in ladder.choice[:6, 400]]
    assert at_the_start == ["single=100", *["single=200"] * 3, *["single=500"] * 2]
    system = make_system("labouchere")
    tables = system_tables(system, SMALL, **lattice, **words)
    law = play_session(SMALL, tables, n_rounds=15, **words)
    found = simulate(SystemBettor(system, settings), settings, n_rounds=20_000, seed=2)
    for end, share in (("target", law.p_target), ("ruin", law.p_ruin)):
        assert share > 0.01
        sd = np.sqrt(share * (1 - share) / 20_000)
        assert abs(found.ends[end] / 20_000 - share) < 4.5 * sd


@pytest.mark.parametrize("text", ["martingale", "labouchere", "human", "bold", "random:max=8"])
def test_simulated_sessions_reach_the_target_as_often_as_the_programme_says(text):
    settings = make_settings(SESSION, **GRID, n_rounds=15)
    system = make_system(text)
    words = {"start_cents": 2000, "target_cents": 4000}
    tables = system_tables(system, SMALL, step_cents=5, n_levels=801, **words)
    exact = play_session(SMALL, tables, n_rounds=15, **words).p_target
    found = simulate(SystemBettor(system, settings), settings, n_rounds=20_000, seed=2).estimate
    sd = max(np.sqrt(exact * (1 - exact) / 20_000), 1e-4)
    assert abs(found.mean - exact) < 4.5 * sd


def test_random_draws_every_stake_alike():
    settings = make_settings(SESSION, **GRID)
    agent = SystemBettor(make_system("random:max=4"), settings)
    env = NiuNiuVectorEnv(8000, settings)
    seen, infos = env.reset(seed=1)
    actions, _ = agent.act(
        seen, env.action_masks(), infos, agent.initial_state(8000), np.random.default_rng(1)
    )
    stakes, counts = np.unique(
        [settings.menu[action].total_cents for action in actions], return_counts=True
    )
    assert stakes.tolist() == [100, 200, 300, 400]
    assert (abs(counts - 2000) < 4.5 * np.sqrt(8000 * 3 / 16)).all()


# ---------------------------------------------------------------- menus and refusals


def test_a_short_menu_gives_the_largest_multiple_below():
    settings = make_settings(SESSION, menu=["single=100", "single=300", "single=100,super=40"])
    agent = SystemBettor(make_system("dalembert:max=9"), settings)
    masks = np.ones((9, 3), dtype=bool)
    wanted = np.arange(1, 10)
    assert agent._choose(wanted, masks).tolist() == [0, 0, 1, 1, 1, 1, 1, 1, 1]
    masks[4:, 1] = False
    assert agent._choose(wanted, masks).tolist() == [0, 0, 1, 1, 0, 0, 0, 0, 0]


def test_a_task_without_bankroll_takes_systems_that_need_none():
    settings = make_settings("niulab/Table-v0", decisions="bet")
    agent = SystemBettor(make_system("flat:5"), settings)
    env = NiuNiuVectorEnv(3, settings)
    seen, infos = env.reset(seed=1)
    actions, _ = agent.act(seen, env.action_masks(), infos, agent.initial_state(3), RNG)
    assert [str(settings.menu[action]) for action in actions] == ["single=500"] * 3
    with pytest.raises(ConfigError, match="here is no start_cents"):
        SystemBettor(make_system("percentage"), settings)


def test_refusals():
    with pytest.raises(ConfigError, match="'martingale' bets, and decisions='set' leaves it no"):
        SystemBettor(make_system("martingale"), make_settings("niulab/Arrange-v0"))
    with pytest.raises(ConfigError, match="no multiple of the base slip 'single=100,super=60'"):
        SystemBettor(make_system("flat"), make_settings(SESSION), base_slip="single=100,super=60")
    with pytest.raises(ConfigError, match="'bold' looks at its bankroll, and here is no target"):
        SystemBettor(
            make_system("bold"), make_settings(SESSION, objective="profit", target_cents=None)
        )
    env = NiuNiuVectorEnv(3, SESSION)
    agent = SystemBettor(make_system("martingale"), env.settings)
    seen, infos = env.reset(seed=1)
    with pytest.raises(ConfigError, match="remembers 2 rows and was asked about 3"):
        agent.act(seen, env.action_masks(), infos, agent.initial_state(2), RNG)


def test_it_says_whether_it_remembers():
    settings = make_settings(SESSION)
    remember = {name for name in SYSTEMS if SystemBettor(make_system(name), settings).remembers}
    assert set(SYSTEMS) - remember == {"flat", "percentage", "kelly", "bold", "timid"}


@pytest.mark.parametrize(
    ("left", "bankroll", "memory"),
    [(5, 1900, 4), (5, 2000, 3), (5, 2095, 0), (6, 1900, 0)],
    ids=["lost", "nothing", "won", "a new episode"],
)
def test_what_the_observation_alone_tells(left, bankroll, memory):
    env = NiuNiuVectorEnv(1, SESSION)
    agent = SystemBettor(make_system("martingale"), env.settings)
    seen = env.encoding.encode(
        Sight(
            phases=np.array([BETTING]),
            bankrolls=np.array([bankroll]),
            rounds_left=np.array([left]),
        )
    )
    nothing, happened = np.array([0]), np.array([True])
    before = Standing(np.array([2000]), nothing + 6, nothing, happened, ~happened, ~happened)
    masks = np.ones((1, 10), dtype=bool)
    _, after = agent.act(seen, masks, {}, BettorState(np.array([3]), before), RNG)
    assert after.memories.tolist() == [memory]


@pytest.mark.parametrize("text", ["martingale", "labouchere", "human", "oscar", "1-3-2-6"])
def test_out_of_a_session_it_answers_by_chance(text):
    """Asked twice about the same states, as exact evaluation asks, it is seen to be no table."""
    settings = make_settings(SESSION)
    agent = SystemBettor(make_system(text), settings)
    n, rng = 400, np.random.default_rng(2)
    seen = Encoding(settings).encode(
        Sight(
            phases=np.full(n, BETTING),
            bankrolls=rng.integers(15, 30, size=n) * 100,
            rounds_left=np.repeat([6, 5, 3, 1], n // 4),
        )
    )
    masks, state = np.ones((n, 10), dtype=bool), agent.initial_state(n)
    one, state = agent.act(seen, masks, {}, state, rng)
    other, _ = agent.act(seen, masks, {}, state, rng)
    assert (one == other)[: n // 4].all()  # all rounds left: a session begins
    for rows in np.split(np.arange(n), 4)[1:]:
        assert (one != other)[rows].any()


def test_a_system_of_the_bankroll_alone_needs_no_past():
    settings = make_settings(SESSION)
    states = {"bankrolls": np.full(20, 2000), "rounds_left": np.full(20, 3)}
    seen = Encoding(settings).encode(Sight(phases=np.full(20, BETTING), **states))
    for text in ("bold", "flat:2", "percentage:30"):
        agent = SystemBettor(make_system(text), settings)
        actions, _ = agent.act(
            seen, np.ones((20, 10), dtype=bool), {}, agent.initial_state(20), RNG
        )
        assert len({*actions.tolist()}) == 1


def test_bytes_tell_roughly():
    """255 levels of the bankroll are enough for these stakes' signs, and for the rounds left."""
    play_batch("martingale", "SameStep", infos_told=False, observation="uint8", n_steps=60)
