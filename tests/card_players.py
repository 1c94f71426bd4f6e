"""Who stakes Super when, for tests of detectors: honest players and seers of a card."""

import numpy as np


def honest(cards, dealers, rng):
    """Stakes Super as often as a seer of the dealer's card, knowing nothing."""
    return rng.random(len(cards)) < 5 / 13


def hole_carder(see_rate):
    """Stakes Super when the dealer's first card, if seen, is an ace to a five."""

    def super_of(cards, dealers, rng):
        is_seen = rng.random(len(cards)) < see_rate
        return np.where(is_seen, dealers[:, 0] // 4 < 5, rng.random(len(cards)) < 5 / 13)

    return super_of
