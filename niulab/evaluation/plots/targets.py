"""Pictures of target-or-ruin: chances and best stakes over the bankroll and the rounds left."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from niulab.evaluation.plots.style import FAINT, INK, finish, make_figure, png_of, series_style

__all__ = ["best_stakes", "chance_curves", "deadline_map"]

_Floats = NDArray[np.float64]
_EQUAL = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


def chance_curves(bankrolls: _Floats, chances: Mapping[str, _Floats], *, start: float) -> bytes:
    """Chances by bankroll in base units, the best first, and below how far the others fall short.

    The dotted line is the start.
    """
    figure, (top, below) = make_figure(9.0, 6.4, n_panels=2)
    (best_name, best), *others = chances.items()
    every = max(len(bankrolls) // 16, 1)  # marks on every point would be one black bar
    for index, (name, values) in enumerate(chances.items()):
        style = series_style(index) | {"markevery": (index * every // len(chances), every)}
        top.plot(bankrolls, values, label=name, **style)
        if index:
            below.plot(bankrolls, best - values, label=name, **style)
    top.set_ylabel("P(target before ruin)")
    below.set_ylabel(f"short of the {best_name}")
    below.set_xlabel("bankroll, base units")
    least = max(float((best - values).max()) for _, values in others)
    if least > 0:
        below.set_yscale("symlog", linthresh=1e-6)
        below.set_ylim(0, 2 * least)
        below.set_yticks([0, *(10.0**e for e in range(-6, 1) if 10.0**e < 2 * least)])
    for panel in (top, below):
        panel.axvline(start, color=INK, linestyle=":", linewidth=1.0)
        panel.set_xlim(0, bankrolls[-1])
        finish(panel)
    return png_of(figure)


def best_stakes(bankrolls: _Floats, stakes: Mapping[str, tuple[_Floats, _Floats]]) -> bytes:
    """Stakes by bankroll, a panel for each box: the best slip's, and bold play's behind them.

    stakes: by box, in base units; nan where nothing is placed.
    """
    height = 1.4 + (3.2 if len(stakes) == 1 else 2.2 * len(stakes))
    figure, panels = make_figure(9.0, height, n_panels=len(stakes))
    for index, (panel, (box, (best, bold))) in enumerate(
        zip(np.atleast_1d(panels), stakes.items(), strict=True)
    ):
        style = series_style(index) | {"linestyle": "none", "markersize": 3}
        panel.plot(
            bankrolls, bold, color=FAINT, linewidth=3, solid_capstyle="butt", label="bold play"
        )
        panel.plot(bankrolls, best, label="best slip", **style)
        panel.set_xlim(0, bankrolls[-1])
        panel.set_ylim(bottom=0)
        panel.set_ylabel(f"{box}, base units")
        finish(panel)
    np.atleast_1d(panels)[-1].set_xlabel("bankroll, base units")
    return png_of(figure)


def deadline_map(bankrolls: _Floats, stakes: _Floats, chances: _Floats) -> bytes:
    """All stakes of the best slip over bankroll and rounds left, with lines of equal chance.

    stakes (nan: none) and chances: (n, L), row r with r + 1 rounds left.
    """
    from matplotlib.patheffects import withStroke

    figure, axes = make_figure(9.0, 4.8)
    n = len(stakes)
    step = bankrolls[1] - bankrolls[0] if len(bankrolls) > 1 else 1.0
    image = axes.imshow(
        stakes,
        origin="lower",
        aspect="auto",
        cmap="cividis",
        interpolation="nearest",
        extent=(bankrolls[0] - step / 2, bankrolls[-1] + step / 2, 0.5, n + 0.5),
    )
    if n > 1 and len(bankrolls) > 1:
        levels = [p for p in _EQUAL if chances.min() < p < chances.max()]
        lines = axes.contour(
            bankrolls, np.arange(1, n + 1), chances, levels=levels, colors="white", linewidths=1.0
        )
        lines.set_path_effects([withStroke(linewidth=2.5, foreground=INK)])
        for text in axes.clabel(lines, fmt="%.2g", fontsize=8):
            text.set_bbox({"facecolor": INK, "edgecolor": "none", "pad": 0.6})
    axes.set_xlabel("bankroll, base units (lines: equal P(target))")
    axes.set_ylabel("rounds left")
    axes.yaxis.get_major_locator().set_params(integer=True)
    figure.colorbar(image, ax=axes, pad=0.02).set_label("best stake, base units")
    return png_of(figure)
