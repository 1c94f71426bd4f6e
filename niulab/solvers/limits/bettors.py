"""Who sees a card with some chance and stakes by it: the chances of his stakes, and their ratios.

The likelihood ratio P(stake | card) / P(stake) has mean one over the cards by Bayes' rule, so it is
a factor of a detector, and its mean log under the bettor's own law is what he tells.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["chance_ratios", "stake_chances"]

Floats = NDArray[np.float64]


def stake_chances(is_favorable: NDArray[np.bool_], rates: Floats) -> Floats:
    """Chance that a box is not staked, and that it is, by level, (2, n_levels, n_rates).

    is_favorable: (n_levels,), when who sees the level stakes. rates: (n_rates, 2), each the chance
    to see it and the chance to stake without seeing.
    """
    sees, base = rates[:, 0], rates[:, 1]
    stakes = sees * is_favorable[:, None] + (1 - sees) * base
    return np.stack([1 - stakes, stakes])


def chance_ratios(chances: Floats, law: Floats) -> Floats:
    """Likelihood ratios from chances of a bin given the level, (n_bins, n_levels, k).

    A bin of no chance at all has ratios of one.
    """
    means = np.einsum("v,bvk->bk", law, chances)[:, None, :]
    with np.errstate(invalid="ignore", divide="ignore"):
        ratios = chances / means
    return np.where(means > 0, ratios, 1.0)
