"""Agents that an ideal detector watches: told before every rollout, resumed alike, and learning."""

import numpy as np
import pytest

from niulab.agents.models.sb3 import agent_of, load_agent
from niulab.agents.models.shipped import read_shipped
from niulab.envs.watch import watched_bets
from niulab.errors import ConfigError, OutOfBudgetError
from niulab.evaluation.edges.stealth import policy_of
from niulab.solvers.limits.detector import ideal_log_factors
from niulab.training import callbacks, read_train, train

OWN = {"menu": ["single=100", "single=100,super=100"], "detector": {"mu": 0.05}}


def small(**changes):
    """The shipped run cut short, on an own card, whose rewards may be expected ones."""
    shipped = read_train("ppo_stealth_05")
    rate = {"learning_rate": {"start": 0.3, "end": 0.02}}
    words = {
        "env": OWN | {"reward": "expected"},
        "total_steps": 80 * 8_192,
        "algorithm": shipped.algorithm.model_dump() | rate,
        "evaluation": {},
    }
    return shipped.replaced(**words | changes)


def test_the_detector_knows_the_policy_of_every_rollout(tmp_path, monkeypatch):
    told = []
    plain = callbacks.RunCallback._teach_detector

    def noting(self):
        plain(self)
        table = self._env.env._table
        agent = agent_of(self.model.policy, self.config.settings)
        policy = policy_of(agent, self.config.settings)
        logs = ideal_log_factors(watched_bets(self.config.settings), policy)
        told.append(np.abs(table.watch.prices - 0.05 * logs).max())

    monkeypatch.setattr(callbacks.RunCallback, "_teach_detector", noting)
    train(small(total_steps=5 * 8_192), tmp_path, progress=False)
    assert len(told) == 5
    assert max(told) == 0


def test_ppo_moves_most_of_the_way_to_the_frontier(tmp_path):
    result = train(small(), tmp_path, progress=False)
    score = result.score
    assert score.is_exact
    assert score.source == "probabilities"
    assert 0.8 < score.normalized < 1  # 0 is blind play
    rates = policy_of(load_agent(result.model, small().settings), small().settings)[:-1, 1]
    assert rates[10:].min() > 0.5  # jack, queen, king
    assert rates[:8].max() < 0.1  # ace to eight


def test_a_resumed_run_is_watched_alike(tmp_path):
    config = small(checkpoint={"every": 8_192}, total_steps=4 * 8_192)
    whole = train(config, tmp_path / "whole", progress=False)
    with pytest.raises(OutOfBudgetError):  # at the first boundary, its checkpoint written
        train(config, tmp_path / "cut", progress=False, max_cpu_seconds=0.0)
    again = train(config, tmp_path / "cut", resume=True, progress=False)
    assert again.score.to_dict() == whole.score.to_dict()


def test_shipped_agents_hide_more_the_dearer_the_nats():
    scores = [read_shipped(f"ppo_stealth_{mu}").scores for mu in ("02", "05", "08", "12")]
    nats = [score["information"] for score in scores]
    assert nats == sorted(nats, reverse=True)
    for score, mu in zip(scores, (0.02, 0.05, 0.08, 0.12), strict=True):
        assert score["mu"] == mu
        assert 0 < score["frontier_gap"] < 0.0005  # base units a round


@pytest.mark.parametrize("name", ["dqn", "qrdqn"])
def test_off_policy_rounds_have_no_ideal_detector(name):
    shipped = read_train("ppo_stealth_05")
    with pytest.raises(ConfigError, match=f"write algorithm.name = 'ppo', not '{name}'"):
        shipped.replaced(algorithm={"name": name})
