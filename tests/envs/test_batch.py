"""The native batch: row for row the single environment, and Gymnasium's same-step conventions."""

import json
import pickle
from copy import deepcopy

import gymnasium
import numpy as np
import pytest
from gymnasium.error import InvalidAction, ResetNeeded
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv

from niulab.envs.batch import ArrangeVectorEnv
from niulab.envs.single import NiuNiuEnv
from niulab.errors import ConfigError

ARRANGE = "niulab/Arrange-v0"
SAME_STEP = AutoresetMode.SAME_STEP
TASKS = [
    {},
    {"encoding": "ids", "slip": "single=100,double=60,super=40"},
    {"rules": "ngau-ngau-hong-kong", "card_order": "dealt"},
    {"reward": "expected", "card_order": "dealt"},
    {"rules": "even-double-super-bonus", "slip": "even=100,bonus=20", "observation": "uint8"},
    {"rules": "even-double-super-bonus-four-of-a-kind-ranks", "slip": "even=100,double=20"},
    {"rules": "six-deck-shoe-bonus", "slip": "even=100,super=20", "card_order": "dealt"},
    {"rules": "equal-double-cambodia", "reward": "expected", "reward_scale": 0.3},
    {"rules": "bull-bull-live"},
]


def tape(n_rows, n_steps, seed=0):
    return np.random.default_rng(seed).integers(0, 10, (n_steps, n_rows))


def sync(n, **keywords):
    return SyncVectorEnv(
        [lambda: NiuNiuEnv(ARRANGE, **keywords)] * n, autoreset_mode=SAME_STEP
    )  # fmt: skip


def assert_same(ours, theirs, path="infos"):
    """Equal nested infos; Sync keeps final observations as an array of arrays, ours is plain."""
    if isinstance(theirs, dict):
        assert set(ours) == set(theirs), path
        for key in theirs:
            assert_same(ours[key], theirs[key], f"{path}.{key}")
        return
    theirs = np.stack(theirs) if path.endswith(".final_obs") else theirs
    assert ours.dtype == theirs.dtype, path
    assert np.array_equal(ours, theirs), path


@pytest.mark.parametrize(
    "task",
    [
        *TASKS,
        pytest.param(
            {"rules": "ngau-ngau-hong-kong", "reward": "expected"}, marks=pytest.mark.long
        ),
    ],
    ids=str,
)
def test_rows_are_single_environments_with_consecutive_seeds(task):
    """A consumer of Sync's same-step output gets the same transitions, infos and all."""
    ours, theirs = ArrangeVectorEnv(5, **task), sync(5, **task)
    assert_same(ours.reset(seed=41)[0], theirs.reset(seed=41)[0])
    for actions in tape(5, 12):
        one, other = ours.step(actions), theirs.step(actions)
        for mine, reference in zip(one, other, strict=True):
            assert_same(mine, reference)
    assert_same(ours.reset()[1], theirs.reset()[1])


def test_a_row_depends_on_its_own_seed_only():
    actions = tape(4096, 5)
    runs = {}
    for n in (1, 7, 4096):
        env = ArrangeVectorEnv(n, encoding="ids")
        env.reset(seed=99)
        runs[n] = [env.step(row[:n])[:2] for row in actions]
    for n in (1, 7):
        for (seen, rewards), (all_seen, all_rewards) in zip(runs[n], runs[4096], strict=True):
            assert (seen == all_seen[:n]).all()
            assert (rewards == all_rewards[:n]).all()


@pytest.mark.parametrize("n_rounds", [500, pytest.param(10_000, marks=pytest.mark.long)])
def test_a_row_is_fixed_over_many_rounds_by_one_reset(n_rounds):
    one, many = ArrangeVectorEnv(1, encoding="ids"), ArrangeVectorEnv(3, encoding="ids")
    one.reset(seed=[6])
    many.reset(seed=[3, 6, 1])
    for actions in tape(3, n_rounds):
        alone, among = one.step(actions[1:2]), many.step(actions)
        assert alone[1][0] == among[1][1]
    assert (alone[0][0] == among[0][1]).all()


def test_seeds_may_be_large_and_wrap_at_64_bits():
    ours, theirs = ArrangeVectorEnv(3, encoding="ids"), sync(3, encoding="ids")
    seed = 2**64 - 2
    assert (ours.reset(seed=seed)[0] == theirs.reset(seed=seed)[0]).all()


def test_final_entries_stand_on_every_row_and_are_fresh_arrays():
    env = ArrangeVectorEnv(3)
    first, _ = env.reset(seed=0)
    _, rewards, terminations, truncations, infos = env.step(np.zeros(3, dtype=np.int64))
    assert (infos["final_obs"] == first).all()
    assert infos["_final_obs"].all()
    assert infos["_final_info"].all()
    assert (infos["final_info"]["settlement"]["net_cents"] == 100 * rewards).all()
    assert (terminations.all(), truncations.any()) == (True, False)
    again = env.step(np.zeros(3, dtype=np.int64))
    assert not np.shares_memory(again[4]["final_obs"], infos["final_obs"])
    assert not np.shares_memory(again[4]["action_mask"], infos["action_mask"])


