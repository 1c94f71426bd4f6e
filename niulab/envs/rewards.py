"""What a step is worth: the four objectives, and the exact expectation in place of a drawn net.

    profit          net of the round in base units
    target          1 on reaching ``target_cents``, else 0
    log_wealth      the increment of u(B) = log(B + one base unit), B in base units
    time_at_table   1 for every round played

``reward_scale`` multiplies all of them. ``reward="expected"`` takes the exact conditional
expectation of the net in its place, given what the player knows when setting: his own five cards
and, where the dealer opens first, the dealer's too, which leaves nothing to expect.
"""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from niulab.engine.ranking import hand_index
from niulab.engine.rules import RuleSet
from niulab.engine.settlement import net_table
from niulab.engine.wagers import Slip
from niulab.envs.settings import EnvSettings

__all__ = ["expected_net_cents", "reward_of", "rewards_of"]


def reward_of(
    settings: EnvSettings, *, net_cents: float, bankroll_cents: int, end: str | None
) -> float:
    """Reward of a round of ``net_cents``, settled or expected; ``bankroll_cents`` is before it."""
    unit = settings.rules.base_unit_cents
    if settings.objective == "profit":
        reward = net_cents / unit
    elif settings.objective == "target":
        reward = float(end == "target")
    elif settings.objective == "log_wealth":
        reward = log(bankroll_cents + net_cents + unit) - log(bankroll_cents + unit)
    else:
        reward = 1.0
    return float(reward * settings.reward_scale)


def rewards_of(
    settings: EnvSettings,
    *,
    nets: NDArray[Any],
    bankrolls: NDArray[np.int64],
    has_reached_target: NDArray[np.bool_],
) -> NDArray[np.float64]:
    """``reward_of`` many rounds, to the same last bit; cents (n,), ``bankrolls`` before them."""
    unit = settings.rules.base_unit_cents
    if settings.objective == "profit":
        rewards = nets / unit
    elif settings.objective == "target":
        rewards = has_reached_target.astype(np.float64)
    elif settings.objective == "log_wealth":
        rewards = _logs(bankrolls + nets + unit) - _logs(bankrolls + unit)
    else:
        rewards = np.ones(len(nets))
    return rewards if settings.reward_scale == 1 else rewards * settings.reward_scale


def _logs(cents: NDArray[np.int64]) -> NDArray[np.float64]:
    """Logarithms by ``math.log``, from which NumPy's differ in the last bit on some machines."""
    values, places = np.unique(cents, return_inverse=True)
    return np.array([log(value) for value in values.tolist()])[places.reshape(cents.shape)]


def expected_net_cents(rules: RuleSet, slip: Slip, cards: NDArray[np.uint8], setting: int) -> float:
    """Exact expected net of a slip for one hand of ascending ids under one setting of it.

    The first call makes the table of all matchups (about a second). The dealer sets best.
    """
    from niulab.solvers.hand_values import option_values
    from niulab.solvers.joint_law import tie_outcomes
    from niulab.solvers.matchups import matchups

    table = matchups(rules)
    row = hand_index(cards[None, :], multi=rules.deck.decks > 1)
    hand = table.of_hands(row)
    option = int(hand.option_of[0, setting]) if rules.arrangement == "as_set" else 0
    numerator = option_values(rules, _nets(rules, slip), hand, option, ties=tie_outcomes(rules))
    return float(numerator[0]) / float(table.n_opponents)


_NETS: dict[tuple[str, Slip], NDArray[np.int64]] = {}
_MAX_KEPT = 256


def _nets(rules: RuleSet, slip: Slip) -> NDArray[np.int64]:
    key = (rules.rules_hash, slip)
    if key not in _NETS:
        while len(_NETS) >= _MAX_KEPT:
            _NETS.pop(next(iter(_NETS)))
        _NETS[key] = net_table(rules, slip)
    return _NETS[key]
