"""The monitor: one run or many, any engine, killed or not, the same bytes; and what it finds."""

import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from functools import partial
from math import log

import numpy as np
import pytest
from card_players import hole_carder, honest
from logs_on_disk import MARCH, on_tables, write_csv
from made_logs import make_plays as make_shared
from table_players import seated

from niulab.errors import ConfigError, PlayLogError
from niulab.evaluation.detection.fold import PlayerStates, fold
from niulab.evaluation.detection.monitoring import monitor as monitor_room
from niulab.evaluation.detection.monitoring import rounds as rounds_room
from niulab.evaluation.detection.monitoring.holding import held_back
from niulab.evaluation.detection.monitoring.judging import judge_log
from niulab.evaluation.detection.monitoring.monitor import monitor
from niulab.evaluation.detection.monitoring.slices import cuts_of, parts_of
from niulab.evaluation.detection.monitoring.sources import is_ordered
from niulab.evaluation.detection.tables.shuffles import held_alarms
from niulab.evaluation.detection.watch import given_factors
from niulab.evaluation.playlog.plays import NO_TIME, Plays
from niulab.evaluation.playlog.store.folder import create_store, locked, open_store
from niulab.evaluation.playlog.store.importing import import_log
from niulab.evaluation.playlog.store.stats import store_stats


@pytest.fixture(scope="module")
def floor(make_plays, sheet):
    """12 players of 60 rounds, the first of whom sees the dealer's first card."""
    seer = hole_carder(1.0)

    def super_of(cards, dealers, rng):
        staked = honest(cards, dealers, rng)
        return np.where(np.arange(len(cards)) < 60, seer(cards, dealers, rng), staked)

    return on_tables(make_plays(12, 60, super_of, seed=3), sheet)


def store_of(floor, folder, cuts=()):
    """A store of the rows, imported in pieces of time."""
    store = create_store(folder / "log", buckets=3)
    rounds = (floor.time - floor.time.min()) // 60_000_000
    edges = [0, *cuts, 60]
    for place in range(len(edges) - 1):
        rows = (rounds >= edges[place]) & (rounds < edges[place + 1])
        import_log([write_csv(floor.take(rows), folder / f"part{place}.csv")], store)
    return store


def copy_of_state(grown, folder):
    shutil.copytree(grown[2], folder)
    return folder


def state_bytes(folder):
    manifest = json.loads((folder / "manifest.json").read_bytes())
    return {bucket: (folder / name).read_bytes() for bucket, name in manifest["buckets"].items()}


@pytest.fixture(scope="module")
def grown(floor, tmp_path_factory):
    """A store of three imports and the state of one run over it."""
    folder = tmp_path_factory.mktemp("grown")
    store = store_of(floor, folder, cuts=(20, 41))
    return store, monitor(store, folder / "state"), folder / "state"


def test_the_states_are_those_of_the_fold(floor, grown):
    _, found, _ = grown
    rows = floor.by_player()
    given = given_factors(found.portfolio, rows)
    plain = fold(found.portfolio, PlayerStates.fresh(12, found.portfolio), rows, given=given).states
    places = [found.people.names.index(name) for name in floor.texts.players]
    assert found.people.states.n_rounds.tolist() == [60] * 12
    assert found.people.states.values[places].tobytes() == plain.values.tobytes()
    assert found.people.states.peaks[places].tobytes() == plain.peaks.tobytes()
    assert found.people.nets[places].tolist() == [
        int(floor.nets[floor.player == code].sum()) for code in range(12)
    ]


def test_the_seer_alone_reaches_the_bar(grown):
    _, found, _ = grown
    reached = {
        name
        for name, peak in zip(found.people.names, found.people.states.peaks, strict=True)
        if peak >= log(1_000)
    }
    assert reached == {"p0"}


def test_import_by_import_gives_the_bytes_of_one_run(floor, grown, tmp_path):
    _, _, state = grown
    store = create_store(tmp_path / "log", buckets=3)
    rounds = (floor.time - floor.time.min()) // 60_000_000
    n_new = []
    for place, (low, high) in enumerate(((0, 20), (20, 41), (41, 60))):
        part = floor.take((rounds >= low) & (rounds < high))
        import_log([write_csv(part, tmp_path / f"part{place}.csv")], store)
        n_new.append(monitor(store, tmp_path / "state").n_new)
    assert n_new == [240, 252, 228]
    assert state_bytes(tmp_path / "state") == state_bytes(state)
    assert monitor(store, tmp_path / "state").n_new == 0
    assert state_bytes(tmp_path / "state") == state_bytes(state)


