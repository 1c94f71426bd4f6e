"""Pictures of bets: edge and variance over mixes, the payoffs of a slip, readings of a sheet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from niulab.evaluation.plots.style import (
    FAINT,
    INK,
    finish,
    make_figure,
    png_of,
    series_style,
    span,
)
from niulab.solvers.sessions.net_law import NetLaw

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["EdgeMap", "cost_frontier", "edge_maps", "payoff_histogram", "reading_dots"]

_LIGHT = "#ffffff"
_LOSS, _WIN = "#D55E00", "#0072B2"
_CROWD = 30  # results from which marks and stems are drawn smaller
_WIDE = 200.0  # ratio of probabilities from which only a log scale shows them all


@dataclass(frozen=True, eq=False)
class EdgeMap:
    """House edge over the stakes of two boxes; edges: float64 (y, x), stakes in base units."""

    x_box: str
    y_box: str
    x_stakes: tuple[float, ...]
    y_stakes: tuple[float, ...]
    edges: NDArray[np.float64]


def edge_maps(maps: Sequence[EdgeMap]) -> bytes:
    """House edge in percent over the stakes of two boxes, a panel for each pair.

    Cells in which the player has the edge are framed.
    """
    rows, columns = maps[0].edges.shape
    width = 1.2 + len(maps) * max(3.6, 0.5 * columns)
    figure, panels = make_figure(
        width, 1.4 + 0.36 * max(rows, 6), n_columns=len(maps), sharex=False
    )
    every = 100 * np.concatenate([each.edges.ravel() for each in maps])
    low, high = float(every.min()), float(every.max())
    for panel, each in zip(np.atleast_1d(panels), maps, strict=True):
        image = _draw_edges(panel, each, low, high)
    bar = figure.colorbar(image, ax=list(np.atleast_1d(panels)), shrink=0.9, pad=0.02)
    bar.set_label("house edge, % of all stakes")
    return png_of(figure)


def _draw_edges(axes: Axes, each: EdgeMap, low: float, high: float) -> Any:
    percent = 100 * each.edges
    image = axes.imshow(percent, origin="lower", aspect="auto", cmap="cividis", vmin=low, vmax=high)
    middle = (low + high) / 2
    for (row, column), value in np.ndenumerate(percent):
        axes.text(
            column,
            row,
            f"{value:.2f}",
            ha="center",
            va="center",
            fontsize=7,
            color=INK if value > middle else _LIGHT,
            bbox={"facecolor": "none", "edgecolor": _LIGHT, "pad": 1.5} if value < 0 else None,
        )
    axes.set_xticks(range(len(each.x_stakes)), [f"{stake:g}" for stake in each.x_stakes])
    axes.set_yticks(range(len(each.y_stakes)), [f"{stake:g}" for stake in each.y_stakes])
    axes.tick_params(labelsize=8)
    axes.set_xlabel(f"{each.x_box}, base units")
    axes.set_ylabel(f"{each.y_box}, base units")
    return image


def cost_frontier(
    costs: NDArray[np.float64],
    sds: NDArray[np.float64],
    rays: Mapping[str, Sequence[int]],
    frontier: Sequence[int],
) -> bytes:
    """Standard deviation against cost of every mix, both in base units per round.

    rays: indices of the mixes along which one box grows, by name; frontier: those with the most
    standard deviation for their cost.
    """
    figure, axes = make_figure(9.0, 5.0)
    axes.scatter(costs, sds, s=9, color=FAINT, label="all mixes", zorder=1)
    for index, (name, places) in enumerate(rays.items()):
        axes.plot(costs[list(places)], sds[list(places)], label=name, **series_style(index))
    axes.plot(
        costs[list(frontier)],
        sds[list(frontier)],
        color=INK,
        linewidth=4,
        alpha=0.25,
        label="best price of SD",
        zorder=2,
    )
    axes.set_xlabel("expected loss, base units per round")
    axes.set_ylabel("standard deviation, base units per round")
    finish(axes)
    return png_of(figure)


def payoff_histogram(law: NetLaw, *, unit_cents: int) -> bytes:
    """Every result of a slip with its probability; the line is the mean, the band one SD around."""
    figure, axes = make_figure(9.0, 4.2)
    nets, chances = law.nets / unit_cents, law.probabilities
    is_wide = chances.max() > _WIDE * chances.min()
    floor = 10.0 ** np.floor(np.log10(chances.min())) if is_wide else 0.0
    mean, sd = float(law.ev_cents) / unit_cents, float(law.variance) ** 0.5 / unit_cents
    size = 6 if len(nets) <= _CROWD else 4
    axes.axvspan(mean - sd, mean + sd, color="#eeeeee", zorder=0)
    axes.axvline(mean, color=INK, linestyle=(0, (5, 2)), linewidth=1.2, zorder=1)
    for is_kind, color, marker, name in (
        (nets < 0, _LOSS, "v", "loses"),
        (nets == 0, INK, "o", "no change"),
        (nets > 0, _WIN, "^", "wins"),
    ):
        if is_kind.any():
            axes.vlines(nets[is_kind], floor, chances[is_kind], color=color, linewidth=size / 3)
            label = f"{name} ({100 * chances[is_kind].sum():.2f} %)"
            axes.plot(
                nets[is_kind], chances[is_kind], marker, color=color, markersize=size, label=label
            )
    if is_wide:
        axes.set_yscale("log")
    axes.set_ylim(bottom=floor)
    axes.set_xlabel(f"net of {law.slip}, base units (dashed: mean {mean:+.4f}; band: one SD)")
    axes.set_ylabel("probability")
    finish(axes)
    return png_of(figure)


def reading_dots(
    readings: Sequence[str], evs: Mapping[str, Sequence[float | None]], *, base: int = 0
) -> bytes:
    """EV of every box under every reading, a panel for each box with its own scale.

    readings: names from top to bottom. evs: by box, None where a reading lacks the box. The line
    is the reading ``base``; full marks favor the player.
    """
    figure, panels = make_figure(
        2.6 + 2.5 * len(evs),
        1.4 + 0.34 * len(readings),
        n_columns=len(evs),
        sharex=False,
        sharey=True,
    )
    panels = np.atleast_1d(panels)
    for panel, (box, values) in zip(panels, evs.items(), strict=True):
        _draw_dots(panel, box, values, values[base])
    panels[0].set_yticks(range(len(readings)), readings)
    panels[0].invert_yaxis()
    return png_of(figure)


def _draw_dots(axes: Axes, box: str, values: Sequence[float | None], base: float | None) -> None:
    known = [value for value in values if value is not None]
    left, right = span([*known, 0.0])
    axes.set_xlim(left, right + 0.3 * (right - left))  # room for the figures
    axes.axvspan(0, axes.get_xlim()[1], color="#f0f0f0", zorder=0)
    axes.axvline(0, color=INK, linewidth=0.8)
    if base is not None:
        axes.axvline(base, color=INK, linestyle=":", linewidth=1.0)
    for place, value in enumerate(values):
        if value is None:
            continue
        is_players = value > 0
        axes.plot(
            value,
            place,
            "D" if is_players else "o",
            color=_LOSS if is_players else _WIN,
            markerfacecolor=_LOSS if is_players else _LIGHT,
            markersize=6,
            zorder=3,
        )
        if base is not None and value != base:
            axes.annotate(
                f"{value:+.5f}",
                (value, place),
                xytext=(6, 0),
                textcoords="offset points",
                va="center",
                fontsize=7,
                color=INK,
                bbox={"facecolor": _LIGHT, "edgecolor": "none", "alpha": 0.8, "pad": 0.8},
            )
    axes.set_title(box, fontsize=10)
    axes.set_xlabel("EV per unit", fontsize=9)
    axes.tick_params(axis="x", labelsize=8)
    axes.tick_params(axis="y", labelsize=8)
    axes.grid(axis="y", color=FAINT, linewidth=0.5)
    axes.set_axisbelow(True)
