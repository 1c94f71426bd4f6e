"""What a batch keeps: saved states, copies, and the options of each row."""

import json
import pickle
from copy import deepcopy
from multiprocessing import get_context

import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from rows import ROWS, assert_same, moves, row_of

from niulab.envs.registration import ENV_IDS
from niulab.envs.single import NiuNiuEnv
from niulab.envs.vector import NiuNiuVectorEnv
from niulab.errors import CardError, ConfigError

ARRANGE, SESSION = "niulab/Arrange-v0", "niulab/Session-v0"
HANDS = ("AD 7S 10D QH KS", "2D 3D 4D 6C 8C")
OTHERS = ("10D JD QD KD KS", "2H 3H 4H 6S 9S")


def actions_of(n_rows, n_steps, seed=0):
    return np.random.default_rng(seed).integers(0, 10, (n_steps, n_rows))


def play(env, n_steps, seed=0):
    """Steps of a tape; under mode Disabled the rows that ended are reset between them."""
    steps = []
    for actions in actions_of(env.num_envs, n_steps, seed):
        step = env.step(moves(env.single_action_space, actions))
        steps.append(step)
        ended = step[2] | step[3]
        if env.metadata["autoreset_mode"].value == "Disabled" and ended.any():
            steps.append(env.reset(options={"reset_mask": ended}))
    return steps


def begun(env_id, mode="SameStep", **keywords):
    """A batch in the midst of things: rows in several phases, one with a forced deal."""
    env = NiuNiuVectorEnv(5, env_id, autoreset_mode=mode, max_episode_steps=7, **keywords)
    deals = {"deals": [None, HANDS, None, None, OTHERS]}
    env.reset(seed=31, options=None if env.settings.shoe else deals)  # no forced hands of a shoe
    play(env, 4)
    env.reset(options={"reset_mask": np.array([True, False, False, False, False])})
    play(env, 1, seed=1)
    return env


# ---------------------------------------------------------------- states and copies


@pytest.mark.parametrize("mode", ROWS)
@pytest.mark.parametrize("env_id", ENV_IDS)
def test_a_state_is_json_and_has_the_same_future(env_id, mode):
    env = begun(env_id, mode)
    if mode == "NextStep" and env_id == ARRANGE:
        assert env.get_state()["is_done"] == [True] * 5
    saved = json.loads(json.dumps(env.get_state()))
    other = NiuNiuVectorEnv(5, env_id, autoreset_mode=mode, max_episode_steps=7)
    seen, infos = other.set_state(saved)
    assert seen in other.observation_space
    assert infos["_bankroll_cents"].all()
    assert_same(tuple(play(other, 12, seed=2)), tuple(play(env, 12, seed=2)))
    assert env.np_random.random() == other.np_random.random()
    env.set_state(saved)
    assert env.get_state() == saved


def pickled(env):
    return pickle.loads(pickle.dumps(env))  # noqa: S301, our own bytes


@pytest.mark.parametrize("copied", [deepcopy, pickled])
@pytest.mark.parametrize("keywords", [{}, {"copy": False}], ids=str)
@pytest.mark.parametrize("env_id", ENV_IDS)
def test_copies_keep_the_stream_and_share_nothing(env_id, copied, keywords):
    env = begun(env_id, **keywords)
    twin = copied(env)
    future = deepcopy(play(twin, 8, seed=3)[-1])
    assert_same(play(env, 8, seed=3)[-1], future)


def test_a_pickle_holds_no_large_table_and_no_array_lent_out():
    env = NiuNiuVectorEnv(64, ARRANGE, reward="expected")
    env.reset(seed=0)
    play(env, 1)
    assert len(pickle.dumps(env)) < 200_000


def play_elsewhere(env, connection):
    connection.send(play(env, 6))


def test_batches_cross_into_spawned_processes():
    env = begun("niulab/NiuNiu-v0")
    ours, theirs = get_context("spawn").Pipe()
    process = get_context("spawn").Process(target=play_elsewhere, args=(env, theirs))
    process.start()
    there = ours.recv()
    process.join()
    assert_same(tuple(there), tuple(play(env, 6)))
    assert process.exitcode == 0


def test_states_of_other_batches_are_refused():
    env = NiuNiuVectorEnv(2, ARRANGE)
    with pytest.raises(ResetNeeded):
        env.get_state()
    env.reset(seed=0)
    state = env.get_state()
    with pytest.raises(ConfigError, match="has 2 rows, the batch has 3"):
        NiuNiuVectorEnv(3, ARRANGE).set_state(state)
    for other in (
        NiuNiuVectorEnv(2, ARRANGE, rules="bull-bull-live"),
        NiuNiuVectorEnv(2, ARRANGE, autoreset_mode="NextStep"),
    ):
        with pytest.raises(ConfigError, match="this state belongs to another batch"):
            other.set_state(state)
    single = NiuNiuEnv(ARRANGE)
    single.reset(seed=0)
    with pytest.raises(ConfigError, match="this state belongs to another batch"):
        env.set_state(single.get_state())


