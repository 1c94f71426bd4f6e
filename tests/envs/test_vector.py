"""The batch itself: registration, seeds, actions, masks, arrays handed out."""

import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.error import Error, InvalidAction, ResetNeeded
from gymnasium.vector import VectorEnv
from rows import assert_same, moves, row_of
from strategies import PLAYABLE, overlay
from stray import in_fresh_process

from niulab.envs.registration import ENV_IDS
from niulab.envs.settings import make_settings
from niulab.envs.single import NiuNiuEnv
from niulab.envs.vector import NiuNiuVectorEnv
from niulab.errors import ConfigError

NIUNIU, ARRANGE, SESSION = "niulab/NiuNiu-v0", "niulab/Arrange-v0", "niulab/Session-v0"


def tape(n_rows, n_steps, seed=0):
    return np.random.default_rng(seed).integers(0, 10, (n_steps, n_rows))


# ---------------------------------------------------------------- registration


@pytest.mark.parametrize("env_id", ENV_IDS)
def test_make_vec_gives_the_native_class_and_passes_keywords(env_id):
    env = gymnasium.make_vec(env_id, num_envs=4)
    assert type(env) is NiuNiuVectorEnv
    assert isinstance(env, VectorEnv)
    assert isinstance(env.unwrapped, VectorEnv)
    assert env.settings == make_settings(env_id)
    assert (env.spec.id, env.spec.kwargs["num_envs"]) == (env_id, 4)
    assert str(env) == f"NiuNiuVectorEnv({env_id}, num_envs=4)"
    assert env.reset(seed=0)[0] in env.observation_space
    assert env.action_space.sample() in env.action_space
    again = gymnasium.make_vec(env.spec)
    assert (type(again), again.num_envs) == (NiuNiuVectorEnv, 4)
    env.spec = None
    env.close()
    other = gymnasium.make_vec(env_id, num_envs=2, reward_scale=0.5, observation="uint8")
    assert other.settings.reward_scale == 0.5
    assert other.observation_space.dtype == np.uint8


def test_vector_kwargs_and_wrappers_are_refused_as_gymnasium_refuses_them():
    with pytest.raises(Error, match="`vector_kwargs` is not empty"):
        gymnasium.make_vec(NIUNIU, vector_kwargs={"copy": False})
    with pytest.raises(Error, match="with the wrappers argument"):
        gymnasium.make_vec(NIUNIU, wrappers=[gymnasium.wrappers.TimeAwareObservation])
    with pytest.raises(ConfigError, match="unknown setting 'vector_kwargs'"):
        NiuNiuVectorEnv(2, vector_kwargs={})


def test_single_environments_keep_the_wrapper_the_batch_does_without():
    env = gymnasium.make(NIUNIU, max_episode_steps=1)
    assert type(env).__name__ == "NamedTruncation"
    env = gymnasium.make(env.spec)
    env.reset(seed=0)
    assert env.step(0)[4]["end"] == "max_episode_steps"


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"num_envs": 0}, "num_envs is a whole number of at least 1, got 0"),
        ({"num_envs": 2.0}, "num_envs is a whole number of at least 1, got 2.0"),
        ({"max_episode_steps": 0}, "max_episode_steps is a whole number of at least 1, or None"),
        ({"render_mode": "ansi"}, "does not render.*vectorization_mode='sync'"),
        ({"reward": "expectd"}, "expectd"),
    ],
)
def test_what_is_not_offered_is_refused_with_the_way_out(keywords, message):
    with pytest.raises(ConfigError, match=message):
        NiuNiuVectorEnv(**keywords)


# ---------------------------------------------------------------- seeds


