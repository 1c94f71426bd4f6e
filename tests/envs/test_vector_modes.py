"""The three autoreset modes of the batch against hand-written references, array by array."""

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode
from rows import ROWS, assert_same, moves, row_of
from strategies import overlay

from niulab.envs.registration import ENV_IDS
from niulab.envs.vector import NiuNiuVectorEnv
from niulab.errors import ConfigError

CAPPED = overlay(
    "single-double-super",
    '[boxes.double.cover]\nshortfall = "cap_loss"\n[boxes.super.cover]\nshortfall = "cap_loss"\n',
)
SMALL = overlay(
    "single-double-super",
    "[boxes.single]\nmaximum_cents = 300\n[boxes.double]\nmaximum_cents = 300\n",
)
SHORT = {
    "rules": CAPPED,
    "menu": ["single=100", "single=100,super=100", "single=100,double=200,super=300/700"],
    "bankroll_cents": 1_100,
    "target_cents": 9_000,
}
TASKS = {
    "flagship": ("NiuNiu", {}),
    "cards as dealt, open dealer, bytes": (
        "NiuNiu",
        {"rules": "even-double-super-bonus", "card_order": "dealt", "observation": "uint8"},
    ),
    "short cover, leaving, mask observed": (
        "NiuNiu",
        {**SHORT, "can_leave": True, "n_rounds": 9, "mask": "observation"},
    ),
    "short cover, expected": ("NiuNiu", {**SHORT, "objective": "profit", "reward": "expected"}),
    "log wealth, no deadline": (
        "Session",
        {"objective": "log_wealth", "n_rounds": None, "can_leave": True},
    ),
    "time at table, penetration": (
        "Session",
        {"objective": "time_at_table", "target_cents": None, "rules": "six-deck-shoe-bonus"},
    ),
    "session, expected and scaled": (
        "Session",
        {"objective": "profit", "reward": "expected", "reward_scale": 0.3},
    ),
    "own menu": (
        "Session",
        {"rules": SMALL, "menu": [{"single": 100}, {"single": 300, "double": 200}]},
    ),
    "table, expected, as dealt": ("Table", {"reward": "expected", "card_order": "dealt"}),
    "table, six decks, ids": ("Table", {"rules": "six-deck-shoe-bonus", "encoding": "ids"}),
    "arrange, three boxes, ids": (
        "Arrange",
        {"encoding": "ids", "slip": "single=100,double=60,super=40"},
    ),
    "arrange, specials, as dealt, points": (
        "Arrange",
        {"rules": "ngau-ngau-hong-kong", "card_order": "dealt", "point_flags": True},
    ),
    "arrange, three rounds with chips": (
        "Arrange",
        {"n_rounds": 3, "bankroll_cents": 900, "slip": "single=100,super=20"},
    ),
    "arrange, open dealer, bonus": (
        "Arrange",
        {"rules": "even-double-super-bonus", "slip": "even=100,bonus=20"},
    ),
    "arrange, automatic, expected": (
        "Arrange",
        {"rules": "equal-double-cambodia", "reward": "expected", "reward_scale": 0.3},
    ),
}


def tape(env, n_steps, seed=0):
    """Actions of which about a third are masked ones."""
    rng = np.random.default_rng(seed)
    n, n_actions = env.num_envs, env.unwrapped.settings.n_actions
    for step in range(n_steps):
        actions = rng.integers(0, n_actions, n)
        if step % 3:
            scores = np.where(env.action_masks(), rng.random((n, n_actions)), -1.0)
            actions = scores.argmax(axis=1)
        yield moves(env.single_action_space, actions)


def observation_of(observations, row):
    if isinstance(observations, dict):
        return {key: value[row] for key, value in observations.items()}
    return observations[row]


def replay(mode, name, task, *, n_rows=4, n_steps=36, limit=None):
    """Compare the batch with its reference rows; returns how many episodes ended."""
    task = {"preset": f"niulab/{name}-v0", **task}
    env = NiuNiuVectorEnv(n_rows, autoreset_mode=mode, max_episode_steps=limit, **task)
    rows = [ROWS[mode](70 + row, limit=limit, **task) for row in range(n_rows)]
    seen, infos = env.reset(seed=70)
    for row, reference in enumerate(rows):
        assert_same(observation_of(seen, row), reference.first[0])
        assert_same(row_of(infos, row), reference.first[1])
    n_ended = 0
    for actions in tape(env, n_steps):
        seen, rewards, terminated, truncated, infos = env.step(actions)
        final_obs, final_info = infos.pop("final_obs", None), infos.pop("final_info", None)
        has_final = infos.pop("_final_obs", np.zeros(n_rows, dtype=np.bool_))
        assert (has_final == infos.pop("_final_info", has_final)).all()
        for row, reference in enumerate(rows):
            *others, info, final = reference.step(int(actions[row]))
            assert_same(observation_of(seen, row), others[0])
            assert (rewards[row], terminated[row], truncated[row]) == tuple(others[1:])
            assert_same(row_of(infos, row), info)
            assert has_final[row] == (final is not None)
            if final is not None:
                assert_same(observation_of(final_obs, row), final[0])
                assert_same(row_of(final_info, row), final[1])
        ended = terminated | truncated
        n_ended += int(ended.sum())
        if mode == "Disabled" and ended.any():
            seen, infos = env.reset(options={"reset_mask": ended})
            for row in np.flatnonzero(ended):
                first, info = rows[row].reset()
                assert_same(observation_of(seen, row), first)
                assert_same(row_of(infos, row), info)
    return n_ended


