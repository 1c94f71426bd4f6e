"""The single environment: what it takes, what it hands out, how it ends, what it shows."""

import json

import numpy as np
import pytest
import torch
from gymnasium import make
from gymnasium.error import InvalidAction, ResetNeeded

from niulab.envs.single import NiuNiuEnv
from niulab.errors import CardError, ConfigError

DEAL = {"deal": ("AD 7S 10D QH KS", "2D 3D 4D 5D 6D")}


# ---------------------------------------------------------------- actions


@pytest.mark.parametrize(
    "action", [3, np.int32(3), np.int64(3), np.uint8(3), np.array(3), torch.tensor(3)]
)
def test_whole_numbers_are_taken_whatever_wraps_them(action):
    env = NiuNiuEnv("niulab/Arrange-v0")
    env.reset(seed=0)
    expected = env.step(3)[1]
    env.reset(seed=0)
    _, reward, *_ = env.step(action)
    assert reward == expected


@pytest.mark.parametrize(
    "action", [3.0, np.float32(3), np.array([3]), torch.tensor(3.0), "3", None, 10, -1]
)
def test_anything_else_is_refused_and_changes_nothing(action):
    env = NiuNiuEnv("niulab/Arrange-v0")
    env.reset(seed=0)
    before = env.get_state()
    with pytest.raises(InvalidAction):
        env.step(action)
    assert env.get_state() == before


def test_an_illegal_action_is_replaced_by_action_0_and_counted_in_info():
    env = NiuNiuEnv("niulab/Session-v0")
    env.reset(seed=0)
    assert not env.action_masks()[8]  # single=500,double=500,super=100 needs 36 units in sight
    _, reward, _, _, info = env.step(8)
    assert (info["illegal_action"], info["settlement"]["slip"], reward) == (True, 0, 0.0)
    assert "illegal_action" not in env.step(0)[4]


def test_an_illegal_action_can_be_refused():
    env = NiuNiuEnv("niulab/Session-v0", illegal="raise")
    env.reset(seed=0)
    with pytest.raises(InvalidAction, match=r"choose among \[0, 1, 2, 3, 4, 6, 7\]"):
        env.step(8)


def test_step_needs_a_reset_before_the_first_and_after_the_last_step():
    env = NiuNiuEnv("niulab/Arrange-v0")
    with pytest.raises(ResetNeeded, match="before the first reset"):
        env.step(0)
    with pytest.raises(ResetNeeded):
        env.get_state()
    env.reset(seed=0)
    env.step(0)
    with pytest.raises(ResetNeeded, match="after the end"):
        env.step(0)


# ---------------------------------------------------------------- types and infos


@pytest.mark.parametrize("preset", ["niulab/NiuNiu-v0", "niulab/Arrange-v0"])
def test_types_are_plain(preset):
    env = make(preset)
    env.reset(seed=0)
    _, reward, terminated, truncated, info = env.step(0)
    assert (type(reward), type(terminated), type(truncated)) == (float, bool, bool)
    for key in ("bankroll_cents", "last_net_cents", "rounds_left"):
        assert type(info[key]) is np.int64
    assert info["action_mask"].dtype == np.int8
    assert env.unwrapped.action_masks().dtype == np.bool_


def test_the_settlement_of_a_round_is_in_info():
    env = NiuNiuEnv("niulab/Arrange-v0")
    env.reset(options=DEAL)
    _, _, _, _, info = env.step(0)  # A and 7 in front: Niu 8 against Niu Niu
    settlement = {k: v for k, v in info["settlement"].items() if k != "dealer_cards"}
    assert settlement == {
        "slip": 0,
        "outcome": 0,
        "player_rank": 8,
        "dealer_rank": 10,
        "net_cents": -100,
        "moved_cents": 100,
        "net_by_box": {"single": -100},
    }
    assert info["settlement"]["dealer_cards"].tolist() == [4, 8, 12, 16, 20]
    assert info["last_net_cents"] == -100


