"""Counts of a shoe of several decks: shared by sheets, and summed by classes of hands."""

import numpy as np
import pytest
from interrupts import interrupt_at

from niulab.engine.rules import load_rules
from niulab.solvers import kernels
from niulab.solvers import matchups as room
from niulab.solvers.information import law_given_card
from niulab.solvers.limits.looks import _bonus_by_card, without_bonus
from niulab.solvers.matchups import matchups
from niulab.solvers.values import bonus_ev


@pytest.fixture(scope="module")
def shoe():
    return load_rules("six-deck-shoe-bonus")


def test_sheets_that_pay_on_other_hands_share_one_sweep(shoe):
    with_awards, plain = matchups(shoe), matchups(without_bonus(shoe))
    assert plain.less is with_awards.less
    assert plain.class_counts is with_awards.class_counts
    assert with_awards.events.any()
    assert not plain.events.any()


def test_sums_by_class_are_those_of_single_hands(shoe):
    """Products of weights and counts pass 64 bits here once a class is added up."""
    table = matchups(shoe)
    law = law_given_card(shoe, "red")
    is_red = np.isin(np.arange(52) % 4, (0, 2))
    seen = table.weights * sum(is_red[column] for column in table.hands.T)
    for rank in (len(shoe.ranks) - 1, len(shoe.ranks) - 2):
        rows = np.flatnonzero((table.ranks == rank) & (seen > 0))
        for dealer in (0, 3):
            counts = table.class_counts[table.class_of[rows], dealer]
            total = sum(a * b for a, b in zip(seen[rows].tolist(), counts.tolist(), strict=True))
            cells = [
                n for c, n in law.cells.items() if (c.player_rank, c.dealer_rank) == (rank, dealer)
            ]
            assert sum(cells) == total > 0


def test_awards_given_a_card_need_the_hands_that_earn_one_alone(shoe):
    own, dealer = _bonus_by_card(shoe, "bonus")
    n = sum(shoe.deck.composition)
    mean = bonus_ev(shoe, "bonus")
    for card in (0, 51):
        left = list(shoe.deck.composition)
        left[card] -= 1
        assert dealer[card] == bonus_ev(shoe, "bonus", left)  # over all hands
        assert (5 * own[card] + (n - 5) * dealer[card]) / n == mean


@pytest.mark.parametrize("piece", [40_000, 300_000])
def test_a_sweep_in_pieces_hears_an_interrupt_and_counts_the_same(monkeypatch, piece):
    """From a deck without an ace of diamonds, which no file keeps."""
    rules, copies = load_rules("even-double-super-bonus"), [0, *[1] * 51]
    monkeypatch.setattr(room, "_CACHE", {})
    whole = matchups(rules, copies)
    room._CACHE.clear()
    monkeypatch.setattr(room, "_PIECE", piece)
    pieces = matchups(rules, copies)
    for name in ("less", "equal", "class_counts"):
        assert np.array_equal(getattr(pieces, name), getattr(whole, name)), name
    assert whole.less.any()
    room._CACHE.clear()
    calls = interrupt_at(monkeypatch, kernels, "add_up", 2)
    with pytest.raises(KeyboardInterrupt):
        matchups(rules, copies)
    assert len(calls) == 2
    assert room._CACHE == {}
