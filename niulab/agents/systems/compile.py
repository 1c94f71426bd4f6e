"""A system at a table as ``BettingTables``: its slip at every memory and bankroll level."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from niulab.agents.systems.sitting import Sitting
from niulab.agents.systems.system import LEAVE, BettingSystem
from niulab.engine.rules import RuleSet
from niulab.engine.wagers import Slip, cover_from, exposure_cents, least_slip
from niulab.errors import ConfigError
from niulab.solvers.sessions.tables import STOP, BettingTables

__all__ = ["system_tables"]


def system_tables(
    system: BettingSystem,
    rules: RuleSet,
    *,
    base_slip: Slip | str | None = None,
    start_cents: int,
    step_cents: int,
    n_levels: int,
    n_rounds: int | None = None,
    target_cents: int | None = None,
    can_leave: bool = True,
    menu: Iterable[Slip] | None = None,
) -> BettingTables:
    """The tables of a system that multiplies ``base_slip`` (default: ``default_base_slip``).

    Levels 0 ... n_levels - 1 are bankrolls of ``step_cents`` each. With ``n_rounds`` only memories
    that as many rounds can stake from are written, so that the tables hold for no longer session. A
    system that wants to leave stops; without ``can_leave`` it bets the least slip. Only multiples
    on the ``menu`` are staked, if it is given: with a task's menu these are the tables of its
    ``SystemBettor``. Below the least slip's exposure everyone stops. Raises ConfigError for a start
    that is no level and for a system that lacks its target.
    """
    _verify(start_cents, step_cents, n_levels, n_rounds)
    sitting = Sitting.at(rules, base_slip, start_cents=start_cents, target_cents=target_cents)
    system.verify(sitting)
    memory = system.automaton
    if n_rounds is not None and not system.redraws:
        memory = memory.within(n_rounds)
    levels = step_cents * np.arange(n_levels, dtype=np.int64)
    # memories that stake the same share a row until the end
    units, row_of = np.unique(memory.units, return_inverse=True)
    wanted = np.broadcast_to(
        system.wanted(sitting, units[:, None], levels[None, :]), (len(units), n_levels)
    )
    top = min(
        int(wanted.max()), sitting.most_units, int(levels[-1]) // sitting.base_slip.total_cents
    )
    offered = np.arange(1, top + 1) if menu is None else sitting.multiples_on(menu)
    stakes = _affordable(sitting, offered, wanted, levels)
    stakes = np.where(wanted == LEAVE, STOP if can_leave else np.minimum(stakes, 0), stakes)
    slips, rows = _placed(sitting, stakes, levels)
    return BettingTables(
        slips=slips,
        choice=rows[row_of],
        next=memory.next,
        initial=0,
        step_cents=step_cents,
        redraws=system.redraws,
    )


def _affordable(
    sitting: Sitting,
    offered: NDArray[np.int64],
    wanted: NDArray[np.int64],
    levels: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Units staked where ``wanted`` are: 0 is the least slip, STOP too little for even that.

    offered: multiples, ascending.
    """
    needs = np.array([sitting.needs_cents(units) for units in offered.tolist()], dtype=np.int64)
    n_covered = np.searchsorted(needs, levels, side="right")  # a larger multiple needs no less
    n_wanted = np.searchsorted(offered, wanted, side="right")
    stakes = np.array([0, *offered])[np.minimum(n_covered, n_wanted)]
    return np.where(levels < sitting.needs_cents(0), STOP, stakes)


def _placed(
    sitting: Sitting, stakes: NDArray[np.int64], levels: NDArray[np.int64]
) -> tuple[tuple[Slip, ...], NDArray[np.int32]]:
    """The slips that lie on the table, and for each row and level which of them, or STOP.

    A bankroll short of full cover puts in sight what it has, which makes it another slip.
    """
    rules, numbers = sitting.rules, dict[Slip, int]()
    rows = np.full(stakes.shape, STOP, dtype=np.int32)
    for units in np.unique(stakes[stakes != STOP]).tolist():
        slip = sitting.multiple(units) if units else least_slip(rules)
        is_here = stakes == units
        is_short = is_here.any(axis=0) & (levels < exposure_cents(rules, slip))
        if (is_here & ~is_short).any():
            rows[is_here & ~is_short] = numbers.setdefault(slip, len(numbers))
        for level in np.flatnonzero(is_short):
            lying = cover_from(rules, slip, int(levels[level]))
            rows[is_here[:, level], level] = numbers.setdefault(lying, len(numbers))
    return tuple(numbers), rows


def _verify(start_cents: int, step_cents: int, n_levels: int, n_rounds: int | None) -> None:
    if step_cents < 1 or n_levels < 1 or (n_rounds is not None and n_rounds < 1):
        raise ConfigError(
            "step_cents, n_levels and n_rounds are whole numbers of at least 1, got "
            f"{step_cents}, {n_levels} and {n_rounds}"
        )
    if start_cents % step_cents or not 0 <= start_cents < n_levels * step_cents:
        raise ConfigError(
            f"start_cents={start_cents} is none of the {n_levels} levels of {step_cents} cents: "
            "take a step that divides it (lattice_step) and more levels"
        )
