"""Betting systems followed by hand: what their tables and their agents must do, said naively."""

from __future__ import annotations

from niulab.agents.systems.system import LEAVE
from niulab.engine.wagers import can_place, cover_from, least_slip

COLUMN = {"L": 0, "0": 1, "W": 2}


def followed(system, results):
    """Memories along the results "L", "0" and "W", the first one included."""
    memories = [0]
    for result in results:
        memories.append(int(system.automaton.next[memories[-1], COLUMN[result]]))
    return memories


def stakes(system, results):
    """Units wanted before each result, and after the last one."""
    return [int(system.automaton.units[memory]) for memory in followed(system, results)]


def largest_slip(sitting, wanted, bankroll):
    """The slip that lies on the table, found by trying; None where the table takes none."""
    rules = sitting.rules
    for units in range(wanted, 0, -1):
        slip = sitting.multiple(units)
        if can_place(rules, slip, bankroll):
            return cover_from(rules, slip, bankroll)
    slip = least_slip(rules)
    return cover_from(rules, slip, bankroll) if can_place(rules, slip, bankroll) else None


def wanted_at(system, sitting, memory, bankroll):
    """Units it wants at one memory and one bankroll, or LEAVE."""
    units = system.automaton.units[memory : memory + 1]
    wanted = system.wanted(sitting, units, units * 0 + bankroll)
    assert wanted.shape == (1,)
    assert wanted[0] >= LEAVE
    return int(wanted[0])
