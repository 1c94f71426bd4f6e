"""The oracle: no setting of any hand beats it, and it knows more than the highest rank."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from niulab.engine.rules import load_rules, parse_rules, shipped_names
from niulab.engine.wagers import Slip
from niulab.errors import RulesError
from niulab.solvers.hand_values import hand_values
from niulab.solvers.matchups import _Sweep, matchups
from niulab.solvers.one_hand import best_setting
from niulab.solvers.values import slip_values

SLIP = Slip.parse("single=100,double=100,super=100")


def test_best_setting_wins_half_and_random_and_no_claim_win_the_published_shares() -> None:
    values = hand_values(load_rules(), SLIP)
    wins = np.take_along_axis(values.win_counts, values.option_of.astype(np.intp), axis=1)
    total = values.table.n_deals
    assert Fraction(int(wins.max(axis=1).sum()), total) == Fraction(1, 2)
    assert abs(int(wins.sum()) / 10 / total - 0.2231446) < 0.5e-7  # uniformly random base


def test_showing_every_hand_as_high_card_wins_the_published_share() -> None:
    """Never claiming a niu: .1689506. The ten settings cannot quite do it, because all settings of
    a hand such as K K Q J 10 qualify; so the sweep is asked about high cards for every hand.
    """
    table = matchups(load_rules())
    sweep = _Sweep(table.hands, table.ranks, table.weights, None, 11, load_rules().deck.composition)
    as_high = np.zeros((len(table.hands), 1), dtype=np.uint8)
    _, less, _ = sweep.run(table.hands[:, 4].astype(np.int64), as_high, load_rules().order)
    assert abs(int(less.sum()) / table.n_deals - 0.1689506) < 0.5e-7


def test_share_of_optimal_settings_of_a_random_player() -> None:
    assert round(float(hand_values(load_rules(), SLIP).optimal.mean()), 3) == 0.443


@pytest.mark.parametrize("name", ["single-double-super", "ngau-ngau-hong-kong"])
def test_mean_of_the_best_values_is_the_slip_value(name: str) -> None:
    rules = load_rules(name)
    slip = Slip.parse("single=100")
    values = hand_values(rules, slip)
    assert values.mean(values.best) == slip_values(rules, slip).ev_cents


def check_oracle(name: str) -> None:
    values = hand_values(load_rules(name))
    chosen = values.of(values.oracle)
    assert (chosen == values.best).all()
    for action in range(10):
        assert (values.of(np.full(len(chosen), action)) <= chosen).all()


def test_no_setting_of_any_hand_beats_the_oracle() -> None:
    check_oracle("single-double-super")


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    [n for n in shipped_names() if load_rules(n).deck.decks == 1 and load_rules(n).boxes],
)
def test_no_setting_beats_the_oracle_on_any_shipped_one_deck_sheet(name: str) -> None:
    check_oracle(name)


def test_the_oracle_prefers_value_to_rank() -> None:
    """A sheet that pays nothing extra for high ranks but punishes one: the oracle sets below it."""
    rules = parse_rules(
        """
name = "odd"
title = "a sheet on which claiming is worse than not"
source = "test"
extends = "single-double-super"
[boxes.single]
win_odds = { default = 1, high_card = 50 }
lose_odds = { default = 1 }
"""
    )
    slip = Slip.parse("single=100")
    values = hand_values(rules, slip)
    niu_1 = np.flatnonzero(values.table.ranks == 1)[-3:]  # topped by the king of spades
    assert (values.table.options[niu_1, 1] == 0).all()
    for row in niu_1:
        hand = values.table.hands[row].tolist()
        assert values.option_of[row, values.oracle[row]] == 1
        assert values.option_of[row, best_setting(rules, hand, slip)] == 1


def test_with_the_dealers_hand_open_the_oracle_maximizes_the_settled_net() -> None:
    rules = load_rules()
    hand, dealer = (9, 27, 34, 41, 48), (0, 4, 8, 12, 22)
    action = best_setting(rules, hand, SLIP, dealer)
    assert action == best_setting(rules, hand, SLIP)


def test_ranking_only_sheets_have_no_hand_values() -> None:
    with pytest.raises(RulesError, match="ranking-only"):
        hand_values(load_rules("bomb-room"))


def test_where_the_dealer_corrects_every_setting_is_worth_the_same() -> None:
    values = hand_values(load_rules("even-double-super-bonus"))
    assert values.optimal.all()
