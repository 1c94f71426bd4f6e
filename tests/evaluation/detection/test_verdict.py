"""Verdicts: their words, their list, who is held back; groups; and a report with all its parts."""

import json
import re
from dataclasses import replace
from math import log

import numpy as np
import pytest
from card_players import hole_carder, honest
from logs_on_disk import on_tables, write_csv

from niulab.errors import ConfigError
from niulab.evaluation.detection.attacks.groups import Group
from niulab.evaluation.detection.fold import PlayerStates, fold
from niulab.evaluation.detection.monitoring.judging import judge_log, read_groups
from niulab.evaluation.detection.monitoring.monitor import monitor
from niulab.evaluation.detection.report import stakes_against_cards, write_report
from niulab.evaluation.detection.verdict import LARGEST_E, e_value_of, judge, words_of
from niulab.evaluation.playlog.store.folder import Store, create_store
from niulab.evaluation.playlog.store.importing import import_log


@pytest.fixture(scope="module")
def floor(make_plays, sheet):
    """40 players of 150 rounds; the first two see the dealer's first card, each other round."""
    seer = hole_carder(0.5)

    def super_of(cards, dealers, rng):
        staked = honest(cards, dealers, rng)
        return np.where(np.arange(len(cards)) < 300, seer(cards, dealers, rng), staked)

    return on_tables(make_plays(40, 150, super_of, seed=9), sheet)


@pytest.fixture(scope="module")
def monitored(floor, tmp_path_factory):
    folder = tmp_path_factory.mktemp("floor")
    store = create_store(folder / "log", buckets=2)
    import_log([write_csv(floor, folder / "floor.csv")], store)
    return monitor(store, folder / "state")


@pytest.fixture(scope="module")
def judged(monitored):
    return judge_log(monitored, groups=[Group("pair", ("p4", "p8"))])


def test_seers_are_listed_and_honest_players_are_not(judged):
    assert {v.player for v in judged.verdicts if v.is_listed} == {"p0", "p1"}
    assert {v.player for v in judged.verdicts if v.is_alarm} == {"p0", "p1"}
    first, second = judged.verdicts[:2]
    for verdict in (first, second):
        assert next(iter(verdict.explanations)) == "dealer's card seen"
        assert sum(verdict.explanations.values()) == pytest.approx(1, rel=1e-9)
        assert 1 <= verdict.alarm_round <= verdict.rounds == 150
        assert verdict.words.startswith(
            "The stakes carried information about cards not yet dealt, at e-value 10^"
        )
        assert "cheat" not in verdict.words


def test_the_document_has_the_keys_of_the_promise(judged):
    document = json.loads(json.dumps(judged.as_dict(), allow_nan=False))
    assert set(document) == {"players", "tables", "audit", "data_quality", "alpha", "fdr"}
    assert {"mispays", "mis_sets"} <= set(document["audit"])
    for player in document["players"]:
        assert set(player) == {
            "player", "rounds", "e_value", "log_e", "alarm", "alarm_round", "listed",
            "explanations", "excess_edge", "net_cents",
        }  # fmt: skip
        assert player["e_value"] == pytest.approx(np.exp(player["log_e"]))
        edge = player["excess_edge"]
        if player["player"] == "pair":  # whose cards would count?
            assert edge == {"low": None, "high": None}
        else:
            assert edge["low"] < edge["high"]
    assert len(document["players"]) == 41
    assert sum(table["rounds"] for table in document["tables"]) == 6_000
    assert document["data_quality"]["missing_rounds"] == 0


def test_a_declared_group_is_one_player(judged, floor):
    (group,) = [v for v in judged.verdicts if v.player == "pair"]
    assert group.rounds == 300  # they never sat together
    assert list(group.explanations) == ["collusion"]
    members = np.isin(floor.player, [4, 8])
    assert group.net_cents == int(floor.nets[members].sum())


def test_a_group_must_be_in_the_log_under_a_name_of_its_own(monitored):
    with pytest.raises(ConfigError, match="not in the log"):
        judge_log(monitored, groups=[Group("pair", ("p4", "nobody"))])
    with pytest.raises(ConfigError, match="as a player of the log is"):
        judge_log(monitored, groups=[Group("p3", ("p4", "p5"))])


