"""Steps in which every row's episode of one round ends: a way of their own, the same results."""

import json
import pickle
from copy import deepcopy

import numpy as np
import pytest
from gymnasium.error import InvalidAction
from rows import assert_same

from niulab.envs.vector import NiuNiuVectorEnv

ARRANGE = "niulab/Arrange-v0"
HANDS = ("AD 7S 10D QH KS", "2D 3D 4D 6C 8C")
TASKS = {
    "default": {},
    "ids": {"encoding": "ids"},
    "zero-copy": {"copy": False},
    "zero-copy, bytes, mask observed": {
        "copy": False,
        "observation": "uint8",
        "mask": "observation",
    },
    "three boxes, mask observed": {
        "slip": "single=100,double=60,super=40",
        "mask": "observation",
    },
    "hong kong, as dealt, points": {
        "rules": "ngau-ngau-hong-kong",
        "card_order": "dealt",
        "point_flags": True,
    },
    "open dealer, bonus": {"rules": "even-double-super-bonus", "slip": "even=100,bonus=20"},
    "automatic, expected": {
        "rules": "equal-double-cambodia",
        "reward": "expected",
        "reward_scale": 0.3,
    },
    "expected, as dealt": {"reward": "expected", "card_order": "dealt"},
    "six decks": {"rules": "six-deck-shoe-bonus"},
}


def tape(n_rows, n_steps, seed=0):
    return np.random.default_rng(seed).integers(0, 10, (n_steps, n_rows))


def pair(n_rows, **keywords):
    """A batch that goes its own way and one that takes the general one: its limit is no limit."""
    ours = NiuNiuVectorEnv(n_rows, ARRANGE, **keywords)
    general = NiuNiuVectorEnv(n_rows, ARRANGE, max_episode_steps=2, **keywords)
    return ours, general


def keys_of(tree):
    return [(key, keys_of(value)) for key, value in tree.items()] if isinstance(tree, dict) else []


def arrays_of(tree):
    for value in tree.values() if isinstance(tree, dict) else tree:
        if isinstance(value, dict | tuple):
            yield from arrays_of(value)
        else:
            yield value


@pytest.mark.parametrize("n_rows", [3, 700])
@pytest.mark.parametrize("label", TASKS)
def test_a_step_gives_what_the_general_way_gives(label, n_rows):
    ours, general = pair(n_rows, **TASKS[label])
    assert_same(ours.reset(seed=5), general.reset(seed=5))
    assert (ours._is_uniform, general._is_uniform) == (True, False)
    for actions in tape(n_rows, 6):
        step, reference = ours.step(actions), general.step(actions)
        assert_same(step, reference)
        assert_same(reference, step)
        assert keys_of(step[4]) == keys_of(reference[4])
        for array, other in zip(arrays_of(step), arrays_of(reference), strict=True):
            assert (array.dtype, array.shape) == (other.dtype, other.shape)
            assert array.flags.c_contiguous
    assert ours.get_state() == general.get_state()


@pytest.mark.parametrize("keywords", [{}, {"mask": "observation"}, {"encoding": "ids"}], ids=str)
@pytest.mark.parametrize("n_rows", [3, 600])
def test_arrays_belong_to_the_caller_and_none_lies_in_another(n_rows, keywords):
    env, reference = pair(n_rows, **keywords)
    handed, copies = [env.reset(seed=2)], []
    reference.reset(seed=2)
    for actions in tape(n_rows, 14):
        copies.append([array.copy() for array in arrays_of(handed[-1])])
        handed.append(env.step(actions))
        reference.step(actions)
    for kept, copied in zip(handed, copies, strict=False):
        for array, other in zip(arrays_of(kept), copied, strict=True):
            assert np.array_equal(array, other)
    seen = list(arrays_of(tuple(handed[:4])))
    assert not any(np.shares_memory(a, b) for place, a in enumerate(seen) for b in seen[:place])
    for array in arrays_of(tuple(handed)):
        array[...] = 0
    del handed, seen, kept, array
    for actions in tape(n_rows, 6, seed=1):
        assert_same(env.step(actions), reference.step(actions))


def test_without_copies_observations_and_masks_come_back():
    env = NiuNiuVectorEnv(5, ARRANGE, copy=False)
    seen, infos = env.reset(seed=4)
    finals = set()
    for actions in tape(5, 6):
        step = env.step(actions)
        assert step[0] is seen
        assert np.shares_memory(step[4]["action_mask"], infos["action_mask"])
        assert np.shares_memory(step[4]["action_mask"], env.action_masks())
        finals.add(id(step[4]["final_obs"]))
    assert len(finals) == 1


def test_forced_deals_lead_back_to_the_general_way_until_they_are_gone():
    ours, general = pair(6, encoding="ids")
    mask = np.array([True, False] * 3)
    for options, is_uniform in (
        (None, True),
        ({"deals": [None, HANDS, None, HANDS, None, None]}, False),
        ({"reset_mask": mask}, False),
        ({"reset_mask": ~mask}, True),
        ({"reset_mask": mask, "deal": HANDS}, False),
        (None, True),
    ):
        assert_same(ours.reset(options=options, seed=9), general.reset(options=options, seed=9))
        assert ours._is_uniform == is_uniform
        for actions in tape(6, 4):
            assert_same(ours.step(actions), general.step(actions))


@pytest.mark.parametrize("copied", [deepcopy, lambda env: pickle.loads(pickle.dumps(env))])  # noqa: S301, our own
@pytest.mark.parametrize("keywords", [{}, {"copy": False}], ids=str)
def test_states_and_copies_have_the_same_future(keywords, copied):
    env = NiuNiuVectorEnv(40, ARRANGE, **keywords)
    env.reset(seed=31)
    for actions in tape(40, 3):
        env.step(actions)
    state = json.loads(json.dumps(env.get_state()))
    other = NiuNiuVectorEnv(40, ARRANGE, **keywords)
    assert_same(other.set_state(state)[0], copied(env).set_state(state)[0])
    twin = copied(env)
    assert other._is_uniform
    for actions in tape(40, 5, seed=1):
        step = deepcopy(env.step(actions))
        assert_same(other.step(actions), step)
        assert_same(twin.step(actions), step)


@pytest.mark.parametrize("actions", [[0, 10], [-1, 0], [2**63, 0], [0.0, 1.0], [0]], ids=str)
def test_wrong_actions_are_refused_before_anything_changes(actions):
    env = NiuNiuVectorEnv(2, ARRANGE)
    env.reset(seed=0)
    before = env.get_state()
    with pytest.raises(InvalidAction):
        env.step(np.array(actions))
    assert env.get_state() == before
    given = np.array([3, 4])
    env.step(given)
    assert given.tolist() == [3, 4]
