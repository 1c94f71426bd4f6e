"""Stop-loss and win-goal around other systems: where they leave, to the cent."""

import pytest
from strategies import PLAYABLE
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
        ("stop-loss:10:flat:2", 1001, 2),
        ("stop-loss:10:flat:2", 1000, LEAVE),
        ("stop-loss:10:flat:2", 995, LEAVE),
        ("stop-loss:2.5:flat", 1751, 1),
        ("stop-loss:2.5:flat", 1750, LEAVE),
        ("win-goal:5:flat", 2499, 1),
        ("win-goal:5:flat", 2500, LEAVE),
        ("win-goal:1/3:flat", 2033, 1),
        ("win-goal:1/3:flat", 2034, LEAVE),
        ("stop-loss:5:win-goal:5:percentage:10", 1500, LEAVE),
        ("stop-loss:5:win-goal:5:percentage:10", 1600, 1),
        ("stop-loss:5:win-goal:5:percentage:10", 2500, LEAVE),
        ("stop-loss:5:bold", 4000, LEAVE),
    ],
)
def test_the_line(text, bankroll, units):
    assert wanted_at(make_system(text), SITTING, 0, bankroll) == units


def test_the_memory_is_the_inner_one():
    inner, outer = make_system("martingale:max=8"), make_system("win-goal:5:martingale:max=8")
    assert outer.automaton.next.tolist() == inner.automaton.next.tolist()
    assert [wanted_at(outer, SITTING, m, 2000) for m in range(4)] == [1, 2, 4, 8]
    assert not outer.redraws
    assert make_system("win-goal:5:random").redraws


@pytest.mark.parametrize("text", ["stop-loss:0:flat", "win-goal:-1:flat"])
def test_a_line_at_the_start(text):
    with pytest.raises(ConfigError, match="a line lies some base units from the start"):
        make_system(text)
