"""Other packages' environments, run by an environment of their own: ``python peers.py envpool``.

Prints one JSON object per case. Only public interfaces are driven, with random legal actions drawn
beforehand where the interface allows it. A step is one decision of a player; a round, one episode.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np

Work = Callable[[], tuple[int, int]]
"""Plays for a while; how many steps and rounds that was."""

SECONDS, REPEATS = 0.5, 5


def report(package: str, name: str, batch: int, work: Work) -> None:
    """Median steps and rounds per processor second."""
    work()
    steps, rounds = [], []
    for _ in range(REPEATS):
        n_steps, n_rounds, start = 0, 0, time.process_time()
        while (taken := time.process_time() - start) < SECONDS:
            more = work()
            n_steps, n_rounds = n_steps + more[0], n_rounds + more[1]
        steps.append(n_steps / taken)
        rounds.append(n_rounds / taken)
    found = {
        "name": f"{package} {version(package)}: {name}",
        "batch": batch,
        "steps": statistics.median(steps),
        "rounds": statistics.median(rounds),
        "least": min(rounds),
        "most": max(rounds),
    }
    print(json.dumps(found), flush=True)


def _generator() -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(0))


def _drawn(n_actions: int, *shape: int) -> np.ndarray:
    return _generator().integers(0, n_actions, shape)


def _chooser() -> Callable[[Any], Any]:
    """A uniform choice from a sequence."""
    draws = itertools.cycle(_generator().random(1 << 14).tolist())
    return lambda choices: choices[int(next(draws) * len(choices))]


# ---------------------------------------------------------------- one function per package


def gymnasium() -> None:
    import gymnasium as gym

    def single(env: Any, name: str) -> None:
        env.reset(seed=1)
        actions = _drawn(2, 2000).tolist()

        def work() -> tuple[int, int]:
            n_rounds = 0
            for action in actions:
                _, _, terminated, truncated, _ = env.step(action)
                if terminated or truncated:
                    env.reset()
                    n_rounds += 1
            return len(actions), n_rounds

        report("gymnasium", name, 1, work)

    single(gym.make("Blackjack-v1"), "Blackjack-v1")
    single(gym.make("Blackjack-v1").unwrapped, "Blackjack-v1, unwrapped")
    rows = 256
    batch = gym.make_vec("Blackjack-v1", num_envs=rows, vectorization_mode="sync")
    batch.reset(seed=1)
    report("gymnasium", "Blackjack-v1, SyncVectorEnv", rows, _batch_work(batch, rows, 4))


def _batch_work(env: Any, rows: int, n_steps: int) -> Work:
    actions = _drawn(2, n_steps, rows).astype(np.int32)

    def work() -> tuple[int, int]:
        n_rounds = 0
        for row in actions:
            _, _, terminated, truncated, _ = env.step(row)
            n_rounds += int(np.count_nonzero(terminated | truncated))
        return n_steps * rows, n_rounds

    return work


def envpool() -> None:
    import envpool as pool

    for rows in (256, 4096):
        env = pool.make_gymnasium("Blackjack-v1", num_envs=rows, num_threads=1, seed=1)
        env.reset()
        report("envpool", "Blackjack-v1", rows, _batch_work(env, rows, 16))


def open_spiel() -> None:
    import pyspiel

    game, choose = pyspiel.load_game("blackjack"), _chooser()
    bot = [pyspiel.make_uniform_random_bot(0, 7)]
    seeds = itertools.count(1)

    def in_python() -> tuple[int, int]:
        n_steps = 0
        for _ in range(100):
            state = game.new_initial_state()
            while not state.is_terminal():
                if state.is_chance_node():
                    state.apply_action(choose(state.chance_outcomes())[0])
                else:
                    state.apply_action(choose(state.legal_actions()))
                    n_steps += 1
        return n_steps, 100

    steps_per_round = sum(in_python()[0] for _ in range(20)) / 2000

    def in_cpp() -> tuple[int, int]:
        for _ in range(200):
            pyspiel.evaluate_bots(game.new_initial_state(), bot, next(seeds))
        return round(200 * steps_per_round), 200

    report("open_spiel", "blackjack, loop in Python", 1, in_python)
    report("open_spiel", "blackjack, loop and bots in C++", 1, in_cpp)


def pgx() -> None:
    import jax
    import pgx as games
    from pgx.experimental import act_randomly, auto_reset

    rows, n_steps = 4096, 64
    env = games.make("kuhn_poker")
    step = jax.vmap(auto_reset(env.step, env.init))

    def one(state: Any, key: Any) -> tuple[Any, Any]:
        key_of_action, key_of_step = jax.random.split(key)
        action = act_randomly(key_of_action, state.legal_action_mask)
        state = step(state, action, jax.random.split(key_of_step, rows))
        return state, state.terminated.sum()

    one_step = jax.jit(one)
    many_steps = jax.jit(
        lambda state, key: jax.lax.scan(one, state, jax.random.split(key, n_steps))
    )
    held = {
        "state": jax.jit(jax.vmap(env.init))(jax.random.split(jax.random.key(0), rows)),
        "key": jax.random.key(1),
    }

    def play(steps: Callable[..., Any], n: int) -> tuple[int, int]:
        held["key"], key = jax.random.split(held["key"])
        held["state"], ended = steps(held["state"], key)
        return n * rows, int(ended.sum())

    report("pgx", "kuhn_poker, a compiled step per call", rows, lambda: play(one_step, 1))
    scan = "kuhn_poker, 64 steps compiled as one"
    report("pgx", scan, rows, lambda: play(many_steps, n_steps))


def rlcard() -> None:
    import rlcard as cards

    env, choose = cards.make("blackjack", config={"seed": 1}), _chooser()

    def work() -> tuple[int, int]:
        n_steps = 0
        for _ in range(100):
            state, _ = env.reset()
            while not env.is_over():
                state, _ = env.step(choose(list(state["legal_actions"])))
                n_steps += 1
            env.get_payoffs()
        return n_steps, 100

    report("rlcard", "blackjack", 1, work)


def pettingzoo() -> None:
    from pettingzoo.classic import leduc_holdem_v4

    env, choose = leduc_holdem_v4.env(), _chooser()

    def work() -> tuple[int, int]:
        n_steps = 0
        for _ in range(50):
            env.reset()
            for _agent in env.agent_iter():
                observation, _, terminated, truncated, _ = env.last()
                if terminated or truncated:
                    env.step(None)
                    continue
                env.step(int(choose(np.flatnonzero(observation["action_mask"]))))
                n_steps += 1
        return n_steps, 50

    env.reset(seed=1)
    report("pettingzoo", "leduc_holdem_v4", 1, work)


PEERS = {peer.__name__: peer for peer in (gymnasium, envpool, open_spiel, pgx, rlcard, pettingzoo)}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    with contextlib.suppress(KeyboardInterrupt):
        PEERS[sys.argv[1]]()
