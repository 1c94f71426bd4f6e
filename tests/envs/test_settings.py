"""Settings: every mistake in one message, presets as the docs say, a round trip through JSON."""

import json

import pytest
from strategies import PLAYABLE, overlay

from niulab.engine.rules import load_rules
from niulab.engine.wagers import Slip
from niulab.envs.presets import PRESETS, full_id
from niulab.envs.registration import ENV_IDS
from niulab.envs.settings import make_settings
from niulab.errors import ConfigError


def mistakes_of(preset="niulab/NiuNiu-v0", **keywords):
    with pytest.raises(ConfigError) as caught:
        make_settings(preset, **keywords)
    return str(caught.value)


def test_every_mistake_is_listed_at_once_with_the_nearest_known_name():
    message = mistakes_of(
        objectve="profit",
        reward="expectd",
        n_rounds=0,
        bankroll_cents=1.5,
        reward_scale=float("nan"),
        can_leave=1,
        rules="single-double-supr",
    )
    assert message.count("\n  - ") == 7
    for part in (
        "'objectve'; did you mean 'objective'?",
        "did you mean 'expected'?",
        "n_rounds is a whole number of at least 1, or None, got 0",
        "bankroll_cents is a whole number of at least 1, or None, got 1.5",
        "reward_scale is finite and above 0, got nan",
        "can_leave is True or False, got 1",
        "did you mean 'single-double-super'?",
    ):
        assert part in message


def test_an_unknown_id_names_the_nearest_one():
    with pytest.raises(ConfigError, match="did you mean 'niulab/Arrange-v0'"):
        make_settings("niulab/Arange-v0")


@pytest.mark.parametrize("env_id", ENV_IDS)
def test_an_id_has_short_names(env_id):
    bare = env_id.removeprefix("niulab/")
    assert {full_id(name) for name in (env_id, bare, bare.removesuffix("-v0"))} == {env_id}
    assert make_settings(bare.removesuffix("-v0")) == make_settings(env_id)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("shoe", "did you mean 'Shoe'?"),
        ("Arange", "did you mean 'Arrange'?"),
        ("niulab/Arange-v0", "did you mean 'niulab/Arrange-v0'?"),
        ("niulab/Shoe", "did you mean 'niulab/Shoe-v0'?"),
        ("Shoe-v1", "did you mean 'Shoe'?"),
        ("", "write an id, as Session or niulab/Session-v0"),
        (
            "x",
            "known: Arrange, ArrangeHK, Loophole, NiuNiu, Peek, Session, SessionStake, Shoe, Table",
        ),
    ],
)
def test_what_is_no_name_of_a_task_is_told_the_nearest_one(name, hint):
    with pytest.raises(ConfigError, match=f"^no environment '{name}'[;:] ") as caught:
        full_id(name)
    assert hint in str(caught.value)


@pytest.mark.parametrize("rules", ["six-deck-shoe", "bomb-room"])
def test_ranking_only_rules_are_refused(rules):
    assert f"'{rules}' only ranks hands" in mistakes_of(rules=rules)


