"""The figures of a bet: published values, their definitions, and that none depends on a unit."""

from __future__ import annotations

import tomllib
from fractions import Fraction
from math import inf, log1p, sqrt
from pathlib import Path

import numpy as np
import pytest

from niulab.engine.batch import BatchEngine
from niulab.engine.rules import load_rules
from niulab.engine.wagers import Slip
from niulab.errors import ConfigError
from niulab.solvers.information import law_given_card
from niulab.solvers.mixes import box_correlations
from niulab.solvers.sessions.flat import flat_law
from niulab.solvers.sessions.metrics import kelly_fraction, slip_metrics
from niulab.solvers.sessions.net_law import NetLaw, box_law, net_law
from niulab.solvers.values import box_values

GOLDEN = tomllib.loads((Path(__file__).parents[2] / "golden/game.toml").read_text())
RULES = load_rules()
BOTH = net_law(RULES, Slip.of("single=100,super=100"))
KING = law_given_card(RULES, "K")


@pytest.mark.parametrize(("box", "n0"), [("single", 1521), ("double", 4117), ("super", 2079)])
def test_n0_of_each_box(box, n0):
    """Source: the betting notes, "Checks at hand"."""
    metrics = slip_metrics(RULES, box_law(RULES, box))
    assert round(metrics.rounds_to_outweigh_sd) == n0


def test_correlations_of_the_boxes_of_a_seat():
    """Source: tests/golden/game.toml, [correlation]."""
    found = box_correlations(RULES)
    for pair, expected in GOLDEN["correlation"].items():
        first, second = pair.split("_")
        assert round(found[first, second], 3) == round(found[second, first], 3) == expected


def test_losses_per_stake_and_per_chip_moved():
    metrics = slip_metrics(RULES, BOTH, rounds_per_hour=40)
    values = box_values(RULES)
    ev = values["single"].ev + values["super"].ev
    assert metrics.house_edge == -ev / 2
    assert metrics.element_of_risk == -ev / (values["single"].moved + values["super"].moved)
    assert metrics.ev_cents_per_hour == pytest.approx(4000 * float(ev))
    assert (metrics.stake_cents, metrics.exposure_cents) == (200, 1200)
    assert metrics.skewness == BOTH.skewness
    assert metrics.excess_kurtosis == BOTH.excess_kurtosis


def test_di_and_score_follow_from_n0():
    """DI^2 N0 = 10^6; both carry the sign of the EV."""
    for law, sign in ((BOTH, -1), (net_law(RULES, BOTH.slip, KING), 1)):
        metrics = slip_metrics(RULES, law)
        assert metrics.desirability == pytest.approx(1000 * float(law.ev_cents) / metrics.sd_cents)
        assert metrics.score * metrics.rounds_to_outweigh_sd == pytest.approx(sign * 1e6)
        assert np.sign(metrics.desirability) == sign


def test_ahead_after_many_rounds():
    """Source: the betting notes, "Checks at hand": P(ahead) .430 after 60 rounds."""
    metrics = slip_metrics(RULES, BOTH)
    assert round(metrics.p_ahead(60), 3) == 0.430
    assert metrics.session(60).band() == flat_law(BOTH, 60).band()


def test_no_box_has_a_kelly_stake_without_information():
    for box in RULES.boxes:
        assert slip_metrics(RULES, box_law(RULES, box)).kelly_fraction == 0
    assert slip_metrics(RULES, BOTH).rounds_to_double(10_000) == inf


@pytest.mark.parametrize("text", ["single=100", "single=100,super=100"])
def test_kelly_with_a_king_in_hand_maximizes_the_mean_logarithm(text):
    law = net_law(RULES, Slip.of(text), KING)
    metrics = slip_metrics(RULES, law)
    stake = metrics.stake_cents

    def growth(fraction):
        per_chip = law.nets / stake
        return sum(
            p * log1p(fraction * x)
            for p, x in zip(law.probabilities.tolist(), per_chip.tolist(), strict=True)
        )

    best = metrics.kelly_fraction
    assert 0 < best < stake / metrics.exposure_cents
    for other in (0.99, 0.999, 1.001, 1.01):
        assert growth(other * best) < growth(best)
    # to first order Kelly stakes EV / variance, in units of the stake
    assert best == pytest.approx(float(law.ev_cents / law.variance) * stake, rel=0.05)


def test_kelly_of_an_even_bet_is_its_edge():
    """Kelly (1956): p - q at even money."""
    law = NetLaw(Slip.of("single=100"), np.array([-100, 100]), (4, 6), Fraction(100))
    assert kelly_fraction(law) == pytest.approx(0.2, rel=1e-12)
    # cover of three stakes more leaves room for a quarter at most
    assert kelly_fraction(law, exposure_cents=400) == pytest.approx(0.2, rel=1e-12)
    assert kelly_fraction(law, exposure_cents=1000) == pytest.approx(0.1, rel=1e-12)
    sure = NetLaw(law.slip, np.array([0, 100]), (1, 1), Fraction(50))
    assert kelly_fraction(sure, exposure_cents=100) == 1
    with pytest.raises(ConfigError, match="cannot lose"):
        kelly_fraction(sure)


def test_nothing_but_money_depends_on_the_unit():
    """Kelly and risk wrong by units: ranaroussi/quantstats #298, #537."""
    ten = Slip.of("single=1000,super=1000")
    for known in (None, KING):
        law, big = net_law(RULES, BOTH.slip, known), net_law(RULES, ten, known)
        small_figures, big_figures = slip_metrics(RULES, law), slip_metrics(RULES, big)
        for name in ("house_edge", "element_of_risk", "skewness", "excess_kurtosis"):
            assert getattr(small_figures, name) == getattr(big_figures, name)
        for name in ("kelly_fraction", "desirability", "score", "rounds_to_outweigh_sd"):
            assert getattr(big_figures, name) == pytest.approx(
                getattr(small_figures, name), rel=1e-12
            )
        assert big_figures.certainty_equivalent_cents(1e7, 0.5) == pytest.approx(
            10 * small_figures.certainty_equivalent_cents(1e6, 0.5), rel=1e-12
        )


def test_certainty_equivalent_and_rounds_to_double():
    law = net_law(RULES, Slip.of("single=100"), KING)
    metrics = slip_metrics(RULES, law)
    ev, variance = float(law.ev_cents), float(law.variance)
    assert metrics.certainty_equivalent_cents(50_000) == pytest.approx(ev - variance / 100_000)
    assert metrics.certainty_equivalent_cents(50_000, 0.5) == pytest.approx(ev - variance / 50_000)
    assert metrics.rounds_to_double(50_000) == pytest.approx(50_000 / ev)
    # at the Kelly bankroll half the edge is left
    kelly_bankroll = variance / ev
    assert metrics.certainty_equivalent_cents(kelly_bankroll) == pytest.approx(ev / 2)
    with pytest.raises(ConfigError, match="above 0"):
        metrics.certainty_equivalent_cents(0)


def test_dealt_rounds_correlate_so():
    n = 200_000
    engine = BatchEngine(RULES)
    seeds, rounds = np.full(n, 3, dtype=np.uint64), np.arange(n)
    both = engine.play(BOTH.slip, seeds, rounds)[:, 0]
    single = engine.play(Slip.of("single=100"), seeds, rounds)[:, 0]
    seen = float(np.corrcoef(single, both - single)[0, 1])
    expected = box_correlations(RULES)["single", "super"]
    assert seen == pytest.approx(expected, abs=5 * (1 - expected**2) / sqrt(n))
