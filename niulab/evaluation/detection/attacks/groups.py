"""Collusion with a peeker: a declared group judged as one player.

Seats of one round share the dealer and the deck, so their factors must not be multiplied. A group
that is declared before the rounds are looked at becomes one player instead: his stake is the sum of
theirs, his features are the dealer's cards and, where a peeker is named, that member's cards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from niulab.engine.rules import RuleSet
from niulab.errors import ConfigError
from niulab.evaluation.detection.attacks.seats import table_rounds
from niulab.evaluation.detection.portfolio import Portfolio, seen_blocks, weighted
from niulab.evaluation.playlog.plays import NO_CARD, NO_CODE, Plays

__all__ = ["COLLUSION", "Group", "group_plays", "group_portfolio"]

COLLUSION = "collusion"


@dataclass(frozen=True)
class Group:
    """Players said to play together; ``peeker`` is the member whose own cards count, if any."""

    name: str
    members: tuple[str, ...]
    peeker: str | None = None


def group_portfolio(sheets: Sequence[RuleSet], *, ordered: bool = True) -> Portfolio:
    """Dealer's and peeker's cards, all of them under the name of collusion."""
    blocks = [
        replace(block, components=tuple(replace(c, attack=COLLUSION) for c in block.components))
        for block in seen_blocks(sheets, ordered=ordered)
    ]
    return Portfolio(tuple(sheets), tuple(weighted(blocks, {COLLUSION: 1.0})), "collusion")


def group_plays(plays: Plays, groups: Sequence[Group]) -> Plays:
    """One row a round for every group with a member at the table, its players being the groups.

    Stakes, late changes, results and promotions are sums over the members' seats; cards are the
    peeker's, and not recorded in rounds without him. Rows are sorted for the fold. Raises
    ConfigError for a member that is not in the log, a name given twice, or fewer than two members.
    """
    codes = _member_codes(plays, groups)
    parts = [
        _rows_of(plays.take(np.isin(plays.player, members)), place, peeker)
        for place, (members, peeker) in enumerate(codes)
    ]
    texts = replace(plays.texts, players=tuple(group.name for group in groups))
    joined = Plays.join(parts) if parts else plays.take(slice(0))
    return replace(joined, texts=texts).by_player()


def _member_codes(plays: Plays, groups: Sequence[Group]) -> list[tuple[NDArray[np.int64], int]]:
    places = {name: code for code, name in enumerate(plays.texts.players)}
    names = [group.name for group in groups]
    if len(set(names)) < len(names):
        raise ConfigError(f"groups have names of their own, got {names}")
    codes = []
    for group in groups:
        members = dict.fromkeys((*group.members, *([group.peeker] if group.peeker else [])))
        for name in members:
            if name not in places:
                raise ConfigError(
                    f"group '{group.name}' names '{name}', who is not in the log: write names as "
                    "the log does"
                )
        if len(members) < 2:
            raise ConfigError(
                f"a group is of two players or more, and '{group.name}' names {len(members)}"
            )
        peeker = places[group.peeker] if group.peeker else NO_CODE
        codes.append((np.array([places[name] for name in members]), peeker))
    return codes


def _rows_of(plays: Plays, place: int, peeker: int) -> Plays:
    """The members' rows as one row a round, of player ``place``."""
    rounds = table_rounds(plays)
    rows, starts = rounds.rows, rounds.starts[:-1]
    if not len(starts):
        return plays
    first = plays.take(rows[starts])
    n = len(starts)
    cards = np.full((n, 5), NO_CARD, dtype=np.uint8)
    is_peeker = plays.player[rows] == peeker
    cards[rounds.rounds[is_peeker]] = plays.cards[rows[is_peeker]]

    def summed(name: str) -> NDArray[np.int64]:
        total: NDArray[np.int64] = np.add.reduceat(getattr(plays, name)[rows], starts, axis=0)
        return total

    blank = Plays.of(n, plays.texts)
    return replace(
        first,
        player=np.full(n, place, dtype=np.int32),
        stakes=summed("stakes"),
        late=summed("late"),
        nets=summed("nets"),
        residuals=summed("residuals"),
        promo=summed("promo"),
        cards=cards,
        shown=blank.shown,
        pair=blank.pair,
        cover=blank.cover,
        seat=blank.seat,
        packet=blank.packet,
        flags=np.bitwise_or.reduceat(plays.flags[rows], starts),
    )
