"""Stakes changed after the close: exact means, the tenth winning raise, honest latecomers."""

from dataclasses import replace
from math import log

import numpy as np
import pytest
from table_players import seated

from niulab.engine.rules import load_rules
from niulab.engine.settlement import Outcome
from niulab.evaluation.detection.attacks.late import LATE, change_table, late_blocks
from niulab.evaluation.detection.features import SLOTS, award_law, result_law, slot_levels
from niulab.evaluation.detection.fold import PlayerStates, fold
from niulab.evaluation.detection.portfolio import Block, Portfolio, weighted
from niulab.evaluation.detection.scores import (
    N_STATISTICS,
    SCORES,
    Z_GRID,
    round_starts,
    score_bins,
)

SHEETS = ["single-double-super", "even-double-super-bonus", "bull-bull-live"]


def portfolio(sheet):
    return Portfolio((sheet,), tuple(weighted(list(late_blocks([sheet])), {LATE: 1.0})), "late")


def is_won(plays, sheet):
    level = slot_levels(plays, [sheet])[:, SLOTS.index("result")]
    cells = result_law(sheet).cells
    return np.array([cell.outcome == Outcome.WIN for cell in cells])[level]


@pytest.mark.parametrize("name", SHEETS)
def test_every_factor_has_mean_one(name):
    for block in late_blocks([load_rules(name), load_rules("single-double-super")]):
        for table, law in zip(block.tables, block.laws, strict=True):
            assert abs(law.sum() - 1) < 1e-12
            assert np.abs(np.einsum("v,bvk->bk", law, table) - 1).max() <= 1e-12
            assert (table >= 0).all()
            # no change says nothing, but to bettors who raise all that they foresee
            speaks = [one.strength.startswith("raised") for one in block.components]
            assert np.abs(table[1][:, ~np.array(speaks)] - 1).max() <= 1e-15


def test_a_change_follows_the_result_by_bayes_rule():
    law = np.array([0.25, 0.25, 0.5])
    good, bad = np.array([True, False, False]), np.array([False, True, True])
    table = change_table(good, bad, law, [0.8])[:, :, 0]
    assert table[2] == pytest.approx([0.2 + 0.8 * 4, 0.2, 0.2], rel=1e-15)
    assert table[0] == pytest.approx([0.2, *[0.2 + 0.8 / 0.75] * 2], rel=1e-15)


def test_awards_are_the_hands_of_the_sheet():
    law = award_law(load_rules("even-double-super-bonus"))
    assert law.sum() == pytest.approx(1, abs=1e-14)
    # 792 + 1,287 + 3,576 + 64,437 hands of game.md win something
    assert 1 - law[0] == pytest.approx((792 + 1_287 + 3_576 + 64_437) / 2_598_960, rel=1e-12)


def changed(sheet, n_rounds, sign, wins):
    """40 players who change a stake in a fifth of the rounds that end as they like; which ones."""
    plays = seated(sheet, 40, 1, n_rounds, seed=3)
    late = np.zeros((len(plays), 4), dtype=np.int64)
    rng = np.random.default_rng(4)
    is_changed = (is_won(plays, sheet) == wins) & (rng.random(len(plays)) < 0.2)
    late[is_changed, 0] = 100 * sign
    return seated(sheet, 40, 1, n_rounds, seed=3, late=late).by_player(), is_changed


def changes_to_alarm(watch, plays, is_changed):
    states = fold(watch, PlayerStates.fresh(40, watch), plays).states
    assert (states.alarms > 0).all()
    return [int(is_changed[plays.player == k][: states.alarms[k]].sum()) for k in range(40)]


@pytest.mark.parametrize(("sign", "wins"), [(1, True), (-1, False)])
def test_eleven_or_twelve_changes_that_all_pay_give_an_alarm(sheet, sign, wins):
    """A change that pays says ln 2 and 2**10 > 1,000; the bar also pays for when he began."""
    plays, is_changed = changed(sheet, 300, sign, wins)
    block = next(iter(late_blocks([sheet])))
    declared = Block(
        (replace(block.components[0], weight=1.0),),
        tuple(table[:, :, :1] for table in block.tables),
        block.laws,
    )
    watch = Portfolio((sheet,), (declared,), "past posting")
    assert set(changes_to_alarm(watch, plays, is_changed)) <= {11, 12}
    # five explanations in place of one: log2(5) = 2.3 changes more at most
    assert np.mean(changes_to_alarm(portfolio(sheet), plays, is_changed)) <= 12 + log(5) / log(2)


def test_late_stakes_on_an_award_need_two():
    rules = load_rules("even-double-super-bonus")
    plays = seated(rules, 4, 1, 400, seed=5)
    awards = slot_levels(plays, [rules])[:, SLOTS.index("award")] > 0
    late = np.zeros((len(plays), 4), dtype=np.int64)
    late[awards, 3] = 100
    plays = seated(rules, 4, 1, 400, seed=5, late=late).by_player()
    watch = portfolio(rules)
    states = fold(watch, PlayerStates.fresh(4, watch), plays).states
    at = [np.flatnonzero(awards[plays.player == k]) for k in range(4)]
    assert [int(states.alarms[k]) <= at[k][3] + 1 for k in range(4)] == [True] * 4


def test_honest_latecomers_raise_no_alarm(sheet):
    plays = seated(sheet, 400, 1, 100, seed=6)
    late = np.zeros((len(plays), 4), dtype=np.int64)
    late[:, 0] = 100 * np.random.default_rng(7).integers(-1, 2, len(plays))
    plays = seated(sheet, 400, 1, 100, seed=6, late=late).by_player()
    watch = portfolio(sheet)
    states = fold(watch, PlayerStates.fresh(400, watch), plays, alpha=0.05).states
    assert np.mean(states.peaks >= log(20)) <= 0.05 + 3 * (0.05 * 0.95 / 400) ** 0.5


def test_a_stake_whose_time_lies_after_the_close_is_late(sheet):
    times = np.array([5, 10, 11, np.iinfo(np.int64).min])
    plays = seated(sheet, 1, 1, 4, bet_time=times, close_time=10)
    starts = round_starts(plays)
    bins = score_bins(
        plays,
        starts,
        np.zeros((1, N_STATISTICS)),
        base_units=np.array([100.0]),
        top_boxes=np.array([2]),
        least=np.array([[100.0, 0.0, 0.0]]),
    ).bins
    assert bins[:, SCORES.index("late")].tolist() == [1, 1, 2, 1]
    assert bins[:, SCORES.index("always")].tolist() == [0] * 4
    assert bins[:, 0].max() < len(Z_GRID)
