"""Pictures of optimal stakes: Kelly's shares and curve, rebates and their quit points, coupons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from niulab.evaluation.edges.promotions import Coupon, Way
from niulab.evaluation.edges.seer import Seer
from niulab.evaluation.plots.style import (
    FAINT,
    INK,
    finish,
    make_figure,
    png_of,
    series_style,
    span,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "card_stakes",
    "coupon_bars",
    "kelly_curves",
    "quit_bands",
    "rate_lines",
    "rebate_values",
    "slip_map",
    "turnover_ways",
]

Floats = NDArray[np.float64]

_FILLS = (("#0072B2", ""), ("#E69F00", "///"), ("#009E73", "..."), ("#CC79A7", "xxx"))
_N_MARKERS = 8  # of series_style


def card_stakes(seers: Sequence[Seer]) -> bytes:
    """Share of the bankroll staked on each box by the card seen, a panel for each position.

    The mark above a bar is all that lies in sight, cover included.
    """
    n_cards = max(len(seer.seen) for seer in seers)
    figure, panels = make_figure(
        max(9.0, 1.5 + 0.5 * n_cards), 1.0 + 2.6 * len(seers), n_panels=len(seers), sharex=False
    )
    panels = np.atleast_1d(panels)
    for panel, seer in zip(panels, seers, strict=True):
        _draw_stakes(panel, seer)
    finish(panels[0])
    return png_of(figure)


def _draw_stakes(axes: Axes, seer: Seer) -> None:
    places, bottom = np.arange(len(seer.seen)), np.zeros(len(seer.seen))
    for index, box in enumerate(seer.seen[0].plan.fractions):
        color, hatch = _FILLS[index % len(_FILLS)]
        shares = 100 * np.array([one.plan.fractions[box] for one in seer.seen])
        axes.bar(
            places, shares, 0.62, bottom=bottom, label=box, color=color, hatch=hatch, edgecolor=INK
        )
        bottom += shares
    sights = 100 * np.array([one.plan.in_sight for one in seer.seen])
    is_staked = sights > 0
    axes.plot(
        places[is_staked],
        sights[is_staked],
        "_",
        color=INK,
        markersize=16,
        markeredgewidth=2,
        label="with its cover",
    )
    for place, height in zip(places, sights, strict=True):
        axes.annotate(
            f"{height:.1f}" if height else "0",
            (place, height),
            xytext=(0, 4),
            textcoords="offset points",
            ha="center",
            fontsize=8,
            color=INK,
        )
    axes.set_ylim(0, 1.15 * max(sights.max(), 1e-3))
    axes.set_xticks(places, [one.card for one in seer.seen])
    axes.set_xlabel(f"{seer.whose} card seen")
    axes.set_ylabel("% of the bankroll")
    axes.grid(color=FAINT, linewidth=0.5)
    axes.set_axisbelow(True)


def kelly_curves(multiples: Floats, seers: Sequence[Seer]) -> bytes:
    """Growth over multiples of Kelly's stakes, with a mark at half and at all of them."""
    figure, axes = make_figure(9.0, 4.4)
    axes.axhline(0, color=INK, linewidth=0.8)
    for multiple, name in ((0.5, "half Kelly"), (1.0, "Kelly")):
        axes.axvline(multiple, color=INK, linestyle=":", linewidth=1.0)
        axes.annotate(
            name,
            (multiple, 1.01),
            xycoords=("data", "axes fraction"),
            ha="center",
            va="bottom",
            fontsize=9,
            color=INK,
        )
    for index, seer in enumerate(seers):
        growth, style = 100 * seer.curve(multiples), series_style(index)
        axes.plot(multiples, growth, label=f"{seer.whose} card", markevery=10, **style)
        marks = 100 * seer.curve([0.5, 1.0])
        for multiple, value in zip((0.5, 1.0), marks, strict=True):
            axes.annotate(
                f"{value:.4f}",
                (multiple, value),
                xytext=(6, -13),
                textcoords="offset points",
                fontsize=8,
                color=INK,
                bbox={"facecolor": "#ffffff", "edgecolor": "none", "alpha": 0.8, "pad": 0.8},
            )
    axes.set_xlim(multiples[0], multiples[-1])
    axes.set_xlabel("multiple of Kelly's stakes")
    axes.set_ylabel("growth, % per round")
    finish(axes)
    return png_of(figure)


