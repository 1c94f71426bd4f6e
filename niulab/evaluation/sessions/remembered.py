"""Sessions of bettors with a finite memory, exact: their tables in the forward programme."""

from __future__ import annotations

from math import log

import numpy as np

from niulab.agents.base import FiniteMemoryBettor
from niulab.envs.settings import EnvSettings
from niulab.evaluation.sessions.walk import SessionEnds
from niulab.solvers.sessions.programme import SessionLaw, play_session, session_lattice

__all__ = ["remembered_ends"]


def remembered_ends(agent: FiniteMemoryBettor, settings: EnvSettings) -> SessionEnds:
    """How the sessions of a task end that a bettor plays by its memory.

    Raises ConfigError where memories and levels do not fit, or the task has no deadline.
    """
    start, n_rounds = settings.bankroll_cents or 0, settings.n_rounds or 1
    step, n_levels = session_lattice(
        settings.rules, settings.menu, start, settings.target_cents, n_rounds=n_rounds
    )
    tables = agent.tables(step_cents=step, n_levels=n_levels)
    law = play_session(
        settings.rules,
        tables,
        start_cents=start,
        n_rounds=n_rounds,
        target_cents=settings.target_cents,
    )
    ends = SessionEnds(
        value=_value(law, settings),
        rounds=law.mean_rounds,
        net_cents=law.ev_cents,
        n_states=tables.n_memories * tables.n_levels,
        error=law.rounding_bound + law.overflow,
    )
    shares = {"ruin": law.p_ruin, "target": law.p_target, "left": float(law.left_by[-1])}
    ends.by_end.update({end: share for end, share in shares.items() if share})
    if (rest := 1 - sum(shares.values())) > ends.error:
        ends.by_end["n_rounds"] = rest
    return ends


def _value(law: SessionLaw, settings: EnvSettings) -> float:
    unit = settings.rules.base_unit_cents
    if settings.objective == "target":
        return law.p_target
    if settings.objective == "profit":
        return law.ev_cents / unit
    if settings.objective == "time_at_table":
        return law.mean_rounds
    logs = np.array([log(max(cents, 0) + unit) for cents in law.bankrolls_cents.tolist()])
    return float(law.final @ (logs - log(law.start_cents + unit)))
