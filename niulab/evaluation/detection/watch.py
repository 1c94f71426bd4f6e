"""What a log is watched with: every block its sheets and its columns allow, under fixed weights.

The choice rests on what a log records at all, never on what was dealt or staked in it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from niulab.engine.rules import RuleSet
from niulab.evaluation.detection.attacks.late import LATE, late_blocks
from niulab.evaluation.detection.attacks.results import FORESEEN, result_blocks
from niulab.evaluation.detection.attacks.steering import (
    FIRST_PACKET,
    STEERED,
    steering_block,
    steering_factors,
)
from niulab.evaluation.detection.attacks.switching import (
    SPLIT,
    SWITCHED,
    held_out_block,
    switching_block,
    switching_factors,
)
from niulab.evaluation.detection.portfolio import (
    Block,
    Portfolio,
    seen_blocks,
    weighted,
)
from niulab.evaluation.playlog.plays import Plays

__all__ = [
    "ATTACK_WEIGHTS",
    "full_portfolio",
    "given_factors",
    "portfolio_of_log",
    "watch_portfolio",
]

ATTACK_WEIGHTS = MappingProxyType(
    {
        "own card seen": 0.25,
        "dealer's card seen": 0.25,
        FORESEEN: 0.1,
        LATE: 0.1,
        SWITCHED: 0.2,
        STEERED: 0.1,
    }
)
"""Weight of each attack; of those a log can show, in proportion."""

_Whole = Callable[[Sequence[RuleSet]], Block | None]
_Factors = Callable[[Plays, Sequence[RuleSet]], NDArray[np.float64]]

_GIVEN: MappingProxyType[str, tuple[_Whole, _Factors]] = MappingProxyType(
    {
        SPLIT: (lambda _: switching_block(), switching_factors),
        FIRST_PACKET: (steering_block, steering_factors),
    }
)
"""By slot, all components whose factors come with the rows, and those factors."""


def watch_portfolio(
    sheets: Sequence[RuleSet], *, ordered: bool = True, late: bool = True, seats: bool = True
) -> Portfolio:
    """Everything that a log can be tested for without knowing the attack.

    ordered: cards are recorded in the order dealt. late: changes after the close, or the times of
    stakes, are recorded; else late stakes are large stakes, which results are tested with. seats:
    the log holds all seats of a round, as switching and steering need. Raises ConfigError for a
    sheet that is not dealt from one full deck.
    """
    blocks = _blocks(sheets, ordered=ordered, late=late, seats=seats)
    return Portfolio(tuple(sheets), tuple(weighted(list(blocks), ATTACK_WEIGHTS)), "watch")


def full_portfolio(sheets: Sequence[RuleSet], *, ordered: bool = True) -> Portfolio:
    """Everything that can be tested of one seat without knowing the attack.

    ordered: whether the log records cards in the order dealt; else what a set of five shows. The
    choice belongs to the log, never to what was dealt. Raises ConfigError for a sheet that is not
    dealt from one full deck.
    """
    blocks = [*seen_blocks(sheets, ordered=ordered), *result_blocks(sheets)]
    return Portfolio(tuple(sheets), tuple(weighted(blocks, ATTACK_WEIGHTS)))


def portfolio_of_log(
    sheets: Sequence[RuleSet], columns: Collection[str], *, ordered: bool = True
) -> Portfolio:
    """``watch_portfolio`` by the names of a flat log's columns, as far as they tell.

    Whether the cards stand in the order dealt, no column tells: ``ordered`` is declared.
    """
    has_late = any(name.startswith("late_") for name in columns)
    return watch_portfolio(
        sheets,
        ordered=ordered,
        late=has_late or {"bet_time", "close_time"} <= set(columns),
        seats={"round_id", "seat"} <= set(columns),
    )


def _blocks(
    sheets: Sequence[RuleSet], *, ordered: bool, late: bool, seats: bool
) -> Iterator[Block]:
    yield from seen_blocks(sheets, ordered=ordered)
    yield from result_blocks(sheets)
    if late:
        yield from late_blocks(sheets)
    yield held_out_block(sheets)
    if seats:
        yield switching_block()
        steering = steering_block(sheets)
        if steering is not None:
            yield steering


def given_factors(portfolio: Portfolio, plays: Plays) -> NDArray[np.float64]:
    """Factors (n, portfolio.n_given) of rows, as ``fold`` takes them.

    ``plays`` holds whole rounds, every seat of them, in any order: fold the rows of some players
    with the factors of theirs.
    """
    parts = [np.empty((len(plays), 0))]
    for block in portfolio.blocks:
        if not block.is_given:
            continue
        make, factors_of = _GIVEN[block.components[0].slot]
        whole = make(portfolio.sheets)
        known = whole.components if whole is not None else ()
        places = {(c.feature, c.strength): place for place, c in enumerate(known)}
        columns = [places[c.feature, c.strength] for c in block.components]
        parts.append(factors_of(plays, portfolio.sheets)[:, columns])
    return np.concatenate(parts, axis=1)
