"""Each named reading of sheet 000 changes exactly what it says, and nothing else."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from niulab.engine.cards import parse_hand
from niulab.engine.hands import best_arrangement
from niulab.engine.ranking import all_hands, ranker
from niulab.engine.rules import changes_of, difference, load_rules
from niulab.engine.settlement import Outcome, unit_result

BASE = load_rules("even-double-super-bonus")
PREFIX = "even-double-super-bonus-"
LOW = ("high_card", "niu_1", "niu_2", "niu_3", "niu_4", "niu_5", "niu_6")  # below Niu 7

# P(player wins holding the rank) = P(dealer wins holding it), from a high card to Niu Niu, to
# twelve places: one deck, plain ranks.
WINS_WITH = dict(
    zip(
        BASE.ranks,
        (
            *(0.056423415000, 0.024249709219, 0.028025687131, 0.032863593441, 0.036474270688),
            *(0.043051338225, 0.045108550645, 0.050271118959, 0.053557134203, 0.058885003180),
            0.071090179309,
        ),
        strict=True,
    )
)


def reading(suffix):
    return load_rules(PREFIX + suffix)


def mask_of(rules, held):
    return sum(1 << rules.events.index(name) for name in held if name in rules.events)


def cells(rules):
    """Net per unit of every box in every cell; events by name, one at a time and in pairs."""
    names = [None, *BASE.events, "four_of_a_kind", "any_niu_niu"]
    held_sets = {frozenset(pair) - {None} for pair in product(names, repeat=2)}
    ranks = [rank for rank in rules.ranks if rank in BASE.ranks]
    found = {}
    for box, outcome, player, dealer in product(rules.boxes, Outcome, ranks, ranks):
        for held in held_sets:
            found[box, outcome, player, dealer, held] = unit_result(
                rules,
                box,
                outcome=outcome,
                player_rank=rules.ranks.index(player),
                dealer_rank=rules.ranks.index(dealer),
                events=mask_of(rules, held),
            ).net
    return found


BASE_CELLS = cells(BASE)


def changed_cells(rules):
    """Cells whose result differs: (box, outcome, player, dealer, held) -> (old, new)."""
    new = cells(rules)
    assert new.keys() == BASE_CELLS.keys()
    return {key: (old, new[key]) for key, old in BASE_CELLS.items() if old != new[key]}


def wins(changed):
    """The changes of winning main boxes: {(box, player rank): (old, new)}, equal in all cells."""
    found = {}
    for (box, outcome, player, _, _), change in changed.items():
        assert outcome == Outcome.WIN
        assert found.setdefault((box, player), change) == change
    return found


def losses(changed):
    """The changes of losing main boxes: {(box, dealer rank): (old, new)}, equal in all cells."""
    found = {}
    for (box, outcome, _, dealer, _), change in changed.items():
        assert outcome == Outcome.LOSE
        assert found.setdefault((box, dealer), change) == change
    return found


def split_by_outcome(changed):
    """Changes while the player wins, and while the player loses."""
    won = {key: change for key, change in changed.items() if key[1] == Outcome.WIN}
    lost = {key: change for key, change in changed.items() if key[1] == Outcome.LOSE}
    assert len(won) + len(lost) == len(changed)
    return won, lost


def super_ev(rules):
    """EV of Super per unit from the probabilities of winning with each rank."""
    total = 0.0
    for rank, probability in WINS_WITH.items():
        index = rules.ranks.index(rank)
        for outcome in (Outcome.WIN, Outcome.LOSE):
            result = unit_result(
                rules, "super", outcome=outcome, player_rank=index, dealer_rank=index
            )
            total += probability * float(result.net)
    return total


def bonus_ev(rules):
    """EV of Bonus per unit over all hands, exactly."""
    masks, n_hands = np.unique(ranker(rules).events(all_hands()), return_counts=True)
    total = Fraction(0)
    for mask, n in zip(masks.tolist(), n_hands.tolist(), strict=True):
        result = unit_result(
            rules, "bonus", outcome=Outcome.LOSE, player_rank=0, dealer_rank=0, events=mask
        )
        total += n * result.net
    return float(total / len(all_hands()))


def beats(a, b, rules):
    first, second = (best_arrangement(parse_hand(text), rules) for text in (a, b))
    assert first.rank == second.rank
    return first.strength > second.strength


# ---------------------------------------------------------------- what each says it changes

SAID = {
    "half-on-7": ["boxes.even.half_pay: niu_6 -> niu_7"],
    "niu2-even-money": [
        "boxes.super.win_odds.niu_2: 2 -> 1",
        "boxes.super.lose_odds.niu_2: 2 -> 1",
    ],
    "niu2-short": ["boxes.super.win_odds.niu_2: 2 -> 1"],
    "literal-note": [f"boxes.super.lose_odds.niu_{n}: {n} -> 1" for n in range(2, 7)],
    "literal-double-scale": [
        *(f"boxes.super.lose_odds.niu_{n}: {n} -> 1" for n in range(2, 7)),
        *(f"boxes.super.lose_odds.niu_{n}: {n} -> 2" for n in range(7, 10)),
        "boxes.super.lose_odds.niu_niu: 10 -> 3",
    ],
    "four-of-a-kind-pays": ["boxes.double.hand_pays.four_of_a_kind: none -> 3"],
    "four-of-a-kind-ranks": [
        "specials: none -> four_of_a_kind (four_of_a_kind)",
        *(
            f"boxes.{box}.{way}_odds.four_of_a_kind: none -> {odds}"
            for box, odds in (("even", 1), ("double", 3), ("super", 10))
            for way in ("win", "lose")
        ),
    ],
    "suit-first": ["order.tie_break: high_card_then_suit -> suit_first"],
    "ace-high": ["order.ace: low -> high"],
    "bonus-all": ["boxes.bonus.overlap: highest -> all"],
    "bonus-any-niu-niu": [
        "boxes.bonus.awards.five_tens: 20 -> none",
        "boxes.bonus.awards.any_niu_niu: none -> 20",
    ],
}


@pytest.mark.parametrize("suffix", SAID)
def test_a_reading_changes_these_keys_only(suffix):
    assert changes_of(PREFIX + suffix) == SAID[suffix]
    assert difference(BASE, reading(suffix)) == SAID[suffix]


@pytest.mark.parametrize("suffix", SAID)
def test_a_reading_keeps_ranks_and_order_unless_it_says_so(suffix):
    rules = reading(suffix)
    same_order = rules.order == BASE.order
    same_ranks = (rules.values, rules.base, rules.specials) == (
        BASE.values,
        BASE.base,
        BASE.specials,
    )
    assert same_order == (suffix not in {"suit-first", "ace-high"})
    assert same_ranks == (suffix != "four-of-a-kind-ranks")


# ---------------------------------------------------------------- what follows at the table


def test_half_on_7_moves_the_half_pay_of_even_from_niu_6_to_niu_7():
    half = Fraction(1, 2)
    assert wins(changed_cells(reading("half-on-7"))) == {
        ("even", "niu_6"): (half, 1),
        ("even", "niu_7"): (1, half),
    }


def test_niu2_even_money_pays_and_loses_1_to_1_without_commission():
    won, lost = split_by_outcome(changed_cells(reading("niu2-even-money")))
    assert wins(won) == {("super", "niu_2"): (Fraction(19, 10), 1)}
    assert losses(lost) == {("super", "niu_2"): (-2, -1)}
    assert super_ev(reading("niu2-even-money")) == pytest.approx(-0.1375808793, abs=1e-9)


def test_niu2_short_pays_1_to_1_and_still_loses_2_to_1():
    changed = changed_cells(reading("niu2-short"))
    assert wins(changed) == {("super", "niu_2"): (Fraction(19, 10), 1)}
    lose_odds = dict(zip(BASE.ranks, reading("niu2-short").lose_odds("super"), strict=True))
    assert lose_odds["niu_2"] == 2
    assert super_ev(reading("niu2-short")) == pytest.approx(-0.1656065664, abs=1e-9)


def test_literal_note_loses_1_to_1_below_niu_7_on_super():
    rules = reading("literal-note")
    assert losses(changed_cells(rules)) == {("super", f"niu_{n}"): (-n, -1) for n in range(2, 7)}
    lose_odds = dict(zip(rules.ranks, rules.lose_odds("super"), strict=True))
    assert {lose_odds[rank] for rank in LOW} == {1}


def test_literal_note_favors_the_player_by_46_percent():
    published = float(Fraction(4590028421549, 9966615258600))
    assert super_ev(reading("literal-note")) == pytest.approx(published, abs=1e-9)
    assert super_ev(BASE) == pytest.approx(float(Fraction(-466382605027, 3322205086200)), abs=1e-9)


def test_literal_double_scale_loses_on_super_as_on_double():
    rules = reading("literal-double-scale")
    assert rules.lose_odds("super") == rules.lose_odds("double") == BASE.lose_odds("double")
    assert losses(changed_cells(rules)) == {
        **{("super", f"niu_{n}"): (-n, -1) for n in range(2, 7)},
        **{("super", f"niu_{n}"): (-n, -2) for n in range(7, 10)},
        ("super", "niu_niu"): (-10, -3),
    }
    assert super_ev(rules) == pytest.approx(1.9430650216, abs=1e-9)


def test_four_of_a_kind_pays_3_to_1_on_double_when_it_wins():
    changed = changed_cells(reading("four-of-a-kind-pays"))
    three_less_tax = Fraction(57, 20)
    assert changed
    for (box, outcome, player, _, held), (old, new) in changed.items():
        assert (box, outcome, new) == ("double", Outcome.WIN, three_less_tax)
        assert "four_of_a_kind" in held
        assert old < new
        assert player != "niu_niu"  # which is paid 3:1 anyhow
    assert {player for _, _, player, _, _ in changed} == {*BASE.ranks} - {"niu_niu"}


def test_four_of_a_kind_ranks_above_niu_niu_and_changes_no_other_hand():
    rules = reading("four-of-a-kind-ranks")
    assert changed_cells(rules) == {}
    assert rules.ranks == (*BASE.ranks, "four_of_a_kind")
    old = ranker(BASE).best_ranks(all_hands())
    new = ranker(rules).best_ranks(all_hands())
    moved = old != new
    assert int(moved.sum()) == 13 * 48
    assert set(new[moved].tolist()) == {rules.ranks.index("four_of_a_kind")}
    top = rules.ranks.index("four_of_a_kind")
    for box, net in (("even", 1), ("double", Fraction(57, 20)), ("super", Fraction(19, 2))):
        ranks = {"player_rank": top, "dealer_rank": top}
        assert unit_result(rules, box, outcome=Outcome.WIN, **ranks).net == net
        lost = unit_result(rules, box, outcome=Outcome.LOSE, **ranks).net
        assert lost == -unit_result(rules, box, outcome=Outcome.WIN, **ranks).moved


def test_suit_first_decides_equal_ranks_by_the_suit_of_the_highest_card():
    rules = reading("suit-first")
    assert changed_cells(rules) == {}
    king_of_diamonds, queen_of_hearts = "9S 10D JD QD KD", "QH JS 10S 9H 10H"
    assert beats(king_of_diamonds, queen_of_hearts, BASE)
    assert beats(queen_of_hearts, king_of_diamonds, rules)
    king_of_spades, queen_of_spades = "9S 10D JD QD KS", "QS JS 10S 9H 10H"
    assert beats(king_of_spades, queen_of_spades, rules)  # the same suit: then its rank


def test_suit_first_equal_keys_share_the_highest_card_so_one_deck_never_ties():
    table = ranker(reading("suit-first"))
    hands = all_hands()[::50]
    keys = table.tie_keys(hands, table.best_ranks(hands))
    tops = hands.max(axis=1)  # the highest id is the highest card
    assert len(set(zip(keys.tolist(), tops.tolist(), strict=True))) == len(set(keys.tolist()))


def test_ace_high_puts_the_ace_above_the_king():
    rules = reading("ace-high")
    assert changed_cells(rules) == {}
    with_ace, with_king = "AD 8C 10S QD JC", "9S 10D JD QS KS"
    assert beats(with_king, with_ace, BASE)
    assert beats(with_ace, with_king, rules)
    assert beats("AS 8C 10S QD JC", "AD 8H 10H QH KS", rules)


def test_ace_high_changes_no_hand_without_an_ace():
    hands = all_hands()[::37]
    without = hands[hands.min(axis=1) >= 4]
    keys = []
    for rules in (BASE, reading("ace-high")):
        table = ranker(rules)
        keys.append(table.tie_keys(without, table.best_ranks(without)))
    assert np.array_equal(np.argsort(keys[0], kind="stable"), np.argsort(keys[1], kind="stable"))


def test_bonus_all_pays_overlapping_awards_together():
    rules = reading("bonus-all")
    changed = changed_cells(rules)
    odds = {award.predicate: award.odds for award in BASE.boxes["bonus"].awards}
    for (box, _, _, _, held), (old, new) in changed.items():
        assert box == "bonus"
        awards = [odds[name] for name in held if name in odds]
        assert (len(awards), old, new) == (2, max(awards), sum(awards))
    assert bonus_ev(rules) == pytest.approx(-0.6310824, abs=5e-8)
    assert bonus_ev(BASE) == pytest.approx(-0.6423446302, abs=5e-11)


def test_bonus_any_niu_niu_pays_20_to_1_on_every_niu_niu_and_refutes_itself():
    rules = reading("bonus-any-niu-niu")
    for (box, _, _, _, held), (old, new) in changed_cells(rules).items():
        assert box == "bonus"
        assert {old, new} <= {-1, 10, 20}
        assert held & {"any_niu_niu", "five_tens"}
    assert bonus_ev(rules) == pytest.approx(0.8512620, abs=5e-8)


# ---------------------------------------------------------------- the sets of section 3


def test_six_deck_shoe_bonus_is_the_shoe_of_six_deck_shoe_with_the_boxes_of_sheet_000():
    rules, shoe = load_rules("six-deck-shoe-bonus"), load_rules("six-deck-shoe")
    assert (rules.deck, rules.specials, rules.order) == (shoe.deck, shoe.specials, shoe.order)
    assert changed_cells(rules) == {}
    for box in ("even", "double", "super"):
        for table in (rules.win_odds(box), rules.lose_odds(box)):
            assert table[rules.ranks.index("five_faces")] == table[rules.ranks.index("niu_niu")]


def test_six_deck_shoe_is_dealt_to_half_and_leaves_exact_ties_to_push():
    shoe = load_rules("six-deck-shoe")
    assert shoe.deck.n_cards == 312
    assert shoe.deck.penetration == Fraction(1, 2)
    assert (shoe.order.suits, shoe.order.tie_break) == ("SHDC", "card_by_card")
    assert shoe.order.exact_ties == "push"


def test_bull_bull_live_keeps_5_percent_of_every_win_and_puts_five_faces_on_top():
    rules = load_rules("bull-bull-live")
    assert rules.ranks[-1] == "five_faces"
    assert rules.win_odds("double")[-1] == 5
    assert rules.win_odds("super")[-1] == 11
    for box, cover in (("equal", 0), ("double", 5), ("super", 11)):
        terms = rules.boxes[box]
        assert terms.lose_odds == "mirror"
        assert (terms.commission.rate, terms.commission.least_odds) == (Fraction(1, 20), 1)
        assert terms.cover.multiple == cover


def test_equal_double_cambodia_has_plain_ranks_and_sets_every_hand():
    rules = load_rules("equal-double-cambodia")
    assert rules.ranks == BASE.ranks
    assert rules.arrangement == "automatic"
    assert rules.win_odds("double") == rules.lose_odds("double") == BASE.win_odds("double")
    assert {box.commission.least_odds for box in rules.boxes.values()} == {1}


def test_ngau_ngau_pays_the_winner_s_multiple_without_commission():
    rules = load_rules("ngau-ngau-hong-kong")
    odds = dict(zip(rules.ranks, rules.win_odds("single"), strict=True))
    assert {rank for rank, n in odds.items() if n == 1} == set(LOW)
    assert (odds["niu_7"], odds["niu_8"], odds["niu_9"], odds["niu_niu"]) == (2, 2, 3, 4)
    assert (odds["ngau_pair"], odds["all_small"], odds["all_big"]) == (5, 5, 5)
    assert rules.lose_odds("single") == rules.win_odds("single")
    assert rules.boxes["single"].commission.rate == 0
    assert rules.ranks[-3:] == ("ngau_pair", "all_small", "all_big")


def test_bomb_room_orders_its_specials():
    rules = load_rules("bomb-room")
    assert rules.ranks[-5:] == ("niu_niu", "four_faces", "five_faces", "bomb", "five_small")
