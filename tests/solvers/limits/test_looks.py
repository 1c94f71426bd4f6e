"""Looks at one card: means by class against the solvers', frontiers of blurred looks."""

import numpy as np
import pytest

from niulab.engine.rules import load_rules
from niulab.engine.wagers import Slip
from niulab.errors import ConfigError
from niulab.solvers.channels import Channel, signal_values
from niulab.solvers.limits.frontier import frontier_point
from niulab.solvers.limits.looks import LOGS, frontier_policy, look_at
from niulab.solvers.values import bonus_ev, box_values

RULES = load_rules("single-double-super")
DEALER = Channel(position="dealer")


def test_published_means_given_a_card():
    dealer, own = look_at(RULES, DEALER), look_at(RULES, Channel())
    assert f"{dealer.values('super')[0]:+.5f}" == "+0.18394"
    assert f"{dealer.values('super')[12]:+.5f}" == "-0.61945"
    king = [own.values(box)[12] for box in RULES.boxes]
    assert [f"{ev:+.5f}" for ev in king] == ["+0.11404", "+0.16310", "+0.33414"]
    assert dealer.best_box == "super"
    blind = {box: values.ev for box, values in box_values(RULES).items()}
    assert dealer.blind == own.blind == blind  # the total law, in Fractions


def test_bonus_boxes_given_a_card():
    rules, seen = load_rules("even-double-super-bonus"), ("KS",)
    own, dealer = (
        look_at(rules, Channel(position=whose, shows=seen)) for whose in ("own", "dealer")
    )
    mean = bonus_ev(rules, "bonus")
    assert own.blind["bonus"] == dealer.blind["bonus"] == mean
    left = list(rules.deck.composition)
    left[4 * 12 + 3] -= 1  # a king that the dealer holds is not in the player's shoe
    assert dealer.evs["bonus"][0] == bonus_ev(rules, "bonus", left)
    # the card lies in one of the five places of his hand, or in one of 47 others
    assert (5 * own.evs["bonus"][0] + 47 * dealer.evs["bonus"][0]) / 52 == mean


def test_a_blurred_look_is_worth_what_the_channel_says():
    channel = Channel(position="dealer", see_rate=0.5, noise=0.25)
    free = frontier_policy(RULES, channel, 1e-4)
    with_super, without = Slip.parse("single=100,super=100"), Slip.parse("single=100")
    values = signal_values(RULES, channel, [with_super, without])
    gains = [float(a - b) / 100 for a, b in values.nets_cents]
    best = sum(float(p) * max(gain, 0) for p, gain in zip(values.chances, gains, strict=True))
    assert free.profit == pytest.approx(best, rel=1e-6)
    assert free.policy.shape == (14, 2)
    assert np.abs(free.policy[:, 1] - (np.array(gains) > 0)).max() < 1e-3


def test_seen_always_it_is_the_plain_frontier():
    values = look_at(RULES, DEALER).values("super")
    plain = frontier_point(np.full(13, 1 / 13), np.stack([0 * values, values], axis=1), 0.1)
    point = frontier_policy(RULES, DEALER, 0.1)
    assert point.profit == pytest.approx(plain.profit, rel=1e-9)
    assert point.policy[:13] == pytest.approx(plain.policy, abs=1e-9)


@pytest.mark.parametrize("log", LOGS)
def test_a_look_at_half_the_rounds_is_worth_less(log):
    worths = []
    for rate in (1.0, 0.5):
        point = frontier_policy(RULES, Channel(position="dealer", see_rate=rate), 0.1, log=log)
        worths.append(point.profit - point.mu * point.information)
        assert point.gap < 1e-7
    assert worths[0] > worths[1] > 0


def test_unknown_logs_and_boxes_are_refused():
    with pytest.raises(ConfigError, match="log is one of"):
        look_at(RULES, DEALER).kept("hands")
    with pytest.raises(ConfigError, match="did you mean 'super'"):
        frontier_policy(RULES, DEALER, 0.1, box="supper")
