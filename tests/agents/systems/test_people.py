"""Bettors that know nothing: the streak chaser's stakes, and the one who draws them."""

import pytest
from systems import followed, stakes

from niulab.agents.systems.catalog import make_system
from niulab.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "results", "expected"),
    [
        ("human", "WWWWL", [1, 1, 2, 3, 4, 1]),
        ("human", "LLLLW", [1, 1, 2, 4, 8, 1]),
        ("human", "LLLLLL0LW", [1, 1, 2, 4, 8, 8, 8, 8, 8, 1]),
        ("human:max=3", "LLLLWWWWWL", [1, 1, 2, 3, 3, 1, 2, 3, 3, 3, 1]),
        ("human:max=1", "LLWW", [1, 1, 1, 1, 1]),
    ],
)
def test_the_human_chases_streaks(text, results, expected):
    assert stakes(make_system(text), results) == expected


def test_the_human_s_memory_is_the_streak():
    system = make_system("human")
    states = [system.automaton.states[memory] for memory in followed(system, "LLWW0WL")]
    assert states == [0, -1, -2, 1, 2, 2, 3, -1]
    assert sorted(system.automaton.states) == [*range(-4, 9)]


def test_random_has_a_memory_for_each_stake():
    system = make_system("random:max=5")
    assert system.redraws
    assert system.automaton.units.tolist() == [1, 2, 3, 4, 5]
    assert system.automaton.within(1).units.tolist() == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("text", ["human:max=0", "random:max=1001"])
def test_caps_out_of_range(text):
    with pytest.raises(ConfigError, match="max is a whole number from 1 to 1000"):
        make_system(text)
