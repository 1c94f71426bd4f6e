"""A whole game solved in one call: the law, every box, a slip, and warnings for defective boxes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from niulab.engine.rules import RuleSet, load_rules
from niulab.engine.wagers import Slip, cover_from, verify_slip
from niulab.solvers.joint_law import JointLaw, joint_law
from niulab.solvers.values import BoxValues, SlipValues, box_values, player_edges, slip_values

__all__ = ["Solution", "solve"]


@dataclass(frozen=True, eq=False)
class Solution:
    """Everything exact about one seat's round under a rule set, both hands best set."""

    rules: RuleSet
    law: JointLaw
    boxes: dict[str, BoxValues]
    slip: SlipValues | None
    warnings: tuple[str, ...]


def solve(
    rules: str | Path | RuleSet,
    slip: str | Slip | None = None,
    *,
    bankroll_cents: int | None = None,
) -> Solution:
    """Solve a rule set exactly; about a second for one deck once the kernel is compiled.

    ``rules`` is a shipped name, the path of a rules file or a RuleSet; ``slip`` a Slip or its
    text, as ``"single=100,super=40"`` in cents. A bankroll must cover the slip; where short cover
    caps a loss, it is what lies in sight. Raises RulesError or WagerError.
    """
    rule_set = load_rules(rules)
    stakes = None if slip is None else Slip.of(slip)
    if stakes is not None:
        verify_slip(rule_set, stakes, bankroll_cents)
        if bankroll_cents is not None:
            stakes = cover_from(rule_set, stakes, bankroll_cents)
    law = joint_law(rule_set)
    return Solution(
        rules=rule_set,
        law=law,
        boxes=box_values(rule_set, law),
        slip=None if stakes is None else slip_values(rule_set, stakes, law),
        warnings=tuple(player_edges(rule_set, law)),
    )
