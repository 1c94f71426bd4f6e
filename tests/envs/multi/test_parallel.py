"""Several seats in PettingZoo's words: its own tests, and what a table hands out and refuses."""

import pickle
import sys
from copy import deepcopy

import numpy as np
import pytest
from gymnasium.error import InvalidAction, ResetNeeded
from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test
from pettingzoo.utils import parallel_to_aec
from rows import assert_same, moves

from niulab.engine.cards import parse_hand
from niulab.envs.multi import parallel_env
from niulab.envs.registration import ENV_IDS
from niulab.envs.single import NiuNiuEnv
from niulab.errors import CardError, ConfigError, MissingExtraError

SEEN_BY_ONE = {"niulab/Peek-v0", "niulab/Shoe-v0"}
"""Tasks that show what only one player's round leaves as it was."""
TASKS = [{"preset": env_id, "n_seats": 1 if env_id in SEEN_BY_ONE else 3} for env_id in ENV_IDS] + [
    {"preset": "niulab/NiuNiu-v0", "n_seats": 9, "mask": "observation", "can_leave": True},
    {"preset": "niulab/NiuNiu-v0", "n_rounds": None, "max_cycles": 20},
    {"preset": "niulab/Table-v0", "n_seats": 2, "rules": "even-double-super-bonus"},
    {"preset": "niulab/Arrange-v0", "card_order": "dealt", "encoding": "ids"},
]


def play(env, n_steps, rng=None):
    """Random legal actions, resetting without a seed; every step with the actions before it."""
    rng = rng or np.random.default_rng(0)
    steps = []
    for _ in range(n_steps):
        if not env.agents:
            steps.append(env.reset())
        actions = {
            agent: rng.choice(np.flatnonzero(env.action_masks(agent))) for agent in env.agents
        }
        steps.append((actions, *env.step(actions)))
    return steps


# ---------------------------------------------------------------- PettingZoo's own tests


@pytest.mark.parametrize("task", TASKS, ids=str)
def test_pettingzoos_parallel_api_test_passes(task):
    parallel_api_test(parallel_env(**task), num_cycles=100)


@pytest.mark.parametrize("task", TASKS, ids=str)
def test_pettingzoos_seed_test_passes(task):
    parallel_seed_test(lambda: parallel_env(**task), num_cycles=20)


@pytest.mark.filterwarnings("ignore:Observation")  # of the task that asks for a Dict
@pytest.mark.parametrize("task", TASKS, ids=str)
def test_pettingzoos_api_test_passes_after_conversion_to_aec(task):
    api_test(parallel_to_aec(parallel_env(**task)), num_cycles=50)


# ---------------------------------------------------------------- beside the single environment


@pytest.mark.parametrize(
    "keywords",
    [
        *({"preset": env_id} for env_id in ENV_IDS),
        {"preset": "niulab/NiuNiu-v0", "can_leave": True, "mask": "observation"},
        {"preset": "niulab/NiuNiu-v0", "rules": "six-deck-shoe-bonus", "encoding": "ids"},
        {"preset": "niulab/Table-v0", "rules": "even-double-super-bonus", "observation": "uint8"},
        {"preset": "niulab/Arrange-v0", "card_order": "dealt", "reward_scale": 0.5},
    ],
    ids=str,
)
def test_one_seat_plays_the_single_environments_rounds(keywords):
    table, single = parallel_env(**keywords, n_seats=1), NiuNiuEnv(**keywords)
    n_actions = getattr(single.action_space, "n", 10)
    rng = np.random.default_rng(1)
    theirs, ours = single.reset(seed=11), table.reset(seed=11)
    assert_same(tuple(part["seat_1"] for part in ours), theirs)
    for _ in range(60):
        action = moves(single.action_space, int(rng.integers(n_actions)))  # illegal ones too
        theirs, ours = single.step(action), table.step({"seat_1": action})
        assert_same(tuple(part["seat_1"] for part in ours), theirs)
        assert type(ours[1]["seat_1"]) is float
        if theirs[2]:
            assert table.agents == []
            theirs, ours = single.reset(), table.reset()
            assert_same(tuple(part["seat_1"] for part in ours), theirs)


def test_a_seats_spaces_are_its_own():
    env = parallel_env("niulab/NiuNiu-v0", n_seats=2)
    one, other = (env.action_space(agent) for agent in env.possible_agents)
    assert one == other
    assert one is not other
    assert env.observation_space("seat_1") == NiuNiuEnv("niulab/NiuNiu-v0").observation_space


