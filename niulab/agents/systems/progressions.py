"""Systems that step up and down by what the last rounds brought.

Sources: Ethier, "The Doctrine of Chances" (2010), chapter 8, "Betting systems"; Crane and Shafer,
"Risk is random: the magic of the d'Alembert" (2020); Wilson, "The Casino Gambler's Guide" (1965),
pp. 246-248 (Oscar's Grind); Leigh, "Thirteen Against the Bank" (1976) (reverse Labouchere). They
count wins and losses of even-money bets in whole units: commission, odds above 1:1 and half-pay
never enter the count.
"""

from __future__ import annotations

from niulab.agents.systems.system import AFFORDS_LESS, BettingSystem, make_automaton
from niulab.errors import ConfigError

__all__ = [
    "contra_dalembert",
    "dalembert",
    "fibonacci",
    "flat",
    "grand_martingale",
    "labouchere",
    "martingale",
    "one_three_two_six",
    "oscar",
    "paroli",
    "reverse_labouchere",
]

_Line = tuple[int, ...]


def flat(units: int = 1) -> BettingSystem:
    """The same stake every round."""
    _verify_at_least(1, units=units)
    return BettingSystem(
        name="flat",
        summary=f"stakes {units} every round",
        automaton=make_automaton(units, units=int, won=int, lost=int),
    )


def martingale(max_: int = 64) -> BettingSystem:
    """Doubles after a loss, 1 after a win."""
    return _doubling("martingale", "doubles after a loss", max_, extra=0)


def grand_martingale(max_: int = 64) -> BettingSystem:
    """Doubles and adds 1 after a loss, 1 after a win: 1, 3, 7, 15 ..."""
    return _doubling("grand-martingale", "doubles and adds 1 after a loss", max_, extra=1)


def _doubling(name: str, rule: str, most: int, *, extra: int) -> BettingSystem:
    _verify_at_least(1, max=most)

    def lost(units: int) -> int:
        raised = 2 * units + extra
        return raised if raised <= most else 1

    return BettingSystem(
        name=name,
        summary=f"{rule}, goes back to 1 after a win",
        fallback=f"It never wants more than {most} units: a loss that asks for more is taken, and "
        f"it begins again with 1. {AFFORDS_LESS}",
        automaton=make_automaton(1, units=int, won=lambda _: 1, lost=lost),
    )


def paroli(wins: int = 3) -> BettingSystem:
    """The anti-martingale: doubles after a win, at most to ``wins`` wins in a row."""
    _verify_at_least(1, wins=wins)
    _verify_at_most(30, wins=wins)
    return BettingSystem(
        name="paroli",
        summary=f"doubles after a win, goes back to 1 after a loss or {wins} wins in a row",
        automaton=make_automaton(
            0,
            units=lambda streak: 1 << streak,
            won=lambda streak: (streak + 1) % wins,
            lost=lambda _: 0,
        ),
    )


def dalembert(max_: int = 20) -> BettingSystem:
    """One unit more after a loss, one less after a win."""
    return _pyramid("dalembert", "1 more after a loss, 1 less after a win", max_, after_win=-1)


def contra_dalembert(max_: int = 20) -> BettingSystem:
    """One unit more after a win, one less after a loss."""
    return _pyramid(
        "contra-dalembert", "1 more after a win, 1 less after a loss", max_, after_win=1
    )


def _pyramid(name: str, rule: str, most: int, *, after_win: int) -> BettingSystem:
    _verify_at_least(1, max=most)

    def step(units: int, by: int) -> int:
        return min(max(units + by, 1), most)

    return BettingSystem(
        name=name,
        summary=f"{rule}, never below 1",
        fallback=f"It never wants more than {most} units and stays there. {AFFORDS_LESS}",
        automaton=make_automaton(
            1,
            units=int,
            won=lambda units: step(units, after_win),
            lost=lambda units: step(units, -after_win),
        ),
    )


def fibonacci(max_: int = 55) -> BettingSystem:
    """Along 1, 1, 2, 3, 5 ...: one number on after a loss, two back after a win."""
    _verify_at_least(1, max=max_)
    numbers = [1, 1]
    while (following := numbers[-1] + numbers[-2]) <= max_:
        numbers.append(following)
    return BettingSystem(
        name="fibonacci",
        summary="one Fibonacci number on after a loss, two back after a win",
        fallback=f"A loss at {numbers[-1]}, the largest number up to {max_}, is taken, and it "
        f"begins again with the first. {AFFORDS_LESS}",
        automaton=make_automaton(
            0,
            units=numbers.__getitem__,
            won=lambda place: max(place - 2, 0),
            lost=lambda place: (place + 1) % len(numbers),
        ),
    )


