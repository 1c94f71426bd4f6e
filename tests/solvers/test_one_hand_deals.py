"""One deal of a reported hand, hands a shoe cannot deal, and bankrolls that cap losses."""

from __future__ import annotations

import pytest

from niulab.engine.cards import parse_hand
from niulab.engine.rules import load_rules, parse_rules
from niulab.engine.settlement import Outcome
from niulab.engine.wagers import Slip
from niulab.errors import CardError, WagerError
from niulab.solvers.one_hand import hand_report, play

HAND = parse_hand("KS QH 10D AC 7S")  # niu_8
LOWER = parse_hand("2S 3S 4D 9H 9C")  # niu_7


def overlay(parent, text):
    return parse_rules(f'name = "mine"\ntitle = "t"\nsource = "s"\nextends = "{parent}"\n{text}\n')


def test_a_deal_is_settled_with_both_hands_best_set():
    report = hand_report(load_rules(), HAND, Slip.parse("single=100,super=20"))
    deal = play(report, LOWER)
    assert (deal.player.rank, deal.dealer.rank, deal.outcome) == ("niu_8", "niu_7", Outcome.WIN)
    assert deal.settlement.net_by_box == {"single": 95, "super": 152}


def test_a_ranking_only_sheet_settles_nothing():
    deal = play(hand_report(load_rules("bomb-room"), HAND), LOWER)
    assert (deal.outcome, deal.settlement) == (Outcome.WIN, None)


def test_a_player_who_sees_the_dealer_sets_for_this_deal():
    # half is paid on niu_8: against a high card a plain high card that wins would pay more
    rules = overlay(
        "single-double-super",
        'dealer_opens = "before_players"\n[boxes.single]\nhalf_pay = ["niu_8"]\n'
        '[boxes.single.commission]\nrate = "0"',
    )
    report = hand_report(rules, HAND, Slip.parse("single=100"))
    assert report.best.arrangement.rank == "niu_8"  # for the mean of all deals
    deal = play(report, parse_hand("2S 4H 5D 7C QS"))
    assert deal.dealer.rank == "high_card"
    assert (deal.player.rank, deal.settlement.net_cents) == ("high_card", 100)


def test_hands_the_shoe_cannot_deal_are_refused():
    rules = overlay(
        "single-double-super", 'deck = { removed_ranks = ["K"] }\n[table]\nmax_seats = 8'
    )
    with pytest.raises(CardError, match="KS is not in the shoe of mine, which holds no K"):
        hand_report(rules, HAND)
    report = hand_report(load_rules(), HAND)
    with pytest.raises(CardError, match="KS is dealt twice"):
        play(report, parse_hand("KS 2D 3D 4D 5D"))


def test_a_bankroll_covers_the_slip_or_caps_the_loss():
    slip = Slip.parse("single=100,super=20")
    with pytest.raises(WagerError, match="SUPER 20 needs 200 cents of cover"):
        hand_report(load_rules(), HAND, slip, bankroll_cents=250)
    capped = overlay("single-double-super", '[boxes.super.cover]\nshortfall = "cap_loss"')
    low = parse_hand("2S 4H 5D 7C KC")
    full = play(hand_report(capped, low, slip), HAND).settlement.net_by_box
    short = play(hand_report(capped, low, slip, bankroll_cents=150), HAND).settlement.net_by_box
    assert (full["super"], short["super"]) == (-160, -50)
