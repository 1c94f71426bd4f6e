"""The example scripts: what they print is earned, and one seed gives one result."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from niulab.engine.ranking import ranker
from niulab.engine.rules import load_rules
from niulab.engine.shoe import deal_rounds

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def load(name, monkeypatch):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)  # where dataclasses look
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def ppo(monkeypatch):
    n_threads = torch.get_num_threads()
    yield load("ppo_arrange", monkeypatch)
    torch.set_num_threads(n_threads)


def share_of_niu_found(agent):
    """Of 10,000 hands that hold a niu, how many the agent sets with one."""
    rules = load_rules("single-double-super")
    seeds = np.full(20_000, 99, dtype=np.uint64)
    hands = np.sort(deal_rounds(rules, seeds, np.arange(20_000), 1)[:, 0], axis=1)
    ranks = ranker(rules).split_ranks(hands)
    has_niu = ranks.max(axis=1) > 0
    chosen = ranks[np.arange(len(hands)), agent.best(hands)]
    return (chosen[has_niu] > 0).mean()


def test_ppo_learns_to_set_hands(ppo):
    words = ["--total-steps", "65536", "--batch-size", "2048", "--seed", "1"]
    untrained = share_of_niu_found(ppo.Agent("cards"))
    assert untrained < 0.4
    assert share_of_niu_found(ppo.train(ppo.read_args(words))) > 0.95


@pytest.mark.parametrize("network", ["cards", "mlp"])
def test_ppos_weights_follow_from_its_seed(ppo, network):
    def weights(seed):
        words = ["--network", network, "--total-steps", "512", "--num-envs", "64"]
        agent = ppo.train(ppo.read_args([*words, "--seed", str(seed)]))
        return torch.nn.utils.parameters_to_vector(agent.parameters())

    first = weights(0)
    assert torch.equal(first, weights(0))
    assert not torch.equal(first, weights(1))


def test_ppo_writes_what_tensorboard_shows(ppo, tmp_path):
    words = ["--total-steps", "256", "--num-envs", "64", "--tensorboard", str(tmp_path)]
    ppo.train(ppo.read_args(words))
    assert list(tmp_path.glob("ppo_arrange-cards-0/events.out.tfevents.*"))


def test_an_unknown_network_is_refused(ppo):
    with pytest.raises(SystemExit, match="--network is one of cards, mlp, got 'cnn'"):
        ppo.Agent("cnn")


@pytest.mark.long
def test_ppos_exact_score_is_full_after_ten_cpu_seconds():
    done = subprocess.run(
        [sys.executable, EXAMPLES / "ppo_arrange.py"],
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    assert "normalized score 1.0000" in done.stdout or "normalized score 0.9999" in done.stdout