def rate_lines(see_rates: Sequence[float], seers: Sequence[Seer]) -> bytes:
    """Growth over the share of rounds in which the card is seen, a panel for each position.

    Full marks: who may sit out; empty ones: who must join every round.
    """
    figure, panels = make_figure(9.0, 1.0 + 2.6 * len(seers), n_panels=len(seers))
    panels, percent = np.atleast_1d(panels), 100 * np.array(see_rates)
    for panel, seer in zip(panels, seers, strict=True):
        panel.axhline(0, color=INK, linewidth=0.8)
        for index, cents in enumerate(seer.bankrolls_cents):
            for must_play, joins in ((False, "may sit out"), (True, "must play")):
                growths = [
                    100 * seer.grid_growth(cents, see_rate=rate, must_play=must_play)
                    for rate in see_rates
                ]
                style = series_style(index)
                fill = "#ffffff" if must_play else style["color"]
                panel.plot(
                    percent,
                    growths,
                    label=f"{cents:,} cents, {joins}",
                    markerfacecolor=fill,
                    **style,
                )
        panel.set_ylabel(f"{seer.whose} card:\ngrowth, % per round")
        panel.grid(color=FAINT, linewidth=0.5)
        panel.set_axisbelow(True)
    panels[-1].set_xlabel("% of the rounds in which the card is seen")
    finish(panels[0])
    return png_of(figure)


def rebate_values(rebates: Sequence[float], values: Mapping[str, Sequence[float]]) -> bytes:
    """Value of an offer over the rebate rate, a line for each way to play it, in base units."""
    figure, axes = make_figure(9.0, 4.4)
    axes.axhline(0, color=INK, linewidth=0.8)
    for index, (name, series) in enumerate(values.items()):
        axes.plot(100 * np.array(rebates), series, label=name, **series_style(index))
    axes.set_xlabel("rebate, % of the loss")
    axes.set_ylabel("value, base units")
    finish(axes)
    return png_of(figure)


def quit_bands(
    points: Sequence[tuple[float, int | None, int | None]], *, start_cents: int, unit_cents: int
) -> bytes:
    """The bankrolls at which to play on, between stop-loss and win goal, over the rebate rate.

    points: (rebate, stop-loss, win goal) in cents, None where play cannot lead.
    """
    figure, axes = make_figure(9.0, 4.4)
    rates = np.array([100 * rate for rate, *_ in points])
    below, above = (
        np.array([np.nan if cents is None else cents / unit_cents for cents in side])
        for side in list(zip(*points, strict=True))[1:]
    )
    axes.fill_between(rates, below, above, color="#eeeeee", label="play on")
    axes.axhline(start_cents / unit_cents, color=INK, linestyle=":", linewidth=1.2, label="buy-in")
    for index, (name, series) in enumerate((("win goal", above), ("stop-loss", below))):
        axes.plot(rates, series, label=name, **series_style(index))
    axes.set_xlabel("rebate, % of the loss")
    axes.set_ylabel("bankroll, base units")
    finish(axes)
    return png_of(figure)