# ---------------------------------------------------------------- ends


def test_a_seat_leaves_while_others_play_on():
    env = parallel_env("niulab/Session-v0", n_seats=3, can_leave=True)
    leave = env.settings.leave_action
    env.reset(seed=0)
    _, rewards, terminations, truncations, infos = env.step(
        {"seat_1": 0, "seat_2": leave, "seat_3": 0}
    )
    assert terminations == {"seat_1": False, "seat_2": True, "seat_3": False}
    assert (infos["seat_2"]["end"], rewards["seat_2"]) == ("left", 0.0)
    assert "settlement" not in infos["seat_2"]
    assert not any(truncations.values())
    assert env.agents == ["seat_1", "seat_3"]
    assert set(env.step(dict.fromkeys(env.agents, 0))[0]) == {"seat_1", "seat_3"}


def test_all_may_leave_and_then_nothing_is_dealt():
    env = parallel_env("niulab/NiuNiu-v0", n_seats=2, can_leave=True)
    env.reset(seed=0)
    before = env.get_state()["seats"][0]["state"]["round_index"]
    _, _, terminations, _, infos = env.step(dict.fromkeys(env.agents, env.settings.leave_action))
    assert all(terminations.values())
    assert {info["end"] for info in infos.values()} == {"left"}
    env.reset()
    assert env.get_state()["seats"][0]["state"]["round_index"] == before + 1


def test_max_cycles_truncates_and_says_so():
    env = parallel_env("niulab/Session-v0", n_rounds=None, n_seats=2, max_cycles=2)
    env.reset(seed=0)
    *_, truncations, infos = env.step(dict.fromkeys(env.agents, 0))
    assert not any(truncations.values())
    *_, terminations, truncations, infos = env.step(dict.fromkeys(env.agents, 0))
    assert all(truncations.values())
    assert not any(terminations.values())
    assert {info["end"] for info in infos.values()} == {"max_cycles"}
    assert env.agents == []


# ---------------------------------------------------------------- what is refused


def test_steps_at_the_wrong_time_are_refused():
    env = parallel_env("niulab/Arrange-v0", n_seats=1)
    with pytest.raises(ResetNeeded, match="before the first reset"):
        env.step({"seat_1": 0})
    env.reset(seed=0)
    env.step({"seat_1": 0})
    with pytest.raises(ResetNeeded, match="after the end of the episode"):
        env.step({})


@pytest.mark.parametrize(
    "actions",
    [
        {"seat_1": 0},
        {"seat_1": 0, "seat_2": 0, "seat_3": 0},
        {"seat_1": 0, "seat_2": None},
        {"seat_1": 0, "seat_2": 10},
        {"seat_1": 0, "seat_2": -1},
        {"seat_1": 0, "seat_2": 8},  # needs 36 units in sight
    ],
    ids=str,
)
def test_wrong_actions_are_refused_and_change_nothing(actions):
    env = parallel_env("niulab/NiuNiu-v0", n_seats=2, illegal="raise")
    env.reset(seed=0)
    before = env.get_state()
    with pytest.raises(InvalidAction):
        env.step(actions)
    assert env.get_state() == before


def test_an_illegal_action_is_that_seats_matter():
    env = parallel_env("niulab/Session-v0", n_seats=2)
    env.reset(seed=0)
    infos = env.step({"seat_1": 8, "seat_2": 1})[4]
    assert infos["seat_1"]["illegal_action"]
    assert "illegal_action" not in infos["seat_2"]
    assert [infos[agent]["settlement"]["slip"] for agent in ("seat_1", "seat_2")] == [0, 1]


@pytest.mark.parametrize(
    ("keywords", "words"),
    [
        ({"n_seats": 10}, "n_seats is 1 to 9 under 'single-double-super', got 10"),
        ({"n_seats": 0}, "n_seats is 1 to 9"),
        ({"n_seats": True}, "n_seats is 1 to 9"),
        ({"rules": "six-deck-shoe-bonus"}, "a shoe dealt on to a cut card needs the same seats"),
        ({"preset": "niulab/Peek-v0"}, "channel shows a card before the bets"),
        ({"preset": "niulab/Shoe-v0"}, "shoe shows what one player and the dealer took"),
        ({"max_cycles": 0}, "max_cycles is a whole number of at least 1, or None, got 0"),
        ({"render_mode": "rgb_array"}, "render_mode is 'ansi', 'human' or None"),
        ({"n_rouns": 3}, "did you mean 'n_rounds'"),
    ],
    ids=str,
)
def test_tables_that_cannot_be_are_refused(keywords, words):
    with pytest.raises(ConfigError, match=words):
        parallel_env(**keywords)


