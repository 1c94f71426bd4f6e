"""A round: each act verified, allowed and done; dealing, opening and settling as the sheets say."""

import pytest
from strategies import SHIPPED, overlay, set_best, staked

from niulab.engine.cards import parse_hand
from niulab.engine.hands import SPLITS
from niulab.engine.round import Round
from niulab.engine.settlement import Outcome
from niulab.engine.shoe import deal_round
from niulab.errors import CardError, RoundStateError, WagerError

SINGLE = SHIPPED["single-double-super"]
EVEN = SHIPPED["even-double-super-bonus"]
AUTOMATIC = SHIPPED["equal-double-cambodia"]
NGAU = SHIPPED["ngau-ngau-hong-kong"]
SHOE = SHIPPED["six-deck-shoe"]

NIU_8 = "JD QC JH AS 7D"  # the sheet's example: 10 + 10 + 10, A + 7
NIU_NIU = "KS QS JS 10C 10H"
NIU_3 = "KC KD KH 6D 7C"
HIGH_KING = "KS 2D 3C 4H 6H"
NIU_6 = "QH QD 10D 9S 7H"


# ------------------------------------------------------------ opening and betting


def test_a_round_opens_for_betting():
    table = Round.open(SINGLE, 3)
    assert (table.phase, table.n_seats, table.slips) == ("betting", 3, (None, None, None))
    assert table.dealer_arrangement is None
    assert table.visible_cards(1) == table.hand(1) == ()


@pytest.mark.parametrize("n_seats", [0, -1, 10])
def test_a_table_has_one_to_nine_seats(n_seats):
    with pytest.raises(RoundStateError, match="open a round of 1 to 9"):
        Round.open(SINGLE, n_seats)


@pytest.mark.parametrize("bankrolls", [[100], [100, 100, 100], [100, -1]])
def test_bankrolls_match_the_seats(bankrolls):
    with pytest.raises(WagerError, match="as many bankrolls of 0 cents or more"):
        Round.open(SINGLE, 2, bankrolls)


def test_a_slip_can_be_changed_until_the_deal():
    table = Round.open(SINGLE, 2).place(1, "single=100").place(1, {"single": 200, "super": 40})
    assert [str(slip) for slip in table.slips] == ["single=200,super=40", "None"]
    dealt = table.deal(seed=0)
    assert not dealt.can_place(1, "single=100")
    with pytest.raises(RoundStateError, match="seat 2 cannot stake: the round is setting"):
        dealt.place(2, "single=100")


def test_acts_return_a_new_round():
    table = Round.open(SINGLE)
    assert table.place(1, "single=100") is not table
    assert table.slips == (None,)


def test_a_refused_slip_names_its_seat_and_the_largest_stake():
    table = Round.open(SINGLE, 2, [100_000, 17_100])
    with pytest.raises(WagerError) as caught:
        table.place(2, "single=100,double=5000")
    assert str(caught.value) == (
        "seat 2: DOUBLE 5000 needs 15000 cents of cover (3 x stake), has 12000; "
        "the largest stake accepted is 4240 cents"
    )
    assert table.can_place(1, "single=100,double=5000")
    assert not table.can_place(2, "single=100,double=5000")
    with pytest.raises(WagerError, match=r"seat 1: 'single=1\.5' in slip"):
        table.verify_place(1, "single=1.5")


@pytest.mark.parametrize("seat", [0, 3, -1])
def test_a_seat_that_is_not_there_is_refused(seat):
    with pytest.raises(RoundStateError, match=f"no seat {seat}: this round has seats 1 to 2"):
        Round.open(SINGLE, 2).place(seat, "single=100")


def test_short_cover_puts_what_is_there_in_sight():
    rules = overlay(
        "single-double-super", '[boxes.super]\ncover = { multiple = 10, shortfall = "cap_loss" }'
    )
    table = staked(rules, {1: "single=100,super=100"}, bankrolls_cents=[300])
    assert str(table.slips[0]) == "single=100,super=100/200"
    settled = table.deal([NIU_3, NIU_NIU]).set(1, (0, 1)).settle()
    assert settled.settlements[0].net_cents == -300
    assert settled.bankrolls_after_cents == (0,)