def test_processes_give_the_same_bytes(grown, tmp_path):
    store, _, state = grown
    monitor(store, tmp_path / "state", workers=2)
    assert state_bytes(tmp_path / "state") == state_bytes(state)


@pytest.mark.parametrize("workers", [1, 2])
def test_slices_of_time_read_apart_give_the_same_bytes(grown, tmp_path, monkeypatch, workers):
    store, found, state = grown
    monkeypatch.setattr(rounds_room, "cuts_of", partial(cuts_of, rows=50))
    monkeypatch.setattr(monitor_room, "_FEW_ROWS", 0)
    cut = monitor(store, tmp_path / "state", workers=workers)
    assert state_bytes(tmp_path / "state") == state_bytes(state)
    assert cut.tables.as_bytes() == found.tables.as_bytes()
    edges = cuts_of(parts_of(store, [2])[0], rows=50)
    assert len(edges) == 5  # 252 rows
    assert list(edges) == sorted(set(edges))


def test_slices_of_rounds_without_a_time_are_cut_between_ids(tmp_path, monkeypatch):
    plays = make_shared(40)
    plays = replace(plays, time=np.full_like(plays.time, NO_TIME))
    store = create_store(tmp_path / "log", buckets=2)
    import_log([write_csv(plays, tmp_path / "a.csv")], store)
    whole = judge_log(monitor(store, tmp_path / "whole")).as_dict()
    monkeypatch.setattr(rounds_room, "cuts_of", partial(cuts_of, rows=30))
    [part] = parts_of(store, [1])
    assert (part.month, len(cuts_of(part, rows=30))) == ("unknown", 3)
    assert judge_log(monitor(store, tmp_path / "cut")).as_dict() == whole


def test_a_state_of_an_older_format_is_refused(grown, tmp_path):
    store, _, _ = grown
    path = copy_of_state(grown, tmp_path / "old") / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": 1}))
    before = path.read_bytes()
    with pytest.raises(PlayLogError, match=r"format 1.*cut in two.*begin with a new --state"):
        monitor(store, tmp_path / "old")
    assert path.read_bytes() == before


