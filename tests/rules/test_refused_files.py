"""Rules files that are refused, and how the message helps."""

import pytest

from niulab.engine.rules import load_rules, parse_rules, read_rules
from niulab.errors import RulesError

SMALL = """
name = "small"
title = "A small rule set"
source = "test"
boxes.single.required = true
boxes.single.win_odds = { default = 1, niu_niu = 2 }
"""


def refused(text, **kwargs):
    with pytest.raises(RulesError) as caught:
        parse_rules(text, origin="mine.toml", **kwargs)
    message = str(caught.value)
    assert "mine.toml" in message
    return message


def test_an_unknown_name_is_told_the_nearest():
    with pytest.raises(RulesError, match="did you mean 'single-double-super'"):
        load_rules("single-duoble-super")
    with pytest.raises(RulesError, match=r"path of a \.toml file"):
        load_rules("")


@pytest.mark.parametrize("name", ["absent.toml", "folder/absent"])
def test_a_missing_file_is_named(name, tmp_path):
    with pytest.raises(RulesError, match="No such file"):
        load_rules(str(tmp_path / name))


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(RulesError, match="cannot read the rules file"):
        read_rules(tmp_path)


def test_a_path_that_cannot_be_is_refused():
    with pytest.raises(RulesError, match="cannot read the rules file"):
        load_rules("a\0b.toml")


def test_bytes_that_are_no_text_are_refused(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(RulesError, match="no UTF-8 text"):
        read_rules(file)


@pytest.mark.parametrize(
    "text", ["name =", "= 3", "{", "name = 'a'\nname = 'b'", "decks = " + "9" * 5000]
)
def test_text_that_is_no_toml_is_refused(text):
    assert "is no TOML" in refused(text)


def test_every_mistake_is_listed_at_once():
    message = refused(
        SMALL
        + """
        titel = "twice"
        boxes.double.minimum_cents = -20
        deck.dekcs = 6
        """
    )
    assert len(message.splitlines()) == 4  # the heading and three mistakes
    assert "unknown key 'titel'; did you mean 'title'?" in message
    assert "deck.dekcs: unknown key 'dekcs'; did you mean 'decks'?" in message
    assert "boxes.double.minimum_cents: Input should be greater than 0, got -20" in message


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("boxes.single.comission.rate = '1/20'", "did you mean 'commission'"),
        ("boxes.single.commission.rounding_ = 'floor'", "did you mean 'rounding'"),
        ("boxes.sngle.win_odds = { default = 1 }", "no box 'sngle'; did you mean 'single'"),
        ("order.tiebreak = 'push'", "did you mean 'tie_break'"),
        ("table.seats = 3", "did you mean 'max_seats'"),
        ("base.three_of_kind = true", "did you mean 'three_of_a_kind'"),
        ("values.B = 3", "values gives the points of each rank"),
        ("deck.removed_ranks = ['B']", "removed_ranks holds 'B'"),
        ("specials = [{ name = 'x', predicate = 'five_face' }]", "did you mean 'five_faces'"),
        ("specials = [{ name = 'x', predicat = 'five_faces' }]", "did you mean 'predicate'"),
        ("specials = [{ name = 'Big One', predicate = 'five_faces' }]", "specials.0.name"),
    ],
)
def test_an_unknown_word_is_told_the_nearest_known(line, hint):
    assert hint in refused(f"{SMALL}\n{line}")


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("boxes.single.half_pay = ['niu_66']", "did you mean 'niu_6'"),
        ("boxes.single.lose_odds = { default = 1, niu_10 = 2 }", "lose_odds names rank 'niu_10'"),
        ("boxes.single.lose_odds = { niu_1 = 2 }", "lose_odds gives no odds for high_card"),
        ("boxes.double.win_odds = { five_faces = 5, default = 1 }", "names rank 'five_faces'"),
        ("boxes.double.win_odds = { niu_niu = 3 }", "and no 'default'"),
        ("boxes.double.win_odds = {}", "a main box needs win_odds"),
    ],
)
def test_odds_are_given_for_the_ranks_there_are(line, hint):
    assert hint in refused(f"{SMALL}\n{line}")


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("boxes.double = { win_odds = { default = 1 }, required = true }", "exactly one box"),
        ("deck.penetration = '1/2'", "exactly when reshuffle = 'penetration'"),
        ("deck.reshuffle = 'penetration'", "exactly when reshuffle = 'penetration'"),
        ("deck = { reshuffle = 'penetration', penetration = '3/2' }", "penetration lies in (0, 1]"),
        ("deck.removed_ranks = ['10', 'J', 'Q', 'K']", "lower table.max_seats"),
        ("boxes.single.minimum_cents = 20_000_000", "exceeds maximum_cents"),
        ("boxes.single.minimum_cents = 30", "no multiple of the chip unit 20"),
        ("boxes.single.commission.rate = '3/2'", "a commission rate lies in [0, 1)"),
        ("boxes.single.commission.rate = '-1/20'", "a commission rate lies in [0, 1)"),
        ("order = { tie_break = 'push', exact_ties = 'dealer' }", "set tie_break = 'dealer'"),
        ("order = { tie_break = 'suit_first', suits = '' }", "needs an order of suits"),
        ("order.suits = 'SHC'", "each of S, H, C, D once"),
        ("specials = [{ name = 'niu_9', predicate = 'flush' }]", "distinct names other than"),
        (
            (
                "boxes.bonus = { awards = [{ name = 'a', predicate = 'flush', odds = 2 }],"
                " half_pay = ['niu_6'], lose_odds = { default = 1 } }"
            ),
            "drop lose_odds, half_pay",
        ),
        (
            (
                "boxes.bonus.awards = [{ name = 'a', predicate = 'flush', odds = 2 },"
                " { name = 'b', predicate = 'flush', odds = 3 }]"
            ),
            "gives the predicate 'flush' twice",
        ),
        (
            "boxes.bonus.awards = [{ name = 'a', predicate = 'pair_in_front', odds = 2 }]",
            "no five-card predicate 'pair_in_front'",
        ),
    ],
)
def test_a_file_that_contradicts_itself_is_refused(line, hint):
    assert hint in refused(f"{SMALL}\n{line}")


