"""Pictures of ruin over the bankroll: exact, approximated, counted at the end, and simulated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from niulab.evaluation.plots.style import FAINT, INK, make_figure, png_of
from niulab.evaluation.sessions.results import Share
from niulab.evaluation.sessions.ruins import GoalOrRuin
from niulab.solvers.sessions.barriers import RuinCurve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["goal_curves", "ruin_curves"]

_BLUE, _RED, _GREEN = "#0072B2", "#D55E00", "#009E73"
_DASHED, _DOTTED = (0, (5, 2)), (0, (1, 1.5))


def ruin_curves(
    curve: RuinCurve,
    at_end: NDArray[np.float64],
    simulated: Sequence[Sequence[Share]],
    *,
    shown: Sequence[int],
    unit_cents: int,
) -> bytes:
    """P(ruined) by bankroll, a panel for each number of rounds.

    at_end: (b, r), ruin counted after the last round alone. simulated: by bankroll and rounds,
    drawn at the bankrolls of the places ``shown``.
    """
    n_panels = len(curve.rounds)
    figure, panels = make_figure(
        1.0 + 3.6 * n_panels, 4.4, n_columns=n_panels, sharex=True, sharey=True
    )
    bankrolls = curve.starts_cents / unit_cents
    for column, panel in enumerate(np.atleast_1d(panels)):
        panel.plot(bankrolls, curve.ruined[:, column], color=INK, linewidth=1.6, label="exact")
        panel.plot(
            bankrolls,
            curve.diffusion[:, column],
            color=_RED,
            linestyle=_DASHED,
            linewidth=1.4,
            label="diffusion",
        )
        panel.plot(
            bankrolls,
            at_end[:, column],
            color=_GREEN,
            linestyle=_DOTTED,
            linewidth=2.0,
            label="only at the end",
        )
        _draw_shares(panel, bankrolls[list(shown)], [simulated[place][column] for place in shown])
        panel.set_title(f"{int(curve.rounds[column]):,} rounds", fontsize=10)
        panel.set_xlabel("bankroll, base units")
    np.atleast_1d(panels)[0].set_ylabel("P(ruined)")
    return _png(figure, list(np.atleast_1d(panels)))


def goal_curves(goal: GoalOrRuin, *, unit_cents: int) -> bytes:
    """P(ruin before the target) by bankroll; an interval is longer by what met no end."""
    figure, axes = make_figure(8.0, 4.6)
    bankrolls, (low, high) = goal.starts_cents / unit_cents, goal.lundberg.T
    axes.fill_between(bankrolls, low, high, color=FAINT, linewidth=0, label="Lundberg's bounds")
    axes.plot(bankrolls, goal.p_ruin, color=INK, linewidth=1.6, label="exact")
    axes.plot(
        bankrolls,
        goal.diffusion,
        color=_RED,
        linestyle=_DASHED,
        linewidth=1.4,
        label="diffusion",
    )
    shares, unended = zip(*goal.simulated.values(), strict=True)
    _draw_shares(axes, np.array([*goal.simulated]) / unit_cents, shares, unended)
    axes.set_xlabel("bankroll, base units")
    axes.set_ylabel("P(ruin before the target)")
    return _png(figure, [axes])


def _draw_shares(
    axes: Axes,
    bankrolls: NDArray[np.float64],
    shares: Sequence[Share],
    unended: Sequence[int] | None = None,
) -> None:
    """Simulated shares with their intervals, longer by the ``unended`` of each."""
    counts = [0] * len(shares) if unended is None else unended
    more = [n / share.n for n, share in zip(counts, shares, strict=True)]
    axes.errorbar(
        bankrolls,
        [share.mean for share in shares],
        yerr=[
            [share.mean - share.low for share in shares],
            [share.high - share.mean + plus for share, plus in zip(shares, more, strict=True)],
        ],
        fmt="o",
        color=_BLUE,
        markersize=4,
        markerfacecolor="none",
        capsize=3,
        linewidth=1.2,
        label=f"simulated, {100 * shares[0].level:g} %",
    )


def _png(figure: Figure, panels: Sequence[Axes]) -> bytes:
    for panel in panels:
        panel.grid(color=FAINT, linewidth=0.5)
        panel.set_axisbelow(True)
        panel.set_ylim(bottom=0)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside upper center", ncols=len(labels), frameon=False, fontsize=9
    )
    return png_of(figure)
