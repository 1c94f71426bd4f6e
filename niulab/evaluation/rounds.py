"""Exact scores of one round that begins with a bet: a slip is chosen blind, then a hand set.

Before the deal there is one observation, so a bettor is one slip or a mixture of slips; each slip
it bets is then an arrangement task of its own (``exact``).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from niulab.agents.base import Agent, StochasticAgent, as_actions
from niulab.engine.settlement import Outcome
from niulab.engine.wagers import Slip
from niulab.envs.encoding import Encoding
from niulab.envs.settings import EnvSettings
from niulab.errors import ConfigError
from niulab.evaluation.asking import (
    HandAsker,
    Progress,
    asked_weights,
    probabilities_of,
    why_hands_simulated,
    why_memory_simulated,
)
from niulab.evaluation.exact import SETTING_IS_FREE
from niulab.evaluation.score import Bounds, RoundScore
from niulab.seeding import generator
from niulab.solvers.hand_values import hand_values
from niulab.solvers.joint_law import JointLaw, joint_law
from niulab.solvers.matchups import matchups
from niulab.solvers.policy_law import RESOLUTION, policy_law, quantized, uniform_weights
from niulab.solvers.values import slip_values

__all__ = ["evaluate_round", "round_bounds", "why_round_simulated"]

_COPIES = 64
"""How often the betting observation is shown at once, to see whether its place matters."""


def evaluate_round(
    agent: Agent,
    settings: EnvSettings,
    *,
    chunk: int = 65536,
    stochastic: bool = False,
    progress: Progress | None = None,
    task: str = "niulab/Table-v0",
) -> RoundScore:
    """Score a policy that bets on one round and (where asked) sets its hand, exactly.

    Raises ConfigError, with the reason, where no exact score exists.
    """
    reason = why_round_simulated(agent, settings)
    if reason is not None:
        raise ConfigError(f"'{agent.name}' has no exact score: {reason}; simulate it instead")
    stochastic = stochastic or _find_dependence(agent, settings) is not None
    shares, n_illegal = _bets(agent, settings, stochastic=stochastic)
    rules = settings.rules
    value = wins = setting_regret = Fraction(0)
    for index, share in shares.items():
        slip = settings.menu[index]
        law = joint_law(rules)
        if settings.sets_hand and rules.arrangement == "as_set":
            asker = HandAsker(agent, settings, slip=index)
            policy, wrong = asked_weights(
                asker, chunk=chunk, stochastic=stochastic, progress=progress
            )
            law, n_illegal = policy_law(rules, policy), n_illegal + wrong
        found = _value(settings, slip, law)
        value += share * found
        wins += share * law.probability(Outcome.WIN)
        setting_regret += share * (_best_value(settings, slip) - found)
    bounds = round_bounds(settings)
    return RoundScore(
        agent=agent.name,
        task=task,
        rules=rules.name,
        rules_hash=rules.rules_hash,
        source="probabilities" if stochastic else "argmax",
        value=value,
        win_probability=wins,
        slips={str(settings.menu[index]): share for index, share in shares.items()},
        setting_regret=setting_regret,
        betting_regret=_optimum(settings) - value - setting_regret,
        n_illegal=n_illegal,
        bounds=bounds,
        notes=() if rules.arrangement == "as_set" else (SETTING_IS_FREE,),
    )


def why_round_simulated(agent: Agent, settings: EnvSettings) -> str | None:
    """Why a policy that bets has no exact score, or None if it has one."""
    if settings.channel is not None:
        return "the bet depends on what a channel shows"
    if settings.sheets is not None:
        return "the sheet is drawn anew for every round"
    if settings.n_rounds != 1 or settings.bankroll_cents is not None:
        return "values of whole sessions are simulated in this version"
    if settings.can_leave:
        return "a player who may leave before the bet is simulated in this version"
    reason = why_hands_simulated(settings) or why_memory_simulated(agent)
    if reason is not None or isinstance(agent, StochasticAgent):
        return reason
    return _find_dependence(agent, settings)


def round_bounds(settings: EnvSettings) -> Bounds:
    """Uniform bets with uniform settings, and the best slip set best; base units, exact."""
    rules = settings.rules
    law = joint_law(rules)
    if settings.sets_hand and rules.arrangement == "as_set":
        law = policy_law(rules, uniform_weights(matchups(rules)))
    values = [_value(settings, slip, law) for slip in settings.menu]
    return Bounds(random=sum(values, Fraction(0)) / len(values), optimum=_optimum(settings))


def _optimum(settings: EnvSettings) -> Fraction:
    return max(_best_value(settings, slip) for slip in settings.menu)


_BEST: dict[tuple[str, str, Slip], Fraction] = {}


def _best_value(settings: EnvSettings, slip: Slip) -> Fraction:
    """Value of a slip in base units when hands are set for it; kept."""
    rules = settings.rules
    key = (rules.rules_hash, settings.decisions, slip)
    if key not in _BEST:
        if settings.sets_hand:
            values = hand_values(rules, slip)
            _BEST[key] = values.mean(values.best) / rules.base_unit_cents
        else:  # hands nobody sets are set for the highest rank
            _BEST[key] = _value(settings, slip, joint_law(rules))
    return _BEST[key]


def _value(settings: EnvSettings, slip: Slip, law: JointLaw) -> Fraction:
    rules = settings.rules
    return slip_values(rules, slip, law).ev_cents / rules.base_unit_cents


# ---------------------------------------------------------------- asking


def _find_dependence(agent: Agent, settings: EnvSettings) -> str | None:
    """What an agent's bets or settings depend on besides the slip and the hand, or None."""
    observations, masks = _before_the_bet(settings, _COPIES)
    memory = agent.initial_state(_COPIES)
    found = []
    for seed in (0, 1):
        rng = generator(seed, "evaluation/agent")
        answer, memory = agent.act(observations, masks, {}, memory, rng)
        found.append(as_actions(answer, _COPIES, agent.name))
    if len(np.unique(found)) > 1:
        return "it bets by chance or memory: asked again, it chose another slip"
    if not settings.sets_hand or settings.rules.arrangement != "as_set":
        return None
    slip = int(found[0][0])
    return HandAsker(
        agent, settings, slip=slip if slip < len(settings.menu) else 0
    ).find_dependence()


def _bets(
    agent: Agent, settings: EnvSettings, *, stochastic: bool
) -> tuple[dict[int, Fraction], int]:
    """Probability of each menu index that the agent bets, and the number of illegal answers."""
    observations, masks = _before_the_bet(settings, 1)
    if stochastic:
        weights = quantized(probabilities_of(agent, observations, masks))[0]
        shares = {i: Fraction(int(w), RESOLUTION) for i, w in enumerate(weights.tolist()) if w}
    else:
        rng = generator(0, "evaluation/agent")
        answer, _ = agent.act(observations, masks, {}, agent.initial_state(1), rng)
        shares = {int(as_actions(answer, 1, agent.name)[0]): Fraction(1)}
    legal: dict[int, Fraction] = {}
    for index, share in shares.items():
        is_legal = 0 <= index < len(settings.menu)
        legal[index if is_legal else 0] = legal.get(index if is_legal else 0, Fraction(0)) + share
    return legal, sum(not 0 <= index < len(settings.menu) for index in shares)


def _before_the_bet(settings: EnvSettings, n: int) -> tuple[NDArray[np.generic], NDArray[np.bool_]]:
    """The one observation before the deal, n times, and its mask."""
    masks = np.zeros((n, settings.n_actions), dtype=np.bool_)
    masks[:, : len(settings.menu)] = True
    return Encoding(settings).encode_bets(n), masks