def slip_map(
    bankrolls: Floats, names: Sequence[str], order: Sequence[str], gains: Floats, *, start: float
) -> bytes:
    """The best slip at every bankroll (base units), above what playing adds to quitting.

    names: by bankroll, among ``order`` (from top to bottom; those never best are left out).
    """
    rows = [name for name in dict.fromkeys(order) if name in set(names)]
    figure, (top, bottom) = make_figure(9.0, 3.4 + 0.34 * len(rows), n_panels=2)
    top.get_subplotspec().get_gridspec().set_height_ratios((0.3 + 0.34 * len(rows), 2.2))
    step = bankrolls[1] - bankrolls[0] if len(bankrolls) > 1 else 1.0
    for place, name in enumerate(rows):
        is_here = np.array([each == name for each in names])
        edges = np.flatnonzero(np.diff(np.concatenate([[0], is_here, [0]])))
        runs = [
            (bankrolls[first] - step / 2, (last - first) * step)
            for first, last in edges.reshape(-1, 2)
        ]
        color = FAINT if name == "quit" else "#0072B2"
        top.broken_barh(runs, (place - 0.32, 0.64), facecolors=color)
    top.set_yticks(range(len(rows)), rows)
    top.set_ylim(len(rows) - 0.5, -0.5)
    bottom.plot(bankrolls, gains, color=INK, linewidth=1.4)
    bottom.set_ylim(bottom=0)
    bottom.set_ylabel("added by playing,\nbase units")
    bottom.set_xlabel("bankroll, base units (dotted: the buy-in)")
    for panel in (top, bottom):
        panel.axvline(start, color=INK, linestyle=":", linewidth=1.2)
        panel.grid(color=FAINT, linewidth=0.5)
        panel.set_axisbelow(True)
    played = bankrolls[np.array(names) != "quit"]
    left, right = span([*played, start])
    top.set_xlim(max(left, bankrolls[0]), min(right, bankrolls[-1]))
    return png_of(figure)


def coupon_bars(coupons: Sequence[Coupon]) -> bytes:
    """Value per unit of the face by terms and box; a panel each for owed and waived multiples."""
    kinds = list(dict.fromkeys(coupon.multiples for coupon in coupons))
    terms = list(dict.fromkeys(coupon.terms for coupon in coupons))
    boxes = list(dict.fromkeys(coupon.value.box for coupon in coupons))
    figure, panels = make_figure(
        max(9.0, 2.9 * len(boxes)), 1.0 + 2.6 * len(kinds), n_panels=len(kinds)
    )
    panels, width = np.atleast_1d(panels), 0.8 / len(boxes)
    for panel, kind in zip(panels, kinds, strict=True):
        panel.axhline(0, color=INK, linewidth=0.8)
        for index, box in enumerate(boxes):
            color, hatch = _FILLS[index % len(_FILLS)]
            heights = [
                float(coupon.value.value)
                for name in terms
                for coupon in coupons
                if (coupon.terms, coupon.multiples, coupon.value.box) == (name, kind, box)
            ]
            places = np.arange(len(terms)) + width * (index - (len(boxes) - 1) / 2)
            bars = panel.bar(
                places, heights, width, label=box, color=color, hatch=hatch, edgecolor=INK
            )
            panel.bar_label(bars, fmt="%.2f", fontsize=7, padding=2, color=INK)
        panel.margins(y=0.12)
        panel.set_ylabel(f"multiples {kind}:\nvalue of one unit")
        panel.grid(axis="y", color=FAINT, linewidth=0.5)
        panel.set_axisbelow(True)
    panels[-1].set_xticks(range(len(terms)), terms)
    panels[0].legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize=9)
    return png_of(figure)


def turnover_ways(best: Sequence[Way], flat: Sequence[Way]) -> bytes:
    """Cost against the risk of ruin: one slip all along, and the best play at rising prices.

    The vertical line is the least risk of all.
    """
    figure, axes = make_figure(9.0, 4.8)
    priced = [way for way in best if way.price is not None]
    axes.plot(
        [100 * way.risk for way in priced],
        [way.cost for way in priced],
        color=INK,
        marker=".",
        linewidth=1.4,
        label="best play, by price",
    )
    for way in best:
        if way.price is None:
            axes.axvline(
                100 * (1 - way.high), color=INK, linestyle=":", linewidth=1.2, label="least risk"
            )
    for index, way in enumerate(flat):
        style = series_style(index) | {"linestyle": "none", "markersize": 7}
        if index >= _N_MARKERS:  # told apart from their namesakes by being hollow
            style["markerfacecolor"] = "#ffffff"
        axes.plot(100 * way.risk, way.cost, label=str(way.slips[0]), **style)
    axes.set_xlabel("risk of ruin before the turnover is met, %")
    axes.set_ylabel("mean cost, base units")
    finish(axes)
    return png_of(figure)
