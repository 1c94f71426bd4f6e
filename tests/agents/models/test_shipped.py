"""The trained agents that come with the package keep what their cards say."""

import pickle
from fractions import Fraction

import numpy as np
import pytest
import torch

from niulab.agents import agent_names, make_agent
from niulab.agents.models.file import load_model
from niulab.agents.models.shipped import SHIPPED, find_shipped, read_shipped, shipped_agents
from niulab.engine.ranking import all_hands
from niulab.envs.settings import make_settings
from niulab.errors import CheckpointError, ConfigError
from niulab.evaluation.benchmark import score_agent
from niulab.training import parse_train, read_train

NAMES = shipped_agents()


def test_the_flagship_of_setting_hands_is_there():
    assert "ppo_arrange" in NAMES
    assert read_shipped("ppo_arrange").scores["n_errors"] == 0
    assert read_shipped("ppo_arrange").scores["n_hands"] == 2_598_960


@pytest.mark.parametrize("name", NAMES)
def test_a_card_speaks_of_todays_sheet_and_of_a_shipped_config(name):
    card, weights = load_model(SHIPPED / name)
    settings = make_settings(
        card.task, **({} if "Loophole" in card.task else {"rules": card.rules})
    )
    assert card.rules_hash == card.env_settings().rules_hash == settings.rules_hash
    config = parse_train(card.config)
    assert (config.task, config.seed, config.algorithm.name) == (
        card.task,
        card.seed,
        card.algorithm,
    )
    assert config.replaced(seed=0) == read_train(name, seed=0)
    assert card.scores["rules_hash"] == card.rules_hash
    assert all(tensor.dtype == torch.float32 for tensor in weights.values())


SCORES = {  # the least that each is shipped for
    "maskable_ppo_niuniu": 0.95,
    "maskable_ppo_session": 0.95,
    "ppo_arrange": 1.0,
    "ppo_arrange_hk": 0.999,
    "ppo_loophole": 1.0,
    "ppo_peek": 0.995,
    "ppo_stealth_02": 0.98,
    "ppo_stealth_05": 0.98,
    "ppo_stealth_08": 0.95,
    "ppo_stealth_12": 0.75,  # near the limit price all there is to win is .0017 a round
    "ppo_table": 1.0,
}


def test_every_task_with_a_menu_and_an_exact_score_has_an_agent():
    assert set(NAMES) == set(SCORES)
    for name, least in SCORES.items():
        scores = read_shipped(name).scores
        assert scores["is_exact"]
        assert scores["normalized_score"] >= least


@pytest.mark.parametrize("name", NAMES)
def test_files_are_small(name):
    assert sum(file.stat().st_size for file in (SHIPPED / name).iterdir()) < 150_000


@pytest.mark.parametrize("name", NAMES)
def test_an_agent_is_listed_for_its_task_and_loaded_without_pickle(name, monkeypatch):
    settings = read_shipped(name).env_settings()
    make_agent(f"trained:{name}", settings)  # torch itself imports with its pickle whole
    agent_names(settings)  # numba reads its cache of compiled loops with pickle, once

    def forbidden(*args, **keywords):
        raise AssertionError("something was unpickled")

    for word in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(pickle, word, forbidden)
    monkeypatch.setattr(torch, "load", forbidden)
    assert f"trained:{name}" in agent_names(settings)
    assert make_agent(f"trained:{name}", settings).name == f"trained:{name}"


def test_a_sample_of_hands_is_set_as_the_oracle_values_them():
    settings = make_settings("niulab/Arrange-v0")  # another encoding than the agent learned
    hands = all_hands()[::997]
    ours = make_agent("trained:ppo_arrange", settings).set_hands(hands)
    table = score_of_settings(settings, hands)
    rows = np.arange(len(hands))
    assert np.array_equal(table[rows, ours], table.max(axis=1))


def score_of_settings(settings, hands):
    from niulab.engine.ranking import ranker

    return ranker(settings.rules).split_ranks(hands)  # on this sheet the higher rank is worth more


def test_unknown_and_unfitting_names_are_refused():
    with pytest.raises(ConfigError, match="did you mean 'ppo_arrange'"):
        find_shipped("ppo_arange")
    hong_kong = make_settings("niulab/Arrange-v0", rules="ngau-ngau-hong-kong")
    assert "trained:ppo_arrange" not in agent_names(hong_kong)
    with pytest.raises(CheckpointError, match="--transfer"):
        make_agent("trained:ppo_arrange", hong_kong)


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_its_score_is_that_of_its_card(name):
    card = read_shipped(name)
    settings = card.env_settings()
    agent = make_agent(f"trained:{name}", settings)
    score = score_agent(agent, settings, task=card.task).to_dict()
    said = dict(card.scores)
    assert score.pop("agent") == f"trained:{said.pop('agent')}"
    assert score == said
    if "regret" in said and isinstance(said["regret"], dict):
        assert Fraction(said["regret"].get("exact", said["regret"]["float"])) >= 0
