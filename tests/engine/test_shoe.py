"""The shoe: exactly uniform, one deal whatever the form or batch, shoes with a cut card."""

import hashlib
import tomllib
from collections import Counter
from itertools import permutations
from math import perm, prod
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import SHIPPED, overlay

from niulab.engine.cards import parse_hand
from niulab.engine.shoe import (
    _decode,
    _plan,
    deal_round,
    deal_rounds,
    dealt_before,
    rounds_per_shoe,
    shoe_place,
)
from niulab.errors import CardError
from niulab.seeding import ALGORITHM_VERSION, round_words

SINGLE = SHIPPED["single-double-super"]
SIX = SHIPPED["six-deck-shoe"]
SHORT = overlay(
    "single-double-super", 'deck = { removed_ranks = ["2"] }\ntable = { max_seats = 8 }'
)
ONE_CUT = overlay(
    "single-double-super", 'deck = { reshuffle = "penetration", penetration = "3/4" }'
)
SHOES = {"one deck": SINGLE, "48 cards": SHORT, "one deck, cut": ONE_CUT, "six decks": SIX}
GOLDEN = tomllib.loads((Path(__file__).parents[1] / "golden" / "deals.toml").read_text("utf-8"))


def dealt(rules, n_rows, n_hands, *, seed=2024):
    rows = np.arange(n_rows, dtype=np.uint64) + np.uint64(seed)
    return deal_rounds(rules, rows, np.zeros(n_rows, dtype=np.int64), n_hands)


# ------------------------------------------------------------ one deal, two forms


@pytest.mark.parametrize("rules", SHOES.values(), ids=SHOES)
@pytest.mark.parametrize("n_hands", [1, 2, 3, 9])
def test_rows_deal_what_single_rounds_deal(rules, n_hands):
    seeds = np.array([0, 1, 2**63 - 1, 2**64 - 1] * 75, dtype=np.uint64)
    rounds = np.arange(300, dtype=np.int64) * 7
    cards = deal_rounds(rules, seeds, rounds, n_hands)
    assert cards.shape == (300, n_hands, 5)
    assert cards.dtype == np.uint8
    for row, seed, number in zip(cards.tolist(), seeds.tolist(), rounds.tolist(), strict=True):
        assert row == [list(hand) for hand in deal_round(rules, seed, number, n_hands)]


def test_redrawn_rows_agree_too():
    # 0.4 % of one-deck words are redrawn: 3,000 rows hold about a dozen.
    bits, (group, *_) = _plan(52)
    seeds, rounds = np.arange(3000, dtype=np.uint64), np.zeros(3000, dtype=np.int64)
    words = round_words(seeds, rounds).tolist()
    redrawn = [
        row
        for row, word in enumerate(words)
        if _decode(word, group.bounds, bits)[1] < group.threshold
    ]
    assert 3 <= len(redrawn) <= 30
    cards = deal_rounds(SINGLE, seeds, rounds, 2)
    for row in redrawn:
        assert cards[row].tolist() == [list(hand) for hand in deal_round(SINGLE, row, 0, 2)]


@pytest.mark.parametrize("rules", [SINGLE, SIX], ids=["one deck", "six decks"])
@pytest.mark.parametrize("batch", [1, 7, 4096])
def test_a_row_does_not_depend_on_its_batch(rules, batch):
    rows = np.arange(batch, dtype=np.uint64) + np.uint64(5)
    rounds = np.full(batch, 3, dtype=np.int64)
    cards = deal_rounds(rules, rows, rounds, 2)
    assert cards[0].tolist() == [list(hand) for hand in deal_round(rules, 5, 3, 2)]


@given(seed=st.integers(0, 2**64 - 1), number=st.integers(0, 2**40), n_hands=st.integers(2, 10))
def test_first_packets_do_not_depend_on_how_many_follow(seed, number, n_hands):
    cards = deal_round(SINGLE, seed, number, n_hands)
    assert deal_round(SINGLE, seed, number, n_hands - 1) == cards[:-1]


