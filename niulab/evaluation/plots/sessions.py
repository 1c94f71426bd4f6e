"""Pictures of sessions: a league of systems, and the fan of a bankroll."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from niulab.evaluation.plots.style import FAINT, INK, finish, make_figure, png_of
from niulab.evaluation.sessions.fan import Fan
from niulab.evaluation.sessions.systems import SystemScore

__all__ = ["draw_fan", "session_league"]

_BLUE, _RED, _GREEN, _GREY = "#0072B2", "#D55E00", "#009E73", "#777777"
_SHADES = ("#deebf7", "#9ecae1")  # of the fan, from the outer band to the inner one
# chances with marker, size, color and face: two of them often lie on each other
_CHANCES = (
    ("ruin", "p_ruin", "o", 6, _BLUE, _BLUE),
    ("target", "p_target", "s", 9, _RED, "none"),
    ("ahead", "p_ahead", "^", 5, _GREEN, _GREEN),
)


def session_league(scores: Sequence[SystemScore], *, baseline: str, unit_cents: int) -> bytes:
    """EV less the baseline's, exact and as a paired interval, beside the chances of each end.

    ``baseline`` is one of the scores.
    """
    figure, (left, right) = make_figure(
        11.0, 1.6 + 0.34 * len(scores), n_columns=2, sharex=False, sharey=True
    )
    base = next(score.figures.ev_cents for score in scores if score.name == baseline)
    paired = [score.simulated.difference for score in scores]
    level = scores[0].simulated.policy.final_cents.level
    left.errorbar(
        [0.0 if d is None else d.final_cents.mean / unit_cents for d in paired],
        range(len(scores)),
        xerr=[0.0 if d is None else d.final_cents.half_width / unit_cents for d in paired],
        fmt="none",
        ecolor=INK,
        elinewidth=1.4,
        capsize=4,
        label=f"simulated, paired, {100 * level:g} %",
    )
    exact = [place for place, score in enumerate(scores) if score.is_exact]
    left.plot(
        [(scores[place].figures.ev_cents - base) / unit_cents for place in exact],
        exact,
        "D",
        color=_BLUE,
        markersize=5,
        label="exact",
    )
    left.axvline(0, color=INK, linewidth=0.8)
    left.set_xlabel(f"EV less that of {baseline} play, base units")
    left.set_yticks(range(len(scores)), [score.name for score in scores])
    left.invert_yaxis()
    for name, key, marker, size, color, face in _CHANCES:
        chances = [getattr(score.figures, key) for score in scores]
        if not any(chances):  # as of a target that is none
            continue
        right.plot(
            chances,
            range(len(scores)),
            marker,
            markersize=size,
            color=color,
            markerfacecolor=face,
            label=name,
        )
    right.set_xlim(-0.03, 1.03)
    right.set_xlabel("probability")
    for panel in (left, right):
        panel.grid(color=FAINT, linewidth=0.5)
        panel.set_axisbelow(True)
        panel.legend(
            loc="lower center", bbox_to_anchor=(0.5, 1.0), ncol=3, frameon=False, fontsize=9
        )
    return png_of(figure)


def draw_fan(fan: Fan, *, unit_cents: int) -> bytes:
    """Quantiles of a bankroll over the rounds, with single sessions over them, in base units."""
    figure, axes = make_figure(9.0, 4.8)
    rounds, levels, bands = np.arange(len(fan.mean)), fan.levels, fan.bands / unit_cents
    middle = len(levels) // 2
    for place, shade in zip(range(middle), _SHADES, strict=True):
        axes.fill_between(
            rounds,
            bands[:, place],
            bands[:, -1 - place],
            step="post",
            color=shade,
            label=f"{100 * levels[place]:g} to {100 * levels[-1 - place]:g} %",
        )
    paths = axes.step(rounds, fan.paths.T / unit_cents, where="post", color=_GREY, linewidth=0.6)
    paths[0].set_label("single sessions")
    axes.step(rounds, bands[:, middle], where="post", color=INK, linewidth=1.8, label="median")
    mean = fan.mean / unit_cents
    axes.plot(rounds, mean, color=_RED, linestyle=(0, (5, 2)), linewidth=1.8, label="mean")
    axes.set_xlim(0, rounds[-1])
    source = "exact quantiles" if fan.is_exact else f"quantiles of {fan.n_sessions:,} sessions"
    axes.set_xlabel(f"round ({source})")
    axes.set_ylabel("bankroll, base units")
    finish(axes)
    return png_of(figure)