# ---------------------------------------------------------------- options


@pytest.mark.parametrize("mode", ["SameStep", "NextStep"])
def test_a_rows_deal_stays_across_automatic_resets(mode):
    env, free = (NiuNiuVectorEnv(3, ARRANGE, encoding="ids", autoreset_mode=mode) for _ in range(2))
    forced = [0, 27, 36, 46, 51]
    seen, _ = env.reset(seed=1, options={"deals": [None, HANDS, None]})
    others, _ = free.reset(seed=1)
    for actions in actions_of(3, 8):
        assert seen[1].tolist() == forced
        assert (seen[[0, 2]] == others[[0, 2]]).all()
        seen, _, _, _, infos = env.step(actions)
        others = free.step(actions)[0]
        settled = infos.get("final_info", infos)
        if "settlement" in settled:
            dealer = settled["settlement"]["dealer_cards"][1]
            assert dealer.tolist() == [4, 8, 12, 21, 29]


def test_a_deal_opens_every_episode_of_a_session_and_its_later_rounds_are_free():
    env = NiuNiuVectorEnv(2, SESSION, objective="profit", target_cents=None)
    env.reset(seed=9, options={"deal": HANDS})
    nets = []
    for _ in range(12):
        infos = env.step(np.zeros(2, dtype=np.int64))[4]
        nets.append(infos.get("final_info", infos)["settlement"]["net_cents"].tolist())
    assert nets[0] == nets[6] == [95, 95]  # niu 8 against a high card
    single = NiuNiuEnv(SESSION, objective="profit", target_cents=None)
    single.reset(seed=9)
    later = [int(single.step(0)[4]["last_net_cents"]) for _ in range(6)]
    assert [row[0] for row in nets[1:6]] == later[1:]


def test_a_reset_from_outside_ends_a_rows_deal():
    env = NiuNiuVectorEnv(2, ARRANGE, encoding="ids")
    seen, _ = env.reset(seed=1, options={"deal": HANDS})
    assert seen.tolist() == [[0, 27, 36, 46, 51]] * 2
    mask = np.array([False, True])
    seen, _ = env.reset(options={"reset_mask": mask, "deal": OTHERS})
    assert seen.tolist() == [[0, 27, 36, 46, 51], [36, 40, 44, 48, 51]]
    seen, _ = env.reset(options={"reset_mask": mask})
    assert seen[0].tolist() == [0, 27, 36, 46, 51]
    assert seen[1].tolist() != [36, 40, 44, 48, 51]
    seen, _ = env.reset(seed=1)
    assert (seen == NiuNiuVectorEnv(2, ARRANGE, encoding="ids").reset(seed=1)[0]).all()


@pytest.mark.parametrize("env_id", ENV_IDS)
def test_a_forced_deal_is_what_the_single_environment_plays(env_id):
    words = {"shoe": None} if env_id == "niulab/Shoe-v0" else {}  # forced hands leave no shoe
    env = NiuNiuVectorEnv(2, env_id, card_order="dealt", **words)
    single = NiuNiuEnv(env_id, card_order="dealt", **words)
    seen, _ = env.reset(seed=4, options={"deals": [OTHERS, None]})
    first, _ = single.reset(seed=4, options={"deal": OTHERS})
    assert (seen[0] == first).all()
    for action in (1, 6, 2, 3):
        step = env.step(moves(env.single_action_space, np.array([action, 0])))
        reference = single.step(moves(single.action_space, action))
        assert step[1][0] == reference[1]
        if reference[2]:
            assert_same(row_of(step[4]["final_info"], 0), reference[4])
            return
        assert_same(row_of(step[4], 0), reference[4])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"reset_mask": np.zeros(2, dtype=np.bool_)}, "reset_mask is a bool array"),
        ({"reset_mask": np.ones(3, dtype=np.bool_)}, "reset_mask is a bool array"),
        ({"reset_mask": np.ones(2)}, "reset_mask is a bool array"),
        ({"cards": "AD"}, "takes the options 'reset_mask' and either 'deal'"),
        ({"deal": HANDS, "deals": [None, HANDS]}, "either 'deal'.*or 'deals'"),
        ({"deals": [HANDS]}, "for each of 2 rows, got 1"),
    ],
    ids=str,
)
def test_wrong_options_are_refused_before_anything_changes(options, message):
    env = NiuNiuVectorEnv(2, ARRANGE)
    env.reset(seed=0)
    before = env.get_state()
    with pytest.raises(ConfigError, match=message):
        env.reset(seed=9, options=options)
    with pytest.raises(CardError, match="AD is dealt twice"):
        env.reset(options={"deals": [None, ("AD 7S 10D QH KS", "AD 3D 4D 5D 6D")]})
    assert env.get_state() == before