def test_more_awards_than_an_event_mask_holds_are_refused():
    names = ("flush", "straight", "full_house", "all_black", "all_spades", "five_tens")
    names += ("five_faces", "four_faces", "five_small")
    awards = ", ".join(f"{{ name = '{n}', predicate = '{n}', odds = 2 }}" for n in names)
    assert "use 9 predicates: at most 8" in refused(f"{SMALL}\nboxes.bonus.awards = [{awards}]")


@pytest.mark.parametrize(
    "line",
    [
        "boxes.single.commission.rate = 0.05",
        "boxes.single.commission.rate = nan",
        "boxes.single.commission.rate = 'inf'",
        "boxes.single.commission.rate = '1/0'",
        "boxes.single.commission.rate = true",
        "boxes.single.commission.rate = '1/" + "9" * 40 + "'",
        "deck = { reshuffle = 'penetration', penetration = 0.5 }",
        "deck = { reshuffle = 'penetration', penetration = nan }",
    ],
)
def test_rates_are_exact_text_and_no_floats(line):
    message = refused(f"{SMALL}\n{line}")
    assert "exact" in message


@pytest.mark.parametrize("key", ["minimum_cents", "maximum_cents", "max_win_cents"])
@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "100.0", "-100", "0", "true", "'100'"])
def test_cents_are_positive_whole_numbers(key, value):
    assert f"boxes.single.{key}: " in refused(f"{SMALL}\nboxes.single.{key} = {value}")


@pytest.mark.parametrize("value", ["nan", "inf", "-1", "0", "1.0", "true", "'1'", "10**3"])
def test_odds_are_positive_whole_numbers(value):
    message = refused(f"{SMALL}\nboxes.double.win_odds = {{ default = {value} }}")
    assert "win_odds.default: " in message or "is no TOML" in message


@pytest.mark.parametrize("value", ["nan", "-1", "1.5", "true", "[]"])
def test_losing_odds_say_their_own_mistake_only(value):
    message = refused(f"{SMALL}\nboxes.single.lose_odds = {{ default = {value} }}")
    assert len(message.splitlines()) == 2
    assert "boxes.single.lose_odds.default: " in message


