"""The law of one round's net, against settlement cell by cell and against dealt rounds."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import gcd, isnan, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from strategies import PLAYABLE, overlay, slips

from niulab.engine.batch import BatchEngine
from niulab.engine.rules import load_rules
from niulab.engine.wagers import Slip, max_loss_cents
from niulab.errors import WagerError
from niulab.solvers.information import law_given_card
from niulab.solvers.joint_law import joint_law
from niulab.solvers.sessions.net_law import NetLaw, box_law, lattice_step, net_law
from niulab.solvers.values import box_values, slip_values

RULES = load_rules()
SHEETS = ["single-double-super", "even-double-super-bonus", "even-double-super-bonus-half-on-7"]


@given(data=st.data(), name=st.sampled_from(SHEETS))
@examples(max_examples=30)
def test_it_counts_what_settlement_pays_cell_by_cell(data, name):
    rules = PLAYABLE[name]
    slip = data.draw(slips(rules))
    law = net_law(rules, slip)
    slow = Counter()
    for cell, n in joint_law(rules).cells.items():
        slow[cell.settle(rules, slip).net_cents] += n
    assert dict(zip(law.nets.tolist(), law.counts, strict=True)) == slow
    values = slip_values(rules, slip)
    assert (law.ev_cents, law.variance) == (values.ev_cents, values.variance)
    assert law.moved_cents == values.moved_cents
    assert law.n_deals == joint_law(rules).n_deals
    assert (np.diff(law.nets) > 0).all()
    assert not (law.nets % law.step_cents).any()
    assert law.nets[0] >= -max_loss_cents(rules, slip)


def test_moments_are_those_of_the_distribution():
    law = net_law(RULES, Slip.of("single=100,double=40,super=20"))
    p = [Fraction(n, law.n_deals) for n in law.counts]
    away = [net - law.ev_cents for net in law.nets.tolist()]
    second, third, fourth = (
        sum(chance * d**k for chance, d in zip(p, away, strict=True)) for k in (2, 3, 4)
    )
    assert law.variance == second
    assert law.skewness == pytest.approx(float(third) / float(second) ** 1.5, rel=1e-12)
    assert law.excess_kurtosis == pytest.approx(float(fourth / second**2) - 3, rel=1e-12)
    assert law.probabilities.tolist() == [float(chance) for chance in p]


def test_the_step_follows_from_the_stakes_and_the_rules():
    """5 % of 100 cents leave fives, of 20 cents ones; a sheet without commission whole stakes."""
    assert net_law(RULES, Slip.of("single=100")).step_cents == 5
    assert net_law(RULES, Slip.of("single=120")).step_cents == 6
    assert net_law(RULES, Slip.of("single=100,super=20")).step_cents == 1
    free = overlay("single-double-super", '[boxes.single]\ncommission = { rate = "0" }\n')
    assert net_law(free, Slip.of("single=100")).step_cents == 100


def test_a_common_lattice_of_slips_and_amounts():
    laws = [net_law(RULES, Slip.of(text)) for text in ("single=200", "single=400,double=200")]
    assert lattice_step(laws) == gcd(*(net for law in laws for net in law.nets.tolist())) == 10
    assert lattice_step(laws, 20000, 40000) == 10
    assert lattice_step(laws, 20005) == 5
    assert lattice_step([]) == 1


def test_a_slip_the_table_refuses_has_no_law():
    with pytest.raises(WagerError, match="lacks the required box"):
        net_law(RULES, Slip.of("super=100"))
    with pytest.raises(WagerError, match="no box"):
        box_law(RULES, "bonus")


def test_a_box_by_itself_has_the_figures_of_its_unit():
    for box, values in box_values(RULES).items():
        law = box_law(RULES, box, 200)
        assert (law.ev_cents / 200, law.variance / 200**2) == (values.ev, values.variance)
        assert law.moved_cents / 200 == values.moved


def test_a_conditional_law_of_the_round_gives_a_conditional_net():
    seen = law_given_card(RULES, "K")
    law = net_law(RULES, Slip.of("single=100"), seen)
    # source: the settled game description, section 4: own king, Single +.11404
    assert round(float(law.ev_cents) / 100, 5) == 0.11404


def test_a_net_without_variance_has_no_shape():
    constant = NetLaw(Slip.of("single=100"), np.array([100]), (7,), Fraction(100))
    assert isnan(constant.skewness)
    assert isnan(constant.excess_kurtosis)


def test_dealt_rounds_come_out_with_these_chances():
    slip = Slip.of("single=100,super=100")
    law = net_law(RULES, slip)
    n = 400_000
    nets = BatchEngine(RULES).play(slip, np.full(n, 7, dtype=np.uint64), np.arange(n))[:, 0]
    seen, counts = np.unique(nets, return_counts=True)
    assert seen.tolist() == law.nets.tolist()
    expected = n * law.probabilities
    chi_square = float(((counts - expected) ** 2 / expected).sum())
    assert chi_square < 19 + 5 * sqrt(2 * 19)
