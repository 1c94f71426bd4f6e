"""Whether a hand's highest rank is its best setting, for the net and for what comes after it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from niulab.engine.rules.model import RuleSet
from niulab.engine.settlement import Outcome, net_table
from niulab.engine.wagers import Slip
from niulab.solvers.joint_law import tie_outcomes
from niulab.solvers.optimal.values import OptimalBetting

__all__ = ["is_highest_setting_best", "keeps_highest_setting"]


def is_highest_setting_best(rules: RuleSet, slips: Iterable[Slip]) -> bool:
    """Whether a higher rank never nets less, against any dealer's hand, under any of the slips.

    Then the highest setting is best for every value that rises with the bankroll. Settings of one
    rank are alike: five cards break ties. Where hands are set by the dealer or by nobody, True.
    """
    return all((high >= low).all() for slip in slips for low, high in _choices(rules, slip))


def keeps_highest_setting(betting: OptimalBetting) -> bool:
    """Whether no hand set below its highest rank is worth more, after any slip at any bankroll.

    The solution takes hands as set highest; where this holds it is the optimum of the task that
    sets them, too. Values need not rise with the bankroll for that (close to ruin, a profit that
    must play on can fall): only results that a setting chooses between are compared, as far as the
    proven gap can tell.
    """
    plays, problem = betting.plays, betting.problem
    n_levels = betting.low.shape[1]
    ends = np.arange(n_levels + plays.reach) * plays.step_cents
    payoff = problem.payoff(ends)
    pairs = [_pairs(problem.rules, slip, plays.step_cents) for slip in plays.slips]
    is_endless = problem.n_rounds is None
    for row in range(len(betting.low)):
        n_open = int((~np.isnan(betting.low[row])).sum())
        low, high = payoff.copy(), payoff.copy()
        if is_endless or row + 1 < len(betting.low):
            after = row if is_endless else row + 1
            low[:n_levels], high[:n_levels] = betting.low[after], betting.high[after]
        for begin, end, choices in zip(plays.begin, plays.end, pairs, strict=True):
            levels = np.arange(begin, min(end, n_open))
            if any((high[levels + b] < low[levels + a]).any() for a, b in choices):
                return False
    return True


def _pairs(rules: RuleSet, slip: Slip, step_cents: int) -> set[tuple[int, int]]:
    """(levels moved under a lower rank, under a higher one) that a setting can choose between."""
    return {
        (int(a) // step_cents, int(b) // step_cents)
        for low, high in _choices(rules, slip)
        for a, b in np.unique(np.stack([low, high]).reshape(2, -1), axis=1).T
        if a != b
    }


def _choices(rules: RuleSet, slip: Slip) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Nets (masks,) of two ranks of one hand, the lower first, in all ways they can meet a dealer.

    Every pair of ranks counts, whether or not some hand offers both.
    """
    if rules.arrangement != "as_set":
        return
    nets, ties = net_table(rules, slip), tie_outcomes(rules)
    ranks = range(len(rules.ranks))

    def outcomes(own: int, dealer: int) -> set[Outcome]:
        if own == dealer:
            return {Outcome.WIN, ties[own], Outcome.LOSE}
        return {Outcome.WIN if own > dealer else Outcome.LOSE}

    for dealer in ranks:
        for high in ranks:
            for low in range(high):
                for a in outcomes(low, dealer):
                    for b in outcomes(high, dealer):
                        yield nets[a, low, dealer], nets[b, high, dealer]
