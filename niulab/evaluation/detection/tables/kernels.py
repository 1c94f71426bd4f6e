"""Compiled: what a round's cards say of the shuffle, factor by factor.

Cards are taken place by place. A card's chance is that of the cards not seen at earlier places, so
products over places have mean one.
"""

# Inside numba's functions the types are numba's.
# mypy: disable-error-code="no-untyped-def,no-untyped-call,untyped-decorator"

from __future__ import annotations

from math import log

import numpy as np
from numba import njit

from niulab.evaluation.detection.kernels import LOG_UNIT, not_yet, worth

__all__ = ["fold_shuffles", "shuffle_factors"]

_N_CARDS = 52
_UNIT = 1e100


@njit(cache=True, nogil=True)
def shuffle_factors(
    cards, counts, sums, pooled, n_pooled, last, alphas, priors, repeats, orders, factors
):
    """One round's factors.

    cards: uint8 (n_places,), 52 where not known. counts: float64 (n_places, 52), cards seen at a
    place before; sums: (n_places,), of all cards; pooled: (52,), at any place; n_pooled: of all.
    last: uint8 (n_places,), the round before at the table. Written: for every place, card and rank
    by ``alphas`` (a Dirichlet prior's weight on each level); cards anywhere by ``priors``; the card
    of the round before at the same place by ``repeats``, the card that followed in it by
    ``orders``, both chances of it.
    """
    n_places = len(cards)
    n_alphas = len(alphas)
    first = n_places * 2 * n_alphas
    factors[:] = 1.0
    follower = np.full(_N_CARDS + 1, _N_CARDS, dtype=np.uint8)
    for place in range(1, n_places):
        if last[place - 1] < _N_CARDS:
            follower[last[place - 1]] = last[place]
    is_out = np.zeros(_N_CARDS + 1, dtype=np.bool_)
    is_out[_N_CARDS] = True
    n_left = _N_CARDS
    left = n_pooled
    for place in range(n_places):
        card = cards[place]
        if card >= _N_CARDS:
            continue
        n, n_card, n_rank = sums[place], counts[place, card], 0.0
        for suit in range(4):
            n_rank += counts[place, card // 4 * 4 + suit]
        for a in range(n_alphas):
            alpha = alphas[a]
            at = (place * 2) * n_alphas + a
            factors[at] = _N_CARDS * (n_card + alpha) / (n + _N_CARDS * alpha)
            factors[at + n_alphas] = 13 * (n_rank + alpha) / (n + 13 * alpha)
        at = first
        for a in range(len(priors)):
            weight = pooled[card] + priors[a]
            factors[at + a] *= n_left * weight / (left + n_left * priors[a])
        at += len(priors)
        same = last[place]
        if not is_out[same]:
            for a in range(len(repeats)):
                hit = n_left if card == same else 0.0
                factors[at + a] *= 1 - repeats[a] + repeats[a] * hit
        at += len(repeats)
        if place > 0:
            following = follower[cards[place - 1]]
            if not is_out[following]:
                for a in range(len(orders)):
                    hit = n_left if card == following else 0.0
                    factors[at + a] *= 1 - orders[a] + orders[a] * hit
        is_out[card] = True
        n_left -= 1
        left -= pooled[card]


@njit(cache=True, nogil=True)
def fold_shuffles(
    deals, is_next, alphas, priors, repeats, orders, weights, counts, pooled, last, values, t,
    power, peak,
):  # fmt: skip
    """Fold rounds (n, n_places) into a monitor; counts, pooled, last and values go on in place.

    is_next: (n,), whether a round follows ``last`` at its own table. Returns rounds, power of 1e100
    and largest log e-value so far.
    """
    factors = np.empty(len(values))
    nothing = np.full(deals.shape[1], _N_CARDS, dtype=np.uint8)
    sums, n_pooled = np.zeros(len(counts)), 0.0  # whole numbers: exact in whatever order
    for place in range(len(counts)):
        for c in range(_N_CARDS):
            sums[place] += counts[place, c]
        n_pooled += sums[place]
    for i in range(len(deals)):
        cards = deals[i]
        before = last if is_next[i] else nothing
        shuffle_factors(
            cards, counts, sums, pooled, n_pooled, before, alphas, priors, repeats, orders, factors
        )
        t += 1
        scale = _UNIT ** -float(power)
        a = (not_yet(t - 1) - not_yet(t)) * scale
        for c in range(np.uint64(len(values))):
            values[c] = (values[c] + a) * factors[c]
        total = not_yet(t) * scale + worth(values, weights)
        peak = max(peak, log(total) + power * LOG_UNIT)
        if total > _UNIT:
            for c in range(len(values)):
                values[c] /= _UNIT
            power += 1
        for place in range(len(cards)):
            last[place] = cards[place]
            if cards[place] < _N_CARDS:
                counts[place, cards[place]] += 1
                sums[place] += 1
                n_pooled += 1
                pooled[cards[place]] += 1
    return t, power, peak
