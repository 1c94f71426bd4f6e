"""The result of the calibration study: headline, tables at full precision, and the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import isnan
from typing import Any

from niulab.evaluation.detection.calibration.cells import table_cells
from niulab.evaluation.detection.calibration.config import DetectionConfig
from niulab.evaluation.detection.calibration.outcomes import (
    Delays,
    Found,
    Honest,
    Permuted,
    Roc,
)
from niulab.evaluation.detection.calibration.pieces import FloorPart
from niulab.evaluation.detection.portfolio import Portfolio
from niulab.evaluation.statistics.intervals import wilson_interval
from niulab.evaluation.studies.study import Columns, OfConfig, Picture, Section
from niulab.solvers.values import player_edges

__all__ = ["DetectionStudy"]

_MEANS = (
    "The largest |E0 f - 1| over all bins and levels of every factor table, under the exact law of "
    "the levels; splits of ten cards over all 252 splits of 50 random tens."
)
_ALARMS = (
    "Share of honest players whose e-value ever reached 1/alpha, that is stopped at the maximum, "
    "with Wilson's 95 % interval. Each plays alone at a table; a row is a round he stakes in, "
    "fewer than players x rounds where a kind leaves. Beside it a z-test of the results, exact "
    "mean and variance, one-sided: looked at every round and once at the end."
)
_DELAYS = (
    "Rounds from the start of the attack to the alarm. Nats a round: what the stakes tell of the "
    "card, exactly; of switchers what the split of ten cards tells, averaged over random tens. The "
    "limit is ln(1/alpha) / I; the priced limit adds ln(1/w), w the published weight of one "
    "component, and for a later start ln(1/w) of that start. Declared: the attack is known in "
    "advance. Who was not found counts as found when play ended. Named first: not asked where only "
    "one attack is watched for. Won: base units to the full portfolio's alarm, the compulsory "
    "stakes included, measured, and as the exact mean of a round times the mean delay (Wald)."
)
_BEYOND = (
    "Attacks from the first round on beyond 1.5 x the limit where declared, or 1.3 x the priced "
    "limit in the full portfolio."
)
_PERMUTED = (
    "The log as it is, and with the deals of all tables laid anew, in random order, over the "
    "rounds of the same sheet and number of seats while the stakes stay: then nobody's stakes know "
    "anything, and alarms are false. Colluders' peekers are labelled attackers and stake flat."
)
_ROC = (
    "Seers of a dealer's card against honest players who stake the top box as often, judged once, "
    "at a fixed number of rounds: e-values of the full portfolio, and z of the results. A "
    "companion without guarantee: bars are set on the honest players themselves."
)
_FLOORS = (
    "Every player of the floor judged at its end with all seats known; e-BH lists on the e-values "
    "of now. Honest alarms: honest players whose e-value ever reached 20."
)


@dataclass(frozen=True, eq=False)
class DetectionStudy(OfConfig):
    """Figures of ``detection_study``, with the portfolio they are about."""

    config: DetectionConfig
    portfolio: Portfolio
    mean_errors: dict[str, float]
    honest: tuple[Honest, ...]
    found: tuple[Found, ...]
    roc: tuple[Roc, ...]
    floors: tuple[FloorPart, ...]
    permuted: Permuted | None = None

    def warnings(self) -> tuple[str, ...]:
        """Boxes that favor the player whoever he is."""
        return tuple(player_edges(self.config.rules))

    def headline(self) -> dict[str, Any]:
        """The worst figure of every promise; ratios are of attacks that start at once."""
        at_once = [one for one in self.found if one.start == 0 and not isnan(one.limit)]
        one_box = [one for one in at_once if one.is_one_box]
        shares = [
            max((one.alarms[place] / one.n_players for one in self.honest), default=None)
            for place in range(len(self.config.alphas))
        ]
        return {
            "worst_mean_error": max(self.mean_errors.values()),
            "alphas": list(self.config.alphas),
            "worst_false_alarms": shares,
            "worst_declared_ratio": max(
                (one.declared.mean / one.limit for one in at_once if one.declared), default=None
            ),
            "worst_full_ratio": max((one.full.mean / one.priced for one in one_box), default=None),
            "worst_full_ratio_of_many_boxes": max(
                (one.full.mean / one.priced for one in at_once if not one.is_one_box), default=None
            ),
            "least_named_first": min(
                (one.named for one in self.found if not isnan(one.named)), default=None
            ),
            "fdr": self.fdr,
            "power": self.power,
            "permuted_alarms": None
            if self.permuted is None
            else [
                count / (self.permuted.n_players * self.permuted.n_permutations)
                for count in self.permuted.alarms
            ],
        }

    @property
    def fdr(self) -> float | None:
        """Mean over the floors of the share of the list that is honest; None without floors."""
        shares = [one.n_false / max(one.n_listed, 1) for one in self.floors]
        return sum(shares) / len(shares) if shares else None

    @property
    def power(self) -> float | None:
        """The share of all attackers that is listed; None without floors."""
        listed = sum(one.n_listed - one.n_false for one in self.floors)
        n = sum(one.n_attackers for one in self.floors)
        return listed / n if n else None

    def columns(self) -> Columns:
        """Everything measured, one table for each section."""
        tables: Columns = {
            "means": {"attack": [*self.mean_errors], "error": [*self.mean_errors.values()]},
            "false_alarms": self._honest_columns(),
            "delays": self._found_columns(),
        }
        for name, parts in (("roc", self.roc), ("floors", self.floors)):
            if parts:
                rows = [asdict(part) for part in parts]
                tables[name] = {key: [row[key] for row in rows] for key in rows[0]}
        if self.permuted is not None:
            tables["permuted"] = self._permuted_columns(self.permuted, self.config.alphas)
        return tables

    def sections(self) -> tuple[Section, ...]:
        """What must hold, then everything that was asked for."""
        columns = self.columns()

        def section(title: str, name: str, *lines: str) -> Section:
            return Section(title, lines, table_cells(name, columns), self._pictures(name))

        found = [
            section("What must hold", "promises"),
            section("Means of the factors", "means", _MEANS),
        ]
        if self.honest:
            found.append(section("False alarms", "false_alarms", _ALARMS))
        if self.permuted is not None:
            found.append(section("Permuted deals", "permuted", _PERMUTED))
        if self.found:
            title = f"Delays at alpha = {self.config.alpha:g}"
            found.append(section(title, "delays", _DELAYS))
            found.append(section("Beyond the targets", "beyond", _BEYOND))
        if self.roc:
            found.append(section("At fixed horizons", "roc", _ROC))
        if self.floors:
            found.append(section("Floors", "floors", _FLOORS, self._floor_line()))
        return tuple(found)

    # ------------------------------------------------------------ tables at full precision

    def _honest_columns(self) -> dict[str, Any]:
        columns: dict[str, list[Any]] = {
            "bettor": [one.name for one in self.honest],
            "players": [one.n_players for one in self.honest],
            "rows": [one.n_rows for one in self.honest],
        }
        for place, alpha in enumerate(self.config.alphas):
            for key in ("alarms", "peeked", "once"):
                columns[f"{key}_{alpha:g}"] = [getattr(one, key)[place] for one in self.honest]
        return dict(columns)

    def _found_columns(self) -> dict[str, Any]:
        plain = ("attack", "see_rate", "spread", "camouflage", "start", "information", "units")
        more = ("limit", "priced", "since", "is_one_box", "named", "won_units")
        columns: dict[str, list[Any]] = {
            key: [getattr(one, key) for one in self.found] for key in (*plain, *more)
        }
        for name in ("declared", "full"):
            delays: list[Delays | None] = [getattr(one, name) for one in self.found]
            for key in ("mean", "half_width", "n_found", "n_early", "n"):
                columns[f"{name}_{key}"] = [one and getattr(one, key) for one in delays]
        return dict(columns)

    @staticmethod
    def _permuted_columns(one: Permuted, alphas: Sequence[float]) -> dict[str, Any]:
        n = len(alphas)
        return {
            "alpha": [*alphas],
            "players": [one.n_players] * n,
            "attackers": [one.n_attackers] * n,
            "rounds": [one.n_rounds] * n,
            "fixed": [one.n_fixed] * n,
            "permutations": [one.n_permutations] * n,
            "accused": [*one.accused],
            "accused_others": [*one.accused_others],
            "alarms": [*one.alarms],
            "most": [*one.most],
        }

    # ------------------------------------------------------------ parts of the report

    def _pictures(self, name: str) -> tuple[Picture, ...]:
        from niulab.evaluation.plots.calibration import delay_ratios, false_alarms

        if name == "false_alarms":
            alt = (
                "False alarms of every honest bettor beside those of a z-test looked at every round"
            )
            drawn = false_alarms(self.honest, self.config.alphas[0])
            return (Picture("false_alarms", alt, drawn),)
        at_once = [one for one in self.found if one.start == 0 and not isnan(one.limit)]
        if name == "delays" and at_once:
            alt = "Mean delay over its limit, by information"
            return (Picture("delays", alt, delay_ratios(at_once)),)
        return ()

    def _floor_line(self) -> str:
        n = sum(one.n_players - one.n_attackers for one in self.floors)
        early = sum(one.n_early for one in self.floors)
        low, high = wilson_interval(early, n)
        return (
            f"False discovery rate {self.fdr:.4f} at {self.config.fdr:g}, power {self.power:.4f}; "
            f"honest alarms {early / n:.4f} (95 %: {low:.4f}-{high:.4f}) at .05."
        )
