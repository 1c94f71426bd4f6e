"""The optimal peeker: the best slip for each signal, and the tasks it is offered for."""

import numpy as np
import pytest

from niulab.agents.betting.peeker import OptimalPeeker
from niulab.agents.registry import agent_names, make_agent
from niulab.envs.settings import make_settings
from niulab.envs.vector import NiuNiuVectorEnv
from niulab.errors import ConfigError

PEEK = "niulab/Peek-v0"


def test_it_bets_on_tens_and_pictures_only():
    settings = make_settings(PEEK)
    agent = make_agent("optimal", settings)
    env = NiuNiuVectorEnv(400, settings)
    observations, infos = env.reset(seed=0)
    rng = np.random.default_rng(0)
    actions, _ = agent.act(observations, env.action_masks(), infos, agent.initial_state(400), rng)
    signals = env.encoding.decode_signal(observations)
    best = np.array([0] * 9 + [9, 8, 8, 8, 0])
    assert set(signals) == set(range(13))
    assert (actions == best[signals]).all()
    assert "optimal" in agent_names(settings)


@pytest.mark.parametrize(
    ("preset", "words", "part"),
    [
        ("niulab/Session-v0", {}, "channel=None"),
        ("niulab/Session-v0", {"channel": {}}, "objective='target'"),
        (PEEK, {"can_leave": True}, "can_leave=True"),
        (PEEK, {"bankroll_cents": 900}, "bankroll_cents=900"),
    ],
)
def test_it_is_offered_for_rounds_of_profit_after_a_look(preset, words, part):
    settings = make_settings(preset, **words)
    with pytest.raises(ConfigError, match=part):
        OptimalPeeker(settings)
    if "channel" in words:
        assert "optimal" not in agent_names(settings)
