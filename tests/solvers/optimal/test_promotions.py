"""Coupons by hand where a box has two results, and by drawn-out plays where it has more."""

from fractions import Fraction

import pytest
from strategies import PLAYABLE

from niulab.engine.settlement import Outcome
from niulab.errors import ConfigError, WagerError
from niulab.solvers.joint_law import joint_law
from niulab.solvers.optimal.promotions import coupon_value

RULES = PLAYABLE["single-double-super"]


@pytest.mark.parametrize(
    ("terms", "value"),
    [
        ({}, Fraction(95, 200)),
        ({"stake_returned": True}, Fraction(195, 200)),
        ({"life": "until_lost"}, Fraction(95, 100)),
        ({"kind": "match_play"}, Fraction(190, 200) - Fraction(1, 2)),
        ({"kind": "match_play", "life": "until_lost"}, Fraction(190, 100) - 1),
        ({"multiples": "waived"}, Fraction(95, 200)),
    ],
    ids=str,
)
def test_single_wins_95_cents_half_the_time(terms, value):
    found = coupon_value(RULES, "single", **terms)
    assert found.value == value
    assert found.p_win == found.p_lose == Fraction(1, 2)
    assert found.rounds == (2 if terms.get("life") else 1)
    assert found.beside_cents == 0


def test_waived_multiples_spare_what_exceeds_the_face():
    """On Super the dealer's win with rank k costs odds(k) chips: all but one of them."""
    law = joint_law(RULES)
    spared = sum(
        law.lose_to(rank) * (odds - 1) for rank, odds in enumerate(RULES.lose_odds("super"))
    )
    owed, waived = (coupon_value(RULES, "super", multiples=m) for m in ("owed", "waived"))
    assert waived.value - owed.value == spared
    assert owed.beside_cents == Fraction(5, 2)


def test_a_match_play_is_a_bet_and_a_free_bet():
    """The cash wins or loses by itself; the coupon adds a free bet's win and a loss's excess."""
    law = joint_law(RULES)
    for box in RULES.boxes:
        bet = sum(n * cell.unit(RULES, box).net for cell, n in law.cells.items()) / law.n_deals
        free, match = (coupon_value(RULES, box, kind=k) for k in ("free_bet", "match_play"))
        assert match.value == free.value + bet


def test_pushes_play_the_coupon_again():
    """Hong Kong's sheet pushes equal ranks: the value is that of a decided round."""
    rules = PLAYABLE["ngau-ngau-hong-kong"]
    law = joint_law(rules)
    found = coupon_value(rules, "single", multiples="waived")
    push = law.probability(Outcome.PUSH)
    assert push > 0
    assert found.rounds == 1 / (1 - push)
    won = sum(
        n * cell.unit(rules, "single").net
        for cell, n in law.cells.items()
        if cell.outcome == Outcome.WIN
    )
    assert found.value == won / law.n_deals / (1 - push)


def test_terms_that_are_none_are_refused():
    with pytest.raises(ConfigError, match=r"no kind 'free'.*free_bet"):
        coupon_value(RULES, "single", kind="free")
    with pytest.raises(ConfigError, match="stake_returned"):
        coupon_value(RULES, "single", life="until_lost", stake_returned=True)
    with pytest.raises(WagerError, match="no box"):
        coupon_value(RULES, "singel")
