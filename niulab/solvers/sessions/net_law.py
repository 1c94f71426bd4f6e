"""The exact law of one round's net under one slip: few results, integer counts of deals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import gcd, nan, sqrt

import numpy as np
from numpy.typing import NDArray

from niulab.engine.rules.model import RuleSet
from niulab.engine.settlement import moved_table, net_table
from niulab.engine.wagers import Slip, terms_of, verify_slip
from niulab.solvers.joint_law import JointLaw, joint_law

__all__ = ["NetLaw", "box_law", "lattice_step", "net_law"]


@dataclass(frozen=True, eq=False)
class NetLaw:
    """The law of one round's net: ``counts[i]`` deals of ``n_deals`` end with ``nets[i]``.

    nets: int64 (m,), distinct cents, ascending. moved_cents: mean chips moved. Sessions built on it
    take rounds as independent, which they are where the deck is shuffled for every round.
    """

    slip: Slip
    nets: NDArray[np.int64]
    counts: tuple[int, ...]
    moved_cents: Fraction

    @property
    def n_deals(self) -> int:
        """Deals in all."""
        return sum(self.counts)

    @cached_property
    def probabilities(self) -> NDArray[np.float64]:
        """P(net = nets[i]), each correctly rounded; float64 (m,)."""
        n_deals = self.n_deals
        return np.array([n / n_deals for n in self.counts])  # int / int rounds once

    @cached_property
    def step_cents(self) -> int:
        """Greatest step that divides every net, so that a session's results lie on its multiples;
        at least 1.
        """
        return lattice_step([self])

    @cached_property
    def ev_cents(self) -> Fraction:
        """Mean net."""
        return self._moment(1)

    @cached_property
    def variance(self) -> Fraction:
        """Variance of the net, in square cents."""
        return self._moment(2) - self.ev_cents**2

    @cached_property
    def skewness(self) -> float:
        """Third standardized moment; nan for a net that is always the same."""
        mean = self.ev_cents
        third = self._moment(3) - 3 * mean * self._moment(2) + 2 * mean**3
        return float(third / self.variance) / sqrt(self.variance) if self.variance else nan

    @cached_property
    def excess_kurtosis(self) -> float:
        """Fourth standardized moment less 3; nan for a net that is always the same."""
        mean = self.ev_cents
        fourth = self._moment(4) - 4 * mean * self._moment(3)
        fourth += 6 * mean**2 * self._moment(2) - 3 * mean**4
        return float(fourth / self.variance**2 - 3) if self.variance else nan

    def _moment(self, power: int) -> Fraction:
        nets = self.nets.tolist()  # Python's integers do not overflow
        total = sum(n * net**power for n, net in zip(self.counts, nets, strict=True))
        return Fraction(total, self.n_deals)


def net_law(rules: RuleSet, slip: Slip, law: JointLaw | None = None) -> NetLaw:
    """The law of a slip's net, with its rounding, cover and caps.

    ``law``: of a round (default: the full shoe, both hands set best), possibly a conditional one.
    Raises WagerError for a slip the table must refuse.
    """
    verify_slip(rules, slip)
    return _law_of(rules, slip, law)


def box_law(
    rules: RuleSet, box: str, stake_cents: int = 100, law: JointLaw | None = None
) -> NetLaw:
    """The law of one box by itself, which a table may take only beside its required box.

    For figures per unit of a box: roots, N0, skewness. Raises WagerError for an unknown box and for
    a stake that leaves fractions of a cent.
    """
    terms_of(rules, box)
    return _law_of(rules, Slip(((box, stake_cents),)), law)


def _law_of(rules: RuleSet, slip: Slip, law: JointLaw | None) -> NetLaw:
    law = joint_law(rules) if law is None else law
    nets, moved = net_table(rules, slip), moved_table(rules, slip)
    counts: Counter[int] = Counter()
    total_moved = 0
    for cell, n in law.cells.items():
        place = cell.outcome, cell.player_rank, cell.dealer_rank, cell.events
        counts[int(nets[place])] += n
        total_moved += n * int(moved[place])
    results = sorted(net for net, n in counts.items() if n)
    return NetLaw(
        slip,
        np.array(results, dtype=np.int64),
        tuple(counts[net] for net in results),
        Fraction(total_moved, law.n_deals),
    )


def lattice_step(laws: Iterable[NetLaw], *amounts: int) -> int:
    """Greatest step in cents that divides every net of every law and all ``amounts``, as a start
    and a target; at least 1.
    """
    return gcd(*(net for law in laws for net in law.nets.tolist()), *amounts) or 1
