"""What a look is worth: published figures, a second road by signals, and information."""

from fractions import Fraction
from itertools import product
from math import log

import numpy as np
import pytest

from niulab.agents.advantage.catalog import ATTACKS, attack_edge
from niulab.agents.advantage.config import (
    Beneficiary,
    CardSwitcher,
    Colluders,
    EdgeSorter,
    Exploiter,
    FrontierPlayer,
    HoleCarder,
    LatePlayer,
    RatedPlayer,
    Steerer,
    high_slip,
    low_slip,
)
from niulab.agents.advantage.hiding import hidden_point
from niulab.agents.advantage.paid import exploiting_slip
from niulab.agents.advantage.sight import seen_edge, seen_information, seen_plan
from niulab.agents.advantage.worth import box_worths
from niulab.engine.rules import load_rules
from niulab.engine.wagers import Slip, verify_slip
from niulab.errors import ConfigError
from niulab.evaluation.logged.columns import simulate_blocks
from niulab.evaluation.logged.config import FloorConfig
from niulab.solvers.channels import Channel, signal_values
from niulab.solvers.values import slip_values

SHEET = load_rules("single-double-super")
EVEN = load_rules("even-double-super-bonus")
SINGLE = Fraction(-5, 2)  # cents a round of the compulsory unit


def test_the_published_values_of_a_seen_card():
    by_card = {
        whose: box_worths(SHEET, Channel(position=whose)).values["super"]
        for whose in ("own", "dealer")
    }
    assert float(by_card["dealer"][0]) == pytest.approx(0.18394, abs=5e-6)
    assert float(by_card["dealer"][12]) == pytest.approx(-0.61945, abs=5e-6)
    assert float(by_card["own"][0]) == pytest.approx(-0.45848, abs=5e-6)
    assert float(by_card["own"][12]) == pytest.approx(0.33414, abs=5e-6)


def test_super_on_a_favorable_dealers_card_earns_the_published_figure():
    config = HoleCarder(high="super=100")
    assert float(seen_edge(SHEET, config) - SINGLE) / 100 == pytest.approx(0.04557, abs=5e-6)
    plan = seen_plan(SHEET, config)
    assert plan.slips[:, 2].tolist() == [100] * 5 + [0] * 9  # an ace to a five
    share = 5 / 13
    entropy = -share * log(share) - (1 - share) * log(1 - share)
    assert seen_information(SHEET, config) == pytest.approx(entropy, rel=1e-12)
    assert round(log(1000) / entropy) == 10  # rounds to detection at the limit, as published


@pytest.mark.parametrize("place", [0, 5])
@pytest.mark.parametrize(("see_rate", "noise"), [(1.0, 0.0), (0.5, 0.0), (0.7, 0.3)])
def test_the_best_slip_by_signal_is_the_best_of_all_slips(place, see_rate, noise):
    config = HoleCarder(place=place, see_rate=see_rate, noise=noise, high="single=300,super=200")
    slips = [
        Slip.of({"single": single, "super": top}) for single, top in product((100, 300), (0, 200))
    ]
    values = signal_values(SHEET, config.channel, slips)
    assert seen_edge(SHEET, config) == values.optimum_cents
    best = [slips[place] for place in values.best]
    plan = seen_plan(SHEET, config).slips.tolist()
    assert plan == [[slip.stake(box) for box in SHEET.boxes] for slip in best]


def test_plays_of_cover_and_held_back_are_counted():
    open_ = HoleCarder(high="super=100")
    hidden = HoleCarder(high="super=100", cover_bet=0.25, hold_back=0.5)
    gain = seen_edge(SHEET, open_) - SINGLE
    # always staking would earn the blind value, so what is not favorable is worth the rest
    blind = slip_values(SHEET, Slip.of("single=100,super=100")).ev_cents - SINGLE
    expected = gain / 2 + (blind - gain) / 4 + SINGLE
    assert seen_edge(SHEET, hidden) == expected
    assert seen_information(SHEET, hidden) < seen_information(SHEET, open_)


