"""The calibration study: small runs against laws, and what it must tell."""

from math import isnan, log

import pytest

from niulab.agents.advantage.config import (
    CardSwitcher,
    Colluders,
    HoleCarder,
    Steerer,
)
from niulab.engine.rules import load_rules
from niulab.errors import ConfigError
from niulab.evaluation.detection.calibration.config import DetectionConfig, bettor_name
from niulab.evaluation.detection.calibration.detection import detection_study
from niulab.evaluation.detection.calibration.outcomes import found_of, honest_of, roc_of
from niulab.evaluation.detection.calibration.pieces import (
    AttackPart,
    HonestPart,
    ScorePart,
    attack_part,
)
from niulab.evaluation.detection.calibration.watching import attack_named
from niulab.evaluation.studies import make_provenance, read_study, write_study

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
    "n_permutations": 2,
    "log_rounds": 40,
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
def small():
    return detection_study(DetectionConfig(**SMALL))


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


def test_who_is_not_found_counts_to_the_end():
    config = DetectionConfig(**SMALL)
    seer = HoleCarder(place=5, high="super=100", start=20)
    part = AttackPart(
        declared=[10, 0, -1],
        full=[20, 30, -1],
        won_cents=[100, 300, 9_999],
        named=["dealer's card seen", "own card seen", "dealer's card seen"],
    )
    one = found_of(config, "dealer's card", seer, part)
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


# ---------------------------------------------------------------- attacks of several seats


@pytest.mark.parametrize(
    ("player", "rounds", "most"),
    [
        (CardSwitcher(), 60, 1.8),
        (Steerer(high="super=100", bid=200), 150, 1.9),
        (Colluders(high="super=100"), 100, 1.7),
    ],
    ids=["switchers", "steerers", "colluders"],
)
def test_only_who_attacks_is_judged(player, rounds, most):
    config = DetectionConfig()
    floor = config.table(player, players=30, rounds=rounds, seed=2)
    part = attack_part(floor, player, alpha=1e-3)
    one = found_of(config, "any", player, part)
    assert len(part.full) == len(part.declared) == 30
    assert one.full.n_found == one.declared.n_found == 30
    assert one.limit < one.declared.mean <= most * one.limit
    assert one.declared.mean < one.full.mean <= 1.3 * one.priced
    assert set(part.named) == {attack_named(player)}


def test_what_switchers_win_is_theirs_alone():
    # the best exchange makes Super alone worth 7.85 (detection.md); partners lose
    config, player = DetectionConfig(), CardSwitcher()
    floor = config.table(player, players=60, rounds=60, seed=4)
    one = found_of(config, "any", player, attack_part(floor, player, alpha=1e-3))
    assert one.won_units / one.full.mean > 7


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
        "n_permutations": 0,
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
    titles = ("What must hold", "Means of the factors", "False alarms", "Permuted deals")
    for title in (*titles, "Delays", "Beyond the targets", "At fixed horizons", "Floors"):
        assert f"## {title}" in text
    assert len(files.pictures) == 2
    assert {path.stem for path in files.tables} == {
        *("means", "false_alarms", "permuted", "delays", "roc", "floors")
    }


def test_kept_pieces_are_not_played_again(tmp_path):
    words = {"attacks": (), "horizons": (), "n_floors": 0, "n_long": 0, "n_players": 1}
    config = DetectionConfig(**{**SMALL, **words, "n_rounds": 3, "n_permutations": 0})
    steps = []
    first = detection_study(config, keep=tmp_path, progress=lambda *step: steps.append(step))
    n = len(config.bettors())
    assert steps[0] == ("players judged", 0, n)
    steps.clear()
    again = detection_study(config, keep=tmp_path, progress=lambda *step: steps.append(step))
    assert steps == [("players judged", n, n)]
    assert again.honest == first.honest
    for path in sorted(tmp_path.iterdir())[::2]:  # as if it had been interrupted
        path.unlink()
    assert detection_study(config, keep=tmp_path).honest == first.honest


def test_more_players_are_played_beside_those_there_are(tmp_path, monkeypatch):
    from niulab.evaluation.detection.calibration import detection

    monkeypatch.setattr(detection, "_PIECE", 4)
    words = {"attacks": (), "horizons": (), "n_floors": 0, "n_rounds": 3, "n_permutations": 0}
    small = DetectionConfig(**{**SMALL, **words, "n_long": 0, "n_players": 4})
    large = DetectionConfig(**{**SMALL, **words, "n_long": 0, "n_players": 8})
    steps = []
    detection_study(small, keep=tmp_path)
    detection_study(large, keep=tmp_path, progress=lambda *step: steps.append(step))
    n = len(small.bettors())
    assert steps[0] == ("players judged", n, 2 * n)


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
    assert config.long_kinds() == len(names)  # all of them, 8,000 x 2,000
    assert (config.long_players, config.long_rounds) == (8_000, 2_000)
    assert load_rules("single-double-super").name == config.rules.name


@pytest.mark.long
def test_the_promises_at_their_sizes():
    config = DetectionConfig(
        honest="honest",
        n_long=1,
        n_players=1_000,
        n_rounds=300,
        attack_players=400,
        others=(),
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
