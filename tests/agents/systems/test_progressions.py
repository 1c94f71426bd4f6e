"""Each progression's stakes on written-out sequences, with the source they come from."""

import numpy as np
import pytest
from systems import followed, stakes

from niulab.agents.systems.catalog import make_system
from niulab.agents.systems.progressions import labouchere, oscar
from niulab.errors import ConfigError

SEQUENCES = {
    # roulettestar.com/systems/oscar, its three examples
    "oscar one": ("oscar", "LLLLLWWW", [1, 1, 1, 1, 1, 1, 2, 3]),
    "oscar two": ("oscar", "LWLWW", [1, 1, 1, 1, 1]),
    "oscar three": ("oscar", "LLWLWLLWWLLWW", [1, 1, 1, 2, 2, 2, 2, 2, 3, 1, 1, 1, 2]),
    # baccaratonlinegame.com, "Classic betting strategies: Oscar's Grind": craps at Caesar's
    "oscar four": (
        "oscar",
        "WLLWLLLLWWLLWW",
        [1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 4, 4, 4, 5],
    ),
    # sportsbookreview.com, "Here is every betting system known to man"
    "dalembert": ("dalembert", "LLLWLWWLWWW", [1, 2, 3, 4, 3, 4, 3, 2, 3, 2, 1]),
    "contra": ("contra-dalembert", "WWWLWLLWLLL", [1, 2, 3, 4, 3, 4, 3, 2, 3, 2, 1]),
    # allforcasino.com, "Fibonacci system": four lost, then two won cancel all
    "fibonacci": ("fibonacci", "LLLLWWL", [1, 1, 2, 3, 5, 2, 1]),
    # gsimulator.net, "Fibonacci (Whittacker)": from the second place back to the first
    "fibonacci at its start": ("fibonacci", "WLWLLWL", [1, 1, 1, 1, 1, 2, 1]),
    # boomdang.co.uk, "Cancellation roulette strategy"
    "labouchere": (
        "labouchere:1-2-3-4-5-4-3-2-1,max=20,length=12",
        "WLWWLW",
        [2, 4, 6, 5, 7, 11],
    ),
    # Leigh's line as worked through at 10proulette.com and at roulette-bet.com
    "reverse one": (
        "reverse-labouchere:1-2-3-4,max=20",
        "LLWLLWWWWWW",
        [5, 5, 5, 6, 6, 3, 6, 9, 12, 15, 18],
    ),
    "reverse two": ("reverse-labouchere:1-2-3-4", "WLWWLLWL", [5, 6, 6, 8, 10, 9, 4, 8]),
    # roulettewinstrategy.com, "Martingale"
    "martingale": ("martingale", "LLLWLW", [1, 2, 4, 8, 1, 2]),
    # cyberspacecasinos.com: "double and add one"; 20, 60, 140 from a base of 20
    "grand martingale": ("grand-martingale", "LLLLWL", [1, 3, 7, 15, 31, 1]),
    # thesleepydragon.com, "The Paroli System": begins again after three wins in a row
    "paroli": ("paroli", "WWWWLWL", [1, 2, 4, 1, 2, 1, 2]),
    # stackofchips.com, "Betting strategies": 10, 30, 20, 60, then down to 10
    "1-3-2-6": ("1-3-2-6", "WWWWWLWWL", [1, 3, 2, 6, 1, 3, 1, 3, 2]),
    "flat": ("flat:3", "WL0W", [3, 3, 3, 3]),
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_stakes_are_those_of_the_source(name):
    text, results, expected = SEQUENCES[name]
    assert stakes(make_system(text), results)[:-1] == expected


CAPS = {
    "martingale restarts": ("martingale:max=8", "LLLLL", [1, 2, 4, 8, 1, 2]),
    "a cap between two stakes": ("martingale:max=7", "LLL", [1, 2, 4, 1]),
    "grand martingale restarts": ("grand-martingale:max=7", "LLLL", [1, 3, 7, 1, 3]),
    "dalembert stays": ("dalembert:max=3", "LLLLW", [1, 2, 3, 3, 3, 2]),
    "contra stays": ("contra-dalembert:max=2", "WWWLLL", [1, 2, 2, 2, 1, 1, 1]),
    "fibonacci restarts": ("fibonacci:max=4", "LLLLL", [1, 1, 2, 3, 1, 1]),
    "paroli of one win": ("paroli:wins=1", "WWL", [1, 1, 1, 1]),
    # 1-2 stakes 3: 1-2-3 stakes 4: 1-2-3-4 would stake 5
    "labouchere restarts at its stake": ("labouchere:1-2,max=4", "LLL", [3, 4, 3, 4]),
    # 1-1-2-3 is full
    "labouchere restarts at its length": ("labouchere:1-1,length=4", "LLLL", [2, 3, 4, 2, 3]),
    "reverse restarts": ("reverse-labouchere:1-2,max=4", "WWW", [3, 4, 3, 4]),
    # one number left is staked alone
    "a single number": ("labouchere:1-2-3", "WWL", [4, 2, 4, 5]),
    "oscar stays": ("oscar:max=2", "LLLLLLWWW", [1, 1, 1, 1, 1, 1, 1, 2, 2, 2]),
    # 2 behind is allowed, 3 are not
    "oscar gives up": ("oscar:loss=2", "LLLL", [1, 1, 1, 1, 1]),
}


@pytest.mark.parametrize("name", CAPS)
def test_caps_and_what_follows_them(name):
    text, results, expected = CAPS[name]
    system = make_system(text)
    assert stakes(system, results) == expected


def test_oscar_gives_a_sequence_up():
    system = make_system("oscar:loss=2")
    states = [system.automaton.states[memory] for memory in followed(system, "LLL")]
    assert states == [(0, 1), (1, 1), (2, 1), (0, 1)]


@pytest.mark.parametrize(
    "text", ["martingale", "fibonacci", "labouchere", "oscar", "1-3-2-6", "paroli", "dalembert"]
)
def test_a_round_of_net_zero_leaves_the_memory(text):
    memory = make_system(text).automaton
    assert memory.next[:, 1].tolist() == list(range(len(memory)))


SIZES = {
    "martingale": 7,
    "grand-martingale": 6,
    "fibonacci": 10,
    "dalembert": 20,
    "labouchere": 381,
    "reverse-labouchere": 381,
    "oscar": 1830,
}


@pytest.mark.parametrize("text", SIZES)
def test_the_memories_are_counted(text):
    assert len(make_system(text).automaton) == SIZES[text]


@pytest.mark.parametrize("text", ["labouchere", "reverse-labouchere"])
def test_lines_written_on_paper(text):
    """A pencil, a sheet and 400 rounds: the second road beside the automaton."""
    rng, system = np.random.default_rng(4), make_system(text + ":2-1-1-3,max=30,length=9")
    results = rng.choice(["L", "W"], size=400)
    line, expected = [2, 1, 1, 3], []
    for result in results:
        stake = line[0] + line[-1] if len(line) > 1 else line[0]
        expected.append(stake)
        is_crossed = (result == "W") == (text == "labouchere")
        line = line[1:-1] if is_crossed else [*line, stake]
        last = line[0] + line[-1] if len(line) > 1 else sum(line)
        if not line or last > 30 or len(line) > 9:
            line = [2, 1, 1, 3]
    assert stakes(system, results)[:-1] == expected


def test_a_crossed_out_line_has_won_its_sum():
    system = labouchere()
    results = "LLWLWW"  # 3 numbers written, 3 pairs crossed
    wanted = stakes(system, results)[:-1]
    won = sum(s if r == "W" else -s for s, r in zip(wanted, results, strict=True))
    memories = followed(system, results)
    assert won == 1 + 2 + 3
    assert memories[-1] == 0
    assert 0 not in memories[1:-1]


def test_oscar_s_ledger():
    """Every sequence that is not given up ends one unit ahead, nominally."""
    rng, system = np.random.default_rng(5), oscar(max_=20, loss=100)
    results = rng.choice(["L", "W"], p=[0.45, 0.55], size=2000)
    memories, wanted = followed(system, results), stakes(system, results)
    ledger, n_ended = 0, 0
    for memory, stake, result in zip(memories[1:], wanted[:-1], results, strict=True):
        ledger += stake if result == "W" else -stake
        debt, _ = system.automaton.states[memory]
        if ledger == 1:
            assert memory == 0
            ledger, n_ended = 0, n_ended + 1
        assert debt == -ledger
    assert n_ended > 100


@pytest.mark.parametrize("n_rounds", [1, 2, 5, 9])
def test_within_a_session_only_what_it_can_reach(n_rounds):
    memory = make_system("labouchere").automaton
    few = memory.within(n_rounds)
    for code in range(2 ** (n_rounds - 1)):
        results = [(code >> place) & 1 for place in range(n_rounds - 1)]
        one = other = 0
        for won in results:
            assert few.units[one] == memory.units[other]
            one, other = few.next[one, 2 * won], memory.next[other, 2 * won]
        assert few.states[one] == memory.states[other]
    assert len(few) == len({*_reached(memory, n_rounds)})


def _reached(memory, n_rounds):
    reached = {0}
    for _ in range(n_rounds - 1):
        reached |= {int(m) for r in reached for m in memory.next[r]}
    return reached


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("martingale:max=0", "max is a whole number of at least 1, got 0"),
        ("paroli:wins=31", "wins is a whole number of at most 30, got 31"),
        ("oscar:loss=0", "loss is a whole number of at least 1, got 0"),
        ("labouchere:9-9,max=17", "a line of 1 to 10 numbers whose first"),
        ("labouchere:1-1-1,length=2", "got '1-1-1': write numbers as 1-2-3"),
        ("labouchere:1-0", "number 2 of the line is a whole number of at least 1, got 0"),
        ("labouchere:max=64,length=30", "more than 200000 memories: give it lower caps"),
    ],
)
def test_what_no_system_can_be(text, message):
    with pytest.raises(ConfigError, match=message):
        make_system(text)
