"""What simulated sessions give: estimates by policy, and paired differences."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from niulab.engine.rules import RuleSet
from niulab.evaluation.statistics import Estimate, wilson_interval

__all__ = ["PairedDifference", "SessionSimulation", "Share", "SimulatedPolicy"]


@dataclass(frozen=True)
class Share:
    """How many of n sessions ended in one way; Wilson's interval holds the truth at ``level``."""

    count: int
    n: int
    level: float

    @property
    def mean(self) -> float:
        return self.count / self.n

    @property
    def low(self) -> float:
        return wilson_interval(self.count, self.n, level=self.level)[0]

    @property
    def high(self) -> float:
        return wilson_interval(self.count, self.n, level=self.level)[1]

    def covers(self, value: float) -> bool:
        """Whether the interval holds ``value``."""
        return self.low <= value <= self.high


@dataclass(frozen=True)
class SimulatedPolicy:
    """One policy's sessions, in the words of ``solvers.sessions.programme.SessionLaw``.

    overflow: sessions that reached the top of a lattice without a target, and stopped there;
    staked_cents: the mean handle.
    """

    final_cents: Estimate
    ruin: Share
    target: Share
    ahead: Share
    left: Share
    overflow: Share
    rounds: Estimate
    staked_cents: float


@dataclass(frozen=True)
class PairedDifference:
    """A policy less the baseline, session by session on the same rounds."""

    final_cents: Estimate
    ruin: Estimate
    target: Estimate
    ahead: Estimate


@dataclass(frozen=True)
class SessionSimulation:
    """Policies by name, and the difference of each of the others to the baseline.

    Session i is dealt as row i of an environment that is reset with ``row_seed``. seconds: without
    compilation.
    """

    rules: RuleSet
    start_cents: int
    target_cents: int | None
    n_rounds: int
    n_sessions: int
    seed: int
    row_seed: int
    baseline: str
    policies: Mapping[str, SimulatedPolicy]
    differences: Mapping[str, PairedDifference]
    seconds: float
