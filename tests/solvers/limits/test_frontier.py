"""The stealth frontier against closed forms, brute force, its own laws and published figures."""

import time
from itertools import product
from math import exp, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import xlogy

from niulab.errors import ConfigError
from niulab.solvers.limits.curve import frontier_curve, point_of_information, point_of_profit
from niulab.solvers.limits.frontier import frontier_point
from niulab.solvers.limits.logged import logged_frontier_point
from niulab.solvers.limits.logs import hand_log, result_log
from niulab.solvers.limits.price import limit_exposure, limit_price

LIMIT = 0.1606791625


@pytest.fixture(scope="module")
def one_stake(super_values):
    """Nothing, or a unit on Super."""
    return np.stack([0 * super_values, super_values], axis=1)


def problems():
    values = st.floats(-2, 2, allow_nan=False).map(lambda x: round(x, 3))
    return st.tuples(
        st.integers(2, 5), st.integers(2, 4), st.integers(0, 2**32), st.floats(0.02, 5)
    ).flatmap(
        lambda sizes: st.lists(
            st.lists(values, min_size=sizes[1], max_size=sizes[1]),
            min_size=sizes[0],
            max_size=sizes[0],
        ).map(lambda rows: (np.array(rows), sizes[2], sizes[3]))
    )


# ---------------------------------------------------------------- published figures


def test_limit_price_of_one_dealer_card(ranks_law, super_values):
    price = limit_price(ranks_law, super_values)
    assert f"{price:.5f}" == "0.16068"
    assert f"{limit_exposure(price, 1e-3):.2f}" == "1.11"
    assert ranks_law @ np.exp(super_values / price) == pytest.approx(1, abs=1e-14)


def test_what_always_betting_when_favorable_earns(ranks_law, one_stake):
    point = frontier_point(ranks_law, one_stake, 1e-4)
    assert f"{point.profit:.5f}" == "0.04557"
    assert log(1000) / point.information == pytest.approx(10.37, abs=0.005)


# ---------------------------------------------------------------- closed forms


def test_cheap_information_is_given_away(ranks_law, one_stake):
    point = frontier_point(ranks_law, one_stake, 1e-5)
    assert point.profit == pytest.approx(ranks_law @ one_stake.max(axis=1), rel=1e-12)
    assert point.policy == pytest.approx((one_stake == one_stake.max(axis=1)[:, None]) * 1.0)


@pytest.mark.parametrize("mu", [LIMIT, 0.161, 0.5, 100.0])
def test_from_the_limit_price_on_nothing_is_staked(ranks_law, one_stake, mu):
    point = frontier_point(ranks_law, one_stake, mu)
    assert point.profit == pytest.approx(0, abs=1e-9)
    assert point.information == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("mu", [0.16, 0.1606, 0.16067])
def test_just_below_it_a_nat_earns_nearly_the_limit_price(ranks_law, one_stake, mu):
    point = frontier_point(ranks_law, one_stake, mu, tolerance=1e-14)
    assert point.stake_law[1] > 0
    assert mu < point.profit / point.information < LIMIT


def test_two_values_and_two_stakes_in_closed_form():
    # v = +-1 on a stake, mirrored: r = 1/2 by symmetry, q = 1 / (1 + exp(-2 / mu))
    values, mu = np.array([[1.0, -1.0], [-1.0, 1.0]]), 0.7
    point = frontier_point(np.array([0.5, 0.5]), values, mu)
    right = 1 / (1 + exp(-2 / mu))
    assert point.policy[0, 0] == pytest.approx(right, rel=1e-10)
    assert point.profit == pytest.approx(2 * right - 1, rel=1e-10)
    entropy = -(right * log(right) + (1 - right) * log(1 - right))
    assert point.information == pytest.approx(log(2) - entropy, rel=1e-9)


# ---------------------------------------------------------------- brute force


@pytest.mark.parametrize("mu", [0.05, 0.3, 1.0])
@pytest.mark.parametrize("logged", [None, np.array([[0.8, 0.2], [0.5, 0.5], [0.1, 0.9]])])
def test_no_policy_of_a_grid_is_better(mu, logged):
    chances, values = np.array([0.2, 0.5, 0.3]), np.array([[0, 0.5], [0, -0.4], [0, 0.1]])
    if logged is None:
        point = frontier_point(chances, values, mu)
    else:
        point = logged_frontier_point(chances, values, mu, logged)
    worth = point.profit - mu * point.information
    stakes = np.array([*product(np.linspace(0, 1, 41), repeat=3)])
    policies = np.stack([1 - stakes, stakes], axis=2)  # all at once, by the definition of I
    kept = np.eye(3) if logged is None else logged
    joint = np.einsum("c,pca,cl->pla", chances, policies, kept)
    apart = joint.sum(axis=2, keepdims=True) * joint.sum(axis=1, keepdims=True)
    told = xlogy(joint, np.where(joint > 0, joint / np.where(apart > 0, apart, 1), 1)).sum(
        axis=(1, 2)
    )
    best = float((np.einsum("c,pca,ca->p", chances, policies, values) - mu * told).max())
    assert worth + point.gap >= best - 1e-15
    assert worth <= best + 1e-3  # the grid is that fine
    assert point.gap < 1e-8


