"""Best-arm identification: published numbers, closed forms, and brute force beside the dual."""

from math import inf, log

import numpy as np
import pytest
from scipy.optimize import minimize

from niulab.errors import ConfigError
from niulab.evaluation.statistics.best_arm import Arm, best_arm, confidence_cost, kl_inf


def coin(p):
    return Arm([0, 1], [1 - p, p])


def kl(p, q):
    return p * log(p / q) + (1 - p) * log((1 - p) / (1 - q))


PAYS = Arm([-3.0, -1.0, 0.0, 2.0, 5.0], [0.1, 0.4, 0.1, 0.3, 0.1])


@pytest.mark.parametrize(("p", "x"), [(0.3, 0.6), (0.01, 0.02), (0.5, 0.999)])
def test_for_coins_kl_inf_is_the_divergence_of_coins(p, x):
    assert kl_inf(coin(p), x)[0] == pytest.approx(kl(p, x), rel=1e-12)
    assert kl_inf(coin(1 - p).mirrored, x - 1)[0] == pytest.approx(kl(p, x), rel=1e-12)


@pytest.mark.parametrize("x", [0.9, 2.0, 4.5])
def test_the_dual_is_the_least_divergence_over_all_laws_on_the_payments(x):
    p, values = PAYS.probabilities, PAYS.values
    found = minimize(
        lambda q: float(p @ np.log(p / q)),
        np.full(5, 0.2),
        bounds=[(1e-9, 1)] * 5,
        constraints=[
            {"type": "eq", "fun": lambda q: q.sum() - 1},
            {"type": "ineq", "fun": lambda q: q @ values - x},
        ],
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    assert kl_inf(PAYS, x)[0] == pytest.approx(found.fun, rel=1e-6)
    step = 1e-6
    slope = (kl_inf(PAYS, x + step)[0] - kl_inf(PAYS, x - step)[0]) / (2 * step)
    assert kl_inf(PAYS, x)[1] == pytest.approx(slope, rel=1e-6)


def test_below_the_mean_nothing_and_from_the_greatest_payment_on_everything():
    assert kl_inf(PAYS, PAYS.mean) == (0.0, 0.0)
    assert kl_inf(PAYS, 5.0) == (inf, inf)


@pytest.mark.parametrize(
    ("means", "shares"),
    [
        ([0.5, 0.45, 0.43, 0.4], [0.42, 0.39, 0.14, 0.06]),
        ([0.3, 0.21, 0.2, 0.19, 0.18], [0.34, 0.25, 0.18, 0.13, 0.10]),
    ],
)
def test_the_optimal_shares_are_those_of_garivier_and_kaufmann(means, shares):
    """Section 6 of their paper prints w* of two bandits to two decimals."""
    found = best_arm([coin(p) for p in means])
    assert found.index == 0
    assert np.round(found.shares, 2).tolist() == shares


def test_two_arms_whose_means_are_close_take_as_long_as_gaussians():
    """T* = 2 (s1 + s2)^2 / gap^2 for two Gaussian arms, to which small gaps tend."""
    scale, gap = 3.0, 1e-3
    wide = Arm([-scale + gap, scale + gap], [0.5, 0.5])
    found = best_arm([coin(0.5), Arm(wide.values + 0.5, wide.probabilities)])
    assert found.index == 1
    assert found.time == pytest.approx(2 * (scale + 0.5) ** 2 / gap**2, rel=1e-3)
    assert found.shares[1] == pytest.approx(scale / (scale + 0.5), rel=1e-3)


@pytest.mark.parametrize("tolerance", [0.0, 0.25])
def test_no_other_shares_tell_faster(tolerance):
    """A grid over shares and meeting points, which only divergences go into."""
    arms = [Arm([-1.0, 0.5, 3.0], [0.5, 0.3, 0.2]), PAYS, Arm([-2.0, 4.0], [0.7, 0.3])]
    means = [arm.mean for arm in arms]
    assert means.index(max(means)) == 1
    found = best_arm(arms, tolerance=tolerance)
    best = 0.0
    for named in range(3):
        if means[named] < max(means) - tolerance:
            continue
        curves = []
        for other in (place for place in range(3) if place != named):
            xs = np.linspace(means[other] - tolerance, means[named], 402)[1:-1]
            mine = [kl_inf(arms[named].mirrored, -x)[0] for x in xs]
            theirs = [kl_inf(arms[other], x + tolerance)[0] for x in xs]
            curves.append((np.array(mine), np.array(theirs)))
        for first in np.linspace(0.02, 0.96, 48):
            for second in np.linspace(0.02, 0.98 - first, 25):
                weights = first, second, 1 - first - second
                cost = min(
                    (weights[0] * mine + w * theirs).min()
                    for (mine, theirs), w in zip(curves, weights[1:], strict=True)
                )
                best = max(best, cost)
    assert 1 / found.time == pytest.approx(best, rel=0.02)
    assert 1 / found.time >= best * (1 - 1e-3)
    assert found.shares.sum() == pytest.approx(1)


def test_a_tolerance_never_makes_it_harder():
    arms = [coin(p) for p in (0.5, 0.49, 0.3)]
    times = [best_arm(arms, tolerance=tolerance).time for tolerance in (0.0, 0.005, 0.02, 0.1)]
    assert times == sorted(times, reverse=True)
    assert times[0] > 4 * times[2]


def test_arms_that_are_best_alike_cannot_be_told_apart():
    found = best_arm([coin(0.5), coin(0.5), coin(0.2)])
    assert found.time == inf
    assert best_arm([coin(0.5), coin(0.5), coin(0.2)], tolerance=0.1).time < inf


def test_an_arm_that_can_never_pay_as_much_is_no_rival():
    low = Arm([-5.0, -4.0], [0.5, 0.5])
    assert best_arm([coin(0.5), low]).time == 0
    three = best_arm([coin(0.5), low, coin(0.4)])
    assert three.time == pytest.approx(best_arm([coin(0.5), coin(0.4)]).time)
    assert three.shares[1] == 0


def test_what_is_no_question_is_refused():
    with pytest.raises(ConfigError, match="at least two"):
        best_arm([coin(0.5)])
    with pytest.raises(ConfigError, match="never varies"):
        Arm([1.0], [1.0])
    with pytest.raises(ConfigError, match="add up to 1"):
        Arm([0, 1], [0.5, 0.6])
    with pytest.raises(ConfigError, match="below one half"):
        confidence_cost(0.5)


def test_the_cost_of_confidence_is_above_garivier_and_kaufmanns_simple_bound():
    for delta in (0.2, 0.05, 1e-3):
        assert confidence_cost(delta) == pytest.approx(kl(delta, 1 - delta))
        assert confidence_cost(delta) > log(1 / (2.4 * delta))