def test_what_is_said_of_the_data_is_what_lies_in_the_store(floor, tmp_path):
    """The figures of the rows folded against those that DuckDB counts in all files."""
    twice = replace(floor, time=floor.time // 2_400_000_000 * 2_400_000_000)
    store = store_of(twice, tmp_path, cuts=(20, 40))
    said = judge_log(monitor(store, tmp_path / "state")).data_quality
    known = store_stats(store)
    assert said["rounds_in_order_of_ids"] == known.n_tied_rounds == 12 * 60
    for name, figure in (
        ("rows", known.n_plays), ("rounds", known.n_rounds), ("players", known.n_players),
        ("first_time", known.first_time), ("last_time", known.last_time),
        ("recorded", known.recorded), ("missing_rounds", known.missing_rounds),
        ("flags", {flag: n for flag, n in known.rows_by_flag.items() if n}),
    ):  # fmt: skip
        assert said[name] == figure, name


def test_a_trajectory_ends_at_the_e_value_of_its_round(grown):
    _, found, _ = grown
    from niulab.evaluation.detection.fold import log_e_values

    now = log_e_values(found.portfolio, found.people.states)
    assert found.people.strides.tolist() == [1] * 12
    assert found.people.paths[:, 59] == pytest.approx(now, rel=1e-12)


def test_a_later_version_of_a_bucket_s_last_player_alone(floor, tmp_path):
    names = floor.texts.players
    rounds = (floor.time - floor.time.min()) // 60_000_000
    store = create_store(tmp_path / "log", buckets=1)
    import_log([write_csv(floor.take(rounds < 20), tmp_path / "all.csv")], store)
    last = monitor(store, tmp_path / "state").people.names[-1]
    rows = (rounds >= 20) & (floor.player == names.index(last))
    import_log([write_csv(floor.take(rows), tmp_path / "last.csv")], store)
    found = monitor(store, tmp_path / "state")
    assert found.people.names[-1] == last
    assert found.n_new == 40
    assert found.people.states.n_rounds.tolist() == [20] * 11 + [60]
    both = floor.take((rounds < 20) | rows).by_player()
    given = given_factors(found.portfolio, both)
    log_es = fold(
        found.portfolio, PlayerStates.fresh(12, found.portfolio), both, given=given
    ).log_es
    players = both.player
    for name, path in zip(found.people.names, found.people.paths, strict=True):
        mine = log_es[players == names.index(name)]
        assert path[: len(mine)] == pytest.approx(mine, rel=1e-12, abs=1e-12)
        assert np.isnan(path[len(mine) :]).all()


_KILLED = """
import sys
from pathlib import Path
from niulab.evaluation.detection.monitoring import monitor as room
from niulab.evaluation.playlog.store.folder import open_store
import os, signal
real, n = room.write_atomically, 0
def killed(path, content):
    global n
    n += 1
    if n > int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
    real(path, content)
room.write_atomically = killed
room.monitor(open_store(Path(sys.argv[1])), Path(sys.argv[2]))
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no kill -9")
@pytest.mark.parametrize("n_written", [0, 2])
def test_a_killed_run_counts_nothing_twice(floor, grown, tmp_path, n_written):
    _, _, state = grown
    store = store_of(floor.take(floor.time < floor.time.min() + 20 * 60_000_000), tmp_path)
    monitor(store, tmp_path / "state")
    rounds = (floor.time - floor.time.min()) // 60_000_000
    for place, (low, high) in enumerate(((20, 41), (41, 60)), start=1):
        part = floor.take((rounds >= low) & (rounds < high))
        import_log([write_csv(part, tmp_path / f"later{place}.csv")], store)
    words = [sys.executable, "-c", _KILLED, tmp_path / "log", tmp_path / "state", n_written]
    process = subprocess.run([str(word) for word in words], check=False, env=os.environ)
    assert process.returncode == -signal.SIGKILL
    assert monitor(open_store(tmp_path / "log"), tmp_path / "state").n_new == 480
    assert state_bytes(tmp_path / "state") == state_bytes(state)
    left = {path.name for path in (tmp_path / "state").iterdir()}
    assert len(left) == 2 + len(state_bytes(state)) + 2  # manifest, lock, buckets, tables


def test_one_run_at_a_time_works_on_a_state(grown, tmp_path):
    store, _, _ = grown
    with (
        locked(tmp_path / "monitor.lock", doing="does"),
        pytest.raises(PlayLogError, match=rf"process {os.getpid()} judges a log with the state in"),
    ):
        monitor(store, tmp_path)
    (tmp_path / "given-old").mkdir()  # as a killed run leaves it
    with pytest.raises(PlayLogError, match="another log, or an older copy"):
        monitor(create_store(tmp_path / "empty"), copy_of_state(grown, tmp_path / "kept"))
    monitor(store, tmp_path)
    assert not (tmp_path / "given-old").exists()


def test_a_run_that_is_refused_leaves_no_folder(tmp_path, floor):
    store = store_of(replace(floor, rules=np.full_like(floor.rules, -1)), tmp_path)
    with pytest.raises(ConfigError, match=r"no rules to judge the log by.*--sheet NAME=RULES"):
        monitor(store, tmp_path / "new" / "state")
    assert not (tmp_path / "new").exists()


def test_alarms_wait_for_a_shuffle_as_they_do_in_memory(sheet, tmp_path):
    """Table t0 deals the dealer an ace first in a third of its rounds; t1 is fair."""
    plays = seated(sheet, 2, 3, 400, seed=7)
    aces = (plays.table == 0) & (plays.round % 3 == 0) & ~(plays.cards == 0).any(axis=1)
    has_one = np.isin(plays.round, plays.round[(plays.cards == 0).any(axis=1)])
    dealt = plays.dealer_cards.copy()
    rows = aces & ~has_one & ~(dealt == 0).any(axis=1)
    dealt[rows, 0] = 0
    plays = replace(plays, dealer_cards=dealt, time=plays.time * 60_000_000 + MARCH)
    store = create_store(tmp_path / "log", buckets=2)
    is_first = plays.time < MARCH + 200 * 60_000_000
    for place, part in enumerate((is_first, ~is_first)):
        import_log([write_csv(plays.take(part), tmp_path / f"{place}.csv")], store)
    found = monitor(store, tmp_path / "state")
    names = ["p1", "p4", "nobody"]

    def held(alpha):
        return held_back(found.tables, store, found.sheets, names, alpha=alpha, ordered=True)

    def known(plays, alpha):
        return {one.player: one.reason for one in held_alarms(plays, names, alpha=alpha)}

    assert set(known(plays, 1e-3)) == {"p1"}
    assert held(1e-3) == known(plays.take(is_first), 1e-3)  # the first import has told enough
    assert not known(plays.take(is_first), 1e-20)
    assert held(1e-20) == known(plays, 1e-20)
    assert set(held(1e-20)) == {"p1"}
    assert held(1e-60) == {}


def test_rows_that_come_late_have_factor_one(floor, tmp_path):
    rounds = (floor.time - floor.time.min()) // 60_000_000
    store = create_store(tmp_path / "log", buckets=3)
    import_log([write_csv(floor.take(rounds >= 30), tmp_path / "new.csv")], store)
    first = monitor(store, tmp_path / "state")
    import_log([write_csv(floor.take(rounds < 30), tmp_path / "old.csv")], store)
    second = monitor(store, tmp_path / "state")
    assert second.people.names == first.people.names
    assert second.people.states.values.tobytes() == first.people.states.values.tobytes()
    assert second.people.nets.sum() == floor.nets.sum()
    assert second.tables.audits.flags["LATE_ROW"] == 360


def test_a_state_belongs_to_its_log_and_level(floor, grown, tmp_path):
    _, _, state = grown
    other = store_of(floor.take(floor.player < 4), tmp_path, cuts=(30, 50, 55))
    with pytest.raises(PlayLogError, match="not of the log"):
        monitor(other, state)
    with pytest.raises(ConfigError, match=r"made with alpha 0\.001"):
        monitor(grown[0], state, alpha=0.01)
    small = store_of(floor.take(floor.player < 4), tmp_path / "small")
    with pytest.raises(PlayLogError, match="another log, or an older copy"):
        monitor(small, state)


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("format", 1, "a state of format 1, and this program keeps .* begin with a new --state"),
        ("portfolio", "0" * 32, "made with other tests .* begin with a new --state"),
    ],
)
def test_a_state_of_other_tests_is_refused_and_left_alone(grown, tmp_path, key, value, told):
    store, _, state = grown
    old = tmp_path / "old"
    shutil.copytree(state, old)
    path = old / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()) | {key: value}))
    before = {one.name: one.read_bytes() for one in old.iterdir()}
    with pytest.raises(PlayLogError, match=told):
        monitor(store, old)
    assert {one.name: one.read_bytes() for one in old.iterdir()} == before


def test_a_round_cut_in_two_by_an_import_is_one_factor(floor, tmp_path):
    mine = floor.take(floor.player == 0)
    both = Plays.join([mine, mine])
    both = Plays.of(
        120, both.texts,
        **{name: getattr(both, name) for name in ("player", "round", "rules", "stakes", "nets",
                                                  "table", "time", "cards", "dealer_cards")},
        seat=np.repeat([1, 2], 60),
    )  # fmt: skip
    last = both.time == both.time.max()
    store = create_store(tmp_path / "log", buckets=1)
    import_log([write_csv(both.take(~last | (both.seat == 1)), tmp_path / "a.csv")], store)
    before = monitor(store, tmp_path / "state").people
    import_log([write_csv(both.take(last & (both.seat == 2)), tmp_path / "b.csv")], store)
    after = monitor(store, tmp_path / "state").people
    assert after.states.n_rounds.tolist() == before.states.n_rounds.tolist() == [60]


def test_sorted_hands_in_many_small_imports_are_not_taken_for_the_order_dealt(floor, tmp_path):
    sorted_hands = replace(
        floor, cards=np.sort(floor.cards, axis=1), dealer_cards=np.sort(floor.dealer_cards, axis=1)
    )
    store = create_store(tmp_path / "log", buckets=3)
    for place in range(10):  # 8 rows each: no import can tell
        rows = sorted_hands.take(np.arange(8 * place, 8 * place + 8))
        import_log([write_csv(rows, tmp_path / f"{place}.csv")], store)
    assert not is_ordered(open_store(store.path))
    as_dealt = create_store(tmp_path / "dealt", buckets=3)
    import_log([write_csv(floor.take(np.arange(80)), tmp_path / "dealt.csv")], as_dealt)
    assert is_ordered(open_store(as_dealt.path))
