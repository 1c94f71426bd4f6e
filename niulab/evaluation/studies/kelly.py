"""How much to stake on which box once a card is seen, and how fast a bankroll then grows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from niulab.engine.rules.catalog import load_rules, shipped_names
from niulab.engine.rules.model import RuleSet
from niulab.engine.wagers import exposure_cents, least_slip
from niulab.errors import CardError
from niulab.evaluation.edges.seer import BlindSheet, Seer, look_blind, make_seer, split_shoe
from niulab.evaluation.studies.study import (
    Columns,
    OfConfig,
    Picture,
    Progress,
    Section,
    StudyConfig,
)
from niulab.evaluation.tables import Cells
from niulab.solvers.information import Position
from niulab.solvers.values import player_edges

__all__ = ["KellyConfig", "KellyStudy", "kelly_study"]

_Listed = Field(strict=False, min_length=1)
_Share = Annotated[float, Field(ge=0, le=1)]
_POINTS = 40  # of the curve, for each full Kelly stake
_MARKS = (0.25, 0.5, 0.75, 1.0, 1.5, 2.0)

_STAKES = (
    "Shares of the bankroll for the greatest mean logarithm, all boxes at once inside their cover; "
    "stakes of any size, the required box free to stay empty. Growth is the mean of log(bankroll "
    "after / before) per round; no other stakes grow faster by more than the gap."
)
_CURVE = (
    "All stakes multiplied by the same number, averaged over the cards. Half the stakes keep about "
    "three quarters of the growth; at about twice the stakes nothing is left of it."
)
_GRID = (
    "The best slips among those the table takes, the required box at its minimum or above. "
    "`-`: no slip grows, and who may sit out does. `stakes.csv` has the slip of who must join "
    "every round, too, and the bound of stakes of any size."
)
_RATES = (
    "Who sees the card only in a share of the rounds, and otherwise plays on what the sheet alone "
    "says. Exact for the next round from the bankroll named: the slips change with it."
)
_BLIND = (
    "Every box at no edge for the player proves a stake of zero: by Jensen's inequality E log(1 + "
    "f X) is at most log(1 + f E X). A box with an EV above zero proves one above zero: the growth "
    "starts off with that slope. EVs are compared as fractions, so both are exact."
)


class KellyConfig(StudyConfig):
    """What is seen before the stakes go in: one card of the player's (``own``) or the dealer's hand
    is of one of the classes ``cards`` (default: every rank; what they leave out is one more class).

    bankrolls_cents: for stakes on the chip grid. see_rates: shares of rounds in which the card is
    seen. max_multiple: where the Kelly curve ends. compare_sheets: whether to look at every shipped
    sheet without information, too.
    """

    kind: Literal["kelly"] = "kelly"
    title: str = "Kelly stakes with a seen card"
    positions: Annotated[tuple[Position, ...], _Listed] = ("own", "dealer")
    cards: Annotated[tuple[str, ...], Field(strict=False)] = ()
    bankrolls_cents: Annotated[tuple[int, ...], _Listed] = (5_000, 10_000, 50_000)
    see_rates: Annotated[tuple[_Share, ...], _Listed] = (0.0, 0.25, 0.5, 0.75, 1.0)
    max_multiple: Annotated[float, Field(ge=1, le=20)] = 2.5
    compare_sheets: bool = True

    @model_validator(mode="after")
    def _words_and_numbers_fit(self) -> Self:
        mistakes = []
        for key in ("positions", "bankrolls_cents", "see_rates"):
            values = getattr(self, key)
            if list(values) != sorted({*values}, reverse=key == "positions"):
                order = "own before dealer" if key == "positions" else "in rising order"
                mistakes.append(f"{key} lists different entries, {order}, got {values}")
        least = exposure_cents(self.rules, least_slip(self.rules))
        mistakes += [
            f"bankrolls_cents: {cents} do not put '{least_slip(self.rules)}' in sight: "
            f"write {least} or more"
            for cents in self.bankrolls_cents
            if cents < least
        ]
        try:
            split_shoe(self.rules, self.cards)
        except CardError as error:
            mistakes.append(f"cards: {error}")
        if mistakes:
            raise ValueError("\n".join(mistakes))
        return self

    @property
    def sheets(self) -> tuple[RuleSet, ...]:
        """The sheet with information, and those to look at without, itself among them."""
        shipped = map(load_rules, shipped_names() if self.compare_sheets else ())
        others = (r for r in shipped if not r.is_ranking_only and r.name != self.rules.name)
        return (self.rules, *others)


@dataclass(frozen=True, eq=False)
class KellyStudy(OfConfig):
    """A seer for each position, and the sheets without information.

    Growth is the mean log growth of the bankroll in a round; rates and fractions are shares.
    """

    config: KellyConfig
    seers: tuple[Seer, ...]
    blind: tuple[BlindSheet, ...]

    @cached_property
    def multiples(self) -> NDArray[np.float64]:
        """Of the full Kelly stakes: the grid of the curve."""
        most = self.config.max_multiple
        return np.linspace(0, most, round(_POINTS * most) + 1)

    def warnings(self) -> tuple[str, ...]:
        """Boxes of the sheet that favor the player without any information."""
        return tuple(player_edges(self.config.rules))

    def headline(self) -> dict[str, Any]:
        """Growth with each position seen, the best card, and who grows without."""
        named = [(seer.position, one) for seer in self.seers for one in seer.seen]
        position, best = max(named, key=lambda pair: pair[1].plan.growth)
        plans = [*(one.plan for _, one in named), *(one.plan for one in self.blind)]
        return {
            "growth": {seer.position: seer.growth for seer in self.seers},
            "best_card": {
                "position": position,
                "card": best.card,
                "growth": best.plan.growth,
                "fractions": best.plan.fractions,
            },
            "max_gap": max(plan.gap for plan in plans),
            "break_even_see_rate": {
                seer.position: {cents: seer.break_even_rate(cents) for cents in self._bankrolls}
                for seer in self.seers
            },
            "worth_a_stake_without_information": [
                one.rules.name for one in self.blind if one.favors_player
            ],
        }

    def columns(self) -> Columns:
        """Cards, the curve, stakes on the grid, see rates, and sheets without information."""
        return {
            "cards": _by_column(self._card_rows()),
            "curve": _by_column(self._curve_rows()),
            "stakes": _by_column(self._stake_rows()),
            "rates": _by_column(self._rate_rows()),
            "blind": _by_column(self._blind_rows()),
        }

    def sections(self) -> tuple[Section, ...]:
        """Stakes by card, the Kelly curve, the chip grid, see rates, and blind play."""
        return (
            self._card_section(),
            self._curve_section(),
            Section("Stakes on the chip grid", (_GRID,), self._grid_cells()),
            self._rate_section(),
            Section("Without information", (_BLIND,), self._blind_cells()),
        )

    # ------------------------------------------------------------ rows of the tables

    @property
    def _bankrolls(self) -> tuple[int, ...]:
        return self.config.bankrolls_cents

    def _card_rows(self) -> list[dict[str, Any]]:
        return [
            {
                "position": seer.position,
                "card": one.card,
                "chance_exact": one.chance,
                "chance": float(one.chance),
                **{f"{box}_ev_exact": ev for box, ev in one.evs.items()},
                **{f"{box}_ev": float(ev) for box, ev in one.evs.items()},
                **{f"{box}_fraction": share for box, share in one.plan.fractions.items()},
                "in_sight_fraction": one.plan.in_sight,
                "growth": one.plan.growth,
                "gap": one.plan.gap,
            }
            for seer in self.seers
            for one in seer.seen
        ]

    def _curve_rows(self) -> list[dict[str, Any]]:
        return [
            {"position": seer.position, "multiple": float(multiple), "growth": float(growth)}
            for seer in self.seers
            for multiple, growth in zip(self.multiples, seer.curve(self.multiples), strict=True)
        ]

    def _stake_rows(self) -> list[dict[str, Any]]:
        named = [("none", "", self.seers[0].unseen)]
        named += [(seer.position, one.card, one.stakes) for seer in self.seers for one in seer.seen]
        return [
            {
                "position": position,
                "card": card,
                "bankroll_cents": at.bankroll_cents,
                "must_play": must_play,
                "slip": str(at.slip(must_play=must_play).slip or ""),
                "growth": at.slip(must_play=must_play).growth,
                "bound": at.slip(must_play=must_play).bound,
                "ev_cents": -at.slip(must_play=must_play).loss_cents,
            }
            for position, card, stakes in named
            for at in stakes
            for must_play in (False, True)
        ]

    def _rate_rows(self) -> list[dict[str, Any]]:
        return [
            {
                "position": seer.position,
                "bankroll_cents": cents,
                "must_play": must_play,
                "see_rate": rate,
                "growth": seer.grid_growth(cents, see_rate=rate, must_play=must_play),
            }
            for seer in self.seers
            for cents in self._bankrolls
            for must_play in (False, True)
            for rate in self.config.see_rates
        ]

    def _blind_rows(self) -> list[dict[str, Any]]:
        return [
            {
                "rules": one.rules.name,
                "rules_hash": one.rules.rules_hash,
                "box": box,
                "ev_exact": ev,
                "ev": float(ev),
                "fraction": one.plan.fractions[box],
                "growth": one.plan.growth,
                "gap": one.plan.gap,
            }
            for one in self.blind
            for box, ev in one.evs.items()
        ]

    # ------------------------------------------------------------ parts of the report

    def _card_section(self) -> Section:
        from niulab.evaluation.plots.optimal import card_stakes

        boxes = tuple(self.config.rules.boxes)
        header = ["seen", "chance", *(f"{box}, %" for box in boxes)]
        header += ["in sight, %", "growth, %", "rounds to double", "gap"]
        rows = [
            [
                f"{seer.position} {one.card}",
                f"{one.chance}",
                *(_percent(one.plan.fractions[box]) for box in boxes),
                _percent(one.plan.in_sight),
                f"{100 * one.plan.growth:.5f}",
                f"{log(2) / one.plan.growth:,.0f}" if one.plan.growth > 0 else "-",
                f"{one.plan.gap:.0e}",
            ]
            for seer in self.seers
            for one in seer.seen
        ]
        alt = "Share of the bankroll staked on each box by the card seen"
        picture = Picture("stakes_by_card", alt, card_stakes(self.seers))
        lines = (_STAKES, *map(_mean_line, self.seers))
        return Section("Stakes by card", lines, (header, rows), (picture,))

    def _curve_section(self) -> Section:
        from niulab.evaluation.plots.optimal import kelly_curves

        rows = []
        for seer in self.seers:
            at, full = seer.curve(_MARKS), seer.growth
            growths = (f"{100 * growth:+.5f}" for growth in at)
            kept = f"{100 * at[1] / full:.1f} %" if full > 0 else "-"
            rows.append([seer.whose, *growths, kept])
        header = ["card", *(f"growth at {mark:g}, %" for mark in _MARKS), "half keeps"]
        alt = "Growth over multiples of Kelly's stakes, with the half-Kelly mark"
        picture = Picture("kelly_curve", alt, kelly_curves(self.multiples, self.seers))
        return Section("The Kelly curve", (_CURVE,), (header, rows), (picture,))

    def _grid_cells(self) -> Cells:
        header = ["seen", *(f"slip from {cents:,} cents" for cents in self._bankrolls)]
        header += [f"growth from {cents:,}, %" for cents in self._bankrolls]
        named = [("nothing", self.seers[0].unseen)]
        named += [(f"{s.position} {one.card}", one.stakes) for s in self.seers for one in s.seen]
        rows = [
            [
                name,
                *(str(at.free.slip or "-") for at in stakes),
                *(f"{100 * at.free.growth:.5f}" for at in stakes),
            ]
            for name, stakes in named
        ]
        return header, rows

    def _rate_section(self) -> Section:
        from niulab.evaluation.plots.optimal import rate_lines

        header, rows = ["card", "bankroll, cents", "joins"], []
        header += [f"growth at {100 * rate:g} %, %" for rate in self.config.see_rates]
        for seer in self.seers:
            for cents in self._bankrolls:
                for must_play, joins in ((False, "when it pays"), (True, "every round")):
                    growths = [
                        seer.grid_growth(cents, see_rate=rate, must_play=must_play)
                        for rate in self.config.see_rates
                    ]
                    even = seer.break_even_rate(cents) if must_play else 0.0
                    rows.append(
                        [
                            seer.whose,
                            f"{cents:,}",
                            joins,
                            *(f"{100 * growth:+.5f}" for growth in growths),
                            "never" if even is None else f"{100 * even:.2f} %",
                        ]
                    )
        alt = "Growth over the share of rounds in which the card is seen"
        picture = Picture("see_rates", alt, rate_lines(self.config.see_rates, self.seers))
        cells = [*header, "grows from"], rows
        return Section("Seeing it now and then", (_RATES,), cells, (picture,))

    def _blind_cells(self) -> Cells:
        rows = []
        for one in self.blind:
            best = max(one.evs, key=one.evs.__getitem__)
            staked = {box: share for box, share in one.plan.fractions.items() if share > 0}
            rows.append(
                [
                    one.rules.name,
                    f"{best} {float(one.evs[best]):+.8f}",
                    f"{one.evs[best]}",
                    ", ".join(f"{box} {100 * share:.3f} %" for box, share in staked.items())
                    or "nothing",
                    f"{100 * one.plan.growth:.5f}",
                ]
            )
        return ["sheet", "best box, EV", "EV, exact", "Kelly stakes", "growth, %"], rows


def kelly_study(
    config: KellyConfig, *, progress: Progress | None = None, keep: Path | None = None
) -> KellyStudy:
    """Solve every card in every position (see ``seer``), then the sheets without information."""
    classes = split_shoe(config.rules, config.cards)
    total = len(config.positions) * len(classes) + len(config.sheets)
    begun = 0

    def tell(what: str) -> None:
        nonlocal begun
        if progress is not None:
            progress(what, begun, total)
        begun += 1

    seers = [
        make_seer(config.rules, position, classes, config.bankrolls_cents, tell=tell)
        for position in config.positions
    ]
    blind = []
    for rules in config.sheets:
        tell(rules.name)
        blind.append(look_blind(rules))
    return KellyStudy(config, tuple(seers), tuple(blind))


def _by_column(rows: Sequence[dict[str, Any]]) -> dict[str, Sequence[Any] | NDArray[Any]]:
    return {title: [row[title] for row in rows] for title in rows[0]}


def _mean_line(seer: Seer) -> str:
    growth, worth = seer.growth, [one.card for one in seer.seen if one.plan.in_sight > 0]
    if not growth > 0:
        return f"No {seer.whose} card is worth a stake."
    return (
        f"Who sees one {seer.whose} card in every round, each with its frequency, grows by "
        f"{100 * growth:.5f} % a round and doubles in {log(2) / growth:,.0f} rounds; worth a "
        f"stake: {', '.join(worth)}."
    )


def _percent(share: float) -> str:
    return f"{100 * share:.3f}" if share else "0"
