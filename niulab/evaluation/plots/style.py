"""How every picture is drawn: figures without pyplot's state, and one style of series.

Every series has its own marker and dash beside its color, so that a grey print stays readable.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["FAINT", "INK", "finish", "make_figure", "png_of", "series_style", "span"]

INK, FAINT = "#222222", "#bbbbbb"
# Okabe and Ito's colors in an order of falling lightness differences
_COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#444444")
_MARKERS = "os^Dv<>P"
_DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)))
_DPI = 150


def make_figure(
    width: float,
    height: float,
    *,
    n_panels: int = 1,
    n_columns: int = 1,
    sharex: bool = True,
    sharey: bool = False,
) -> tuple[Figure, Any]:
    """A figure of a size in inches and its axes: one, or an array of panels below each other, of
    columns side by side, or of both.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=_DPI, layout="constrained")
    FigureCanvasAgg(figure)  # the figure draws itself: pyplot and its global state stay out
    return figure, figure.subplots(n_panels, n_columns, sharex=sharex, sharey=sharey)


def png_of(figure: Figure) -> bytes:
    """The figure as a PNG that is the same every time."""
    stream = io.BytesIO()
    figure.savefig(stream, format="png", metadata={"Software": None})
    return stream.getvalue()


def series_style(index: int) -> dict[str, Any]:
    """Color, marker and dash of the series of an index, as keywords of ``plot``."""
    return {
        "color": _COLORS[index % len(_COLORS)],
        "marker": _MARKERS[index % len(_MARKERS)],
        "linestyle": _DASHES[index % len(_DASHES)],
        "markersize": 5,
        "linewidth": 1.4,
    }


def finish(axes: Axes) -> None:
    """A grid behind the series, and their legend to the right of the axes."""
    axes.grid(color=FAINT, linewidth=0.5)
    axes.set_axisbelow(True)
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), frameon=False, fontsize=9)


def span(values: Sequence[float]) -> tuple[float, float]:
    """Limits with a margin on both sides, so that no bar vanishes and no line lies on the frame."""
    low, high = min(values), max(values)
    margin = 0.08 * (high - low) or 0.01
    return low - margin, high + margin
