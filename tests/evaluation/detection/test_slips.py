"""Which boxes are raised: exact chances, means of one, and how much of the information is heard."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from niulab.agents.advantage.config import HoleCarder
from niulab.agents.advantage.sight import seen_information, seen_plan
from niulab.engine.rules import load_rules
from niulab.errors import ConfigError
from niulab.evaluation.detection.attacks.slips import SLIP_RATES, raise_chances, slip_table
from niulab.evaluation.detection.features import card_law, card_values, least_stakes, top_box
from niulab.evaluation.detection.portfolio import declared_portfolio
from niulab.evaluation.detection.scores import (
    N_STATISTICS,
    RAISED_DIGITS,
    round_starts,
    score_bins,
)
from niulab.evaluation.playlog.plays import Plays, Vocabularies

MAIN = ("single", "double", "super")
SHEETS = ["single-double-super", "even-double-super-bonus", "bull-bull-live"]


@settings(max_examples=40, deadline=None)
@given(
    st.integers(2, 30),
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=3),
    st.sampled_from([None, *range(1, 8)]),
    st.integers(0, 2**32 - 1),
)
def test_any_bettor_s_factors_have_mean_one(n_levels, rates, declared, seed):
    rng = np.random.default_rng(seed)
    law = rng.dirichlet(np.ones(n_levels))
    favors = rng.random((n_levels, 3)) < rng.random(3)
    table = slip_table(favors, law, np.array(rates), declared=declared)
    assert table.shape == (54, n_levels, len(rates))
    assert np.abs(np.einsum("v,bvk->bk", law, table) - 1).max() <= 1e-12
    assert (table >= 0).all()


def test_chances_are_those_of_the_bettor_in_fractions():
    sees, hides, low = Fraction(1, 2), Fraction(1, 10), 0
    favored = np.array([0, 0b010, 0b111])
    chances = raise_chances(favored, 0b111, np.array([[0.5, 0.1]]))[:, :, 0]
    blind = (1 - sees) * hides  # raised for cover without having seen a good card
    any_set = Fraction(1, 5) / 7
    # a good card: its boxes, or hidden; else nothing, or a cover of everything or of any set
    assert chances[0b010, 1] == pytest.approx(float(sees * (1 - hides) + blind * any_set))
    assert chances[0b111, 1] == pytest.approx(float(blind * (Fraction(4, 5) + any_set)))
    assert chances[low, 1] == pytest.approx(float(sees * hides + (1 - sees) * (1 - hides)))
    assert chances[0b001, 1] == pytest.approx(float(blind * any_set))
    # a bad card: as if he had seen nothing, cover included
    assert chances[low, 0] == pytest.approx(float(1 - hides))
    assert chances[0b111, 0] == pytest.approx(float(hides * (Fraction(4, 5) + any_set)))
    assert chances.sum(axis=0) == pytest.approx(np.ones(3))
    # boxes that have never varied play no part
    assert raise_chances(favored, 0b001, np.array([[0.5, 0.1]]))[0b001, 1, 0] == pytest.approx(0.1)


def test_nothing_that_can_be_raised_tells_nothing():
    favors = np.array([[True, False, False], [False, False, False]])
    law = np.array([0.5, 0.5])
    table = slip_table(favors, law, SLIP_RATES)
    silent = (RAISED_DIGITS[:, 0] == 0).nonzero()[0]
    assert np.array_equal(table[:27], table[27:])  # whether Super is staked plays no part
    assert table[silent] == pytest.approx(np.ones_like(table[silent]), abs=1e-15)
    assert table[2, 0].min() > 1 > table[2, 1].max()  # the first box raised


def acts_of(sheet, seer):
    """Chance of each set of raised boxes by card, (52, 8), from the slips he really plays."""
    plan = seen_plan(sheet, seer)
    columns = [plan.boxes.index(box) for box in MAIN]

    def raised(slip):
        return sum(1 << k for k, column in enumerate(columns) if slip[column] > plan.low[column])

    acts = np.zeros((52, 8))
    for card in range(52):
        signal = card // 4
        for chance, place in ((seer.see_rate, signal), (1 - seer.see_rate, 13)):
            good = plan.is_favorable[place]
            own, other = (plan.slips[place], plan.low) if good else (plan.low, plan.cover)
            rate = seer.hold_back if good else seer.cover_bet
            acts[card, raised(own)] += chance * (1 - rate)
            acts[card, raised(other)] += chance * rate
    return acts


@pytest.mark.parametrize("place", [0, 5])
@pytest.mark.parametrize("high", ["single=500", "super=100", "single=500,double=500,super=500"])
def test_one_component_hears_most_of_what_every_bettor_tells(sheet, place, high):
    boxes = [box.split("=")[0] for box in high.split(",")]
    mask = sum(1 << MAIN.index(box) for box in boxes)
    (block,) = declared_portfolio(sheet, place=place, box=boxes).blocks
    codes = [
        int(((1 + np.array([(raised >> k) & 1 for k in range(3)])) * 3 ** np.arange(3)).sum())
        for raised in range(8)
    ]
    table = block.tables[0][codes]  # (8 sets, 52, k)
    for see_rate in (1.0, 0.7, 0.5, 0.25):
        for hides in (0.0, 0.1, 0.2):
            seer = HoleCarder(
                place=place, see_rate=see_rate, high=high, cover_bet=hides, hold_back=hides
            )
            acts = acts_of(sheet, seer)
            assert (acts[:, [s for s in range(8) if s & ~mask]] == 0).all()
            # his information, once more from the sets alone: nothing else of his slips tells
            means = acts.mean(axis=0)
            ratios = acts / np.maximum(means, 1e-300)
            heard = acts * np.log(np.where(acts > 0, ratios, 1.0))
            information = float(heard.sum() / 52)
            assert information == pytest.approx(seen_information(sheet, seer), rel=1e-12)
            growth = np.einsum("cs,sck->k", acts, np.log(table)) / 52
            assert growth.max() <= information
            assert growth.max() >= 0.75 * information


def test_several_boxes_tell_more_than_the_best_one(sheet):
    seer = HoleCarder(
        place=5, see_rate=0.25, high="single=500,double=500,super=500", cover_bet=0.1, hold_back=0.1
    )
    acts, law = acts_of(sheet, seer), card_law()
    sets = [int((3 ** np.arange(3)) @ [1 + (s >> k & 1) for k in range(3)]) for s in range(8)]

    def best_growth(boxes):
        table = declared_portfolio(sheet, place=5, box=boxes).blocks[0].tables[0][sets]
        return max(law @ np.einsum("cs,sck->ck", acts, np.log(table)))

    # one box: .0317 nats of .0778
    assert best_growth(MAIN) > 1.5 * max(best_growth(box) for box in MAIN)


@pytest.mark.parametrize("name", SHEETS)
def test_the_boxes_of_every_sheet_can_be_declared(name):
    rules = load_rules(name)
    for place in (0, 5):
        for box in (rules.required_box, "super"):
            portfolio = declared_portfolio(rules, place=place, box=box)
            (block,) = portfolio.blocks
            assert np.abs(np.einsum("v,bvk->bk", card_law(), block.tables[0]) - 1).max() <= 1e-12
            good = card_values(rules, box)[place // 5] > 0
            raised = RAISED_DIGITS[:, 0 if box == rules.required_box else 2] == 2
            sure = block.tables[0][:27][raised][:, :, 0]  # of who nearly always sees the card
            assert (sure[:, good] > 1).all()
            assert (sure[:, ~good] < 1).all()


def test_what_cannot_be_declared_is_told(sheet):
    with pytest.raises(ConfigError, match="place is 0 to 9, got 10"):
        declared_portfolio(sheet, place=10, box="super")
    with pytest.raises(ConfigError, match=r"some of single, double, super.* got super, triple"):
        declared_portfolio(sheet, place=5, box=("super", "triple"))
    with pytest.raises(ConfigError, match="got none"):
        declared_portfolio(sheet, place=5, box=())


def test_a_seat_that_is_staked_after_the_close_alone_changes_no_score(sheet):
    """Its late stake may follow the result; whether the row is there must not say what was raised.

    Two seats without a stake at the close beside the first: as if it were alone.
    """
    texts = Vocabularies(players=("ann",), rules=(sheet.name,))
    stakes = np.zeros((6, 4), dtype=np.int64)
    stakes[:4, :3] = [[200, 0, 0], [100, 0, 100], [200, 100, 0], [250, 100, 200]]
    plays = Plays.of(6, texts, player=0, rules=0, stakes=stakes, round=[0, 1, 2, 3, 3, 3])
    known = {
        "base_units": np.array([100.0]),
        "top_boxes": np.array([top_box(sheet)]),
        "least": least_stakes(sheet)[None],
    }
    fresh = np.zeros((1, N_STATISTICS))
    alone = plays.take(slice(0, 4))
    found = score_bins(plays, round_starts(plays), fresh, **known)
    expected = score_bins(alone, round_starts(alone), fresh, **known)
    assert (found.bins[:4] == expected.bins).all()
    assert (found.statistics == expected.statistics).all()
