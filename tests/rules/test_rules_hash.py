"""The hash of a rule set changes exactly if the game changes."""

import subprocess
import sys

import pytest

from niulab.engine.rules import difference, load_rules, parse_rules

SMALL = """
name = "small"
title = "A small rule set"
source = "test"
boxes.single.required = true
boxes.single.win_odds = { default = 1, niu_niu = 2 }
"""


def with_lines(*lines, text=SMALL):
    return parse_rules("\n".join((text, *lines)))


@pytest.mark.parametrize(
    "text",
    [
        SMALL.replace('"small"', '"other"'),
        SMALL.replace("A small rule set", "Another title"),
        SMALL.replace('"test"', '"another source"'),
        SMALL + '\nnote = "a note"',
        SMALL + '\nboxes.single.title = "Single"',
        SMALL + '\nboxes.single.lose_odds = "mirror"',
        SMALL + "\nboxes.single.lose_odds = { niu_niu = 2, default = 1 }",
        SMALL.replace(
            "{ default = 1, niu_niu = 2 }",
            "{ high_card = 1, niu_1 = 1, niu_2 = 1, niu_3 = 1, niu_4 = 1, niu_5 = 1, niu_6 = 1,"
            " niu_7 = 1, niu_8 = 1, niu_9 = 1, niu_niu = 2 }",
        ),
        SMALL + "\nboxes.single.commission = { rate = '0.00', least_odds = 1 }",
        SMALL + "\ndeck.decks = 1",
        SMALL + "\norder.tie_break = 'high_card_then_suit'",
    ],
)
def test_the_rules_hash_stays_while_the_game_stays(text):
    assert parse_rules(text).rules_hash == parse_rules(SMALL).rules_hash
    assert difference(parse_rules(SMALL), parse_rules(text)) == []


CHANGES = [
    "base_unit_cents = 200",
    "deck.decks = 2",
    "deck = { reshuffle = 'penetration', penetration = '1/2' }",
    "deck.removed_ranks = ['A']\ntable.max_seats = 8",
    (
        "values = { A = 2, 2 = 2, 3 = 3, 4 = 4, 5 = 5, 6 = 6, 7 = 7, 8 = 8, 9 = 9, 10 = 10, J = 10,"
        " Q = 10, K = 10 }"
    ),
    "base.three_of_a_kind = true",
    "base.multiple_of = 9",
    "specials = [{ name = 'top', predicate = 'five_faces' }]",
    "order.ace = 'high'",
    "order.suits = 'SHDC'",
    "order.tie_break = 'card_by_card'",
    "order.high_card_tie_break = 'push'",
    "order.exact_ties = 'dealer'",
    "arrangement = 'automatic'",
    "dealer_opens = 'before_players'",
    "table.max_seats = 5",
    "table.chip_unit_cents = 100\nboxes.single.minimum_cents = 100",
    "table.first_packet = 'largest_required_stake'",
    "boxes.single.minimum_cents = 40",
    "boxes.single.maximum_cents = 40",
    "boxes.single.lose_odds = { default = 1 }",
    "boxes.single.lose_rank = 'player'",
    "boxes.single.commission.rate = '1/20'",
    "boxes.single.commission.least_odds = 2",
    "boxes.single.commission.rounding = 'floor'",
    "boxes.single.half_pay = ['niu_6']",
    "boxes.single.hand_pays = [{ name = 'a', predicate = 'flush', odds = 3 }]",
    "boxes.single.cover.multiple = 2",
    "boxes.single.cover.counts_stake = true",
    "boxes.single.cover.max_cents = 1000",
    "boxes.single.cover.shortfall = 'cap_loss'",
    "boxes.single.max_win_cents = 1000",
    "boxes.single.max_loss_cents = 1000",
    "boxes.double.win_odds = { default = 1 }",
    "boxes.bonus.awards = [{ name = 'a', predicate = 'flush', odds = 3 }]",
    "boxes.bonus = { overlap = 'all', awards = [{ name = 'a', predicate = 'flush', odds = 3 }] }",
    "boxes.bonus.awards = [{ name = 'a', predicate = 'flush', odds = 4 }]",
    "boxes.bonus.awards = [{ name = 'a', predicate = 'straight', odds = 3 }]",
]


@pytest.mark.parametrize("lines", CHANGES)
def test_the_rules_hash_changes_with_every_key_of_the_game(lines):
    rules = with_lines(lines)
    assert rules.rules_hash != parse_rules(SMALL).rules_hash
    assert difference(parse_rules(SMALL), rules) != []


def test_every_change_has_a_hash_of_its_own():
    assert len({with_lines(lines).rules_hash for lines in CHANGES}) == len(CHANGES)


def test_the_ranking_hash_sees_ranks_and_shoe_and_no_money():
    base = parse_rules(SMALL)
    for lines in CHANGES:
        key = lines.split(" ", maxsplit=1)[0].split(".")[0]
        is_money = key in {"base_unit_cents", "arrangement", "dealer_opens", "table"}
        is_money |= key == "boxes" and "predicate" not in lines
        is_money |= "penetration" in lines
        assert (with_lines(lines).ranking_hash == base.ranking_hash) == is_money, lines


def test_a_hash_is_the_same_in_another_process():
    script = "from niulab.engine.rules import load_rules; print(load_rules().rules_hash)"
    process = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert process.stdout.strip() == load_rules().rules_hash


def test_a_changed_copy_has_hashes_of_its_own():
    rules = load_rules()
    known = rules.rules_hash, rules.ranking_hash, rules.ranks
    order = rules.order.model_copy(update={"tie_break": "dealer"})
    changed = rules.model_copy(update={"order": order})
    assert changed.rules_hash != known[0]
    assert changed.ranking_hash != known[1]
    assert (rules.rules_hash, rules.ranking_hash, rules.ranks) == known
    assert rules.model_copy().rules_hash == known[0]