# ------------------------------------------------------------ dealing


def test_nobody_is_dealt_to_without_a_stake():
    table = Round.open(SINGLE, 2)
    assert not table.can_deal()
    with pytest.raises(RoundStateError, match="no seat has staked: place a slip before dealing"):
        table.deal(seed=0)


def test_001_003_deal_clockwise_from_the_marked_position():
    table = staked(SINGLE, {1: "single=100", 2: "single=500", 4: "single=500"})
    assert table.dealing_order == (1, 2, 4)
    dealt = table.deal(seed=5, round_index=8)
    *packets, dealer = deal_round(SINGLE, 5, 8, 4)
    assert (dealt.packet_seats, dealt.packets) == ((1, 2, 4), tuple(packets))
    assert dealt.dealer_packet == dealer
    assert dealt.hand(2) == tuple(sorted(packets[1]))
    assert dealt.hand(3) == ()


def test_000_gives_the_largest_even_stake_the_first_packet():
    table = staked(EVEN, {1: "even=100,super=100", 2: "even=500", 3: "even=200", 4: "even=500"})
    assert table.dealing_order == (2, 3, 4, 1)  # equal largest: the first from the marked position
    dealt = table.deal(seed=5)
    *packets, _ = deal_round(EVEN, 5, 0, 5)
    assert dealt.hand(2) == tuple(sorted(packets[0]))
    assert dealt.hand(1) == tuple(sorted(packets[3]))


def test_packets_can_be_given():
    table = staked(EVEN, {1: "even=100", 2: "even=200"})
    dealt = table.deal([NIU_8, NIU_3, NIU_NIU])
    assert dealt.hand(2) == tuple(sorted(parse_hand(NIU_8)))
    assert dealt.hand(1) == tuple(sorted(parse_hand(NIU_3)))
    assert dealt.dealer_packet == parse_hand(NIU_NIU)


def test_packets_that_cannot_be_dealt_are_refused():
    table = staked(SINGLE, {1: "single=100"})
    for cards, message in (
        ([NIU_8], "need 2 hands"),
        (NIU_8, "need 2 hands"),
        ([NIU_8, NIU_8], "JD is dealt twice"),
        ([NIU_8, "KS QH"], "a hand has 5 cards"),
        ([NIU_8, "KS QH 10D AC XX"], "is no card"),
    ):
        assert not table.can_deal(cards)
        with pytest.raises(CardError, match=message):
            table.deal(cards)
    with pytest.raises(CardError, match="got both cards and a seed"):
        table.deal([NIU_8, NIU_NIU], seed=1)
    short = overlay(
        "single-double-super", 'deck = { removed_ranks = ["A"] }\ntable = { max_seats = 8 }'
    )
    with pytest.raises(CardError, match="AS is not in the deck of 'overlay'"):
        staked(short, {1: "single=100"}).deal([NIU_8, NIU_NIU])


def test_a_deal_without_a_seed_is_a_fresh_one():
    table = staked(SINGLE, {1: "single=100"})
    assert len({table.deal().packets for _ in range(20)}) == 20
    assert table.deal(seed=3) == table.deal(seed=3)


def test_nine_seats_share_one_deck():
    table = staked(SINGLE, dict.fromkeys(range(1, 10), "single=100")).deal(seed=1)
    cards = [card for seat in range(1, 10) for card in table.hand(seat)]
    assert len({*cards, *table.dealer_packet}) == 50
    settled = set_best(table).settle()
    assert settled.settlement_order == (9, 8, 7, 6, 5, 4, 3, 2, 1)
    assert sum(s.net_cents for s in settled.settlements) == -settled.house_net_cents


# ------------------------------------------------------------ what a seat sees


