"""Seeds: what fixes a run, what continues it, and the golden traces that pin it."""

import json
import pickle
from copy import deepcopy
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
from rows import moves

from niulab.engine.shoe import deal_round
from niulab.envs.registration import ENV_IDS
from niulab.envs.single import NiuNiuEnv
from niulab.envs.vector import NiuNiuVectorEnv
from niulab.seeding import ALGORITHM_VERSION

GOLDEN = json.loads((Path(__file__).parents[1] / "golden" / "env_traces.json").read_text())


def trace(env, n_steps, seed=None):
    """Lines of a run under the tape 0, 1, 2 ... 9, 0 ...: phase, cards, reward, bankroll, end."""
    lines = []
    env.reset(seed=seed)
    for step in range(n_steps):
        _, reward, terminated, _, info = env.step(moves(env.action_space, step % 10))
        bankroll, end = info["bankroll_cents"], info.get("end", "-")
        dealer = info["settlement"]["dealer_cards"].tolist() if "settlement" in info else []
        hand = [*env.get_state()["state"]["hand"]]
        lines.append(f"{hand} {dealer} {reward:.6f} {bankroll} {end}")
        if terminated:
            env.reset()
    return lines


@pytest.mark.parametrize("seed", ["0", "1", "20240229"])
@pytest.mark.parametrize("env_id", ENV_IDS)
def test_golden_traces(env_id, seed):
    """Another trace needs another version of the id and a line in CHANGELOG.md."""
    golden = GOLDEN["traces"][env_id][seed]
    lines = trace(NiuNiuEnv(env_id), 500, seed=int(seed))
    assert lines[: len(golden["first"])] == golden["first"]
    assert sha256("\n".join(lines).encode()).hexdigest() == golden["sha256"]
    assert GOLDEN["algorithm_version"] == ALGORITHM_VERSION


@pytest.mark.parametrize("seed", [0, 1, 20240229])
def test_the_first_thousand_deals_of_a_seed_are_the_shoes_rounds_in_order(seed):
    env = NiuNiuVectorEnv(1, "niulab/Arrange-v0", encoding="ids")
    seen, _ = env.reset(seed=seed)
    for index in range(1_000):
        hand, dealer = deal_round(env.settings.rules, seed, index, 2)
        assert seen[0].tolist() == sorted(hand)
        seen, _, _, _, infos = env.step(np.zeros(1, dtype=np.int64))
        assert infos["final_info"]["settlement"]["dealer_cards"][0].tolist() == sorted(dealer)


def test_one_seeded_reset_is_enough_and_later_resets_never_repeat_a_round():
    env = NiuNiuEnv("niulab/Session-v0")
    first = trace(env, 300, seed=7)
    assert trace(env, 300) != first
    assert trace(env, 300, seed=7) == first
    rounds = []
    env.reset(seed=7)
    for _ in range(40):
        rounds.append(env.get_state()["state"]["round_index"])
        env.reset()  # in the middle of an episode as well
    assert rounds == list(range(40))


def test_without_a_seed_the_stream_is_entropy():
    runs = {tuple(trace(NiuNiuEnv("niulab/Arrange-v0"), 5)) for _ in range(3)}
    assert len(runs) == 3


def test_a_bet_phase_holds_no_card():
    env = NiuNiuEnv("niulab/NiuNiu-v0")
    env.reset(seed=1)
    saved = json.dumps(env.get_state()["state"])
    assert '"hand": [52, 52, 52, 52, 52], "dealer": [52, 52, 52, 52, 52]' in saved


def test_actions_do_not_change_later_cards():
    cards = []
    for action in (0, 9):
        env = NiuNiuEnv("niulab/Arrange-v0", encoding="ids")
        seen, _ = env.reset(seed=3)
        run = [seen.tolist()]
        for _ in range(20):
            env.step(action)
            run.append(env.reset()[0].tolist())
        cards.append(run)
    assert cards[0] == cards[1]


def pickled(env):
    return pickle.loads(pickle.dumps(env))  # noqa: S301, our own bytes


@pytest.mark.parametrize("copy", [deepcopy, pickled])
@pytest.mark.parametrize("env_id", ENV_IDS)
def test_copies_keep_the_stream(env_id, copy):
    env = NiuNiuEnv(env_id)
    trace(env, 31, seed=5)
    env.reset()
    twin = copy(env)
    assert trace(env, 60) == trace(twin, 60)


def run_elsewhere(env, connection):
    connection.send(trace(env, 40))


def test_environments_cross_into_spawned_processes():
    env = NiuNiuEnv("niulab/NiuNiu-v0")
    env.reset(seed=13)
    ours, theirs = get_context("spawn").Pipe()
    process = get_context("spawn").Process(target=run_elsewhere, args=(env, theirs))
    process.start()
    there = ours.recv()
    process.join()
    assert there == trace(env, 40)
    assert process.exitcode == 0


def test_gymnasiums_generator_is_seeded_too():
    env = NiuNiuEnv("niulab/Arrange-v0")
    env.reset(seed=3)
    drawn = env.np_random.random()
    env.reset(seed=3)
    assert env.np_random.random() == drawn
    assert env.np_random_seed == 3
