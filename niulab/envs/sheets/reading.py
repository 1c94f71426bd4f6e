"""Sheets as settings give them: read one by one, checked against each other and the task."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from niulab.engine.rules import RuleSet
from niulab.envs.sheets.drawing import slip_under

if TYPE_CHECKING:
    from niulab.envs.settings.model import EnvSettings

__all__ = ["contradictions_of_sheets", "read_sheets"]

_MOST = 64
"""Most sheets; the draw's arithmetic has 6 bits for them."""


def read_sheets(
    given: Any, mistakes: list[str], read_one: Callable[[Any, list[str]], RuleSet | None]
) -> tuple[RuleSet, ...] | None:
    """The sheets of a setting, None for none; what is wrong is added to ``mistakes``."""
    if given is None:
        return None
    if isinstance(given, str | Path | RuleSet) or not isinstance(given, Iterable):
        mistakes.append(f"sheets takes a list of what rules takes, or None, got {given!r}")
        return None
    found = [read_one(one, mistakes) for one in given]
    if len(found) < 2:
        mistakes.append(f"sheets holds two sheets or more to draw from, got {len(found)}")
    return None if None in found or len(found) < 2 else tuple(filter(None, found))


def contradictions_of_sheets(settings: EnvSettings) -> Iterable[str]:
    """Mistakes of sheets that are each right on their own, and of the task around them."""
    if settings.sheets is None:
        if not settings.rules_visible:
            yield "rules_visible=False hides which sheet is in force: give sheets=[...]"
        return
    if settings.rules != settings.sheets[0]:
        yield (
            f"rules='{settings.rules.name}' is not the first of sheets, "
            f"'{settings.sheets[0].name}': leave rules out"
        )
    yield from _of_each_other(settings.sheets)
    yield from _of_task(settings)
    for rules in settings.sheets[1:]:
        if slip_under(rules, settings.menu[0], settings.sheets[0]) is None:
            yield f"the least slip '{settings.menu[0]}' is none under the sheet '{rules.name}'"


def _of_each_other(sheets: tuple[RuleSet, ...]) -> Iterable[str]:
    first, seen = sheets[0], dict[str, str]()
    if len(sheets) > _MOST:
        yield f"sheets holds {_MOST} sheets at most, got {len(sheets)}"
    for rules in sheets:
        if rules.rules_hash in seen:
            yield f"sheets holds one game twice, as '{seen[rules.rules_hash]}' and '{rules.name}'"
        seen[rules.rules_hash] = rules.name
        if rules.deck != first.deck:
            yield f"sheets share one deck: '{rules.name}' has another than '{first.name}'"
        if rules.base_unit_cents != first.base_unit_cents:
            yield f"sheets share one base unit: '{rules.name}' has another than '{first.name}'"


def _of_task(settings: EnvSettings) -> Iterable[str]:
    needed = {
        "decisions": "bet",
        "objective": "profit",
        "reward": "settled",
        "bankroll_cents": None,
        "can_leave": False,
        "channel": None,
        "shoe": None,
        "stakes": "menu",
    }
    for key, value in needed.items():
        got = getattr(settings, key)
        if got != value:
            yield f"sheets are drawn for bets on profit alone: {key}={value!r}, not {got!r}"
