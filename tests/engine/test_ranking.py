"""The fast tables against the reference evaluator, and the counts the sheets' ranking gives.

The default suite compares random samples under every distinct ranking; the long one every hand:
each distinct set of ranks, each order of cards and each set of events against the reference, and
every ranking against the one whose parts it shares.
"""

from itertools import combinations
from math import comb

import numpy as np
import pytest

from niulab.engine.hands import SPLITS, arrangements, best_arrangement, is_base, tie_key
from niulab.engine.ranking import (
    NO_OPTION,
    all_hands,
    all_multisets,
    hand_index,
    hand_weights,
    n_hands,
    ranker,
)
from niulab.engine.rules import load_rules, shipped_names
from niulab.engine.specials import PREDICATES

SHIPPED = [load_rules(name) for name in shipped_names()]
SAMPLE = 400

# Hong Kong: the counts printed in github.com/tysonwu/ngau-ngau (ngau_ngau_research.ipynb).
NGAU_COUNTS = {
    "high_card": 841_776,
    "niu_1": 173_116,
    "niu_2": 145_732,
    "niu_3": 172_708,
    "niu_4": 145_660,
    "niu_5": 179_488,
    "niu_6": 146_496,
    "niu_7": 174_200,
    "niu_8": 147_076,
    "niu_9": 174_588,
    "niu_niu": 143_904,
    "ngau_pair": 145_480,
    "all_small": 4_368,
    "all_big": 4_368,
}
ODD_DIGIT, EVEN_DIGIT = 171_304, 168_096
PLAIN_COUNTS = {
    "high_card": 872_128,
    **{f"niu_{digit}": ODD_DIGIT if digit % 2 else EVEN_DIGIT for digit in range(1, 10)},
    "niu_5": 177_424,
    "niu_niu": 191_808,
}


def by_name(rules):
    return [one.name for one in rules]


def by_part(rules, part):
    """The first rule set of each distinct value of a part of the ranking."""
    first = {}
    for one in rules:
        first.setdefault(str(part(one)), one)
    return list(first.values())


RANKINGS = by_part(SHIPPED, lambda rules: rules.ranking_hash)
ONE_DECK = [rules for rules in RANKINGS if rules.deck.decks == 1]


def ranks_part(rules):
    return rules.values, rules.base, rules.specials


def order_part(rules):
    return rules.order


def events_part(rules):
    return rules.events


def counts(rules):
    ranks = ranker(rules).best_ranks(all_hands())
    return dict(zip(rules.ranks, np.bincount(ranks, minlength=len(rules.ranks)), strict=True))


def reference_events(cards, rules):
    return sum(PREDICATES[name].holds(cards) << bit for bit, name in enumerate(rules.events))


# ---------------------------------------------------------------- counts


def test_plain_ranks_have_the_counts_of_one_deck():
    assert counts(load_rules()) == PLAIN_COUNTS
    assert sum(PLAIN_COUNTS.values()) == comb(52, 5) == 2_598_960


def test_hong_kong_ranks_have_the_counts_its_source_printed():
    assert counts(load_rules("ngau-ngau-hong-kong")) == NGAU_COUNTS


def test_five_faces_leave_niu_niu_the_rest_of_its_hands():
    found = counts(load_rules("bull-bull-live"))
    assert found["five_faces"] == comb(12, 5) == 792
    assert found == PLAIN_COUNTS | {"niu_niu": PLAIN_COUNTS["niu_niu"] - 792, "five_faces": 792}


