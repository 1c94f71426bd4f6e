"""Audits of slices and buckets add up: the same for any number of workers, slices and imports."""

import json
from collections import Counter, defaultdict
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from logs_on_disk import write_csv
from play_logs import played

from niulab.engine.rules import load_rules
from niulab.evaluation.detection.monitoring import monitor as monitor_room
from niulab.evaluation.detection.monitoring import rounds as rounds_room
from niulab.evaluation.detection.monitoring.judging import judge_log
from niulab.evaluation.detection.monitoring.monitor import monitor
from niulab.evaluation.detection.monitoring.slices import cuts_of, parts_of
from niulab.evaluation.playlog.plays import Flag
from niulab.evaluation.playlog.replay import replayed, setting_costs
from niulab.evaluation.playlog.rounds import flag_rounds
from niulab.evaluation.playlog.store.folder import create_store
from niulab.evaluation.playlog.store.importing import import_log

SHEETS = ("single-double-super", "ngau-ngau-hong-kong", "six-deck-shoe-bonus")
SHOE = 2
KING = 51
N_ROUNDS = 150
INSIDE = 60  # a round that an import cuts in two


@pytest.fixture(scope="module")
def log():
    """Rounds under three sheets in turn: hands set wrong, a king brought to every fourth round,
    every seventh called off, cards shown that were not dealt, and payments that err.
    """
    plays = played(N_ROUNDS, sheets=SHEETS, n_seats=4, seed=3)
    cards, nets, shown = plays.cards.copy(), plays.nets.copy(), plays.shown.copy()
    brought = (plays.round % 4 == 1) & (plays.seat == 2) & ~(cards == KING).any(axis=1)
    pair = np.where(brought[:, None], 52, plays.pair)
    cards[brought, 4] = KING
    is_void = plays.round % 7 == 3
    nets[is_void] = 0
    nets[(plays.round % 11 == 5) & (plays.seat == 1), 0] += 100
    odd = (plays.round % 13 == 6) & (plays.seat == 3)
    shown[odd] = plays.dealer_cards[odd]
    return replace(
        plays, cards=cards, pair=pair.astype(np.uint8), nets=nets, shown=shown,
        dealer=(plays.round // 40).astype(np.int32),
        void=np.where(is_void, 0, -1).astype(np.int32),
        texts=replace(plays.texts, voids=("foul",), dealers=("d0", "d1", "d2", "d3")),
    )  # fmt: skip


def judged_after(parts, folder, **settings):
    """What is said after imports with a run after each."""
    folder.mkdir()
    store = create_store(folder / "log", buckets=3)
    for place, part in enumerate(parts):
        import_log([write_csv(part, folder / f"{place}.csv")], store)
        judged = judge_log(monitor(store, folder / "state", **settings))
    return judged


@pytest.fixture(scope="module")
def whole(log, tmp_path_factory):
    return judged_after([log], tmp_path_factory.mktemp("whole") / "log")


def plain(content):
    """As text: what went through a kept state has lists for tuples."""
    return json.dumps(content)


@pytest.mark.parametrize("workers", [1, 2])
def test_workers_and_slices_change_nothing(log, whole, tmp_path, monkeypatch, workers):
    monkeypatch.setattr(rounds_room, "cuts_of", partial(cuts_of, rows=70))
    monkeypatch.setattr(monitor_room, "_FEW_ROWS", 0)
    cut = judged_after([log], tmp_path / "cut", workers=workers)
    assert len(cuts_of(parts_of(cut.monitored.store, [1])[0], rows=70)) == 8  # 600 rows
    assert plain(cut.as_dict()) == plain(whole.as_dict())
    again = judge_log(monitor(cut.monitored.store, tmp_path / "cut" / "state", workers=workers))
    assert plain(again.as_dict()) == plain(whole.as_dict())  # from the kept state


def test_imports_between_rounds_or_inside_one_change_no_audit(log, whole, tmp_path):
    before = log.round < INSIDE
    between = judged_after([log.take(before), log.take(~before)], tmp_path / "between")
    assert plain(between.audit) == plain(whole.audit)
    assert plain(between.tables) == plain(whole.tables)
    before |= (log.round == INSIDE) & (log.seat < 3)
    inside = judged_after([log.take(before), log.take(~before)], tmp_path / "inside")
    assert plain(inside.audit) == plain(whole.audit)
    counted = ("by", "name", "monitor", "rounds", "left_out")
    for one, other in zip(inside.tables, whole.tables, strict=True):
        assert [one[name] for name in counted] == [other[name] for name in counted]
    for name in ("settings", "card_rounds", "unmonitored", "n_findings"):
        mine, known = (getattr(one.monitored.tables.audits, name) for one in (inside, whole))
        assert mine == known, name


def test_the_figures_are_those_of_a_count_by_hand(log, whole):
    rules = [load_rules(name) for name in SHEETS]
    texts, audit = log.texts, whole.audit
    name = [texts.players[code] for code in log.player]
    is_void, is_shoe = log.void >= 0, log.rules == SHOE

    # who held a card that another hand held, in rounds of one deck that were not called off
    rounds, doubled, n_cards = defaultdict(set), defaultdict(set), 0
    for number in range(N_ROUNDS):
        rows = np.flatnonzero((log.round == number) & ~is_void & ~is_shoe)
        holders = Counter(card for row in rows for card in log.cards[row].tolist())
        holders.update(log.dealer_cards[rows[0]].tolist() if len(rows) else ())
        n_cards += sum(n > 1 for n in holders.values())
        for row in rows:
            rounds[name[row]].add(number)
            if any(holders[card] > 1 for card in log.cards[row].tolist()):
                doubled[name[row]].add(number)
    assert n_cards > 3
    assert len(audit["cards_twice"]) == n_cards
    assert {one["card"] for one in audit["cards_twice"]} == {"KS"}
    audits = whole.monitored.tables.audits
    assert audits.card_rounds == {player: len(those) for player, those in rounds.items()}
    held = {one["player"]: (one["rounds"], one["doubled"]) for one in audit["held_twice"]}
    assert held == {who: (len(rounds[who]), len(those)) for who, those in doubled.items()}

    flagged = replayed(
        flag_rounds(
            replace(log, flags=np.where(is_void, int(Flag.VOID), 0).astype(np.uint16)), rules
        ),
        rules,
    )
    wrong = (flagged.flags & int(Flag.MIS_SET)) != 0
    costs = np.where(is_shoe, 0, setting_costs(flagged, rules))
    assert costs[wrong].any()
    assert {
        one["player"]: (one["mis_set"], one["cost_cents"])
        for one in audit["mis_sets"] if one["by"] == "player"
    } == {
        player: (int(wrong[mine].sum()), int(costs[mine].sum()))
        for player in texts.players
        if wrong[mine := np.array([one == player for one in name])].any()
    }  # fmt: skip

    seats = {(one["round"], one["seat"]): one for one in audit["void_seats"]}
    rows = np.flatnonzero(is_void)
    assert set(seats) == {(texts.rounds[log.round[r]], int(log.seat[r])) for r in rows}
    assert {one["reason"] for one in audit["void_seats"]} == {"foul"}
    assert sum(one["stake_cents"] for one in seats.values()) == log.stakes[rows].sum()
    assert len(audit["other_cards"]) == sum(
        number % 13 == 6 and number % 7 != 3 for number in range(N_ROUNDS)
    )

    left_out = {one["name"]: one["left_out"] for one in whole.tables if one["by"] == "table"}
    reason = f"the sheet '{SHEETS[SHOE]}' is not dealt from one full deck every round"
    for code, table in enumerate(texts.tables):
        n = len(set(log.round[is_shoe & (log.table == code)].tolist()))
        assert left_out[table] == {reason: n}