@pytest.mark.parametrize(
    "text",
    ["", "groups = 3", "[[groups]]\nname = 'A'", "x = 1\n[[groups]]\nname='A'\nmembers=['a','b']",
     "[[groups]]\nname='A'\nmembers=['a','b']\npeeker=3", "[[groups"],
)  # fmt: skip
def test_a_file_of_groups_is_checked(tmp_path, text):
    path = tmp_path / "groups.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"write \[\[groups\]\]"):
        read_groups(path)


def test_a_file_of_groups_is_read(tmp_path):
    path = tmp_path / "groups.toml"
    path.write_text("[[groups]]\nname = 'A'\nmembers = ['p1', 'p2']\npeeker = 'p2'\n")
    assert read_groups(path) == [Group("A", ("p1", "p2"), "p2")]


def test_an_alarm_that_is_held_back_is_none_and_says_why(full, make_plays):
    plays = make_plays(3, 100, hole_carder(1.0), seed=2)
    states = fold(full, PlayerStates.fresh(3, full), plays).states
    edges, nets = np.tile([-1.0, 1.0], (3, 1)), np.zeros(3, dtype=np.int64)
    names = ("a", "b", "c")
    found = judge(full, states, names, edges, nets, alpha=1e-3, fdr=0.05, held={"b": "the reason"})
    by_name = {verdict.player: verdict for verdict in found}
    assert by_name["a"].is_alarm
    assert by_name["a"].is_listed
    assert not by_name["b"].is_alarm
    assert not by_name["b"].is_listed
    assert by_name["b"].alarm_round is not None
    assert by_name["b"].words.endswith("Held back: the reason")


def test_e_values_as_plain_numbers_stay_finite():
    assert e_value_of(log(50)) == pytest.approx(50)
    assert e_value_of(1e6) == pytest.approx(LARGEST_E)
    assert words_of(1e6).endswith("at e-value 10^434294.5.")


def test_stakes_against_cards_find_the_row_that_was_seen(floor):
    by_place = stakes_against_cards(floor.take(floor.player < 2), 2)
    assert by_place.shape == (10, 13)
    assert by_place[5, :5].mean() > 2  # the dealer's first card, an ace to a five: staked more
    assert by_place[5, 5:].mean() < -1
    assert np.nanmax(np.abs(by_place[np.arange(10) != 5])) < 5


def test_the_report_has_its_parts(judged, tmp_path):
    page = write_report(judged, tmp_path / "report", command=["niulab", "detect", "<log>"])
    text = page.read_text("utf-8")
    for title in ("The floor", "E-values by round", "What explains them", "Excess edge",
                  "Stakes against cards", "Tables, dealers, shufflers", "Audit", "Data quality",
                  "Provenance"):  # fmt: skip
        assert f"<h2>{title}</h2>" in text
    assert text.count("<img ") >= 5  # e-values, shares, edges, and cards of both who are named
    assert all(f"Stakes of {name} against the cards dealt" in text for name in ("p0", "p1"))
    assert "niulab detect &lt;log&gt;" in text
    assert "cheat" not in text.lower()
    assert json.loads((tmp_path / "report" / "verdicts.json").read_text("utf-8")) == json.loads(
        json.dumps(judged.as_dict())
    )


def test_doubled_cards_and_warnings_of_imports_read_as_text(judged, tmp_path):
    """A row of the audit as people write it, and how often an import warned."""
    found = {"cards_twice": [{"card": "6C", "seats": (0, 5), "players": ("ann", "bo")}]}
    quality = judged.data_quality | {"warnings": ["rows without a time (3 times)"]}
    page = write_report(replace(judged, audit=found, data_quality=quality), tmp_path)
    text = page.read_text("utf-8")
    assert all(re.search(f"<td[^>]*>{cell}</td>", text) for cell in ("0, 5", "ann, bo"))
    assert "Seat 0 is the dealer" in text
    assert "rows without a time (3 times)" in text


def test_warnings_of_imports_say_how_often(monitored):
    manifest = replace(monitored.store.manifest, warnings={"rows without a seat": 2, "once": 1})
    store = Store(monitored.store.path, manifest)
    warnings = judge_log(replace(monitored, store=store)).data_quality["warnings"]
    assert warnings[:2] == ["imports: rows without a seat (2 times as read)", "imports: once"]