def test_without_pettingzoo_the_pip_command_is_named(monkeypatch):
    monkeypatch.delitem(sys.modules, "niulab.envs.multi.parallel", raising=False)
    monkeypatch.setitem(sys.modules, "pettingzoo.utils.env", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'niulab\[multi\]'"):
        parallel_env()


# ---------------------------------------------------------------- deals, state, words


def test_a_deal_can_be_given_for_the_first_round():
    env = parallel_env("niulab/Table-v0", n_seats=2, encoding="ids")
    hands = ["KS QH 10D AC 7S", "2D 3D 4D 5D 6D", "KD QD 10C AD 7D"]
    env.reset(seed=0, options={"deal": hands})
    observations = env.step({"seat_1": 0, "seat_2": 1})[0]
    for agent, hand in zip(env.agents, hands, strict=False):
        assert observations[agent][:5].tolist() == sorted(parse_hand(hand))
    infos = env.step({"seat_1": 0, "seat_2": 0})[4]
    for info in infos.values():
        assert info["settlement"]["dealer_cards"].tolist() == sorted(parse_hand(hands[2]))
    env.reset()
    observations = env.step({"seat_1": 0, "seat_2": 1})[0]
    assert observations["seat_1"][:5].tolist() != sorted(parse_hand(hands[0]))


@pytest.mark.parametrize(
    "deal",
    [
        ["KS QH 10D AC 7S", "2D 3D 4D 5D 6D"],
        ["KS QH 10D AC 7S", "2D 3D 4D 5D 6D", "KS QD 10C AD 7D"],
        ["KS QH 10D AC", "2D 3D 4D 5D 6D", "KD QD 10C AD 7D"],
        "KS QH 10D AC 7S",
    ],
    ids=["too few", "a card twice", "four cards", "text"],
)
def test_a_deal_that_cannot_be_is_refused(deal):
    env = parallel_env("niulab/Table-v0", n_seats=2)
    with pytest.raises(CardError):
        env.reset(options={"deal": deal})


def test_saved_states_have_equal_futures():
    env = parallel_env("niulab/NiuNiu-v0", n_seats=3, n_rounds=None, max_cycles=30)
    env.reset(seed=5)
    play(env, 17)
    saved = env.get_state()
    copies = [deepcopy(env), pickle.loads(pickle.dumps(env))]  # noqa: S301, our own bytes
    future = play(env, 50)
    env.set_state(saved)
    for copy in (env, *copies):
        for ours, theirs in zip(play(copy, 50), future, strict=True):
            assert_same(ours, theirs)
    with pytest.raises(ConfigError, match="this state is of 3 seats, the table has 2"):
        parallel_env("niulab/NiuNiu-v0", n_seats=2).set_state(saved)


def test_a_seed_opens_its_stream_and_reset_goes_on_with_it():
    env = parallel_env("niulab/Arrange-v0", n_seats=2, encoding="ids")

    def ten_deals():
        deals = [env.reset(seed=7)[0], *(env.reset()[0] for _ in range(9))]
        return [tuple(deal[agent].tolist() for agent in sorted(deal)) for deal in deals]

    first = ten_deals()
    assert first == ten_deals()
    assert len({str(deal) for deal in first}) == 10
    unseeded = [parallel_env("niulab/Arrange-v0", encoding="ids").reset()[0] for _ in range(2)]
    assert not np.array_equal(unseeded[0]["seat_1"], unseeded[1]["seat_1"])


def test_rendering(capsys):
    env = parallel_env("niulab/NiuNiu-v0", n_seats=2, render_mode="ansi")
    env.reset(seed=0)
    lines = env.render().splitlines()
    assert [line.split(":")[0] for line in lines if line.startswith("seat")] == ["seat_1", "seat_2"]
    env = parallel_env("niulab/NiuNiu-v0", n_seats=2, render_mode="human")
    env.reset(seed=0)
    env.step({"seat_1": 0, "seat_2": 0})
    assert capsys.readouterr().out.count("seat_2: single-double-super | round 0") == 2
    env = parallel_env()
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="without a render_mode"):
        assert env.render() is None
