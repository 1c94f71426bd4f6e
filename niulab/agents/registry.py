"""Agents by name: what a config, a command or a test writes to get one.

Setting hands: ``random``, ``never-claim``, ``greedy-pair``, ``first-found-base``, ``oracle``.
Betting: ``random``, ``least-slip``, ``flat:3`` or ``flat:single=100,super=40``, a betting system as
``system:martingale``, or ``system:martingale@single=500`` for another base slip
(``agents.systems.catalog``), over a bankroll, after a look, on a drawn sheet or along a shoe
``optimal``, and along a shoe ``counter``. Both: ``least-slip+oracle``; a bettor alone sets with the
oracle, a setter alone bets the least slip. ``trained:NAME`` is a trained model that comes with the
package (``agents.models.shipped``), ``model:PATH`` loads one of your own, ``table:PATH`` a table of
actions.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from niulab.agents.base import Agent, CallableAgent, PredictAgent
from niulab.agents.baselines import (
    FirstFoundBaseAgent,
    GreedyPairAgent,
    NeverClaimAgent,
    OracleAgent,
    RandomAgent,
)
from niulab.agents.betting.bettors import BetAndSetAgent, LeastSlipBettor, flat_bettor
from niulab.agents.betting.counters import LinearCounter, OptimalCounter
from niulab.agents.betting.peeker import FrontierPeeker, OptimalPeeker
from niulab.agents.betting.reader import OptimalReader
from niulab.agents.betting.solver import OptimalBettor
from niulab.agents.betting.staker import RandomStaker, staked
from niulab.agents.by_hand import TableAgent, read_table
from niulab.agents.models.shipped import find_shipped, shipped_for
from niulab.agents.systems.bettor import SystemBettor
from niulab.agents.systems.catalog import make_system, system_names
from niulab.envs.settings import EnvSettings
from niulab.errors import ConfigError, nearest

__all__ = ["BETTORS", "SETTERS", "agent_names", "as_agent", "make_agent"]

SETTERS: dict[str, Callable[[EnvSettings], Agent]] = {
    "random": RandomAgent,
    "never-claim": NeverClaimAgent,
    "greedy-pair": GreedyPairAgent,
    "first-found-base": FirstFoundBaseAgent,
    "oracle": OracleAgent,
}
"""Agents that set a hand, from worst to best."""


def _optimal(settings: EnvSettings) -> Agent:
    if settings.channel is not None:
        is_ideal = settings.detector is not None and settings.detector.is_ideal
        return FrontierPeeker(settings) if is_ideal else OptimalPeeker(settings)
    if settings.shoe is not None:
        return OptimalCounter(settings)
    return OptimalBettor(settings) if settings.sheets is None else OptimalReader(settings)


BETTORS: dict[str, Callable[[EnvSettings], Agent]] = {
    "random": lambda s: RandomAgent() if s.stakes == "menu" else RandomStaker(s),
    "least-slip": lambda _: LeastSlipBettor(),
    "counter": LinearCounter,
    "optimal": _optimal,
}
"""Agents that choose a slip; ``flat:SLIP`` and ``system:NAME`` stand beside them."""

_FLAT, _SYSTEM, _MODEL, _TABLE, _TRAINED = "flat:", "system:", "model:", "table:", "trained:"


def agent_names(settings: EnvSettings) -> tuple[str, ...]:
    """Names that ``make_agent`` makes an agent of for a task."""
    shipped = tuple(f"{_TRAINED}{name}" for name in shipped_for(settings))
    if not settings.bets:
        return (*SETTERS, *shipped)
    flats = [f"{_FLAT}{index}" for index in range(len(settings.menu))]
    systems = [f"{_SYSTEM}{name}" for name in system_names()]
    bettors = [name for name in (*BETTORS, *systems) if _can_bet(name, settings)]
    setters = SETTERS if settings.sets_hand else ()
    return tuple(dict.fromkeys((*bettors, *flats, *setters, *shipped)))


def make_agent(name: str, settings: EnvSettings) -> Agent:
    """The agent of a name for a task; raises ConfigError with the nearest known name."""
    if name.startswith(_MODEL):
        return _load_model(Path(name.removeprefix(_MODEL)), settings)
    if name.startswith(_TRAINED):
        return _load_model(find_shipped(name.removeprefix(_TRAINED)), settings, name)
    if name.startswith(_TABLE):
        _verify_sets(name, settings)
        return read_table(Path(name.removeprefix(_TABLE)), settings)
    if not settings.bets:
        return _setter(name, settings)
    if not settings.sets_hand:
        return _bettor(name, settings)
    return _bet_and_set(name, settings)


def as_agent(policy: Any, settings: EnvSettings, *, name: str | None = None) -> Agent:
    """Whatever can decide, as an agent.

    Takes an agent, a name as of ``make_agent``, a ``.npy`` path or array of actions, one per hand,
    an object with SB3's ``predict``, or a function of observations (and masks).
    """
    if isinstance(policy, str | Path):
        is_table = str(policy).endswith(".npy") and not str(policy).startswith((_TABLE, _MODEL))
        return make_agent(f"{_TABLE}{policy}" if is_table else str(policy), settings)
    if isinstance(policy, np.ndarray | list | tuple):
        _verify_sets("a table of actions", settings)
        return TableAgent(policy, settings, name or "table")
    if isinstance(policy, Agent):
        return policy
    if callable(getattr(policy, "predict", None)):
        return PredictAgent(policy, name)
    if callable(policy):
        return CallableAgent(policy, name)
    raise ConfigError(
        f"{type(policy).__name__} is no policy: give an agent, an agent's name, a table of "
        "actions, an object with predict(observation), or a function of observations"
    )


def _setter(name: str, settings: EnvSettings) -> Agent:
    if name not in SETTERS and (name in BETTORS or name.startswith((_FLAT, _SYSTEM))):
        raise ConfigError(
            f"'{name}' bets, and this task only sets hands: use a task that bets, as "
            "niulab/Session-v0"
        )
    if name not in SETTERS:
        raise ConfigError(f"no agent '{name}' sets hands{nearest(name, SETTERS)}")
    return SETTERS[name](settings)


def _bettor(name: str, settings: EnvSettings) -> Agent:
    if name == "random":
        return BETTORS[name](settings)
    return staked(_index_bettor(name, settings), settings)


def _index_bettor(name: str, settings: EnvSettings) -> Agent:
    """A bettor that chooses slips of the menu by index."""
    if name.startswith(_FLAT):
        return flat_bettor(name.removeprefix(_FLAT), settings)
    if name.startswith(_SYSTEM):
        system, at, base_slip = name.removeprefix(_SYSTEM).partition("@")
        if at and not base_slip:
            raise ConfigError(f"'{name}' names no base slip: write {name}single=500, or no @")
        return SystemBettor(make_system(system), settings, base_slip=base_slip or None, name=name)
    if name not in BETTORS:
        known = (*BETTORS, *(f"{_SYSTEM}{system}" for system in system_names()))
        if name in system_names():
            raise ConfigError(f"no agent '{name}' bets: write {_SYSTEM}{name}")
        raise ConfigError(f"no agent '{name}' bets{nearest(name, (*known, 'flat:0'))}")
    return BETTORS[name](settings)


def _can_bet(name: str, settings: EnvSettings) -> bool:
    """Whether the task has what a bettor looks at, as a bankroll or a target."""
    try:
        _bettor(name, settings)
    except ConfigError:
        return False
    return True


def _bet_and_set(name: str, settings: EnvSettings) -> Agent:
    if name == "random":
        return RandomAgent()
    bettor, plus, setter = name.partition("+")
    if not plus and name in SETTERS:
        bettor, setter = "least-slip", name
    elif not plus:
        if name not in BETTORS and not name.startswith((_FLAT, _SYSTEM)):
            raise ConfigError(f"no agent '{name}'{nearest(name, agent_names(settings))}")
        setter = "oracle"
    return BetAndSetAgent(_bettor(bettor, settings), _setter(setter, settings), settings, name)


def _verify_sets(what: str, settings: EnvSettings) -> None:
    if settings.bets or not settings.sets_hand:
        raise ConfigError(
            f"{what} gives one setting per hand, and decisions='{settings.decisions}' asks for "
            "more: use it with niulab/Arrange-v0"
        )


def _load_model(path: Path, settings: EnvSettings, name: str | None = None) -> Agent:
    # opened here only: torch takes seconds to import, and most agents do without
    from niulab.agents.models.sb3 import load_agent

    agent: Agent = load_agent(path, settings, name=name)
    return agent