def test_an_empty_batch_deals_nothing():
    none = np.empty(0, dtype=np.uint64)
    assert deal_rounds(SINGLE, none, none.astype(np.int64), 2).shape == (0, 2, 5)


# ------------------------------------------------------------ uniform, exactly and in samples


@pytest.mark.parametrize(
    ("bits", "bounds"),
    [(8, (5, 4, 3)), (10, (6, 5, 4)), (7, (8, 7)), (9, (4, 3, 2, 1)), (6, (64,))],
)
def test_every_ordered_deal_has_equally_many_words(bits, bounds):
    """Enumerates every word of a small analog: after redraws each deal is left equally often."""
    threshold = 2**bits % prod(bounds)
    kept = Counter()
    for word in range(2**bits):
        digits, remainder = _decode(word, bounds, bits)
        if remainder < threshold:
            continue
        deck = list(range(bounds[0]))
        for place, digit in enumerate(digits):
            deck[place], deck[place + digit] = deck[place + digit], deck[place]
        kept[tuple(deck[: len(bounds)])] += 1
    assert set(kept) == set(permutations(range(bounds[0]), len(bounds)))
    assert set(kept.values()) == {2**bits // prod(bounds)}


@pytest.mark.parametrize("n_cards", [*range(10, 53), 104, 208, 312, 416])
def test_the_plan_of_a_shoe_keeps_inside_64_bits(n_cards):
    bits, groups = _plan(n_cards)
    assert n_cards * 2**bits <= 2**64
    assert [bound for group in groups for bound in group.bounds] == list(range(n_cards, 0, -1))
    for group in groups:
        assert group.start == n_cards - group.bounds[0]
        assert prod(group.bounds) <= 2**bits
        assert group.threshold == 2**bits % prod(group.bounds)
        assert group.threshold < 2**bits / 8  # the share of words redrawn
    assert prod(groups[0].bounds) == perm(n_cards, len(groups[0].bounds))


def chi_square(counts, expected):
    return float(((counts - expected) ** 2 / expected).sum())


@pytest.mark.parametrize(("rules", "n_hands"), [(SINGLE, 10), (SIX, 3)], ids=["52", "312"])
def test_every_place_sees_every_card_equally_often(rules, n_hands):
    n_rows = 40_000
    cards = dealt(rules, n_rows, n_hands).reshape(n_rows, -1)
    statistics = [chi_square(np.bincount(column, minlength=52), n_rows / 52) for column in cards.T]
    # 51 degrees of freedom: mean 51, SD 10.1; the mean over p places has SD 10.1 / sqrt(p).
    assert max(statistics) < 51 + 5 * 10.1
    assert abs(np.mean(statistics) - 51) < 4 * 10.1 / len(statistics) ** 0.5


def test_pairs_of_places_see_every_pair_of_cards_equally_often():
    n_rows = 400_000
    cards = dealt(SINGLE, n_rows, 2).reshape(n_rows, -1).astype(np.int64)
    for first, second in ((0, 1), (4, 5), (0, 9)):
        pairs = np.bincount(52 * cards[:, first] + cards[:, second], minlength=52 * 52)
        pairs = pairs.reshape(52, 52)
        assert not pairs.diagonal().any()
        statistic = chi_square(pairs[~np.eye(52, dtype=bool)], n_rows / (52 * 51))
        assert abs(statistic - (52 * 51 - 1)) < 4 * (2 * 52 * 51) ** 0.5


def test_neighboring_rounds_and_rows_are_unrelated():
    n = 100_000
    rows, rounds = np.arange(n, dtype=np.uint64), np.arange(n, dtype=np.int64)
    fixed = np.full(n, 11, dtype=np.uint64)
    for cards in (
        deal_rounds(SINGLE, rows, np.zeros(n, dtype=np.int64), 1)[:, 0, 0],
        deal_rounds(SINGLE, fixed, rounds, 1)[:, 0, 0],
    ):
        pairs = np.bincount(52 * cards[:-1].astype(np.int64) + cards[1:], minlength=52 * 52)
        statistic = chi_square(pairs, (n - 1) / 52**2)
        assert abs(statistic - (52**2 - 1)) < 4 * (2 * 52**2) ** 0.5


# ------------------------------------------------------------ what a shoe holds


@given(seed=st.integers(0, 2**64 - 1), number=st.integers(0, 2**40))
def test_nine_seats_and_the_dealer_share_one_deck(seed, number):
    hands = deal_round(SINGLE, seed, number, 10)
    assert len({card for hand in hands for card in hand}) == 50


def test_removed_ranks_are_never_dealt():
    cards = dealt(SHORT, 2000, 9)
    assert not np.isin(cards // 4, 1).any()
    assert all(len(set(row)) == 45 for row in cards.reshape(2000, -1).tolist())


@pytest.mark.parametrize(("rules", "n_hands"), [(SINGLE, 0), (SINGLE, 11), (SHORT, 10)])
def test_more_hands_than_cards_are_refused(rules, n_hands):
    with pytest.raises(CardError, match=f"{n_hands} hands cannot be dealt"):
        deal_round(rules, 0, 0, n_hands)
    with pytest.raises(CardError, match="ask for 1 to"):
        deal_rounds(rules, np.zeros(1, np.uint64), np.zeros(1, np.int64), n_hands)


@pytest.mark.parametrize(
    ("rules", "n_hands", "n_rounds"),
    [
        (SINGLE, 2, 1),
        (SIX, 2, 16),  # 156 cards up to the cut, 10 a round: the 16th round starts at card 150
        (SIX, 10, 4),
        (ONE_CUT, 2, 4),  # 39 cards up to the cut, 10 a round
        (ONE_CUT, 5, 2),
        (ONE_CUT, 6, 1),  # a second round of 30 would run out of cards
        (ONE_CUT, 10, 1),
    ],
)
def test_rounds_are_dealt_until_the_cut_card_is_out(rules, n_hands, n_rounds):
    assert rounds_per_shoe(rules, n_hands) == n_rounds
    assert shoe_place(rules, n_rounds - 1, n_hands) == (0, 5 * n_hands * (n_rounds - 1))
    assert shoe_place(rules, n_rounds, n_hands) == (1, 0)


def test_a_shoe_dealt_to_the_end_keeps_enough_cards():
    rules = overlay("six-deck-shoe", 'deck = { penetration = "1" }')
    assert rounds_per_shoe(rules, 2) == 31
    assert shoe_place(rules, 30, 2).offset + 10 <= 312


@pytest.mark.parametrize("rules", [SIX, ONE_CUT], ids=["six decks", "one deck"])
def test_rounds_of_a_shoe_take_successive_cards(rules):
    per_shoe = rounds_per_shoe(rules, 2)
    for shoe in range(3):
        out = []
        for number in range(shoe * per_shoe, (shoe + 1) * per_shoe):
            assert list(dealt_before(rules, 9, number, 2)) == out
            out += [card for hand in deal_round(rules, 9, number, 2) for card in hand]
        assert max(Counter(out).values()) <= rules.deck.decks
    first, second = (deal_round(rules, 9, number, 2) for number in (0, per_shoe))
    assert first != second


def test_a_fresh_deck_every_round_has_nothing_dealt_before():
    assert dealt_before(SINGLE, 9, 1234, 2) == ()
    assert shoe_place(SINGLE, 1234, 2) == (1234, 0)


# ------------------------------------------------------------ the golden file


def test_the_golden_file_is_of_this_algorithm():
    assert GOLDEN["algorithm_version"] == ALGORITHM_VERSION


@pytest.mark.parametrize("entry", GOLDEN["deals"], ids=lambda e: f"{e['rules']}-{e['seed']}")
def test_the_first_thousand_deals_stay_as_published(entry):
    rules, n_hands = SHIPPED[entry["rules"]], entry["n_hands"]
    seeds = np.full(1000, entry["seed"], dtype=np.uint64)
    cards = deal_rounds(rules, seeds, np.arange(1000, dtype=np.int64), n_hands)
    first = [[list(parse_hand(hand)) for hand in row] for row in entry["first"]]
    assert cards[: len(first)].tolist() == first
    assert hashlib.sha256(cards.tobytes()).hexdigest() == entry["sha256_of_1000"]
