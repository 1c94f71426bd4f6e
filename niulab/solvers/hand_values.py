"""The exact value of every hand under every setting for the slip at stake, and the oracle.

Values are integers: cents over ``denominator`` opponents' hands, conditional on the player's own
five cards. The oracle sets the hand for the highest value, which need not be the highest rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from niulab.engine.rules.model import RuleSet
from niulab.engine.settlement import Outcome, net_table
from niulab.engine.wagers import Slip, least_slip
from niulab.errors import RulesError
from niulab.solvers.joint_law import tie_outcomes
from niulab.solvers.matchups import Matchups, exact_dot, matchups

__all__ = ["HandValues", "hand_values", "option_values"]


@dataclass(frozen=True, eq=False)
class HandValues:
    """Exact values, row by row of ``table.hands``.

    numerators: int64 (n, k), cents x ``denominator`` for each option of ``table.options``.
    option_of: uint8 (n, 10), the option each setting counts as under the sheet's arrangement rule.
    """

    rules: RuleSet
    slip: Slip
    table: Matchups
    numerators: NDArray[np.int64]
    option_of: NDArray[np.uint8]

    @property
    def denominator(self) -> int:
        """Opponents' hands each value is a mean over."""
        return self.table.n_opponents

    @cached_property
    def _by_setting(self) -> NDArray[np.int64]:
        return np.take_along_axis(self.numerators, self.option_of.astype(np.intp), axis=1)

    @cached_property
    def best(self) -> NDArray[np.int64]:
        """Numerator of each hand's best setting; int64 (n,)."""
        best: NDArray[np.int64] = self._by_setting.max(axis=1)
        return best

    @cached_property
    def oracle(self) -> NDArray[np.uint8]:
        """The first optimal setting of each hand; uint8 (n,)."""
        oracle: NDArray[np.uint8] = self._by_setting.argmax(axis=1).astype(np.uint8)
        return oracle

    @cached_property
    def optimal(self) -> NDArray[np.bool_]:
        """Which settings of each hand are optimal; bool (n, 10)."""
        optimal: NDArray[np.bool_] = self._by_setting == self.best[:, None]
        return optimal

    def of(self, actions: NDArray[np.integer]) -> NDArray[np.int64]:
        """Numerators of the chosen settings; actions (n,) in 0..9, result int64 (n,)."""
        return np.take_along_axis(self._by_setting, actions.astype(np.intp)[:, None], axis=1)[:, 0]

    def is_optimal(self, actions: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Whether each chosen setting is optimal; bool (n,)."""
        is_best: NDArray[np.bool_] = self.of(actions) == self.best
        return is_best

    def mean(self, numerators: NDArray[np.int64]) -> Fraction:
        """Mean over all deals of a numerator per hand, in cents."""
        return Fraction(exact_dot(self.table.weights, numerators), self.table.n_deals)

    @cached_property
    def win_counts(self) -> NDArray[np.int64]:
        """Opponents' hands each option beats; int64 (n, k)."""
        return np.stack([_wins(self.table, k) for k in range(self.table.options.shape[1])], axis=1)


_CACHE: dict[tuple[str, Slip], HandValues] = {}
_MAX_CACHED = 4


def hand_values(rules: RuleSet, slip: Slip | None = None) -> HandValues:
    """The exact value of every hand under every setting for ``slip`` (default: the least one).

    What the player knows is his own hand; where the dealer opens first the settled net of the open
    hands decides instead (``setting.best_setting``), and these values are those before it opens.
    Raises RulesError for a ranking-only file. The last four tables are kept.
    """
    if rules.is_ranking_only:
        message = (
            f"{rules.name} is ranking-only: it has no boxes to value; choose a rule set with boxes"
        )
        raise RulesError(message)
    slip = least_slip(rules) if slip is None else slip
    key = (rules.rules_hash, slip)
    if key not in _CACHE:
        while len(_CACHE) >= _MAX_CACHED:
            _CACHE.pop(next(iter(_CACHE)))
        _CACHE[key] = _compute(rules, slip, matchups(rules))
    return _CACHE[key]


def _compute(rules: RuleSet, slip: Slip, table: Matchups) -> HandValues:
    nets = net_table(rules, slip)
    is_set = rules.arrangement == "as_set"
    n_options = table.options.shape[1] if is_set else 1
    ties = tie_outcomes(rules)
    numerators = np.stack(
        [option_values(rules, nets, table, k, ties=ties) for k in range(n_options)], axis=1
    )
    option_of = table.option_of if is_set else np.zeros_like(table.option_of)
    return HandValues(rules, slip, table, numerators, option_of)


def option_values(
    rules: RuleSet,
    nets: NDArray[np.int64],
    table: Matchups,
    option: int,
    *,
    ties: Sequence[Outcome],
) -> NDArray[np.int64]:
    """Numerator of setting every hand to its ``option``-th rank; int64 (n,), 0 where it has none.

    ``nets`` is a ``net_table``: [outcome, player rank, dealer rank, events]; ``ties`` gives what
    exact ties are, by rank index.
    """
    n_ranks, n_masks = len(rules.ranks), 1 << len(rules.events)
    own = np.arange(n_ranks)
    below = np.tri(n_ranks, k=-1, dtype=np.bool_)[:, :, None]
    against = np.where(below, nets[Outcome.WIN], nets[Outcome.LOSE])
    against = against.transpose(0, 2, 1).reshape(n_ranks * n_masks, n_ranks)
    # hands of one's own rank are lost to in this sum; those that are not add what is more
    lose, tie, win = (
        nets[o, own, own].ravel() for o in (Outcome.LOSE, np.array(ties), Outcome.WIN)
    )
    ranks = table.options[:, option]
    has_option = ranks < n_ranks
    cells = np.where(has_option, ranks, 0).astype(np.intp)
    if n_masks > 1:
        cells = cells * n_masks + table.events
    values = table.sums_against(against, cells)
    values += table.less[:, option] * (win - lose)[cells]
    if (equal := table.equal[:, option]).any():
        values += equal * (tie - lose)[cells]
    values *= has_option
    return values


def _wins(table: Matchups, option: int) -> NDArray[np.int64]:
    """Opponents' hands that an option beats: those of lower ranks, and the lower of its own."""
    ranks = table.options[:, option].astype(np.int64)
    has_option = ranks < table.class_counts.shape[1]
    ranks = np.where(has_option, ranks, 0)
    below = np.cumsum(table.class_counts, axis=1, dtype=np.int64) - table.class_counts
    lower = below[table.class_of, ranks] + table.less[:, option]
    return np.where(has_option, lower, 0)
