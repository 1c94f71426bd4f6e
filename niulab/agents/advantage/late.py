"""Late stakes: past posters add to a box that has won, pinchers take back what has lost."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from niulab.agents.advantage.config import LatePlayer, high_slip
from niulab.agents.advantage.crowd import Attackers, Block, Cents, Seats
from niulab.engine.rules import RuleSet
from niulab.solvers.joint_law import joint_law

__all__ = ["LatePlayers", "late_edge"]

_POSTS, _PINCHES = range(2)


class LatePlayers(Attackers):
    """Post on the staked box that has won most a unit; pinch what lies on lost optional boxes."""

    pays_otherwise = True

    def __init__(self, rules: RuleSet, seats: Seats, config: LatePlayer) -> None:
        super().__init__(rules, seats, config)
        self._late = config
        self._is_optional = np.array([not terms.required for terms in rules.boxes.values()])

    def look(self, block: Block) -> None:
        super().look(block)
        self._posts = self.chances(_POSTS) < self._late.post_rate
        self._pinches = self.chances(_PINCHES) < self._late.pinch_rate

    def late(self, stakes: Cents, nets: Cents) -> Cents | None:
        per_unit = np.where(stakes > 0, nets / np.maximum(stakes, 1), -np.inf)
        rows, best = np.arange(len(stakes)), per_unit.argmax(axis=1)
        changes = np.zeros_like(stakes)
        does_post = self._posts[:, self.now] & (per_unit[rows, best] > 0)
        changes[rows[does_post], best[does_post]] = self._late.post
        does_pinch = self._pinches[:, self.now, None] & (nets < 0) & self._is_optional
        return self.of_attack(np.where(does_pinch, -stakes, changes))


def late_edge(rules: RuleSet, config: LatePlayer) -> Fraction:
    """Mean cents a round, exactly: of the stakes in time, and of what is changed after the close.

    A bonus box settles on its own, so it is posted on and pinched by its own result.
    """
    slip, law = high_slip(rules, config), joint_law(rules)
    posts, pinches = Fraction(str(config.post_rate)), Fraction(str(config.pinch_rate))
    total = Fraction(0)
    for cell, n in law.cells.items():
        best = Fraction(0)
        for box, cents in slip.stakes:
            net = cell.unit(rules, box).net
            best = max(best, net)
            is_back = net < 0 and not rules.boxes[box].required
            total += n * cents * net * (1 - pinches if is_back else 1)
        total += n * posts * config.post * best
    return total / law.n_deals
