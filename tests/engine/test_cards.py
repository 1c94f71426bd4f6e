"""Cards: ids, the notations people write, and what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from niulab.engine.cards import (
    N_CARDS,
    RANKS,
    SUITS,
    Card,
    card_text,
    parse_card,
    parse_cards,
    parse_hand,
)
from niulab.errors import CardError

FIVE = "KS QH 10D AC 7S"


def test_ids_rise_with_rank_then_suit():
    assert [card_text(card) for card in (0, 1, 2, 3, 4, 51)] == ["AD", "AC", "AH", "AS", "2D", "KS"]


@pytest.mark.parametrize("card", range(N_CARDS))
def test_every_card_is_read_as_printed(card):
    rank, suit = RANKS[card // 4], SUITS[card % 4]
    assert parse_card(card_text(card)) == card
    assert parse_card(f"{suit}{rank}") == card
    assert parse_card(card_text(card).lower()) == card
    assert str(Card.of(card)) == card_text(card)
    assert Card.of(card).id == card


@pytest.mark.parametrize(
    "text", ["TD", "10D", "td", "D10", "♦10", "10♦", "♢10", " 10d ", "10♦\N{VARIATION SELECTOR-16}"]
)
def test_notations_of_the_ten_of_diamonds(text):
    assert parse_card(text) == 36


@pytest.mark.parametrize("text", ["", "11S", "0D", "KX", "K", "S", "KSS", "joker", "10", "\uff11S"])
def test_what_is_no_card_is_refused(text):
    with pytest.raises(CardError, match="is no card"):
        parse_card(text)


def test_a_near_miss_names_the_nearest_card():
    with pytest.raises(CardError, match="'KSS' is no card; did you mean 'KS'"):
        parse_card("KSS")


@given(st.text(max_size=6))
def test_any_text_is_a_card_or_a_card_error(text):
    try:
        card = parse_card(text)
    except CardError:
        return
    assert 0 <= card < N_CARDS


@pytest.mark.parametrize("number", [-1, 52, 1000, np.int64(52)])
def test_a_number_outside_the_deck_is_refused(number):
    with pytest.raises(CardError, match="ids run from 0"):
        Card.of(number)


@pytest.mark.parametrize("thing", [1.0, None, float("nan")])
def test_a_thing_that_is_no_number_is_refused(thing):
    with pytest.raises(CardError, match="is no card"):
        Card.of(thing)


def test_numpy_numbers_are_ids():
    assert parse_hand(np.array([51, 46, 36, 1, 27], dtype=np.uint8)) == parse_hand(FIVE)


def test_a_hand_keeps_the_order_written():
    assert parse_hand(FIVE) == (51, 46, 36, 1, 27)
    assert parse_hand("ks,qh;10d  ac\t7s") == (51, 46, 36, 1, 27)
    assert parse_hand([51, "QH", Card(9, 0), 1, 27]) == (51, 46, 36, 1, 27)
    assert parse_cards("") == ()


@pytest.mark.parametrize("text", ["", "KS", "KS QH 10D AC", f"{FIVE} 2S"])
def test_a_hand_has_five_cards(text):
    with pytest.raises(CardError, match="a hand has 5 cards, got"):
        parse_hand(text)


def test_a_card_is_dealt_once_per_deck():
    with pytest.raises(CardError, match="KS is dealt twice"):
        parse_hand("KS QH 10D AC KS")
    with pytest.raises(CardError, match="7S is dealt twice"):
        parse_hand(FIVE, seen=[27])
    assert parse_hand("KS KS 10D AC 7S", copies=2)
    with pytest.raises(CardError, match="KS is dealt more than 2 times"):
        parse_hand("KS KS 10D AC 7S", copies=2, seen=[51])
