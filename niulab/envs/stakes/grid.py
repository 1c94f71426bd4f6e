"""The grid of stakes: every slip on the table's chips, as far as some bankroll covers it."""

from __future__ import annotations

from dataclasses import dataclass
from math import lcm

import numpy as np
from numpy.typing import NDArray

from niulab.engine.rules import RuleSet
from niulab.engine.rules.cover import least_in_sight_cents
from niulab.engine.wagers import Slip, stake_step_cents
from niulab.errors import WagerError

__all__ = [
    "GRID_LIMIT",
    "StakeAxis",
    "StakeGrid",
    "box_stakes",
    "grid_places",
    "slips_at",
    "stake_axes",
    "stake_grid",
]

GRID_LIMIT = 10_000
"""Most slips of a grid."""


@dataclass(frozen=True, eq=False)
class StakeAxis:
    """The stakes of one box.

    stakes: int64 (m,), evenly spaced and ascending. needs: int64 (m,), the chips in sight without
    which the table takes none of them. column: of the box in the sheet's order. A *place* is an
    index into both, -1 for no stake.
    """

    box: str
    column: int
    is_required: bool
    stakes: NDArray[np.int64]
    needs: NDArray[np.int64]

    def tops(self, chips: NDArray[np.int64]) -> NDArray[np.int64]:
        """Places of the largest stakes that chips (...) cover, -1 for none."""
        tops: NDArray[np.int64] = np.searchsorted(self.needs, chips, side="right") - 1
        return tops


@dataclass(frozen=True, eq=False)
class StakeGrid:
    """Slips on some axes, the least one first; places: int64 (n_slips, axes)."""

    axes: tuple[StakeAxis, ...]
    places: NDArray[np.int64]

    def slips(self) -> tuple[Slip, ...]:
        """The slips themselves."""
        return slips_at(self.axes, self.places)


def stake_grid(
    rules: RuleSet,
    *,
    chip_cents: int | None = None,
    maximum_cents: int | None = None,
    target_cents: int | None = None,
) -> StakeGrid:
    """Every slip within the limits that some bankroll below the target covers.

    Raises WagerError for limits without a stake on the required box, and for more than GRID_LIMIT
    slips.
    """
    axes = stake_axes(
        rules, chip_cents=chip_cents, maximum_cents=maximum_cents, target_cents=target_cents
    )
    most = None if target_cents is None else max(target_cents - 1, int(axes[0].needs[0]))
    return StakeGrid(axes, grid_places(rules, axes, most))


def box_stakes(
    rules: RuleSet, box: str, *, chip_cents: int | None = None, maximum_cents: int | None = None
) -> range:
    """Stakes the table takes on a box whose every payment is whole cents.

    With ``chip_cents`` they are multiples of that too, with ``maximum_cents`` at most that.
    """
    terms = rules.boxes[box]
    step = lcm(rules.table.chip_unit_cents, stake_step_cents(rules, box), chip_cents or 1)
    most = terms.maximum_cents if maximum_cents is None else min(terms.maximum_cents, maximum_cents)
    return range(-(-terms.minimum_cents // step) * step, most + 1, step)


def stake_axes(
    rules: RuleSet,
    *,
    chip_cents: int | None = None,
    maximum_cents: int | None = None,
    target_cents: int | None = None,
) -> tuple[StakeAxis, ...]:
    """The axes of a sheet's boxes, the required one first, then in the sheet's order.

    Stakes are below the target, but for a box's least. A box that takes no stake within the limits
    has an axis without stakes; raises WagerError if the required one does.
    """
    axes = []
    for column, (box, terms) in enumerate(rules.boxes.items()):
        stakes = box_stakes(rules, box, chip_cents=chip_cents, maximum_cents=maximum_cents)
        if target_cents is not None:
            stakes = stakes[: max(1, len(range(stakes.start, target_cents, stakes.step)))]
        if terms.required and not stakes:
            raise WagerError(
                f"'{rules.name}' takes no {box} stake from {terms.minimum_cents} cents in steps of "
                f"{stakes.step} up to {stakes.stop - 1}: raise maximum_cents or lower chip_cents"
            )
        if len(stakes) > GRID_LIMIT:
            raise WagerError(_too_many(rules, f"{len(stakes)} on {box} alone"))
        needs = [least_in_sight_cents(terms, stake) for stake in stakes]
        axes.append(
            StakeAxis(
                box,
                column,
                terms.required,
                np.array(stakes, dtype=np.int64),
                np.array(needs, dtype=np.int64),
            )
        )
    return tuple(sorted(axes, key=lambda axis: not axis.is_required))


def grid_places(
    rules: RuleSet, axes: tuple[StakeAxis, ...], bankroll_cents: int | None = None
) -> NDArray[np.int64]:
    """Places (n_slips, axes) of every slip that a bankroll covers, in lexicographic order.

    None covers all of them. The least slip comes first. Raises WagerError if there are more than
    GRID_LIMIT.
    """
    places = np.empty((1, 0), dtype=np.int64)
    left = np.array([np.iinfo(np.int64).max if bankroll_cents is None else bankroll_cents])
    for axis in axes:
        first = 0 if axis.is_required else -1
        counts = axis.tops(left) - first + 1
        if (size := int(counts.sum())) > GRID_LIMIT:
            raise WagerError(_too_many(rules, f"{size} or more"))
        rows = np.repeat(np.arange(len(places)), counts)
        chosen = np.arange(size) - np.repeat(np.cumsum(counts) - counts, counts) + first
        places = np.column_stack((places[rows], chosen))
        left = left[rows] - np.append(axis.needs, 0)[chosen]  # place -1 finds the 0
    return places


def slips_at(axes: tuple[StakeAxis, ...], places: NDArray[np.int64]) -> tuple[Slip, ...]:
    """The slips at some places (n_slips, axes)."""
    columns = [np.append(axis.stakes, 0)[places[:, i]].tolist() for i, axis in enumerate(axes)]
    boxes = [axis.box for axis in axes]
    return tuple(
        Slip(tuple(zip(boxes, stakes, strict=True))) for stakes in zip(*columns, strict=True)
    )


def _too_many(rules: RuleSet, count: str) -> str:
    return (
        f"'{rules.name}' takes too many slips ({count}), more than {GRID_LIMIT}: give coarser "
        "chips (chip_cents), a lower maximum_cents or target_cents, or a menu"
    )
