"""The calibration study: small runs against laws, second roads and what it must tell."""

from math import isnan, log

import numpy as np
import pytest
from card_players import honest

from niulab.agents.advantage.config import (
    CardSwitcher,
    Colluders,
    HoldOut,
    HoleCarder,
    LatePlayer,
    Steerer,
)
from niulab.agents.advantage.switching import strengths
from niulab.engine.cards import N_CARDS
from niulab.engine.rules import load_rules
from niulab.engine.wagers import Slip
from niulab.errors import ConfigError
from niulab.evaluation.detection.calibration.alone import alone_blocks
from niulab.evaluation.detection.calibration.config import DetectionConfig, bettor_name
from niulab.evaluation.detection.calibration.detection import detection_study
from niulab.evaluation.detection.calibration.exact import (
    best_rounds,
    component_weight,
    information_of,
    mean_errors,
    portfolio_digest,
    split_information,
    start_weight,
    units_a_round,
)
from niulab.evaluation.detection.calibration.luck import Luck, box_moments
from niulab.evaluation.detection.calibration.outcomes import found_of, honest_of, roc_of
from niulab.evaluation.detection.calibration.pieces import (
    AttackPart,
    HonestPart,
    ScorePart,
    attack_part,
)
from niulab.evaluation.detection.calibration.watching import (
    attack_named,
    boxes_raised,
    declared_for,
    full_for,
)
from niulab.evaluation.detection.fold import PlayerStates, fold
from niulab.evaluation.detection.portfolio import declared_portfolio
from niulab.evaluation.detection.watch import watch_portfolio
from niulab.evaluation.logged.columns import simulate_blocks
from niulab.evaluation.logged.honest import Bettor
from niulab.evaluation.logged.seating import seat_players
from niulab.evaluation.studies import make_provenance, read_study, write_study
from niulab.seeding import generator
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


# ---------------------------------------------------------------- who plays


@pytest.mark.parametrize(
    "player",
    [
        Bettor(system="martingale", side="super=100", side_rate=0.5),
        Bettor(system="bold", session=20),
        HoleCarder(high="super=100"),
    ],
    ids=["martingale", "bold", "seer"],
)
def test_players_alone_are_those_of_the_log(player, watch):
    # ``bold`` leaves and comes back; the compact rows are the log's rows
    floor = DetectionConfig().table(player, players=20, rounds=45, seed=3)
    logged = [*simulate_blocks(floor, pairs=False, rounds_named=False, block_rounds=16)]
    alone = [*alone_blocks(floor, 16)]
    states = [PlayerStates.fresh(20, watch)] * 2
    for one, other in zip(logged, alone, strict=True):
        assert len(one) == len(other)
        for name in ("player", "rules", "stakes", "nets", "late", "cards", "dealer_cards", "flags"):
            assert (getattr(one, name) == getattr(other, name)).all(), name
        states = [fold(watch, *pair).states for pair in zip(states, (one, other), strict=True)]
    assert states[0].values.tobytes() == states[1].values.tobytes()
    assert states[0].peaks.tobytes() == states[1].peaks.tobytes()


def test_every_steerer_has_a_table_and_company():
    floor = DetectionConfig().table(Steerer(), players=7, rounds=1, seed=0)
    seating = seat_players(floor)
    assert seating.n_tables == 7
    kinds = [label.kind for label in seating.labels]
    assert kinds == ["bettor", "bettor", "steerer"] * 7
    assert (seating.seats.tables == np.repeat(np.arange(7), 3)).all()


def test_who_watches_whom(sheet):
    even = load_rules("even-double-super-bonus")
    names = {
        Steerer(): (even, "order steered"),
        CardSwitcher(): (sheet, "cards switched"),
        HoldOut(): (sheet, "cards switched"),
        LatePlayer(post_rate=1.0): (sheet, "stakes after the close"),
        Colluders(): (sheet, "collusion"),
        HoleCarder(high="super=100"): (sheet, "dealer's card seen"),
    }
    for player, (rules, name) in names.items():
        assert attack_named(player) == name
        declared = declared_for(rules, player)
        assert name in full_for(rules, player).attacks
        assert declared.attacks == (name,)
    assert boxes_raised(sheet, HoleCarder(high="single=500,super=100")) == ("single", "super")
    assert declared_for(sheet, HoleCarder(high="single=100")) is None  # nothing is raised
    boxes = ("single=500", "super=100", "single=500,double=500,super=500")
    digests = {
        portfolio_digest(declared_for(sheet, HoleCarder(place=place, high=high)))
        for place in (0, 5)
        for high in boxes
    }
    assert len(digests) == 6


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


def test_a_bid_tells_whether_the_card_is_favorable():
    # Super is worth a bid on 10, J, Q and K: the entropy of 4 ranks of 13
    even, p = load_rules("even-double-super-bonus"), 4 / 13
    entropy = -p * log(p) - (1 - p) * log(1 - p)
    steerer = Steerer(high="super=100", bid=200)
    assert information_of(even, steerer) == pytest.approx(entropy, rel=1e-12)
    # Even alone, at fifty times the stake, is not worth one on a 10
    p = 3 / 13
    entropy = -p * log(p) - (1 - p) * log(1 - p)
    assert information_of(even, Steerer(high="even=100")) == pytest.approx(entropy, rel=1e-12)


def test_colluders_stake_as_one(sheet):
    alone = HoleCarder(place=5, high="super=100")
    team = Colluders(place=5, high="super=100", stakers=3)
    assert information_of(sheet, team) == information_of(sheet, alone)
    assert isnan(information_of(sheet, Colluders(high="super=100", cover_bet=0.1)))
    # three who stake on it, and a peeker on the Single at an edge of 1/40
    won = 3 * units_a_round(sheet, alone) - 1 / 40
    assert units_a_round(sheet, team) == pytest.approx(won, rel=1e-12)


def test_information_of_a_split_by_slow_enumeration(sheet):
    from itertools import combinations

    n_tens = 2
    rng, totals = generator(0, "detection/switched tens"), {0.3: 0.0, 1.0: 0.0}
    for _ in range(n_tens):
        ten = rng.permutation(N_CARDS)[:10].tolist()
        counts = dict.fromkeys(map(frozenset, combinations(ten, 5)), 0)
        for own in combinations(ten, 5):
            ways = [set(own)]
            other = [card for card in ten if card not in own]
            ways += [{*own} - {mine} | {theirs} for mine in own for theirs in other]
            worths = strengths(sheet, np.array([sorted(way) for way in ways], dtype=np.uint8))
            counts[frozenset(ways[int(worths.argmax())])] += 1
        for rate in totals:
            for n in counts.values():
                ratio = 1 - rate + rate * n
                totals[rate] += ratio * log(ratio) / 252 if ratio else 0.0
    for rate, total in totals.items():
        found = split_information(sheet, rate, n_tens=n_tens)
        assert found == pytest.approx(total / n_tens, rel=1e-12)
    assert split_information(sheet, 0.0, n_tens=1) == 0.0


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
