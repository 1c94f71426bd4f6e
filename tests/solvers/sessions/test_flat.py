"""The law of many flat rounds: the published session, and exact convolution as a second road."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from strategies import PLAYABLE, slips

from niulab.engine.batch import BatchEngine
from niulab.engine.rules import load_rules
from niulab.engine.wagers import Slip
from niulab.errors import ConfigError
from niulab.solvers.sessions.flat import flat_law
from niulab.solvers.sessions.net_law import net_law

RULES = load_rules()
BOTH = net_law(RULES, Slip.of("single=100,super=100"))


def exact_power(law, n_rounds, step):
    """Counts of ways by level, as the digits of one big integer's power."""
    size = (law.n_deals**n_rounds).bit_length() // 8 + 1  # bytes a digit
    levels = (law.nets - law.nets[0]) // step
    number = sum(
        count << 8 * size * level for level, count in zip(levels.tolist(), law.counts, strict=True)
    )
    n_levels = n_rounds * int(levels[-1]) + 1
    raw = (number**n_rounds).to_bytes(n_levels * size, "little")
    return [int.from_bytes(raw[i : i + size], "little") for i in range(0, n_levels * size, size)]


def test_sixty_rounds_of_single_and_super():
    """Source: the betting notes, "Checks at hand", in units of 100 cents."""
    law = flat_law(BOTH, 60)
    assert round(law.ev_cents / 100, 2) == -9.92
    assert round(law.sd_cents / 100, 1) == 56.3
    assert round(law.p_ahead, 3) == 0.430
    assert [cents / 100 for cents in law.band(0.05, 0.95)] == pytest.approx(
        [-102.7, 82.8], abs=0.06
    )


@pytest.mark.parametrize(
    ("text", "n_rounds"),
    [("single=100", 7), ("single=100,double=100", 6), ("single=100,super=20", 3)],
)
def test_it_is_the_exact_convolution_within_its_bound(text, n_rounds):
    one = net_law(RULES, Slip.of(text))
    law = flat_law(one, n_rounds)
    ways = exact_power(one, n_rounds, law.step_cents)
    total = one.n_deals**n_rounds
    assert sum(ways) == total
    exact = np.array([n / total for n in ways])
    assert len(exact) == len(law.probabilities)
    assert np.abs(law.probabilities - exact).max() <= law.rounding_bound < 1e-14
    ahead = Fraction(sum(n for n, net in zip(ways, law.nets, strict=True) if net > 0), total)
    assert law.p_ahead == pytest.approx(float(ahead), abs=1e-13)
    assert law.at(0) == pytest.approx(law.p_even, abs=0)
    cumulated, lines = 0, {}
    for n, net in zip(ways, law.nets.tolist(), strict=True):
        cumulated += n
        for p in (Fraction(1, 20), Fraction(1, 2), Fraction(19, 20)):
            if p not in lines and Fraction(cumulated, total) >= p:
                lines[p] = net
    assert {p: law.quantile(float(p)) for p in lines} == lines


@given(data=st.data(), n_rounds=st.integers(1, 40))
@examples(max_examples=20)
def test_moments_add_up(data, n_rounds):
    rules = PLAYABLE["even-double-super-bonus"]
    law = flat_law(net_law(rules, data.draw(slips(rules, most_steps=5))), n_rounds)
    mean = float((law.nets * law.probabilities).sum())
    spread = sqrt(float(((law.nets - mean) ** 2 * law.probabilities).sum()))
    assert law.probabilities.sum() == pytest.approx(1, abs=1e-10)
    assert mean == pytest.approx(law.ev_cents, rel=1e-6)
    assert spread == pytest.approx(law.sd_cents, rel=1e-6)


def test_two_sessions_one_after_the_other_are_one_long_session():
    short, long = flat_law(BOTH, 5), flat_law(BOTH, 10)
    twice = np.convolve(short.probabilities, short.probabilities)
    assert long.lowest_cents == 2 * short.lowest_cents
    np.testing.assert_allclose(long.probabilities, twice, atol=1e-14)


def test_one_round_and_none():
    law = flat_law(BOTH, 1)
    assert law.probabilities[law.probabilities > 1e-12] == pytest.approx(BOTH.probabilities)
    nothing = flat_law(BOTH, 0)
    assert (nothing.probabilities.tolist(), nothing.nets.tolist()) == ([1.0], [0])
    assert (nothing.p_ahead, nothing.p_even, nothing.quantile(0.5), nothing.sd_cents) == (
        0,
        1,
        0,
        0,
    )


def test_it_has_no_unit():
    """Ten times all cents: the same chances, ten times the money (other tools mix the two up)."""
    big = flat_law(net_law(RULES, Slip.of("single=1000,super=1000")), 60)
    small = flat_law(BOTH, 60)
    np.testing.assert_allclose(big.probabilities, small.probabilities, atol=1e-16)
    assert big.band() == tuple(10 * cents for cents in small.band())
    assert big.cvar_cents() == pytest.approx(10 * small.cvar_cents())


def test_cvar_is_the_mean_of_the_worst_share():
    law = flat_law(net_law(RULES, Slip.of("single=100")), 1)
    assert law.cvar_cents(0.75) == pytest.approx(-100)
    assert law.cvar_cents(0.25) == pytest.approx((0.5 * -100 + 0.25 * 95) / 0.75)
    assert law.cvar_cents(0) == pytest.approx(-2.5)


def test_what_cannot_be_asked():
    with pytest.raises(ConfigError, match="0 rounds or more"):
        flat_law(BOTH, -1)
    with pytest.raises(ConfigError, match=r"solvers\.sessions\.tails"):
        flat_law(BOTH, 1_000_000)
    with pytest.raises(ConfigError, match="no share"):
        flat_law(BOTH, 2).quantile(5)


def test_dealt_sessions_are_ahead_as_often():
    n_rounds, n = 60, 4000
    rounds = np.arange(n_rounds * n)
    nets = BatchEngine(RULES).play(BOTH.slip, np.full(len(rounds), 11, np.uint64), rounds)
    ends = nets.reshape(n, n_rounds).sum(axis=1)
    law = flat_law(BOTH, n_rounds)
    half_width = 4 * sqrt(law.p_ahead * (1 - law.p_ahead) / n)
    assert float((ends > 0).mean()) == pytest.approx(law.p_ahead, abs=half_width)
    assert float(ends.mean()) == pytest.approx(law.ev_cents, abs=4 * law.sd_cents / sqrt(n))
