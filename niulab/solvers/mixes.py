"""How boxes move together, and thousands of slips at the price of a few: exact second moments.

Given a deal, each staked box is settled by itself, so a slip's net is a sum of one random variable
per stake. With the means of the distinct stakes and the mean products of their pairs, the values of
a slip are sums over its boxes: its variance is the quadratic form of the stakes' covariances.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from math import sqrt
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from niulab.engine.rules.model import RuleSet
from niulab.engine.settlement import moved_table, net_table
from niulab.engine.wagers import Slip, verify_slip
from niulab.solvers.joint_law import JointLaw, joint_law
from niulab.solvers.values import SlipValues

__all__ = ["box_correlations", "box_covariances", "efficient", "mix_values", "upper_hull"]


def mix_values(
    rules: RuleSet, slips: Iterable[Slip], law: JointLaw | None = None
) -> list[SlipValues]:
    """``slip_values`` of many slips, with rounding, cover and caps; raises WagerError.

    The cells of the law are gone through once per distinct stake, not once per slip, and of a stake
    only what can differ is settled (see ``net_table``).
    """
    slips = list(slips)
    for slip in slips:
        verify_slip(rules, slip)
    law = joint_law(rules) if law is None else law
    stakes = [*dict.fromkeys(stake for slip in slips for stake in _stakes_of(slip))]
    cells = tuple(
        np.array([(c.outcome, c.player_rank, c.dealer_rank, c.events) for c in law.cells]).T
    )
    nets = _exact([net_table(rules, stake)[cells] for stake in stakes])
    moved = _exact([moved_table(rules, stake)[cells] for stake in stakes])
    counts = _exact(list(law.cells.values()))
    first, second, chips = nets @ counts, (nets * counts) @ nets.T, moved @ counts
    place = {stake: index for index, stake in enumerate(stakes)}
    values = []
    for slip in slips:
        own = [place[stake] for stake in _stakes_of(slip)]
        ev = Fraction(sum(first[own]), law.n_deals)
        square = Fraction(int(second[np.ix_(own, own)].sum()), law.n_deals)
        moved_cents = Fraction(sum(chips[own]), law.n_deals)
        values.append(SlipValues(slip, ev, square - ev * ev, moved_cents))
    return values


def box_covariances(rules: RuleSet, law: JointLaw | None = None) -> dict[tuple[str, str], Fraction]:
    """Exact covariance of the results of every two boxes per unit staked, a box with itself too."""
    law = joint_law(rules) if law is None else law
    counts = list(law.cells.values())
    units = {box: [cell.unit(rules, box).net for cell in law.cells] for box in rules.boxes}
    means = {box: _mean(nets, counts, law.n_deals) for box, nets in units.items()}
    found: dict[tuple[str, str], Fraction] = {}
    for one, other in combinations_with_replacement(units, 2):
        products = [a * b for a, b in zip(units[one], units[other], strict=True)]
        covariance = _mean(products, counts, law.n_deals) - means[one] * means[other]
        found[one, other] = found[other, one] = covariance
    return found


def box_correlations(rules: RuleSet, law: JointLaw | None = None) -> dict[tuple[str, str], float]:
    """Correlation of the results of every two boxes."""
    found = box_covariances(rules, law)
    return {
        (one, other): 1.0
        if one == other
        else float(value) / sqrt(found[one, one] * found[other, other])
        for (one, other), value in found.items()
    }


def efficient(mixes: Sequence[SlipValues], *, by: Literal["most", "least"]) -> tuple[int, ...]:
    """Indices, by rising cost, of the slips with the most (or the least) variance for their cost:
    none that costs no more has as much (or as little). Equals count once.
    """
    sign = 1 if by == "most" else -1
    order = sorted(range(len(mixes)), key=lambda i: (-mixes[i].ev_cents, -sign * mixes[i].variance))
    found: list[int] = []
    for place in order:
        if not found or sign * (mixes[place].variance - mixes[found[-1]].variance) > 0:
            found.append(place)
    return tuple(found)


def upper_hull(mixes: Sequence[SlipValues], places: Sequence[int]) -> tuple[int, ...]:
    """The corners of the upper hull of SD over cost, of slips given by rising cost: from each to
    the next, SD is bought at the best price there is.
    """
    hull: list[int] = []
    for place in places:
        while len(hull) > 1 and _slope(mixes, hull[-1], place) >= _slope(mixes, hull[-2], hull[-1]):
            hull.pop()
        hull.append(place)
    return tuple(hull)


def _slope(mixes: Sequence[SlipValues], one: int, other: int) -> float:
    cost = float(mixes[one].ev_cents - mixes[other].ev_cents)
    return (mixes[other].sd_cents - mixes[one].sd_cents) / cost


def _mean(values: Sequence[Fraction], counts: Sequence[int], n_deals: int) -> Fraction:
    return sum((n * value for n, value in zip(counts, values, strict=True)), Fraction(0)) / n_deals


def _stakes_of(slip: Slip) -> list[Slip]:
    """The slip taken apart: one slip for each box, with its chips in sight."""
    apart = []
    for box, cents in slip.stakes:
        sight = slip.sight(box)
        apart.append(Slip(((box, cents),), None if sight is None else ((box, sight),)))
    return apart


def _exact(rows: list[Any]) -> NDArray[Any]:
    return np.array(rows, dtype=object)  # Python's integers: sums of squares pass 64 bits
