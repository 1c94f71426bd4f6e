"""The limit of samples of a look: its laws beside exact values, its parts put together by hand."""

from math import inf

import pytest

from niulab.envs.settings import make_settings
from niulab.errors import ConfigError
from niulab.evaluation.curves import Curve
from niulab.evaluation.edges.peek import peek_bounds, peek_values
from niulab.evaluation.edges.samples import (
    SampleLimit,
    sample_limits,
    samples_over_limit,
    why_no_sample_limit,
)
from niulab.evaluation.statistics.best_arm import Arm, best_arm, confidence_cost
from niulab.solvers.information import law_given_card
from niulab.solvers.sessions.net_law import net_law

PEEK = "niulab/Peek-v0"


@pytest.fixture(scope="module")
def peek():
    channel = {"shows": ["10 J Q K"], "see_rate": 0.6, "noise": 0.2}
    return make_settings(PEEK, channel=channel)


@pytest.fixture(scope="module")
def limits(peek):
    return sample_limits(peek, (0.9, 1.0), delta=0.1)


def test_signals_and_slips_are_those_of_the_exact_values(peek, limits):
    values = peek_values(peek)
    exact = limits[-1]
    assert [one.signal for one in exact.signals] == list(values.names)
    assert [one.chance for one in exact.signals] == [float(chance) for chance in values.chances]
    assert [one.named for one in exact.signals] == [str(peek.menu[place]) for place in values.best]
    bounds = peek_bounds(peek)
    assert exact.tolerance == 0
    assert limits[0].tolerance == pytest.approx(0.1 * float(bounds.optimum - bounds.random))


def test_the_limit_is_that_of_the_signal_that_needs_most(peek):
    """Without noise: laws of the menu given a card of the class, rounds until enough of them."""
    settings = make_settings(PEEK, channel={"shows": "color"})
    (limit,) = sample_limits(settings, (1.0,))
    for one, cards, chance in zip(limit.signals, ("red", "black"), (0.5, 0.5), strict=True):
        law = law_given_card(settings.rules, cards)
        nets = [net_law(settings.rules, slip, law) for slip in settings.menu]
        time = best_arm([Arm(net.nets, net.probabilities) for net in nets]).time
        assert one.chance == pytest.approx(chance)
        assert one.samples == pytest.approx(confidence_cost(0.05) * time / chance)
    assert limit.samples == max(one.samples for one in limit.signals)


def test_a_lower_score_needs_fewer_rounds_and_surer_knowledge_more(peek, limits):
    assert limits[0].samples < limits[1].samples
    ratio = confidence_cost(0.01) / confidence_cost(0.1)
    (surer,) = sample_limits(peek, (1.0,), delta=0.01)
    assert surer.samples == pytest.approx(ratio * limits[1].samples)


def test_runs_are_held_against_the_limit_where_they_first_show_the_score(limits):
    limit = limits[0]

    def curve(*scores):
        steps = tuple(1000 * (place + 1) for place in range(len(scores)))
        return Curve("run", steps, tuple({"normalized_score": score} for score in scores))

    runs = [curve(0.2, 0.95, 0.97), curve(0.91, 0.4, 0.95), curve(0.1, 0.2, 0.3)]
    found = samples_over_limit(runs, limit)
    assert (found.median, found.n_reached, found.n_runs) == (2000, 2, 3)
    assert found.ratio == 2000 / limit.samples
    assert samples_over_limit(runs[2:], limit).ratio == inf


def test_a_limit_survives_json(limits):
    for limit in limits:
        assert SampleLimit.from_dict(limit.to_dict()) == limit


@pytest.mark.parametrize(
    ("task", "keywords", "part"),
    [
        ("niulab/Arrange-v0", {}, "no channel"),
        (PEEK, {"reward": "expected"}, "no luck to average out"),
        (PEEK, {"n_rounds": 3}, "a single round"),
    ],
)
def test_tasks_without_a_limit_say_why(task, keywords, part):
    settings = make_settings(task, **keywords)
    assert part in why_no_sample_limit(settings)
    with pytest.raises(ConfigError, match=part):
        sample_limits(settings)
