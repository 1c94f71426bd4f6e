"""Exact scores of a look at one card before the bet: a policy is asked about every signal.

There are as many distinct observations as values of the channel, and one for nothing. In the
normalized score the best blind policy, one slip whatever is shown, takes the place of uniform play.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from niulab.agents.base import Agent, StochasticAgent, as_actions
from niulab.envs.encoding import Encoding
from niulab.envs.settings import EnvSettings
from niulab.errors import ConfigError
from niulab.evaluation.asking import Progress, probabilities_of, why_memory_simulated
from niulab.evaluation.score import Bounds, RoundScore
from niulab.seeding import generator
from niulab.solvers.channels import SignalValues, signal_values
from niulab.solvers.policy_law import RESOLUTION, quantized

__all__ = ["evaluate_peek", "peek_bounds", "peek_values", "why_peek_simulated"]

_COPIES = 16
"""How often each observation is shown at once, to see whether its place matters."""


def evaluate_peek(
    agent: Agent,
    settings: EnvSettings,
    *,
    stochastic: bool = False,
    progress: Progress | None = None,
    task: str = "niulab/Peek-v0",
) -> RoundScore:
    """Score a policy that bets on one round after a look, exactly.

    Raises ConfigError, with the reason, where no exact score exists.
    """
    reason = why_peek_simulated(agent, settings)
    if reason is not None:
        raise ConfigError(f"'{agent.name}' has no exact score: {reason}; simulate it instead")
    stochastic = stochastic or _find_dependence(agent, settings) is not None
    values, unit = peek_values(settings), settings.rules.base_unit_cents
    shares, n_illegal = _bets(agent, settings, stochastic=stochastic)
    value = Fraction(0)
    slips: dict[str, Fraction] = {}
    for signal, chosen in shares.items():
        chance, nets = values.chances[signal], values.nets_cents[signal]
        for index, share in chosen.items():
            value += chance * share * nets[index] / unit
            slip = str(settings.menu[index])
            slips[slip] = slips.get(slip, Fraction(0)) + chance * share
    if progress is not None:
        progress(len(shares), len(shares))
    bounds = peek_bounds(settings)
    wins = zip(values.chances, values.wins, strict=True)
    uniform = _mean(values.blind_cents) / unit
    return RoundScore(
        agent=agent.name,
        task=task,
        rules=settings.rules.name,
        rules_hash=settings.rules.rules_hash,
        source="probabilities" if stochastic else "argmax",
        value=value,
        win_probability=sum((chance * win for chance, win in wins), Fraction(0)),
        slips=slips,
        setting_regret=Fraction(0),
        betting_regret=values.optimum_cents / unit - value,
        n_illegal=n_illegal,
        bounds=bounds,
        notes=(
            f"asked about all {len(shares)} signals",
            f"uniform play is worth {float(uniform):.6f}",
        ),
    )


def why_peek_simulated(agent: Agent, settings: EnvSettings) -> str | None:
    """Why a policy that bets after a look has no exact score, or None if it has one."""
    if settings.channel is None:
        return "the task has no channel"
    if settings.n_rounds != 1 or settings.bankroll_cents is not None:
        return "values of whole sessions with a channel are simulated in this version"
    if settings.can_leave:
        return "a player who may leave after the look is simulated in this version"
    if isinstance(agent, StochasticAgent):
        return None
    return why_memory_simulated(agent) or _find_dependence(agent, settings)


def peek_values(settings: EnvSettings) -> SignalValues:
    """Exact values of the menu's slips by signal; raises ConfigError without a channel."""
    if settings.channel is None:
        raise ConfigError("the task has no channel: use niulab/Peek-v0, or give channel={}")
    return signal_values(settings.rules, settings.channel, settings.menu)


def peek_bounds(settings: EnvSettings) -> Bounds:
    """The best blind slip and the best slip for each signal, base units; None for sessions."""
    is_one = settings.n_rounds == 1 and settings.bankroll_cents is None
    if not is_one or settings.can_leave:
        return Bounds(random=None, optimum=None)
    values, unit = peek_values(settings), settings.rules.base_unit_cents
    floor, optimum = max(values.blind_cents) / unit, values.optimum_cents / unit
    return Bounds(random=floor, optimum=optimum, floor="best blind slip")


def _mean(numbers: tuple[Fraction, ...]) -> Fraction:
    return sum(numbers, Fraction(0)) / len(numbers)


# ---------------------------------------------------------------- asking


def _find_dependence(agent: Agent, settings: EnvSettings) -> str | None:
    """What an agent's bets depend on besides the signal, or None."""
    signals = np.tile(_possible(settings), _COPIES)
    observations, masks = _before_the_bet(settings, signals)
    memory, found = agent.initial_state(len(signals)), []
    for seed in (0, 1):
        rng = generator(seed, "evaluation/agent")
        answer, memory = agent.act(observations, masks, {}, memory, rng)
        found.append(as_actions(answer, len(signals), agent.name).reshape(_COPIES, -1))
    answers = np.concatenate(found)
    if (answers != answers[0]).any():
        return "it bets by chance or memory: asked again about a signal, it chose another slip"
    return None


def _bets(
    agent: Agent, settings: EnvSettings, *, stochastic: bool
) -> tuple[dict[int, dict[int, Fraction]], int]:
    """Probability of each menu index by signal, and the number of illegal answers."""
    signals = _possible(settings)
    observations, masks = _before_the_bet(settings, signals)
    if stochastic:
        weights = quantized(probabilities_of(agent, observations, masks)).tolist()
        rows = [{i: Fraction(w, RESOLUTION) for i, w in enumerate(row) if w} for row in weights]
    else:
        rng = generator(0, "evaluation/agent")
        answer, _ = agent.act(observations, masks, {}, agent.initial_state(len(signals)), rng)
        chosen = as_actions(answer, len(signals), agent.name).tolist()
        rows = [{index: Fraction(1)} for index in chosen]
    n_illegal, n_slips = 0, len(settings.menu)
    legal: dict[int, dict[int, Fraction]] = {}
    for signal, row in zip(signals.tolist(), rows, strict=True):
        shares: dict[int, Fraction] = {}
        for index, share in row.items():
            is_legal = 0 <= index < n_slips
            n_illegal += not is_legal
            place = index if is_legal else 0
            shares[place] = shares.get(place, Fraction(0)) + share
        legal[signal] = shares
    return legal, n_illegal


def _possible(settings: EnvSettings) -> NDArray[np.int64]:
    """Numbers of the signals that occur."""
    return np.flatnonzero(np.array(peek_values(settings).chances) > 0)


def _before_the_bet(
    settings: EnvSettings, signals: NDArray[np.int64]
) -> tuple[NDArray[np.generic], NDArray[np.bool_]]:
    """The observations of some signals, and their masks."""
    n = len(signals)
    masks = np.ones((n, settings.n_actions), dtype=np.bool_)
    return Encoding(settings).encode_bets(n, signals=signals), masks