def test_a_hand_counts_as_set_and_a_mis_set_hand_loses():
    env = NiuNiuEnv("niulab/Arrange-v0")
    deal = {"deal": ("AD 7S 10D QH KS", "2D 3D 4D 8C 10C")}
    results = []
    for action in (0, 9):
        env.reset(options=deal)
        results.append(env.step(action)[4]["settlement"])
    assert [result["player_rank"] for result in results] == [8, 0]


def test_the_mask_can_be_part_of_the_observation_and_never_is_by_default():
    flat = NiuNiuEnv("niulab/Session-v0")
    env = NiuNiuEnv("niulab/Session-v0", mask="observation")
    plain, _ = flat.reset(seed=1)
    seen, info = env.reset(seed=1)
    assert seen in env.observation_space
    assert (seen["observation"] == plain).all()
    assert (seen["action_mask"] == info["action_mask"]).all()
    assert flat.observation_space.shape == plain.shape == (3,)


def test_masks_serve_gymnasiums_sampling_as_they_are():
    env = NiuNiuEnv("niulab/NiuNiu-v0", menu=["single=100", "single=100,super=180"])
    _, info = env.reset(seed=0)
    assert info["action_mask"].tolist() == [1, 0] + [0] * 8
    assert env.action_space.sample(mask=info["action_mask"]) == 0
    _, _, _, _, info = env.step(0)
    assert info["action_mask"].tolist() == [1] * 10  # every setting is legal


def test_phases_share_indices_and_larger_menus_widen_the_space():
    menu = [f"single={100 + 20 * step}" for step in range(12)]
    env = NiuNiuEnv("niulab/Table-v0", menu=menu)
    assert env.action_space.n == 12
    env.reset(seed=0)
    assert env.action_masks().tolist() == [True] * 12
    env.step(11)
    assert env.action_masks().tolist() == [True] * 10 + [False] * 2


# ---------------------------------------------------------------- ends


@pytest.mark.parametrize(("preset", "length"), [("niulab/Arrange-v0", 1), ("niulab/Table-v0", 2)])
def test_a_round_terminates_and_never_truncates(preset, length):
    env = make(preset)
    env.reset(seed=0)
    for step in range(1, length + 1):
        _, _, terminated, truncated, info = env.step(0)
        assert (terminated, truncated, "end" in info) == (step == length, False, step == length)
    assert info["end"] == "n_rounds"


def test_max_episode_steps_truncates_through_make_and_says_so():
    env = make("niulab/Session-v0", max_episode_steps=3)
    env.reset(seed=0)
    flags = [env.step(0)[2:] for _ in range(3)]
    assert [(term, trunc) for term, trunc, _ in flags] == [(False, False)] * 2 + [(False, True)]
    assert flags[-1][2]["end"] == "max_episode_steps"
    env.reset()
    assert env.step(0)[2:4] == (False, False)  # the count starts anew


def test_a_sessions_deadline_terminates():
    env = NiuNiuEnv("niulab/Session-v0", n_rounds=2)
    env.reset(seed=0)
    env.step(0)
    _, _, terminated, truncated, info = env.step(0)
    assert (terminated, truncated, info["end"], info["rounds_left"]) == (True, False, "n_rounds", 0)
    assert info["action_mask"].all()


def test_ruin_is_a_bankroll_below_the_least_slip():
    env = NiuNiuEnv("niulab/Session-v0", bankroll_cents=199, target_cents=1_000, n_rounds=None)
    env.reset(options={"deal": ("2D 3D 4D 6C 8C", "10D JD QD KD KS")})
    _, _, terminated, _, info = env.step(0)
    assert (terminated, info["end"], info["bankroll_cents"]) == (True, "ruin", 99)


def test_a_fixed_slip_is_absorbed_below_its_stake_and_cover():
    env = NiuNiuEnv(
        "niulab/Arrange-v0", slip="single=100,double=100", bankroll_cents=600, n_rounds=None
    )
    env.reset(options={"deal": ("2D 3D 4D 6C 8C", "2H 3H 4H 6S 9S")})
    _, _, terminated, _, info = env.step(0)
    assert (terminated, info["end"], info["bankroll_cents"]) == (True, "ruin", 400)


