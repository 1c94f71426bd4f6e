"""The batch engine: the same rounds as the readable engine, bit for bit, whatever the batch."""

from __future__ import annotations

from itertools import combinations_with_replacement

import numpy as np
import pytest
from strategies import PLAYABLE

from niulab.engine.batch import BatchEngine
from niulab.engine.hands import best_arrangement
from niulab.engine.keysums import RANK_KEYS, rank_tables
from niulab.engine.rules import RuleSet, load_rules, parse_rules
from niulab.engine.settlement import Outcome
from niulab.engine.shoe import deal_round, deal_rounds
from niulab.engine.wagers import Slip, least_slip
from niulab.errors import WagerError
from niulab.solvers.joint_law import joint_law
from niulab.solvers.one_hand import settle_hands
from niulab.solvers.values import slip_values

FLUSH = parse_rules(
    """
name = "flush-and-pairs"
title = "a suited special above a long tie-break of high cards"
source = "test"
extends = "single-double-super"
specials = [
  { name = "black", predicate = "all_black" },
  { name = "bomb", predicate = "four_of_a_kind" },
]
order = { tie_break = "card_by_card", high_card_tie_break = "pairs_then_cards" }
[boxes.super.win_odds]
black = 12
bomb = 13
"""
)


def rows(n: int, seed: int = 5) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(seed, seed + n, dtype=np.uint64), np.arange(n) * 7


def every_box(name: str) -> Slip:
    rules = load_rules(name)
    return Slip.of(dict.fromkeys(rules.boxes, 200))


def test_sums_of_five_rank_keys_name_their_multiset() -> None:
    sums = {sum(five) for five in combinations_with_replacement(RANK_KEYS, 5)}
    assert len(sums) == 6188
    assert len(set(rank_tables(load_rules()).multiset_of[list(sums)].tolist())) == 6188


@pytest.mark.parametrize("n_seats", [1, 2, 9])
@pytest.mark.parametrize("name", ["single-double-super", "six-deck-shoe-bonus"])
def test_compiled_deals_are_the_shoes(name: str, n_seats: int) -> None:
    rules = load_rules(name)
    engine, (seeds, rounds) = BatchEngine(rules, n_seats), rows(50)
    dealt = engine.deal(seeds, rounds)
    assert (dealt == deal_rounds(rules, seeds, rounds, n_seats + 1)).all()
    assert dealt[17].tolist() == [list(hand) for hand in deal_round(rules, 22, 7 * 17, n_seats + 1)]
    in_order = engine.deal_hands(seeds, rounds, n_as_dealt=1)
    assert (in_order[0] == dealt[:, 0]).all()
    assert (in_order[1:] == np.sort(dealt[:, 1:], axis=2).transpose(1, 0, 2)).all()
    assert (engine.deal_hands(seeds, rounds)[0] == np.sort(dealt[:, 0], axis=1)).all()


SMALL = parse_rules(
    """
name = "small-deck"
title = "16 cards, of which one hand's are left over"
source = "test"
extends = "single-double-super"
deck = { removed_ranks = ["2", "3", "6", "7", "8", "9", "10", "J", "Q"] }
table = { max_seats = 2 }
"""
)
TWO_DECKS = parse_rules(
    """
name = "two-decks"
title = "two decks, shuffled for every round"
source = "test"
extends = "single-double-super"
deck = { decks = 2 }
"""
)
SHOE = load_rules("six-deck-shoe-bonus")


@pytest.mark.parametrize(
    ("rules", "n_seats"), [(SMALL, 2), (TWO_DECKS, 1), (TWO_DECKS, 9), (SHOE, 1), (SHOE, 3)]
)
def test_compiled_deals_are_the_shoes_beyond_one_block_and_round_after_round(
    rules: RuleSet, n_seats: int
) -> None:
    """Some rounds follow each other in a shoe, some go back in it, and some leave it."""
    rounds = np.concatenate([np.arange(1000), np.arange(300)[::-1], np.arange(200) * 11])
    seeds = np.where(np.arange(len(rounds)) % 97 < 90, 5, 6).astype(np.uint64)
    dealt = BatchEngine(rules, n_seats).deal(seeds, rounds)
    assert (dealt == deal_rounds(rules, seeds, rounds, n_seats + 1)).all()


@pytest.mark.parametrize("name", PLAYABLE)
def test_compiled_rounds_settle_as_the_readable_engine(name: str) -> None:
    rules = load_rules(name)
    n_seats = 1 if rules.deck.decks == 1 else 3
    engine, slip, (seeds, rounds) = BatchEngine(rules, n_seats), every_box(name), rows(150)
    dealt, nets = engine.deal(seeds, rounds), engine.play(slip, seeds, rounds)
    for cards, row in zip(dealt, nets, strict=True):
        *players, dealer = [best_arrangement(sorted(hand.tolist()), rules) for hand in cards]
        expected = [settle_hands(rules, slip, player, dealer).net_cents for player in players]
        assert row.tolist() == expected


def test_suited_specials_and_long_tie_breaks_agree_too() -> None:
    engine, (seeds, rounds) = BatchEngine(FLUSH, 4), rows(400)
    slip = Slip.of({"single": 100, "super": 100})
    dealt, nets = engine.deal(seeds, rounds), engine.play(slip, seeds, rounds)
    for cards, row in zip(dealt, nets, strict=True):
        *players, dealer = [best_arrangement(sorted(hand.tolist()), FLUSH) for hand in cards]
        expected = [settle_hands(FLUSH, slip, player, dealer).net_cents for player in players]
        assert row.tolist() == expected


