"""Factors: what a round multiplies a component's wealth by, as tables with mean one.

A table holds a factor for each bin of a stake score, known when betting closes, and each level of
what was dealt. Over the exact law of the levels the factors of every bin have mean one, so the
wealth is a martingale whatever the stakes are. Two kinds:

    tilt            exp(theta z s(v) - psi(theta z)), s centered and of unit variance under the law,
                    psi its log moment generating function
    likelihood      P(stake | v) / P(stake) of a bettor who sees v with some rate and then stakes
                    when it is favorable, and else with a base rate; mean one by Bayes' rule
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from niulab.errors import ConfigError
from niulab.solvers.limits.bettors import chance_ratios, stake_chances

__all__ = ["likelihood_table", "standardized", "tilt_table", "verify_means"]

Floats = NDArray[np.float64]

_MOST_ERROR = 1e-12


def standardized(scores: Floats, law: Floats) -> Floats:
    """Scores (n_levels,) centered and scaled to unit variance under ``law``; zeros if constant."""
    centered = scores - law @ scores
    sd = np.sqrt(law @ centered**2)
    result: Floats = centered / sd if sd > 0 else np.zeros_like(centered)
    return result


def tilt_table(scores: Floats, law: Floats, zs: Floats, thetas: Sequence[float]) -> Floats:
    """Exponential tilts, (n_bins, n_levels, n_thetas).

    scores, law: (n_levels,); zs: (n_bins,), the stake score a bin stands for.
    """
    tilts = zs[:, None, None] * np.asarray(thetas, dtype=np.float64)[None, None, :]
    exponents = tilts * standardized(scores, law)[None, :, None]
    exponents -= exponents.max(axis=1, keepdims=True)  # cancels in the quotient
    weights = np.exp(exponents)
    factors: Floats = weights / np.einsum("v,bvk->bk", law, weights)[:, None, :]
    return factors


def likelihood_table(is_favorable: NDArray[np.bool_], law: Floats, rates: Floats) -> Floats:
    """Likelihood ratios of declared bettors, (2, n_levels, n_rates).

    Bin 0: the box was not staked, 1: it was. is_favorable: (n_levels,), when who sees the level
    stakes. rates: (n_rates, 2), each the chance to see it and the chance to stake without seeing.
    """
    return chance_ratios(stake_chances(is_favorable, rates), law)


def verify_means(table: Floats, law: Floats, *, what: str) -> None:
    """Raise ConfigError unless the factors of every bin have mean one to 1e-12 and none is below 0.

    table: (n_bins, n_levels, k); law: (n_levels,).
    """
    errors = np.abs(np.einsum("v,bvk->bk", law, table) - 1)
    worst = float(errors.max(initial=0.0))
    if not worst <= _MOST_ERROR or bool((table < 0).any()):
        raise ConfigError(
            f"the factors of {what} have a mean off by {worst:.3g} or go below 0: no guarantee "
            "would hold; give scores and a law that are finite, and a law that adds up to 1"
        )
