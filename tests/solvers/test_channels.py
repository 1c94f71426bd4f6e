"""Channels: what they show, how it is drawn, and what it is worth by a second road."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from strategies import overlay

from niulab.engine.rules import load_rules
from niulab.engine.wagers import Slip
from niulab.errors import ConfigError
from niulab.solvers.channels import NOTHING, Channel, Signals, signal_values
from niulab.solvers.information import law_given_card
from niulab.solvers.joint_law import joint_law

RULES = load_rules()
SLIPS = tuple(Slip.parse(text) for text in ("single=100", "single=500,super=200"))
CLASSES = ("A 2 3 4 5", "10 J Q K")


def test_values_are_a_partition_of_the_shoe():
    no_tens = overlay(
        "single-double-super", '[deck]\nremoved_ranks = ["10"]\n[table]\nmax_seats = 8\n'
    )
    for shows, n in (("rank", 13), ("card", 52), ("color", 2), ("suit", 4), (CLASSES, 3)):
        values = Channel(shows=shows).values(RULES)
        assert len(values) == n
        assert sorted(card for ids in values.values() for card in ids) == list(range(52))
    assert list(Channel(shows=CLASSES).values(RULES)) == [*CLASSES, "any other"]
    assert "10" not in Channel().values(no_tens)
    assert len(Channel(shows="card").values(no_tens)) == 48


@pytest.mark.parametrize(
    ("given", "part"),
    [
        ({"position": "left"}, "position is 'own' or 'dealer', got 'left'"),
        ({"shows": "ranks"}, "did you mean 'rank'"),
        ({"shows": 7}, "a list of classes as 'J Q K', got 7"),
        ({"shows": []}, "a list of classes"),
        ({"see_rate": 0}, "see_rate is a number above 0, at most 1, got 0"),
        ({"see_rate": True}, "got True"),
        ({"noise": float("nan")}, "noise is a number from 0 to 1, got nan"),
        ({"noise": 1.1}, "got 1.1"),
        ({"nois": 0.1}, "unknown key 'nois'; did you mean 'noise'?"),
    ],
)
def test_mistakes_are_refused_with_the_remedy(given, part):
    with pytest.raises(ConfigError) as caught:
        Channel.of(given)
    assert part in str(caught.value)


def test_every_mistake_of_a_channel_is_listed():
    with pytest.raises(ConfigError) as caught:
        Channel.of({"nois": 1, "noise": 2, "see_rate": -1})
    assert str(caught.value).count(";") == 3  # one of them asks whether noise was meant


@pytest.mark.parametrize(
    ("classes", "part"),
    [(("A 2", "2 3"), "shares cards"), (("purple",), "purple"), (("A", "AD"), "shares cards")],
)
def test_classes_that_overlap_or_name_nothing_are_refused(classes, part):
    with pytest.raises(ConfigError, match=part):
        Channel(shows=classes).values(RULES)


def test_a_channel_survives_json():
    channel = Channel(position="dealer", shows=CLASSES, see_rate=0.5, noise=0.25)
    assert Channel.of(channel.to_json()) == channel
    assert Channel.of({}) == Channel()


@pytest.mark.parametrize("words", [{}, {"see_rate": 0.3}, {"noise": 0.4}, {"noise": 1}])
@pytest.mark.parametrize("shows", ["rank", "card", CLASSES])
def test_rows_draw_what_each_of_them_draws_alone(words, shows):
    signals = Signals(RULES, Channel(shows=shows, **words))
    rng = np.random.default_rng(0)
    seeds = rng.integers(0, 1 << 64, 500, dtype=np.uint64)
    rounds, cards = rng.integers(0, 99, 500), rng.integers(0, 52, 500).astype(np.uint8)
    rows = signals.draw_rows(seeds, rounds, cards).tolist()
    alone = zip(seeds.tolist(), rounds.tolist(), cards.tolist(), strict=True)
    assert rows == [signals.draw(*row) for row in alone]


def test_draws_come_as_often_as_the_channel_says():
    n = 200_000
    signals = Signals(RULES, Channel(see_rate=0.7, noise=0.25))
    cards = np.full(n, 48, dtype=np.uint8)  # a king
    seen = signals.draw_rows(np.full(n, 5, dtype=np.uint64), np.arange(n), cards)
    counts = np.bincount(seen, minlength=14)
    other = 0.7 * 0.25 / 13
    expected = np.array([other] * 12 + [0.7 * 0.75 + other, 0.3])
    error = np.sqrt(n * expected * (1 - expected))
    assert (np.abs(counts - n * expected) < 4 * error).all()


def mixed(weights, laws, slip):
    """Mean net in cents of a slip over a mixture of laws, cell by cell."""
    cells = Counter()
    for weight, law in zip(weights, laws, strict=True):
        for cell, n in law.cells.items():
            cells[cell] += weight * Fraction(n, law.n_deals)
    assert sum(cells.values()) == 1
    return sum(p * cell.settle(RULES, slip).net_cents for cell, p in cells.items())


@pytest.mark.parametrize("position", ["own", "dealer"])
def test_signals_are_worth_the_mixture_of_what_they_may_stand_for(position):
    channel = Channel(position=position, shows=CLASSES, see_rate=0.5, noise=0.3)
    found = signal_values(RULES, channel, SLIPS)
    values = channel.values(RULES)
    laws = [law_given_card(RULES, ids, position) for ids in values.values()]
    prior = [Fraction(len(ids), 52) for ids in values.values()]
    for signal in range(len(values)):
        right = [Fraction(7, 10) * (place == signal) for place in range(3)]
        joint = [p * (r + Fraction(1, 10)) for p, r in zip(prior, right, strict=True)]
        assert found.chances[signal] == sum(joint) / 2
        posterior = [share / sum(joint) for share in joint]
        expected = tuple(mixed(posterior, laws, slip) for slip in SLIPS)
        assert found.nets_cents[signal] == expected
    blind = tuple(mixed([1], [joint_law(RULES)], slip) for slip in SLIPS)
    assert found.names[-1] == NOTHING
    assert (found.chances[-1], found.nets_cents[-1]) == (Fraction(1, 2), blind)
    assert found.blind_cents == blind


@pytest.mark.parametrize(
    "rules", ["single-double-super", pytest.param("six-deck-shoe-bonus", marks=pytest.mark.long)]
)
def test_means_over_the_signals_are_those_without_a_look(rules):
    rules = load_rules(rules)
    box = rules.required_box
    slips = (Slip.parse(f"{box}=1000"),)
    found = signal_values(rules, Channel(shows="color", noise=0.1, see_rate=0.9), slips)
    assert sum(found.chances) == 1
    pairs = zip(found.chances, found.nets_cents, strict=True)
    assert sum(chance * nets[0] for chance, nets in pairs) == found.blind_cents[0]
    assert found.optimum_cents == found.blind_cents[0]


def test_pure_noise_is_worth_nothing():
    found = signal_values(RULES, Channel(shows="color", noise=1), SLIPS)
    assert set(found.nets_cents) == {found.blind_cents}
    assert found.optimum_cents == max(found.blind_cents)