def test_the_bomb_room_counts_each_special_below_the_next():
    """A bomb of small cards counts as five small, a bomb of faces as a bomb."""
    found = counts(load_rules("bomb-room"))
    small = sum(sum(card // 4 + 1 for card in hand) <= 10 for hand in combinations(range(20), 5))
    small_bombs = 4 * 4 + 4  # four aces with 2, 3, 4 or 5, and four twos with an ace
    assert found["five_small"] == small
    assert found["bomb"] == 13 * 48 - small_bombs
    assert found["five_faces"] == comb(12, 5) - 3 * 8
    assert found["four_faces"] == comb(12, 4) * 40 - 3 * 40


def test_ranks_are_the_same_under_every_order_of_cards():
    plain = ranker(load_rules()).split_ranks(all_hands())
    for name in ("even-double-super-bonus-suit-first", "even-double-super-bonus-ace-high"):
        assert np.array_equal(ranker(load_rules(name)).split_ranks(all_hands()), plain)


def test_the_highest_bonus_award_of_every_hand():
    rules = load_rules("even-double-super-bonus")
    masks = ranker(rules).events(all_hands())
    found = {}
    for award in rules.boxes["bonus"].awards:  # from the highest
        held = (masks >> rules.events.index(award.predicate) & 1).astype(bool)
        found[award.odds] = int(held.sum())
        masks = np.where(held, 0, masks)
    assert found == {100: 792, 50: 1_287, 20: 3_576, 10: 64_437}


# ---------------------------------------------------------------- all hands and their rows


@pytest.mark.parametrize("multi", [False, True])
def test_all_hands_are_all_ascending_hands_in_colex_order(multi):
    hands = all_hands(multi=multi)
    assert len(hands) == n_hands(multi=multi) == (comb(56, 5) if multi else comb(52, 5))
    steps = np.diff(hands.astype(np.int16), axis=1)
    assert steps.min() == (0 if multi else 1)
    assert not hands.flags.writeable
    colex = hands.astype(np.int64) @ 52 ** np.arange(5)
    assert (np.diff(colex) > 0).all()
    assert np.array_equal(hand_index(hands, multi=multi), np.arange(len(hands)))


def test_weights_count_physical_hands():
    composition = load_rules("six-deck-shoe").deck.composition
    assert composition == (6,) * 52
    assert hand_weights(all_hands(multi=True), composition).sum() == comb(312, 5)
    depleted = [0, 1, 2, 3, *[4] * 48]
    assert hand_weights(all_hands(multi=True), depleted).sum() == comb(sum(depleted), 5)
    assert hand_weights(all_hands(), (1,) * 52).sum() == comb(52, 5)


@pytest.mark.parametrize("size", range(1, 5))
def test_smaller_sets_are_as_many_as_there_are(size):
    assert len(all_multisets(size)) == comb(52, size)
    assert len(all_multisets(size, multi=True)) == comb(51 + size, size)


# ---------------------------------------------------------------- fast equals reference


def check_against_reference(rules, hands):
    table = ranker(rules)
    splits = table.split_ranks(hands)
    best = table.best_ranks(hands)
    keys = table.tie_keys(hands, best)
    events = table.events(hands)
    options, option_of = table.options(hands)
    rows = np.arange(len(hands))[:, None]
    assert np.array_equal(options[rows, option_of], splits)
    for row, cards in enumerate(hands.tolist()):
        settings = arrangements(cards, rules)
        ranks = [setting.rank_index for setting in settings]
        assert splits[row].tolist() == ranks
        assert best[row] == max(ranks)
        assert best_arrangement(cards, rules).strength == int(best[row]) * 52**5 + keys[row]
        assert events[row] == reference_events(cards, rules)
        distinct = sorted(set(ranks), reverse=True)
        padding = [NO_OPTION] * (options.shape[1] - len(distinct))
        assert options[row].tolist() == distinct + padding


@pytest.mark.parametrize("rules", RANKINGS, ids=by_name(RANKINGS))
def test_fast_equals_reference_on_random_hands(rules):
    rng = np.random.default_rng(11)
    hands = all_hands(multi=rules.deck.decks > 1)
    check_against_reference(rules, hands[rng.integers(0, len(hands), SAMPLE)])


@pytest.mark.parametrize("rules", RANKINGS, ids=by_name(RANKINGS))
def test_fast_equals_reference_on_hands_of_every_special(rules):
    rng = np.random.default_rng(12)
    hands = all_hands(multi=rules.deck.decks > 1)
    best = ranker(rules).best_ranks(hands)
    for rank in range(len(rules.ranks)):
        of_rank = np.flatnonzero(best == rank)
        assert len(of_rank) > 0
        check_against_reference(rules, hands[rng.choice(of_rank, 12)])


def test_the_default_suite_meets_every_distinct_ranking():
    decks = [rules.deck.decks for rules in RANKINGS]
    assert set(decks) == {1, 6}
    assert {rules.ranking_hash for rules in RANKINGS} == {rules.ranking_hash for rules in SHIPPED}


# ---------------------------------------------------------------- every hand


def in_chunks(hands, size=20_000):
    for start in range(0, len(hands), size):
        yield hands[start : start + size]


@pytest.mark.long
@pytest.mark.parametrize(
    "rules", by_part(ONE_DECK, ranks_part), ids=by_name(by_part(ONE_DECK, ranks_part))
)
def test_ranks_of_every_setting_of_every_hand_equal_the_reference(rules):
    table = ranker(rules)
    for hands in in_chunks(all_hands()):
        splits, best = table.split_ranks(hands), table.best_ranks(hands)
        reference = [
            [setting.rank_index for setting in arrangements(cards, rules)]
            for cards in hands.tolist()
        ]
        assert splits.tolist() == reference
        assert best.tolist() == [max(ranks) for ranks in reference]


@pytest.mark.long
@pytest.mark.parametrize(
    "rules", by_part(ONE_DECK, order_part), ids=by_name(by_part(ONE_DECK, order_part))
)
def test_tie_keys_of_every_hand_equal_the_reference(rules):
    table = ranker(rules)
    for hands in in_chunks(all_hands()):
        best = table.best_ranks(hands)
        for ranks in (best, np.zeros_like(best)):
            reference = [
                tie_key(cards, rank, rules.order)
                for cards, rank in zip(hands.tolist(), ranks.tolist(), strict=True)
            ]
            assert table.tie_keys(hands, ranks).tolist() == reference


@pytest.mark.long
@pytest.mark.parametrize(
    "rules", by_part(ONE_DECK, events_part), ids=by_name(by_part(ONE_DECK, events_part))
)
def test_events_of_every_hand_equal_the_reference(rules):
    table = ranker(rules)
    for hands in in_chunks(all_hands()):
        reference = [reference_events(cards, rules) for cards in hands.tolist()]
        assert table.events(hands).tolist() == reference


@pytest.mark.long
@pytest.mark.parametrize("rules", ONE_DECK, ids=by_name(ONE_DECK))
def test_every_ranking_equals_those_whose_parts_it_shares(rules):
    """With the three sweeps above, every hand of every one-deck ranking is the reference's."""
    hands, table = all_hands(), ranker(rules)
    best = table.best_ranks(hands)

    def twin(part):
        return ranker(next(r for r in by_part(ONE_DECK, part) if part(r) == part(rules)))

    assert np.array_equal(table.split_ranks(hands), twin(ranks_part).split_ranks(hands))
    assert np.array_equal(best, twin(ranks_part).best_ranks(hands))
    assert np.array_equal(table.tie_keys(hands, best), twin(order_part).tie_keys(hands, best))
    assert np.array_equal(table.events(hands), twin(events_part).events(hands))


@pytest.mark.long
def test_all_plain_bases_of_every_hand_leave_the_same_rank():
    splits = ranker(load_rules()).split_ranks(all_hands())
    lowest = np.where(splits == 0, NO_OPTION, splits).min(axis=1)
    has_base = splits.max(axis=1) > 0
    assert np.array_equal(splits.max(axis=1)[has_base], lowest[has_base])


def test_a_base_is_a_base_in_any_order():
    rules = load_rules("ngau-ngau-hong-kong")
    for cards in ([0, 1, 2], [0, 8, 20], [48, 44, 40]):
        assert is_base(cards, rules)
        assert is_base(cards[::-1], rules)
    assert len(SPLITS) == 10
