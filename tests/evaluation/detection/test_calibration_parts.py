"""Parts of the calibration that have a second road: z-scores, who plays, and what is exact."""

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
from niulab.evaluation.detection.calibration.alone import alone_blocks
from niulab.evaluation.detection.calibration.config import DetectionConfig
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
from niulab.evaluation.detection.calibration.watching import (
    attack_named,
    boxes_raised,
    declared_for,
    full_for,
)
from niulab.evaluation.detection.calibration.z_scores import RunningZ, box_moments
from niulab.evaluation.detection.fold import PlayerStates, fold
from niulab.evaluation.detection.portfolio import declared_portfolio
from niulab.evaluation.detection.watch import watch_portfolio
from niulab.evaluation.logged.columns import simulate_blocks
from niulab.evaluation.logged.honest import Bettor
from niulab.evaluation.logged.seating import seat_players
from niulab.seeding import generator
from niulab.solvers.sessions.net_law import net_law


@pytest.fixture(scope="module")
def watch(sheet):
    return watch_portfolio([sheet], seats=False)


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
    scores = RunningZ(sheet, 3, first=5)
    for piece in (plays.take(plays.time < 11), plays.take(plays.time >= 11)):
        scores.see(piece)
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
        assert scores.now[player] == pytest.approx(total / variance**0.5, rel=1e-12)
        assert scores.largest[player] == pytest.approx(largest, rel=1e-12)


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
