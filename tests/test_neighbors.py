"""Faults of neighboring tools that no test elsewhere names: each is a promise here.

The others are tested where they would live: ruin counted only at the horizon (solvers/sessions,
evaluation/sessions), Kelly and risk wrong by units (solvers/sessions/test_metrics.py).
"""

from math import sqrt

import numpy as np
import pytest

from niulab.engine.batch import BatchEngine
from niulab.engine.rules import load_rules
from niulab.engine.wagers import Slip
from niulab.envs.single import NiuNiuEnv
from niulab.solvers.values import slip_values

RULES = load_rules("single-double-super")
SLIP = Slip.parse("single=100,super=40")


@pytest.mark.parametrize("n_seats", [1, 2, 5, 9])
def test_a_seats_expectation_does_not_hang_on_the_number_of_seats(n_seats):
    """EV wrong for more seats: mhluska/blackjack-simulator #39."""
    n = 400_000
    seeds = np.full(n, 39, dtype=np.uint64)
    nets = BatchEngine(RULES, n_seats).play(SLIP, seeds, np.arange(n))
    values = slip_values(RULES, SLIP)
    errors = (nets.mean(axis=0) - float(values.ev_cents)) / (values.sd_cents / sqrt(n))
    assert nets.shape == (n, n_seats)
    assert np.abs(errors).max() < 5  # passes by chance in all but 6e-7 of seeds a seat


def test_a_stake_is_placed_before_any_card_of_the_round_is_seen():
    """Stakes after the deal: AttackingOrDefending/Blackjack-Strategy-Simulator PR#8."""
    env = NiuNiuEnv("niulab/NiuNiu-v0")
    shown = [env.reset(seed=seed)[0] for seed in range(200)]
    assert all((observation == shown[0]).all() for observation in shown)
    hands = set()
    for seed in range(200):
        env.reset(seed=seed)
        hands.add(env.encoding.decode_hands(env.step(0)[0][None]).tobytes())
    assert len(hands) == 200  # though each of them was dealt another hand


def test_there_are_bets_and_a_deck():
    """No bets and no deck in a "blackjack" environment: datamllab/rlcard #162."""
    nets = {}
    for bet in (0, 1):
        env = NiuNiuEnv("niulab/Table-v0", menu=["single=100", "single=200"])
        nets[bet] = []
        for seed in range(50):
            env.reset(seed=seed)
            hand = env.encoding.decode_hands(env.step(bet)[0][None])[0].tolist()
            settlement = env.step(0)[4]["settlement"]
            dealt = [*hand, *settlement["dealer_cards"].tolist()]
            assert len(set(dealt)) == 10  # one deck: no card twice
            nets[bet].append(int(settlement["net_cents"]))
    assert nets[1] == [2 * net for net in nets[0]]
    assert len(set(nets[0])) > 1
