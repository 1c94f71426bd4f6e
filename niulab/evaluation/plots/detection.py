"""Pictures of verdicts: the way of e-values, what explains them, stakes against cards, the edge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log, log10

import numpy as np
from numpy.typing import NDArray

from niulab.evaluation.plots.style import FAINT, INK, finish, make_figure, png_of, series_style

__all__ = ["attack_shares", "edge_intervals", "stakes_by_card", "trajectories"]

_Floats = NDArray[np.float64]
_AMBER, _RED = "#E69F00", "#B00020"
_HATCHES = ("", "//", "..", "xx", "--", "\\\\", "oo")


def trajectories(
    paths: Mapping[str, tuple[_Floats, _Floats]], *, amber: float, red: float
) -> bytes:
    """E-values by round on a logarithmic scale, with the lines of both bars.

    paths: by player, rounds and natural logarithms. amber, red: e-values.
    """
    figure, axes = make_figure(9.0, 4.4)
    for index, (name, (rounds, log_es)) in enumerate(paths.items()):
        every = max(len(rounds) // 8, 1)
        style = series_style(index) | {"markevery": (index % every, every)}
        axes.plot(rounds, log_es / log(10), label=name, **style)
    for bar, color, word in ((amber, _AMBER, "amber"), (red, _RED, "red")):
        axes.axhline(log10(bar), color=color, linewidth=1.6, label=f"{word}: {bar:,.0f}")
    axes.axhline(0.0, color=INK, linestyle=":", linewidth=1.0)
    axes.set_xlabel("the player's rounds")
    axes.set_ylabel("e-value, powers of ten")
    finish(axes)
    return png_of(figure)


def attack_shares(shares: Mapping[str, Mapping[str, float]]) -> bytes:
    """What explains each player's e-value: bars of shares that add up to one."""
    figure, axes = make_figure(9.0, 1.2 + 0.45 * len(shares))
    names = list(shares)
    attacks = list(dict.fromkeys(attack for by_attack in shares.values() for attack in by_attack))
    left = np.zeros(len(names))
    for index, attack in enumerate(attacks):
        widths = np.array([shares[name].get(attack, 0.0) for name in names])
        axes.barh(
            names, widths, left=left, label=attack, color=series_style(index)["color"],
            hatch=_HATCHES[index % len(_HATCHES)], edgecolor="white",
        )  # fmt: skip
        left += widths
    axes.set_xlim(0, 1)
    axes.invert_yaxis()
    axes.set_xlabel("share of the e-value")
    finish(axes)
    return png_of(figure)


def stakes_by_card(shares: _Floats, places: Sequence[str], ranks: Sequence[str]) -> bytes:
    """Stakes against cards, (n_places, n_ranks): how many standard errors the share of rounds with
    the top box staked lies from the player's own, by the card dealt at a place; nan where none was.
    """
    figure, axes = make_figure(9.0, 0.9 + 0.38 * len(places))
    reach = max(3.0, float(np.nanmax(np.abs(shares), initial=0.0)))
    image = axes.imshow(
        shares, cmap="PuOr", vmin=-reach, vmax=reach, aspect="auto", interpolation="nearest"
    )
    axes.set_xticks(range(len(ranks)), ranks)
    axes.set_yticks(range(len(places)), places)
    axes.set_xlabel("rank dealt")
    figure.colorbar(image, ax=axes, pad=0.02).set_label("standard errors from his own rate")
    return png_of(figure)


def edge_intervals(intervals: Mapping[str, tuple[float, float]]) -> bytes:
    """Confidence sequences of the excess edge, in base units per 100 rounds, one bar a player."""
    figure, axes = make_figure(9.0, 1.2 + 0.35 * len(intervals))
    for place, (low, high) in enumerate(intervals.values()):
        color = _RED if low > 0 else INK
        axes.plot([low, high], [place, place], color=color, linewidth=2.0, marker="|", markersize=9)
    axes.set_yticks(range(len(intervals)), list(intervals))
    axes.invert_yaxis()
    axes.axvline(0.0, color=INK, linestyle=":", linewidth=1.0)
    axes.grid(color=FAINT, linewidth=0.5)
    axes.set_axisbelow(True)
    axes.set_xlabel("excess, base units per 100 rounds")
    return png_of(figure)