def labouchere(line: _Line = (1, 2, 3), max_: int = 20, length: int = 10) -> BettingSystem:
    """The cancellation system: stakes the line's first and last number together.

    A win crosses both off, a loss writes the stake at the end; a crossed-out line is won. Under the
    default caps 381 lines can be reached.
    """
    return _cancellation("labouchere", line, max_, length, crossed_by="win")


def reverse_labouchere(line: _Line = (1, 2, 3), max_: int = 20, length: int = 10) -> BettingSystem:
    """The cancellation system upside down: a win writes the stake at the end, a loss crosses off.

    It hopes for a line that grows to the cap.
    """
    return _cancellation("reverse-labouchere", line, max_, length, crossed_by="loss")


def _cancellation(
    name: str, line: _Line, most: int, length: int, *, crossed_by: str
) -> BettingSystem:
    _verify_at_least(1, **{f"number {place} of the line": n for place, n in enumerate(line, 1)})
    if not line or _stake_of(line) > most or len(line) > length:
        raise ConfigError(
            f"{name} takes a line of 1 to {length} numbers whose first + last is at most {most}, "
            f"got '{'-'.join(map(str, line))}': write numbers as 1-2-3, or raise max or length"
        )

    def kept(written: _Line) -> _Line:
        is_within = written and _stake_of(written) <= most and len(written) <= length
        return written if is_within else line

    def cross(written: _Line) -> _Line:
        return kept(written[1:-1])

    def write(written: _Line) -> _Line:
        return kept((*written, _stake_of(written)))

    won, lost = (cross, write) if crossed_by == "win" else (write, cross)
    writes = "loss" if crossed_by == "win" else "win"
    return BettingSystem(
        name=name,
        summary=f"stakes first + last of a line, from {'-'.join(map(str, line))}; a {crossed_by} "
        f"crosses both off, a {writes} writes the stake at the end; a crossed-out line starts over",
        fallback=f"A line that would stake more than {most} units or hold more than {length} "
        f"numbers is given up and starts over. {AFFORDS_LESS}",
        automaton=make_automaton(line, units=_stake_of, won=won, lost=lost),
    )


def _stake_of(line: _Line) -> int:
    """First and last number together, or the only one."""
    return line[0] if len(line) == 1 else line[0] + line[-1]


def oscar(max_: int = 20, loss: int = 100) -> BettingSystem:
    """Oscar's Grind: one unit of profit a sequence; the same stake after a loss, one more after a
    win, never more than the unit of profit asks for.
    """
    _verify_at_least(1, max=max_, loss=loss)

    def won(state: tuple[int, int]) -> tuple[int, int]:
        debt, units = state[0] - state[1], state[1]
        return (0, 1) if debt < 0 else (debt, min(units + 1, debt + 1, max_))

    def lost(state: tuple[int, int]) -> tuple[int, int]:
        debt = state[0] + state[1]
        return (debt, state[1]) if debt <= loss else (0, 1)

    return BettingSystem(
        name="oscar",
        summary="the same stake after a loss, 1 more after a win, at most what brings the sequence "
        "1 ahead, where it ends; counted in nominal units, before commission",
        fallback=f"It never wants more than {max_} units and stays there; a sequence more than "
        f"{loss} units behind is given up and starts over. {AFFORDS_LESS}",
        automaton=make_automaton((0, 1), units=lambda state: state[1], won=won, lost=lost),
    )


def one_three_two_six() -> BettingSystem:
    """1, 3, 2, 6 along four wins in a row, back to 1 after a loss or the fourth."""
    stakes = (1, 3, 2, 6)
    return BettingSystem(
        name="1-3-2-6",
        summary="1, 3, 2, 6 along wins in a row, back to 1 after a loss or the fourth win",
        automaton=make_automaton(
            0,
            units=stakes.__getitem__,
            won=lambda place: (place + 1) % len(stakes),
            lost=lambda _: 0,
        ),
    )


def _verify_at_least(least: int, **values: int) -> None:
    for what, value in values.items():
        if value < least:
            raise ConfigError(f"{what} is a whole number of at least {least}, got {value}")


def _verify_at_most(most: int, **values: int) -> None:
    for what, value in values.items():
        if value > most:
            raise ConfigError(f"{what} is a whole number of at most {most}, got {value}")
