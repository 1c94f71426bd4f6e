"""The calibration study: small runs against laws, second roads and what it must tell."""

from math import isnan, log

import numpy as np
import pytest
from card_players import honest

from niulab.agents.advantage.config import HoleCarder, LatePlayer
from niulab.engine.rules import load_rules
from niulab.engine.wagers import Slip
from niulab.errors import ConfigError
from niulab.evaluation.detection.calibration.config import DetectionConfig, bettor_name
from niulab.evaluation.detection.calibration.detection import detection_study
from niulab.evaluation.detection.calibration.exact import (
    attack_named,
    best_rounds,
    component_weight,
    information_of,
    mean_errors,
    start_weight,
    units_a_round,
)
from niulab.evaluation.detection.calibration.luck import Luck, box_moments
from niulab.evaluation.detection.calibration.outcomes import found_of, honest_of, roc_of
from niulab.evaluation.detection.calibration.pieces import AttackPart, HonestPart, ScorePart
from niulab.evaluation.detection.portfolio import declared_portfolio
from niulab.evaluation.detection.watch import watch_portfolio
from niulab.evaluation.studies import make_provenance, read_study, write_study
from niulab.solvers.sessions.net_law import net_law

SMALL = {
    "honest": "honest",
    "n_long": 1,
    "long_players": 30,
    "long_rounds": 40,
    "n_players": 2,
    "n_rounds": 10,
    "see_rates": (1.0,),
    "camouflage": (0.0,),
    "starts": (0, 20),
    "others": (),
    "attack_players": 30,
    "attack_rounds": 100,
    "horizons": (10, 40),
    "roc_players": 60,
    "floor": "small",
    "n_floors": 1,
    "floor_rounds": 20,
    "workers": 1,
}


@pytest.fixture(scope="module")
def watch(sheet):
    return watch_portfolio([sheet], seats=False)


@pytest.fixture(scope="module")
def small():
    return detection_study(DetectionConfig(**SMALL))


# ---------------------------------------------------------------- the z-test of the companion


def test_moments_of_boxes_are_those_of_the_box_values(sheet):
    means, covariances = box_moments(sheet)
    for slip in ("single=100", "single=100,super=100", "single=100,double=200,super=300"):
        stakes = np.array([Slip.of(slip).stake(box) for box in ("single", "double", "super")])
        law = net_law(sheet, Slip.of(slip))
        assert stakes @ means[:3] == pytest.approx(float(law.ev_cents), rel=1e-12)
        variance = stakes @ covariances[:3, :3] @ stakes
        assert variance == pytest.approx(float(law.variance), rel=1e-12)
    # correlation of Single and Super: the study of mixes has .8805
    r = covariances[0, 2] / (covariances[0, 0] * covariances[2, 2]) ** 0.5
    assert r == pytest.approx(0.8805, abs=5e-5)


def test_running_z_goes_on_over_pieces(sheet, make_plays):
    plays = make_plays(3, 30, honest, seed=3)
    rng = np.random.default_rng(0)
    nets = np.zeros((90, 4), dtype=np.int64)
    nets[:, 0] = rng.integers(-300, 300, 90)
    plays = type(plays).of(
        90,
        plays.texts,
        **{name: getattr(plays, name) for name in ("player", "round", "time", "rules", "stakes")},
        nets=nets,
    )
    luck = Luck(sheet, 3, first=5)
    for piece in (plays.take(plays.time < 11), plays.take(plays.time >= 11)):
        luck.see(piece)
    means, covariances = box_moments(sheet)
    for player in range(3):
        mine = plays.take(plays.player == player)
        total, variance, largest = 0.0, 0.0, -np.inf
        for t in range(30):
            stakes = mine.stakes[t].astype(float)
            total += mine.nets[t].sum() - stakes @ means
            variance += stakes @ covariances @ stakes
            if t >= 4:
                largest = max(largest, total / variance**0.5)
        assert luck.now[player] == pytest.approx(total / variance**0.5, rel=1e-12)
        assert luck.largest[player] == pytest.approx(largest, rel=1e-12)


# ---------------------------------------------------------------- what is exact


def test_information_is_the_published_one(sheet):
    # detection.md: 10 rounds at alpha = 1e-3 for a dealer's card always seen
    seer = HoleCarder(place=5, high="super=100")
    assert information_of(sheet, seer) == pytest.approx(0.66628, abs=5e-6)
    assert best_rounds(information_of(sheet, seer), 1e-3) == pytest.approx(10.37, abs=5e-3)
    # Super staked on 5 of 13 ranks: the entropy of the stake
    p = 5 / 13
    entropy = -p * log(p) - (1 - p) * log(1 - p)
    assert information_of(sheet, seer) == pytest.approx(entropy, rel=1e-12)
    # .04557 a round from Super alone (detection.md); the Single beside it costs 1/40
    assert units_a_round(sheet, seer) == pytest.approx(0.04557 - 0.025, abs=5e-6)


