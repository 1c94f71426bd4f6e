"""Cards that lie twice: which, whose, and what may be said of the player who holds them."""

from collections import Counter, defaultdict
from dataclasses import replace
from math import comb, exp, log

import numpy as np
import pytest
from logs_on_disk import MARCH, write_csv
from table_players import seated

from niulab.engine.cards import card_text
from niulab.evaluation.detection.monitoring.judging import judge_log
from niulab.evaluation.detection.monitoring.monitor import monitor
from niulab.evaluation.detection.tables.twice import (
    cards_twice,
    count_held,
    held_twice,
    rounds_with_cards,
)
from niulab.evaluation.playlog.plays import Flag
from niulab.evaluation.playlog.rounds import flag_rounds
from niulab.evaluation.playlog.store.folder import create_store
from niulab.evaluation.playlog.store.importing import import_log

KING = 51


@pytest.fixture(scope="module")
def held_out(sheet):
    """p1 of three brings a king of spades to 40 % of 200 rounds; others hold it in a third."""
    plays = seated(sheet, 1, 3, 200, seed=21)
    cards = plays.cards.copy()
    mine = np.flatnonzero((plays.player == 1) & ~(cards == KING).any(axis=1))
    brought = mine[np.random.default_rng(5).random(len(mine)) < 0.4]
    cards[brought, 4] = KING
    return flag_rounds(replace(plays, cards=cards), [sheet])


def by_hand(plays):
    """(round, card) to the holders: seats, and 0 for the dealer."""
    holders = defaultdict(set)
    for row in range(len(plays)):
        name = plays.texts.rounds[plays.round[row]]
        for card in plays.cards[row].tolist():
            holders[name, card_text(card)].add(int(plays.seat[row]))
        for card in plays.dealer_cards[row].tolist():
            holders[name, card_text(card)].add(0)
    return {key: tuple(sorted(seats)) for key, seats in holders.items() if len(seats) > 1}


def test_every_card_in_two_hands_is_listed_with_who_held_it(held_out):
    found = cards_twice(held_out)
    assert {(one.round, one.card): one.seats for one in found} == by_hand(held_out)
    assert {one.card for one in found} == {"KS"}
    assert len(found) > 3
    for one in found:
        assert one.players == tuple(f"p{seat - 1}" for seat in one.seats if seat)
        assert "p1" in one.players
    void = replace(held_out, flags=held_out.flags | np.uint16(Flag.VOID))
    assert cards_twice(void) == []
    of_shoes = replace(held_out, rules=np.full_like(held_out.rules, -1))
    assert cards_twice(of_shoes) == []


def test_rounds_and_cards_by_player(held_out):
    rounds, cards = count_held(cards_twice(held_out))
    assert rounds["p1"] == cards["p1"]["KS"] == len(by_hand(held_out))
    assert rounds["p0"] + rounds["p2"] <= rounds["p1"]  # the dealer held the others
    assert rounds_with_cards(held_out) == Counter({"p0": 200, "p1": 200, "p2": 200})


@pytest.mark.parametrize("n", [1, 40])
def test_at_the_bound_the_e_value_has_mean_one(n):
    """Over the binomial law of mistakes, enumerated; below the bound the mean is less."""

    def mean(rate):
        total = 0.0
        for k in range(n + 1):
            (one,) = held_twice({"p": n}, {"p": k}, {"p": {}}, bound=0.01)
            total += comb(n, k) * rate**k * (1 - rate) ** (n - k) * exp(one.log_e)
        return total

    assert abs(mean(0.01) - 1) <= 1e-12
    assert mean(0.005) < 1


def test_who_holds_cards_out_is_found_and_the_round_kept_out_of_the_e_values(held_out, tmp_path):
    store = create_store(tmp_path / "log", buckets=2)
    timed = replace(held_out, time=MARCH + held_out.time * 60_000_000)
    import_log([write_csv(timed, tmp_path / "log.csv")], store)
    judged = judge_log(monitor(store, tmp_path / "state"))
    held = {one["player"]: one for one in judged.audit["held_twice"]}
    n = len(by_hand(held_out))
    assert (held["p1"]["rounds"], held["p1"]["doubled"], held["p1"]["cards"]) == (200, n, {"KS": n})
    assert held["p1"]["alarm"]
    assert held["p1"]["log_e"] >= log(1_000)
    assert held["p1"]["bound"] == 0.01
    assert len(judged.audit["cards_twice"]) == n
    (said,) = [line for line in judged.data_quality["warnings"] if "a card twice" in line]
    assert said.startswith(f"{3 * n} rows")
    assert "probability 0" in said
    again = judge_log(monitor(store, tmp_path / "state"))  # from the kept state
    assert again.audit["held_twice"] == judged.audit["held_twice"]
