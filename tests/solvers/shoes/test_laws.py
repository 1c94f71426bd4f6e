"""Laws of depleted shoes: against enumeration, the sweep over all hands, and published figures."""

from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from niulab.engine.cards import Card
from niulab.engine.hands import best_arrangement
from niulab.engine.ranking import ranker
from niulab.engine.rules import load_rules
from niulab.engine.wagers import Slip
from niulab.errors import RulesError
from niulab.solvers.joint_law import joint_law
from niulab.solvers.shoes.classes import event_classes, rank_classes
from niulab.solvers.shoes.laws import WinLaw, event_counts, hands_left
from niulab.solvers.shoes.slips import ShoeSlips, shoe_slips
from niulab.solvers.values import bonus_ev, slip_values

BONUS, FLUSH = load_rules("six-deck-shoe-bonus"), load_rules("six-deck-shoe-flush")
MENU = tuple(
    Slip.of(text)
    for text in (
        "even=100",
        "even=200",
        "even=100,double=100",
        "even=100,super=100",
        "even=100,bonus=100",
        "even=500,bonus=500",
    )
)
TINY = "KS KS KD QH JC JC 10S 10S 9D 5C AS AS 2H"


def ids(text):
    return [Card.of(card).id for card in text.split()]


def left_of(cards):
    return np.bincount(cards, minlength=52)[None]


def depleted(seed, n_left):
    full = np.repeat(np.arange(52), 6)
    return left_of(np.random.default_rng(seed).permutation(full)[:n_left])


def test_classes_are_the_coarsest_that_the_sheet_tells_apart():
    assert event_classes(FLUSH).n == 8
    assert event_classes(FLUSH).names[4:] == (
        "J Q K of D",
        "J Q K of C",
        "J Q K of H",
        "J Q K of S",
    )
    names = event_classes(BONUS).names
    assert len(names) == 9
    assert "10 of D H" in names
    assert rank_classes(BONUS).names == (*"A23456789", "10", "J Q K")
    suited = load_rules("even-double-super-bonus")
    assert event_classes(suited).n == 9


@pytest.mark.parametrize("rules", [BONUS, FLUSH], ids=lambda rules: rules.name)
def test_a_tiny_shoe_is_that_of_enumeration(rules):
    """Every ordered pair of disjoint hands of thirteen cards, dealt by hand."""
    cards = ids(TINY)
    hands = list(combinations(range(len(cards)), 5))
    strengths = {hand: best_arrangement(sorted(cards[i] for i in hand), rules) for hand in hands}
    wins, total = Counter(), 0
    for own in hands:
        rest = [i for i in range(len(cards)) if i not in own]
        for dealer in combinations(rest, 5):
            total += 1
            if strengths[own].strength > strengths[dealer].strength:
                wins[strengths[own].rank_index] += 1
    found = WinLaw(rules).wins(left_of(cards))[0]
    expected = [wins[rank] / total for rank in range(len(rules.ranks))]
    assert found == pytest.approx(expected, abs=1e-13)
    sets = np.sort(np.array(cards, dtype=np.uint8)[np.array(hands)], axis=1)
    counted = np.bincount(ranker(rules).events(sets), minlength=1 << len(rules.events))
    assert event_counts(rules, left_of(cards))[0].tolist() == counted.tolist()


def test_counts_of_events_are_hypergeometric():
    """Awards by hand: C(72, 5) of faces, four suits of C(78, 5) each, four of C(18, 5) in both."""
    full = np.array([FLUSH.deck.composition])
    counts = event_counts(FLUSH, full)[0]
    assert hands_left(full)[0] == counts.sum() == 23_856_384_552
    faces, flush = (FLUSH.events.index(name) for name in ("five_faces", "flush"))
    both = 4 * 8568  # C(18, 5)
    assert counts[1 << faces | 1 << flush] == both
    assert counts[1 << faces] == 13_991_544 - both
    assert counts[1 << flush] == 4 * 21_111_090 - both


