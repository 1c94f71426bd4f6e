"""What a sheet itself gives away, without a card seen: boxes, covers, the order of dealing, hands.

All figures are exact, but for card switching, which is sampled and says how exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import log, sqrt

import numpy as np
from numpy.typing import NDArray

from niulab.agents.advantage.config import Steerer
from niulab.agents.advantage.sight import steered_edge
from niulab.agents.advantage.switching import best_swaps
from niulab.engine.cards import HAND_SIZE, N_CARDS
from niulab.engine.rules.model import RuleSet
from niulab.engine.settlement import Outcome, settle_box
from niulab.engine.wagers import largest_stake, least_slip
from niulab.evaluation.detection.features import result_cells, result_law
from niulab.seeding import generator
from niulab.solvers.joint_law import joint_law
from niulab.solvers.limits.information import best_delay
from niulab.solvers.values import box_values

__all__ = [
    "BoxLeak",
    "Estimate",
    "Switching",
    "box_leaks",
    "short_cover",
    "steering_edge",
    "switching_worth",
]


@dataclass(frozen=True)
class BoxLeak:
    """What a box gives per unit, exactly.

    ev: without information; above 0 the sheet is defective, and no detector can see the player who
    stakes it. posted: of a unit added to the box after a win. pinched: of taking the stake back
    after a loss. late_rounds: before an ideal alarm at ``alpha`` for who posts after every win.
    """

    box: str
    ev: Fraction
    posted: Fraction
    pinched: Fraction
    late_rounds: float


@dataclass(frozen=True)
class Estimate:
    """A sampled mean, and the half-width of its 95 % interval."""

    mean: float
    half_width: float


@dataclass(frozen=True)
class Switching:
    """Who swaps one card with a neighbor whenever that raises his hand, over ``n_deals`` deals.

    wins: chance to win. evs: per unit by main box. exact: the same without a swap.
    """

    n_deals: int
    seed: int
    wins: Estimate
    evs: dict[str, Estimate]
    exact: dict[str, float]


def box_leaks(rules: RuleSet, *, alpha: float = 1e-3) -> tuple[BoxLeak, ...]:
    """All boxes of a sheet."""
    law, found = joint_law(rules), []
    for box, values in box_values(rules, law).items():
        won = lost = 0
        posted = pinched = Fraction(0)
        for cell, n in law.cells.items():
            net = cell.unit(rules, box).net
            won, lost = won + n * (net > 0), lost + n * (net < 0)
            posted += n * max(net, Fraction(0))
            pinched -= n * min(net, Fraction(0))
        share = won / law.n_deals
        entropy = -sum(p * log(p) for p in (share, 1 - share) if p > 0)
        found.append(
            BoxLeak(
                box,
                values.ev,
                posted / law.n_deals,
                pinched / law.n_deals,
                best_delay(entropy, alpha),
            )
        )
    return tuple(found)


def short_cover(rules: RuleSet) -> dict[str, Fraction]:
    """EV per unit of every main box if its losses were capped at the stake, as short cover can.

    Above 0, a table that lets a player sit with less in sight than he may lose pays him.
    """
    law, found = joint_law(rules), {}
    for box, terms in rules.boxes.items():
        if terms.is_bonus:
            continue
        cover = terms.cover.model_copy(update={"shortfall": "cap_loss"})
        capped = terms.model_copy(update={"cover": cover})
        sheet = rules.model_copy(update={"boxes": {**rules.boxes, box: capped}})
        cents = least_slip(rules).stake(box) or min(
            rules.base_unit_cents, largest_stake(rules, least_slip(rules), box)
        )
        total = sum(
            n
            * settle_box(
                sheet,
                box,
                cents,
                outcome=cell.outcome,
                player_rank=cell.player_rank,
                dealer_rank=cell.dealer_rank,
                events=cell.events,
                in_sight_cents=cents,
            ).net_cents
            for cell, n in law.cells.items()
        )
        found[box] = Fraction(total, law.n_deals * cents)
    return found


def steering_edge(rules: RuleSet, *, bid_units: int = 2) -> Fraction | None:
    """Mean base units a round of who knows the rank of the first packet's first card.

    He bids ``bid_units`` on the required box for the packet when its card favors him, with a unit
    on each other main box that gains, and stakes the least slip otherwise. None where packets go
    round from the marked position.
    """
    if rules.table.first_packet != "largest_required_stake":
        return None
    bid = bid_units * rules.base_unit_cents
    return steered_edge(rules, Steerer(kind="steerer", bid=bid)) / rules.base_unit_cents


def switching_worth(rules: RuleSet, *, n_deals: int = 100_000, seed: int = 0) -> Switching:
    """Sampled with the hand as dealt as a control, whose mean is exact; one deck only."""
    rng, cells = generator(seed, "evaluation/switching"), result_law(rules)
    decks = np.argsort(rng.random((n_deals, N_CARDS)), axis=1)[:, : 3 * HAND_SIZE].astype(np.uint8)
    own, other, dealer = (decks[:, i * HAND_SIZE : (i + 1) * HAND_SIZE] for i in range(3))
    swapped, _ = best_swaps(rules, own, other)
    before, after = (result_cells(rules, hand, dealer) for hand in (own, swapped))
    wins = np.array([cell.outcome == Outcome.WIN for cell in cells.cells], dtype=np.float64)
    boxes = [box for box, terms in rules.boxes.items() if not terms.is_bonus]
    nets = {
        box: np.array([float(cell.unit(rules, box).net) for cell in cells.cells]) for box in boxes
    }
    return Switching(
        n_deals,
        seed,
        _controlled(wins, before, after, cells.law),
        {box: _controlled(nets[box], before, after, cells.law) for box in boxes},
        {box: float(cells.law @ nets[box]) for box in boxes},
    )


def _controlled(
    worths: NDArray[np.float64],
    before: NDArray[np.int16],
    after: NDArray[np.int16],
    law: NDArray[np.float64],
) -> Estimate:
    control, wanted = worths[before], worths[after]
    slope = np.cov(wanted, control)[0, 1] / control.var()
    rest = wanted - slope * (control - law @ worths)
    return Estimate(float(rest.mean()), 1.96 * float(rest.std()) / sqrt(len(rest)))
