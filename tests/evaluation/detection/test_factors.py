"""Factors have mean one, exactly enough, and say what Bayes' rule says."""

from fractions import Fraction
from math import comb, exp

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from niulab.errors import ConfigError
from niulab.evaluation.detection.factors import (
    likelihood_table,
    standardized,
    tilt_table,
    verify_means,
)
from niulab.evaluation.detection.features import CARD_SLOTS, RESULT, low_law

ZS = np.linspace(-3, 3, 7)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=30),
    st.floats(0.01, 5.0),
    st.integers(0, 2**32 - 1),
)
def test_tilts_of_any_score_have_mean_one(scores, theta, seed):
    law = np.random.default_rng(seed).dirichlet(np.ones(len(scores)))
    table = tilt_table(np.array(scores), law, ZS, [theta])
    assert np.abs(law @ table[:, :, 0].T - 1).max() < 1e-12
    assert (table >= 0).all()


def test_a_tilt_is_the_exponential_of_the_standardized_score():
    scores, law = np.array([0.0, 1.0, 5.0]), np.array([0.5, 0.3, 0.2])
    mean = 0.3 + 1.0
    sd = (0.3 + 5.0 - mean**2) ** 0.5
    s = [(x - mean) / sd for x in scores]
    assert standardized(scores, law) == pytest.approx(s, abs=1e-14)
    psi = np.log(sum(p * exp(0.7 * 2.0 * x) for p, x in zip(law, s, strict=True)))
    table = tilt_table(scores, law, np.array([2.0]), [0.7])
    expected = [exp(0.7 * 2.0 * x - psi) for x in s]
    assert table[0, :, 0] == pytest.approx(expected, rel=1e-13)


def test_a_constant_score_bets_on_nothing():
    table = tilt_table(np.full(4, 7.0), np.full(4, 0.25), ZS, [1.0])
    assert table == pytest.approx(np.ones_like(table), abs=1e-15)


def test_likelihood_ratios_are_bayes_rule_in_fractions():
    is_favorable = np.array([True] * 20 + [False] * 32)
    table = likelihood_table(is_favorable, np.full(52, 1 / 52), np.array([[0.5, 0.25]]))
    sees, base, share = Fraction(1, 2), Fraction(1, 4), Fraction(20, 52)
    staked = sees * share + (1 - sees) * base
    if_favorable, else_ = sees + (1 - sees) * base, (1 - sees) * base
    assert table[1, 0, 0] == pytest.approx(float(if_favorable / staked), rel=1e-14)
    assert table[1, 51, 0] == pytest.approx(float(else_ / staked), rel=1e-14)
    assert table[0, 0, 0] == pytest.approx(float((1 - if_favorable) / (1 - staked)), rel=1e-14)


def test_a_table_without_mean_one_is_refused():
    law = np.full(4, 0.25)
    good = tilt_table(np.arange(4.0), law, ZS, [1.0])
    verify_means(good, law, what="good")
    with pytest.raises(ConfigError, match="mean off by"):
        verify_means(good * (1 + 1e-9), law, what="bad")
    with pytest.raises(ConfigError, match="mean off by"):
        verify_means(good * np.nan, law, what="bad")


def test_every_factor_of_the_full_portfolio_has_mean_one(full):
    worst = 0.0
    for block in full.blocks:
        for table, law in zip(block.tables, block.laws, strict=True):
            assert abs(law.sum() - 1) < 1e-12
            worst = max(worst, float(np.abs(np.einsum("v,bvk->bk", law, table) - 1).max()))
    assert worst <= 1e-12
    slots = {component.slot for component in full.components}
    assert {*CARD_SLOTS, RESULT} <= slots


def test_low_cards_among_five_are_hypergeometric():
    assert low_law(4)[2] == pytest.approx(comb(20, 2) * comb(32, 3) / comb(52, 5), rel=1e-14)
    assert low_law(11).sum() == pytest.approx(1, abs=1e-14)