def test_a_look_half_the_time_earns_half():
    whole, half = (
        seen_edge(SHEET, HoleCarder(see_rate=rate, high="super=100")) for rate in (1.0, 0.5)
    )
    assert half - SINGLE == (whole - SINGLE) / 2


def test_edge_sorters_and_colluders_see_what_their_channels_show():
    sorter = EdgeSorter(high="super=100")  # small cards of the dealer's told from the rest
    assert seen_edge(SHEET, sorter) == seen_edge(SHEET, HoleCarder(high="super=100"))
    assert seen_edge(SHEET, Colluders(high="super=100")) == seen_edge(
        SHEET, HoleCarder(high="super=100")
    )
    courts = EdgeSorter(place=0, shows=("J Q K",), high="super=100")
    known = box_worths(SHEET, courts.channel).values["super"][0]
    assert seen_edge(SHEET, courts) - SINGLE == Fraction(3, 13) * 100 * known


def test_points_of_the_frontier_lie_between_open_play_and_none():
    points = [FrontierPlayer(mu=mu, high="super=100") for mu in (1e-4, 0.05, 0.1, 0.15, 0.17)]
    gains = [float(attack_edge(SHEET, point) - SINGLE) / 100 for point in points]
    nats = [hidden_point(SHEET, point).information for point in points]
    assert gains[0] == pytest.approx(0.04557, abs=5e-6)
    assert nats[0] == pytest.approx(seen_information(SHEET, HoleCarder(high="super=100")))
    assert gains == sorted(gains, reverse=True)
    assert nats == sorted(nats, reverse=True)
    # beyond the limit price mu* = .16068 nothing pays; below it some profit is left
    assert gains[3] - 0.15 * nats[3] > 0
    assert gains[4] == pytest.approx(0, abs=1e-9)
    for point, gain in zip(points, gains, strict=True):
        assert gain == pytest.approx(hidden_point(SHEET, point).profit, abs=1e-12)
    assert FrontierPlayer(noise=0.1).mistakes(SHEET)


def test_rates_play_any_policy_of_two_slips():
    point = FrontierPlayer(mu=0.05, high="super=100")
    rates = hidden_point(SHEET, point).policy[:, 1].tolist()
    twin = RatedPlayer(rates=rates, high="super=100")
    assert twin.mistakes(SHEET) == []
    assert attack_edge(SHEET, twin) == attack_edge(SHEET, point)
    open_play = RatedPlayer(rates=[1.0] * 5 + [0.0] * 8, high="super=100")
    assert attack_edge(SHEET, open_play) == seen_edge(SHEET, HoleCarder(high="super=100"))
    half = RatedPlayer(rates=[0.5] * 5 + [0.0] * 8, high="super=100")
    assert attack_edge(SHEET, half) == seen_edge(SHEET, HoleCarder(high="super=100", see_rate=0.5))
    assert RatedPlayer(rates=[0.5]).mistakes(SHEET) == [
        "rates has a chance for each of 13 classes, got 1"
    ]
    assert RatedPlayer(rates=[0.5] * 13, hold_back=0.1).mistakes(SHEET)
    with pytest.raises(ConfigError, match="rates"):
        RatedPlayer(rates=[1.5])


def test_rated_seers_stake_as_often_as_they_are_told():
    rates = np.linspace(0.05, 0.95, 13)
    player = RatedPlayer(count=40, rates=rates.tolist(), high="super=100")
    floor = FloorConfig(rules=SHEET, players=(player,), rounds=500, seed=1, seats=1, dealers=1)
    staked, seen = np.zeros(13), np.zeros(13)
    for plays in simulate_blocks(floor, pairs=False, rounds_named=False):
        ranks = plays.dealer_cards[:, 0] // 4
        np.add.at(staked, ranks, plays.stakes[:, 2] > 0)
        np.add.at(seen, ranks, 1)
    assert seen.sum() == 20_000
    errors = (staked / seen - rates) / np.sqrt(rates * (1 - rates) / seen)
    assert np.abs(errors).max() < 4


