"""Which boxes are raised, against the card that favors some of them and not others.

Who sees a card raises exactly the boxes that it favors, so the set of raised boxes tells more of
the card than any one of them, or than the total. The model is a bettor as ``agents.advantage``
plays him: he sees the card with some chance; when it favors a box he raises what it favors, and
hides that with some chance by not raising; when he sees nothing, or nothing good, he raises for
cover with the same chance. Cover is mostly the largest set of boxes that any card favors, and else
any set, so that no set of boxes rules him out.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from niulab.evaluation.detection.scores import N_MAIN, RAISED_DIGITS
from niulab.solvers.limits.bettors import chance_ratios

__all__ = ["SLIP_RATES", "raise_chances", "slip_table"]

Floats = NDArray[np.float64]

SLIP_RATES = np.array([[0.97, 0.02], [0.8, 0.15], [0.4, 0.08], [0.28, 0.008], [0.25, 0.15]])
"""Chances to see the card, and to hide what is seen or to raise for cover.

Chosen over one to three boxes, sight from 1 to a quarter and hiding from 0 to a fifth, so that the
mixture of the five needs at most 1.5 x the limit everywhere there.
"""

_ANY_SET = 0.2
"""The part of the cover that is any set of boxes."""

_N_SETS = 1 << N_MAIN
_PLACES = 1 << np.arange(N_MAIN)


def raise_chances(favored: NDArray[np.int64], open_boxes: int, rates: Floats) -> Floats:
    """Chance of each set of raised boxes by level, (8, n_levels, k); sets are bit masks.

    favored: (n_levels,), boxes that a level favors. open_boxes: those that may be raised. rates:
    (k, 2), chances to see the level and to hide.
    """
    wanted = favored & open_boxes
    sees, hides = rates.T
    chances = np.zeros((_N_SETS, len(favored), len(rates)))
    sets = [one for one in range(1, _N_SETS) if one & open_boxes == one]
    if not sets or not wanted.any():
        chances[sets or [0]] = 1 / max(len(sets), 1)
        return chances
    for level, best in enumerate(wanted.tolist()):
        acts = sees if best else np.zeros_like(sees)  # else he plays as who sees nothing
        chances[best, level] += acts * (1 - hides)
        chances[0, level] += acts * hides + (1 - acts) * (1 - hides)
        covers = (1 - acts) * hides
        chances[np.bitwise_or.reduce(wanted), level] += (1 - _ANY_SET) * covers
        chances[sets, level] += _ANY_SET / len(sets) * covers
    return chances


def slip_table(
    favors: NDArray[np.bool_], law: Floats, rates: Floats, *, declared: int | None = None
) -> Floats:
    """Likelihood ratios by bin of the score ``slip``, (54, n_levels, k).

    favors: (n_levels, N_MAIN), which boxes a level favors. rates: (k, 2), as of ``raise_chances``.
    declared: a bit mask of the only boxes he may raise, others playing no part; by default those
    that he has varied so far.
    """
    favored = favors @ _PLACES
    given = np.asarray(rates, dtype=np.float64)
    table = np.ones((len(RAISED_DIGITS), len(law), len(given)))
    ratios: dict[int, Floats] = {}
    for place, digits in enumerate(RAISED_DIGITS):
        open_boxes = int((digits > 0) @ _PLACES) if declared is None else declared
        if open_boxes not in ratios:
            chances = raise_chances(favored, open_boxes, given)
            ratios[open_boxes] = chance_ratios(chances, law)
        table[place] = ratios[open_boxes][int((digits == 2) @ _PLACES) & open_boxes]
    return np.tile(table, (2, 1, 1))  # whether the top box is staked plays no part