def test_001_003_open_the_dealers_hand_after_every_player_has_set():
    table = staked(SINGLE, {1: "single=100", 2: "single=100"}).deal([NIU_8, NIU_3, NIU_NIU])
    assert table.dealer_arrangement is None
    assert table.visible_cards(1) == tuple(sorted(parse_hand(NIU_8)))
    settled = set_best(table).settle()
    assert settled.dealer_arrangement.rank == "niu_niu"
    own, dealer, other = (tuple(sorted(parse_hand(h))) for h in (NIU_8, NIU_NIU, NIU_3))
    assert settled.visible_cards(1) == own + dealer + other


def test_000_opens_the_dealers_hand_before_players_touch_theirs():
    table = staked(EVEN, {1: "even=100", 2: "even=100"})
    assert table.visible_cards(1) == ()
    dealt = table.deal([NIU_8, NIU_3, NIU_NIU])
    assert dealt.dealer_arrangement.rank == "niu_niu"
    own, dealer = (tuple(sorted(parse_hand(hand))) for hand in (NIU_8, NIU_NIU))
    assert dealt.visible_cards(1) == own + dealer
    assert not set(dealt.visible_cards(1)) & set(dealt.hand(2))


# ------------------------------------------------------------ setting


def test_hands_are_set_once_and_only_with_cards():
    table = staked(SINGLE, {1: "single=100", 2: "single=100"}, n_seats=3)
    with pytest.raises(RoundStateError, match="seat 1 cannot set: the round is betting; deal"):
        table.set(1, 0)
    dealt = table.deal([NIU_8, NIU_3, NIU_NIU])
    with pytest.raises(RoundStateError, match="seat 3 has no cards"):
        dealt.set(3, 0)
    once = dealt.set(1, 0)
    assert not once.can_set(1, 1)
    with pytest.raises(RoundStateError, match="seat 1 has set its hand"):
        once.set(1, 1)
    assert once.can_set(2, 1)


def test_a_setting_is_an_index_or_two_positions():
    table = staked(SINGLE, {1: "single=100"}).deal([NIU_8, NIU_NIU])
    for index, pair in enumerate(SPLITS):
        by_index, by_pair = table.set(1, index), table.set(1, pair)
        assert by_index == by_pair == table.set(1, pair[::-1])
        front = {table.hand(1)[position] for position in pair}
        assert set(by_index.arrangements[0].pair) == front


@pytest.mark.parametrize(
    "setting", [-1, 10, 1.5, None, "01", (0,), (0, 0), (0, 5), (0, 1, 2), (), ("a", "b")]
)
def test_a_setting_that_is_none_is_refused(setting):
    table = staked(SINGLE, {1: "single=100"}).deal([NIU_8, NIU_NIU])
    assert not table.can_set(1, setting)
    with pytest.raises(CardError, match="sets no hand: write two different positions"):
        table.set(1, setting)


def test_as_set_counts_a_missed_niu_as_a_high_card():
    table = staked(SINGLE, {1: "single=100"}).deal([NIU_8, HIGH_KING])
    ranks = [table.set(1, k).arrangements[0].rank for k in range(10)]
    assert ranks.count("niu_8") == 1
    assert set(ranks) == {"niu_8", "high_card"}
    good = table.set(1, ranks.index("niu_8")).settle()
    bad = table.set(1, ranks.index("high_card")).settle()
    assert (good.settlements[0].net_cents, bad.settlements[0].net_cents) == (95, -100)
    assert (good.outcomes, bad.outcomes) == ((Outcome.WIN,), (Outcome.LOSE,))


def test_as_set_waits_for_every_seat():
    table = staked(SINGLE, {1: "single=100", 2: "single=100"}).deal(seed=0).set(1, 0)
    assert not table.can_settle()
    with pytest.raises(RoundStateError, match=r"seat\(s\) \[2\] have not set"):
        table.settle()