@pytest.mark.parametrize("value", ["nan", "-1", "31", "1.0", "true"])
def test_points_are_small_whole_numbers(value):
    assert "values.A: " in refused(f"{SMALL}\nvalues.A = {value}")


@pytest.mark.parametrize("value", ["0", "9", "1.0", "nan", "true"])
def test_a_shoe_has_one_to_eight_decks(value):
    assert "deck.decks: " in refused(f"{SMALL}\ndeck.decks = {value}")


@pytest.mark.parametrize("line", ["boxes = 3", "boxes = []", "specials = 'x'", "order = 'SHCD'"])
def test_a_value_of_the_wrong_kind_is_refused(line):
    text = "\n".join(row for row in SMALL.splitlines() if not row.startswith("boxes"))
    assert line.split(" ", maxsplit=1)[0] in refused(f"{text}\n{line}")


@pytest.mark.parametrize(
    "rate", ["1e-999999999", "1e999999", "nan", "inf", "1/0", "1_0", "\u0665", ""]
)
def test_a_rate_is_a_fraction_or_a_decimal_and_costs_no_time(rate):
    message = refused(f"{SMALL}\nboxes.single.commission.rate = '{rate}'")
    assert f"'{rate}' is no exact number; write it as '1/20' or '0.05'" in message


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a = 0x" + "f" * 5000, "a whole number of more than 64 bits"),
        ("a = [{ b = -9223372036854775809 }]", "a whole number of more than 64 bits"),
        ("a = " + "9" * 5000, "a whole number of more than 64 bits"),
        ("a = " + "[" * 5000 + "]" * 5000, "nests tables or lists too deep"),
    ],
)
def test_toml_that_breaks_the_parser_is_refused(text, reason):
    assert f"is no TOML: it holds {reason}" in refused(text) or f"it {reason}" in refused(text)


def test_a_byte_order_mark_is_no_mistake(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_bytes(b"\xef\xbb\xbf" + SMALL.encode())
    assert read_rules(file).rules_hash == parse_rules(SMALL).rules_hash


@pytest.mark.parametrize("key", ["[x]", "dict[a]"])
def test_a_key_of_any_letters_is_named(key):
    assert f"unknown key '{key}'; known: arrangement" in refused(f'"{key}" = 1\n{SMALL}')


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        (
            "boxes.single.lose_odds = 'miror'",
            "boxes.single.lose_odds: write a table of odds by rank, or 'mirror', got 'miror'",
        ),
        ("boxes.single.lose_odds = 1", "write a table of odds by rank, or 'mirror', got 1"),
        ("deck = 'six'", "deck: write a table, got 'six'"),
        ("specials = { name = 'a' }", "specials: write a list, got {'name': 'a'}"),
        (
            "boxes.single.lose_odds = { default = 1.0 }",
            "lose_odds.default: write a whole number, got 1.0",
        ),
        ("note = 3", "note: write a text in quotes, got 3"),
        ("boxes.single.half_pay = ['niu_6', 'niu_6']", "half_pay names each rank once"),
        ("boxes.single.overlap = 'all'", "a main box has none: drop overlap"),
    ],
)
def test_the_message_says_what_to_write(line, hint):
    message = refused(f"{SMALL}\n{line}")
    assert hint in message
    assert len(message.splitlines()) == 2  # the heading and one mistake


def test_an_empty_shoe_is_refused():
    ranks = "['A', '2', '3', '4', '5', '6', '7', '8', '9', '10', 'J', 'Q', 'K']"
    message = refused(f"{SMALL}\ndeck.removed_ranks = {ranks}")
    assert "a round needs 10 cards, the shoe holds 0: take ranks out" in message


def test_the_nearest_name_is_found_whatever_its_case():
    with pytest.raises(RulesError, match="did you mean 'single-double-super'"):
        load_rules("SINGLE_DOUBLE_SUPER")


def test_what_is_neither_name_nor_path_is_refused():
    with pytest.raises(RulesError, match="3 is no rule set: give a shipped name"):
        load_rules(3)
