"""What the rules give, against the engine's readable round; cards twice, packets and repeats."""

from dataclasses import replace

import numpy as np
import pytest
from play_logs import played

from niulab.engine.cards import parse_cards
from niulab.engine.rules import load_rules, shipped_names
from niulab.engine.settlement import Outcome, settle_box
from niulab.evaluation.playlog.plays import NO_CARD, Flag, Plays, Vocabularies
from niulab.evaluation.playlog.replay import replayed, rules_give
from niulab.evaluation.playlog.rounds import clock_steps_back, find_repeats, flag_rounds

BETTABLE = [name for name in shipped_names() if not load_rules(name).is_ranking_only]


@pytest.mark.parametrize("name", BETTABLE)
def test_the_rules_give_what_the_round_paid(name):
    plays = played(25, sheets=(name,), seed=9)
    sheets = [load_rules(name)]
    nets, _ = rules_give(plays, sheets[0])
    assert np.array_equal(nets, plays.nets)
    assert not replayed(flag_rounds(plays, sheets), sheets).residuals.any()


def test_a_residual_is_paid_less_given():
    plays = played(25, seed=4)
    extra = np.zeros_like(plays.nets)
    extra[3, 1], extra[10, 0] = 250, -20
    again = replayed(replace(plays, nets=plays.nets + extra), [load_rules("single-double-super")])
    assert np.array_equal(again.residuals, extra)
    assert np.flatnonzero(again.flags & int(Flag.RESIDUAL)).tolist() == [3, 10]


def test_short_cover_caps_the_loss():
    name = "single-double-super"
    terms = load_rules(name).boxes["super"]
    capped = terms.cover.model_copy(update={"shortfall": "cap_loss"})
    boxes = load_rules(name).boxes | {"super": terms.model_copy(update={"cover": capped})}
    rules = load_rules(name).model_copy(update={"boxes": boxes})
    plays = Plays.of(
        1,
        Vocabularies(rules=(name,)),
        rules=0,
        stakes=[0, 0, 1000, 0],
        cover=[-1, 3000],
        cards=parse_cards("AS 2D 4C 6H 8D"),
        dealer_cards=parse_cards("10S JD QC KH KD"),
    )
    given, _ = rules_give(plays, rules)
    # a lost super against Niu Niu costs 10 x 1000, but 1000 + 3000 are in sight
    assert given.tolist() == [[0, 0, -4000, 0]]
    full, _ = rules_give(replace(plays, cover=np.array([[-1, -1]])), rules)
    assert (
        full[0, 2]
        == settle_box(
            rules, "super", 1000, outcome=Outcome.LOSE, player_rank=0, dealer_rank=10
        ).net_cents
    )


def test_a_stake_the_sheet_refuses_leaves_its_fraction_with_the_house():
    plays = played(40, seed=4, n_seats=1)
    odd = replace(plays, stakes=plays.stakes - (plays.stakes > 0))
    nets, _ = rules_give(odd, load_rules("single-double-super"))
    won = plays.nets[:, 0] > 0
    stakes = odd.stakes[won, 0]
    assert won.any()
    assert np.array_equal(nets[won, 0], stakes * 95 // 100)


def rounds(seats, hands, dealers, rules=("single-double-super",), **columns):
    return Plays.of(
        len(seats),
        Vocabularies(rounds=("r1",), tables=("T",), rules=rules),
        round=0,
        table=0,
        rules=0,
        seat=seats,
        cards=np.array([parse_cards(hand) for hand in hands]),
        dealer_cards=np.array([parse_cards(hand) for hand in dealers]),
        stakes=[100, 0, 0, 0],
        **columns,
    )


A, B, C = "AS 2S 3S 4S 5S", "AD 2D 3D 4D 5D", "AC 2C 3C 4C 5C"


@pytest.mark.parametrize(
    ("seats", "hands", "dealers", "bad"),
    [
        ([1, 2], [A, B], [C, C], False),
        ([1, 2], [A, A], [C, C], True),
        ([1, 1], [A, "5S AS 2S 3S 4S"], [C, C], False),  # one seat, two players
        ([1, 1], [A, "AS 6S 7S 8S 9S"], [C, C], True),
        ([1, 2], [A, B], [A, A], True),
        ([1, 2], [A, B], [C, "AH 2H 3H 4H 5H"], True),  # two hands of one dealer
        ([1], ["AS AS 2S 3S 4S"], [C], True),
    ],
)
def test_cards_that_lie_twice(seats, hands, dealers, bad):
    plays = rounds(seats, hands, dealers)
    flags = flag_rounds(plays, [load_rules("single-double-super")]).flags
    assert (flags == (int(Flag.CARD_TWICE) if bad else 0)).all()


def test_a_shoe_of_six_decks_holds_a_card_six_times():
    sheets = [load_rules("six-deck-shoe-bonus")]
    six = rounds([1, 2, 3], ["AS AS 2S 2S 3S"] * 3, ["KS KS KS KS KS"] * 3)
    assert not flag_rounds(six, sheets).flags.any()
    seven = rounds([1, 2, 3], ["AS AS AS 2S 3S"] * 3, [C] * 3)
    assert flag_rounds(seven, sheets).flags.all()


def test_missing_cards_do_not_lie():
    plays = rounds([1, 2], [A, B], [C, C])
    bare = replace(plays, cards=np.full((2, 5), NO_CARD, np.uint8))
    assert not flag_rounds(bare).flags.any()


def test_packets_follow_the_first_seat_or_the_order():
    first = rounds([1, 3, 5], [A, B, C], ["KS KD KC KH QS"] * 3, first_seat=3)
    assert flag_rounds(first).packet.tolist() == [2, 0, 1]
    gone = first.take(np.array([0, 2]))
    assert flag_rounds(gone).packet.tolist() == [-1, -1]
    texts = replace(first.texts, seat_orders=("5, 1, 3", "1 1"))
    told = replace(first, texts=texts, seat_order=np.array([0, 0, 1], np.int32))
    assert flag_rounds(told).packet.tolist() == [1, 2, -1]


def test_repeats_name_the_first_of_their_kind():
    plays = played(3, n_seats=2, seed=1)
    doubled = Plays.join([plays, plays.take(slice(0, 3))])
    changed = doubled.nets.copy()
    changed[7] += 1
    repeats = find_repeats(replace(doubled, nets=changed))
    assert repeats.identical.tolist() == [6, 8]
    assert repeats.differing.tolist() == [7]
    assert repeats.first_of[[6, 7, 8]].tolist() == [0, 1, 2]
    assert np.flatnonzero(~repeats.keep).tolist() == [6, 7, 8]


def test_clock_steps_are_counted_by_table():
    plays = played(8, n_seats=2)
    assert clock_steps_back(plays) == 0
    assert clock_steps_back(plays.take(np.arange(len(plays))[::-1])) == 6
