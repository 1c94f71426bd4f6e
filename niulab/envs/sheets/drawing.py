"""Which sheet a round is played under, and what a menu's slips are called there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from niulab.engine.rules import RuleSet
from niulab.engine.wagers import Slip, can_place
from niulab.seeding import WORD_BITS, round_word, round_words

__all__ = ["Sheets", "slip_under"]

_GROUP = (1 << 16) + 3
"""The group of words that draws sheets, next to those of the channels; no shoe reaches as far."""


def slip_under(rules: RuleSet, slip: Slip, first: RuleSet) -> Slip | None:
    """A slip of the ``first`` sheet with the same stakes on another's boxes; None if it takes none.

    The required boxes correspond to each other, the others by name.
    """
    names = {first.required_box: rules.required_box}
    stakes = tuple((names.get(box) or box, cents) for box, cents in slip.stakes)
    sights = tuple((names.get(box) or box, cents) for box, cents in slip.in_sight or ())
    if any(box not in rules.boxes for box, _ in stakes):
        return None
    there = Slip(stakes, sights or None)
    return there if can_place(rules, there) else None


class Sheets:
    """The sheets of a task: drawn uniformly, by the row's seed and the round alone.

    rules: the sheets. takes: bool (sheets, slips), whether a sheet takes a slip of the menu, which
    is written for the first. menus: the slips on each sheet's own boxes; slip 0, which every sheet
    takes, stands for those that one does not.
    """

    def __init__(self, rules: Sequence[RuleSet], menu: Sequence[Slip]) -> None:
        self.rules = tuple(rules)
        found = [[slip_under(one, slip, rules[0]) for slip in menu] for one in rules]
        self.takes = np.array([[slip is not None for slip in line] for line in found])
        self.menus = tuple(tuple(slip or line[0] or menu[0] for slip in line) for line in found)

    def draw(self, seed: int, round_index: int) -> int:
        """The number of a round's sheet; probabilities are equal to within 2**-50."""
        return (round_word(seed, round_index, _GROUP) * len(self.rules)) >> WORD_BITS

    def draw_rows(self, seeds: NDArray[np.uint64], rounds: NDArray[np.int64]) -> NDArray[np.int64]:
        """``draw`` of n rows (n,)."""
        words = round_words(seeds, rounds, _GROUP) * np.uint64(len(self.rules))
        return (words >> np.uint64(WORD_BITS)).astype(np.int64)  # 58 and 6 bits at most