@pytest.mark.parametrize("name", ["single-double-super", "even-double-super-bonus"])
def test_results_do_not_depend_on_the_batch(name: str) -> None:
    engine, slip = BatchEngine(load_rules(name), 1), least_slip(load_rules(name))
    seeds, rounds = rows(4096)
    whole = engine.play(slip, seeds, rounds)
    for size in (1, 7):
        parts = [
            engine.play(slip, seeds[i : i + size], rounds[i : i + size]) for i in range(0, 70, size)
        ]
        assert (np.concatenate(parts) == whole[:70]).all()


@pytest.mark.parametrize("n_seats", [1, 3])
def test_counts_do_not_depend_on_threads_or_pieces(n_seats: int) -> None:
    engine = BatchEngine(load_rules("even-double-super-bonus"), n_seats)
    whole = engine.count(7, 0, 2_200_000, threads=2)
    assert whole.sum() == 2_200_000 * n_seats
    parts = engine.count(7, 0, 1_000_001) + engine.count(7, 1_000_001, 1_199_999)
    assert (parts == whole).all()


def test_counts_are_those_of_the_rounds_played() -> None:
    engine, slip = BatchEngine(load_rules()), Slip.parse("single=100,super=40")
    nets = engine.nets(slip)
    counts = engine.count(3, 100, 5000)
    played = engine.play(slip, np.full(5000, 3, dtype=np.uint64), np.arange(100, 5100))
    assert int((counts * nets).sum()) == int(played.sum())
    assert int((counts * nets**2).sum()) == int((played**2).sum())


@pytest.mark.parametrize("name", ["single-double-super", "ngau-ngau-hong-kong"])
def test_frequencies_agree_with_the_exact_law(name: str) -> None:
    """Chi-square of the cells of 2 M rounds against the joint law; false alarm below 1e-6."""
    rules = load_rules(name)
    counts = BatchEngine(rules).count(11, 0, 2_000_000)[0]
    law = joint_law(rules)
    expected = np.zeros_like(counts, dtype=np.float64)
    for cell, n in law.cells.items():
        place = (cell.outcome, cell.player_rank, cell.dealer_rank, cell.events)
        expected[place] += n / law.n_deals * 2_000_000
    seen = expected > 5
    chi2 = float(((counts - expected)[seen] ** 2 / expected[seen]).sum())
    df = int(seen.sum()) - 1
    assert counts[expected == 0].sum() == 0
    assert chi2 < df + 4.9 * np.sqrt(2 * df) + 24


def test_the_mean_lies_within_its_interval_of_the_exact_value() -> None:
    """4.9 standard errors: a false alarm in a million."""
    rules, slip = load_rules(), Slip.parse("single=100,double=100,super=100")
    values, n = slip_values(rules, slip), 2_000_000
    engine = BatchEngine(rules)
    mean = int((engine.count(1, 0, n) * engine.nets(slip)).sum()) / n
    assert abs(mean - float(values.ev_cents)) < 4.9 * values.sd_cents / n**0.5


def test_arrays_that_cannot_be_written_or_have_gaps_are_played_too() -> None:
    engine, slip = BatchEngine(load_rules()), least_slip(load_rules())
    seeds, rounds = rows(600)
    whole = engine.play(slip, seeds, rounds)
    assert (engine.play(slip, np.broadcast_to(seeds[:1], 300), rounds[:300])[0] == whole[0]).all()
    assert (engine.play(slip, seeds[::2], rounds[::2]) == whole[::2]).all()


def chi_square_of_the_dealer(n: int) -> tuple[float, float]:
    """Of cards by place and of pairs of neighboring places."""
    engine = BatchEngine(load_rules())
    singles, pairs = np.zeros((10, 52)), np.zeros((52, 52))
    for start in range(0, n, 500_000):
        size = min(500_000, n - start)
        cards = engine.deal(np.full(size, 99, dtype=np.uint64), np.arange(start, start + size))
        cards = cards.reshape(size, 10).astype(np.int64)
        for place in range(10):
            singles[place] += np.bincount(cards[:, place], minlength=52)
        pairs += np.bincount(52 * cards[:, 4] + cards[:, 5], minlength=52 * 52).reshape(52, 52)
    off = ~np.eye(52, dtype=bool)
    assert pairs[~off].sum() == 0
    of_singles = ((singles - n / 52) ** 2 / (n / 52)).sum()
    of_pairs = ((pairs[off] - n / 2652) ** 2 / (n / 2652)).sum()
    return float(of_singles), float(of_pairs)


def verify_dealer(n: int) -> None:
    singles, pairs = chi_square_of_the_dealer(n)
    assert 510 - 4.9 * 1020**0.5 * 1.1 < singles < 510 + 4.9 * 1020**0.5 * 1.1
    assert 2651 - 4.9 * 5302**0.5 < pairs < 2651 + 4.9 * 5302**0.5


def test_the_dealer_deals_cards_and_pairs_uniformly() -> None:
    verify_dealer(1_000_000)


@pytest.mark.long
def test_the_dealer_deals_cards_and_pairs_uniformly_over_1e7_deals() -> None:
    verify_dealer(10_000_000)


def test_seats_and_slips_must_fit_the_table() -> None:
    rules = load_rules()
    with pytest.raises(WagerError, match="1 to 9 seats, got 10"):
        BatchEngine(rules, 10)
    with pytest.raises(WagerError, match="2 seats need a slip each"):
        BatchEngine(rules, 2).nets([least_slip(rules)])
    with pytest.raises(WagerError, match="required box 'single'"):
        BatchEngine(rules).nets(Slip.parse("super=100"))
    each = BatchEngine(rules, 2).nets([least_slip(rules), Slip.parse("single=200")])
    assert each[:, Outcome.WIN, 10, 0, 0].tolist() == [95, 190]
