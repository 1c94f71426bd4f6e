"""Pictures of the stealth frontier: profit against information, and what an alarm leaves."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from niulab.evaluation.plots.style import FAINT, INK, finish, make_figure, png_of, series_style

__all__ = ["stealth_picture"]

_Floats = NDArray[np.float64]


def stealth_picture(
    curves: Mapping[str, tuple[_Floats, _Floats]],
    plain: Mapping[str, tuple[float, float]],
    *,
    alpha: float,
) -> bytes:
    """Frontiers by name: nats and units a round; and below, units won before an ideal alarm.

    plain: by the same names, the point of who stakes whenever the card favors him.
    """
    figure, (top, below) = make_figure(9.0, 6.4, n_panels=2)
    for index, (name, (nats, profits)) in enumerate(curves.items()):
        style = series_style(index) | {"markersize": 3}
        tells = nats > 0
        top.plot(nats[tells], profits[tells], label=name, **style)
        below.plot(nats[tells], -np.log(alpha) * profits[tells] / nats[tells], label=name, **style)
        if name in plain:
            told, won = plain[name]
            marks = {"color": style["color"], "marker": "*", "markersize": 12}
            top.plot([told], [won], **marks, linestyle="none")
            below.plot([told], [-np.log(alpha) * won / told], **marks, linestyle="none")
    top.set_ylabel("units a round")
    below.set_ylabel(f"units before an\nideal alarm at {alpha:g}")
    below.set_xlabel("nats a round told to a log of the card (star: stakes whenever favorable)")
    for panel in (top, below):
        panel.axhline(0, color=FAINT if panel is top else INK, linewidth=0.8)
        panel.set_ylim(bottom=0)
        finish(panel)
    return png_of(figure)
