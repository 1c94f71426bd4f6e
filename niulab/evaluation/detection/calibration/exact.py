"""What is exact in the study: means of factors, and information in an attacker's stakes."""

from __future__ import annotations

from dataclasses import replace
from hashlib import blake2b
from itertools import combinations
from math import log, nan

import numpy as np
from numpy.typing import NDArray

from niulab.agents.advantage.catalog import attack_edge
from niulab.agents.advantage.config import (
    AttackConfig,
    CardSwitcher,
    Colluders,
    LatePlayer,
    SightConfig,
    low_slip,
)
from niulab.agents.advantage.sight import seen_information
from niulab.agents.advantage.switching import best_swaps
from niulab.engine.cards import HAND_SIZE, N_CARDS
from niulab.engine.rules import RuleSet
from niulab.engine.settlement import Outcome
from niulab.evaluation.detection.attacks.switching import SWITCHED, pair_factors
from niulab.evaluation.detection.features import result_law
from niulab.evaluation.detection.fold import PlayerStates, log_e_values
from niulab.evaluation.detection.portfolio import Portfolio
from niulab.seeding import generator
from niulab.solvers.limits.information import mutual_information
from niulab.solvers.values import slip_values

__all__ = [
    "best_rounds",
    "component_weight",
    "information_of",
    "mean_errors",
    "portfolio_digest",
    "split_information",
    "start_weight",
    "units_a_round",
]

_N_TENS = 50
_N_SPLIT_TENS = 400


def information_of(rules: RuleSet, attacker: AttackConfig) -> float:
    """Nats a round that an attacker's stakes tell of the deal; NaN where he stakes blindly.

    Who posts late tells whether he won. Colluders stake as one, so their stakes together tell what
    one staker's do; NaN where each hides for himself. Of a switcher it is what the split of the ten
    cards tells, see ``split_information``.
    """
    if isinstance(attacker, Colluders) and (attacker.cover_bet or attacker.hold_back):
        return nan
    if isinstance(attacker, SightConfig):
        return seen_information(rules, attacker)
    if isinstance(attacker, LatePlayer):
        known = result_law(rules)
        is_won = np.array([cell.outcome == Outcome.WIN for cell in known.cells])
        wins, posts = float(known.law @ is_won), attacker.post_rate
        return mutual_information(
            np.array([1 - wins, wins]), np.array([[1.0, 0.0], [1 - posts, posts]])
        )
    if isinstance(attacker, CardSwitcher):
        return split_information(rules, attacker.rate)
    return nan


def split_information(rules: RuleSet, rate: float, *, n_tens: int = _N_SPLIT_TENS) -> float:
    """Nats a round that the split of two seats' ten cards tells of the best exchange of a card.

    The divergence of the split after an exchange, made with the chance ``rate``, from the uniform
    law over all 252: exact given the ten cards, and the mean over ``n_tens`` random tens.
    """
    picks, rest = _splits()
    places = {tuple(pick): place for place, pick in enumerate(picks.tolist())}
    rng, total = generator(0, "detection/switched tens"), 0.0
    for _ in range(n_tens):
        ten = rng.permutation(N_CARDS)[: 2 * HAND_SIZE].astype(np.uint8)
        place_of = {card: place for place, card in enumerate(ten.tolist())}
        after, _ = best_swaps(rules, ten[picks], ten[rest])
        hands = [tuple(sorted(place_of[card] for card in hand)) for hand in after.tolist()]
        counts = np.bincount([places[hand] for hand in hands], minlength=len(picks))
        ratios = 1 - rate + rate * counts
        total += float(ratios[ratios > 0] @ np.log(ratios[ratios > 0])) / len(picks)
    return total / n_tens


def units_a_round(rules: RuleSet, attacker: AttackConfig) -> float:
    """Mean result of a round of the attack in base units, exactly; NaN where none is known.

    Colluders are counted together, the peeker's low stakes included.
    """
    edge = attack_edge(rules, attacker)
    if edge is not None and isinstance(attacker, Colluders):
        edge = attacker.stakers * edge + slip_values(rules, low_slip(rules, attacker)).ev_cents
    return nan if edge is None else float(edge) / rules.base_unit_cents


def component_weight(portfolio: Portfolio, attack: str) -> float:
    """The published weight of one component of an attack; they are all equal."""
    return max(c.weight for c in portfolio.components if c.attack == attack)


def start_weight(portfolio: Portfolio, start: int) -> float:
    """The published weight of turning after ``start`` rounds."""
    fresh = PlayerStates.fresh(2, portfolio)
    left = log_e_values(portfolio, replace(fresh, n_rounds=np.array([start, start + 1])))
    return float(np.exp(left[0]) - np.exp(left[1]))


def mean_errors(portfolio: Portfolio, *, seed: int) -> dict[str, float]:
    """The largest |E0 f - 1| of every attack's tables, all bins and levels, by enumeration.

    For splits of ten cards, over all 252 splits of 50 random tens. Steering is given by the round
    and left out.
    """
    worst: dict[str, float] = {}
    for block in portfolio.blocks:
        for table, law in zip(block.tables, block.laws, strict=True):
            if table is not None and law is not None:
                means = np.einsum("v,bvk->bk", law, table)
                attack = block.components[0].attack
                worst[attack] = max(worst.get(attack, 0.0), float(np.abs(means - 1).max()))
    picks, rest = _splits()
    rng = generator(seed, "detection/tens")
    for rules in portfolio.sheets:
        for _ in range(_N_TENS):
            ten = rng.permutation(N_CARDS)[: 2 * HAND_SIZE].astype(np.uint8)
            factors = pair_factors(rules, ten[picks], ten[rest])
            error = float(np.abs(factors.mean(axis=0) - 1).max())
            worst[SWITCHED] = max(worst.get(SWITCHED, 0.0), error)
    return worst


def portfolio_digest(portfolio: Portfolio) -> str:
    """A hash of tables, weights and usual stakes, which tells results of others apart."""
    digest = blake2b(portfolio.weights.tobytes(), digest_size=8)
    digest.update(b"" if portfolio.low is None else portfolio.low.tobytes())
    for array in portfolio.layout:
        digest.update(array.tobytes())
    return digest.hexdigest()


def best_rounds(information: float, alpha: float, *weights: float) -> float:
    """(ln 1/alpha + the sum of ln 1/w) / I: rounds to an alarm under weights; NaN without I."""
    if not information > 0:
        return nan
    return (log(1 / alpha) - sum(map(log, weights))) / information


def _splits() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Places among ten cards of every hand, and of its neighbor's, (252, 5) each."""
    places = range(2 * HAND_SIZE)
    picks = np.array([*combinations(places, HAND_SIZE)])
    rest = np.array([[place for place in places if place not in pick] for pick in picks.tolist()])
    return picks, rest
