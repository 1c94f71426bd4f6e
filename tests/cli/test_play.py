"""``niulab play``: scripted answers, agents to watch, and the coach beside other roads."""

from __future__ import annotations

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from niulab.agents import make_agent
from niulab.cli.agents import play
from niulab.cli.agents.asking import read_bet
from niulab.cli.main import app
from niulab.envs.settings import make_settings
from niulab.envs.single import NiuNiuEnv
from niulab.envs.vector import NiuNiuVectorEnv
from niulab.errors import ConfigError


def played(answers, *words):
    return CliRunner().invoke(app, ["play", *words], input=answers, catch_exceptions=False)


def lines(answers, *words):
    result = played(answers, *words, "--json")
    assert result.exit_code == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.parametrize(
    ("env", "agent"),
    [
        ("Arrange", "greedy-pair"),
        ("NiuNiu", "flat:4+first-found-base"),
        ("SessionStake", "flat:5"),
        ("Loophole", "flat:9"),
        ("Shoe", "counter"),
    ],
)
def test_a_watched_game_is_the_environments_own(env, agent):
    settings = make_settings(f"niulab/{env}-v0")
    *rounds, end = lines("", "--env", env, "--agent", agent, "--seed", "9")
    rows, player = NiuNiuVectorEnv(1, settings), make_agent(agent, settings)
    seen, infos = rows.reset(seed=9)
    nets, memory, rng = [], player.initial_state(1), np.random.default_rng(0)
    while len(nets) < len(rounds):
        actions, memory = player.act(seen, rows.action_masks(), infos, memory, rng)
        seen, _, done, _, infos = rows.step(actions)
        told = infos["final_info"] if done[0] else infos
        if "settlement" in told:
            nets.append(int(told["last_net_cents"][0]))
    assert [line["net_cents"] for line in rounds] == nets
    assert end["net_cents"] == sum(nets)
    assert (end["rounds"], end["seed"], end["player"]) == (len(rounds), 9, agent)
    assert end["end"] == ("rounds" if settings.n_rounds == 1 else told["end"][0])


def test_a_trained_agent_plays_its_own_task_and_errs_nowhere():
    *rounds, end = lines(
        "", "--agent", "trained:ppo_arrange", "--seed", "3", "--rounds", "4", "--coach"
    )
    assert end["task"] == "niulab/Arrange-v0"
    assert end["player"] == "trained:ppo_arrange"
    assert [line["regret_cents"] for line in rounds] == [0.0] * 4 == [end["regret_cents"]] * 4


def test_a_persons_answers_are_actions_and_the_coach_agrees_with_niulab_hand(run_json):
    answers = "1\n2 4\nsingle=100,double=100\n5C 9H\nq\n"
    first, second, end = lines(answers, "--seed", "1", "--coach")
    assert first["slip"] == {"single": 200}
    assert second["slip"] == {"single": 100, "double": 100}
    assert first["front"] == [first["hand"][1], first["hand"][3]]
    assert second["front"] == ["5C", "9H"]
    assert (end["end"], end["rounds"]) == ("left", 2)
    assert second["bankroll_cents"] == 2_000 + first["net_cents"] + second["net_cents"]
    for line in (first, second):
        slip = ",".join(f"{box}={cents}" for box, cents in line["slip"].items())
        report = run_json("hand", " ".join(line["hand"]), "--slip", slip)
        values = {frozenset(s["pair"]): s["ev"] for s in report["arrangements"]}
        best = max(values.values())
        assert values[frozenset(line["best_front"])] == best
        assert line["regret_cents"] == pytest.approx(best - values[frozenset(line["front"])])
    assert end["regret_cents"] == pytest.approx(first["regret_cents"] + second["regret_cents"])


def test_the_end_of_the_input_ends_the_game():
    only, end = lines("13\n", "--env", "Arrange", "--seed", "1")
    assert only["front"] == [only["hand"][0], only["hand"][2]]
    assert end["end"] == "left"


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ("12\n", "'12' is no bet here: write a number from 0 to 9"),
        ("single=110\n", "is no bet here"),
        ("1\n2 2\n", "names no two cards of your hand"),
        ("1\n2 3 4\n", "names no two cards of your hand"),
        ("1\nKS\n", "names no two cards of your hand"),
        ("1\nfront\n", "front"),
    ],
)
def test_a_wrong_line_of_a_script_ends_it(answers, message):
    result = played(answers, "--seed", "1", "--json")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.count("error: ") == 1
    assert message in result.stderr


def test_a_person_is_asked_again(monkeypatch):
    monkeypatch.setattr(play, "_is_seated", lambda: True)
    result = played("12\n\n3\nxx\n1 1\n4 5\nq\n", "--seed", "1")
    assert result.exit_code == 0
    assert result.stderr.count("error: ") == 4
    assert result.stdout.count("Your bet:") == 4  # three for the first round, one before q
    assert result.stdout.count("Your two front cards:") == 3
    assert "round 1, slip single=1000" in result.stdout
    assert "1 rounds" not in result.stdout
    assert "1 round, net" in result.stdout


def test_what_the_bankroll_does_not_cover_is_no_bet():
    settings = make_settings("niulab/NiuNiu-v0")
    mask = np.ones(settings.n_actions, dtype=np.bool_)
    mask[3] = False
    with pytest.raises(ConfigError, match="does not cover single=1000"):
        read_bet("3", settings, mask)
    leaving = make_settings(settings, can_leave=True)
    assert read_bet("leave", leaving, np.ones(11, dtype=np.bool_)) == 10


OPEN = """
name = "open"
title = "The dealer opens first and sets nothing right"
source = "tests"
extends = "even-double-super-bonus"
arrangement = "as_set"
"""


def test_an_open_dealers_hand_is_shown_and_coached_against(tmp_path):
    rules = str(tmp_path / "open.toml")
    (tmp_path / "open.toml").write_text(OPEN, encoding="utf-8")
    env = NiuNiuEnv("niulab/Arrange-v0", rules=rules)

    def nets_of(seed):  # of every setting of one deal
        for action in range(10):
            env.reset(seed=seed)
            yield int(env.step(action)[4]["last_net_cents"])

    deals = ((seed, list(nets_of(seed))) for seed in range(99))
    seed, nets = next((seed, nets) for seed, nets in deals if max(nets) > nets[0])
    words = ("--env", "Arrange", "--rules", rules, "--seed", str(seed), "--rounds", "1", "--coach")
    line, _ = lines("1 2\n", *words)
    assert line["net_cents"] == nets[0]
    assert line["regret_cents"] == max(nets) - nets[0]
    result = played("1 2\n", *words)
    assert "dealer's" in result.stdout
    assert " ".join(line["dealer"]) in result.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--env", "NuiNiu"], "did you mean 'NiuNiu'"),
        (["--agent", "trained:ppo_arange"], "did you mean 'ppo_arrange'"),
        (["--rules", "none"], "none"),
        (["--env", "SessionStake"], "a person bets from a menu: name an --agent"),
    ],
)
def test_mistaken_words_are_refused(refused, words, message):
    assert message in refused("play", *words)


def test_without_a_seed_the_new_one_is_told():
    *_, end = lines("", "--env", "Arrange", "--agent", "oracle", "--rounds", "2")
    *_, again = lines(
        "", "--env", "Arrange", "--agent", "oracle", "--rounds", "2", "--seed", str(end["seed"])
    )
    assert again == end
