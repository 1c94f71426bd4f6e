"""Stakes that follow from the bankroll: their figures at written-out bankrolls."""

import pytest
from strategies import PLAYABLE, overlay
from systems import wanted_at

from niulab.agents.systems.catalog import make_system
from niulab.agents.systems.sitting import Sitting
from niulab.agents.systems.system import LEAVE
from niulab.errors import ConfigError

RULES = PLAYABLE["single-double-super"]
SITTING = Sitting.at(RULES, start_cents=2000, target_cents=4000)


@pytest.mark.parametrize(
    ("text", "bankroll", "units"),
    [
        ("percentage:5", 2000, 1),
        ("percentage:5", 3999, 1),
        ("percentage:5", 4000, 2),
        ("percentage:5", 1999, 0),  # less than a base slip: the least slip
        ("percentage:2.5", 12_000, 3),
        ("percentage:1/3", 90_000, 3),
        ("percentage:100", 1995, 19),
    ],
)
def test_a_share_of_the_bankroll(text, bankroll, units):
    assert wanted_at(make_system(text), SITTING, 0, bankroll) == units


def test_a_share_counts_all_boxes():
    sitting = Sitting.at(RULES, "single=100,super=40", start_cents=2000)
    assert wanted_at(make_system("percentage:10"), sitting, 0, 2800) == 2
    assert wanted_at(make_system("percentage:10"), sitting, 0, 2799) == 1


@pytest.mark.parametrize(
    ("bankroll", "units"),
    [
        (2000, 22),  # ceil(20 / .95): more than it has, which the table cuts
        (2100, 20),  # 19 x 95 = 1805 misses 1900, 20 x 95 reaches it
        (3905, 1),
        (3904, 2),
        (4000, LEAVE),
        (4100, LEAVE),
    ],
)
def test_bold_play_asks_for_what_reaches_the_target_after_commission(bankroll, units):
    # Dubins and Savage (1965); 95 is what one unit of Single wins
    assert wanted_at(make_system("bold"), SITTING, 0, bankroll) == units


def test_timid_play_asks_for_one_unit():
    assert wanted_at(make_system("timid"), SITTING, 0, 3999) == 1
    assert wanted_at(make_system("timid"), SITTING, 0, 4000) == LEAVE


def test_kelly_and_its_fractions():
    rules = overlay(
        "single-double-super", "[boxes.single]\nwin_odds = {default = 2}\nlose_odds = {default = 1}"
    )
    sitting = Sitting.at(rules, start_cents=2000)
    lost, won = sitting.law.nets
    q, p = (float(share) for share in sitting.law.probabilities)
    assert (lost, won) == (-100, 190)
    for bankroll in (500, 2000, 123_455):
        for text, fraction in (("kelly", 1), ("kelly:0.5", 0.5), ("kelly:1/4", 0.25)):
            exact = fraction * (p - q / 1.9) * bankroll / 100
            assert wanted_at(make_system(text), sitting, 0, bankroll) == int(exact)


@pytest.mark.parametrize("bankroll", [100, 2000, 10_000_000])
def test_kelly_without_an_edge_wants_the_least_slip(bankroll):
    system = make_system("kelly")
    assert wanted_at(system, SITTING, 0, bankroll) == 0
    assert "Without an edge the Kelly stake is zero" in system.fallback


@pytest.mark.parametrize(
    ("text", "missing", "remedy"),
    [
        ("bold", "target_cents", "target_cents"),
        ("timid", "target_cents", "target_cents"),
        ("percentage", "start_cents", "bankroll_cents"),
        ("kelly", "start_cents", "bankroll_cents"),
        ("stop-loss:10:martingale", "start_cents", "bankroll_cents"),
        ("win-goal:10:bold", "target_cents", "target_cents"),
    ],
)
def test_what_a_system_must_know(text, missing, remedy):
    words = {"start_cents": 2000, "target_cents": 4000} | {missing: None}
    with pytest.raises(ConfigError, match=f"here is no {missing}: give the task {remedy}"):
        make_system(text).verify(Sitting.at(RULES, **words))


@pytest.mark.parametrize("text", ["percentage:0", "percentage:101", "kelly:0", "kelly:3"])
def test_shares_out_of_range(text):
    with pytest.raises(ConfigError, match="lies above 0 and up to"):
        make_system(text)