@pytest.mark.parametrize("name", ["NiuNiu", "Session", "Arrange", "Table"])
def test_rows_of_1_7_and_4096_play_what_single_environments_play(name):
    """Row i seeded with s + i, to the last bit, whatever the batch size."""
    preset, actions = f"niulab/{name}-v0", tape(4096, 9)
    runs = {}
    for n in (1, 7, 4096):
        env = NiuNiuVectorEnv(n, preset)
        env.reset(seed=99)
        runs[n] = [env.step(row[:n]) for row in actions]
    for n in (1, 7):
        for few, many in zip(runs[n], runs[4096], strict=True):
            for ours, theirs in zip(few[:4], many[:4], strict=True):
                assert np.array_equal(ours, theirs[:n])
    for row in (0, 6, 2_500, 4095):
        single = NiuNiuEnv(preset)
        single.reset(seed=99 + row)
        for action, (seen, rewards, terminated, _, infos) in zip(
            actions[:, row], runs[4096], strict=True
        ):
            observation, reward, has_ended, _, info = single.step(int(action))
            assert (rewards[row], terminated[row]) == (reward, has_ended)
            if has_ended:
                assert (infos["final_obs"][row] == observation).all()
                assert_same(row_of(infos["final_info"], row), info)
                observation, _ = single.reset()
            assert (seen[row] == observation).all()


SUITED = overlay(
    "single-double-super",
    """
specials = [
  { name = "black", predicate = "all_black" },
  { name = "bomb", predicate = "four_of_a_kind" },
]
order = { tie_break = "card_by_card", high_card_tie_break = "pairs_then_cards" }
[boxes.super.win_odds]
black = 12
bomb = 13
""",
)


@pytest.mark.parametrize("name", [*PLAYABLE, "suited special, long tie-breaks"])
def test_every_sheet_is_dealt_ranked_and_settled_as_by_the_readable_engine(name):
    rules = PLAYABLE.get(name, SUITED)
    slip = dict.fromkeys(rules.boxes, 200)
    env = NiuNiuVectorEnv(150, ARRANGE, rules=rules, slip=slip)
    single = NiuNiuEnv(ARRANGE, rules=rules, slip=slip)
    env.reset(seed=0)
    actions = tape(150, 1)[0]
    infos = env.step(actions)[4]["final_info"]
    for row, action in enumerate(actions):
        single.reset(seed=row)
        assert_same(row_of(infos, row), single.step(int(action))[4])


