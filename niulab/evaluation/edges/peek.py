"""Exact scores of a look at one card before the bet: a policy is asked about every signal.

There are as many distinct observations as values of the channel, and one for nothing. In the
normalized score the best blind policy, one slip whatever is shown, takes the place of uniform play.
"""

from __future__ import annotations

from fractions import Fraction

from niulab.agents.base import Agent, StochasticAgent
from niulab.envs.settings import EnvSettings
from niulab.errors import ConfigError
from niulab.evaluation.asking import Progress
from niulab.evaluation.edges.looks import bet_dependence, peek_looks, score_looks
from niulab.evaluation.edges.stealth import score_watched, stealth_bounds
from niulab.evaluation.score import Bounds, RoundScore
from niulab.solvers.channels import SignalValues, signal_values

__all__ = ["evaluate_peek", "peek_bounds", "peek_values", "why_peek_simulated"]


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
    values, looks = peek_values(settings), peek_looks(settings)
    if settings.detector is not None:
        return score_watched(
            agent,
            settings,
            looks,
            values,
            notes=(f"asked about all {len(looks.signals)} signals",),
            stochastic=stochastic,
            progress=progress,
            task=task,
        )
    uniform = _mean(values.blind_cents) / settings.rules.base_unit_cents
    return score_looks(
        agent,
        settings,
        looks,
        values,
        bounds=peek_bounds(settings),
        notes=(
            f"asked about all {len(looks.signals)} signals",
            f"uniform play is worth {float(uniform):.6f}",
        ),
        stochastic=stochastic,
        progress=progress,
        task=task,
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
    return bet_dependence(agent, peek_looks(settings))


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
    if settings.detector is not None:
        return stealth_bounds(settings)
    values, unit = peek_values(settings), settings.rules.base_unit_cents
    floor, optimum = max(values.blind_cents) / unit, values.optimum_cents / unit
    return Bounds(random=floor, optimum=optimum, floor="best blind slip")


def _mean(numbers: tuple[Fraction, ...]) -> Fraction:
    return sum(numbers, Fraction(0)) / len(numbers)
