"""Intervals by formula: known values, stated levels."""

import numpy as np
import pytest

from niulab.errors import ConfigError
from niulab.evaluation.statistics import (
    Estimate,
    mean_interval,
    normal_quantile,
    wilson_interval,
)


def test_quantiles_are_the_textbooks():
    assert normal_quantile(0.95) == pytest.approx(1.959964, abs=1e-6)
    assert normal_quantile(0.99) == pytest.approx(2.575829, abs=1e-6)
    assert 8 < normal_quantile(1 - 2**-53) < 9  # though (1 + level) / 2 is 1 in float64


@pytest.mark.parametrize("level", [0, 1, -0.5, 95, float("nan")])
def test_a_level_that_is_none_is_refused(level):
    with pytest.raises(ConfigError, match="between 0 and 1"):
        normal_quantile(level)


def test_the_mean_interval_is_the_standard_error_times_the_quantile():
    found = mean_interval([1.0, 2.0, 3.0, 4.0, 5.0], level=0.95)
    assert found.mean == 3
    assert found.half_width == pytest.approx(1.959964 * (2.5**0.5 / 5**0.5))
    assert found.n_rounds == 5
    assert found.covers(3.9)
    assert not found.covers(4.5)
    assert (found.low, found.high) == (3 - found.half_width, 3 + found.half_width)


def test_mean_intervals_cover_at_their_level():
    rng = np.random.default_rng(0)
    samples = rng.exponential(size=(2000, 400))
    n_covering = sum(mean_interval(sample, level=0.9).covers(1.0) for sample in samples)
    low, high = wilson_interval(n_covering, 2000, level=0.999)
    assert low < 0.9 < high


def test_wilson_agrees_with_a_worked_example_and_stays_within_bounds():
    low, high = wilson_interval(10, 100)
    assert (low, high) == (pytest.approx(0.05522914, abs=1e-7), pytest.approx(0.17436566, abs=1e-7))
    assert wilson_interval(0, 20)[0] == 0
    assert wilson_interval(20, 20)[1] == 1
    assert wilson_interval(0, 20)[1] > 0


@pytest.mark.parametrize(("successes", "n"), [(1, 0), (3, 2), (-1, 5)])
def test_wilson_refuses_a_share_that_is_none(successes, n):
    with pytest.raises(ConfigError, match="0 <= successes <= n"):
        wilson_interval(successes, n)


def test_no_interval_of_one_round():
    with pytest.raises(ConfigError, match="at least 2 rounds"):
        mean_interval([1.0])


def test_an_estimate_holds_what_it_is_made_of():
    assert Estimate(mean=1.0, half_width=0.5, level=0.95, n_rounds=9).high == 1.5


@pytest.mark.parametrize("bad", [[1.0, float("nan")], [1.0, float("inf")]])
def test_no_interval_of_what_is_no_number(bad):
    with pytest.raises(ConfigError, match="NaN or infinity"):
        mean_interval(bad)
