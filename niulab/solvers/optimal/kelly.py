"""Kelly stakes over all boxes at once, inside the cover limits, with or without information.

A box that needs ``c`` chips in sight per chip staked returns ``1 + X / c`` per chip in sight, which
is never negative; cash returns 1. Sharing the bankroll among them for the greatest mean logarithm
(Kelly 1956) is the log-optimal portfolio of Cover (1984), whose bound proves the answer: no share
grows faster by more than ``log max_k E(return_k / return of the whole)``. A sound sheet without
information leaves everything in cash, exactly.

Stakes here are per unit: without rounding, table limits and caps, which ``kelly_slip`` minds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import lcm

import numpy as np
from numpy.typing import NDArray

from niulab.engine.rules.model import Box, RuleSet
from niulab.engine.settlement import settle_box
from niulab.engine.wagers import Slip, exposure_cents, least_slip, stake_step_cents
from niulab.errors import ConfigError
from niulab.solvers.joint_law import JointLaw

__all__ = ["KellyPlan", "KellySlip", "kelly_plan", "kelly_slip"]

Floats = NDArray[np.float64]

_TOLERANCE = 1e-14
_WINDOW = 3  # stakes up and down from the continuous answer, in the boxes' steps


@dataclass(frozen=True, eq=False)
class KellyPlan:
    """Fractions of the bankroll to stake, by box, and the mean log growth of a round.

    gap: no other fractions grow faster by more. in_sight: share of the bankroll that has to lie
    there, cover included. nets (m, boxes): of one unit in each cell; chances (m,).
    """

    fractions: dict[str, float]
    growth: float
    gap: float
    in_sight: float
    nets: Floats
    chances: Floats

    def growth_at(self, multiples: Sequence[float] | Floats) -> Floats:
        """Mean log growth at multiples of the full fractions: the Kelly curve.

        nan where the bankroll could not cover the stakes, -inf where all of it can be lost.
        """
        stakes = np.outer(np.asarray(multiples, dtype=np.float64), [*self.fractions.values()])
        wealth = 1 + stakes @ self.nets.T
        with np.errstate(divide="ignore", invalid="ignore"):
            growth: Floats = np.log(wealth) @ self.chances
        growth[np.asarray(multiples) * self.in_sight > 1 + 1e-12] = np.nan
        return growth


@dataclass(frozen=True)
class KellySlip:
    """A slip on the chip grid (None: stake nothing), its mean log growth, and a bound.

    bound: of any stakes, of whatever size, on these boxes; inf where a cap, short cover or rounding
    to the nearest cent may favor some sizes. loss_cents: the mean loss, negative for a gain.
    """

    slip: Slip | None
    growth: float
    bound: float
    loss_cents: float


def kelly_plan(law: JointLaw) -> KellyPlan:
    """The fastest growing fractions under a law of the round, possibly a conditional one.

    Every box of the law's rules may be staked alone, the required one need not be. Raises
    ConfigError for a box that can lose more than its cover.
    """
    from niulab.solvers.optimal.kernels import log_optimal

    rules = law.rules
    needs = np.array([_needed_per_unit(terms) for terms in rules.boxes.values()])
    nets, chances = _unit_nets(law)
    returns = np.hstack([np.ones((len(nets), 1)), 1 + nets / needs])
    for box, least in zip(rules.boxes, returns[:, 1:].min(axis=0), strict=True):
        if least < 0:
            raise ConfigError(
                f"box '{box}' of {rules.name} can lose more than its chips in sight: no stake on "
                "it is safe from debt; leave it out by a rule set without it"
            )
    weights = np.zeros(len(needs) + 1)
    weights[0] = 1
    gap = log_optimal(returns, chances, _TOLERANCE, weights)
    growth = float(np.log(returns @ weights) @ chances)
    stakes = (weights[1:] / needs).tolist()
    return KellyPlan(
        fractions=dict(zip(rules.boxes, stakes, strict=True)),
        growth=growth,
        gap=max(float(gap), 0.0),
        in_sight=float(weights[1:].sum()),
        nets=nets,
        chances=chances,
    )


def kelly_slip(
    law: JointLaw, bankroll_cents: int, *, fraction: float = 1.0, must_play: bool = False
) -> KellySlip:
    """Kelly's stakes as a slip the table takes from this bankroll.

    With the full ``fraction`` it is the fastest growing slip among all whose optional stakes lie
    within three chips of the continuous answer, moved on until none there is better; ``bound`` says
    how little any other could add. Below 1 the plan's stakes are scaled down and rounded down,
    the required box raised to its minimum. A slip that does not grow is no Kelly stake: then None,
    unless the player ``must_play``; he gets the slip that shrinks least.
    """
    if not 0 < fraction <= 1:
        raise ConfigError(f"fraction is above 0 and at most 1, got {fraction}")
    rules = law.rules
    if exposure_cents(rules, least_slip(rules)) > bankroll_cents:
        raise ConfigError(
            f"{bankroll_cents} cents do not put '{least_slip(rules)}' in sight: give more"
        )
    plan, grid = kelly_plan(law), _Grid(law, bankroll_cents)
    wanted = {box: fraction * bankroll_cents * f for box, f in plan.fractions.items()}
    places = [grid.place_below(box, cents) for box, cents in wanted.items()]
    found = grid.climb(places) if fraction == 1 else grid.covered(places)
    growth, bound = grid.growth(found), plan.growth + plan.gap
    if any(_favors_some_stakes(terms) for terms in rules.boxes.values()):
        bound = np.inf
    if must_play and growth <= 0:
        found = grid.climb([0] * len(places))
        growth = grid.growth(found)
    if growth <= 0 and not must_play:
        return KellySlip(None, 0.0, bound, 0.0)
    return KellySlip(grid.slip(found), growth, bound, grid.loss_cents(found))


def _needed_per_unit(terms: Box) -> float:
    """Chips in sight per chip staked, full cover without a table maximum."""
    multiple = terms.cover.multiple
    return float(max(1, multiple) if terms.cover.counts_stake else 1 + multiple)


def _favors_some_stakes(terms: Box) -> bool:
    """Whether a stake can net more, or need less in sight, than as many single units."""
    is_capped = terms.max_loss_cents is not None or terms.cover.max_cents is not None
    is_short = terms.cover.shortfall == "cap_loss"
    return is_capped or is_short or terms.commission.rounding == "half_up"


def _unit_nets(law: JointLaw) -> tuple[Floats, Floats]:
    """Distinct nets (m, boxes) of one unit on each box, and their probabilities (m,)."""
    counts: dict[tuple[float, ...], int] = {}
    for cell, n in law.cells.items():
        nets = tuple(float(cell.unit(law.rules, box).net) for box in law.rules.boxes)
        counts[nets] = counts.get(nets, 0) + n
    n_deals = law.n_deals
    return np.array([*counts]), np.array([n / n_deals for n in counts.values()])


class _Grid:
    """Slips from one bankroll as places in the lists of stakes of each box."""

    def __init__(self, law: JointLaw, bankroll_cents: int) -> None:
        self.law, self.rules, self.bankroll = law, law.rules, bankroll_cents
        self.stakes = [_stakes(self.rules, box, bankroll_cents) for box in self.rules.boxes]
        self._required = [*self.rules.boxes].index(self.rules.required_box or "")
        self._chances = np.array([n / law.n_deals for n in law.cells.values()])
        self._nets: dict[tuple[int, int], NDArray[np.int64]] = {}

    def place_below(self, box: str, cents: float) -> int:
        """The largest stake that is no larger."""
        index = [*self.rules.boxes].index(box)
        return max(int(np.searchsorted(self.stakes[index], cents + 1e-6, side="right")) - 1, 0)

    def slip(self, places: Sequence[int]) -> Slip:
        stakes = (int(s[p]) for s, p in zip(self.stakes, places, strict=True))
        return Slip(tuple(zip(self.rules.boxes, stakes, strict=True)))

    def growth(self, places: Sequence[int]) -> float:
        """Mean log growth; -inf where the bankroll does not cover the slip."""
        if exposure_cents(self.rules, self.slip(places)) > self.bankroll:
            return -np.inf
        wealth = 1 + self._net(places) / self.bankroll
        if wealth.min() <= 0:
            return -np.inf
        return float(np.log(wealth) @ self._chances)

    def loss_cents(self, places: Sequence[int]) -> float:
        return -float(self._net(places) @ self._chances)

    def covered(self, places: list[int]) -> list[int]:
        """Optional stakes lowered until the raised required one is covered, too."""
        while exposure_cents(self.rules, self.slip(places)) > self.bankroll and any(places):
            largest = max(range(len(places)), key=places.__getitem__)
            places[largest] -= 1
        return places

    def climb(self, places: list[int]) -> list[int]:
        """The best slip of the window around the places, moved along until it is in the middle."""
        best, growth = self.covered(places), -np.inf
        while True:
            axes = [
                [best[i]]
                if i == self._required
                else range(max(best[i] - _WINDOW, 0), min(best[i] + _WINDOW + 1, len(stakes)))
                for i, stakes in enumerate(self.stakes)
            ]
            tried = [self._with_best_required(list(one)) for one in product(*axes)]
            values = [self.growth(one) for one in tried]
            highest = int(np.argmax(values))
            if not values[highest] > growth:
                return best
            best, growth = tried[highest], values[highest]

    def _with_best_required(self, places: list[int]) -> list[int]:
        """Growth is concave in the stake of one box: halve the range of where it still rises."""

        def at(place: int) -> float:
            places[self._required] = place
            return self.growth(places)

        low, high = 0, len(self.stakes[self._required]) - 1
        while low < high:
            middle = (low + high) // 2
            if at(middle) < at(middle + 1):
                low = middle + 1
            else:
                high = middle
        places[self._required] = low
        return places

    def _net(self, places: Sequence[int]) -> NDArray[np.int64]:
        return sum(
            (self._box_net(i, place) for i, place in enumerate(places)),
            np.zeros(len(self._chances), dtype=np.int64),
        )

    def _box_net(self, index: int, place: int) -> NDArray[np.int64]:
        key = index, place
        if key not in self._nets:
            box, stake = [*self.rules.boxes][index], int(self.stakes[index][place])
            self._nets[key] = np.array(
                [
                    settle_box(
                        self.rules,
                        box,
                        stake,
                        outcome=cell.outcome,
                        player_rank=cell.player_rank,
                        dealer_rank=cell.dealer_rank,
                        events=cell.events,
                    ).net_cents
                    for cell in self.law.cells
                ]
            )
        return self._nets[key]


def _stakes(rules: RuleSet, box: str, bankroll_cents: int) -> NDArray[np.int64]:
    """Stakes of a box the bankroll could hold, ascending; 0 first where it may stay empty."""
    terms = rules.boxes[box]
    step = lcm(rules.table.chip_unit_cents, stake_step_cents(rules, box))
    least = -(-terms.minimum_cents // step) * step
    stakes = np.arange(least, min(terms.maximum_cents, bankroll_cents) + 1, step, dtype=np.int64)
    return stakes if terms.required else np.concatenate([[0], stakes])
