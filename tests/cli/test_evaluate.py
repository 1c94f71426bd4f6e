"""``niulab evaluate``: exact scores of names, tables and models, and what is refused."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pytest

from niulab.agents.models.card import CardNetwork, ModelCard
from niulab.agents.models.file import save_model
from niulab.agents.models.policies import build_policy
from niulab.envs.settings import make_settings
from niulab.solvers.hand_values import hand_values

QUICK = ["--rounds", "0"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """An untrained model of the default sheet."""
    settings = make_settings("niulab/Arrange-v0", encoding="ids")
    network = CardNetwork(embedding=8, hidden=(8,), critic_embedding=8, critic_hidden=(8,))
    policy = build_policy("ppo", network, settings)
    card = ModelCard.of(
        settings, task="niulab/Arrange-v0", algorithm="ppo", network=network, seed=0, steps=0
    )
    return save_model(tmp_path_factory.mktemp("models") / "model", card, policy.state_dict())


def test_a_named_agent_is_scored_exactly(run_json):
    score = run_json("evaluate", "first-found-base", "--rounds", "1000")
    assert score["is_exact"]
    assert score["source"] == "argmax"
    assert score["ev"]["single"]["exact"] == "-1/40"
    assert Fraction(score["win_probability"]["exact"]) == Fraction(1, 2)
    assert (score["n_errors"], score["n_hands"]) == (0, 2_598_960)
    assert score["simulated"]["n_rounds"] == 1000
    assert abs(score["simulated"]["mean"] + 0.025) < 2 * score["simulated"]["half_width"]
    assert score["warnings"] == []
    assert score["provenance"]["rules"] == "single-double-super"


def test_a_table_of_actions_is_scored(run_json, tmp_path):
    settings = make_settings("niulab/Arrange-v0")
    path = tmp_path / "table.npy"
    np.save(path, hand_values(settings.rules).oracle)
    score = run_json("evaluate", "--actions", str(path), *QUICK)
    assert (score["n_errors"], score["regret"]["exact"]) == (0, "0/1")
    assert score["simulated"] is None


def test_the_text_shows_the_figures(run):
    shown = run("evaluate", "never-claim", *QUICK).stdout
    for figure in ("exact, argmax", "errors", "2,598,960 hands", "optimum", "-0.0250000"):
        assert figure in shown


def test_a_tasks_short_name_gives_the_same_score(run_json):
    for env in ("Peek", "niulab/Peek-v0"):
        score = run_json("evaluate", "optimal", "--env", env)
        assert (score["task"], score["provenance"]["task"]) == ("niulab/Peek-v0",) * 2


def test_a_sheet_that_pays_the_player_is_warned_of(run):
    result = run("evaluate", "oracle", "--rules", "even-double-super-bonus-literal-note", *QUICK)
    assert "WARNING: box 'super'" in result.stderr


def test_a_model_is_scored_on_its_own_task(run_json, model):
    score = run_json("evaluate", str(model), *QUICK)
    assert (score["rules"], score["is_exact"]) == ("single-double-super", True)
    assert score["n_errors"] > 0


def test_a_model_is_transferred_on_purpose_only(run_json, refused, model, tmp_path):
    sheet = tmp_path / "free.toml"  # the same ranking without commission
    sheet.write_text(
        'name = "free"\ntitle = "t"\nsource = "s"\nextends = "single-double-super"\n'
        '[boxes.single.commission]\nrate = "0"\n'
    )
    message = refused("evaluate", str(model), "--rules", str(sheet), *QUICK)
    assert "--transfer" in message
    score = run_json("evaluate", str(model), "--transfer", str(sheet), *QUICK)
    assert (score["rules"], score["bounds"]["optimum"]["exact"]) == ("free", "0/1")


def test_what_is_no_model_is_refused(refused, model, tmp_path):
    poisoned = tmp_path / "model.zip"
    poisoned.write_bytes(b"PK\x03\x04 cos\nsystem\n")
    assert "models of other programs (.zip, .pt) are not read" in refused("evaluate", str(poisoned))
    assert "there is nothing" in refused("evaluate", str(tmp_path / "none"))
    broken = tmp_path / "broken"
    broken.mkdir()
    for file in model.iterdir():
        (broken / file.name).write_bytes(file.read_bytes()[:100])
    assert "is no card of a niulab model" in refused("evaluate", str(broken))


def test_a_model_of_another_task_or_sheet_is_refused(refused, model, tmp_path):
    message = refused("evaluate", f"model:{model}", "--env", "niulab/Table-v0", *QUICK)
    assert "was trained for 'niulab/Arrange-v0'" in message
    changed = tmp_path / "changed"
    changed.mkdir()
    for file in model.iterdir():
        (changed / file.name).write_bytes(file.read_bytes())
    card = json.loads((changed / "card.json").read_text())
    card["rules_hash"] = "0" * 16
    (changed / "card.json").write_text(json.dumps(card))
    assert "with hash 0000000000000000" in refused("evaluate", str(changed), *QUICK)


REFUSED = {
    "unknown agent": (["orakle"], "did you mean 'oracle'"),
    "unknown task": (["oracle", "--env", "niulab/Arange-v0"], "did you mean 'niulab/Arrange-v0'"),
    "unknown rules": (["oracle", "--rules", "bull-bull"], "did you mean 'bull-bull-live'"),
    "slip without the required box": (["oracle", "--slip", "super=40"], "required box 'single'"),
    "table that is not there": (["--actions", "none.npy"], "none.npy"),
}


@pytest.mark.parametrize(("words", "part"), REFUSED.values(), ids=REFUSED)
def test_bad_input(refused, words, part):
    assert part in refused("evaluate", *words, *QUICK)


def test_a_table_of_another_shape_is_refused(refused, tmp_path):
    path = tmp_path / "table.npy"
    np.save(path, np.zeros(7, dtype=np.int64))
    assert "2598960" in refused("evaluate", "--actions", str(path)).replace(",", "")


@pytest.mark.parametrize("words", [[], ["oracle", "--actions", "x.npy"]])
def test_one_policy_is_needed(run, words):
    result = run("evaluate", *words)
    assert result.exit_code == 2
    assert "--actions" in result.stderr


def test_transfer_is_for_models(run):
    result = run("evaluate", "oracle", "--transfer", "bull-bull-live")
    assert result.exit_code == 2
    assert "--rules" in result.stderr


def test_probabilities_are_asked_of_those_who_give_them(refused):
    assert "'oracle' gives no probabilities" in refused("evaluate", "oracle", "--stochastic")
