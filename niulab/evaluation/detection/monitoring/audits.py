"""Rows audited as they are folded: payments, cover, settings, flags, and what is recorded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from niulab.engine.rules import RuleSet
from niulab.evaluation.detection.tables.payments import mispays, short_covers
from niulab.evaluation.detection.tables.settings import player_settings
from niulab.evaluation.playlog.plays import NO_TIME, Flag, Plays

__all__ = ["RECORDED", "Audits"]

RECORDED = (
    "cards", "dealer_cards", "pair", "dealer_pair", "cards_shown", "time", "bet_time", "close_time",
)  # fmt: skip
"""Columns of the store of which it is said how often they are recorded."""

_MOST_FINDINGS = 10_000


@dataclass(eq=False)
class Audits:
    """findings: of each audit, the first 10,000; n_findings: how many there are.

    settings: by player, hands and hands set wrong. flags: rows by flag. recorded: rows that know a
    column. first_time, last_time: microseconds, NO_TIME for none.
    """

    findings: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    n_findings: Counter[str] = field(default_factory=Counter)
    settings: dict[str, list[int]] = field(default_factory=dict)
    flags: Counter[str] = field(default_factory=Counter)
    recorded: Counter[str] = field(default_factory=Counter)
    n_rows: int = 0
    first_time: int = NO_TIME
    last_time: int = NO_TIME

    def add(self, plays: Plays, recorded: Mapping[str, int]) -> None:
        """Rows of some players, whose findings are added apart."""
        for one in player_settings(plays):
            self._set(one.player, one.hands, one.mis_set)
        seen = int(np.bitwise_or.reduce(plays.flags)) if len(plays) else 0
        for flag in Flag:
            if seen & int(flag):
                self.flags[flag.name or ""] += int(((plays.flags & int(flag)) != 0).sum())
        self.recorded.update(recorded)
        self.n_rows += len(plays)
        if (times := plays.time[plays.time != NO_TIME]).size:
            self._lie_between(int(times.min()), int(times.max()))

    def add_payments(self, plays: Plays, sheets: Sequence[RuleSet]) -> None:
        """Rows among which all lie whose payment or cover is not as the rules say."""
        paid = [asdict(one) | {"residual": one.residual} for one in mispays(plays, sheets)]
        self.add_findings("mispays", paid)
        self.add_findings("short_covers", [asdict(one) for one in short_covers(plays, sheets)])

    def add_findings(self, audit: str, found: Sequence[dict[str, Any]]) -> None:
        """More findings of an audit, in order."""
        kept = self.findings.setdefault(audit, [])
        kept += found[: max(_MOST_FINDINGS - len(kept), 0)]
        self.n_findings[audit] += len(found)

    def join(self, other: Audits) -> None:
        """Add those of rows that come after."""
        for audit, found in other.findings.items():
            n = other.n_findings[audit]
            self.add_findings(audit, found)
            self.n_findings[audit] += n - len(found)
        for player, (hands, wrong) in other.settings.items():
            self._set(player, hands, wrong)
        self.flags.update(other.flags)
        self.recorded.update(other.recorded)
        self.n_rows += other.n_rows
        if other.first_time != NO_TIME:
            self._lie_between(other.first_time, other.last_time)

    def _set(self, player: str, hands: int, wrong: int) -> None:
        before = self.settings.get(player, (0, 0))
        self.settings[player] = [before[0] + hands, before[1] + wrong]

    def _lie_between(self, first: int, last: int) -> None:
        self.first_time = first if self.first_time == NO_TIME else min(self.first_time, first)
        self.last_time = last if self.last_time == NO_TIME else max(self.last_time, last)
