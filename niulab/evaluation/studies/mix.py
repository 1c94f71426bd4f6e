"""What mixes of boxes cost and how far they swing: house edge, element of risk, SD, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product
from math import sqrt
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from niulab.engine.wagers import Slip, verify_slip
from niulab.errors import WagerError
from niulab.evaluation.studies.study import (
    Columns,
    OfConfig,
    OptionalStakes,
    Picture,
    Progress,
    Section,
    StudyConfig,
)
from niulab.evaluation.tables import Cells
from niulab.solvers.joint_law import joint_law
from niulab.solvers.mixes import (
    box_correlations,
    box_covariances,
    efficient,
    mix_values,
    upper_hull,
)
from niulab.solvers.sessions.net_law import NetLaw, net_law
from niulab.solvers.values import BoxValues, SlipValues, box_values, player_edges

__all__ = ["MixConfig", "MixStudy", "mix_study"]

_MOST_MIXES = 100_000

_BOXES = (
    "Per unit staked, over all deals of two hands. House edge: expected loss per initial stake. "
    "Element of risk: expected loss per chip moved, where chips moved are the result before "
    "commission and half-pay. N0: rounds after which the expected result is as large as one "
    "standard deviation."
)
_TOGETHER = (
    "Correlations of the results of two boxes on one hand, from their exact covariances: close to "
    "1, a second box adds nearly its whole standard deviation; close to 0, only what the root of "
    "the sum of squares gains."
)
_EFFICIENT = (
    "A mix is efficient if every mix that swings at least as much costs more; `mixes.csv` marks "
    "them. The line and the table keep the corners of their upper hull: from each to the next, SD "
    "is bought at the best price there is."
)


class MixConfig(StudyConfig):
    """The required box at ``required_cents`` (default: the base unit), every other box at each of
    ``stakes_cents``. ``slip`` (default: a base unit on every box but a bonus) is drawn in full.
    """

    kind: Literal["mix"] = "mix"
    title: str = "Mixes of boxes"
    required_cents: Annotated[int, Field(ge=1)] | None = None
    stakes_cents: Annotated[tuple[int, ...], Field(strict=False, min_length=1)] = (
        *(0, 20, 40, 60, 80),
        *(100, 200, 300, 500),
    )
    slip: OptionalStakes = None

    @model_validator(mode="after")
    def _stakes_are_legal(self) -> Self:
        mistakes = []
        if list(self.stakes_cents) != sorted({*self.stakes_cents}):
            mistakes.append(
                f"stakes_cents lists different stakes in rising order, got {self.stakes_cents}"
            )
        stakes = [{self.required: self.stake_cents}]
        stakes += [
            {self.required: self.stake_cents, box: cents}
            for box in self.others
            for cents in dict.fromkeys(self.stakes_cents)
        ]
        for each in (*stakes, dict(self.drawn.stakes)):
            try:
                verify_slip(self.rules, Slip.of(each))
            except WagerError as error:
                mistakes.append(str(error))
        n_mixes = len(self.stakes_cents) ** len(self.others)
        if n_mixes > _MOST_MIXES:
            mistakes.append(
                f"{len(self.stakes_cents)} stakes on {len(self.others)} boxes are {n_mixes:,} "
                f"mixes: at most {_MOST_MIXES:,} are compared, so list fewer stakes_cents"
            )
        if mistakes:
            raise ValueError("\n".join(dict.fromkeys(mistakes)))
        return self

    @property
    def required(self) -> str:
        """The box that every slip stakes."""
        return self.rules.required_box or ""

    @property
    def others(self) -> tuple[str, ...]:
        """The boxes that are optional."""
        return tuple(box for box in self.rules.boxes if box != self.required)

    @property
    def stake_cents(self) -> int:
        """The stake on the required box."""
        return self.required_cents or self.rules.base_unit_cents

    @property
    def drawn(self) -> Slip:
        """The slip whose payoffs are drawn."""
        if self.slip is not None:
            return self.slip
        main = [box for box in self.others if not self.rules.boxes[box].is_bonus]
        return Slip.of(dict.fromkeys([self.required, *main], self.stake_cents))

    def slips(self) -> list[Slip]:
        """Every mix."""
        grid = product(self.stakes_cents, repeat=len(self.others))
        return [self.mix(**dict(zip(self.others, stakes, strict=True))) for stakes in grid]

    def mix(self, **stakes_cents: int) -> Slip:
        """The mix with some stakes by box, and the least of the grid on the others."""
        least = dict.fromkeys(self.others, self.stakes_cents[0])
        return Slip.of({self.required: self.stake_cents, **least, **stakes_cents})


@dataclass(frozen=True, eq=False)
class MixStudy(OfConfig):
    """Exact values of boxes (per unit staked) and of mixes (in cents), as Fractions.

    most_sd: indices, by rising cost, of the mixes with the most SD for their cost; frontier: their
    upper hull; least_sd: those with the least SD for their cost (the least slip alone, unless a box
    favors the player).
    """

    config: MixConfig
    boxes: dict[str, BoxValues]
    covariances: dict[tuple[str, str], Fraction]
    correlations: dict[tuple[str, str], float]
    mixes: tuple[SlipValues, ...]
    most_sd: tuple[int, ...]
    frontier: tuple[int, ...]
    least_sd: tuple[int, ...]
    payoff: NetLaw

    @cached_property
    def by_slip(self) -> dict[Slip, SlipValues]:
        """The mixes by slip."""
        return {values.slip: values for values in self.mixes}

    def warnings(self) -> tuple[str, ...]:
        """Boxes that favor the player."""
        return tuple(player_edges(self.config.rules))

    def headline(self) -> dict[str, Any]:
        """Edges of the boxes, their correlations, and the extreme mixes."""
        return {
            "house_edge": {box: values.house_edge for box, values in self.boxes.items()},
            "element_of_risk": {box: values.element_of_risk for box, values in self.boxes.items()},
            "n0": {box: v.n0 for box, v in self.boxes.items()},
            "correlations": {
                f"{one},{other}": self.correlations[one, other]
                for one, other in combinations(self.boxes, 2)
            },
            "mixes": len(self.mixes),
            "extremes": {
                name: {"slip": str(values.slip), "house_edge": values.house_edge}
                for name, values in self._extremes()
            },
            "frontier": [str(self.mixes[place].slip) for place in self.frontier],
        }

    def columns(self) -> Columns:
        """Boxes, correlations, mixes and the payoffs of the drawn slip."""
        unit = self.config.rules.base_unit_cents
        boxes, mixes, pairs = self.boxes, self.mixes, list(self.covariances)
        return {
            "boxes": {
                "box": list(boxes),
                "ev_exact": [v.ev for v in boxes.values()],
                "ev": [float(v.ev) for v in boxes.values()],
                "house_edge": [float(v.house_edge) for v in boxes.values()],
                "element_of_risk": [float(v.element_of_risk) for v in boxes.values()],
                "moved": [float(v.moved) for v in boxes.values()],
                "sd": [v.sd for v in boxes.values()],
                "n0": [v.n0 for v in boxes.values()],
            },
            "correlations": {
                "box": [one for one, _ in pairs],
                "other": [other for _, other in pairs],
                "covariance_exact": [self.covariances[pair] for pair in pairs],
                "covariance": [float(self.covariances[pair]) for pair in pairs],
                "correlation": [self.correlations[pair] for pair in pairs],
            },
            "mixes": {
                "slip": [str(v.slip) for v in mixes],
                **{f"{box}_cents": [v.slip.stake(box) for v in mixes] for box in boxes},
                "ev_cents_exact": [v.ev_cents for v in mixes],
                "ev_cents": [float(v.ev_cents) for v in mixes],
                "house_edge": [float(v.house_edge) for v in mixes],
                "element_of_risk": [float(v.element_of_risk) for v in mixes],
                "moved_cents": [float(v.moved_cents) for v in mixes],
                "sd_cents": [v.sd_cents for v in mixes],
                "n0": [v.n0 for v in mixes],
                "is_most_sd": _among(self.most_sd, mixes),
                "is_frontier": _among(self.frontier, mixes),
                "is_least_sd": _among(self.least_sd, mixes),
            },
            "payoff": {
                "net_cents": self.payoff.nets,
                "net_base_units": self.payoff.nets / unit,
                "deals": self.payoff.counts,
                "probability": self.payoff.probabilities,
            },
        }

    def sections(self) -> tuple[Section, ...]:
        """Boxes, correlations, edges over mixes, cost against variance, payoffs."""
        return (
            Section("Boxes", (_BOXES,), _box_cells(self.boxes)),
            Section("How the boxes move together", (_TOGETHER,), self._correlation_cells()),
            self._edge_section(),
            self._frontier_section(),
            self._payoff_section(),
        )

    # ------------------------------------------------------------ parts of the report

    def _correlation_cells(self) -> Cells:
        rows = [
            [one, *(f"{self.correlations[one, other]:.4f}" for other in self.boxes)]
            for one in self.boxes
        ]
        return ["box", *self.boxes], rows

    def _extremes(self) -> list[tuple[str, SlipValues]]:
        mixes = self.mixes
        return [
            ("least house edge", min(mixes, key=lambda v: v.house_edge)),
            ("greatest house edge", max(mixes, key=lambda v: v.house_edge)),
            ("least element of risk", min(mixes, key=lambda v: v.element_of_risk)),
            ("least cost of a round", max(mixes, key=lambda v: v.ev_cents)),
            ("most SD", max(mixes, key=lambda v: v.variance)),
        ]

    def _edge_section(self) -> Section:
        config, unit = self.config, self.config.rules.base_unit_cents
        line = (
            f"{len(self.mixes):,} mixes: `{config.required}={config.stake_cents}` and each of "
            f"{', '.join(map(str, config.stakes_cents))} cents on every other box. The edge of a "
            "mix is the mean of its boxes' edges, weighted with their stakes."
        )
        pictures: tuple[Picture, ...] = ()
        if len(config.others) > 1 and len(config.stakes_cents) > 1:
            from niulab.evaluation.plots.bets import EdgeMap, edge_maps

            stakes = tuple(cents / unit for cents in config.stakes_cents)
            maps = [
                EdgeMap(one, other, stakes, stakes, self._edges(one, other))
                for one, other in combinations(config.others, 2)
            ]
            rest = ", all other boxes at their least" if len(config.others) > 2 else ""
            alt = f"House edge over the stakes of two boxes{rest}; the figures are in mixes.csv"
            pictures = (Picture("edges", alt, edge_maps(maps)),)
        cells = _mix_cells(self._extremes(), unit)
        return Section("House edge over mixes", (line,), cells, pictures)

    def _edges(self, one: str, other: str) -> Any:
        """House edges float64 (stakes of ``other``, stakes of ``one``), the rest at its least."""
        stakes, mix = self.config.stakes_cents, self.config.mix
        slips = [[mix(**{one: x, other: y}) for x in stakes] for y in stakes]
        return np.array([[float(self.by_slip[slip].house_edge) for slip in row] for row in slips])

    def _frontier_section(self) -> Section:
        from niulab.evaluation.plots.bets import cost_frontier

        config, unit = self.config, self.config.rules.base_unit_cents
        costs = np.array([-float(v.ev_cents) / unit for v in self.mixes])
        sds = np.array([v.sd_cents / unit for v in self.mixes])
        places = {values.slip: place for place, values in enumerate(self.mixes)}
        rays = {
            f"{config.required} + {box}": [
                places[config.mix(**{box: cents})] for cents in config.stakes_cents
            ]
            for box in config.others
        }
        alt = "Standard deviation against expected loss of every mix, with the efficient ones"
        picture = Picture("frontier", alt, cost_frontier(costs, sds, rays, self.frontier))
        rows = [("", self.mixes[place]) for place in self.frontier]
        return Section(
            "Cost against variance", (_EFFICIENT,), _mix_cells(rows, unit, named=False), (picture,)
        )

    def _payoff_section(self) -> Section:
        from niulab.evaluation.plots.bets import payoff_histogram

        law, unit = self.payoff, self.config.rules.base_unit_cents
        line = (
            f"`{law.slip}` has {len(law.nets)} different results. Mean "
            f"{float(law.ev_cents) / unit:+.7f}, SD {sqrt(law.variance) / unit:.6f} base units, "
            f"skewness {law.skewness:+.4f}, excess kurtosis {law.excess_kurtosis:+.4f}."
        )
        rows = [
            [f"{net / unit:+g}", f"{n:,}", f"{p:.9f}"]
            for net, n, p in zip(law.nets.tolist(), law.counts, law.probabilities, strict=True)
        ]
        alt = f"Probability of every result of {law.slip}"
        picture = Picture("payoff", alt, payoff_histogram(law, unit_cents=unit))
        cells = (["net, base units", "deals", "probability"], rows)
        return Section(f"Payoffs of {law.slip}", (line,), cells, (picture,))


def mix_study(
    config: MixConfig, *, progress: Progress | None = None, keep: Path | None = None
) -> MixStudy:
    """Values of all mixes of a grid, as ``slip_values`` gives them (see ``solvers.mixes``)."""
    law = joint_law(config.rules)
    mixes = mix_values(config.rules, config.slips(), law)
    most_sd = efficient(mixes, by="most")
    return MixStudy(
        config=config,
        boxes=box_values(config.rules, law),
        covariances=box_covariances(config.rules, law),
        correlations=box_correlations(config.rules, law),
        mixes=tuple(mixes),
        most_sd=most_sd,
        frontier=upper_hull(mixes, most_sd),
        least_sd=efficient(mixes, by="least"),
        payoff=net_law(config.rules, config.drawn, law),
    )


def _among(places: Sequence[int], mixes: Sequence[SlipValues]) -> NDArray[np.bool_]:
    return np.isin(np.arange(len(mixes)), places)


def _box_cells(boxes: dict[str, BoxValues]) -> Cells:
    header = ["box", "EV", "EV, exact", "house edge", "element of risk", "SD", "N0"]
    rows = [
        [
            box,
            f"{float(v.ev):+.10f}",
            f"{v.ev}",
            f"{100 * float(v.house_edge):.4f} %",
            f"{100 * float(v.element_of_risk):.4f} %",
            f"{v.sd:.6f}",
            f"{v.n0:,.0f}",
        ]
        for box, v in boxes.items()
    ]
    return header, rows


def _mix_cells(
    mixes: Sequence[tuple[str, SlipValues]], unit_cents: int, *, named: bool = True
) -> Cells:
    header = ["cost, base units", "house edge", "element of risk", "SD, base units", "N0"]
    rows = [
        [
            *([name] if named else []),
            str(v.slip),
            f"{-float(v.ev_cents) / unit_cents:.6f}",
            f"{100 * float(v.house_edge):.4f} %",
            f"{100 * float(v.element_of_risk):.4f} %",
            f"{v.sd_cents / unit_cents:.6f}",
            f"{v.n0:,.0f}",
        ]
        for name, v in mixes
    ]
    return [*(["mix"] if named else []), "slip, cents", *header], rows
