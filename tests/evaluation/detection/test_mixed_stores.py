"""Stores of several sorts: cards in the order dealt beside sorted hands, one deck beside shoes."""

from dataclasses import replace

import numpy as np
import pytest
from logs_on_disk import MARCH, write_csv
from table_players import seated

from niulab.engine.rules import load_rules
from niulab.evaluation.detection.features import CARD_SLOTS
from niulab.evaluation.detection.monitoring.judging import judge_log
from niulab.evaluation.detection.monitoring.monitor import monitor
from niulab.evaluation.detection.report import write_report
from niulab.evaluation.playlog.store.folder import create_store
from niulab.evaluation.playlog.store.importing import import_log

UNORDERED = "cards are not recorded in the order dealt"


def imported(parts, folder):
    """A store of the parts, one import each."""
    folder.mkdir()
    store = create_store(folder / "log", buckets=2)
    for place, part in enumerate(parts):
        import_log([write_csv(part, folder / f"{place}.csv")], store)
    return store


def laid_out(plays, order):
    """The same hands, their cards in another order: "dealt", "ascending" or "descending"."""
    if order == "dealt":
        return plays
    step = 1 if order == "ascending" else -1
    return replace(
        plays,
        cards=np.sort(plays.cards, axis=1)[:, ::step],
        dealer_cards=np.sort(plays.dealer_cards, axis=1)[:, ::step],
    )


@pytest.fixture(scope="module")
def nights(sheet):
    """Two nights of two tables with three seats each and stakes that vary."""
    plays = seated(sheet, 2, 3, 60, seed=31)
    stakes = plays.stakes.copy()
    rng = np.random.default_rng(32)
    stakes[:, 0] = 100 * rng.integers(1, 6, len(plays))
    stakes[:, 2] = 100 * (rng.random(len(plays)) < 0.4)
    plays = replace(plays, stakes=stakes, time=MARCH + plays.time * 60_000_000)
    is_first = plays.time < MARCH + 30 * 60_000_000
    return plays.take(is_first), plays.take(~is_first)


@pytest.fixture(scope="module")
def mixed(nights, tmp_path_factory):
    """The monitor over the first night as dealt and the second in an order."""
    folder, (first, second) = tmp_path_factory.mktemp("mixed"), nights
    found = {}
    for order in ("dealt", "ascending", "descending"):
        store = imported([first, laid_out(second, order)], folder / order)
        found[order] = monitor(store, folder / order / "state")
    return found


def test_sorted_hands_beside_dealt_ones_bet_on_no_place(mixed):
    """Whichever way the second night is sorted, every component is worth the same to the bit; were
    its cards taken for the order dealt, those by place would not be.
    """
    assert all(found.ordered for found in mixed.values())
    assert mixed["ascending"].people.names == mixed["descending"].people.names
    up, down, dealt = (
        mixed[order].people.states.values for order in ("ascending", "descending", "dealt")
    )
    assert up.tobytes() == down.tobytes()
    portfolio = mixed["dealt"].portfolio
    by_place = np.array([component.slot in CARD_SLOTS for component in portfolio.components])
    assert by_place.any()
    assert not by_place.all()
    differs = (up != dealt).any(axis=0)
    assert differs[by_place].all()
    assert not differs[~by_place].any()


def test_monitors_look_at_the_dealt_night_alone_and_say_so(mixed):
    for order, left_out in (("ascending", {UNORDERED: 30}), ("dealt", {})):
        tables = [one for one in judge_log(mixed[order]).tables if one["by"] == "table"]
        assert [one["name"] for one in tables] == ["t0", "t1"]
        assert [one["rounds"] for one in tables] == [60 - sum(left_out.values())] * 2
        assert all(one["monitor"] == "on" and one["left_out"] == left_out for one in tables)
        assert not any(one["alarm"] for one in tables)


def test_many_small_sorted_imports_are_no_bad_shuffle(nights, tmp_path):
    """No import of 18 hands can tell that they are sorted; all of the store together can."""
    first, _ = nights
    rounds = (first.time - MARCH) // 60_000_000
    parts = [laid_out(first.take(rounds // 3 == k), "ascending") for k in range(10)]
    found = monitor(imported(parts, tmp_path / "small"), tmp_path / "state")
    assert not found.ordered
    tables = [one for one in judge_log(found).tables if one["by"] == "table"]
    assert [one["name"] for one in tables] == ["t0", "t1"]
    for one in tables:
        assert (one["monitor"], one["rounds"], one["e_value"]) == ("off", 0, None)
        assert one["left_out"] == {UNORDERED: 30}


def test_a_shoe_of_several_decks_turns_the_monitor_off_with_the_reason(nights, tmp_path):
    first, _ = nights
    shoe = "six-deck-shoe-bonus"
    assert load_rules(shoe).deck.decks == 6
    plays = replace(
        first, rules=first.table, texts=replace(first.texts, rules=(first.texts.rules[0], shoe))
    )
    found = monitor(imported([plays], tmp_path / "shoe"), tmp_path / "state")
    judged = judge_log(found)
    on, off = (one for one in judged.tables if one["by"] == "table")
    assert (on["name"], on["monitor"], on["rounds"], on["left_out"]) == ("t0", "on", 30, {})
    assert (off["name"], off["monitor"], off["rounds"]) == ("t1", "off", 0)
    assert off["e_value"] is off["log_e"] is None
    assert not off["alarm"]
    reason = f"the sheet '{shoe}' is not dealt from one full deck every round"
    assert off["left_out"] == {reason: 30}
    again = judge_log(monitor(found.store, tmp_path / "state"))  # from the kept state
    assert again.tables == judged.tables
    page = write_report(judged, tmp_path / "report").read_text("utf-8")
    assert f"30: the sheet &#x27;{shoe}&#x27; is not dealt from one full deck" in page
