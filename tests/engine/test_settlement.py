"""Settlement: every row of the sheets, rounding, caps, short cover, tables and their laws."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import ONE_DECK, PLAYABLE, SHIPPED, overlay, playable_rules, slips

from niulab.engine.rules import Order
from niulab.engine.settlement import (
    Outcome,
    moved_table,
    net_table,
    settle,
    settle_box,
    tie_outcome,
    unit_result,
)
from niulab.engine.wagers import Slip, least_slip, max_loss_cents, stake_step_cents
from niulab.errors import WagerError

SINGLE = SHIPPED["single-double-super"]
EVEN = SHIPPED["even-double-super-bonus"]
HIGH, NIU_6, NIU_9, NIU_NIU = 0, 6, 9, 10


def net(rules, box, outcome, rank, *, stake=100, events=0, other=HIGH):
    """Net cents of a win with the player's rank, or of a loss to the dealer's."""
    player, dealer = (rank, other) if outcome == Outcome.WIN else (other, rank)
    result = settle_box(
        rules,
        box,
        stake,
        outcome=outcome,
        player_rank=player,
        dealer_rank=dealer,
        events=events,
    )
    return result.net_cents


def row(rules, box, outcome):
    return [net(rules, box, outcome, rank) for rank in range(len(rules.ranks))]


# ------------------------------------------------------------ rows of the sheets


def test_single_wins_even_money_less_five_percent():
    assert row(SINGLE, "single", Outcome.WIN) == [95] * 11
    assert row(SINGLE, "single", Outcome.LOSE) == [-100] * 11


def test_even_pays_half_on_the_named_rank():
    assert row(EVEN, "even", Outcome.WIN) == [100] * 6 + [50] + [100] * 4
    assert row(EVEN, "even", Outcome.LOSE) == [-100] * 11
    on_seven = SHIPPED["even-double-super-bonus-half-on-7"]
    assert row(on_seven, "even", Outcome.WIN) == [100] * 7 + [50] + [100] * 3


@pytest.mark.parametrize("rules", [SINGLE, EVEN], ids=lambda rules: rules.name)
def test_double_and_super_follow_the_winners_rank(rules):
    assert row(rules, "double", Outcome.WIN) == [100] * 7 + [190] * 3 + [285]
    assert row(rules, "double", Outcome.LOSE) == [-100] * 7 + [-200] * 3 + [-300]
    multiples = [1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    assert row(rules, "super", Outcome.WIN) == [m * (95 if m > 1 else 100) for m in multiples]
    assert row(rules, "super", Outcome.LOSE) == [-100 * m for m in multiples]


@pytest.mark.parametrize(
    ("reading", "multiples"),
    [
        ("literal-note", [1, 1, 1, 1, 1, 1, 1, 7, 8, 9, 10]),
        ("niu2-short", [1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
        ("niu2-even-money", [1, 1, 1, 3, 4, 5, 6, 7, 8, 9, 10]),
        ("literal-double-scale", [1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 3]),
    ],
)
def test_readings_of_super_lose_as_they_are_written(reading, multiples):
    rules = SHIPPED[f"even-double-super-bonus-{reading}"]
    assert row(rules, "super", Outcome.LOSE) == [-100 * multiple for multiple in multiples]
    assert net(rules, "super", Outcome.WIN, 2) == (100 if "niu2" in reading else 190)


def test_bonus_pays_the_highest_award_whoever_wins():
    events = {name: 1 << bit for bit, name in enumerate(EVEN.events)}
    for outcome in Outcome:
        assert net(EVEN, "bonus", outcome, HIGH) == -100
        for name, odds in (
            ("five_faces", 100),
            ("all_spades", 50),
            ("five_tens", 20),
            ("all_black", 10),
        ):
            assert net(EVEN, "bonus", outcome, HIGH, events=events[name]) == 100 * odds
        both = events["five_tens"] | events["five_faces"]
        assert net(EVEN, "bonus", outcome, HIGH, events=both) == 100 * 100


def test_bonus_awards_add_up_where_the_reading_says_so():
    rules = SHIPPED["even-double-super-bonus-bonus-all"]
    every = (1 << len(rules.events)) - 1
    assert net(rules, "bonus", Outcome.LOSE, HIGH, events=every) == 100 * (100 + 50 + 20 + 10)
    assert net(rules, "bonus", Outcome.LOSE, HIGH) == -100


def test_four_of_a_kind_pays_three_on_double_only():
    rules = SHIPPED["even-double-super-bonus-four-of-a-kind-pays"]
    four = 1 << rules.events.index("four_of_a_kind")
    assert net(rules, "double", Outcome.WIN, HIGH, events=four) == 285
    assert net(rules, "double", Outcome.LOSE, HIGH, events=four) == -100
    assert net(rules, "super", Outcome.WIN, HIGH, events=four) == 100


def test_a_push_moves_nothing_but_the_bonus():
    settlement = settle(
        EVEN,
        Slip.of("even=100,super=20,bonus=40"),
        outcome=Outcome.PUSH,
        player_rank=NIU_6,
        dealer_rank=NIU_6,
    )
    assert settlement.net_by_box == {"bonus": -40, "even": 0, "super": 0}
    assert (settlement.net_cents, settlement.moved_cents) == (-40, 40)


def test_the_loss_can_go_by_the_players_rank():
    rules = overlay("single-double-super", '[boxes.super]\nlose_rank = "player"\n')
    assert net(rules, "super", Outcome.LOSE, NIU_NIU, other=3) == -300


def test_bonus_is_settled_first_then_the_boxes_in_order():
    slip = Slip.of("even=100,double=20,super=40,bonus=60")
    win = settle(EVEN, slip, outcome=Outcome.WIN, player_rank=NIU_6, dealer_rank=HIGH)
    assert [result.box for result in win.results] == ["bonus", "even", "double", "super"]
    assert [result.gross_cents for result in win.results] == [-60, 100, 20, 240]
    assert [result.commission_cents for result in win.results] == [0, 50, 0, 12]
    assert [result.net_cents for result in win.results] == [-60, 50, 20, 228]
    assert [result.moved_cents for result in win.results] == [60, 100, 20, 240]
    assert [result.stake_cents for result in win.results] == [60, 100, 20, 40]
    assert (win.net_cents, win.moved_cents) == (238, 420)


# ------------------------------------------------------------ fractions, caps, cover


def rounding(way, cap=""):
    text = f'[boxes.single]\ncommission = {{ rate = "1/20", rounding = "{way}" }}\n{cap}'
    return overlay("single-double-super", text)


@pytest.mark.parametrize(
    ("way", "paid"),
    [
        ("floor", [95, 96, 97, 98, 104]),
        ("house", [95, 96, 97, 98, 104]),
        ("half_up", [95, 97, 98, 99, 105]),
    ],
)
def test_fractions_are_rounded_in_the_rules_way(way, paid):
    # 95 % of 100, 102, 103, 104, 110 = 95, 96.9, 97.85, 98.8, 104.5
    stakes = (100, 102, 103, 104, 110)
    rules = rounding(way)
    assert [net(rules, "single", Outcome.WIN, HIGH, stake=stake) for stake in stakes] == paid


def test_exact_rounding_refuses_a_stake_that_leaves_a_fraction():
    with pytest.raises(WagerError, match=r"SINGLE 110 wins 104\.5 cents.*multiples of 20 cents"):
        net(SINGLE, "single", Outcome.WIN, HIGH, stake=110)
    assert net(SINGLE, "single", Outcome.LOSE, HIGH, stake=110) == -110


def test_wins_and_losses_are_capped_apart():
    rules = overlay(
        "single-double-super", "[boxes.super]\nmax_win_cents = 333\nmax_loss_cents = 250\n"
    )
    result = settle_box(
        rules, "super", 100, outcome=Outcome.WIN, player_rank=NIU_9, dealer_rank=HIGH
    )
    assert (result.gross_cents, result.net_cents, result.moved_cents) == (333, 316, 333)
    assert net(rules, "super", Outcome.WIN, 3) == 285
    assert net(rules, "super", Outcome.LOSE, NIU_9) == -250
    assert net(rules, "super", Outcome.LOSE, 2) == -200


def test_short_cover_caps_the_loss():
    rules = overlay(
        "single-double-super", '[boxes.super]\ncover = { multiple = 10, shortfall = "cap_loss" }'
    )
    lost = {"outcome": Outcome.LOSE, "player_rank": HIGH, "dealer_rank": NIU_NIU}
    shown = Slip.of("single=100,super=100/350")
    assert settle(rules, shown, **lost).net_by_box == {"single": -100, "super": -350}
    assert settle(rules, Slip.of("single=100,super=100"), **lost).net_cents == -1100


def test_an_unknown_box_is_refused_and_not_dropped():
    slip = Slip.of("single=100,bonus=20")
    with pytest.raises(WagerError, match="no box 'bonus'"):
        settle(SINGLE, slip, outcome=Outcome.WIN, player_rank=0, dealer_rank=0)
    with pytest.raises(WagerError, match="no box 'bonus'"):
        net_table(SINGLE, slip)


@pytest.mark.parametrize(
    ("order", "rank", "outcome"),
    [
        (Order(), 5, Outcome.PUSH),
        (Order(exact_ties="dealer"), 5, Outcome.LOSE),
        (Order(tie_break="dealer"), 5, Outcome.LOSE),
        (Order(tie_break="push"), 5, Outcome.PUSH),
        (Order(tie_break="dealer", high_card_tie_break="push"), 0, Outcome.PUSH),
        (Order(tie_break="push", high_card_tie_break="card_by_card"), 0, Outcome.PUSH),
    ],
)
def test_what_two_equal_hands_are(order, rank, outcome):
    assert tie_outcome(order, rank) is outcome


# ------------------------------------------------------------ tables and laws


def full_slip(rules):
    """Every box at a stake of its own."""
    stakes = {box: 20 * (5 + place) for place, box in enumerate(rules.boxes)}
    return Slip.of(stakes)


@pytest.mark.parametrize("name", sorted(ONE_DECK))
def test_tables_agree_with_settle_on_every_cell(name):
    rules = ONE_DECK[name]
    slip = full_slip(rules)
    nets, moved = net_table(rules, slip), moved_table(rules, slip)
    n_ranks, n_masks = len(rules.ranks), 1 << len(rules.events)
    assert nets.shape == moved.shape == (3, n_ranks, n_ranks, n_masks)
    assert nets.dtype == moved.dtype == np.int64
    for outcome, player, dealer in product(Outcome, range(n_ranks), range(n_ranks)):
        for events in range(n_masks):
            settlement = settle(
                rules,
                slip,
                outcome=outcome,
                player_rank=player,
                dealer_rank=dealer,
                events=events,
            )
            cell = (outcome, player, dealer, events)
            assert (nets[cell], moved[cell]) == (settlement.net_cents, settlement.moved_cents)


@pytest.mark.parametrize("name", sorted(PLAYABLE))
def test_a_settled_stake_is_the_unit_result_times_the_stake(name):
    rules = PLAYABLE[name]
    n_ranks = len(rules.ranks)
    masks = [0, *(1 << bit for bit in range(len(rules.events))), (1 << len(rules.events)) - 1]
    for box in rules.boxes:
        stake = 100 * stake_step_cents(rules, box)
        for outcome, rank, events in product(Outcome, range(n_ranks), masks):
            cell = {
                "outcome": outcome,
                "player_rank": rank,
                "dealer_rank": n_ranks - 1 - rank,
                "events": events,
            }
            unit = unit_result(rules, box, **cell)
            result = settle_box(rules, box, stake, **cell)
            assert result.net_cents == stake * unit.net
            assert result.moved_cents == stake * unit.moved


def test_unit_results_are_exact_fractions():
    cell = {"outcome": Outcome.WIN, "player_rank": NIU_9, "dealer_rank": HIGH}
    assert unit_result(SINGLE, "single", **cell) == (Fraction(19, 20), 1)
    assert unit_result(SINGLE, "super", **cell) == (Fraction(171, 20), 9)
    cell["player_rank"] = NIU_6
    assert unit_result(EVEN, "even", **cell) == (Fraction(1, 2), 1)
    cell["outcome"] = Outcome.PUSH
    assert unit_result(EVEN, "even", **cell) == (0, 0)


@pytest.mark.parametrize("name", sorted(PLAYABLE))
def test_every_least_slip_settles_in_every_cell(name):
    rules = PLAYABLE[name]
    slip = least_slip(rules)
    nets = net_table(rules, slip)
    assert nets[Outcome.LOSE].max() < 0
    assert nets[Outcome.WIN].min() > 0
    assert (nets[Outcome.PUSH] == 0).all()


@given(st.data())
def test_no_cell_loses_more_than_the_most_a_slip_can_lose(data):
    rules = data.draw(playable_rules())
    slip = data.draw(slips(rules))
    assert net_table(rules, slip).min() == -max_loss_cents(rules, slip)


@given(st.data())
def test_settlement_is_linear_in_exact_stakes(data):
    rules = data.draw(playable_rules())
    slip = data.draw(slips(rules, most_steps=10))
    double = Slip.of({box: 2 * cents for box, cents in slip.stakes})
    assert (net_table(rules, double) == 2 * net_table(rules, slip)).all()


@given(st.data())
def test_the_house_gets_what_is_moved_and_not_paid(data):
    rules = data.draw(playable_rules())
    slip = data.draw(slips(rules))
    rank = st.integers(0, len(rules.ranks) - 1)
    settlement = settle(
        rules,
        slip,
        outcome=data.draw(st.sampled_from(Outcome)),
        player_rank=data.draw(rank),
        dealer_rank=data.draw(rank),
        events=data.draw(st.integers(0, (1 << len(rules.events)) - 1)),
    )
    assert set(settlement.net_by_box) == set(slip.boxes)
    for result in settlement.results:
        assert result.stake_cents == slip.stake(result.box)
        assert 0 <= result.commission_cents <= max(result.gross_cents, 0)
        assert result.net_cents == result.gross_cents - result.commission_cents
        assert result.moved_cents == abs(result.gross_cents)
