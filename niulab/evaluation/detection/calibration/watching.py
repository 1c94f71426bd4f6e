"""Which portfolio watches whom: everything at once, or one attack that is declared in advance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from niulab.agents.advantage.config import (
    AttackConfig,
    CardSwitcher,
    Colluders,
    HoldOut,
    LatePlayer,
    SightConfig,
    Steerer,
    high_slip,
    low_slip,
)
from niulab.engine.cards import HAND_SIZE
from niulab.engine.rules import RuleSet
from niulab.evaluation.detection.attacks.declared import (
    declared_group,
    declared_steering,
    declared_switching,
)
from niulab.evaluation.detection.attacks.groups import COLLUSION, group_portfolio
from niulab.evaluation.detection.attacks.late import LATE, late_blocks
from niulab.evaluation.detection.attacks.steering import STEERED
from niulab.evaluation.detection.attacks.switching import SWITCHED, held_out_block
from niulab.evaluation.detection.portfolio import (
    Block,
    Portfolio,
    declared_portfolio,
    portfolio_of_block,
)
from niulab.evaluation.detection.scores import N_MAIN
from niulab.evaluation.detection.watch import watch_portfolio
from niulab.evaluation.playlog.plays import boxes_of

__all__ = ["attack_named", "boxes_raised", "declared_for", "full_for", "watch_for"]

_PORTFOLIOS: dict[tuple[str, str], Any] = {}

_P = TypeVar("_P", Portfolio, Portfolio | None)


def watch_for(rules: RuleSet, *, seats: bool) -> Portfolio:
    """The portfolio that judges every player of a log of a sheet; kept."""
    return _kept(rules, f"watch {seats}", lambda: watch_portfolio([rules], seats=seats))


def full_for(rules: RuleSet, attacker: AttackConfig) -> Portfolio:
    """What watches for an attacker without knowing his attack; of colluders, that they collude.

    Switching and steering need the other seats of the table.
    """
    if isinstance(attacker, Colluders):
        return _kept(rules, COLLUSION, lambda: group_portfolio([rules]))
    return watch_for(rules, seats=isinstance(attacker, CardSwitcher | Steerer))


def declared_for(rules: RuleSet, attacker: AttackConfig) -> Portfolio | None:
    """The attack declared in advance, None where there is no portfolio for it; kept."""
    return _kept(
        rules, f"declared {attacker.kind} {attacker.parameters}", lambda: _declared(rules, attacker)
    )


def attack_named(attacker: AttackConfig) -> str:
    """The attack of the portfolio that explains an attacker."""
    if isinstance(attacker, Colluders):
        return COLLUSION
    if isinstance(attacker, Steerer):
        return STEERED
    if isinstance(attacker, SightConfig):
        return "own card seen" if attacker.seen_place < HAND_SIZE else "dealer's card seen"
    return LATE if isinstance(attacker, LatePlayer) else SWITCHED


def boxes_raised(rules: RuleSet, attacker: AttackConfig) -> tuple[str, ...]:
    """Boxes on which he stakes more when something favors him."""
    low, high = low_slip(rules, attacker), high_slip(rules, attacker)
    return tuple(box for box in rules.boxes if high.stake(box) != low.stake(box))


def _declared(rules: RuleSet, attacker: AttackConfig) -> Portfolio | None:
    if isinstance(attacker, CardSwitcher):
        return declared_switching(rules)
    if isinstance(attacker, HoldOut):
        return portfolio_of_block(rules, held_out_block([rules]))
    if isinstance(attacker, LatePlayer):
        return portfolio_of_block(rules, _raising(rules))
    if not isinstance(attacker, SightConfig):
        return None
    if isinstance(attacker, Steerer):
        return declared_steering(rules, place=attacker.seen_place)
    place, raised = attacker.seen_place, boxes_raised(rules, attacker)
    boxes = tuple(box for box in boxes_of(rules)[:N_MAIN] if box in raised)
    if not boxes:
        return None
    # a group is judged by what its members stake together
    stakes = low_slip(rules, attacker).stakes
    low = ",".join(f"{box}={attacker.team * cents}" for box, cents in stakes)
    declare = declared_group if isinstance(attacker, Colluders) else declared_portfolio
    return declare(rules, place=place, box=boxes, low=low)


def _raising(rules: RuleSet) -> Block:
    """Who raises a stake after the close, at one rate or another, where the round is won."""
    block = next(iter(late_blocks([rules])))
    names = [component.strength for component in block.components]
    places = [place for place, name in enumerate(names) if name.startswith("raised")]
    return replace(
        block,
        components=tuple(block.components[place] for place in places),
        tables=tuple(None if table is None else table[:, :, places] for table in block.tables),
    )


def _kept(rules: RuleSet, name: str, make: Callable[[], _P]) -> _P:
    key = rules.rules_hash, name
    if key not in _PORTFOLIOS:
        _PORTFOLIOS[key] = make()
    made: _P = _PORTFOLIOS[key]
    return made
