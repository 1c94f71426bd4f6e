"""Rounds that imports cut in two, and rounds that no time orders, in the state of a log."""

import json
from dataclasses import replace

import numpy as np
import pytest
from logs_on_disk import MARCH, write_csv
from made_logs import make_plays as make_shared
from table_players import seated

from niulab.evaluation.detection.monitoring.judging import judge_log
from niulab.evaluation.detection.monitoring.monitor import monitor
from niulab.evaluation.playlog.plays import NO_TIME
from niulab.evaluation.playlog.store.folder import create_store
from niulab.evaluation.playlog.store.importing import import_log


@pytest.mark.parametrize("time", [NO_TIME, MARCH])
def test_rounds_of_one_time_that_an_import_cut_in_two_are_one_factor_each(sheet, tmp_path, time):
    """Both seats of a round are one player's: no order tells that the second ones came before."""
    plays = seated(sheet, 1, 2, 20, seed=8, player=0, time=time)
    store = create_store(tmp_path / "log", buckets=2)
    n_rounds, counts = [], []
    for seat in (1, 2):
        path = tmp_path / f"seat{seat}.csv"
        import_log([write_csv(plays.take(plays.seat == seat), path)], store)
        found = monitor(store, tmp_path / "state")
        n_rounds.append(found.people.states.n_rounds.tolist())
        counts.append(found.tables.audits.card_rounds["p0"])
    assert n_rounds == [[20], [20]]
    assert counts == [20, 20]
    assert monitor(store, tmp_path / "again").people.states.n_rounds.tolist() == [20]


def judged_in(folder, parts):
    """What is said after imports with a run after each."""
    folder.mkdir()
    store = create_store(folder / "log", buckets=2)
    for place, part in enumerate(parts):
        import_log([write_csv(part, folder / f"{place}.csv")], store)
        judged = judge_log(monitor(store, folder / "state"))
    return judged.as_dict()


def test_seats_of_a_round_in_two_imports_show_its_cards_to_the_shuffle_once(tmp_path):
    plays = make_shared(60)
    plays = replace(plays, table=plays.round % 2, dealer=plays.round // 7 % 2)
    whole = judged_in(tmp_path / "whole", [plays])
    is_first = plays.round < 30
    at_a_round = judged_in(tmp_path / "round", [plays.take(is_first), plays.take(~is_first)])
    for key in ("players", "tables", "audit"):
        assert json.dumps(at_a_round[key]) == json.dumps(whole[key])
    is_first |= (plays.round == 30) & (plays.seat < 2)
    inside = judged_in(tmp_path / "inside", [plays.take(is_first), plays.take(~is_first)])
    rounds = {(one["by"], one["name"]): one["rounds"] for one in whole["tables"]}
    assert {(one["by"], one["name"]): one["rounds"] for one in inside["tables"]} == rounds
    cut = [is_first & ((plays.round < 30) | (plays.seat < 2)), plays.round > 30]
    without = judged_in(tmp_path / "without", [plays.take(rows) for rows in cut])
    assert json.dumps(inside["tables"]) == json.dumps(without["tables"])


def test_rounds_without_a_time_are_folded_by_their_ids_wherever_they_stand(tmp_path):
    plays = make_shared(40)
    plays = replace(plays, time=np.full_like(plays.time, NO_TIME))
    shuffled = plays.take(np.random.default_rng(1).permutation(len(plays)))
    one, other = judged_in(tmp_path / "a", [plays]), judged_in(tmp_path / "b", [shuffled])
    assert json.dumps(one["players"]) == json.dumps(other["players"])
    assert one["data_quality"]["rounds_in_order_of_ids"] == 120
