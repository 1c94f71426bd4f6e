"""Menus of slips: the short list a betting agent chooses from, and a small table's full grid."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import lcm, prod

from niulab.engine.rules import RuleSet
from niulab.engine.wagers import Slip, largest_stake, least_slip, stake_step_cents
from niulab.errors import WagerError

__all__ = ["GRID_LIMIT", "MENU_SIZE", "default_menu", "grid_menu"]

MENU_SIZE = 10
"""Slips of a default menu, so that bets and settings share ten action indices."""

GRID_LIMIT = 10_000
"""Most slips of a ``menu="grid"``."""

_NOTHING = Slip(())


def default_menu(rules: RuleSet) -> tuple[Slip, ...]:
    """Ten slips: the least one, then flat, mixed and multiplied ones in base units.

    A base unit is rounded up to a stake the box takes; boxes a sheet lacks make room for more
    stakes on the required one.
    """
    slips = {least_slip(rules): None}
    for stakes in _recipes(rules):
        slip = Slip(tuple((box, _stake(rules, box, units)) for box, units in stakes.items()))
        slips[slip] = None
        if len(slips) == MENU_SIZE:
            return tuple(slips)
    raise WagerError(
        f"the limits of '{rules.name}' leave {len(slips)} of the {MENU_SIZE} slips of a default "
        "menu: give menu=[...] or menu='grid'"
    )


def _recipes(rules: RuleSet) -> Iterator[dict[str, int]]:
    """Stakes in units, in the order in which they get into a menu."""
    required = rules.required_box or ""
    mains = [box for box, terms in rules.boxes.items() if not (terms.required or terms.is_bonus)]
    bonuses = [box for box, terms in rules.boxes.items() if terms.is_bonus]
    for units in (2, 5, 10):
        yield {required: units}
    for box in mains[:1]:
        yield {required: 1, box: 1}
        yield {required: 1, box: 5}
    for box in mains[1:]:
        yield {required: 1, box: 1}
    yield {required: 1} | dict.fromkeys(mains, 1)
    yield {required: 5} | {box: 1 if place else 5 for place, box in enumerate(mains)}
    for box in bonuses:
        yield {required: 1, box: 1}
    for box in mains[1:]:
        yield {required: 1, box: 2}
    for units in (3, 4, 8, 6, 7, 9, 15, 20, *range(11, 100)):
        yield {required: units}


def _step(rules: RuleSet, box: str) -> int:
    return lcm(rules.table.chip_unit_cents, stake_step_cents(rules, box))


def _stake(rules: RuleSet, box: str, units: int) -> int:
    """Some units on a box, at most its maximum; a unit is its least stake from a base unit on."""
    step = _step(rules, box)
    unit = -(-max(rules.boxes[box].minimum_cents, rules.base_unit_cents) // step) * step
    return min(units * unit, largest_stake(rules, _NOTHING, box))


def grid_menu(rules: RuleSet) -> tuple[Slip, ...]:
    """Every slip the table takes: the product over boxes of all stakes from minimum to maximum.

    The least slip comes first; the required box runs slowest. Raises WagerError if there are more
    than GRID_LIMIT.
    """
    axes = {}
    for box, terms in rules.boxes.items():
        step = _step(rules, box)
        stakes = range(-(-terms.minimum_cents // step) * step, terms.maximum_cents + 1, step)
        axes[box] = [*stakes] if terms.required else [0, *stakes]
    size = prod(len(stakes) for stakes in axes.values())
    if size > GRID_LIMIT:
        counts = ", ".join(f"{box} {len(stakes)}" for box, stakes in axes.items())
        raise WagerError(
            f"'{rules.name}' takes {size} slips ({counts} stakes), more than {GRID_LIMIT}: lower "
            "the maximum_cents of its boxes, raise table.chip_unit_cents, or list the slips"
        )
    return tuple(Slip(tuple(zip(axes, stakes, strict=True))) for stakes in product(*axes.values()))
