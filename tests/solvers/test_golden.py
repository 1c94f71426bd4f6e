"""Every published figure of the game, reproduced exactly (see tests/golden/game.toml)."""

from __future__ import annotations

import tomllib
from fractions import Fraction
from math import sqrt
from pathlib import Path

import pytest

from niulab.engine.rules import load_rules, shipped_names
from niulab.engine.settlement import Outcome, unit_result
from niulab.solvers.information import value_given_card
from niulab.solvers.joint_law import joint_law
from niulab.solvers.values import box_values, player_edges

GOLDEN = tomllib.loads((Path(__file__).parents[1] / "golden/game.toml").read_text())
RULES = load_rules()


def rounded(value: float, like: float) -> bool:
    """Whether a value agrees with a printed figure to its last printed digit."""
    digits = len(str(like).split(".")[1])
    return abs(value - like) <= 0.5 * 10**-digits + 1e-15


def test_deals_and_hands_are_counted_exactly() -> None:
    law = joint_law(RULES)
    assert law.n_hands == GOLDEN["n_hands"]
    assert law.n_deals == GOLDEN["n_deals"]
    assert dict(zip(RULES.ranks, law.rank_hands, strict=True)) == GOLDEN["rank_hands"]


@pytest.mark.parametrize("rank", RULES.ranks)
def test_probability_of_winning_with_each_rank(rank: str) -> None:
    law = joint_law(RULES)
    index = RULES.ranks.index(rank)
    assert abs(float(law.win_with(index)) - GOLDEN["win_with"][rank]) <= 0.5e-12
    assert law.lose_to(index) == law.win_with(index)


def test_the_player_wins_exactly_half_the_deals_and_none_is_tied() -> None:
    law = joint_law(RULES)
    assert law.probability(Outcome.WIN) == Fraction(1, 2)
    assert law.probability(Outcome.PUSH) == 0


def test_the_law_of_the_main_boxes_has_22_cells_and_70_with_the_bonus() -> None:
    plain = {(c.outcome, max(c.player_rank, c.dealer_rank)) for c in joint_law(RULES).cells}
    assert len(plain) == 22
    bonus_rules = load_rules("even-double-super-bonus")
    cells = {
        (
            c.outcome,
            max(c.player_rank, c.dealer_rank),
            unit_result(
                bonus_rules, "bonus", outcome=c.outcome, player_rank=c.player_rank,
                dealer_rank=c.dealer_rank, events=c.events,
            ).net,
        )
        for c in joint_law(bonus_rules).cells
    }  # fmt: skip
    assert len(cells) == 70


@pytest.mark.parametrize("case", GOLDEN["box"], ids=lambda c: f"{c['rules']}-{c['box']}")
def test_value_of_box(case: dict[str, object]) -> None:
    values = box_values(load_rules(str(case["rules"])))[str(case["box"])]
    if isinstance(case["ev"], str):
        assert values.ev == Fraction(case["ev"])
    else:
        assert rounded(float(values.ev), float(case["ev"]))  # type: ignore[arg-type]
    if "sd" in case:
        assert abs(values.sd - float(case["sd"])) <= 0.5e-6  # type: ignore[arg-type]


def test_bonus_awards_are_held_by_the_published_numbers_of_hands() -> None:
    rules = load_rules("even-double-super-bonus")
    odds = {100: "five_faces", 50: "all_spades", 20: "five_tens", 10: "all_black"}
    deals = dict.fromkeys(odds.values(), 0)
    law = joint_law(rules)
    for c, n in law.cells.items():
        net = unit_result(
            rules, "bonus", outcome=c.outcome, player_rank=c.player_rank,
            dealer_rank=c.dealer_rank, events=c.events,
        ).net  # fmt: skip
        if net > 0:
            deals[odds[int(net)]] += n
    per_hand = law.n_deals // law.n_hands
    assert {name: n // per_hand for name, n in deals.items()} == GOLDEN["bonus_hands"]
    assert all(n % per_hand == 0 for n in deals.values())


def test_chips_moved_per_unit() -> None:
    for box, moved in GOLDEN["moved"].items():
        assert rounded(float(box_values(RULES)[box].moved), moved)


@pytest.mark.parametrize("case", GOLDEN["known_card"], ids=lambda c: f"{c['position']}-{c['card']}")
def test_value_given_one_known_card(case: dict[str, object]) -> None:
    for box in RULES.boxes:
        if box in case:
            value = value_given_card(RULES, box, str(case["card"]), case["position"])  # type: ignore[arg-type]
            assert rounded(float(value), float(case[box]))  # type: ignore[arg-type]


def test_known_cards_average_to_the_unconditional_value() -> None:
    """A card of either hand is one of 52, so the mean over them is the plain EV, exactly."""
    for position in ("own", "dealer"):
        mean = sum(value_given_card(RULES, "super", rank, position) for rank in "A23456789JQK")  # type: ignore[arg-type]
        mean += value_given_card(RULES, "super", "10", position)  # type: ignore[arg-type]
        assert mean / 13 == box_values(RULES)["super"].ev


def test_correlations_of_boxes_in_one_seat() -> None:
    law = joint_law(RULES)
    values = box_values(RULES)

    def product(first: str, second: str) -> float:
        mean = Fraction(0)
        for c, n in law.cells.items():
            nets = [
                unit_result(
                    RULES, box, outcome=c.outcome, player_rank=c.player_rank,
                    dealer_rank=c.dealer_rank, events=c.events,
                ).net
                for box in (first, second)
            ]  # fmt: skip
            mean += nets[0] * nets[1] * n
        covariance = mean / law.n_deals - values[first].ev * values[second].ev
        return float(covariance) / sqrt(values[first].variance * values[second].variance)

    for pair, expected in GOLDEN["correlation"].items():
        first, second = pair.split("_")
        assert rounded(product(first, second), expected)


def test_positive_boxes_are_found_on_exactly_the_defective_sheets() -> None:
    defective = {
        "even-double-super-bonus-literal-note": ["super"],
        "even-double-super-bonus-literal-double-scale": ["super"],
        "even-double-super-bonus-bonus-any-niu-niu": ["bonus"],
        "even-double-super-bonus-niu2-short": [],
        "even-double-super-bonus-four-of-a-kind-pays": [],
    }
    for name, boxes in defective.items():
        warnings = player_edges(load_rules(name))
        assert [w.split("'")[1] for w in warnings] == boxes


@pytest.mark.long
def test_no_mirrored_box_of_any_shipped_sheet_favors_the_player() -> None:
    """Exchangeability: a box whose losses mirror its wins costs exactly its expected commission."""
    for name in shipped_names():
        rules = load_rules(name)
        for box, terms in rules.boxes.items():
            if (
                not terms.is_bonus
                and not terms.hand_pays
                and rules.lose_odds(box) == rules.win_odds(box)
            ):
                assert box_values(rules)[box].ev <= 0, (name, box)