def test_information_of_late_raises_is_the_entropy_of_a_win(sheet):
    always = information_of(sheet, LatePlayer(post_rate=1.0))
    assert always == pytest.approx(log(2), rel=1e-12)  # no hand ties: half the rounds are won
    assert information_of(sheet, LatePlayer(post_rate=0.5)) < always / 2


def test_prices_are_the_published_weights(sheet, watch):
    seer = HoleCarder(place=0, high="super=100")
    assert attack_named(seer) == "own card seen"
    weight = component_weight(watch, "own card seen")
    n = sum(c.attack == "own card seen" for c in watch.components)
    assert n * weight == pytest.approx(watch.weight_of("own card seen"), rel=1e-12)
    # a_1 = 1/2, and all starts together have weight 1
    assert start_weight(watch, 0) == pytest.approx(0.5, rel=1e-12)
    declared = declared_portfolio(sheet, place=5, box="super")
    starts = [start_weight(declared, start) for start in range(300)]
    assert sum(starts) == pytest.approx(1 - 0.5 * log(10) / log(309), rel=1e-12)
    assert best_rounds(0.5, 1e-3, 0.1, 0.5) == pytest.approx(log(20_000) / 0.5, rel=1e-12)
    assert isnan(best_rounds(float("nan"), 1e-3))


def test_every_factor_has_mean_one(watch):
    errors = mean_errors(watch, seed=0)
    assert set(errors) == set(watch.attacks)
    assert 0 < max(errors.values()) <= 1e-12


# ---------------------------------------------------------------- counting


def test_counts_of_honest_players():
    config = DetectionConfig(**SMALL)
    peaks = [0.0, log(20), log(19.99), log(101)]
    part = HonestPart(peaks, [1.7, 1.6, 2.4, 0.0], [1.0, 1.65, 0.0, 0.0], 8)
    one = honest_of(config, "flat", [part, part])
    assert (one.n_players, one.n_rows) == (8, 16)
    assert one.alarms == (4, 2)  # 1/.05 and 1/.01
    assert one.peeked == (4, 2)  # 1.645 and 2.326
    assert one.once == (2, 0)
    low, high = one.interval(0)
    assert low < 0.5 < high


def test_who_is_not_found_counts_to_the_end(sheet, watch):
    config = DetectionConfig(**SMALL)
    seer = HoleCarder(place=5, high="super=100", start=20)
    part = AttackPart(
        declared=[10, 0, -1],
        full=[20, 30, -1],
        won_cents=[100, 300, 9_999],
        named=["dealer's card seen", "own card seen", "dealer's card seen"],
    )
    one = found_of(config, watch, "dealer's card", seer, part)
    assert one.declared.mean == (10 + 100) / 2
    assert (one.declared.n_found, one.declared.n_early, one.declared.n) == (1, 1, 3)
    assert one.full.mean == 25
    assert one.named == pytest.approx(2 / 3)
    assert one.won_units == 2.0
    assert one.is_one_box
    assert one.since > one.priced > one.limit


def test_areas_and_power():
    config = DetectionConfig(**{**SMALL, "horizons": (10,)})
    low = ScorePart([list(range(100))], [[0.0] * 100])
    high = ScorePart([[98.5, 99.5, 50.0, -1.0]], [[0.0] * 4])
    (one,) = roc_of(config, low, high)
    # above 99, 100, 50 of 100 (and level with one), and none
    assert one.area == pytest.approx((99 + 100 + 50.5 + 0) / 400)
    assert one.power == 0.5  # above all but one of the honest
    assert (one.area_z, one.power_z) == (0.5, 0.0)
    assert one.alarmed == 1 - 1 / 4


# ---------------------------------------------------------------- the study


def test_a_small_study(small):
    assert len(small.honest) == len(small.config.bettors())
    first = small.honest[0]
    assert (first.name, first.n_rows) == ("flat and super=100 at 40 %", 1_200)
    assert sum(one.alarms[1] for one in small.honest) <= 3  # of 88 players at .01
    by_start = {(one.attack, one.start): one for one in small.found}
    for attack in ("dealer's card", "own card"):
        one, late = by_start[attack, 0], by_start[attack, 20]
        assert one.declared.n_found == one.full.n_found == 30
        assert one.limit < one.declared.mean <= 1.6 * one.limit  # 30 players
        assert one.declared.mean < one.full.mean <= 1.3 * one.priced
        assert late.full.mean > one.full.mean
        assert one.named == late.named == 1.0
    early, later = small.roc
    assert 0.5 < early.area < later.area
    assert later.area > later.area_z + 0.2  # results alone tell little
    assert small.floors[0].n_attackers > 0
    assert small.headline()["worst_mean_error"] <= 1e-12


