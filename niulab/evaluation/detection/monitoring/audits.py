"""What rows were found to be, in parts that add up: of a bucket's players, of a slice's rounds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from niulab.engine.rules import RuleSet
from niulab.evaluation.detection.tables.payments import mispays, short_covers
from niulab.evaluation.detection.tables.settings import player_settings
from niulab.evaluation.detection.tables.shown import other_cards
from niulab.evaluation.detection.tables.shuffles import unmonitored
from niulab.evaluation.detection.tables.twice import cards_twice, count_held, rounds_with_cards
from niulab.evaluation.detection.tables.voids import void_seats
from niulab.evaluation.playlog.flat import HANDS, TIMES
from niulab.evaluation.playlog.plays import NO_TIME, Flag, Plays

__all__ = ["RECORDED", "Audits"]

RECORDED = (*HANDS, *TIMES)
"""Columns of the store of which it is said how often they are recorded."""

_MOST_FINDINGS = 10_000


@dataclass(eq=False)
class Audits:
    """findings: of each audit, the first 10,000; n_findings: how many there are.

    settings: by player, hands, hands set wrong and their cost in cents. flags: rows by flag.
    recorded: rows that know a column. first_time, last_time: microseconds, NO_TIME for none.
    card_rounds, doubled, doubled_cards: by player, rounds with his cards, those with a card that
    another hand held too, and which. unmonitored: rounds that shuffle monitors leave out, by key,
    name and reason.
    """

    findings: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    n_findings: Counter[str] = field(default_factory=Counter)
    settings: dict[str, list[int]] = field(default_factory=dict)
    flags: Counter[str] = field(default_factory=Counter)
    recorded: Counter[str] = field(default_factory=Counter)
    n_rows: int = 0
    first_time: int = NO_TIME
    last_time: int = NO_TIME
    card_rounds: Counter[str] = field(default_factory=Counter)
    doubled: Counter[str] = field(default_factory=Counter)
    doubled_cards: dict[str, Counter[str]] = field(default_factory=dict)
    unmonitored: dict[str, dict[str, Counter[str]]] = field(default_factory=dict)

    @classmethod
    def of(cls, content: Mapping[str, Any]) -> Audits:
        """What ``vars`` of audits became on its way through JSON."""
        audits = cls(**content)
        for name in ("n_findings", "flags", "recorded", "card_rounds", "doubled"):
            setattr(audits, name, Counter(content[name]))
        audits.doubled_cards = {name: Counter(n) for name, n in audits.doubled_cards.items()}
        audits.unmonitored = {
            key: {name: Counter(n) for name, n in by_name.items()}
            for key, by_name in audits.unmonitored.items()
        }
        return audits

    def add_rows(
        self,
        plays: Plays,
        sheets: Sequence[RuleSet],
        *,
        recorded: Mapping[str, int],
        is_new: NDArray[np.bool_],
    ) -> None:
        """Rows of some players, the odd ones of which are added apart.

        is_new: (n,), rows of no round of their player that earlier rows were of.
        """
        for one in player_settings(plays, sheets):
            self._set(one.player, (one.hands, one.mis_set, one.cost_cents))
        self.card_rounds.update(rounds_with_cards(plays, among=is_new))
        seen = int(np.bitwise_or.reduce(plays.flags)) if len(plays) else 0
        for flag in Flag:
            if seen & int(flag):
                self.flags[flag.name or ""] += int(((plays.flags & int(flag)) != 0).sum())
        self.recorded.update(recorded)
        self.n_rows += len(plays)
        if (times := plays.time[plays.time != NO_TIME]).size:
            self._lie_between(int(times.min()), int(times.max()))

    def add_odd(self, plays: Plays, sheets: Sequence[RuleSet]) -> None:
        """Rows among which all lie whose payment or cover is not as the rules say, or whose round
        was called off.
        """
        paid = [asdict(one) | {"residual": one.residual} for one in mispays(plays, sheets)]
        self._find("mispays", paid)
        self._find("short_covers", [asdict(one) for one in short_covers(plays, sheets)])
        self._find("void_seats", [asdict(one) for one in void_seats(plays, sheets)])

    def add_rounds(
        self,
        plays: Plays,
        why: NDArray[np.integer],
        reasons: Sequence[str],
        *,
        among: NDArray[np.bool_] | None,
    ) -> None:
        """Whole rounds. why, reasons, among: as of ``unmonitored``."""
        self._find("other_cards", [asdict(one) for one in other_cards(plays)])
        twice = cards_twice(plays)
        self._find("cards_twice", [asdict(one) for one in twice])
        rounds, cards = count_held(twice)
        self._hold(rounds, cards, unmonitored(plays, why, reasons, among=among))

    def join(self, other: Audits) -> None:
        """Add those of rows that come after."""
        for audit, found in other.findings.items():
            n = other.n_findings[audit]
            self._find(audit, found)
            self.n_findings[audit] += n - len(found)
        for player, counts in other.settings.items():
            self._set(player, counts)
        for name in ("flags", "recorded", "card_rounds"):
            getattr(self, name).update(getattr(other, name))
        self._hold(other.doubled, other.doubled_cards, other.unmonitored)
        self.n_rows += other.n_rows
        if other.first_time != NO_TIME:
            self._lie_between(other.first_time, other.last_time)

    def _find(self, audit: str, found: Sequence[dict[str, Any]]) -> None:
        kept = self.findings.setdefault(audit, [])
        kept += found[: max(_MOST_FINDINGS - len(kept), 0)]
        self.n_findings[audit] += len(found)

    def _set(self, player: str, counts: Sequence[int]) -> None:
        before = self.settings.get(player, (0, 0, 0))
        self.settings[player] = [a + b for a, b in zip(before, counts, strict=True)]

    def _hold(
        self,
        doubled: Mapping[str, int],
        cards: Mapping[str, Mapping[str, int]],
        left_out: Mapping[str, Mapping[str, Mapping[str, int]]],
    ) -> None:
        self.doubled.update(doubled)
        for player, held in cards.items():
            self.doubled_cards.setdefault(player, Counter()).update(held)
        for key, by_name in left_out.items():
            mine = self.unmonitored.setdefault(key, {})
            for name, counts in by_name.items():
                mine.setdefault(name, Counter()).update(counts)

    def _lie_between(self, first: int, last: int) -> None:
        self.first_time = first if self.first_time == NO_TIME else min(self.first_time, first)
        self.last_time = last if self.last_time == NO_TIME else max(self.last_time, last)
