"""Attacks that are named beforehand and need several seats: steering, switching, a group.

A portfolio of the one attack pays for nothing else, so it finds it sooner than the portfolio that a
log is watched with. Declare it before anybody looks at the rounds it is to judge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from niulab.engine.cards import HAND_SIZE
from niulab.engine.rules import RuleSet
from niulab.errors import ConfigError
from niulab.evaluation.detection.attacks.groups import COLLUSION
from niulab.evaluation.detection.attacks.steering import packet_feature, steering_block
from niulab.evaluation.detection.attacks.switching import (
    EXCHANGE,
    switching_block,
)
from niulab.evaluation.detection.features import verify_one_deck
from niulab.evaluation.detection.portfolio import (
    Block,
    Portfolio,
    declared_portfolio,
    portfolio_of_block,
)

__all__ = ["declared_group", "declared_steering", "declared_switching"]


def declared_steering(rules: RuleSet, *, place: int | None = None) -> Portfolio:
    """Who knows the packet on top and takes it when it favors him.

    place: the card of it that he knows, 0-4; by default its rank. Fold it with ``given_factors`` of
    whole rounds. Raises ConfigError for a place that is none, or a sheet that cannot be steered.
    """
    verify_one_deck(rules)
    if place is not None and not 0 <= place < HAND_SIZE:
        raise ConfigError(f"the card of a packet is 0 to {HAND_SIZE - 1}, got {place}")
    block = steering_block([rules])
    if block is None:
        raise ConfigError(
            f"under '{rules.name}' packets go round from the marked position, whatever is staked: "
            "steering needs a sheet with first_packet = 'largest_required_stake'"
        )
    return _alone(rules, block, packet_feature(place))


def declared_switching(rules: RuleSet) -> Portfolio:
    """Who makes the best exchange of one card with a neighbor; fold it with ``given_factors``."""
    verify_one_deck(rules)
    return _alone(rules, switching_block(), EXCHANGE)


def declared_group(
    rules: RuleSet, *, place: int, box: str | Sequence[str], low: str | None = None
) -> Portfolio:
    """A group that raises the boxes which one card favors; for the rows of ``group_plays``.

    place: 5-9 the dealer's cards, 0-4 the named peeker's. low: what its members stake together when
    nothing favors them, as "single=300" of three; without it the first rounds tell less. Raises as
    ``declared_portfolio`` does.
    """
    seer = declared_portfolio(rules, place=place, box=box, low=low)
    blocks = tuple(
        replace(block, components=tuple(replace(c, attack=COLLUSION) for c in block.components))
        for block in seer.blocks
    )
    return Portfolio(seer.sheets, blocks, seer.name, seer.low)


def _alone(rules: RuleSet, block: Block, feature: str) -> Portfolio:
    """One feature's components of a block whose factors come with the rows."""
    chosen = Block(tuple(c for c in block.components if c.feature == feature))
    return portfolio_of_block(rules, chosen)