def test_make_vec_gives_the_native_class_and_passes_keywords():
    env = gymnasium.make_vec(ARRANGE, num_envs=4, encoding="ids", autoreset_mode="SameStep")
    assert type(env) is ArrangeVectorEnv
    assert isinstance(env, VectorEnv)
    assert env.metadata["autoreset_mode"] is SAME_STEP
    assert env.observation_space.shape == (4, 5)
    assert (env.spec.id, env.spec.kwargs["num_envs"]) == (ARRANGE, 4)
    env.spec = None


def test_sync_and_async_give_the_natives_transitions():
    actions, results = tape(2, 3), []
    modes = {"autoreset_mode": SAME_STEP}
    for mode, keywords in (
        ("vector_entry_point", {}),
        ("sync", modes),
        ("async", modes | {"context": "spawn"}),
    ):
        env = gymnasium.make_vec(
            ARRANGE, num_envs=2, vectorization_mode=mode, vector_kwargs=keywords
        )
        run = [env.reset(seed=5)[0], *(array for a in actions for array in env.step(a)[:4])]
        results.append(run)
        env.close()
    for run in results[1:]:
        for ours, theirs in zip(results[0], run, strict=True):
            assert np.array_equal(ours, theirs)


def test_a_limit_of_one_step_truncates_as_it_does_in_sync():
    native = gymnasium.make_vec(ARRANGE, num_envs=2, max_episode_steps=1)
    single = gymnasium.make_vec(
        ARRANGE, num_envs=2, max_episode_steps=1, vectorization_mode="sync",
        vector_kwargs={"autoreset_mode": SAME_STEP},
    )  # fmt: skip
    flags = []
    for env in (native, single):
        env.reset(seed=0)
        flags.append(np.array(env.step(np.zeros(2, dtype=np.int64))[2:4]))
    assert (flags[0] == flags[1]).all()


def test_masks_serve_batched_sampling():
    env = ArrangeVectorEnv(3)
    _, infos = env.reset(seed=0)
    env.action_space.seed(1)
    drawn = env.action_space.sample(mask=tuple(infos["action_mask"]))
    again = ArrangeVectorEnv(3)
    again.action_space.seed(1)
    assert (drawn == again.action_space.sample(mask=tuple(infos["action_mask"]))).all()
    assert env.action_masks().dtype == np.bool_
    assert env.action_masks().shape == (3, 10)


@pytest.mark.parametrize(
    "actions", [[0.0, 1.0], [0], [[0], [1]], [0, 10], [-1, 0], ["0", "1"]], ids=str
)
def test_wrong_actions_are_refused_before_anything_changes(actions):
    env = ArrangeVectorEnv(2)
    env.reset(seed=0)
    before = env.get_state()
    with pytest.raises(InvalidAction):
        env.step(np.array(actions))
    assert env.get_state() == before


def test_a_state_is_json_and_has_the_same_future():
    env = ArrangeVectorEnv(6, encoding="ids")
    env.reset(seed=4)
    for actions in tape(6, 9):
        env.step(actions)
    other = ArrangeVectorEnv(6, encoding="ids")
    seen = other.set_state(json.loads(json.dumps(env.get_state())))
    twins = [other, deepcopy(env), pickle.loads(pickle.dumps(env))]  # noqa: S301, our own bytes
    assert (seen == env.encoding.decode_hands(seen)).all()
    for actions in tape(6, 9, seed=1):
        ours = env.step(actions)
        for twin in twins:
            theirs = twin.step(actions)
            assert (ours[0] == theirs[0]).all()
            assert (ours[1] == theirs[1]).all()


def test_states_of_other_batches_are_refused():
    env = ArrangeVectorEnv(2)
    with pytest.raises(ResetNeeded):
        env.get_state()
    env.reset(seed=0)
    with pytest.raises(ConfigError, match="has 2 rows, the batch has 3"):
        ArrangeVectorEnv(3).set_state(env.get_state())
    with pytest.raises(ConfigError, match="another version or rule set"):
        ArrangeVectorEnv(2, rules="bull-bull-live").set_state(env.get_state())


def test_reset_mask_resets_only_the_rows_it_marks():
    env, reference = (ArrangeVectorEnv(3, encoding="ids") for _ in range(2))
    before, _ = env.reset(seed=0)
    reference.reset(seed=0)
    rows = np.array([False, True, False])
    after, _ = env.reset(options={"reset_mask": rows})
    following, _ = reference.reset()
    assert (after[~rows] == before[~rows]).all()
    assert (after[rows] == following[rows]).all()
    with pytest.raises(ConfigError, match="reset_mask is a bool array"):
        env.reset(options={"reset_mask": np.zeros(3, dtype=np.bool_)})
    with pytest.raises(ConfigError, match="takes the option 'reset_mask', got \\['deal'\\]"):
        env.reset(options={"deal": None})


def test_what_is_not_native_is_refused_with_every_reason_and_the_way_out():
    with pytest.raises(ConfigError) as caught:
        ArrangeVectorEnv(
            2, decisions="bet", autoreset_mode="NextStep", render_mode="ansi", mask="observation"
        )
    assert str(caught.value).count("\n  - ") == 4
    assert "vectorization_mode='sync'" in str(caught.value)
    with pytest.raises(ConfigError, match="num_envs is at least 1"):
        ArrangeVectorEnv(0)


def test_unseeded_batches_differ():
    first = ArrangeVectorEnv(4, encoding="ids").reset()[0]
    assert (first != ArrangeVectorEnv(4, encoding="ids").reset()[0]).any()