@pytest.mark.parametrize(
    ("preset", "keywords", "part"),
    [
        ("niulab/Session-v0", {"reward": "expected"}, "linear in the net"),
        ("niulab/Session-v0", {"encoding": "ids"}, "decisions='bet' sees none"),
        ("niulab/Session-v0", {"bankroll_cents": None}, "watches a bankroll"),
        ("niulab/Session-v0", {"target_cents": 2000}, "is above bankroll_cents=2000"),
        ("niulab/Session-v0", {"target_cents": None}, "needs target_cents"),
        ("niulab/Session-v0", {"bankroll_cents": 99}, "needs 100 cents in sight"),
        ("niulab/Session-v0", {"slip": "single=100"}, "give menu=[...]"),
        ("niulab/Session-v0", {"menu": ["single=200", "single=100"]}, "starts with the least"),
        ("niulab/Session-v0", {"menu": ["single=100", "single=100"]}, "a slip twice"),
        ("niulab/Session-v0", {"menu": ["single=100", "single=130"]}, "menu[1]"),
        ("niulab/Session-v0", {"menu": []}, "got no slip"),
        ("niulab/Session-v0", {"menu": "single=100"}, "a list of slips or 'grid'"),
        ("niulab/Session-v0", {"menu": "grid"}, "more than 10000"),
        ("niulab/Arrange-v0", {"menu": ["single=100"]}, "decisions='set' has none"),
        ("niulab/Arrange-v0", {"slip": "double=100"}, "lacks the required box"),
        ("niulab/Arrange-v0", {"can_leave": True}, "a choice before a bet"),
        ("niulab/Arrange-v0", {"encoding": "ids", "point_flags": True}, "has no flags"),
        ("niulab/Arrange-v0", {"rules": 7}, "a shipped name, a path or a RuleSet, got 7"),
        (
            "niulab/Table-v0",
            {"rules": "six-deck-shoe-bonus", "reward": "expected", "n_rounds": 2},
            "needs n_rounds=1",
        ),
    ],
)
def test_contradictions_are_refused_with_the_remedy(preset, keywords, part):
    assert part in mistakes_of(preset, **keywords)


def test_log_wealth_refuses_slips_that_can_lose_more_than_their_cover():
    rules = overlay("single-double-super", "[boxes.super.cover]\nmultiple = 2\n")
    message = mistakes_of("niulab/Session-v0", rules=rules, objective="log_wealth")
    assert "'single=100,super=100' can lose more than its cover" in message
    assert "'single=100,double=100'" not in message


def test_presets_are_the_registered_ids():
    assert tuple(PRESETS) == ENV_IDS
    arrange = make_settings("niulab/Arrange-v0")
    assert (arrange.decisions, str(arrange.slip), arrange.n_actions) == ("set", "single=100", 10)
    session = make_settings("niulab/Session-v0")
    assert (session.objective, session.can_leave, session.n_rounds) == ("target", False, 6)


@pytest.mark.parametrize("preset", ENV_IDS)
@pytest.mark.parametrize("name", sorted(PLAYABLE))
def test_settings_survive_json(preset, name):
    words = {"rules": name, "card_order": "dealt"}
    if preset == "niulab/Shoe-v0" and not name.startswith("six-deck"):
        words |= {"shoe": None, "menu": None}  # these sheets keep no shoe, some have other boxes
    settings = make_settings(preset, **words)
    again = make_settings(preset, **json.loads(json.dumps(settings.to_json())))
    assert again == settings
    assert make_settings(settings) is settings


def test_own_rules_survive_json_with_their_hash():
    rules = overlay("single-double-super", "[boxes.single]\nminimum_cents = 200\n")
    settings = make_settings("niulab/Arrange-v0", rules=rules)
    again = make_settings(**json.loads(json.dumps(settings.to_json())))
    assert again.rules.rules_hash == rules.rules_hash != load_rules().rules_hash
    assert again.slip == Slip.parse("single=200")


def test_keywords_lay_over_other_settings():
    arrange = make_settings("niulab/Arrange-v0", slip="single=100,super=40")
    changed = make_settings(arrange, encoding="ids")
    assert (changed.slip, changed.encoding) == (arrange.slip, "ids")


def test_a_rules_table_is_checked_like_a_file():
    message = mistakes_of(rules={"name": "x", "titel": "t"})
    for part in ("title: is missing", "unknown key 'titel'; did you mean 'title'?"):
        assert part in message
    assert "pydantic" not in message


def test_preset_is_no_keyword_of_an_environment():
    with pytest.raises(ConfigError, match="unknown setting 'preset'"):
        make_settings("niulab/Arrange-v0", preset="x")


def test_a_sheet_that_takes_no_stake_is_refused_with_the_other_mistakes():
    rules = overlay(
        "single-double-super",
        "[boxes.single]\nmaximum_cents = 200\ncommission = { rate = '1/999983' }\n",
    )
    message = mistakes_of(rules=rules, objectve="profit")
    assert "takes no single stake" in message
    assert "did you mean 'objective'" in message
