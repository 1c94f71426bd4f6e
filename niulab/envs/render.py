"""The table in words: what a person at the terminal sees of an environment's state."""

from __future__ import annotations

from collections.abc import Iterable

from niulab.engine.cards import card_text
from niulab.envs.encoding import BETTING, PHASES
from niulab.envs.seat.core import State, Transition
from niulab.envs.seat.referee import Ruling
from niulab.envs.settings import EnvSettings

__all__ = ["render_text"]


def render_text(
    settings: EnvSettings,
    state: State,
    last: Transition | None,
    seen: str | None = None,
    *,
    played: EnvSettings | None = None,
) -> str:
    """A few lines: where the session stands, what lies on the table, how the last round ended.

    ``seen`` is what the channel shows, in tasks that have one; ``played`` the settings with the
    last round's sheet, where sheets are drawn.
    """
    return "\n".join(_lines(settings, state, last, seen, played or settings))


def _lines(
    settings: EnvSettings,
    state: State,
    last: Transition | None,
    seen: str | None,
    played: EnvSettings,
) -> Iterable[str]:
    unit = settings.rules.base_unit_cents
    head = [f"round {state.round_index}", PHASES[state.phase]]
    if settings.bankroll_cents is not None:
        head.append(f"bankroll {state.bankroll_cents / unit:.2f}")
    if state.rounds_left is not None:
        head.append(f"rounds left {state.rounds_left}")
    is_hidden = not settings.rules_visible
    sheet = f"one of {len(settings.every_sheet)} sheets" if is_hidden else settings.rules.name
    yield f"{sheet} | " + ", ".join(head)
    if last is not None and last.ruling is not None:
        yield from _result_lines(played, last, last.ruling)
    if last is not None and last.end is not None:
        yield f"  end: {last.end}"
    if state.phase == BETTING:
        if settings.channel is not None:
            yield f"  seen of the {settings.channel.position} first card: {seen}"
        if settings.stakes == "continuous":
            yield "  stakes from -1 to 1 on " + ", ".join(settings.rules.boxes)
            return
        slips = (f"{index}: {slip}" for index, slip in enumerate(settings.menu[:10]))
        yield "  menu " + "  ".join(slips) + (" ..." if len(settings.menu) > 10 else "")
    elif last is None or last.end is None:
        yield f"  slip {settings.menu[state.slip]}"
        yield f"  hand {_cards(state.hand)}"
        if settings.sees_dealer:
            yield f"  dealer {_cards(state.dealer)}"


def _result_lines(settings: EnvSettings, last: Transition, ruling: Ruling) -> Iterable[str]:
    unit = settings.rules.base_unit_cents
    yield f"  slip {settings.menu[ruling.slip]}"
    hands = last.arrangements(settings.rules)
    for who, hand in zip(("player", "dealer"), hands, strict=True):
        base = _cards(hand.shown_base) or "no base"
        yield f"  {who} {base} | {_cards(hand.pair)}: {hand.rank}"
    nets = ", ".join(f"{b} {c / unit:+.2f}" for b, c in ruling.settlement.net_by_box.items())
    yield f"  {ruling.outcome.name.lower()}: net {ruling.net_cents / unit:+.2f} ({nets})"


def _cards(cards: Iterable[int]) -> str:
    return " ".join(card_text(card) for card in cards)
