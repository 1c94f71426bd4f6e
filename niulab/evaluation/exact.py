"""Exact scores of policies that set hands: ask about every hand, and let integers do the rest.

``policy_law`` counts the deals of a table of settings. Where an agent's answers make no table (see
``asking``), ``simulate`` is the honest answer.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from niulab.agents.base import Agent, StochasticAgent
from niulab.engine.rules.model import RuleSet
from niulab.engine.settlement import Outcome
from niulab.engine.wagers import Slip
from niulab.envs.settings import EnvSettings
from niulab.errors import ConfigError
from niulab.evaluation.asking import (
    HandAsker,
    Progress,
    asked_actions,
    asked_weights,
    why_hands_simulated,
    why_memory_simulated,
)
from niulab.evaluation.score import ArrangementScore, Bounds, RankRegret
from niulab.solvers.hand_values import HandValues, hand_values
from niulab.solvers.joint_law import joint_law
from niulab.solvers.policy_law import (
    OptionWeights,
    best_weights,
    exact_sum,
    exact_sums,
    policy_law,
    uniform_weights,
)
from niulab.solvers.values import box_values, slip_values

__all__ = [
    "SETTING_IS_FREE",
    "actions_of",
    "arrangement_bounds",
    "evaluate_arrangement",
    "score_weights",
    "why_simulated",
]

SETTING_IS_FREE = (
    "the dealer arranges the hands under these rules, so setting costs nothing: "
    "every policy is optimal"
)


def evaluate_arrangement(
    agent: Agent,
    settings: EnvSettings,
    *,
    chunk: int = 65536,
    stochastic: bool = False,
    progress: Progress | None = None,
    task: str = "niulab/Arrange-v0",
) -> ArrangementScore:
    """Score a policy that sets hands, exactly, over every hand of the shoe.

    Its likeliest (or only) answer counts; with ``stochastic``, or if it answers by chance, its
    ``probabilities`` do. Raises ConfigError, with the reason, where no exact score exists:
    ``simulate`` then gives an interval.
    """
    rules = settings.rules
    reason = _why_not_finite(settings) or why_memory_simulated(agent)
    words: dict[str, Any] = {"agent": agent.name, "task": task}
    if reason is None and rules.arrangement != "as_set":
        free = best_weights(hand_values(rules, settings.slip).table)
        return score_weights(free, rules, settings.slip, source="argmax", **words)
    asker = HandAsker(agent, settings)
    if reason is None and not stochastic:
        reason = asker.find_dependence()
        if reason is not None and isinstance(agent, StochasticAgent):
            reason, stochastic = None, True
    if reason is not None:
        raise ConfigError(f"'{agent.name}' has no exact score: {reason}; simulate it instead")
    policy, n_illegal = asked_weights(asker, chunk=chunk, stochastic=stochastic, progress=progress)
    source = "probabilities" if stochastic else "argmax"
    return score_weights(policy, rules, settings.slip, source=source, n_illegal=n_illegal, **words)


def why_simulated(agent: Agent, settings: EnvSettings) -> str | None:
    """Why a policy that sets hands has no exact score, or None if it has one."""
    reason = _why_not_finite(settings) or why_memory_simulated(agent)
    if (
        reason is not None
        or isinstance(agent, StochasticAgent)
        or settings.rules.arrangement != "as_set"
    ):
        return reason
    return HandAsker(agent, settings).find_dependence()


def _why_not_finite(settings: EnvSettings) -> str | None:
    """None if an arranging agent sees one hand and nothing else, else what it sees."""
    if settings.bets:
        return "the task is not to set a hand at a fixed slip"
    if settings.n_rounds != 1 or settings.bankroll_cents is not None:
        return "values of whole sessions are simulated in this version"
    return why_hands_simulated(settings)


def actions_of(
    agent: Agent,
    settings: EnvSettings,
    *,
    chunk: int = 65536,
    progress: Progress | None = None,
) -> NDArray[np.uint8]:
    """Ask an agent about every row of ``matchups(rules).hands``; uint8 (n,).

    Illegal answers become action 0, as in the environment.
    """
    return asked_actions(HandAsker(agent, settings), chunk=chunk, progress=progress)[0]


def score_weights(
    policy: OptionWeights,
    rules: RuleSet,
    slip: Slip,
    *,
    agent: str,
    task: str,
    source: str,
    n_illegal: int = 0,
) -> ArrangementScore:
    """The exact score of a table of settings, given as weights of each hand's options."""
    values = hand_values(rules, slip)
    table = values.table
    notes: tuple[str, ...] = ()
    if rules.arrangement != "as_set":
        policy, notes = best_weights(table), (SETTING_IS_FREE,)
    law = policy_law(rules, policy)
    by_rank, share_optimal = _regret_by_rank(policy, values)
    return ArrangementScore(
        agent=agent,
        task=task,
        rules=rules.name,
        rules_hash=rules.rules_hash,
        slip=str(slip),
        source=source,
        value=slip_values(rules, slip, law).ev_cents / rules.base_unit_cents,
        ev={box: found.ev for box, found in box_values(rules, law).items()},
        win_probability=law.probability(Outcome.WIN),
        share_optimal=share_optimal,
        share_niu_found=_share_niu_found(policy, values),
        n_hands=int(np.count_nonzero(table.weights)),
        n_errors=sum(rank.errors for rank in by_rank.values()),
        n_illegal=n_illegal,
        regret=sum((rank.regret for rank in by_rank.values()), Fraction(0)),
        regret_by_rank=by_rank,
        bounds=arrangement_bounds(rules, slip),
        notes=notes,
    )


