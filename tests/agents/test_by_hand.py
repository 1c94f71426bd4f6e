"""Agents that look at cards answer for the positions shown, whatever the encoding and the order."""

import numpy as np
import pytest

from niulab.agents.base import Agent
from niulab.agents.by_hand import HandAgent, TableAgent, read_table
from niulab.agents.registry import SETTERS, make_agent
from niulab.engine.hands import SPLITS
from niulab.engine.ranking import all_hands
from niulab.envs.encoding import Encoding
from niulab.envs.settings import make_settings
from niulab.errors import ConfigError

N = 2_598_960
BY_CARDS = sorted(set(SETTERS) - {"random"})


@pytest.fixture(scope="module")
def hands():
    rng = np.random.default_rng(7)
    return all_hands()[np.sort(rng.choice(N, 400, replace=False))]


def fronts(shown, actions):
    """The two cards each action puts in front."""
    pairs = np.take_along_axis(shown, np.array(SPLITS)[actions], axis=1)
    return np.sort(pairs, axis=1)


def answer(agent, observations):
    masks = np.ones((len(observations), agent.settings.n_actions), dtype=np.bool_)
    actions, _ = agent.act(observations, masks, {}, None, np.random.default_rng(0))
    return actions


@pytest.mark.parametrize("name", BY_CARDS)
@pytest.mark.parametrize(
    "words", [{}, {"observation": "uint8"}, {"encoding": "ids"}, {"point_flags": True}]
)
def test_what_is_shown_does_not_change_what_is_set(name, words, hands):
    settings = make_settings("niulab/Arrange-v0", rules="ngau-ngau-hong-kong", **words)
    agent = make_agent(name, settings)
    shown = answer(agent, Encoding(settings).encode_hands(hands))
    assert (shown == agent.set_hands(hands)).all()


@pytest.mark.parametrize("name", BY_CARDS)
def test_cards_shown_as_dealt_are_set_as_if_they_were_sorted(name, hands):
    settings = make_settings("niulab/Arrange-v0", card_order="dealt")
    agent = make_agent(name, settings)
    dealt = np.random.default_rng(1).permuted(hands, axis=1)
    actions = answer(agent, Encoding(settings).encode_hands(dealt))
    assert (fronts(dealt, actions) == fronts(hands, agent.set_hands(hands))).all()


def test_a_hand_agent_bets_the_least_slip_and_sets_where_it_is_asked_to():
    settings = make_settings("niulab/Table-v0")
    encoding = Encoding(settings)
    hand = np.array([[0, 4, 9, 17, 51]], dtype=np.uint8)
    agent = make_agent("greedy-pair", make_settings("niulab/Arrange-v0"))
    both = HandAgentOf(settings, agent.set_hands(hand)[0])
    bet = np.zeros_like(encoding.encode_hands(hand))
    bet[0, next(field.start for field in encoding.layout if field.name == "phase")] = 1
    seen = np.concatenate([bet, encoding.encode_hands(hand, slip=4)])
    assert answer(both, seen).tolist() == [0, agent.set_hands(hand)[0]]


class HandAgentOf(HandAgent):
    def __init__(self, settings, action):
        super().__init__(settings, "constant")
        self._action = action

    def set_hands(self, hands):
        return np.full(len(hands), self._action)


def test_a_table_is_looked_up_by_the_hands_row(hands):
    settings = make_settings("niulab/Arrange-v0")
    table = np.arange(N) % 10
    agent = TableAgent(table, settings)
    assert isinstance(agent, Agent)
    rows = np.flatnonzero((all_hands()[:, None] == hands[:3]).all(axis=2).any(axis=1))
    assert agent.set_hands(all_hands()[rows]).tolist() == (rows % 10).tolist()
    assert (agent.set_hands(all_hands()) == table).all()


@pytest.mark.parametrize(
    ("table", "what"),
    [
        (np.zeros(N - 1, dtype=np.uint8), r"shape \(2598959,\).*each of the 2,598,960 hands"),
        (np.zeros((N, 1), dtype=np.uint8), r"shape \(2598960, 1\)"),
        (np.zeros(N), "holds float64: give whole numbers from 0 to 9"),
        (np.where(np.arange(N) == 5, 10, 0), "holds action 10 in row 5: actions run from 0 to 9"),
        (np.where(np.arange(N) == 6, -1, 0), "holds action -1 in row 6"),
    ],
)
def test_a_bad_table_is_one_clear_error(table, what):
    with pytest.raises(ConfigError, match=what):
        TableAgent(table, make_settings("niulab/Arrange-v0"))


def test_a_table_is_read_without_unpickling(tmp_path):
    settings = make_settings("niulab/Arrange-v0")
    np.save(tmp_path / "good.npy", np.full(N, 3, dtype=np.uint8))
    assert read_table(tmp_path / "good.npy", settings).actions.max() == 3

    np.save(tmp_path / "pickled.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    (tmp_path / "text.npy").write_text("no array\n")
    (tmp_path / "empty.npy").write_bytes(b"")
    np.savez(tmp_path / "many.npz", a=np.zeros(N, dtype=np.uint8))
    for name in ("many.npz", "pickled.npy", "text.npy", "empty.npy", "absent.npy"):
        with pytest.raises(ConfigError, match=f"cannot read the table of actions .*{name}"):
            read_table(tmp_path / name, settings)
