"""Pictures of a suite: aggregates, profiles, comparisons and curves over tasks and seeds.

Algorithms keep one style in all of them: that of their place in the ranking.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from niulab.evaluation.plots.style import (
    FAINT,
    INK,
    finish,
    make_figure,
    png_of,
    series_style,
    span,
)
from niulab.evaluation.statistics.intervals import Interval
from niulab.evaluation.statistics.summary import SuiteSummary

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "aggregate_intervals",
    "improvement_intervals",
    "performance_profiles",
    "suite_curves",
]

_PANELS = {
    "iqm": "IQM",
    "median": "median of tasks",
    "mean": "mean",
    "optimality_gap": "optimality gap (less is better)",
}


def aggregate_intervals(summary: SuiteSummary) -> bytes | None:
    """IQM, median, mean and optimality gap of each algorithm with their intervals, best on top.

    None where no algorithm has aggregates.
    """
    names = _compared(summary)
    if not names:
        return None
    figure, panels = make_figure(
        12.0, 1.3 + 0.38 * len(names), n_columns=len(_PANELS), sharex=False, sharey=True
    )
    for panel, (key, title) in zip(panels, _PANELS.items(), strict=True):
        intervals = [getattr(summary.aggregates[name], key) for name in names]
        for place, interval in enumerate(intervals):
            _draw_interval(panel, interval, place, series_style(place)["color"])
        ends = [end for i in intervals for end in (i.value, i.low, i.high) if not np.isnan(end)]
        panel.set_xlim(span(ends))
        panel.locator_params(axis="x", nbins=4)
        panel.set_title(title, fontsize=10)
        _grid(panel)
    panels[0].set_yticks(range(len(names)), [_with_failures(summary, name) for name in names])
    panels[0].set_ylim(len(names) - 0.5, -0.5)
    figure.supxlabel(_about(summary), fontsize=10)
    return png_of(figure)


def performance_profiles(summary: SuiteSummary) -> bytes | None:
    """Share of runs above each normalized score with pointwise bands: over all scores, and close
    to the optimum on a log scale. None without any.
    """
    names = _compared(summary)
    if not names:
        return None
    figure, (whole, close) = make_figure(12.0, 4.6, n_columns=2, sharex=False, sharey=True)
    thresholds = summary.profiles[names[0]].thresholds
    short = 1 - thresholds
    shown = short > 0
    for index, name in enumerate(names):
        profile, style = summary.profiles[name], _sparse(index, len(names))
        shade = _shade(style, len(names))
        whole.plot(thresholds, profile.share, label=name, **style)
        whole.fill_between(thresholds, profile.low, profile.high, **shade)
        close.plot(short[shown], profile.share[shown], label=name, **style)
        close.fill_between(short[shown], profile.low[shown], profile.high[shown], **shade)
    whole.set_xlim(thresholds[0], thresholds[-1])
    whole.set_ylim(-0.02, 1.02)
    whole.set_xlabel("normalized score t")
    whole.set_ylabel("share of runs with a score above t")
    if shown.any():
        close.set_xscale("log")
        close.set_xlim(short[shown].max(), short[shown].min())
    close.set_xlabel("1 - t, the distance from the optimum")
    figure.supxlabel(_about(summary), fontsize=10)
    _grid(whole)
    finish(close)
    return png_of(figure)


def improvement_intervals(summary: SuiteSummary) -> bytes | None:
    """P(a run of the left algorithm beats one of the right), a row per pair; None without pairs."""
    pairs = list(combinations(_compared(summary), 2))
    if not pairs:
        return None
    figure, axes = make_figure(9.0, 1.3 + 0.3 * len(pairs))
    for place, pair in enumerate(pairs):
        _draw_interval(axes, summary.improvement[pair], place, "#555555")
    axes.axvline(0.5, color=INK, linestyle=":", linewidth=1.2, zorder=1)
    axes.set_xlim(-0.02, 1.02)
    axes.set_ylim(len(pairs) - 0.5, -0.5)
    axes.set_yticks(range(len(pairs)), [one for one, _ in pairs])
    right = axes.twinx()
    right.set_ylim(axes.get_ylim())
    right.set_yticks(range(len(pairs)), [other for _, other in pairs])
    axes.set_xlabel(f"P(a run of the left beats one of the right); {_about(summary)}")
    _grid(axes)
    return png_of(figure)


def suite_curves(summary: SuiteSummary) -> bytes | None:
    """IQM over runs and tasks along training against the optimal line, and below it how much is
    missing, on a log scale. None without curves.
    """
    names = [name for name in _compared(summary) if name in summary.curves]
    bands = [summary.curves[name] for name in names]
    if not names:
        return None
    figure, (top, below) = make_figure(9.0, 6.8, n_panels=2)
    ends = np.concatenate([1 - values for band in bands for values in (band.value, band.high)])
    floor = ends[ends > 0].min(initial=1.0) / 2
    for name, band in zip(names, bands, strict=True):
        place = summary.ranking.index(name)
        style = _sparse(place, len(summary.ranking))
        shade = _shade(style, len(names))
        top.plot(band.steps, band.value, label=name, **style)
        top.fill_between(band.steps, band.low, band.high, **shade)
        below.plot(band.steps, np.maximum(1 - band.value, floor), clip_on=False, **style)
        low, high = np.maximum(1 - band.high, floor), np.maximum(1 - band.low, floor)
        below.fill_between(band.steps, low, high, **shade)
    top.axhline(1.0, color=INK, linewidth=1.2, label="optimum", zorder=1)
    top.set_ylabel("IQM of normalized scores")
    below.set_yscale("log")
    below.set_ylim(bottom=floor)
    below.set_ylabel("1 - IQM\n(lower edge: exactly 0)")
    below.set_xlabel(f"environment steps; {_about(summary)}")
    below.xaxis.set_major_formatter("{x:,.0f}")
    below.locator_params(axis="x", nbins=6)
    below.set_xlim(0, max(band.steps[-1] for band in bands))
    _grid(below)
    finish(top)
    return png_of(figure)


def _compared(summary: SuiteSummary) -> list[str]:
    return [name for name in summary.ranking if name in summary.aggregates]


def _draw_interval(axes: Axes, interval: Interval, place: int, color: str) -> None:
    """A bar from end to end with a line at the value; no bar where no interval is known."""
    if not np.isnan(interval.low):
        axes.barh(place, interval.high - interval.low, 0.5, interval.low, color=color, alpha=0.5)
    axes.vlines(interval.value, place - 0.33, place + 0.33, color=INK, linewidth=1.6)


def _sparse(index: int, n_series: int) -> dict[str, Any]:
    """A series' style with a dozen marks along the line, which stand elsewhere on each series."""
    return series_style(index) | {"markevery": (0.1 * index / n_series, 0.1)}


def _shade(style: dict[str, Any], n_series: int) -> dict[str, Any]:
    """A band in its series' color, fainter where many of them lie on each other."""
    return {"color": style["color"], "alpha": min(0.15, 0.75 / n_series), "lw": 0}


def _about(summary: SuiteSummary) -> str:
    _, n_runs, n_tasks = summary.results.shape
    sizes = (f"{n} {word}{'s' * (n != 1)}" for n, word in ((n_tasks, "task"), (n_runs, "seed")))
    about = f"{', '.join(sizes)}, {100 * summary.level:g} % bootstrap intervals"
    return f"{about}; left out: {', '.join(summary.left_out)}" if summary.left_out else about


def _with_failures(summary: SuiteSummary, name: str) -> str:
    found = summary.aggregates[name]
    if not found.n_failed:
        return name
    return f"{name}\n({found.n_failed} of {found.n_runs * found.n_tasks} failed)"


def _grid(axes: Axes) -> None:
    axes.grid(color=FAINT, linewidth=0.5)
    axes.set_axisbelow(True)