_BOUNDS: dict[tuple[str, Slip], Bounds] = {}


def arrangement_bounds(rules: RuleSet, slip: Slip) -> Bounds:
    """Exact value of uniform play and of the oracle at a slip, in base units; kept per slip."""
    key = (rules.rules_hash, slip)
    if key not in _BOUNDS:
        values = hand_values(rules, slip)
        weights = uniform_weights(values.table) if rules.arrangement == "as_set" else None
        optimum = values.mean(values.best) / rules.base_unit_cents
        random = optimum if weights is None else _mean_value(weights, values)
        _BOUNDS[key] = Bounds(random=random, optimum=optimum)
    return _BOUNDS[key]


# ---------------------------------------------------------------- adding up


def _regret_by_rank(
    policy: OptionWeights, values: HandValues
) -> tuple[dict[str, RankRegret], Fraction]:
    """Regret by the hand's best rank, and the share of dealt hands set optimally."""
    table, ranks = values.table, values.rules.ranks
    is_error = np.zeros(len(table.ranks), dtype=np.bool_)
    lost = [0] * len(ranks)
    n_wrong = 0
    for option in range(values.numerators.shape[1]):
        deficits = values.best - values.numerators[:, option]
        rows = np.flatnonzero((policy.weights[:, option] > 0) & (deficits > 0))
        weights = policy.weights[rows, option] * table.weights[rows]
        is_error[rows[weights > 0]] = True
        n_wrong += exact_sum(weights, np.ones_like(weights))
        more = exact_sums(table.ranks[rows], len(ranks), weights, deficits[rows])
        lost = [a + b for a, b in zip(lost, more, strict=True)]
    law = joint_law(values.rules)
    scale = table.n_deals * policy.total * values.rules.base_unit_cents
    errors = np.bincount(table.ranks[is_error], minlength=len(ranks))
    by_rank = {
        name: RankRegret(law.rank_hands[rank], int(errors[rank]), Fraction(lost[rank], scale))
        for rank, name in enumerate(ranks)
        if law.rank_hands[rank]
    }
    return by_rank, 1 - Fraction(n_wrong, policy.total * law.n_hands)


def _share_niu_found(policy: OptionWeights, values: HandValues) -> Fraction:
    """Of the hands that can rank above high card, the share set so that they do."""
    table, law = values.table, joint_law(values.rules)
    n_missed = 0
    for option in range(1, table.options.shape[1]):  # a niu hand's first option is no high card
        is_missed = (policy.weights[:, option] > 0) & (table.options[:, option] == 0)
        rows = np.flatnonzero(is_missed)
        weights = policy.weights[rows, option] * table.weights[rows]
        n_missed += exact_sum(weights, np.ones_like(weights))
    return 1 - Fraction(n_missed, policy.total * (law.n_hands - law.rank_hands[0]))


def _mean_value(policy: OptionWeights, values: HandValues) -> Fraction:
    """Mean value of a policy over all deals, in base units."""
    numerator = sum(
        exact_sum(policy.weights[:, option] * values.table.weights, values.numerators[:, option])
        for option in range(values.numerators.shape[1])
    )
    return Fraction(numerator, values.table.n_deals * policy.total * values.rules.base_unit_cents)