@pytest.mark.parametrize("mode", ROWS)
@pytest.mark.parametrize("label", TASKS)
def test_every_row_is_a_single_environment_under_the_modes_rule(label, mode):
    name, task = TASKS[label]
    assert replay(mode, name, task) > 0


@pytest.mark.parametrize("mode", ROWS)
@pytest.mark.parametrize(("name", "limit"), [("NiuNiu", 3), ("Session", 4), ("Arrange", 1)])
def test_a_step_limit_truncates_in_every_mode(name, limit, mode):
    assert replay(mode, name, {}, limit=limit) > 0


# ---------------------------------------------------------------- what each mode promises


def test_the_mode_is_an_enum_in_each_instances_metadata():
    for mode in AutoresetMode:
        for given in (mode, mode.value):
            assert NiuNiuVectorEnv(1, autoreset_mode=given).metadata["autoreset_mode"] is mode
    assert NiuNiuVectorEnv(1).metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert NiuNiuVectorEnv.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    with pytest.raises(ConfigError, match="NextStep, SameStep, Disabled, got 'SameSte'"):
        NiuNiuVectorEnv(1, autoreset_mode="SameSte")


def test_wrappers_that_assume_another_mode_are_refused():
    """Gymnasium's check reads the metadata."""
    wrap = gymnasium.wrappers.vector.RescaleObservation
    with pytest.raises((ValueError, AssertionError)):  # the latter up to Gymnasium 1.2
        wrap(NiuNiuVectorEnv(2), min_obs=np.float32(0), max_obs=np.float32(1))
    wrap(
        NiuNiuVectorEnv(2, autoreset_mode="NextStep"), min_obs=np.float32(0), max_obs=np.float32(1)
    )


def test_final_entries_exist_exactly_where_an_episode_ended():
    env = NiuNiuVectorEnv(64, "niulab/Session-v0")
    env.reset(seed=5)
    kinds = set()
    for actions in tape(env, 20):
        _, _, terminated, truncated, infos = env.step(actions)
        ended = terminated | truncated
        kinds.add("all" if ended.all() else "some" if ended.any() else "none")
        if not ended.any():
            assert not {"final_obs", "_final_obs", "final_info", "_final_info"} & set(infos)
            continue
        assert (infos["_final_obs"] == ended).all()
        assert (infos["_final_info"] == ended).all()
        final = infos["final_info"]
        assert (final["_end"] == ended).all()
        assert all(end is None for end in final["end"][~ended])
        assert not final["action_mask"][~ended].any()
        assert final["action_mask"][ended].all()
        assert not final["settlement"]["dealer_cards"][~ended].any()
        assert not infos.get("_settlement", np.zeros(64, dtype=np.bool_))[ended].any()
    assert kinds == {"none", "some"}


def test_in_next_step_mode_a_reset_takes_a_step_that_looks_at_no_action():
    env = NiuNiuVectorEnv(3, "niulab/Arrange-v0", autoreset_mode="NextStep", encoding="ids")
    first, _ = env.reset(seed=0)
    last, _, terminated, _, infos = env.step(np.zeros(3, dtype=np.int64))
    assert terminated.all()
    assert (last == first).all()
    assert infos["_settlement"].all()
    begun, rewards, terminated, truncated, infos = env.step(np.array([99, -4, 3]))
    assert (begun != first).any(axis=1).all()
    assert not rewards.any()
    assert not (terminated | truncated).any()
    assert "settlement" not in infos
    assert "end" not in infos


def test_in_disabled_mode_rows_that_ended_wait_and_say_so():
    env = NiuNiuVectorEnv(2, "niulab/Arrange-v0", autoreset_mode="Disabled")
    env.reset(seed=0)
    env.step(np.zeros(2, dtype=np.int64))
    with pytest.raises(ResetNeeded, match=r"rows \[0, 1\] have ended.*reset_mask"):
        env.step(np.zeros(2, dtype=np.int64))
    env.reset(options={"reset_mask": np.array([True, False])})
    with pytest.raises(ResetNeeded, match=r"rows \[1\] have ended"):
        env.step(np.zeros(2, dtype=np.int64))


@pytest.mark.parametrize("mode", ROWS)
def test_a_reset_mask_leaves_the_other_rows_bit_identical(mode):
    env = NiuNiuVectorEnv(5, "niulab/NiuNiu-v0", autoreset_mode=mode)
    env.reset(seed=3)
    for actions in tape(env, 3):
        before, *_ = env.step(actions)
    state = env.get_state()["rows"]
    rows = np.array([False, True, False, False, True])
    options = {"reset_mask": rows}
    after, infos = env.reset(options=options)
    assert list(options) == ["reset_mask"]
    assert (after[~rows] == before[~rows]).all()
    assert (after[rows] != before[rows]).any()
    assert (infos["_action_mask"] == rows).all()
    for name, values in env.get_state()["rows"].items():
        for row in np.flatnonzero(~rows):
            assert values[row] == state[name][row], name


