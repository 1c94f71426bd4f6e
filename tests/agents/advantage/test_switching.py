"""The best swap against all swaps by hand, and what it wins."""

from itertools import product

import numpy as np
import pytest

from niulab.agents.advantage.switching import best_swaps, strengths
from niulab.engine.batch import BatchEngine
from niulab.engine.hands import best_arrangement
from niulab.engine.rules import load_rules
from niulab.engine.wagers import Slip
from niulab.evaluation.logged.settling import BoxNets, cells_of_hands

SHEET = load_rules("single-double-super")


def dealt(n, n_seats=2):
    rows = np.arange(n, dtype=np.uint64), np.zeros(n, dtype=np.int64)
    return BatchEngine(SHEET, n_seats).deal(*rows), rows


def test_the_best_swap_is_the_best_of_all():
    packets, _ = dealt(40)
    own, other = best_swaps(SHEET, packets[:, 0], packets[:, 1])
    for i in range(len(packets)):
        mine, theirs = packets[i, 0].tolist(), packets[i, 1].tolist()
        best = best_arrangement(mine, SHEET).strength
        for a, b in product(range(5), repeat=2):
            tried = [*mine[:a], theirs[b], *mine[a + 1 :]]
            best = max(best, best_arrangement(tried, SHEET).strength)
        assert best_arrangement(own[i].tolist(), SHEET).strength == best
        assert sorted([*own[i], *other[i]]) == sorted([*mine, *theirs])
        assert (own[i] != packets[i, 0]).sum() == (other[i] != packets[i, 1]).sum() <= 1


def test_strengths_order_hands_as_the_reference_does():
    packets, _ = dealt(200)
    hands = packets[:, 0]
    expected = [best_arrangement(hand, SHEET).strength for hand in hands.tolist()]
    assert (np.argsort(strengths(SHEET, hands)) == np.argsort(expected)).all()


def test_a_switcher_wins_what_is_published():
    packets, _ = dealt(60_000)
    own, _ = best_swaps(SHEET, packets[:, 0], packets[:, 1])
    cells = cells_of_hands(SHEET, own, packets[:, 2])
    stakes = np.full(len(cells), 100)
    wins = (BoxNets(SHEET, "single").nets(stakes, cells) > 0).mean()
    assert wins == pytest.approx(0.930, abs=4.5 * (0.93 * 0.07 / len(cells)) ** 0.5)
    nets = BoxNets(SHEET, "super").nets(stakes, cells) / 100
    assert nets.mean() == pytest.approx(7.85, abs=4.5 * nets.std() / len(nets) ** 0.5)


@pytest.mark.parametrize(
    "name", ["single-double-super", "even-double-super-bonus", "bull-bull-live"]
)
def test_cells_and_nets_are_the_engines(name):
    rules = load_rules(name)
    engine = BatchEngine(rules, 2)
    rows = np.arange(3000, dtype=np.uint64), np.arange(3000)
    packets, cells = engine.deal(*rows), engine.cells(*rows)
    for seat in range(2):
        assert (cells_of_hands(rules, packets[:, seat], packets[:, 2]) == cells[:, seat]).all()
    slip = Slip.of(dict.fromkeys(rules.boxes, 400))
    settled = sum(BoxNets(rules, box).nets(np.full(3000, 400), cells[:, 0]) for box in rules.boxes)
    assert (settled == engine.play(slip, *rows)[:, 0]).all()