def test_the_full_shoe_is_worth_the_published_figures():
    """``niulab solve six-deck-shoe-flush``, whose sweep over all hands is another road."""
    values = shoe_slips(FLUSH, MENU).fresh / 100
    even = float(Fraction(-165317672554262029, 7287301493041766196))
    double = float(Fraction(-323776407513923453, 12145502488402943660))
    most = float(Fraction(-5072006975754715043, 36436507465208830980))
    bonus = float(Fraction(-10058795, 142002289))
    expected = [even, 2 * even, even + double, even + most, even + bonus, 5 * (even + bonus)]
    assert values == pytest.approx(expected, abs=1e-12)


@pytest.mark.long
@pytest.mark.parametrize("rules", [BONUS, FLUSH], ids=lambda rules: rules.name)
def test_a_depleted_shoe_is_that_of_the_sweep(rules):
    left = depleted(3, 62)
    law = joint_law(rules, left[0].tolist())
    nets = shoe_slips(rules, MENU).nets(left)[0]
    expected = [float(slip_values(rules, slip, law).ev_cents) for slip in MENU]
    assert nets == pytest.approx(expected, abs=1e-10)


def test_bonus_boxes_of_a_depleted_shoe_are_those_of_all_hands():
    left = depleted(4, 100)
    slips = shoe_slips(FLUSH, MENU)
    expected = bonus_ev(FLUSH, "bonus", left[0].tolist())
    assert slips.bonus_nets(left)[0, [0, 4, 5]] == pytest.approx(
        [0, 100 * float(expected), 500 * float(expected)], abs=1e-11
    )


def test_one_removed_card_changes_the_mean_by_its_effect_and_all_effects_cancel():
    """Effects of removal, weighted by the cards, add up to 0: the first round is as any other."""
    slips = shoe_slips(FLUSH, MENU)
    classes = event_classes(FLUSH)
    counts = classes.count(slips.full)[0]
    effects = slips.removals[4]
    assert (
        sum(n * effects[name] for n, name in zip(counts.tolist(), classes.names, strict=True)) == 0
    )
    copies = list(FLUSH.deck.composition)
    copies[ids("QH")[0]] -= 1
    change = bonus_ev(FLUSH, "bonus", copies) - bonus_ev(FLUSH, "bonus")
    assert effects["J Q K of H"] == 100 * change
    # no suit's removal says more of a flush than another's
    assert len(set(effects.values())) == 2


def test_main_boxes_cost_money_from_every_shoe_and_the_optimum_never_adds_to_them():
    left = np.concatenate([depleted(seed, 60) for seed in range(30)])
    slips = ShoeSlips(FLUSH, MENU)
    assert (slips.main_nets(left) < 0).all()
    assert slips.can_be_best.tolist() == [0, 4, 5]
    assert not slips.shares_main
    assert (slips.best(left) == slips.nets(left).argmax(axis=1)).all()
    least = ShoeSlips(FLUSH, MENU[:5])
    assert least.shares_main
    assert (least.best(left) == least.nets(left).argmax(axis=1)).all()


def test_every_round_of_a_shoe_is_worth_the_first():
    """Exchangeability: the mean of the conditional values of the 20th round is the fresh value."""
    full = np.repeat(np.arange(52), 6)
    rng = np.random.default_rng(0)
    left = np.concatenate([left_of(rng.permutation(full)[:122]) for _ in range(4_000)])
    slips = shoe_slips(FLUSH, MENU)
    nets = slips.bonus_nets(left)[:, 4]
    error = nets.std() / np.sqrt(len(nets))
    assert abs(nets.mean() - slips.fresh_bonus[4]) < 4 * error
    mains = slips.main_nets(left[:300])[:, 3]
    error = mains.std() / np.sqrt(len(mains))
    assert abs(mains.mean() - slips.fresh_main[3]) < 4 * error


@pytest.mark.parametrize(
    ("name", "said"),
    [("single-double-super", "card by card"), ("even-double-super-bonus", "card by card")],
)
def test_sheets_without_a_short_form_are_refused(name, said):
    with pytest.raises(RulesError, match=said):
        WinLaw(load_rules(name))
