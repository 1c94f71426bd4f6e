"""A person at the terminal: what is asked, and how the answer is read."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from niulab.errors import CardError, ConfigError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from niulab.envs.seat.core import State
    from niulab.envs.settings import EnvSettings

__all__ = ["HasLeft", "Person", "read_bet", "read_front"]


class HasLeft(Exception):  # noqa: N818, nobody's mistake
    """The person has had enough, or the input has come to its end."""


class Person:
    """Answers for one seat from standard input.

    ask: shows a question. complain: shows what was wrong with an answer, and the question comes
    again; None where nobody could mend it, and the mistake is raised.
    """

    def __init__(
        self,
        settings: EnvSettings,
        *,
        ask: Callable[[str], None],
        complain: Callable[[str], None] | None,
    ) -> None:
        self._settings = settings
        self._ask = ask
        self._complain = complain

    def decide(self, state: State, mask: NDArray[np.bool_]) -> int:
        """The action of a person who sees this state; HasLeft if none comes."""
        from niulab.envs.encoding import BETTING

        is_bet = state.phase == BETTING
        while True:
            self._ask("Your bet" if is_bet else "Your two front cards")
            try:
                answer = input().strip()
            except EOFError:
                raise HasLeft from None
            if answer.lower() in {"q", "quit"}:
                raise HasLeft
            try:
                if is_bet:
                    return read_bet(answer, self._settings, mask)
                return read_front(answer, state.hand)
            except (ConfigError, CardError) as error:
                if self._complain is None:
                    raise
                self._complain(str(error))


def read_bet(answer: str, settings: EnvSettings, mask: NDArray[np.bool_]) -> int:
    """A slip by its number on the menu or as it is written there, or "leave", as an action."""
    menu = [str(slip) for slip in settings.menu]
    choices = f"a number from 0 to {len(menu) - 1}, or a slip of the menu as {menu[0]}"
    if settings.leave_action is not None:
        choices += ", or leave"
    if answer.lower() == "leave" and settings.leave_action is not None:
        return settings.leave_action
    if answer.isdecimal() and int(answer) < len(menu):
        action = int(answer)
    elif answer.replace(" ", "") in menu:
        action = menu.index(answer.replace(" ", ""))
    else:
        raise ConfigError(f"'{answer}' is no bet here: write {choices}")
    if not mask[action]:
        raise ConfigError(f"the bankroll does not cover {menu[action]}: choose a lower slip")
    return action


def read_front(answer: str, hand: tuple[int, ...]) -> int:
    """Two cards of the shown hand, by place (1 to 5) or by name, as a setting's action."""
    from niulab.engine.cards import parse_cards
    from niulab.engine.hands import SPLITS

    words = answer.replace(",", " ").split()
    if len(words) == 1 and len(answer) == 2 and answer.isdecimal():
        words = list(answer)
    if words and all(word.isdecimal() and len(word) == 1 for word in words):
        places = [int(word) - 1 for word in words]
    else:
        places = [_place(card, hand) for card in parse_cards(answer)]
    front = tuple(sorted(places))
    if front not in SPLITS:
        raise ConfigError(
            f"'{answer}' names no two cards of your hand: write two places from 1 to 5, as 2 4, or "
            "two cards, as KS 7S"
        )
    return SPLITS.index(front)


def _place(card: int, hand: tuple[int, ...]) -> int:
    return hand.index(card) if card in hand else -1