@pytest.mark.parametrize("mode", ROWS)
def test_after_a_reset_every_counter_is_zero(mode):
    env = NiuNiuVectorEnv(3, autoreset_mode=mode, max_episode_steps=3)
    env.reset(seed=8)
    for actions in tape(env, 2):
        env.step(actions)
    env.reset()
    state = env.get_state()
    assert state["rows"]["n_steps"] == [0, 0, 0]
    assert state["rows"]["last_nets"] == [0, 0, 0]
    assert state["rows"]["rounds_left"] == [6, 6, 6]
    assert state["rows"]["bankrolls"] == [2_000] * 3
    assert state["is_done"] == [False] * 3
    flags = [env.step(np.zeros(3, dtype=np.int64))[3].tolist() for _ in range(3)]
    assert flags == [[False] * 3, [False] * 3, [True] * 3]


# ---------------------------------------------------------------- Gymnasium's own forms


@pytest.mark.parametrize("mode", [mode.value for mode in AutoresetMode])
@pytest.mark.parametrize("env_id", ENV_IDS)
def test_sync_gives_the_same_infos_too(env_id, mode):
    """Only final observations differ: Gymnasium keeps an array of arrays, ours is plain."""
    limit = {"max_episode_steps": 5}
    ours = gymnasium.make_vec(env_id, num_envs=3, autoreset_mode=mode, **limit)
    limit |= {"vectorization_mode": "sync", "vector_kwargs": {"autoreset_mode": mode}}
    theirs = gymnasium.make_vec(env_id, num_envs=3, **limit)
    for one, other in zip(ours.reset(seed=1), theirs.reset(seed=1), strict=True):
        assert_same(one, other)
    for actions in tape(ours, 14):
        step, reference = ours.step(actions), theirs.step(actions)
        finals = reference[4].pop("final_obs", None)
        mine = step[4].pop("final_obs", None)
        for row in np.flatnonzero(step[4].get("_final_obs", ())):
            assert_same(mine[row], finals[row])
        for one, other in zip(step, reference, strict=True):
            assert_same(one, other)
        if mode == "Disabled" and (ended := step[2] | step[3]).any():
            resets = (env.reset(options={"reset_mask": ended}) for env in (ours, theirs))
            for one, other in zip(*resets, strict=True):
                assert_same(one, other)


def test_async_gives_the_same_transitions():
    runs = []
    for way in ("vector_entry_point", "async"):
        words = {"autoreset_mode": "SameStep"}
        if way == "async":
            words = {"vector_kwargs": words | {"context": "spawn"}}
        env = gymnasium.make_vec(
            "niulab/NiuNiu-v0", num_envs=2, vectorization_mode=way, max_episode_steps=3, **words
        )
        actions = np.array([[3, 2], [0, 9], [1, 1], [4, 4], [2, 0], [8, 8]])
        steps = [env.reset(seed=5)[0], *(array for a in actions for array in env.step(a)[:4])]
        runs.append(steps)
        env.close()
    for ours, theirs in zip(*runs, strict=True):
        assert np.array_equal(ours, theirs)


@pytest.mark.parametrize("gamma", [1.0, 0.9])
@pytest.mark.parametrize("mode", ["SameStep", "NextStep"])
def test_an_episodes_statistics_do_not_depend_on_earlier_ones(mode, gamma):
    """Gymnasium's statistics of row 0, discounted by hand, against a run that skips the first."""

    def episodes(n_skipped):
        env = NiuNiuVectorEnv(1, "niulab/Session-v0", objective="profit", autoreset_mode=mode)
        env = gymnasium.wrappers.vector.RecordEpisodeStatistics(env)
        env.reset(seed=21)
        for _ in range(n_skipped):
            env.reset()
        found, rewards = [], []
        while len(found) < 4 - n_skipped:
            _, reward, terminated, _, infos = env.step(np.array([1]))
            rewards.append(float(reward[0]))
            if terminated[0]:
                total = sum(gamma**k * value for k, value in enumerate(rewards))
                found.append((infos["episode"]["r"][0], infos["episode"]["l"][0], total))
                rewards = []
                if mode == "NextStep":
                    env.step(np.array([0]))
        return found

    assert [round(r, 9) for r, _, _ in episodes(0)] != [0.0] * 4
    single = NiuNiuVectorEnv(1, "niulab/Session-v0", objective="profit", autoreset_mode="Disabled")
    for place, (total, length, discounted) in enumerate(episodes(0)):
        single.reset(seed=21)
        for _ in range(6 * place):
            single.reset()  # every episode of flat bets lasts its six rounds
        rewards = [float(single.step(np.array([1]))[1][0]) for _ in range(6)]
        assert (total, length) == (pytest.approx(sum(rewards)), 6)
        assert discounted == pytest.approx(sum(gamma**k * r for k, r in enumerate(rewards)))