def test_leaving_is_an_action_after_the_last_slip():
    env = NiuNiuEnv("niulab/Session-v0", objective="profit", can_leave=True)
    env.reset(seed=0)
    assert (env.action_space.n, env.action_masks()[10]) == (11, True)
    _, reward, terminated, truncated, info = env.step(10)
    assert (reward, terminated, truncated, info["end"]) == (0.0, True, False, "left")
    assert info["bankroll_cents"] == 2_000


def test_short_cover_caps_a_loss_at_what_is_in_sight():
    from strategies import overlay

    rules = overlay("single-double-super", '[boxes.super.cover]\nshortfall = "cap_loss"\n')
    env = NiuNiuEnv(
        "niulab/Session-v0", rules=rules, menu=["single=100", "single=100,super=100"],
        bankroll_cents=500, target_cents=9_000,
    )  # fmt: skip
    env.reset(options={"deal": ("2D 3D 4D 6C 8C", "10D JD QD KD KS")})
    assert env.action_masks().all()
    info = env.step(1)[4]
    assert (info["last_net_cents"], info["end"]) == (-500, "ruin")


# ---------------------------------------------------------------- options, state, words


def test_a_forced_deal_is_played_once_and_checked_first():
    env = NiuNiuEnv("niulab/Arrange-v0", encoding="ids")
    assert env.reset(options=DEAL)[0].tolist() == [0, 27, 36, 46, 51]
    assert (
        env.reset(seed=0)[0].tolist()
        == NiuNiuEnv("niulab/Arrange-v0", encoding="ids").reset(seed=0)[0].tolist()
    )
    with pytest.raises(CardError, match="AD is dealt twice"):
        env.reset(options={"deal": ("AD 7S 10D QH KS", "AD 3D 4D 5D 6D")})
    with pytest.raises(ConfigError, match="takes the option 'deal'"):
        env.reset(options={"cards": "AD"})


def test_a_state_is_json_and_has_the_same_future():
    env = NiuNiuEnv("niulab/NiuNiu-v0")
    env.reset(seed=9)
    for action in (7, 2, 1):
        env.step(action)
    saved = json.loads(json.dumps(env.get_state()))
    other = NiuNiuEnv("niulab/NiuNiu-v0")
    seen, _ = other.set_state(saved)
    assert seen in other.observation_space
    for action in (4, 0, 3, 2, 6, 1):
        ours, theirs = env.step(action), other.step(action)
        assert (ours[0] == theirs[0]).all()
        assert ours[1:4] == theirs[1:4]
    assert env.np_random.random() == other.np_random.random()


def test_a_state_of_other_rules_is_refused():
    saved = NiuNiuEnv("niulab/Arrange-v0")
    saved.reset(seed=0)
    other = NiuNiuEnv("niulab/Arrange-v0", rules="ngau-ngau-hong-kong")
    with pytest.raises(ConfigError, match="this state has version 1 and rules"):
        other.set_state(saved.get_state())


def test_each_render_mode_returns_its_declared_type(capsys):
    env = make("niulab/NiuNiu-v0", render_mode="ansi")
    env.reset(seed=0, options=DEAL)
    assert "menu 0: single=100" in env.render()
    env.step(1)
    assert "hand AD 7S 10D QH KS" in env.render()
    env.step(0)
    text = env.render()
    assert isinstance(text, str)
    assert "player 10D QH KS | AD 7S: niu_8" in text
    assert "lose: net -2.00 (single -2.00)" in text
    human = make("niulab/NiuNiu-v0", render_mode="human")
    capsys.readouterr()
    human.reset(seed=0)
    assert "round 0, betting, bankroll 20.00" in capsys.readouterr().out
    assert human.render() is None


def test_render_without_a_mode_warns_once_and_does_not_raise():
    env = NiuNiuEnv("niulab/Arrange-v0")
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="without a render_mode"):
        assert env.render() is None
    assert env.render() is None
    with pytest.raises(ConfigError, match="'ansi', 'human' or None"):
        NiuNiuEnv(render_mode="rgb_array")