def test_limits_are_the_tables():
    config = HoleCarder(high="limits")
    slip = high_slip(SHEET, config)
    verify_slip(SHEET, slip)
    assert slip.stake("super") == SHEET.boxes["super"].maximum_cents
    assert low_slip(SHEET, config) == Slip.of("single=100")


def test_who_exploits_a_sheet_stakes_what_it_favors():
    note = load_rules("even-double-super-bonus-literal-note")
    slip = exploiting_slip(note, Exploiter(high="double=100,super=100"))
    assert slip == Slip.of("even=100,super=100")  # Double stays off, Super is worth +.46
    edge = attack_edge(note, Exploiter(high="double=100,super=100"))
    assert edge == slip_values(note, slip).ev_cents
    assert float(edge) == pytest.approx(46.0540 - 2.2554, abs=1e-3)
    assert exploiting_slip(SHEET, Exploiter()) == Slip.of("single=100")


def short_sheet():
    boxes = dict(SHEET.boxes)
    cover = boxes["super"].cover.model_copy(update={"shortfall": "cap_loss"})
    boxes["super"] = boxes["super"].model_copy(update={"cover": cover})
    return SHEET.model_copy(update={"name": "short-cover", "boxes": boxes})


def test_who_exploits_short_cover_puts_the_least_in_sight():
    short = short_sheet()
    slip = exploiting_slip(short, Exploiter())
    assert (slip.stake("super"), slip.sight("super")) == (100, 100)
    assert attack_edge(short, Exploiter()) == slip_values(short, slip).ev_cents
    assert attack_edge(short, Exploiter()) > 0


def test_a_mispay_is_worth_what_lies_on_the_box():
    # a win of .95 twice, or a loss of 1 spared: half of each
    assert attack_edge(SHEET, Beneficiary(rate=0.2, high="single=100")) == SINGLE + Fraction(39, 2)


def test_a_pinch_and_a_post():
    pinch = attack_edge(SHEET, LatePlayer(pinch_rate=1.0, high="super=100"))
    wins = attack_edge(SHEET, LatePlayer(post_rate=1.0, post=100, high="super=100"))
    whole = slip_values(SHEET, Slip.of("single=100,super=100")).ev_cents
    # all that Super wins is what it is worth and what it loses: the post wins it once more
    assert pinch - SINGLE == wins - whole
    assert attack_edge(SHEET, CardSwitcher()) is None


def test_every_mistake_of_an_attacker_is_told():
    with pytest.raises(ConfigError) as error:
        HoleCarder(place=11, see_rate=1.5, wrong=1)
    assert all(word in str(error.value) for word in ("place", "see_rate", "wrong"))
    assert set(ATTACKS) == {config.model_fields["kind"].default for config in ATTACKS.values()}


@pytest.mark.parametrize(
    ("sheet", "config", "said"),
    [
        (SHEET, HoleCarder(high="super=105"), "multiple"),
        (SHEET, HoleCarder(shows=("J Q", "Q K")), "shares cards"),
        (SHEET, Steerer(), "first_packet"),
        (EVEN, HoleCarder(place=0), "steerer"),
        (EVEN, Steerer(bid=5001), "bid"),
        (SHEET, LatePlayer(), "post_rate"),
        (SHEET, LatePlayer(post=7, post_rate=0.5), "post"),
    ],
)
def test_what_a_sheet_refuses_is_said(sheet, config, said):
    assert any(said in mistake for mistake in config.mistakes(sheet))
    assert all(isinstance(mistake, str) for mistake in config.mistakes(sheet))


def test_nobody_is_refused_by_default():
    for kind, make in ATTACKS.items():
        if kind not in {"steerer", "late_player", "rated"}:
            assert make().mistakes(SHEET) == [], kind
    assert Steerer().mistakes(EVEN) == []
    assert np.isfinite(float(attack_edge(EVEN, Steerer())))
