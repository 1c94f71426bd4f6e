"""What free bets, match play and promotional chips are worth, and what a turnover costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from numpy.typing import NDArray
from pydantic import Field, model_validator

from niulab.engine.wagers import Slip, least_slip, verify_slip
from niulab.envs.settings.menus import default_menu
from niulab.errors import ConfigError, WagerError
from niulab.evaluation.edges.promotions import TERMS, Coupon, Way, coupons, make_way
from niulab.evaluation.studies.study import (
    Columns,
    OfConfig,
    Picture,
    Progress,
    Section,
    Stakes,
    StudyConfig,
)
from niulab.evaluation.tables import Cells
from niulab.solvers.optimal.problem import needed_cents
from niulab.solvers.optimal.turnover import TurnoverProblem, least_cost_per_handle
from niulab.solvers.values import player_edges, slip_values

__all__ = ["PromotionsConfig", "PromotionsStudy", "promotions_study"]

_COUPONS = (
    "Exact values per unit of the face, above not playing at all. A free bet wins as chips would "
    "and costs the coupon when it loses; match play lies beside as much cash and doubles a win; a "
    "chip until lost stays on after a win. A push decides nothing. A loss of several times the "
    "stake is owed in cash beyond the face, or waived."
)
_BEST = (
    "Worth: face times value, less what the least slip loses beside a coupon that does not lie on "
    "the required box. Exact."
)
_TURNOVER = (
    "The whole sum has to be staked before the bankroll may leave; who cannot cover a slip before "
    "forfeits what is left. Base units. A bonus that is paid for meeting it buys off risk: the "
    "dearer, the closer to the least risk of all. Costs come with proven gaps and count forfeits."
)
_FLAT = (
    "One slip all along, where the bankroll covers it. Without ruin the cost is the house edge "
    "times all that is staked, and the last round may stake more than is left of the turnover."
)


class PromotionsConfig(StudyConfig):
    """A coupon of ``face_cents``, and ``turnover_cents`` to be staked from a bankroll of
    ``start_cents`` (a bonus included) with the menu ``slips`` (default: the ten slips of the
    environments). prices: base units paid for meeting the requirement.
    """

    kind: Literal["promotions"] = "promotions"
    title: str = "Coupons and a turnover requirement"
    face_cents: Annotated[int, Field(ge=1)] = 1_000
    start_cents: Annotated[int, Field(ge=1)] = 5_000
    turnover_cents: Annotated[int, Field(ge=1)] = 50_000
    slips: Annotated[tuple[Stakes, ...], Field(strict=False)] = ()
    prices: Annotated[
        tuple[Annotated[float, Field(ge=0)], ...], Field(strict=False, min_length=1)
    ] = (0.0, 2.0, 5.0, 10.0, 20.0, 50.0)

    @model_validator(mode="after")
    def _can_be_used(self) -> Self:
        mistakes = [*self._mistaken_face()]
        if list(self.prices) != sorted({*self.prices}):
            mistakes.append(f"prices lists different sums in rising order, got {self.prices}")
        try:
            self.problem()
        except (ConfigError, WagerError) as error:
            lines = str(error).splitlines()
            mistakes += [line.strip().removeprefix("- ") for line in lines[1:] or lines]
        if mistakes:
            raise ValueError("\n".join(mistakes))
        return self

    @property
    def menu(self) -> tuple[Slip, ...]:
        """The slips to choose from."""
        return self.slips or default_menu(self.rules)

    def problem(self, slips: Sequence[Slip] = (), **terms: Any) -> TurnoverProblem:
        """The requirement for the whole menu or some slips."""
        return TurnoverProblem(
            rules=self.rules,
            slips=tuple(slips or self.menu),
            start_cents=self.start_cents,
            turnover_cents=self.turnover_cents,
            **terms,
        )

    def _mistaken_face(self) -> Iterator[str]:
        """A coupon lies where chips of its face could."""
        least = dict(least_slip(self.rules).stakes)
        for box in self.rules.boxes:
            try:
                verify_slip(self.rules, Slip.of({**least, box: self.face_cents}))
            except WagerError as error:
                yield f"face_cents: {error}"


@dataclass(frozen=True, eq=False)
class PromotionsStudy(OfConfig):
    """coupons: all terms, boxes and readings, exact. edges: exact house edge of each slip.

    ways: the whole menu, at each price and for the probability alone; flat: each slip by itself
    that the bankroll covers, for its mean.
    """

    config: PromotionsConfig
    coupons: tuple[Coupon, ...]
    edges: dict[Slip, Fraction]
    cheapest: tuple[Slip, Fraction]
    ways: tuple[Way, ...]
    flat: tuple[Way, ...]

    @property
    def least_cost_cents(self) -> Fraction:
        """Of the turnover where ruin is no threat."""
        return self.cheapest[1] * self.config.turnover_cents

    def best(self, terms: str, multiples: str) -> Coupon:
        """The best box for a coupon."""
        fitting = [c for c in self.coupons if (c.terms, c.multiples) == (terms, multiples)]
        return max(fitting, key=lambda coupon: coupon.net_cents)

    def warnings(self) -> tuple[str, ...]:
        """Boxes that favor the player without any promotion."""
        return tuple(player_edges(self.config.rules))

    def headline(self) -> dict[str, Any]:
        """The best use of every coupon, the least cost and the least risk of the turnover."""
        least, safest = self.ways[0], self.ways[-1]
        return {
            "best_use": {
                f"{terms}, multiples {multiples}": {
                    "box": self.best(terms, multiples).value.box,
                    "net_cents": self.best(terms, multiples).net_cents,
                }
                for terms in TERMS
                for multiples in ("owed", "waived")
            },
            "least_cost_per_handle": {"slip": str(self.cheapest[0]), "edge": self.cheapest[1]},
            "least_cost_cents_without_ruin": self.least_cost_cents,
            "least_cost": {"cost": least.cost, "gap": least.gap, "risk": least.risk},
            "least_risk": {"risk": 1 - (safest.low + safest.high) / 2, "gap": safest.gap},
        }

    def columns(self) -> Columns:
        """Coupons, ways through the turnover with the menu, and with one slip."""
        values = [coupon.value for coupon in self.coupons]
        return {
            "coupons": {
                "terms": [coupon.terms for coupon in self.coupons],
                "multiples": [coupon.multiples for coupon in self.coupons],
                "box": [value.box for value in values],
                "value_exact": [value.value for value in values],
                "value": [float(value.value) for value in values],
                "rounds": [float(value.rounds) for value in values],
                "p_win_exact": [value.p_win for value in values],
                "p_lose_exact": [value.p_lose for value in values],
                "beside_cents_exact": [value.beside_cents for value in values],
                "net_cents_exact": [coupon.net_cents for coupon in self.coupons],
                "net_cents": [float(coupon.net_cents) for coupon in self.coupons],
            },
            "turnover": _way_columns(self.ways),
            "flat": {
                **_way_columns(self.flat),
                "house_edge_exact": [self.edges[way.slips[0]] for way in self.flat],
                "house_edge": [float(self.edges[way.slips[0]]) for way in self.flat],
            },
        }

    def sections(self) -> tuple[Section, ...]:
        """Values of coupons, their best use, the turnover with the menu and with one slip."""
        return (
            self._coupon_section(),
            Section("Best use of a coupon", (_BEST,), self._best_cells()),
            self._turnover_section(),
            Section("The turnover with one slip", (_FLAT,), self._flat_cells()),
        )

    # ------------------------------------------------------------ parts of the report

    def _coupon_section(self) -> Section:
        from niulab.evaluation.plots.optimal import coupon_bars

        rows = [
            [
                *(coupon.terms, coupon.value.box, coupon.multiples),
                *(f"{float(coupon.value.value):+.6f}", f"{coupon.value.value}"),
                f"{float(coupon.value.rounds):.4f}",
                f"{float(coupon.net_cents) / self._unit:+.6f}",
            ]
            for coupon in self.coupons
            if self._is_apart(coupon)
        ]
        header = ["terms", "box", "multiples", "value", "exactly", "rounds"]
        header.append(f"worth of {self.config.face_cents} cents, base units")
        alt = "Value of every coupon on every box, per unit of its face"
        picture = Picture("coupons", alt, coupon_bars(self.coupons))
        return Section("Coupons", (_COUPONS,), (header, rows), (picture,))

    @property
    def _unit(self) -> int:
        return self.config.rules.base_unit_cents

    def _is_apart(self, coupon: Coupon) -> bool:
        """Whether a waived multiple differs from an owed one: boxes with plain losses have none."""
        same = (coupon.terms, coupon.value)
        return coupon.multiples == "owed" or all(
            (other.terms, other.value) != same for other in self.coupons if other is not coupon
        )

    def _best_cells(self) -> Cells:
        rows = []
        for terms in TERMS:
            for multiples in ("owed", "waived"):
                best = self.best(terms, multiples)
                rows.append(
                    [
                        *(terms, multiples, best.value.box),
                        f"{float(best.net_cents) / self._unit:+.6f}",
                        f"{best.net_cents / self._unit}",
                        f"{100 * float(best.net_cents / best.face_cents):.2f} %",
                    ]
                )
        return ["terms", "multiples", "best box", "worth", "exactly", "of the face"], rows

    def _turnover_section(self) -> Section:
        from niulab.evaluation.plots.optimal import turnover_ways

        config = self.config
        slip, edge = self.cheapest
        line = (
            f"{config.turnover_cents:,} cents from a bankroll of {config.start_cents:,}. Where "
            f"ruin is no threat `{slip}` is cheapest: {float(edge):.6f} of all that is staked, "
            f"{float(self.least_cost_cents) / self._unit:.6f} base units in all (exactly "
            f"{self.least_cost_cents / self._unit})."
        )
        rows = [
            [
                "the probability alone" if way.price is None else f"the mean, and {way.price:g}",
                *(f"{way.low:.6f}", f"{way.gap:.0e}"),
                "-" if way.price is None else f"{way.cost:.6f}",
                f"{100 * way.risk:.4f} %",
                str(way.slip or "-"),
            ]
            for way in self.ways
        ]
        header = ["what counts", "best", "gap", "cost", "risk of ruin", "first slip"]
        alt = "Cost against risk of ruin, of one slip all along and of the best play"
        drawn = turnover_ways(self.ways, self.flat)
        picture = Picture("turnover", alt, drawn)
        return Section("The turnover", (line, _TURNOVER), (header, rows), (picture,))

    def _flat_cells(self) -> Cells:
        turnover = self.config.turnover_cents / self._unit
        rows = [
            [
                str(way.slips[0]),
                f"{100 * float(self.edges[way.slips[0]]):.4f} %",
                f"{float(self.edges[way.slips[0]]) * turnover:.6f}",
                *(f"{way.cost:.6f}", f"{way.gap:.0e}", f"{100 * way.risk:.4f} %"),
            ]
            for way in self.flat
        ]
        return [
            "slip, cents",
            "house edge",
            "cost without ruin",
            "cost",
            "gap",
            "risk of ruin",
        ], rows


def promotions_study(
    config: PromotionsConfig, *, progress: Progress | None = None, keep: Path | None = None
) -> PromotionsStudy:
    """Value coupons (see ``solvers.optimal.promotions``) and solve the turnover (``turnover``)."""
    menu = config.menu
    covered = [s for s in menu if needed_cents(config.rules, s) <= config.start_cents]
    plans = [
        *((f"price {price:g}", config.problem(price=price)) for price in config.prices),
        ("the probability", config.problem(objective="probability")),
        *((str(slip), config.problem([slip])) for slip in covered),
    ]
    ways = []
    for place, (name, problem) in enumerate(plans):
        if progress is not None:
            progress(name, place, len(plans))
        ways.append(make_way(problem))
    n_menu = len(config.prices) + 1
    return PromotionsStudy(
        config=config,
        coupons=coupons(config.rules, config.face_cents),
        edges={slip: slip_values(config.rules, slip).house_edge for slip in menu},
        cheapest=least_cost_per_handle(config.rules, menu),
        ways=tuple(ways[:n_menu]),
        flat=tuple(ways[n_menu:]),
    )


def _way_columns(ways: Sequence[Way]) -> dict[str, Sequence[Any] | NDArray[Any]]:
    return {
        "slips": [" or ".join(map(str, way.slips)) for way in ways],
        "price": [way.price for way in ways],
        "low": [way.low for way in ways],
        "high": [way.high for way in ways],
        "p_met": [way.p_met for way in ways],
        "cost": [None if way.price is None else way.cost for way in ways],
        "first_slip": [str(way.slip or "") for way in ways],
    }
