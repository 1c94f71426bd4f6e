"""Pictures of the calibration: false alarms of honest bettors, delays beside their limits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from niulab.evaluation.detection.calibration.outcomes import Found, Honest
from niulab.evaluation.plots.style import INK, finish, make_figure, png_of, series_style

__all__ = ["delay_ratios", "false_alarms"]


def false_alarms(honest: Sequence[Honest], alpha: float) -> bytes:
    """False alarms by bettor at the first alpha, beside a z-test looked at every round."""
    figure, axes = make_figure(8.5, 1.6 + 0.26 * len(honest))
    places = np.arange(len(honest))
    shares = np.array([one.alarms[0] / one.n_players for one in honest])
    ends = np.array([one.interval(0) for one in honest])
    style = series_style(0) | {"linestyle": ""}
    around = np.abs(ends - shares[:, None]).T
    axes.errorbar(shares, places, xerr=around, capsize=2, label="e-value, 95 %", **style)
    peeked = [one.peeked[0] / one.n_players for one in honest]
    axes.plot(peeked, places, label="z-test, peeked", **(series_style(1) | {"linestyle": ""}))
    axes.axvline(alpha, color=INK, linewidth=1.0, label=f"alpha = {alpha:g}")
    axes.set_yticks(places, [one.name for one in honest], fontsize=8)
    axes.invert_yaxis()
    axes.set_xlim(left=0)
    axes.set_xlabel("share of honest players accused at some time")
    finish(axes)
    return png_of(figure)


def delay_ratios(found: Sequence[Found]) -> bytes:
    """Mean delays over their limits by information: declared, and full over the priced limit."""
    figure, axes = make_figure(8.5, 4.6)
    nats = np.array([one.information for one in found])
    known = [one for one in found if one.declared is not None]
    series = {
        "declared / limit": (
            [one.information for one in known],
            [one.declared.mean / one.limit for one in known if one.declared is not None],
        ),
        "full / priced limit": (nats, [one.full.mean / one.priced for one in found]),
        "full / limit": (nats, [one.full.mean / one.limit for one in found]),
    }
    for number, (label, (x, y)) in enumerate(series.items()):
        axes.plot(x, y, label=label, **(series_style(number) | {"linestyle": ""}))
    axes.axhline(1.0, color=INK, linewidth=1.0)
    axes.set_xscale("log")
    axes.set_ylim(bottom=0)
    axes.set_xlabel("information of the stakes about the card, nats a round")
    axes.set_ylabel("mean delay / limit")
    finish(axes)
    return png_of(figure)
