"""Rounds of many rows against the readable engine: cards dealt, hands compared, cents paid."""

from itertools import product
from math import prod

import numpy as np
import pytest
from strategies import PLAYABLE, overlay

from niulab.engine.batch import BatchEngine
from niulab.engine.hands import SPLITS, tie_key
from niulab.engine.ranking import ranker
from niulab.engine.settlement import Outcome, tie_outcome
from niulab.engine.shoe import deal_round
from niulab.engine.wagers import least_slip
from niulab.envs.rows.croupier import NET, Croupier
from niulab.envs.rows.kernels import order_rows
from niulab.envs.seat.core import settings_in_order
from niulab.seeding import round_word

RULES = PLAYABLE["single-double-super"]
OUTCOME, RANK, DEALER_RANK = range(3)


def croupier_of(rules):
    return Croupier(rules, (least_slip(rules),))


# ---------------------------------------------------------------- dealing


@pytest.mark.parametrize(
    "name", ["single-double-super", "ngau-ngau-hong-kong", "six-deck-shoe-bonus"]
)
@pytest.mark.parametrize("as_dealt", [False, True])
def test_hands_are_those_of_the_readable_shoe(name, as_dealt):
    rules = PLAYABLE[name]
    seeds = np.array([0, 7, 2**64 - 1, 2**63], dtype=np.uint64).repeat(40)
    rounds = np.tile(np.arange(40), 4)
    hands, dealers = croupier_of(rules).deal(seeds, rounds, as_dealt=as_dealt)
    for row, (seed, number) in enumerate(zip(seeds.tolist(), rounds.tolist(), strict=True)):
        hand, dealer = deal_round(rules, seed, number, 2)
        assert hands[row].tolist() == (list(hand) if as_dealt else sorted(hand))
        assert dealers[row].tolist() == sorted(dealer)


@pytest.mark.parametrize("n", [1, 511, 512, 513, 20_000])
def test_every_row_of_a_batch_is_dealt_whatever_its_size(n):
    """Blocks of rows begin and end inside, and rows whose word is refused draw again."""
    seeds, rounds = np.arange(n, dtype=np.uint64), np.arange(n) % 11
    packets = BatchEngine(RULES).deal(seeds, rounds)
    hands, dealers = croupier_of(RULES).deal(seeds, rounds, as_dealt=True)
    assert (hands == packets[:, 0]).all()
    assert (dealers == np.sort(packets[:, 1], axis=1)).all()


def test_refused_words_are_among_those_tested():
    """About 82 of 20,000 are: the deals leave a rest of 0.41 % of 2**58."""
    n_refused = 0
    for seed in range(20_000):
        word = round_word(seed, seed % 11)
        for bound in range(52, 42, -1):
            word = word * bound % 2**58
        n_refused += word < 2**58 % prod(range(43, 53))
    assert 50 < n_refused < 120


@pytest.mark.parametrize("n_ids", [52, 4])
def test_hands_as_dealt_are_put_in_order_with_their_settings(n_ids):
    """With few ids most hands hold equal cards, as those of several decks may."""
    rng = np.random.default_rng(0)
    hands = rng.integers(0, n_ids, (2_000, 5)).astype(np.uint8)
    settings = rng.integers(0, 10, len(hands))
    ordered, chosen = np.empty_like(hands), np.empty_like(settings)
    order_rows(hands, settings, np.array(SPLITS), ordered, chosen)
    order = np.argsort(hands, axis=1, kind="stable")
    assert (ordered == np.take_along_axis(hands, order, axis=1)).all()
    places = np.argsort(order, axis=1)
    assert (chosen == settings_in_order(settings, places)).all()


# ---------------------------------------------------------------- comparing

MODES = ["high_card_then_suit", "suit_first", "card_by_card", "pairs_then_cards", "push"]
ORDERS = [
    {"tie_break": mode, "high_card_tie_break": high, "ace": ace, "suits": suits}
    for mode, high, (ace, suits) in product(
        MODES, MODES, [("low", "SHCD"), ("high", "SHCD"), ("low", "DHSC"), ("high", "")]
    )
    if suits or "suit_first" not in {mode, high}
]


def compared_by_hand(rules, hand, dealer, setting):
    """Rank, dealer's rank and outcome, by the tie-break keys of the readable engine."""
    splits = ranker(rules).split_ranks(np.array([hand, dealer], dtype=np.uint8))
    rank, other = int(splits[0, setting]), int(splits[1].max())
    mine, his = (
        (rank, tie_key(hand, rank, rules.order)),
        (other, tie_key(dealer, other, rules.order)),
    )
    if mine == his:
        return rank, other, tie_outcome(rules.order, rank)
    return rank, other, Outcome.WIN if mine > his else Outcome.LOSE


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: " ".join(order.values()))
def test_ties_are_broken_as_by_the_readable_keys(order):
    lines = "\n".join(f'{key} = "{value}"' for key, value in order.items())
    rules = overlay("single-double-super", f"[order]\n{lines}\n")
    rng = np.random.default_rng(1)
    hands = np.array([rng.permutation(52)[:10] for _ in range(250)], dtype=np.uint8)
    mine, his = np.sort(hands[:, :5], axis=1), np.sort(hands[:, 5:], axis=1)
    settings = rng.integers(0, 10, len(hands))
    columns = croupier_of(rules).settle(mine, his, settings)
    n_ties = 0
    for row, setting in enumerate(settings.tolist()):
        expected = compared_by_hand(rules, mine[row].tolist(), his[row].tolist(), setting)
        assert (columns[RANK, row], columns[DEALER_RANK, row], columns[OUTCOME, row]) == expected
        n_ties += expected[0] == expected[1]
    assert n_ties > 50


def test_equal_cards_of_several_decks_are_an_exact_tie():
    rules = PLAYABLE["six-deck-shoe-bonus"]
    hands = np.array([[0, 5, 5, 30, 51], [0, 5, 5, 30, 51]], dtype=np.uint8)
    others = np.array([[0, 5, 5, 30, 51], [0, 5, 6, 30, 51]], dtype=np.uint8)
    croupier = croupier_of(rules)
    columns = croupier.settle(hands, others, None)
    equal = tie_outcome(rules.order, int(columns[RANK, 0]))
    assert columns[OUTCOME].tolist() == [equal, Outcome.LOSE]


def test_results_go_where_they_are_wanted():
    croupier = croupier_of(RULES)
    hands, dealers = croupier.deal(
        np.arange(600, dtype=np.uint64), np.zeros(600, dtype=np.int64), as_dealt=False
    )
    columns = np.empty((croupier.n_columns, 600), dtype=np.int64)
    assert croupier.settle(hands, dealers, None, out=columns) is columns
    assert (columns == croupier.settle(hands, dealers, None)).all()
    slips = np.zeros(600, dtype=np.int64)
    assert (columns == croupier.settle(hands, dealers, None, slips)).all()
    assert (columns[NET] == columns[5:].sum(axis=0)).all()
    engine = BatchEngine(RULES)
    nets = engine.play(least_slip(RULES), np.arange(600, dtype=np.uint64), np.zeros(600, np.int64))
    assert (columns[NET] == nets[:, 0]).all()
