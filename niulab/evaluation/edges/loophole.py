"""Exact scores where the sheet is drawn anew for every round: a policy is asked about every sheet.

There are as many distinct observations as sheets, or one where the rules are hidden. Hidden, the
value of full information bounds every policy from above and none attains it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from niulab.agents.base import Agent, StochasticAgent
from niulab.envs.encoding import Encoding
from niulab.envs.settings import EnvSettings
from niulab.envs.sheets.drawing import Sheets
from niulab.envs.sheets.values import sheet_values, uniform_cents
from niulab.errors import ConfigError
from niulab.evaluation.asking import Progress
from niulab.evaluation.edges.looks import Looks, bet_dependence, score_looks
from niulab.evaluation.score import Bounds, RoundScore

__all__ = ["evaluate_loophole", "loophole_bounds", "why_loophole_simulated"]

_FULL_INFORMATION = "upper bound of full information"


def evaluate_loophole(
    agent: Agent,
    settings: EnvSettings,
    *,
    stochastic: bool = False,
    progress: Progress | None = None,
    task: str = "niulab/Loophole-v0",
) -> RoundScore:
    """Score a policy that bets on one round under a sheet drawn for it, exactly.

    Its regret is that to the best slip under each sheet, even where it does not see which is in
    force. Raises ConfigError, with the reason, where no exact score exists.
    """
    reason = why_loophole_simulated(agent, settings)
    if reason is not None:
        raise ConfigError(f"'{agent.name}' has no exact score: {reason}; simulate it instead")
    values, unit = sheet_values(settings), settings.rules.base_unit_cents
    blind = float(max(values.blind_cents) / unit)
    n_seen = len(values.names) if settings.rules_visible else 1
    notes = (
        f"asked about {n_seen} distinct observations, {len(values.names)} sheets",
        f"the best slip for all sheets is worth {blind:.6f}"
        + ("" if settings.rules_visible else ", and no policy more while the rules are hidden"),
    )
    return score_looks(
        agent,
        settings,
        _looks(settings),
        values,
        bounds=loophole_bounds(settings),
        notes=notes,
        stochastic=stochastic,
        progress=progress,
        task=task,
    )


def why_loophole_simulated(agent: Agent, settings: EnvSettings) -> str | None:
    """Why a policy that bets under drawn sheets has no exact score, or None if it has one."""
    if settings.sheets is None:
        return "the task draws no sheets"
    if settings.n_rounds != 1:
        return "values of more than one round under drawn sheets are simulated in this version"
    if isinstance(agent, StochasticAgent):
        return None
    return bet_dependence(agent, _looks(settings))


def loophole_bounds(settings: EnvSettings) -> Bounds:
    """Uniform play and the best slip under each sheet, base units; None for more than one round.

    The second is no optimum but an upper bound where the observation does not tell all sheets
    apart.
    """
    if settings.n_rounds != 1:
        return Bounds(random=None, optimum=None)
    values, unit = sheet_values(settings), settings.rules.base_unit_cents
    seen = _observations(settings)
    tells_all = len(np.unique(seen, axis=0)) == len(seen)
    return Bounds(
        random=uniform_cents(settings) / unit,
        optimum=values.optimum_cents / unit,
        ceiling=Bounds.ceiling if tells_all else _FULL_INFORMATION,
    )


def _looks(settings: EnvSettings) -> Looks:
    takes = Sheets(settings.every_sheet, settings.menu).takes
    return Looks(
        signals=np.arange(len(takes)),
        observations=_observations(settings),
        masks=takes if settings.rules_visible else np.ones_like(takes),
        allowed=takes,
    )


def _observations(settings: EnvSettings) -> NDArray[np.generic]:
    """The observation before the bet under each sheet."""
    n = len(settings.every_sheet)
    return Encoding(settings).encode_bets(n, sheets=np.arange(n))