def test_the_dealer_corrects_a_mis_set_hand():
    table = staked(EVEN, {1: "even=100"}).deal([NIU_8, HIGH_KING])
    for ready in (table, *(table.set(1, k) for k in range(10))):
        settled = ready.settle()
        assert settled.arrangements[0].rank == "niu_8"
        assert settled.settlements[0].net_cents == 100


def test_automatic_hands_take_no_setting():
    table = staked(AUTOMATIC, {1: "equal=100"}).deal([NIU_8, HIGH_KING])
    assert not table.can_set(1, 0)
    with pytest.raises(RoundStateError, match="sets every hand automatically"):
        table.set(1, 0)
    assert table.settle().arrangements[0].rank == "niu_8"


# ------------------------------------------------------------ settling


def test_a_round_is_settled_once_and_after_the_deal():
    table = staked(EVEN, {1: "even=100"})
    assert not table.can_settle()
    with pytest.raises(RoundStateError, match="cannot be settled: the round is betting"):
        table.settle()
    settled = table.deal(seed=0).settle()
    assert settled.phase == "settled"
    for act in (
        settled.settle,
        lambda: settled.set(1, 0),
        lambda: settled.deal(seed=0),
        lambda: settled.place(1, "even=100"),
    ):
        with pytest.raises(RoundStateError, match="the round is settled; open a new round"):
            act()


def test_000_settles_bonus_first_and_half_on_niu_6():
    slip = "even=100,double=20,super=20,bonus=20"
    table = staked(EVEN, {1: slip}, bankrolls_cents=[1000]).deal([NIU_6, HIGH_KING])
    settled = table.settle()
    assert list(settled.settlements[0].net_by_box.items()) == [
        ("bonus", -20),
        ("even", 50),
        ("double", 20),
        ("super", 114),
    ]
    assert settled.bankrolls_after_cents == (1164,)
    assert settled.house_net_cents == -164


def test_the_bonus_pays_on_the_players_five_cards():
    table = staked(EVEN, {1: "even=100,bonus=20"}).deal(["KS QS JS QC JD", NIU_3])
    assert table.settle().settlements[0].net_by_box == {"bonus": 2000, "even": 100}
    lost = staked(EVEN, {1: "even=100,bonus=20"}).deal(
        ["AS 2S 3S 5S 6S", NIU_NIU.replace("S", "D")]
    )
    assert lost.settle().settlements[0].net_by_box == {"bonus": 1000, "even": -100}


def test_seats_out_of_play_are_left_alone():
    table = staked(SINGLE, {2: "single=100"}, n_seats=3, bankrolls_cents=[7, 100, 9])
    settled = table.deal([NIU_8, NIU_NIU]).set(2, 0).settle()
    assert settled.settlement_order == (2,)
    assert settled.settlements[0] is settled.settlements[2] is None
    assert settled.bankrolls_after_cents == (7, 0, 9)


def test_equal_hands_push_or_go_to_the_dealer():
    hands = ["KS KC 10D 4H 3C", "KH KD 10C 4S 3D"]
    assert set_best(staked(NGAU, {1: "single=100"}).deal(hands)).settle().outcomes == (
        Outcome.PUSH,
    )
    dealer = overlay("ngau-ngau-hong-kong", '[order]\ntie_break = "dealer"\n')
    settled = set_best(staked(dealer, {1: "single=100"}).deal(hands)).settle()
    assert settled.outcomes == (Outcome.LOSE,)
    assert settled.settlements[0].net_cents == -200


def test_a_ranking_only_round_is_played_without_stakes():
    table = Round.open(SHOE, 2)
    with pytest.raises(WagerError, match="seat 1: 'six-deck-shoe' ranks hands and offers no bets"):
        table.place(1, "single=100")
    settled = set_best(table.deal(["KS KS KS QH JD", NIU_8, NIU_3])).settle()
    assert settled.arrangements[0].rank == "five_faces"
    assert settled.outcomes == (Outcome.WIN, Outcome.WIN)
    assert settled.house_net_cents == 0