def test_several_boxes_and_the_compulsory_one_are_found_near_their_limits():
    words = {"horizons": (), "n_floors": 0, "n_long": 0, "n_players": 1, "n_rounds": 2}
    grid = {
        "starts": (0,),
        "see_rates": (1.0, 0.5),
        "camouflage": (0.1,),
        "spreads": ("single=500", "single=500,double=500,super=500"),
        "attack_players": 80,
        "attack_rounds": 600,
    }
    study = detection_study(DetectionConfig(**{**SMALL, **words, **grid}))
    assert len(study.found) == 8
    for one in study.found:
        assert one.full.n_found == one.declared.n_found == 80
        # 80 players: half-widths are up to 10 % of the mean
        assert one.declared.mean - one.declared.half_width <= 1.5 * one.limit
        assert one.declared.mean <= 1.6 * one.limit
        assert one.full.mean <= 1.3 * one.priced
        assert one.named >= 0.9


def test_exposure_agrees_with_wald(small):
    # E[net at the alarm] = E[rounds] x E[net of a round]; SD of a round about 2 units
    for one in small.found:
        if one.start == 0:
            error = 3 * 2.5 * (one.full.mean / one.full.n) ** 0.5
            assert one.won_units == pytest.approx(one.units * one.full.mean, abs=error)


def test_the_report_has_every_section(small, tmp_path):
    files = write_study(small, tmp_path, make_provenance(small.config))
    text = files.markdown.read_text("utf-8")
    for title in ("Means of the factors", "False alarms", "Delays", "Exposure", "Floors"):
        assert f"## {title}" in text
    assert len(files.pictures) == 2
    assert {path.stem for path in files.tables} == {
        *("means", "false_alarms", "delays", "roc", "floors")
    }


def test_kept_pieces_are_not_played_again(tmp_path):
    words = {"attacks": (), "horizons": (), "n_floors": 0, "n_long": 0, "n_players": 1}
    config = DetectionConfig(**{**SMALL, **words, "n_rounds": 3})
    steps = []
    first = detection_study(config, keep=tmp_path, progress=lambda *step: steps.append(step))
    n = len(config.bettors())
    assert steps[0] == ("players judged", 0, n)
    steps.clear()
    again = detection_study(config, keep=tmp_path, progress=lambda *step: steps.append(step))
    assert steps == [("players judged", n, n)]
    assert again.honest == first.honest


def test_mistakes_are_told():
    with pytest.raises(ConfigError, match="nobody"):
        DetectionConfig(honest="nobody")
    with pytest.raises(ConfigError, match="horizons rise"):
        DetectionConfig(horizons=(20, 10))
    with pytest.raises(ConfigError, match="triple"):
        DetectionConfig(spreads=("triple=100",))
    with pytest.raises(ConfigError, match="attacks"):
        DetectionConfig(attacks=("telepathy",))


def test_what_is_shipped_plays_every_honest_kind():
    config = read_study("detection")
    names = [bettor_name(player) for player in config.bettors()]
    assert len(names) == len(set(names))
    systems = {player.parameters["system"].split(":")[0] for player in config.bettors()}
    from niulab.agents.systems.catalog import system_names

    assert set(system_names()) <= systems
    assert {"win-goal"} <= systems
    assert config.declares(HoleCarder(high="single=500")) == (5, ("single",))
    assert config.declares(HoleCarder(place=0, high="super=100")) == (0, ("super",))
    every = HoleCarder(high="single=500,double=500,super=500")
    assert config.declares(every) == (5, ("single", "double", "super"))
    assert config.declares(HoleCarder(high="single=100")) is None  # nothing is raised
    assert config.declares(LatePlayer(post_rate=1.0)) is None
    assert load_rules("single-double-super").name == config.rules.name


@pytest.mark.long
def test_the_promises_at_their_sizes():
    config = DetectionConfig(
        honest="honest",
        n_long=1,
        long_players=8_000,
        long_rounds=2_000,
        n_players=1_000,
        n_rounds=300,
        attack_players=400,
        starts=(0,),
        spreads=("super=100", "single=500", "single=500,double=500,super=500"),
        n_floors=1,
    )
    study = detection_study(config)
    for one in study.honest:
        for place, alpha in enumerate(config.alphas):
            assert one.interval(place)[0] <= alpha, one.name
    for one in study.found:
        if not isnan(one.limit):
            assert one.full.mean <= 1.3 * one.priced
            assert one.declared is None or one.declared.mean <= 1.5 * one.limit
        assert one.named >= 0.9
    assert study.fdr <= 0.05
    assert study.power >= 0.99
