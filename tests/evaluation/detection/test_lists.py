"""Lists: e-BH by its definition, the adjuster against decimals, and the rate of false names."""

from decimal import Decimal, localcontext
from math import log

import numpy as np
import pytest

from niulab.errors import ConfigError
from niulab.evaluation.detection.lists import adjusted_log_e, e_bh


def exact_adjuster(x):
    """ln((e^x - 1 - x) / x^2) to 60 digits."""
    with localcontext() as context:
        context.prec = 60
        value = Decimal(x)
        return float(((value.exp() - 1 - value) / value**2).ln())


@pytest.mark.parametrize("x", [1e-12, 1e-6, 1e-3, 0.3, 0.999999, 1.0, 1.000001, 3.0, 20.0, 700.0])
def test_the_adjuster_is_its_formula_at_high_precision(x):
    assert adjusted_log_e(np.array([x]))[0] == pytest.approx(
        exact_adjuster(x), rel=1e-14, abs=1e-14
    )


def test_the_adjuster_is_one_half_at_one_and_large_values_stay_finite():
    assert np.exp(adjusted_log_e(np.array([0.0, -5.0]))) == pytest.approx([0.5, 0.5], abs=1e-16)
    assert adjusted_log_e(np.array([1e6]))[0] == pytest.approx(1e6 - 2 * log(1e6), rel=1e-12)


def test_the_adjuster_integrates_to_one():
    # a running maximum M has P(M >= e) <= 1/e: the mean of A(M) under equality is the integral of
    # A(e)/e^2 over e from 1, 1 at most; in x = ln e: A(e^x) e^-x
    x = np.linspace(0, 4_000, 4_000_001)
    worth = np.exp(adjusted_log_e(x) - x)
    total = float(((worth[1:] + worth[:-1]) / 2).sum() * 1e-3)
    assert total == pytest.approx(1 - 1 / 4_000, abs=1e-4)


def slow_e_bh(es, q):
    """The definition, k by k."""
    best = 0
    for k in range(1, len(es) + 1):
        if sorted(es, reverse=True)[k - 1] >= len(es) / (k * q):
            best = k
    bar = sorted(es, reverse=True)[best - 1] if best else np.inf
    return [e >= bar for e in es]


def test_e_bh_is_its_definition():
    rng = np.random.default_rng(1)
    for _ in range(200):
        m = int(rng.integers(1, 12))
        es = np.exp(rng.normal(2, 3, m))
        assert e_bh(np.log(es), 0.2).tolist() == slow_e_bh(es.tolist(), 0.2)


def test_nobody_is_listed_of_nobody():
    assert e_bh(np.zeros(0), 0.05).tolist() == []
    assert not e_bh(np.zeros(5), 0.05).any()


def test_a_rate_is_checked():
    with pytest.raises(ConfigError, match="false discovery rate"):
        e_bh(np.zeros(3), 0.0)


def run_of_wealth(rng, n, drift):
    """Log wealth (n, 200) of bets on a coin at even odds that falls with 1/2 + drift."""
    wins = rng.random((n, 200)) < 0.5 + drift
    return np.cumsum(np.where(wins, log(1.4), log(0.6)), axis=1)


@pytest.mark.parametrize("peeked", [False, True])
def test_the_false_discovery_rate_holds(peeked):
    rng, q = np.random.default_rng(2), 0.2
    false, found = [], []
    for _ in range(400):
        honest, cheats = run_of_wealth(rng, 90, 0.0), run_of_wealth(rng, 10, 0.35)
        paths = np.vstack([honest, cheats])
        log_es = adjusted_log_e(paths.max(axis=1)) if peeked else paths[:, -1]
        listed = e_bh(log_es, q)
        false.append(listed[:90].sum() / max(listed.sum(), 1))
        found.append(listed[90:].mean())
    assert np.mean(false) <= q  # its standard error is below .01
    assert np.mean(found) >= 0.95


def test_a_running_maximum_without_the_adjuster_is_no_e_value():
    rng = np.random.default_rng(3)
    peaks = np.maximum(run_of_wealth(rng, 4_000, 0.0).max(axis=1), 0.0)
    assert np.exp(peaks).mean() > 1.5
    adjusted = np.exp(adjusted_log_e(peaks))
    assert adjusted.mean() <= 1.0
