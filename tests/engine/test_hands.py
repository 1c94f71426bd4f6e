"""The reference evaluator: worked examples of the sheets, settings, heights and tie-breaks."""

from itertools import combinations_with_replacement

import pytest

from niulab.engine.cards import RANKS, parse_card, parse_hand
from niulab.engine.hands import (
    SPLITS,
    arrange,
    arrangements,
    best_arrangement,
    card_key,
    is_base,
    strength,
    tie_key,
)
from niulab.engine.rules import Order, RuleSet, load_rules

SINGLE = load_rules("single-double-super")
EVEN = load_rules("even-double-super-bonus")
NGAU = load_rules("ngau-ngau-hong-kong")


def best(text, rules=SINGLE):
    return best_arrangement(parse_hand(text), rules)


def points(cards):
    return sum(min(card // 4 + 1, 10) for card in cards)


def beats(a, b, rules):
    return best(a, rules).strength > best(b, rules).strength


def test_the_example_hands_without_a_game_have_none():
    for text in (
        *("2S 2H 3D 3C 9S", "KS KH 4D 7C 8S", "9S 9H AD 4C 3S", "8S 8H KD AC 5S"),
        *("2S 2H AD 4C 9S", "KS 9H 8D 5C 4S", "9S 9H KD 4C 3S", "9C 9D QD 4H 3D"),
        "KD 7C 6S 5H 2D",
    ):
        assert best(text, NGAU).rank == best(text).rank == "high_card", text


# ---------------------------------------------------------------- worked examples of the sheets


def test_sheet_000_j_q_j_a_7_is_niu_8():
    hand = best("JS QH JD AC 7S", EVEN)
    assert hand.rank == "niu_8"
    assert sorted(hand.base) == sorted(parse_hand("JS QH JD AC 7S")[:3])
    assert sorted(hand.pair) == sorted(parse_hand("JS QH JD AC 7S")[3:])


def test_sheets_001_and_003_a_six_and_a_seven_make_niu_3():
    hand = best("10S QH JD 6C 7S")
    assert hand.rank == "niu_3"
    assert points(hand.pair) == 13


def test_sheets_001_and_003_a_front_of_ten_points_is_niu_niu():
    assert best("KS QH JD 4C 6S").rank == "niu_niu"
    assert best("KS 4C 6S QH JD").rank == "niu_niu"


@pytest.mark.parametrize("base", ["AS 3H 6D", "4S 7H 9D", "KS QH 10D"])
def test_sheet_000_a_base_totals_10_20_or_30(base):
    cards = tuple(parse_card(card) for card in base.split())
    assert points(cards) in {10, 20, 30}
    assert is_base(cards, EVEN)


def test_without_a_base_the_hand_is_a_high_card():
    hand = best("KS 9H 8D 5C 4S")
    assert hand.rank == "high_card"
    assert not hand.has_base


def test_two_cards_that_total_ten_are_no_niu_without_a_base():
    assert best("8S 2H 9D AC 5S").rank == "high_card"


def test_a_hand_without_a_base_shows_its_highest_card_in_front():
    hand = best("9H KS 8D 5C 4S")
    assert hand.shown_pair == (parse_card("KS"),)
    assert hand.shown_base == ()


def test_a_hand_with_a_base_shows_two_in_front_and_three_behind():
    hand = best("JS QH JD AC 7S")
    assert (len(hand.shown_pair), len(hand.shown_base)) == (2, 3)


# ---------------------------------------------------------------- settings


def test_the_ten_settings_are_the_pairs_of_positions_in_order():
    assert SPLITS[:4] == ((0, 1), (0, 2), (0, 3), (0, 4))
    assert len(set(SPLITS)) == len(SPLITS) == 10
    assert list(SPLITS) == sorted(SPLITS)


def test_a_setting_keeps_the_five_cards():
    cards = parse_hand("JS QH 3D AC 7S")
    for split, hand in zip(SPLITS, arrangements(cards, SINGLE), strict=True):
        assert hand.pair == tuple(cards[i] for i in split)
        assert sorted((*hand.base, *hand.pair)) == sorted(cards)
        assert hand == arrange(cards, split, SINGLE)


def test_a_hand_set_without_its_base_is_a_high_card():
    cards = parse_hand("JS QH JD AC 7S")
    by_split = dict(zip(SPLITS, arrangements(cards, SINGLE), strict=True))
    assert by_split[3, 4].rank == "niu_8"
    assert {hand.rank for split, hand in by_split.items() if split != (3, 4)} == {"high_card"}


def test_all_plain_bases_of_a_hand_leave_the_same_points():
    for ranks in combinations_with_replacement(range(13), 5):
        cards = [4 * rank for rank in ranks]
        plain = {hand.rank_index for hand in arrangements(cards, SINGLE)} - {0}
        assert len(plain) <= 1, ranks


def test_three_of_a_kind_makes_arrangement_a_decision():
    cards = parse_hand("4S 4H 4D 2C 5S")  # 4 4 4 leaves 2 + 5, but 4 4 2 leaves 4 + 5
    ranks = {hand.rank for hand in arrangements(cards, NGAU)}
    assert ranks == {"high_card", "niu_7", "niu_9"}
    assert best("4S 4H 4D 2C 5S", NGAU).rank == "niu_9"
    cards = parse_hand("4S 4H 4D 6C KS")  # 4 4 4 leaves 6, but 4 6 K leaves a pair
    ranks = {hand.rank for hand in arrangements(cards, NGAU)}
    assert ranks == {"high_card", "niu_6", "ngau_pair"}
    assert best("4S 4H 4D 6C KS", NGAU).rank == "ngau_pair"


def test_a_special_of_all_five_cards_holds_however_the_hand_is_set():
    for name, text, rank in [
        ("bull-bull-live", "JS QH JD QC KS", "five_faces"),
        ("bomb-room", "7S 7H 7D 7C KS", "bomb"),
        ("bomb-room", "AS AH AD 2C 5S", "five_small"),
        ("ngau-ngau-hong-kong", "AS AH 2D 3C 3S", "all_small"),
    ]:
        hands = arrangements(parse_hand(text), load_rules(name))
        assert {hand.rank for hand in hands} == {rank}


def test_the_highest_special_that_holds_counts():
    bomb_room = load_rules("bomb-room")
    assert best("AS AH AD AC 2S", bomb_room).rank == "five_small"  # also a bomb
    assert best("JS JH JD JC KS", bomb_room).rank == "bomb"  # also five faces
    assert best("JS JH JD QC 10S", bomb_room).rank == "four_faces"


# ---------------------------------------------------------------- heights and tie-breaks


def test_a_higher_id_is_the_higher_card_by_default():
    assert [card_key(card, Order()) for card in range(52)] == list(range(52))


def test_with_the_ace_high_it_tops_the_king_and_the_rest_keep_their_order():
    order = Order(ace="high")
    heights = sorted(RANKS, key=lambda rank: card_key(parse_card(f"{rank}S"), order))
    assert heights == [*RANKS[1:], "A"]
    assert sorted(card_key(card, order) for card in range(52)) == list(range(52))


def test_the_order_of_suits_is_the_file_s():
    order = Order(suits="SHDC")
    ids = {suit: parse_card(f"9{suit}") for suit in "SHDC"}
    heights = sorted("SHDC", key=lambda suit: -card_key(ids[suit], order))
    assert "".join(heights) == "SHDC"


def test_without_an_order_of_suits_equal_ranks_are_equal():
    order = Order(suits="", tie_break="push")
    assert len({card_key(parse_card(f"9{suit}"), order) for suit in "SHDC"}) == 1


def test_a_higher_rank_wins_whatever_the_cards():
    ladder = ["KS KH 4D 7C 8S", "2S 8H 10D 10C AS", "2S 8H 10D AC AS", "2S 8H 10D 2C AS"]
    hands = [best(text) for text in ladder]
    assert [hand.rank for hand in hands] == ["high_card", "niu_1", "niu_2", "niu_3"]
    assert hands == sorted(hands, key=lambda hand: hand.strength)
    assert beats("2S 3H 5D AC 9S", "KS QH JD 2C 7S", SINGLE)  # Niu Niu of low cards, Niu 9


def test_equal_ranks_go_by_the_highest_of_all_five_cards():
    # Niu 9 each; the king lies in the base of one hand and in front of the other
    assert beats("KS 4H 6D AC 8S", "QS JH 10D 2C 7S", SINGLE)
    assert beats("2H 8S AD KC 9D", "QS JH 10D 2C 7S", SINGLE)


def test_equal_highest_cards_go_by_suit():
    assert beats("KS QH JH 10H 9H", "KH QS JS 10S 9S", SINGLE)
    assert beats("KC QD JD 10D 9D", "KD QS JS 10S 9S", SINGLE)


def test_suit_first_takes_the_suit_of_the_highest_card_before_its_rank():
    rules = load_rules("even-double-super-bonus-suit-first")
    a, b = "9S 10D JD QD KD", "QH JS 10S 9H 10H"  # Niu 9: king of diamonds, queen of hearts
    assert beats(a, b, EVEN)
    assert beats(b, a, rules)


def test_card_by_card_compares_each_card_by_rank_then_suit():
    rules = load_rules("six-deck-shoe")
    assert beats("KS QH JH 10H 9H", "KS QD JH 10H 9H", rules)  # the second card's suit
    assert beats("KS QD JS 10S 9S", "KD QS JS 10S 9S", rules)  # the first card's suit
    same = parse_hand("KS QH JH 10H 9H")
    assert best_arrangement(same, rules).strength == best_arrangement(same, rules).strength


class TestPairsThenCards:
    """Two hands without a game, as the Hong Kong rules compare them."""

    def test_two_pairs_beat_one_higher_pair(self):
        assert beats("2S 2H 3D 3C 9S", "KS KH 4D 7C 8S", NGAU)

    def test_a_higher_pair_beats_a_lower_one_whatever_the_other_cards(self):
        assert beats("9S 9H AD 4C 3S", "8S 8H KD AC 5S", NGAU)

    def test_a_pair_beats_high_cards(self):
        assert beats("2S 2H AD 4C 9S", "KS 9H 8D 5C 4S", NGAU)

    def test_equal_pairs_are_compared_card_by_card(self):
        assert beats("9S 9H KD 4C 3S", "9C 9D QD 4H 3D", NGAU)

    def test_without_pairs_the_cards_decide_from_the_highest(self):
        assert beats("KS 9H 8D 5C 4S", "KD 7C 6S 5H 2D", NGAU)

    def test_suits_never_decide(self):
        a, b = best("KS 9H 8D 5C 4S", NGAU), best("KD 9S 8C 5D 4H", NGAU)
        assert a.rank == b.rank == "high_card"
        assert a.strength == b.strength

    def test_other_equal_ranks_push(self):
        assert best("KS QH JD 4C 2S", NGAU).strength == best("10S QD JC AC 5S", NGAU).strength


def test_a_strength_never_mixes_ranks():
    """The highest key of one rank stays below the lowest of the next."""
    top, low = parse_hand("KS KH KC KD QS"), parse_hand("AD AC AH AS 2D")
    for mode in ("high_card_then_suit", "suit_first", "card_by_card", "pairs_then_cards", "push"):
        order = Order(tie_break=mode)
        assert 0 <= tie_key(low, 0, order) <= tie_key(top, 0, order) < 52**5
        assert strength(top, 4, order) < strength(low, 5, order)


def test_the_tie_break_of_high_cards_is_theirs_alone():
    order = NGAU.order
    assert order.mode_of(0) == "pairs_then_cards"
    assert {order.mode_of(rank) for rank in range(1, 14)} == {"push"}


def test_values_and_multiples_come_from_the_rules():
    changed = SINGLE.model_dump() | {"values": dict.fromkeys(RANKS, 3), "base": {"multiple_of": 9}}
    rules = RuleSet.model_validate(changed)
    assert {hand.rank for hand in arrangements(parse_hand("AS 2H 9D 7C KS"), rules)} == {"niu_6"}
