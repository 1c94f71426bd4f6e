"""The optimal bettor plays what the programme says, reads no info, and refuses what it cannot."""

import numpy as np
import pytest
from strategies import overlay

from niulab.agents.base import Agent
from niulab.agents.baselines import OracleAgent
from niulab.agents.betting.bettors import BetAndSetAgent
from niulab.agents.betting.solver import OptimalBettor, problem_of
from niulab.envs.seat.core import Core
from niulab.envs.settings import make_settings
from niulab.errors import ConfigError
from niulab.solvers.optimal.values import solve_betting

SESSION = "niulab/Session-v0"
OWN_RANK_LOSES = overlay("single-double-super", '[boxes.double]\nlose_rank = "player"\n')


def play(agent, settings, seed):
    """One episode through the single game; yields (state, action)."""
    core, state = Core(settings), None
    state, memory = core.start(seed), agent.initial_state(1)
    end = None
    while end is None:
        observations, masks = core.observe(state)[None], core.mask(state)[None]
        actions, memory = agent.act(observations, masks, {}, memory, np.random.default_rng(0))
        yield state, int(actions[0])
        assert masks[0, actions[0]]
        state, transition = core.step(state, int(actions[0]))
        end = transition.end


@pytest.mark.parametrize(
    "words",
    [
        {},
        {"objective": "log_wealth", "target_cents": None, "n_rounds": 10},
        {"objective": "time_at_table", "n_rounds": None},
        {"objective": "profit", "target_cents": None, "n_rounds": 3, "can_leave": True},
        {"n_rounds": 1},
        {"bankroll_cents": 1_000, "target_cents": 5_000, "n_rounds": None},
        {"rules": "even-double-super-bonus"},
    ],
    ids=str,
)
def test_it_plays_the_programme_without_any_info(words):
    settings = make_settings(SESSION, **words)
    agent = OptimalBettor(settings)
    assert isinstance(agent, Agent)
    assert agent.name == "optimal"
    solution = solve_betting(problem_of(settings))
    n_bets = 0
    for seed in range(8):
        for state, action in play(agent, settings, seed):
            expected = solution.best_index(state.bankroll_cents, state.rounds_left)
            assert action == (settings.leave_action if expected is None else expected)
            n_bets += 1
            if n_bets > 400:
                return


def test_many_rows_at_once_are_the_same_rows():
    settings = make_settings(SESSION)
    core, agent = Core(settings), OptimalBettor(settings)
    states = [state for seed in range(20) for state, _ in play(agent, settings, seed)]
    observations = np.array([core.observe(state) for state in states])
    masks = np.array([core.mask(state) for state in states])
    together, _ = agent.act(observations, masks, {}, None, np.random.default_rng(0))
    assert together.dtype == np.int64
    assert together.tolist() == [
        agent.betting.best_index(state.bankroll_cents, state.rounds_left) for state in states
    ]


def test_it_wins_as_often_as_the_programme_says():
    """Half of 3,000 sessions' standard error is .0088: four of them."""
    settings = make_settings(SESSION)
    agent, core = OptimalBettor(settings), Core(settings)
    states = [core.start(seed) for seed in range(1000)]
    n_won = 0
    while states:
        observations = np.array([core.observe(state) for state in states])
        masks = np.ones((len(states), settings.n_actions), dtype=bool)
        actions, _ = agent.act(observations, masks, {}, None, np.random.default_rng(0))
        stepped = [core.step(s, int(a)) for s, a in zip(states, actions, strict=True)]
        n_won += sum(moved.end == "target" for _, moved in stepped)
        states = [state for state, moved in stepped if moved.end is None]
    assert n_won / 1000 == pytest.approx(agent.betting.value, abs=4 * 0.0152)


def test_the_flagship_is_played_with_the_oracle():
    settings = make_settings("niulab/NiuNiu-v0")
    bettor = OptimalBettor(settings)
    assert bettor.betting.value == pytest.approx(0.364445464, abs=1e-9)
    agent = BetAndSetAgent(bettor, OracleAgent(settings), settings)
    for seed in range(3):
        for state, action in play(agent, settings, seed):
            if state.phase == 0:
                assert action == bettor.betting.best_index(state.bankroll_cents, state.rounds_left)


@pytest.mark.parametrize(
    ("preset", "words", "message"),
    [
        ("niulab/Arrange-v0", {}, "Session-v0"),
        ("niulab/Table-v0", {}, "Session-v0"),
        (SESSION, {"observation": "uint8"}, "observation='float32'"),
        (SESSION, {"rules": "six-deck-shoe-bonus"}, "without shuffling"),
        (SESSION, {"objective": "profit", "target_cents": None, "n_rounds": None}, "one of the"),
        ("niulab/NiuNiu-v0", {"objective": "time_at_table"}, "can be worth more"),
        ("niulab/NiuNiu-v0", {"rules": OWN_RANK_LOSES},
         "can be worth more"),
    ],
    ids=["arrange", "table", "bytes", "shoe", "endless", "time", "own-rank"],
)  # fmt: skip
def test_what_it_cannot_play_it_refuses(preset, words, message):
    with pytest.raises(ConfigError, match=message):
        OptimalBettor(make_settings(preset, **words))


def test_a_foreign_bankroll_is_refused():
    settings = make_settings(SESSION)
    agent = OptimalBettor(settings)
    observations = Core(settings).observe(Core(settings).start(0))[None].copy()
    observations[0, 1] = 0.50001
    with pytest.raises(ConfigError, match="comes to"):
        agent.act(observations, np.ones((1, 10), dtype=bool), {}, None, np.random.default_rng(0))
