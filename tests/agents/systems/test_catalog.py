"""Systems by name: what a text means, and what a wrong one is told."""

import pickle
from fractions import Fraction

import pytest

from niulab.agents.systems.catalog import SYSTEMS, WRAPPERS, make_system, system_names
from niulab.agents.systems.system import AFFORDS_LESS
from niulab.errors import ConfigError

WRAPPED = "stop-loss:10:win-goal:20:martingale:max=8"


def test_every_system_of_the_list_is_there():
    assert set(system_names()) == {
        "flat", "martingale", "grand-martingale", "paroli", "dalembert", "contra-dalembert",
        "fibonacci", "labouchere", "reverse-labouchere", "oscar", "1-3-2-6", "percentage", "kelly",
        "bold", "timid", "random", "human",
    }  # fmt: skip
    assert set(WRAPPERS) == {"stop-loss", "win-goal"}


@pytest.mark.parametrize("name", [*SYSTEMS, WRAPPED])
def test_a_system_says_what_it_is(name):
    system = make_system(name)
    assert system.name == name
    assert system.summary
    assert system.fallback.endswith(AFFORDS_LESS)


@pytest.mark.parametrize("name", [*SYSTEMS, WRAPPED])
def test_the_name_without_text_is_the_default(name):
    if name in SYSTEMS:
        assert SYSTEMS[name]().name == name
        assert SYSTEMS[name]().summary == make_system(name).summary


@pytest.mark.parametrize("name", [*SYSTEMS, WRAPPED])
def test_a_system_is_pickled(name):
    system = make_system(name)
    again = pickle.loads(pickle.dumps(system))  # noqa: S301 - our own bytes
    assert again.name == name
    assert again.automaton.next.tolist() == system.automaton.next.tolist()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("martingale:8", "martingale:max=8"),
        (" martingale:max=8 ", "martingale:8"),
        ("labouchere:1-2-3", "labouchere"),
        ("labouchere:2-2,length=4,max=9", "labouchere:max=9,line=2-2,length=4"),
        ("anti-martingale", "paroli"),
        ("d'alembert:max=4", "dalembert:4"),
        ("oscars-grind", "oscar"),
    ],
)
def test_texts_that_mean_the_same(one, other):
    first, second = make_system(one), make_system(other)
    assert first.automaton.states == second.automaton.states
    assert first.fallback == second.fallback


def test_parameters_are_read_exactly():
    assert make_system("percentage:2.5").share == Fraction(1, 40)
    assert make_system("kelly:1/3").fraction == Fraction(1, 3)
    assert make_system("stop-loss:0.1:flat").amount == Fraction(1, 10)
    assert make_system("flat:7").automaton.units.tolist() == [7]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("martingal", "no betting system 'martingal'; did you mean 'martingale'?"),
        ("stoploss:10:flat", "no betting system 'stoploss'; did you mean 'stop-loss'?"),
        ("", "no betting system ''; known: "),
        ("martingale:min=3", "'martingale' takes max=64; got 'min=3'"),
        ("labouchere:width=3", "takes line=1-2-3, max=20, length=10; got 'width=3'"),
        ("bold:3", "'bold' takes nothing; got '3'"),
        ("oscar:5,6", "'oscar' takes max=20, loss=100; got '6'"),
        ("martingale:8,max=9", "'martingale' got max twice"),
        ("martingale:max=eight", "max of martingale takes whole numbers, got 'eight'"),
        ("labouchere:1-x", "line of labouchere takes whole numbers, got 'x'"),
        ("percentage:many", "percent of percentage takes a number, got 'many'"),
        ("kelly:1/0", "fraction of kelly takes a number, got '1/0'"),
        ("percentage:1e999999999", "percent of percentage takes a number, got '1e999999999'"),
        ("stop-loss:1e400:flat", "the line of stop-loss takes a number, got '1e400'"),
        ("stop-loss:10", "'stop-loss:10' wraps no system: write stop-loss:10:martingale"),
        ("stop-loss:ten:flat", "the line of stop-loss takes a number, got 'ten'"),
        ("win-goal:10:nothing", "no betting system 'nothing'"),
    ],
)
def test_texts_that_mean_nothing(text, message):
    with pytest.raises(ConfigError) as error:
        make_system(text)
    assert message in str(error.value)
