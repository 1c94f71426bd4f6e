"""The expected reward of many rows: exact values of set hands by table look-ups."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from niulab.engine.ranking import hand_index
from niulab.engine.settlement import Outcome
from niulab.envs.rows.croupier import BoxTables, Croupier
from niulab.envs.settings import EnvSettings

__all__ = ["Expectations"]


class Expectations:
    """Expected nets of hands under one task's slips; the tables of all hands are made when needed.

    One fixed slip is looked up in ``solvers.hand_values``. The slips of a menu would need one such
    table each, so their values are put together from the counts behind it, row by row and box by
    box. Both give the single environment's numbers to the last bit.
    """

    def __init__(self, settings: EnvSettings, croupier: Croupier) -> None:
        self._rules = settings.rules
        self._slip = settings.menu[0] if len(settings.menu) == 1 else None
        self._croupier = croupier
        self._unequal: dict[str, NDArray[np.int64]] = {}

    def of(
        self,
        hands: NDArray[np.uint8],
        settings: NDArray[np.int64] | None,
        slips: NDArray[np.int64],
        bankrolls: NDArray[np.int64] | None,
    ) -> NDArray[np.float64]:
        """Expected cents (n,) of ascending hands under their settings; arguments as ``settle``."""
        rows = hand_index(hands, multi=self._rules.deck.decks > 1)
        sights = self._croupier.sights(slips, bankrolls)
        if self._slip is not None and not sights:
            return self._of_one_slip(rows, settings)
        return self._of_menu(rows, settings, slips, sights)

    def _of_one_slip(
        self, rows: NDArray[np.int64], settings: NDArray[np.int64] | None
    ) -> NDArray[np.float64]:
        from niulab.solvers.hand_values import hand_values

        values = hand_values(self._rules, self._slip)
        options: Any = 0 if settings is None else values.option_of[rows, settings]
        expected: NDArray[np.float64] = values.numerators[rows, options] / float(values.denominator)
        return expected

    def _of_menu(
        self,
        rows: NDArray[np.int64],
        settings: NDArray[np.int64] | None,
        slips: NDArray[np.int64],
        sights: dict[str, NDArray[np.int64]],
    ) -> NDArray[np.float64]:
        from niulab.solvers.matchups import matchups

        table = matchups(self._rules)
        options: Any = 0  # the highest rank comes first
        if settings is not None and self._rules.arrangement == "as_set":
            options = table.option_of[rows, settings]
        ranks = table.options[rows, options].astype(np.int64)
        events = table.events[rows].astype(np.int64)
        counts = table.counts[rows].astype(np.int64)
        less = table.less[rows, options].astype(np.int64)
        equal = table.equal[rows, options].astype(np.int64)
        more = counts[np.arange(len(rows)), ranks] - less - equal
        total = np.zeros(len(rows), dtype=np.int64)
        for box, tables in self._croupier.boxes.items():
            lines = tables.line_of[slips]
            against = self._against(box, tables)[lines, ranks, events]
            nets = tables.nets[lines, :, ranks, ranks, events]
            if box in sights:
                against = np.maximum(against, -sights[box][:, None])
                nets = np.maximum(nets, -sights[box][:, None])
            total += np.einsum("ij,ij->i", counts, against)
            total += less * nets[:, Outcome.WIN] + more * nets[:, Outcome.LOSE]
            total += equal * nets[np.arange(len(rows)), self._croupier.ties[ranks]]
        return total / float(table.n_opponents)

    def _against(self, box: str, tables: BoxTables) -> NDArray[np.int64]:
        """Nets against each dealer rank but one's own (0): int64 (lines, R, events, R dealer)."""
        if box not in self._unequal:
            n_ranks = len(self._rules.ranks)
            below = np.tri(n_ranks, k=-1, dtype=np.bool_)[:, :, None]
            nets = np.where(below, tables.nets[:, Outcome.WIN], tables.nets[:, Outcome.LOSE])
            own = np.arange(n_ranks)
            nets[:, own, own] = 0
            self._unequal[box] = np.ascontiguousarray(nets.transpose(0, 1, 3, 2))
        return self._unequal[box]