@pytest.mark.parametrize("n_rounds", [500, pytest.param(10_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("preset", [ARRANGE, SESSION])
def test_a_row_is_fixed_over_many_rounds_by_one_reset(preset, n_rounds):
    one, many = NiuNiuVectorEnv(1, preset), NiuNiuVectorEnv(3, preset)
    one.reset(seed=[6])
    many.reset(seed=[3, 6, 1])
    for actions in tape(3, n_rounds):
        alone, among = one.step(actions[1:2]), many.step(actions)
        assert alone[1][0] == among[1][1]
    assert (alone[0][0] == among[0][1]).all()


def test_a_list_seeds_some_rows_and_the_others_go_on():
    env, reference = (NiuNiuVectorEnv(3, ARRANGE, encoding="ids") for _ in range(2))
    first, _ = env.reset(seed=10)
    reference.reset(seed=10)
    mixed, _ = env.reset(seed=[None, 11, None])
    following, _ = reference.reset()
    assert (mixed[1] == first[1]).all()
    assert (mixed[[0, 2]] == following[[0, 2]]).all()
    with pytest.raises(ValueError, match="one seed per row: 3 rows, got 2"):
        env.reset(seed=[1, 2])
    for wrong in (-1, [0, -1, 2]):
        with pytest.raises(ValueError, match="0 or more"):
            env.reset(seed=wrong)


def test_seeds_may_be_large_and_wrap_at_64_bits():
    env = NiuNiuVectorEnv(3, ARRANGE, encoding="ids")
    seen, _ = env.reset(seed=2**64 - 2)
    for row in range(3):
        single = NiuNiuEnv(ARRANGE, encoding="ids")
        assert (single.reset(seed=2**64 - 2 + row)[0] == seen[row]).all()
    assert (env.reset(seed=np.int64(5))[0] == env.reset(seed=5)[0]).all()


def test_resets_without_a_seed_go_on_and_unseeded_batches_differ():
    env = NiuNiuVectorEnv(4, ARRANGE, encoding="ids")
    env.reset(seed=7)
    hands = {tuple(env.reset()[0].ravel()) for _ in range(30)}
    assert len(hands) == 30
    assert env.get_state()["rows"]["rounds"] == [30] * 4
    first = [NiuNiuVectorEnv(4, ARRANGE, encoding="ids").reset()[0].tolist() for _ in range(2)]
    assert first[0] != first[1]


def test_gymnasiums_own_generator_is_seeded_too():
    env = NiuNiuVectorEnv(2)
    env.reset(seed=3)
    drawn = env.np_random.random()
    env.reset(seed=3)
    assert env.np_random.random() == drawn
    assert env.np_random_seed == 3


def test_the_seeded_action_space_samples_alike_in_two_processes(tmp_path):
    script = """
import gymnasium, niulab
env = gymnasium.make_vec("niulab/NiuNiu-v0", num_envs=5)
env.action_space.seed(12)
print([env.action_space.sample().tolist() for _ in range(3)])
"""
    env = gymnasium.make_vec(NIUNIU, num_envs=5)
    env.action_space.seed(12)
    ours = [env.action_space.sample().tolist() for _ in range(3)]
    assert in_fresh_process(script, tmp_path).strip() == str(ours)


# ---------------------------------------------------------------- actions and masks


@pytest.mark.parametrize(
    "actions", [[0.0, 1.0], [0], [[0], [1]], [0, 10], [-1, 0], ["0", "1"], [True, False]], ids=str
)
def test_wrong_actions_are_refused_before_anything_changes(actions):
    env = NiuNiuVectorEnv(2)
    with pytest.raises(ResetNeeded):
        env.step([0, 0])
    env.reset(seed=0)
    before = env.get_state()
    with pytest.raises(InvalidAction):
        env.step(np.array(actions))
    assert env.get_state() == before


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint8, list])
def test_whole_numbers_of_every_kind_are_taken(dtype):
    env = NiuNiuVectorEnv(2)
    env.reset(seed=0)
    env.step([1, 2] if dtype is list else np.array([1, 2], dtype=dtype))
    assert env.get_state()["rows"]["slips"] == [1, 2]


def test_masked_actions_are_replaced_by_the_first_and_counted():
    env, legal = (NiuNiuVectorEnv(64, SESSION, bankroll_cents=400) for _ in range(2))
    for each in (env, legal):
        each.reset(seed=1)
    n_masked = n_counted = 0
    for actions in tape(64, 20):
        masks = env.action_masks()
        is_masked = ~masks[np.arange(64), actions]
        assert masks.any(axis=1).all()
        ours = env.step(actions)
        theirs = legal.step(np.where(is_masked, 0, actions))
        for one, other in zip(ours[:4], theirs[:4], strict=True):
            assert (one == other).all()
        n_masked += is_masked.sum()
        for infos in (ours[4], ours[4].get("final_info", {})):
            if "illegal_action" in infos:
                n_counted += infos["illegal_action"].sum()
                assert (infos["illegal_action"] == infos["_illegal_action"]).all()
    assert n_counted == n_masked > 0


def test_masked_actions_may_be_refused_before_anything_changes():
    env = NiuNiuVectorEnv(3, SESSION, bankroll_cents=400, illegal="raise")
    env.reset(seed=0)
    before = env.get_state()
    with pytest.raises(InvalidAction, match=r"action 3 of row 1 is illegal here: choose among \[0"):
        env.step([0, 3, 0])
    assert env.get_state() == before


def test_masks_serve_batched_sampling_and_sb3():
    env = NiuNiuVectorEnv(3, SESSION, bankroll_cents=400)
    _, infos = env.reset(seed=0)
    masks = infos["action_mask"]
    assert masks.dtype == np.int8
    assert env.action_masks().dtype == np.bool_
    assert (env.action_masks() == masks).all()
    env.action_space.seed(1)
    for _ in range(20):
        drawn = env.action_space.sample(mask=tuple(masks))
        assert masks[np.arange(3), drawn].all()


def test_a_mask_may_be_part_of_the_observation():
    env = NiuNiuVectorEnv(3, NIUNIU, mask="observation")
    seen, infos = env.reset(seed=0)
    assert seen in env.observation_space
    assert (seen["action_mask"] == infos["action_mask"]).all()
    for actions in tape(3, 20):
        seen, _, terminated, _, infos = env.step(actions)
        assert (seen["action_mask"] == infos["action_mask"]).all()
        if terminated.any():
            assert infos["final_obs"]["action_mask"][terminated].all()


# ---------------------------------------------------------------- arrays handed out


def arrays_of(tree):
    for value in tree.values() if isinstance(tree, dict) else tree:
        if isinstance(value, dict | tuple):
            yield from arrays_of(value)
        else:
            yield value


@pytest.mark.parametrize("keywords", [{}, {"mask": "observation"}, {"n_rounds": 1}], ids=str)
@pytest.mark.parametrize("n_rows", [3, 600])
def test_arrays_are_fresh_and_belong_to_the_caller(n_rows, keywords):
    """Kept arrays never change, and changing them changes nothing: 600 rows recycle theirs."""
    env, reference = (NiuNiuVectorEnv(n_rows, NIUNIU, **keywords) for _ in range(2))
    handed, copies = [env.reset(seed=2)], []
    reference.reset(seed=2)
    for actions in tape(n_rows, 14):
        copies.append([array.copy() for array in arrays_of(handed[-1])])
        handed.append(env.step(actions))
        reference.step(actions)
    for kept, copied in zip(handed, copies, strict=False):
        for array, other in zip(arrays_of(kept), copied, strict=True):
            assert np.array_equal(array, other)
    seen = list(arrays_of(tuple(handed)))
    assert not any(
        np.shares_memory(a, b) for place, a in enumerate(seen[:90]) for b in seen[:place]
    )
    for array in seen:
        array[...] = 0
    del handed, seen
    for actions in tape(n_rows, 6, seed=1):
        assert_same(env.step(actions), reference.step(actions))


def test_without_copies_the_same_arrays_come_back_with_the_same_numbers():
    fresh, shared = (NiuNiuVectorEnv(5, NIUNIU, copy=copy) for copy in (True, False))
    fresh.reset(seed=4)
    seen, infos = shared.reset(seed=4)
    finals = set()
    for actions in tape(5, 40):
        ours, theirs = shared.step(actions), fresh.step(actions)
        assert_same(ours, theirs)
        assert ours[0] is seen
        assert np.shares_memory(ours[4]["action_mask"], infos["action_mask"])
        assert np.shares_memory(shared.action_masks(), infos["action_mask"])
        if "final_obs" in ours[4]:
            finals.add(id(ours[4]["final_obs"]))
            assert ours[4]["final_obs"] is not seen
    assert len(finals) == 1


@pytest.mark.parametrize("env_id", ENV_IDS)
def test_a_step_calls_python_as_often_for_many_rows_as_for_few(env_id):
    """No loop over rows hides in a step."""

    def n_calls(n_rows):
        env = NiuNiuVectorEnv(n_rows, env_id)
        env.reset(seed=0)
        seen, counts = [], []
        for actions in tape(n_rows, 8):
            seen.clear()
            played = moves(env.single_action_space, actions)
            sys.setprofile(lambda *event: seen.append(event[1]))
            env.step(played)
            sys.setprofile(None)
            counts.append(len(seen))
        return max(counts)

    n_calls(2_000)  # the first rounds under a sheet make its tables
    assert n_calls(2_000) < n_calls(20) + 1_000  # a few rows in a hundred draw again
