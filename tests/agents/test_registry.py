"""Agents by name, and whatever else can decide."""

import numpy as np
import pytest

from niulab.agents.base import CallableAgent, PredictAgent
from niulab.agents.by_hand import TableAgent
from niulab.agents.registry import agent_names, as_agent, make_agent
from niulab.envs.encoding import BETTING, NO_CARD, Encoding, Sight
from niulab.envs.settings import make_settings
from niulab.errors import ConfigError

ARRANGE = make_settings("niulab/Arrange-v0")
TABLE = make_settings("niulab/Table-v0")
SESSION = make_settings("niulab/Session-v0")


def bet(agent, settings, masks=None):
    """The menu index an agent bets before the deal."""
    nothing = np.full((1, 5), NO_CARD, dtype=np.uint8)
    sight = Sight(
        nothing, nothing, np.array([BETTING]), np.array([-1]), np.array([2_000]), np.array([5])
    )
    seen = Encoding(settings).encode(sight)
    if masks is None:
        masks = np.ones((1, settings.n_actions), dtype=np.bool_)
    state = agent.initial_state(1)
    return int(agent.act(seen, masks, {}, state, np.random.default_rng(0))[0][0])


@pytest.mark.parametrize("settings", [ARRANGE, TABLE, SESSION], ids=["set", "both", "bet"])
def test_every_listed_name_makes_an_agent_of_that_name(settings):
    for name in agent_names(settings):
        assert make_agent(name, settings).name == name


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("gredy-pair", ARRANGE, "did you mean 'greedy-pair'"),
        ("orcale", TABLE, "did you mean 'oracle'"),
        ("leastslip", SESSION, "did you mean 'least-slip'"),
        ("oracle", SESSION, "no agent 'oracle' bets"),
        ("system:martingale@", SESSION, "names no base slip"),
        ("least-slip", ARRANGE, "'least-slip' bets, and this task only sets hands"),
        ("least-slip+orakle", TABLE, "did you mean 'oracle'"),
        ("flat:10", TABLE, "write flat:0 ... flat:9"),
        ("flat:single=110", SESSION, "the menu has no slip 'single=110'"),
    ],
)
def test_an_unknown_name_gets_the_nearest_known_one(name, settings, message):
    with pytest.raises(ConfigError, match=message):
        make_agent(name, settings)


def test_flat_bettors_bet_their_slip_or_the_least_one_when_it_is_masked():
    agent = make_agent("flat:3", SESSION)
    masks = np.ones((1, SESSION.n_actions), dtype=np.bool_)
    assert bet(agent, SESSION) == 3
    masks[0, 3] = False
    assert bet(agent, SESSION, masks) == 0
    assert bet(make_agent(f"flat:{SESSION.menu[4]}", SESSION), SESSION) == 4
    assert bet(make_agent("least-slip", SESSION), SESSION) == 0


def test_a_bettor_and_a_setter_share_a_task():
    encoding, hand = Encoding(TABLE), np.array([[0, 4, 9, 17, 51]], dtype=np.uint8)
    masks = np.ones((1, TABLE.n_actions), dtype=np.bool_)
    for name, slip, setter in [
        ("flat:2+greedy-pair", 2, "greedy-pair"),
        ("flat:5", 5, "oracle"),
        ("never-claim", 0, "never-claim"),
    ]:
        agent = make_agent(name, TABLE)
        assert bet(agent, TABLE) == slip
        seen = encoding.encode_hands(hand, slip=slip)
        rng = np.random.default_rng(0)
        actions, _ = agent.act(seen, masks, {}, agent.initial_state(1), rng)
        assert actions == make_agent(setter, ARRANGE).set_hands(hand)


def test_as_agent_takes_whatever_can_decide(tmp_path):
    np.save(tmp_path / "table.npy", np.zeros(2_598_960, dtype=np.uint8))

    class Model:
        def predict(self, observation):
            return np.zeros(len(observation), dtype=int), None

    oracle = make_agent("oracle", ARRANGE)
    assert as_agent(oracle, ARRANGE) is oracle
    assert as_agent("oracle", ARRANGE).name == "oracle"
    assert isinstance(as_agent(tmp_path / "table.npy", ARRANGE), TableAgent)
    assert isinstance(as_agent(f"table:{tmp_path / 'table.npy'}", ARRANGE), TableAgent)
    assert isinstance(as_agent(np.zeros(2_598_960, dtype=int), ARRANGE), TableAgent)
    assert isinstance(as_agent(Model(), ARRANGE), PredictAgent)
    assert isinstance(as_agent(lambda seen: seen, ARRANGE, name="f"), CallableAgent)


@pytest.mark.parametrize("policy", [3, None, object()])
def test_what_cannot_decide_is_refused(policy):
    with pytest.raises(ConfigError, match="is no policy: give an agent"):
        as_agent(policy, ARRANGE)


def test_a_table_of_settings_is_no_policy_for_a_task_that_bets():
    with pytest.raises(ConfigError, match="decisions='bet_and_set' asks for more"):
        as_agent(np.zeros(2_598_960, dtype=int), TABLE)
