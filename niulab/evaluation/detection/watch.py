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
    result_blocks,
    seen_blocks,
    weighted,
)
from niulab.evaluation.playlog.plays import Plays

__all__ = ["ATTACK_WEIGHTS", "given_factors", "portfolio_of_log", "watch_portfolio"]

ATTACK_WEIGHTS = MappingProxyType(
    {
        "own card seen": 0.25,
        "dealer's card seen": 0.25,
        "results foreseen": 0.1,
        LATE: 0.1,
        SWITCHED: 0.2,
        STEERED: 0.1,
    }
)
"""Weight of each attack; of those a log can show, in proportion."""

_GIVEN: MappingProxyType[str, Callable[[Plays, Sequence[RuleSet]], NDArray[np.float64]]] = (
    MappingProxyType({SPLIT: switching_factors, FIRST_PACKET: steering_factors})
)


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
    parts = [
        _GIVEN[block.components[0].slot](plays, portfolio.sheets)
        for block in portfolio.blocks
        if block.is_given
    ]
    return np.concatenate([np.empty((len(plays), 0)), *parts], axis=1)
