"""The law of a session's greatest drawdown: how far the bankroll falls below its peak so far.

A drawdown passes an amount exactly when the gap from the peak does, so each point of the law is one
programme over the gap with a barrier there: exact on the lattice, for flat rounds over the gap
alone, for stakes that depend on the bankroll over both.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from niulab.engine.rules.model import RuleSet
from niulab.engine.wagers import Slip
from niulab.errors import ConfigError
from niulab.solvers.joint_law import JointLaw
from niulab.solvers.sessions.layout import lay_out
from niulab.solvers.sessions.net_law import net_law
from niulab.solvers.sessions.tables import BettingTables

__all__ = ["DrawdownLaw", "flat_drawdown", "session_drawdown"]


@dataclass(frozen=True, eq=False)
class DrawdownLaw:
    """The law of the greatest drawdown of ``n_rounds`` rounds, computed point by point.

    The drawdown lies on the multiples of ``step_cents`` up to ``most_cents``.
    """

    n_rounds: int
    step_cents: int
    most_cents: int
    _passed: Callable[[int], float] = field(repr=False)
    _known: dict[int, float] = field(default_factory=dict, repr=False)

    def p_exceeds(self, cents: int) -> float:
        """P(greatest drawdown > cents)."""
        level = cents // self.step_cents
        if level < 0:
            return 1.0
        if level not in self._known:
            is_possible = level * self.step_cents < self.most_cents
            self._known[level] = self._passed(level) if is_possible else 0.0
        return self._known[level]

    def quantile(self, p: float) -> int:
        """The least amount in cents that is not passed with probability ``p``, by bisection."""
        if not 0 < p < 1:
            raise ConfigError(f"a quantile lies between 0 and 1, got {p}: write 0.95")
        low, high = -1, 1
        while high * self.step_cents < self.most_cents and not self._is_within(high, p):
            low, high = high, 2 * high  # short barriers are cheap: climb, then bisect
        high = min(high, self.most_cents // self.step_cents)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self._is_within(middle, p) else (middle, high)
        return high * self.step_cents

    @cached_property
    def probabilities(self) -> NDArray[np.float64]:
        """P(greatest drawdown = k steps), from 0 to the last that is ever passed with 1e-15.

        One programme for each entry: for short sessions.
        """
        passed = [1.0]
        level = 0
        while passed[-1] > 1e-15:
            passed.append(self.p_exceeds(level * self.step_cents))
            level += 1
        return -np.diff(passed)

    @property
    def mean_cents(self) -> float:
        """Mean of the greatest drawdown, from ``probabilities``."""
        return float(self.probabilities @ np.arange(len(self.probabilities))) * self.step_cents

    def _is_within(self, level: int, p: float) -> bool:
        return self.p_exceeds(level * self.step_cents) <= 1 - p


def flat_drawdown(
    rules: RuleSet, slip: Slip, *, n_rounds: int, law: JointLaw | None = None
) -> DrawdownLaw:
    """Of ``n_rounds`` rounds of one slip and a bankroll that never ends."""
    nets = net_law(rules, slip, law)
    shifts = nets.nets // nets.step_cents

    def passed(level: int) -> float:
        from niulab.solvers.sessions.programme_kernels import pass_gap

        return float(pass_gap(shifts, nets.probabilities, n_rounds, level))

    most = n_rounds * max(-int(nets.nets[0]), 0)
    return DrawdownLaw(n_rounds, nets.step_cents, most, passed)


def session_drawdown(
    rules: RuleSet,
    tables: BettingTables,
    *,
    start_cents: int,
    n_rounds: int,
    target_cents: int | None = None,
    law: JointLaw | None = None,
) -> DrawdownLaw:
    """Of a session of ``play_session``, until it ends; raises ConfigError as that does.

    A point of the law takes room and time in proportion to gaps times levels; ``p_exceeds`` raises
    ConfigError where they do not fit into memory.
    """
    layout = lay_out(
        rules,
        tables,
        start_cents=start_cents,
        n_rounds=n_rounds,
        target_cents=target_cents,
        law=law,
    )

    def passed(level: int) -> float:
        from niulab.solvers.sessions.programme_kernels import pass_gap_with_bankroll

        rows = layout.rows(level + 1)
        return float(pass_gap_with_bankroll(*layout.arguments, rows, n_rounds))

    most = (layout.width - 1) * tables.step_cents
    return DrawdownLaw(n_rounds, tables.step_cents, most, passed)