@settings(max_examples=40, deadline=None)
@given(problems())
def test_both_solvers_agree_where_the_log_keeps_what_was_seen(problem):
    values, seed, mu = problem
    rng = np.random.default_rng(seed)
    chances = rng.dirichlet(np.ones(len(values)))
    one = frontier_point(chances, values, mu)
    other = logged_frontier_point(chances, values, mu, np.eye(len(values)))
    assert one.gap <= 1e-11
    assert other.gap <= 1e-7
    worths = [point.profit - mu * point.information for point in (one, other)]
    assert worths[1] == pytest.approx(worths[0], abs=1e-7)
    # Blahut's and Arimoto's alternation has the same fixed point
    renewed = chances @ one.policy
    weights = renewed * np.exp((values - values.max(axis=1, keepdims=True)) / mu)
    assert weights / weights.sum(axis=1, keepdims=True) == pytest.approx(one.policy, abs=1e-4)


# ---------------------------------------------------------------- laws


@settings(max_examples=25, deadline=None)
@given(problems())
def test_the_curve_rises_and_is_concave(problem):
    values, seed, _ = problem
    chances = np.random.default_rng(seed).dirichlet(np.ones(len(values)))
    points = frontier_curve(chances, values, np.geomspace(10, 0.01, 12))
    for point in points:  # no other point is better at its price
        worths = [other.profit - point.mu * other.information for other in points]
        assert max(worths) <= point.profit - point.mu * point.information + point.gap + 1e-12
    nats = np.array([point.information for point in points])
    profits = np.array([point.profit for point in points])
    assert (np.diff(nats) >= -1e-9).all()
    assert (np.diff(profits) >= -1e-9).all()


def test_a_log_that_keeps_less_allows_more(ranks_law, one_stake, seen_laws):
    kept = [np.eye(13), hand_log([4] * 13), result_log(seen_laws)]
    worths = []
    for logged in kept:
        point = logged_frontier_point(ranks_law, one_stake, 0.1, logged)
        assert point.gap <= 1e-8
        worths.append(point.profit - 0.1 * point.information)
    assert worths == sorted(worths)
    assert worths[0] < worths[1] - 0.01


# ---------------------------------------------------------------- points asked for


@pytest.mark.parametrize("profit", [0.001, 0.02, 0.0455])
def test_the_point_of_a_profit(ranks_law, one_stake, profit):
    point = point_of_profit(ranks_law, one_stake, profit)
    assert point.profit == pytest.approx(profit, rel=1e-11)
    assert point.gap < 1e-10
    back = point_of_information(ranks_law, one_stake, point.information)
    assert back.profit == pytest.approx(profit, rel=1e-7)


def test_the_ends_of_the_curve(ranks_law, one_stake):
    assert point_of_profit(ranks_law, one_stake, -1).information == pytest.approx(0, abs=1e-12)
    most = point_of_information(ranks_law, one_stake, 5.0)
    assert most.profit == pytest.approx(0.0455708, abs=1e-7)
    with pytest.raises(ConfigError, match="no policy earns"):
        point_of_profit(ranks_law, one_stake, 0.05)
    with pytest.raises(ConfigError, match="0 nats"):
        point_of_information(ranks_law, one_stake, -0.1)


def test_points_on_a_straight_piece_are_mixed():
    # a stake that only the first value favors, and that always pays there: every price below
    # mu* asks for all of it or nothing in the limit of many values that never occur
    chances, values = np.array([0.5, 0.5]), np.array([[0.0, 1.0], [0.0, -50.0]])
    point = point_of_profit(chances, values, 0.25)
    assert point.profit == pytest.approx(0.25, rel=1e-10)
    assert point.gap < 1e-9


# ---------------------------------------------------------------- always ends, soon


@pytest.mark.parametrize("mu", [1e-4, 0.05, 0.1606, 0.16067916, 0.17, 1e4])
@pytest.mark.parametrize("sizes", [(1,), tuple(np.linspace(0.1, 1, 10)), (1, 1), (1, 5, 100)])
def test_every_price_is_solved_at_once(ranks_law, super_values, mu, sizes):
    values = np.outer(super_values, (0, *sizes))
    start = time.process_time()
    one = frontier_point(ranks_law, values, mu)
    other = logged_frontier_point(ranks_law, values, mu, np.eye(13))
    assert time.process_time() - start < 5
    assert one.gap <= 1e-12 * max(mu, 1)
    assert other.gap <= 1e-8 * max(mu, 1)


def test_values_that_never_occur_have_no_say():
    chances, values = np.array([0.5, 0.0, 0.5]), np.array([[0, 1.0], [0, 9.0], [0, -1.0]])
    point = logged_frontier_point(chances, values, 0.5, np.eye(3))
    rest = frontier_point(chances[[0, 2]], values[[0, 2]], 0.5)
    assert point.profit == pytest.approx(rest.profit, abs=1e-7)


@pytest.mark.parametrize("mu", [0, -1, float("nan"), float("inf")])
def test_a_price_is_positive(ranks_law, one_stake, mu):
    with pytest.raises(ConfigError, match="price mu"):
        frontier_point(ranks_law, one_stake, mu)


def test_a_stake_without_a_finite_value_is_refused(ranks_law):
    with pytest.raises(ConfigError, match="finite value"):
        frontier_point(ranks_law, np.full((13, 2), np.inf), 1.0)


def test_no_limit_price_without_a_favorable_card_or_with_a_favorable_box():
    assert limit_price(np.array([0.5, 0.5]), np.array([-1.0, 0.0])) == 0
    with pytest.raises(ConfigError, match="nothing to hide"):
        limit_price(np.array([0.5, 0.5]), np.array([-1.0, 2.0]))
