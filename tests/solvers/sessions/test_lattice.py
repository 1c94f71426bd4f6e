"""Quantiles, worst means and spans of small laws, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from niulab.errors import ConfigError
from niulab.solvers.sessions.lattice import quantile_index, span_cents, worst_mean

LAW = np.array([0.25, 0.0, 0.5, 0.25])


@pytest.mark.parametrize(
    ("p", "place"), [(0.1, 0), (0.25, 0), (0.26, 2), (0.75, 2), (0.76, 3), (1, 3)]
)
def test_quantile_is_the_least_place_that_reaches_p(p, place):
    assert quantile_index(LAW, p) == place


def test_a_tolerance_forgives_rounding():
    rounded = np.array([0.1] * 10)  # nine of them add to a little less than .9
    assert quantile_index(rounded, 0.3) == 2
    assert quantile_index(rounded, 0.8, 1e-12) == 7
    assert quantile_index(rounded, 1.0) == 9


def test_quantiles_are_of_the_mass_there_is():
    assert quantile_index(LAW / 2, 0.75) == 2


@given(st.lists(st.integers(1, 100), min_size=1, max_size=30), st.floats(0.01, 1))
def test_the_worst_share_is_a_mean_of_the_lowest_values(weights, share):
    chances = np.array(weights) / sum(weights)
    values = np.arange(len(weights)) * 5 - 40
    fine = np.repeat(values, np.array(weights) * 1000)  # a thousand draws a weight
    lowest = fine[: max(round(share * len(fine)), 1)]
    assert worst_mean(values, chances, share) == pytest.approx(lowest.mean(), abs=0.2)
    assert worst_mean(values, chances, 1) == pytest.approx((values * chances).sum())


def test_spans():
    assert span_cents(np.array([-100, 95])) == 195
    assert span_cents(np.array([-400, -300, 195])) == 5
    assert span_cents(np.array([7])) == 1


@pytest.mark.parametrize("share", [0, -0.1, 1.1])
def test_a_share_lies_between_none_and_all(share):
    with pytest.raises(ConfigError, match="is no share"):
        quantile_index(LAW, share)
    with pytest.raises(ConfigError, match="is no share"):
        worst_mean(np.arange(4), LAW, share)
