"""The result of the calibration study: headline, tables at full precision, and the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import isnan
from typing import Any

from niulab.evaluation.detection.calibration.config import DetectionConfig
from niulab.evaluation.detection.calibration.outcomes import Delays, Found, Honest, Roc
from niulab.evaluation.detection.calibration.pieces import FloorPart
from niulab.evaluation.detection.portfolio import Portfolio
from niulab.evaluation.statistics.intervals import wilson_interval
from niulab.evaluation.studies.study import Columns, OfConfig, Picture, Section
from niulab.evaluation.tables import Cells
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
    "Rounds from the start of the attack to the alarm. I: exact nats a round that the stakes tell "
    "of the card. The limit is ln(1/alpha) / I; the priced limit adds ln(1/w), w the published "
    "weight of one component. With a start after round 0 the weight of that start is added in the "
    "last column only. Who was not found counts as found when play ended."
)
_EXPOSURE = (
    "Base units won from the start to the full portfolio's alarm, the compulsory stakes included: "
    "measured, and the exact mean of a round times the mean delay (Wald)."
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
        return tables

    def sections(self) -> tuple[Section, ...]:
        """Means, false alarms, delays, exposure, ROC, floors; those that were asked for."""
        found = [self._mean_section()]
        found += [self._alarm_section()] if self.honest else []
        found += [self._delay_section(), self._exposure_section()] if self.found else []
        found += [self._roc_section()] if self.roc else []
        found += [self._floor_section()] if self.floors else []
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

    # ------------------------------------------------------------ parts of the report

    def _mean_section(self) -> Section:
        rows = [[attack, f"{error:.1e}"] for attack, error in self.mean_errors.items()]
        return Section("Means of the factors", (_MEANS,), (["attack", "largest error"], rows))

    def _alarm_section(self) -> Section:
        from niulab.evaluation.plots.calibration import false_alarms

        alphas, rows = self.config.alphas, []
        header = ["bettor", "players", "rows"]
        for alpha in alphas:
            header += [f"alarms at {alpha:g}", "95 %", "z peeked", "z once"]
        for one in self.honest:
            row = [one.name, f"{one.n_players:,}", f"{one.n_rows:,}"]
            for place in range(len(alphas)):
                low, high = one.interval(place)
                shares = (one.alarms[place], one.peeked[place], one.once[place])
                alarm, peeked, once = (f"{count / one.n_players:.4f}" for count in shares)
                row += [alarm, f"{low:.4f}-{high:.4f}", peeked, once]
            rows.append(row)
        alt = "False alarms of every honest bettor beside those of a z-test looked at every round"
        drawn = false_alarms(self.honest, alphas[0])
        return Section(
            "False alarms", (_ALARMS,), (header, rows), (Picture("false_alarms", alt, drawn),)
        )

    def _delay_section(self) -> Section:
        from niulab.evaluation.plots.calibration import delay_ratios

        header = ["attack", "seen", "stakes", "hides", "start", "I", "limit"]
        header += ["declared", "/ limit", "full", "/ priced", "/ with start", "found", "named"]
        rows = [self._delay_row(one) for one in self.found]
        pictures = []
        drawn = [one for one in self.found if one.start == 0 and not isnan(one.limit)]
        if drawn:
            alt = "Mean delay over its limit, by information"
            pictures.append(Picture("delays", alt, delay_ratios(drawn)))
        title = f"Delays at alpha = {self.config.alpha:g}"
        return Section(title, (_DELAYS,), (header, rows), tuple(pictures))

    def _delay_row(self, one: Found) -> list[str]:
        declared = one.declared
        return [
            *(one.attack, f"{one.see_rate:g}", one.spread or "-", f"{one.camouflage:g}"),
            *(str(one.start), _figure(one.information, 4), _figure(one.limit, 1)),
            "-" if declared is None else f"{declared.mean:.1f} ± {declared.half_width:.1f}",
            "-" if declared is None else _figure(declared.mean / one.limit, 2),
            f"{one.full.mean:.1f} ± {one.full.half_width:.1f}",
            _figure(one.full.mean / one.priced, 2),
            _figure(one.full.mean / one.since, 2),
            f"{one.full.n_found} of {one.full.n - one.full.n_early}",
            "-" if isnan(one.named) else f"{100 * one.named:.1f} %",
        ]

    def _exposure_section(self) -> Section:
        header = ["attack", "seen", "stakes", "hides", "start", "units a round"]
        header += ["won at the alarm", "by Wald"]
        rows = [
            [
                *(one.attack, f"{one.see_rate:g}", one.spread or "-", f"{one.camouflage:g}"),
                *(str(one.start), _signed(one.units), _signed(one.won_units)),
                _signed(one.units * one.full.mean),
            ]
            for one in self.found
        ]
        return Section("Exposure at the alarm", (_EXPOSURE,), (header, rows))

    def _roc_section(self) -> Section:
        header = ["rounds", "area, e-value", "area, results", "power at 1 %, e-value"]
        header += ["power at 1 %, results", f"e-value of {1 / self.config.alpha:,.0f} or more"]
        rows = [
            [
                f"{one.rounds:,}",
                *(f"{x:.4f}" for x in (one.area, one.area_z, one.power, one.power_z, one.alarmed)),
            ]
            for one in self.roc
        ]
        return Section("At fixed horizons", (_ROC,), (header, rows))

    def _floor_section(self) -> Section:
        return Section("Floors", (_FLOORS, self._floor_line()), _floor_cells(self.floors))

    def _floor_line(self) -> str:
        n = sum(one.n_players - one.n_attackers for one in self.floors)
        early = sum(one.n_early for one in self.floors)
        low, high = wilson_interval(early, n)
        return (
            f"False discovery rate {self.fdr:.4f} at {self.config.fdr:g}, power {self.power:.4f}; "
            f"honest alarms {early / n:.4f} (95 %: {low:.4f}-{high:.4f}) at .05."
        )


def _floor_cells(floors: Sequence[FloorPart]) -> Cells:
    header = ["players", "attackers", "listed", "honest among them", "honest alarms"]
    rows = [
        [str(n) for n in (f.n_players, f.n_attackers, f.n_listed, f.n_false, f.n_early)]
        for f in floors
    ]
    return header, rows


def _figure(value: float, digits: int) -> str:
    return "-" if isnan(value) else f"{value:.{digits}f}"


def _signed(value: float) -> str:
    return "-" if isnan(value) else f"{value:+.3f}"
