"""Pictures of a league: values, regret by rank, learning curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from niulab.evaluation.benchmark import League
from niulab.evaluation.curves import Curve
from niulab.evaluation.plots.style import (
    FAINT,
    INK,
    finish,
    make_figure,
    png_of,
    series_style,
    span,
)
from niulab.evaluation.score import UNITS, ArrangementScore, Bounds, SimulatedScore

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["league_bars", "learning_curves", "regret_by_rank"]


def league_bars(league: League) -> bytes:
    """Value of each agent, best on top, between the lines of uniform play and the optimum."""
    rows = league.rows[::-1]
    figure, axes = make_figure(9.0, 1.5 + 0.42 * len(rows))
    values = [float(row.score.value) for row in rows]
    left, right = span([*values, *_known(league.bounds)])
    places = np.arange(len(rows))
    axes.barh(
        places, np.array(values) - left, left=left, height=0.62, color="#9ecae1", edgecolor=INK
    )
    for place, row in zip(places, rows, strict=True):
        seen = row.score.estimate if isinstance(row.score, SimulatedScore) else row.check
        if seen is not None:
            axes.errorbar(
                seen.mean, place, xerr=seen.half_width, fmt="o", color=INK, markersize=3, capsize=4
            )
        axes.annotate(
            f"{float(row.score.value):+.6f}" + ("" if row.score.is_exact else " (simulated)"),
            (1.01, place),
            xycoords=("axes fraction", "data"),
            va="center",
            fontsize=9,
            color=INK,
        )
    _bound_lines(axes, league.bounds)
    axes.set_xlim(left, right)
    axes.set_yticks(places, [row.name for row in rows])
    axes.set_xlabel(f"value, {league.unit} (dot: simulated mean with its interval)")
    axes.grid(axis="x", color=FAINT, linewidth=0.5)
    axes.set_axisbelow(True)
    return png_of(figure)


def regret_by_rank(league: League) -> bytes | None:
    """Regret of each agent by the hand's rank, log scale; None if no agent has any exact regret."""
    scored = [
        row
        for row in league.rows
        if isinstance(row.score, ArrangementScore) and row.score.regret > 0
    ]
    if not scored:
        return None
    ranks = list(scored[0].score.regret_by_rank)  # type: ignore[union-attr]
    table = np.array(
        [
            [float(row.score.regret_by_rank[rank].regret) for rank in ranks]  # type: ignore[union-attr]
            for row in scored
        ]
    )
    figure, axes = make_figure(9.0, 4.6)
    floor = 10.0 ** np.floor(np.log10(table[table > 0].min()))
    places = np.arange(len(ranks))
    for index, (row, values) in enumerate(zip(scored, table, strict=True)):
        shown = np.where(values > 0, values, np.nan)
        shift = 0.08 * (index - (len(scored) - 1) / 2)
        axes.plot(places + shift, shown, label=row.name, **series_style(index))
    axes.set_yscale("log")
    axes.set_ylim(bottom=floor)
    axes.set_xlim(-0.5, len(ranks) - 0.5)
    names = [rank.replace("_", " ") for rank in ranks]
    axes.set_xticks(places, names, rotation=35, ha="right")
    axes.set_xlabel("rank of the hand at its best setting (no mark: no regret there)")
    axes.set_ylabel("regret, base units per deal")
    finish(axes)
    return png_of(figure)


def learning_curves(
    curves: Sequence[Curve], bounds: Bounds, *, unit: str = UNITS["profit"]
) -> bytes | None:
    """Exact value along training against the optimal line, and the regret below it on a log scale.

    None without a curve. A regret of 0 has no place on a log scale and is marked on the lower edge.
    """
    curves = [curve for curve in curves if curve.steps]
    if not curves:
        return None
    regrets = np.concatenate([curve.series("regret") for curve in curves])
    has_regret = bool(np.isfinite(regrets).any())
    figure, panels = make_figure(9.0, 6.8 if has_regret else 3.6, n_panels=1 + has_regret)
    panels = np.atleast_1d(panels)
    for index, curve in enumerate(curves):
        panels[0].plot(curve.steps, curve.series("value"), label=curve.name, **series_style(index))
    _bound_lines(panels[0], bounds, horizontal=True)
    panels[0].set_ylabel(f"value, {unit}")
    if has_regret:
        _draw_regret(panels[1], curves, regrets[regrets > 0])
    for panel in panels:
        panel.set_xlim(left=0)
        panel.grid(color=FAINT, linewidth=0.5)
    panels[-1].set_xlabel("environment steps")
    finish(panels[0])
    return png_of(figure)


def _draw_regret(axes: Axes, curves: Sequence[Curve], positive: NDArray[np.float64]) -> None:
    floor = 10.0 ** np.floor(np.log10(positive.min())) / 3 if len(positive) else 1e-9
    for index, curve in enumerate(curves):
        shown = np.maximum(curve.series("regret"), floor)
        axes.plot(curve.steps, shown, clip_on=False, **series_style(index))
    axes.set_yscale("log")
    axes.set_ylim(bottom=floor)
    axes.set_ylabel("regret, base units per deal\n(lower edge: exactly 0)")


def _bound_lines(axes: Axes, bounds: Bounds, *, horizontal: bool = False) -> None:
    """Lines of the optimum (solid) and of uniform play (dotted), named at their ends."""
    named = (
        (bounds.optimum, bounds.ceiling, "-", "left"),
        (bounds.random, bounds.floor, ":", "right"),  # away from each other where they are close
    )
    for bound, name, dash, side in named:
        if bound is None:
            continue
        value = float(bound)
        if horizontal:
            axes.axhline(value, color=INK, linestyle=dash, linewidth=1.2, label=name, zorder=1)
            continue
        axes.axvline(value, color=INK, linestyle=dash, linewidth=1.2, zorder=1)
        axes.annotate(
            name,
            (value, 1.01),
            xycoords=("data", "axes fraction"),
            ha=side,
            va="bottom",
            fontsize=9,
            color=INK,
        )


def _known(bounds: Bounds) -> list[float]:
    return [float(bound) for bound in (bounds.random, bounds.optimum) if bound is not None]
