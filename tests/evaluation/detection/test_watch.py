"""The portfolio a log is watched with: what it holds, false alarms, attribution."""

from dataclasses import replace
from math import log

import numpy as np
import pytest
from card_players import hole_carder, honest
from table_players import exchanged, seated

from niulab.engine.rules import load_rules
from niulab.engine.settlement import Outcome
from niulab.evaluation.detection.features import SLOTS, result_law, slot_levels
from niulab.evaluation.detection.fold import PlayerStates, fold
from niulab.evaluation.detection.watch import (
    ATTACK_WEIGHTS,
    given_factors,
    portfolio_of_log,
    watch_portfolio,
)

N_SEATS = 3


@pytest.fixture(scope="module")
def watch(sheet):
    return watch_portfolio([sheet])


def judge(watch, plays, **options):
    plays = plays.by_player()
    states = PlayerStates.fresh(len(plays.texts.players), watch)
    return fold(watch, states, plays, given=given_factors(watch, plays), **options).states


def staking(sheet, n_tables, n_rounds, super_of, *, seed):
    """Every seat stakes Super as ``super_of`` says of its own cards and the dealer's."""
    plays = seated(sheet, n_tables, N_SEATS, n_rounds, seed=seed)
    stakes = plays.stakes.copy()
    rng = np.random.default_rng(seed)
    stakes[:, 2] = 100 * super_of(plays.cards, plays.dealer_cards, rng)
    return seated(sheet, n_tables, N_SEATS, n_rounds, seed=seed, stakes=stakes)


def test_weights_are_the_published_ones_in_proportion(sheet, watch):
    total = 1 - ATTACK_WEIGHTS["order steered"]  # this sheet cannot be steered
    for attack in watch.attacks:
        assert watch.weight_of(attack) == pytest.approx(ATTACK_WEIGHTS[attack] / total, rel=1e-12)
    assert sum(ATTACK_WEIGHTS.values()) == pytest.approx(1, abs=1e-15)
    both = watch_portfolio([sheet, load_rules("even-double-super-bonus")])
    assert set(both.attacks) == set(ATTACK_WEIGHTS)
    assert both.weight_of("order steered") == pytest.approx(0.1, rel=1e-12)


def test_every_table_of_the_portfolio_has_mean_one(sheet):
    both = watch_portfolio([sheet, load_rules("even-double-super-bonus")])
    for block in both.blocks:
        for table, law in zip(block.tables, block.laws, strict=True):
            assert np.abs(np.einsum("v,bvk->bk", law, table) - 1).max() <= 1e-12


def test_a_log_is_tested_for_what_it_can_show(sheet):
    bare = watch_portfolio([sheet], ordered=False, late=False, seats=False)
    assert bare.n_given == 0
    assert set(bare.attacks) == {
        "own card seen", "dealer's card seen", "results foreseen", "cards switched"
    }  # fmt: skip
    assert {c.slot for c in bare.components if c.attack == "cards switched"} == {"own rank"}


def test_columns_choose_what_is_tested(sheet):
    core = ["round_id", "seat", "player", "single", "cards", "dealer_cards"]
    late = "stakes after the close"
    assert late not in portfolio_of_log([sheet], core).attacks
    assert late in portfolio_of_log([sheet], [*core, "late_super"]).attacks
    assert late in portfolio_of_log([sheet], [*core, "bet_time", "close_time"]).attacks
    assert portfolio_of_log([sheet], core).n_given == 6
    assert portfolio_of_log([sheet], ["round_id", "player", "single"]).n_given == 0


def test_false_alarms_stay_below_alpha(sheet, watch):
    states = judge(watch, staking(sheet, 200, 60, honest, seed=1), alpha=0.05)
    # seats of a table share the dealer: 200 tables count
    assert np.mean(states.peaks >= log(20)) <= 0.05 + 3 * (0.05 * 0.95 / 200) ** 0.5


def named(watch, states, players):
    return [watch.attacks[k] for k in states.shares[players].argmax(axis=1)]


def test_the_true_attack_is_named_first(sheet, watch):
    states = judge(watch, staking(sheet, 10, 80, hole_carder(1.0), seed=2))
    assert (states.alarms > 0).all()
    everyone = np.arange(30)
    assert np.mean([n == "dealer's card seen" for n in named(watch, states, everyone)]) >= 0.9

    switchers = np.arange(20) * N_SEATS
    fair = staking(sheet, 20, 60, honest, seed=3)
    states = judge(watch, exchanged(fair, sheet, switchers, 0.8))
    assert (states.alarms[switchers] > 0).all()
    assert np.mean([n == "cards switched" for n in named(watch, states, switchers)]) >= 0.9

    fair = staking(sheet, 10, 400, honest, seed=4)
    late = np.zeros((len(fair), 4), dtype=np.int64)
    cells = np.array([c.outcome == Outcome.WIN for c in result_law(sheet).cells])
    is_won = cells[slot_levels(fair, [sheet])[:, SLOTS.index("result")]]
    late[:, 2] = 100 * (is_won & (np.random.default_rng(5).random(len(fair)) < 0.2))
    states = judge(watch, replace(fair, late=late))
    assert (states.alarms > 0).all()
    assert np.mean([n == "stakes after the close" for n in named(watch, states, everyone)]) >= 0.9
