"""Predicates hold of exactly the hands that counting formulas say."""

from itertools import combinations, combinations_with_replacement
from math import comb

import numpy as np
import pytest

from niulab.engine.cards import parse_hand
from niulab.engine.hands import arrange, arrangements
from niulab.engine.ranking import all_hands, ranker
from niulab.engine.rules import load_rules, parse_rules
from niulab.engine.specials import FRONT_PREDICATES, PREDICATES, has_front_pair, points_of_rank

FACES = 12  # J, Q, K of four suits
HANDS = comb(52, 5)


def five_small(highest):
    """Hands of cards up to ``highest`` with at most ten points, added card by card."""
    points = [rank + 1 for rank in range(highest) for _ in range(4)]
    return sum(sum(points[i] for i in hand) <= 10 for hand in combinations(range(len(points)), 5))


COUNTS = {
    "five_faces": comb(FACES, 5),
    "four_faces": comb(FACES, 4) * (52 - FACES),
    "four_faces_and_ten": comb(FACES, 4) * 4,
    "five_tens": comb(FACES + 4, 5),
    "five_small": five_small(5),
    "five_small_below_five": five_small(4),
    "all_ace_to_four": comb(16, 5),
    "four_of_a_kind": 13 * 48,
    "full_house": 13 * comb(4, 3) * 12 * comb(4, 2),
    "straight": 9 * 4**5,  # A-5 to 9-K: with the ace low there is no 10-A
    "flush": 4 * comb(13, 5),
    "straight_flush": 9 * 4,
    "all_spades": comb(13, 5),
    "all_black": comb(26, 5),
    "any_niu_niu": 191_808,
}


def rules_with(special):
    return parse_rules(f"""
        name = "one-special"
        title = "One special on top"
        source = "test"
        specials = [{{ name = "special", predicate = "{special}" }}]
        """)


def test_every_predicate_has_its_count():
    assert set(COUNTS) == set(PREDICATES)


@pytest.mark.parametrize("name", COUNTS)
def test_a_predicate_holds_of_as_many_hands_as_counted(name):
    rules = rules_with(name)
    ranks = ranker(rules).best_ranks(all_hands())
    assert int((ranks == rules.ranks.index("special")).sum()) == COUNTS[name]


@pytest.mark.parametrize(
    ("name", "yes", "no"),
    [
        ("five_faces", "JS QH JC QD KS", "10S QH JC QD KS"),
        ("four_faces", "JS QH JC QD 3S", "JS QH JC QD KS"),
        ("four_faces_and_ten", "JS QH JC QD 10S", "JS QH JC QD 3S"),
        ("five_tens", "10S 10H JC QD KS", "9S 10H JC QD KS"),
        ("five_small", "AS AH AC 2D 5S", "AS AH AC 3D 5S"),
        ("five_small_below_five", "AS AH AC 3D 4S", "AS AH AC 2D 5S"),
        ("all_ace_to_four", "4S 4H 3C 3D 2S", "AS AH AC 2D 5S"),
        ("four_of_a_kind", "9S 9H 9C 9D KS", "9S 9H 9C KD KS"),
        ("full_house", "9S 9H 9C KD KS", "9S 9H QC KD KS"),
        ("straight", "AS 2H 3C 4D 5S", "10S JH QC KD AS"),
        ("flush", "2S 4S 6S 8S KS", "2S 4S 6S 8S KC"),
        ("straight_flush", "3S 4S 5S 6S 7S", "3S 4S 5S 6S 7C"),
        ("all_spades", "2S 4S 6S 8S KS", "2C 4C 6C 8C KC"),
        ("all_black", "2S 4C 6S 8S KC", "2S 4C 6S 8S KH"),
        ("any_niu_niu", "5S 5H 10C JD KS", "5S 4H 10C JD KS"),
    ],
)
def test_a_predicate_at_its_edge(name, yes, no):
    assert PREDICATES[name].holds(parse_hand(yes))
    assert not PREDICATES[name].holds(parse_hand(no))


def test_a_predicate_reads_the_same_whatever_the_order_of_the_cards():
    rng = np.random.default_rng(3)
    for cards in all_hands()[rng.integers(0, HANDS, 300)]:
        shuffled = rng.permutation(cards).tolist()
        for predicate in PREDICATES.values():
            assert predicate.holds(shuffled) == predicate.holds(cards.tolist())


def test_the_two_small_hands_differ_by_a_five_among_aces_only():
    """Total at most ten with a five: A A A A 5 (9), A A A 2 5 (10)."""
    for ranks in combinations_with_replacement(range(13), 5):
        wide = PREDICATES["five_small"].by_ranks(ranks)
        narrow = PREDICATES["five_small_below_five"].by_ranks(ranks)
        assert (wide and not narrow) == (ranks in {(0, 0, 0, 0, 4), (0, 0, 0, 1, 4)})


def test_any_niu_niu_is_what_the_plain_ranking_calls_niu_niu():
    rules = load_rules()
    niu_niu = ranker(rules).best_ranks(all_hands()) == rules.ranks.index("niu_niu")
    special = rules_with("any_niu_niu")
    held = ranker(special).best_ranks(all_hands()) == special.ranks.index("special")
    assert np.array_equal(niu_niu, held)


def test_four_of_a_kind_counts_a_fifth_card_of_several_decks():
    assert PREDICATES["four_of_a_kind"].holds([0, 0, 1, 2, 3])
    assert not PREDICATES["full_house"].holds([0, 0, 1, 2, 3])


def test_points_of_a_rank():
    assert [points_of_rank(rank) for rank in range(13)] == [*range(1, 11), 10, 10, 10]


class TestPairInFront:
    def test_it_is_the_only_predicate_of_a_setting(self):
        assert set(FRONT_PREDICATES) == {"pair_in_front"}
        assert has_front_pair([6, 6])
        assert not has_front_pair([9, 10])  # 10 and J: ten points each, no pair

    def test_it_needs_a_qualifying_base_behind(self):
        rules = rules_with("pair_in_front")
        cards = parse_hand("9S 9H AD 4C 3S")
        assert {setting.rank for setting in arrangements(cards, rules)} == {"high_card"}

    def test_it_depends_on_how_the_hand_is_set(self):
        rules = rules_with("pair_in_front")
        cards = parse_hand("5D 5S KC KH KS")
        assert arrange(cards, (0, 1), rules).rank == "special"  # K K K behind 5 5
        assert arrange(cards, (0, 2), rules).rank == "high_card"  # 5 K K is no base
        assert arrange(cards, (2, 3), rules).rank == "special"  # 5 5 K behind K K
        niu = parse_hand("5D 5S KC QH JS")
        assert arrange(niu, (2, 3), rules).rank == "niu_niu"
        assert arrange(niu, (0, 1), rules).rank == "special"
