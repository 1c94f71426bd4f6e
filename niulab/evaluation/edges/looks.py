"""Exact scores of a bet on something seen: a policy is asked once about each thing it can see."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from niulab.agents.base import Agent, as_actions
from niulab.envs.encoding import Encoding
from niulab.envs.settings import EnvSettings
from niulab.errors import ConfigError
from niulab.evaluation.asking import Progress, probabilities_of, why_memory_simulated
from niulab.evaluation.score import Bounds, RoundScore
from niulab.seeding import generator
from niulab.solvers.channels import SignalValues, signal_mixtures
from niulab.solvers.policy_law import RESOLUTION, quantized

__all__ = ["Looks", "bet_dependence", "peek_looks", "score_looks", "slip_shares"]

_COPIES = 16
"""How often each observation is shown at once, to see whether its place matters."""


@dataclass(frozen=True, eq=False)
class Looks:
    """What is seen before a bet, one row per signal that occurs.

    signals: (n,) numbers of the values' signals. observations: (n, size). masks: bool (n, actions),
    as they are shown. allowed: bool (n, actions); an action that is not is replaced by action 0.
    """

    signals: NDArray[np.int64]
    observations: NDArray[Any]
    masks: NDArray[np.bool_]
    allowed: NDArray[np.bool_]


def peek_looks(settings: EnvSettings) -> Looks:
    """The observations of all signals of a task's channel that occur; raises ConfigError."""
    if settings.channel is None:
        raise ConfigError("the task has no channel: use niulab/Peek-v0, or give channel={}")
    chances = [one.chance for one in signal_mixtures(settings.rules, settings.channel)]
    signals = np.flatnonzero(np.array(chances) > 0)
    masks = np.ones((len(signals), settings.n_actions), dtype=np.bool_)
    observations = Encoding(settings).encode_bets(len(signals), signals=signals)
    return Looks(signals, observations, masks, allowed=masks)


def score_looks(
    agent: Agent,
    settings: EnvSettings,
    looks: Looks,
    values: SignalValues,
    *,
    bounds: Bounds,
    notes: tuple[str, ...],
    stochastic: bool,
    progress: Progress | None,
    task: str,
) -> RoundScore:
    """The exact score of a policy that bets on one round after a look.

    The regret is that to the best slip for each signal.
    """
    stochastic = stochastic or bet_dependence(agent, looks) is not None
    unit = settings.rules.base_unit_cents
    shares, n_illegal = slip_shares(agent, looks, stochastic=stochastic)
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
    wins = zip(values.chances, values.wins, strict=True)
    return RoundScore(
        agent=agent.name,
        task=task,
        rules=settings.rules_name,
        rules_hash=settings.rules_hash,
        source="probabilities" if stochastic else "argmax",
        value=value,
        win_probability=sum((chance * win for chance, win in wins), Fraction(0)),
        slips=slips,
        setting_regret=Fraction(0),
        betting_regret=values.optimum_cents / unit - value,
        n_illegal=n_illegal,
        bounds=bounds,
        notes=notes,
    )


def bet_dependence(agent: Agent, looks: Looks) -> str | None:
    """What an agent's bets depend on besides what it sees, or None."""
    if (reason := why_memory_simulated(agent)) is not None:
        return reason
    n = len(looks.signals)
    observations = np.tile(looks.observations, (_COPIES, 1))
    masks = np.tile(looks.masks, (_COPIES, 1))
    memory, found = agent.initial_state(_COPIES * n), []
    for seed in (0, 1):
        rng = generator(seed, "evaluation/agent")
        answer, memory = agent.act(observations, masks, {}, memory, rng)
        found.append(as_actions(answer, _COPIES * n, agent.name).reshape(_COPIES, n))
    answers = np.concatenate(found)
    if (answers != answers[0]).any():
        return "it bets by chance or memory: asked again about a signal, it chose another slip"
    return None


def slip_shares(
    agent: Agent, looks: Looks, *, stochastic: bool
) -> tuple[dict[int, dict[int, Fraction]], int]:
    """Probability of each menu index by signal, and the number of illegal answers."""
    observations, masks, n = looks.observations, looks.masks, len(looks.signals)
    if stochastic:
        weights = quantized(probabilities_of(agent, observations, masks)).tolist()
        rows = [{i: Fraction(w, RESOLUTION) for i, w in enumerate(row) if w} for row in weights]
    else:
        rng = generator(0, "evaluation/agent")
        answer, _ = agent.act(observations, masks, {}, agent.initial_state(n), rng)
        chosen = as_actions(answer, n, agent.name).tolist()
        rows = [{index: Fraction(1)} for index in chosen]
    n_illegal = 0
    legal: dict[int, dict[int, Fraction]] = {}
    for place, (signal, row) in enumerate(zip(looks.signals.tolist(), rows, strict=True)):
        shares: dict[int, Fraction] = {}
        for index, share in row.items():
            is_legal = 0 <= index < masks.shape[1] and bool(looks.allowed[place, index])
            n_illegal += not is_legal
            played = index if is_legal else 0
            shares[played] = shares.get(played, Fraction(0)) + share
        legal[signal] = shares
    return legal, n_illegal
